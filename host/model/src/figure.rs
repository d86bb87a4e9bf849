//! A figure: its value, its certainty, and its evidence.

use serde::Serialize;

/// The certainty of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Exact, as counted or printed.
    Certain,
    /// A lower bound: some may not have been counted.
    AtLeast,
    /// An upper bound: some may be in rows that are not here.
    AtMost,
    /// Approximate: digits may be missing, or counts that were not gathered yet.
    Likely,
    /// Unknown.
    Unknown,
}

impl Certainty {
    /// The certainty of a sum, or of the larger one, of two figures. A part that is unknown makes it a lower bound.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Certain, Self::Unknown) | (Self::Unknown, Self::Certain) => Self::AtLeast,
            (Self::AtLeast, Self::Unknown) | (Self::Unknown, Self::AtLeast) => Self::AtLeast,
            (Self::Certain, doubt) | (doubt, Self::Certain) => doubt,
            _ => Self::Likely,
        }
    }
}

/// The evidence for a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A figure of a report, by its key path.
    Counter(&'static str),
    /// A line of a listing.
    Line(Line),
    /// No evidence, and why.
    Absent(&'static str),
}

impl Evidence {
    /// The line, if the evidence is one.
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
    /// The file name, as the user gave it.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// Its text.
    pub text: String,
}

/// A value with its certainty and its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The value; 0 if it is unknown.
    pub value: u64,
    /// Its certainty.
    pub certainty: Certainty,
    /// Its evidence.
    pub evidence: Evidence,
}

impl Figure {
    /// A counter's figure.
    #[must_use]
    pub fn counter(key: &'static str, value: u64, certainty: Certainty) -> Self {
        Self { value, certainty, evidence: Evidence::Counter(key) }
    }

    /// A figure from a line of a listing. `likely`: some of its digits may be missing.
    #[must_use]
    pub fn line(line: Line, value: u64, likely: bool) -> Self {
        let certainty = if likely { Certainty::Likely } else { Certainty::Certain };
        Self { value, certainty, evidence: Evidence::Line(line) }
    }

    /// An unknown figure, and why it is unknown.
    #[must_use]
    pub fn absent(why: &'static str) -> Self {
        Self { value: 0, certainty: Certainty::Unknown, evidence: Evidence::Absent(why) }
    }

    /// Adds another figure of the same key. The evidence stays that of the first known one; a doubt of either is one of the sum.
    pub fn add(&mut self, other: &Self) {
        self.join(other, u64::saturating_add);
    }

    /// Takes the larger of both values. Evidence and doubts are as for [`Self::add`].
    pub fn raise(&mut self, other: &Self) {
        self.join(other, u64::max);
    }

    fn join(&mut self, other: &Self, both: impl Fn(u64, u64) -> u64) {
        let certainty = self.certainty.with(other.certainty);
        if self.certainty == Certainty::Unknown {
            *self = other.clone();
        } else if other.certainty != Certainty::Unknown {
            self.value = both(self.value, other.value);
        }
        self.certainty = certainty;
    }

    /// Whether some of its digits may be missing.
    #[must_use]
    pub fn is_likely(&self) -> bool {
        self.certainty == Certainty::Likely
    }

    /// The value, if it is exact.
    #[must_use]
    pub fn certain(&self) -> Option<u64> {
        (self.certainty == Certainty::Certain).then_some(self.value)
    }

    /// The value, if the true value is certainly no less.
    #[must_use]
    pub fn at_least(&self) -> Option<u64> {
        matches!(self.certainty, Certainty::Certain | Certainty::AtLeast).then_some(self.value)
    }

    /// The value, if the true value is certainly no more.
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
        let bounds = |figure: &Figure| {
            let (least, most) = (figure.at_least(), figure.at_most());
            assert_eq!(figure.certain(), least.zip(most).map(|(least, _)| least));
            (least, most)
        };
        assert_eq!(bounds(&Figure::line(line.clone(), 64, false)), (Some(64), Some(64)));
        assert_eq!(bounds(&Figure::line(line, 64, true)), (None, None));
        assert_eq!(bounds(&Figure::counter("heap.gets", 9, Certainty::AtLeast)), (Some(9), None));
        assert_eq!(bounds(&Figure::counter("heap.gets", 9, Certainty::AtMost)), (None, Some(9)));
        assert_eq!(bounds(&Figure::absent("not counted by size")), (None, None));
    }

    #[test]
    fn a_doubt_of_one_figure_is_one_of_both() {
        let of = |value, certainty| Figure::counter("heap.gets", value, certainty);
        let mut sum = of(5, Certainty::Certain);
        sum.add(&of(5, Certainty::Certain));
        assert_eq!(sum, of(10, Certainty::Certain));
        sum.add(&of(4, Certainty::AtLeast));
        assert_eq!(sum, of(14, Certainty::AtLeast));
        sum.raise(&of(7, Certainty::Certain));
        assert_eq!(sum, of(14, Certainty::AtLeast));
        sum.raise(&of(u64::MAX, Certainty::AtMost));
        sum.add(&sum.clone());
        assert_eq!(sum, of(u64::MAX, Certainty::Likely));
    }

    #[test]
    fn a_part_that_is_unknown_makes_a_sum_a_lower_bound() {
        let known = Figure::counter("heap.gets", 5, Certainty::Certain);
        let least = Figure { certainty: Certainty::AtLeast, ..known.clone() };
        let mut absent = Figure::absent("not counted");
        absent.add(&Figure::absent("not counted"));
        assert_eq!(absent, Figure::absent("not counted"));
        let (mut one, mut other) = (absent.clone(), known.clone());
        one.add(&known);
        other.add(&absent);
        assert_eq!((&one, &other), (&least, &least));
        one.add(&absent);
        assert_eq!(one, least);
    }
}
