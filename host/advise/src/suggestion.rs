//! What a suggestion says: which option, from what to what, on what evidence, and when to stop.

use serde::Serialize;
use underbar_ledger::Key;
use underbar_report::lock::columns;
use underbar_report::steps::STEPS;
use underbar_report::units;

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

/// A figure of the report that speaks for a suggestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Key path, as in the report.
    pub key: &'static str,
    /// The figure that was read there; of a sum over several processes, one process's share.
    pub figure: u64,
}

impl Evidence {
    /// A counter's figure.
    #[must_use]
    pub fn counter(key: Key, figure: u64) -> Self {
        Self { key: key.entry().key, figure }
    }
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = Key::find(self.key)
            .map(|key| key.entry().unit)
            .or_else(|| STEPS.iter().find(|step| step.key == self.key).map(|step| step.unit))
            .or_else(|| columns::find(self.key).map(|column| column.unit));
        let figure = unit.map_or(self.figure.to_string(), |unit| units::figure(unit, self.figure));
        write!(f, "{} {figure}", self.key)
    }
}

/// One suggestion for one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The rule that made it: its id in the table.
    pub rule: &'static str,
    /// The program that it is for, by file name.
    pub program: String,
    /// The area of the report that it is about: `HEAP`, `STACK` or `LOCK`.
    pub area: &'static str,
    /// Which way it goes.
    pub kind: Kind,
    /// The option to set, or None where nothing is to be set.
    pub option: Option<Setting>,
    /// What is set now, as options are written.
    pub now: String,
    /// What would be set, as options are written; equal to `now` where nothing changes.
    pub suggested: String,
    /// The figures that speak for it.
    pub evidence: Vec<Evidence>,
    /// One sentence.
    pub reason: String,
    /// When to stop following this rule.
    pub stop: &'static str,
    /// What following it could cost.
    pub risk: &'static str,
    /// True if a wrong suggestion could break the program; applied only where that was asked for.
    pub risky: bool,
    /// False if the option does nothing on Linux: shown for comparison with other systems, and never tried.
    pub acts: bool,
}

impl std::fmt::Display for Suggestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.option {
            Some(option) => write!(f, "{option}: {}", self.kind.word())?,
            None => write!(f, "{}: {}", self.area, self.kind.word())?,
        }
        let program: String = self.program.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        writeln!(f, ", for {program} ({})", self.rule)?;
        writeln!(f, "  reason     {}", self.reason)?;
        writeln!(f, "  now        {}", self.now)?;
        if self.suggested != self.now {
            writeln!(f, "  suggested  {}", self.suggested)?;
        }
        let evidence: Vec<String> = self.evidence.iter().map(ToString::to_string).collect();
        writeln!(f, "  evidence   {}", evidence.join(", "))?;
        writeln!(f, "  stop rule  {}", self.stop)?;
        if self.option.is_some() {
            writeln!(f, "  risk       {}", self.risk)?;
        }
        Ok(())
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
            Evidence { key: "steps.minor_faults", figure: 1234 }.to_string(),
            "steps.minor_faults 1,234"
        );
    }
}
