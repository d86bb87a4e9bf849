//! What a rule says of itself, whatever it is about; how it is applied is the business of its table.
//!
//! Invariant: `explain` and the manual print these words and no others.
//! Not here: the rules (`rules` for our own reports, `listing` for others).

/// One rule. `F`: how it is applied; `()` where that is done elsewhere.
pub struct RuleOf<F> {
    /// Its name for `explain` and in advice.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// When it fires, in words.
    pub condition: &'static str,
    /// What it suggests, in words.
    pub formula: &'static str,
    /// When it says "no change", in words.
    pub stop: &'static str,
    /// What following it could cost.
    pub risk: &'static str,
    /// Applies it.
    pub apply: F,
}

impl<F> RuleOf<F> {
    /// For `explain`.
    #[must_use]
    pub fn explained(&self) -> String {
        format!(
            "{}: {}\n\nFires:    {}\nSuggests: {}\nStops:    {}\nRisk:     {}\nSource:   {}\n",
            self.id, self.title, self.condition, self.formula, self.stop, self.risk, self.source
        )
    }

    /// For the manual, as a section; `more` stands behind the title.
    #[must_use]
    pub fn in_manual(&self, more: &str) -> String {
        format!(
            "\n## {}\n\n{}{more}.\n\n- **Fires.** {}\n- **Suggests.** {}\n- **Stops.** {}\n- **Risk.** {}\n- **Source.** {}.\n",
            self.id, self.title, self.condition, self.formula, self.stop, self.risk, self.source
        )
    }
}
