//! A figure: its value, how sure it is, and what it rests on.

use serde::Serialize;

/// How sure a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// As it was counted or printed.
    Certain,
    /// No less than this: some may not have been counted.
    AtLeast,
    /// No more than this: some may be in rows that are not here.
    AtMost,
    /// Digits may be missing.
    Likely,
    /// Nothing tells it.
    Unknown,
}

/// What a figure rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A counter of a report, by its key.
    Counter(&'static str),
    /// A line of a listing.
    Line(Line),
    /// Nothing, and why.
    Absent(&'static str),
}

impl Evidence {
    /// The line, where it is one.
    #[must_use]
    pub fn line(&self) -> Option<&Line> {
        match self {
            Self::Line(line) => Some(line),
            Self::Counter(_) | Self::Absent(_) => None,
        }
    }
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// Its text.
    pub text: String,
}

/// A value with its certainty and its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The value; 0 where it is unknown.
    pub value: u64,
    /// How sure it is.
    pub certainty: Certainty,
    /// What it rests on.
    pub evidence: Evidence,
}

impl Figure {
    /// A counter's figure.
    #[must_use]
    pub fn counter(key: &'static str, value: u64, certainty: Certainty) -> Self {
        Self { value, certainty, evidence: Evidence::Counter(key) }
    }

    /// A figure of a line; `likely`: digits of it may be missing.
    #[must_use]
    pub fn line(line: Line, value: u64, likely: bool) -> Self {
        let certainty = if likely { Certainty::Likely } else { Certainty::Certain };
        Self { value, certainty, evidence: Evidence::Line(line) }
    }

    /// A figure that nothing tells.
    #[must_use]
    pub fn absent(why: &'static str) -> Self {
        Self { value: 0, certainty: Certainty::Unknown, evidence: Evidence::Absent(why) }
    }

    /// Whether digits of it may be missing.
    #[must_use]
    pub fn is_likely(&self) -> bool {
        self.certainty == Certainty::Likely
    }

    /// The value, where the truth is no less for certain.
    #[must_use]
    pub fn at_least(&self) -> Option<u64> {
        matches!(self.certainty, Certainty::Certain | Certainty::AtLeast).then_some(self.value)
    }

    /// The value, where the truth is no more for certain.
    #[must_use]
    pub fn at_most(&self) -> Option<u64> {
        matches!(self.certainty, Certainty::Certain | Certainty::AtMost).then_some(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_can_be_leaned_on() {
        let line = Line { file: "job".to_owned(), line: 7, text: "HAVSZ1=64".to_owned() };
        let bounds = |figure: &Figure| (figure.at_least(), figure.at_most());
        assert_eq!(bounds(&Figure::line(line.clone(), 64, false)), (Some(64), Some(64)));
        assert_eq!(bounds(&Figure::line(line, 64, true)), (None, None));
        assert_eq!(bounds(&Figure::counter("heap.gets", 9, Certainty::AtLeast)), (Some(9), None));
        assert_eq!(bounds(&Figure::counter("heap.gets", 9, Certainty::AtMost)), (None, Some(9)));
        assert_eq!(bounds(&Figure::absent("not counted by size")), (None, None));
    }
}
