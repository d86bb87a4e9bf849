//! One advice: its target, the option or value with its old and new setting, the evidence, and when to stop.
//!
//! Invariant: this is the only type of result of a rule, whatever its input. A rule returns its findings; `Rule::gives` adds
//! the rule's words.
//! Not here: how advice is shown (`render`).

use serde::Serialize;
use underbar_ledger::{Key, sizes};
use underbar_report::lock::columns;
use underbar_report::steps::STEPS;
use underbar_report::units;

use underbar_model::{self as model, Figure};
pub use underbar_model::{Area, Line, Platform};

/// The direction of a suggestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Take more storage, or keep more.
    Raise,
    /// Take less storage, or keep less.
    Lower,
    /// Neither more nor less, but different.
    Change,
    /// The present setting is right.
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
    /// Name of the option. The name of a parameter, which is written NAME=value, includes the equals sign.
    pub option: &'static str,
    /// Its sub-options in order.
    pub sub_options: Vec<Option<String>>,
}

impl Setting {
    /// A setting of the given sub-options.
    #[must_use]
    pub fn new<const N: usize>(option: &'static str, sub_options: [Option<String>; N]) -> Self {
        Self { option, sub_options: sub_options.into() }
    }

    /// Whether both set the same: one option, and of AVL the sizes of one class.
    #[must_use]
    pub fn is_of(&self, other: &Setting) -> bool {
        let class =
            |setting: &Setting| (setting.option == "AVL").then(|| setting.sub_options.first().cloned());
        self.option == other.option && class(self) == class(other)
    }

    /// Fills the open sub-options of this setting from another setting of the same option.
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

/// A value to set by its name, on a platform without options.
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

/// The evidence for an advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Evidence {
    /// A figure of the accounts of a run.
    Counter {
        /// Key path, as in the report.
        key: &'static str,
        /// The figure that was read there; for a sum over several processes, one process's share.
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

    /// The line, if the evidence is one.
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
    /// The evidence for figures of the model, without those that are absent.
    pub(crate) fn all<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<Self> {
        figures.into_iter().filter_map(Self::of).collect()
    }

    /// The evidence for a figure of the model; None if it is absent.
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
                    .or_else(|| columns::find(key).map(|column| column.unit))
                    .or_else(|| sizes::find(key).map(|_| sizes::COMMON.unit));
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
    /// The platform on which to follow it.
    pub platform: Platform,
    /// The program, session or system that it is for.
    pub target: String,
    /// The area of the accounts that it is about; None for a listing.
    pub area: Option<Area>,
    /// Its direction.
    pub kind: Kind,
    /// The present setting, as far as it is known.
    pub now: String,
    /// The option to set; None if there is none.
    pub option: Option<Setting>,
    /// Values to set by their names, on a platform without options.
    pub values: Vec<Value>,
    /// Its evidence.
    pub evidence: Vec<Evidence>,
    /// Why, in one sentence.
    pub reason: String,
    /// Its expected effect. For a run under underbar, a rerun shows it.
    pub effect: String,
    /// When to stop following the rule.
    pub stop: &'static str,
    /// Its possible cost.
    pub risk: String,
    /// The number of runs that it is based on, and the certainty that follows; empty for accounts, which are exact.
    pub certainty: String,
    /// True if a wrong advice could break the program; such advice is applied only on request.
    pub risky: bool,
    /// False if the option has no effect on Linux: shown for comparison with other systems, and never tried.
    pub acts: bool,
}

/// An empty advice, which a rule fills in. The code that applies the rule adds its words and the target.
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
    /// The findings of a rule in lines of listings, without a setting.
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

    /// The setting after the advice is followed.
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
