//! What is advised: for whom, which option or value, from what to what, on what evidence, and when to stop.
//!
//! Invariant: this is the only result of a rule, whatever it looked at. A rule says what it found; `Rule::gives` adds its words.
//! Not here: how it is shown (`render`).

use serde::Serialize;
use underbar_ledger::Key;
use underbar_report::lock::columns;
use underbar_report::steps::STEPS;
use underbar_report::units;

use underbar_model::{self as model, Figure};
pub use underbar_model::{Area, Line, Platform};

/// Which way a suggestion goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Take more storage, or keep more.
    Raise,
    /// Take less storage, or keep less.
    Lower,
    /// Neither more nor less, but otherwise.
    Change,
    /// What is set is right.
    NoChange,
    /// The figures do not allow a suggestion.
    NoAdvice,
}

impl Kind {
    /// The word for reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Lower => "lower",
            Self::Change => "change",
            Self::NoChange => "no change",
            Self::NoAdvice => "no advice",
        }
    }
}

/// An option to set. Sub-options that are None keep what is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the option; of a parameter that is written NAME=value, with its equals sign.
    pub option: &'static str,
    /// Its sub-options in order.
    pub sub_options: Vec<Option<String>>,
}

impl Setting {
    /// A setting of the sub-options given.
    #[must_use]
    pub fn new<const N: usize>(option: &'static str, sub_options: [Option<String>; N]) -> Self {
        Self { option, sub_options: sub_options.into() }
    }

    /// Fills what this setting leaves open from another one of the same option.
    pub fn merge(&mut self, other: &Setting) {
        for (at, theirs) in other.sub_options.iter().enumerate() {
            match self.sub_options.get_mut(at) {
                Some(mine) => {
                    if mine.is_none() {
                        mine.clone_from(theirs);
                    }
                }
                None => self.sub_options.push(theirs.clone()),
            }
        }
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = self.sub_options.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let words: Vec<&str> =
            self.sub_options[..last].iter().map(|sub_option| sub_option.as_deref().unwrap_or("")).collect();
        if let ([word], true) = (&words[..], self.option.ends_with('='))
            && !word.contains('=')
        {
            return write!(f, "{}{word}", self.option);
        }
        write!(f, "{}({})", self.option, words.join(","))
    }
}

impl Serialize for Setting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value to set by its name, where there are no options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    /// `HAVSZ1`.
    pub name: String,
    /// Its value as text.
    pub value: String,
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Values on one line.
pub(crate) fn shown(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// What speaks for an advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Evidence {
    /// A figure of the accounts of a run.
    Counter {
        /// Key path, as in the report.
        key: &'static str,
        /// The figure that was read there; of a sum over several processes, one process's share.
        figure: u64,
    },
    /// A line of a listing.
    Line(Line),
}

impl Evidence {
    /// A counter's figure.
    #[must_use]
    pub fn counter(key: Key, figure: u64) -> Self {
        Self::Counter { key: key.entry().key, figure }
    }

    /// The line, where it is one.
    #[must_use]
    pub fn line(&self) -> Option<&Line> {
        match self {
            Self::Line(line) => Some(line),
            Self::Counter { .. } => None,
        }
    }
}

impl From<Line> for Evidence {
    fn from(line: Line) -> Self {
        Self::Line(line)
    }
}

impl Evidence {
    /// What a figure of the model rests on; None where it is absent.
    pub(crate) fn of(figure: &Figure) -> Option<Self> {
        match &figure.evidence {
            model::Evidence::Counter(key) => Some(Self::Counter { key, figure: figure.value }),
            model::Evidence::Line(line) => Some(Self::Line(line.clone())),
            model::Evidence::Absent(_) => None,
        }
    }
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Counter { key, figure } => {
                let unit = Key::find(key)
                    .map(|key| key.entry().unit)
                    .or_else(|| STEPS.iter().find(|step| step.key == *key).map(|step| step.unit))
                    .or_else(|| columns::find(key).map(|column| column.unit));
                let figure = unit.map_or(figure.to_string(), |unit| units::figure(unit, *figure));
                write!(f, "{key} {figure}")
            }
            Self::Line(Line { file, line, text }) => write!(f, "{file}:{line}: {text}"),
        }
    }
}

/// One advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The rule that gives it: its id in the table.
    pub rule: &'static str,
    /// Where it is to be followed.
    pub platform: Platform,
    /// The program, session or system that it is for.
    pub target: String,
    /// The area of the accounts that it is about; None of a listing.
    pub area: Option<Area>,
    /// Which way it goes.
    pub kind: Kind,
    /// What is set now, as far as it is known.
    pub now: String,
    /// The option to set; None where nothing is to be set.
    pub option: Option<Setting>,
    /// Values to set by their names, where there are no options.
    pub values: Vec<Value>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// Why, in one sentence.
    pub reason: String,
    /// What is to be expected of it. Of a run of ours a rerun tells.
    pub effect: String,
    /// When to stop following the rule.
    pub stop: &'static str,
    /// What it could cost.
    pub risk: String,
    /// How many runs it rests on, and how sure that makes it; of accounts, which are exact, nothing.
    pub certainty: String,
    /// True if a wrong advice could break the program; applied only where that was asked for.
    pub risky: bool,
    /// False if the option does nothing on Linux: shown for comparison with other systems, and never tried.
    pub acts: bool,
}

/// Nothing: what a rule builds on. Who applies the rule adds its words and the target.
impl Default for Advice {
    fn default() -> Self {
        Self {
            rule: "",
            platform: Platform::Linux,
            target: String::new(),
            area: None,
            kind: Kind::NoAdvice,
            now: String::new(),
            option: None,
            values: Vec::new(),
            evidence: Vec::new(),
            reason: String::new(),
            effect: String::new(),
            stop: "",
            risk: String::new(),
            certainty: String::new(),
            risky: false,
            acts: true,
        }
    }
}

impl Advice {
    /// What a rule found in lines of listings, as long as it sets nothing.
    pub(crate) fn of_lines(
        kind: Kind,
        now: impl Into<String>,
        lines: Vec<Line>,
        reason: impl Into<String>,
    ) -> Self {
        let evidence = lines.into_iter().map(Evidence::Line).collect();
        Self { kind, now: now.into(), evidence, reason: reason.into(), ..Self::default() }
    }

    /// The option or the values to set, as text.
    #[must_use]
    pub fn suggested(&self) -> Option<String> {
        let values = (!self.values.is_empty()).then(|| shown(&self.values));
        self.option.as_ref().map(ToString::to_string).or(values)
    }

    /// What is set once it is followed.
    #[must_use]
    pub fn then(&self) -> String {
        self.suggested().unwrap_or_else(|| self.now.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(word: &str) -> Option<String> {
        Some(word.to_owned())
    }

    #[test]
    fn settings_are_written_as_options_are() {
        let mut sizes = Setting::new("HEAP", [text("64M"), text("16M"), None, None]);
        assert_eq!(sizes.to_string(), "HEAP(64M,16M)");
        let kept = Setting::new("HEAP", [text("1M"), None, None, text("KEEP")]);
        assert_eq!(kept.to_string(), "HEAP(1M,,,KEEP)");
        sizes.merge(&kept);
        assert_eq!(sizes.to_string(), "HEAP(64M,16M,,KEEP)");
        let mut short = Setting::new("HEAP", [None]);
        short.merge(&kept);
        assert_eq!(short, kept);
        assert_eq!(Setting::new("HEAP", [None, None]).to_string(), "HEAP()");
    }

    #[test]
    fn evidence_is_shown_in_its_unit() {
        assert_eq!(Evidence::counter(Key::HeapUsedPeak, 1 << 20).to_string(), "heap.used_peak 1 MiB");
        assert_eq!(
            Evidence::Counter { key: "steps.minor_faults", figure: 1234 }.to_string(),
            "steps.minor_faults 1,234"
        );
    }
}
