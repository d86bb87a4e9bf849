//! One row of the table of rules: its words, its platforms and its function.
//!
//! Invariant: `explain` and the manual print these words and no others.
//! Not here: the table (`rules`).

use underbar_model::Supply;
pub use underbar_model::{Area, Platform};

use crate::advice::Advice;
use crate::case::Case;
use crate::listing::Collected;
use crate::listing::ProgramCase;

/// One rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name for `explain` and in advice.
    pub id: &'static str,
    /// Its subject.
    pub title: &'static str,
    /// The source of the rule.
    pub source: &'static str,
    /// When it fires, in words.
    pub condition: &'static str,
    /// What it suggests, in words.
    pub formula: &'static str,
    /// When it says "no change", in words.
    pub stop: &'static str,
    /// The possible cost of following it.
    pub risk: &'static str,
    /// The platforms it serves; the manual lists it under the first one.
    pub platforms: &'static [Platform],
    /// Applies it.
    pub apply: Apply,
}

/// The input of a rule, and its function.
#[derive(Clone, Copy)]
pub enum Apply {
    /// To the accounts of each program of a run. The function returns None if it has no advice on the program.
    Accounts {
        /// The area of the report that it belongs to.
        area: Area,
        /// Does a suggested option have an effect on Linux? If not, it is shown, and neither counted nor tried.
        acts: bool,
        /// Its function.
        rule: fn(&Case<'_>) -> Option<Advice>,
    },
    /// To each program or session of the listings.
    Program(fn(&ProgramCase<'_>) -> Vec<Advice>),
    /// To the supply of requests, by a heap of a run or by the available lists of a system.
    Supply(fn(&Supply) -> Option<Advice>),
    /// To the ECBs of a run, or to everything read from listings.
    Ecbs(fn(&Case<'_>) -> Vec<Advice>, fn(&Collected) -> Vec<Advice>),
    /// To the switches of a run, or to each session of the listings.
    Switching(fn(&Case<'_>) -> Vec<Advice>, fn(&ProgramCase<'_>) -> Vec<Advice>),
    /// To everything read from listings.
    Listings(fn(&Collected) -> Vec<Advice>),
    /// To the option texts of listings. Such a check sets nothing.
    Texts(fn(&Collected) -> Vec<Advice>),
    /// By `underbar lib survey`, to libraries and lists of them; its function is in `underbar-store`. For a listing with such a list, the advice names that command.
    Survey,
}

impl Rule {
    /// The findings for a platform, with the rule's words.
    pub(crate) fn gives(&self, platform: Platform, found: Advice) -> Advice {
        let (area, acts) = match self.apply {
            Apply::Accounts { area, acts, .. } => (Some(area), acts),
            Apply::Supply(_) | Apply::Ecbs(..) if platform == Platform::Linux => (Some(Area::Heap), true),
            Apply::Switching(..) if platform == Platform::Linux => (Some(Area::Switches), true),
            _ => (None, true),
        };
        let risk = if found.risk.is_empty() { self.risk.to_owned() } else { found.risk };
        Advice { rule: self.id, platform, area, acts, stop: self.stop, risk, ..found }
    }

    /// Whether it is a check of option texts.
    #[must_use]
    pub fn is_check(&self) -> bool {
        matches!(self.apply, Apply::Texts(_))
    }

    /// For `explain`.
    #[must_use]
    pub fn explained(&self) -> String {
        if self.is_check() {
            return format!(
                "{}: {}\n\nFires:    {}\nDo:       {}\nSource:   {}\n",
                self.id, self.title, self.condition, self.formula, self.source
            );
        }
        format!(
            "{}: {}\n\nFires:    {}\nSuggests: {}\nStops:    {}\nRisk:     {}\nSource:   {}\n",
            self.id, self.title, self.condition, self.formula, self.stop, self.risk, self.source
        )
    }

    /// For the manual, as a section.
    #[must_use]
    pub fn in_manual(&self) -> String {
        if self.is_check() {
            return format!(
                "\n## {}\n\n{}.\n\n- **Fires.** {}\n- **Do.** {}\n- **Source.** {}.\n",
                self.id, self.title, self.condition, self.formula, self.source
            );
        }
        let area = match self.apply {
            Apply::Accounts { area, .. } => format!(" (area {})", area.word()),
            Apply::Supply(_) => " (area HEAP; for z/TPF, too)".to_owned(),
            Apply::Switching(..) => " (for a run, too: area SWITCHES)".to_owned(),
            Apply::Ecbs(..) => " (for ECBs of a run, too: area HEAP)".to_owned(),
            _ => String::new(),
        };
        format!(
            "\n## {}\n\n{}{area}.\n\n- **Fires.** {}\n- **Suggests.** {}\n- **Stops.** {}\n- **Risk.** {}\n- **Source.** {}.\n",
            self.id, self.title, self.condition, self.formula, self.stop, self.risk, self.source
        )
    }
}
