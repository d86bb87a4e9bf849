//! One subject before and after: groups of rows with two figures each, and notes.
//!
//! ```text
//! z/TPF: requests by size                            names
//!   PRESENT SIZES           old      new    ratio    a group
//!     AVL4                 384?      512             a row; ? has no ratio
//!   old: line 7: ...                                 a note
//! ```
//!
//! Invariant: a figure that one side lacks is None and printed as `-`. A row has a ratio only if both figures are certain and
//! single numbers.
//! Not here: the choice of subjects (the other files of this folder, one for each kind).

use std::fmt::Write as _;

use serde::Serialize;
use underbar_listing::{Doubt, Figure};

use super::ratio;

/// The most doubts of one side that are shown; further ones are counted.
const MOST_DOUBTS: usize = 10;

/// The figure on one side of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// One number: bytes, a count or milliseconds, according to the row's label.
    Count(u64),
    /// A number of which only the bounds are known.
    Span {
        /// The lower bound.
        least: u64,
        /// The upper bound; None if there is none.
        most: Option<u64>,
    },
    /// A share.
    Share {
        /// The least and the most that it can be, in hundredths of a percent.
        percent_hundredths: [u64; 2],
    },
    /// A value that is not a number, as written.
    Text(String),
}

/// An amount and how certain it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Known {
    /// How much.
    pub value: Amount,
    /// True if digits may be missing, or if the figure may belong to another row.
    pub likely: bool,
}

impl Known {
    /// A number that is certain.
    pub(super) fn count(value: u64) -> Self {
        Self { value: Amount::Count(value), likely: false }
    }

    /// A number between two bounds, which may be equal.
    pub(super) fn span(least: u64, most: Option<u64>) -> Self {
        let value = if most == Some(least) { Amount::Count(least) } else { Amount::Span { least, most } };
        Self { value, likely: false }
    }

    /// A share of a whole, both known by bounds; None if the whole may be 0, or if an upper bound is missing.
    pub(super) fn share(part: (u64, Option<u64>), whole: (u64, Option<u64>)) -> Option<Self> {
        let hundredths = |part: u64, all: u64| {
            let all = u128::from(all);
            let share = (u128::from(part) * 20_000 + all) / (2 * all);
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let (most_part, most) = part.1.zip(whole.1).filter(|_| whole.0 > 0)?;
        let percent_hundredths = [hundredths(part.0, most), hundredths(most_part.min(most), whole.0)];
        Some(Self { value: Amount::Share { percent_hundredths }, likely: false })
    }

    /// A value as written.
    pub(super) fn text(text: &str) -> Self {
        Self { value: Amount::Text(text.to_owned()), likely: false }
    }

    /// The same, likely if `likely` is true.
    pub(super) fn or_likely(self, likely: bool) -> Self {
        Self { likely: self.likely || likely, ..self }
    }

    fn number(&self) -> Option<u64> {
        match self.value {
            Amount::Count(value) if !self.likely => Some(value),
            _ => None,
        }
    }
}

impl From<&Figure> for Known {
    fn from(figure: &Figure) -> Self {
        Self::count(figure.value).or_likely(figure.likely)
    }
}

impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: u64| format!("{}.{:02}", share / 100, share % 100);
        let mut text = match &self.value {
            Amount::Count(value) => value.to_string(),
            Amount::Span { least, most: Some(most) } => format!("{least}..{most}"),
            Amount::Span { least, most: None } => format!(">={least}"),
            Amount::Share { percent_hundredths: [least, most] } if least == most => {
                format!("{} %", percent(*least))
            }
            Amount::Share { percent_hundredths: [least, most] } => {
                format!("{}..{} %", percent(*least), percent(*most))
            }
            Amount::Text(text) => text.clone(),
        };
        if self.likely {
            text.push('?');
        }
        f.pad(&text)
    }
}

/// A figure before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name, with the unit if that is not obvious.
    pub label: String,
    /// Before; None if it is missing, or was not read.
    pub old: Option<Known>,
    /// After.
    pub new: Option<Known>,
}

/// Rows that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Their topic.
    pub heading: &'static str,
    /// The rows, without those that neither side has.
    pub rows: Vec<Row>,
}

/// An item that is in both listings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Its name, before and after.
    pub names: [String; 2],
    /// The number of its reports on each side; the last usable one is compared.
    pub found: [usize; 2],
    /// Its figures.
    pub groups: Vec<Group>,
    /// Doubts of either side, and parts that are not compared.
    pub notes: Vec<String>,
}

impl Subject {
    pub(super) fn new(old: &str, new: &str, found: [usize; 2]) -> Self {
        Self { names: [old.to_owned(), new.to_owned()], found, groups: Vec::new(), notes: Vec::new() }
    }

    /// Begins a group.
    pub(super) fn group(&mut self, heading: &'static str) {
        self.groups.push(Group { heading, rows: Vec::new() });
    }

    /// Adds a row to the last group, unless neither side has it.
    pub(super) fn row(&mut self, label: impl Into<String>, old: Option<Known>, new: Option<Known>) {
        if let (Some(group), true) = (self.groups.last_mut(), old.is_some() || new.is_some()) {
            group.rows.push(Row { label: label.into(), old, new });
        }
    }

    /// Adds the doubts of one side to the notes.
    pub(super) fn doubts<'a>(&mut self, side: &str, doubts: impl Iterator<Item = &'a Doubt>) {
        let all: Vec<&Doubt> = doubts.collect();
        for Doubt { line, words, .. } in all.iter().take(MOST_DOUBTS) {
            self.notes.push(format!("{side}: line {line}: {words}"));
        }
        if let Some(more @ 1..) = all.len().checked_sub(MOST_DOUBTS) {
            self.notes.push(format!("{side}: {more} more doubts"));
        }
    }

    /// In words; `all`: unchanged figures, too.
    pub(super) fn write(&self, text: &mut String, all: bool) {
        let [old, new] = &self.names;
        let names = if old == new { old.clone() } else { format!("{old} -> {new}") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{names}");
        for (side, found) in ["old", "new"].iter().zip(self.found) {
            if found > 1 {
                let _ = writeln!(text, "  {side}: the last of {found} reports");
            }
        }
        let changed = |row: &&Row| all || row.old != row.new;
        let shown: Vec<&Row> =
            self.groups.iter().flat_map(|group| group.rows.iter().filter(changed)).collect();
        let figure = |known: &Option<Known>| known.as_ref().map_or("-".to_owned(), ToString::to_string);
        let longest = shown.iter().filter(|row| !row.is_text()).flat_map(|row| [&row.old, &row.new]);
        let width = longest.map(|known| figure(known).len() + 1).max().unwrap_or(0).max(13);
        for group in &self.groups {
            let mut rows = group.rows.iter().filter(changed).peekable();
            if rows.peek().is_some() {
                let _ =
                    writeln!(text, "  {:<47}{:>width$}{:>width$}{:>9}", group.heading, "old", "new", "ratio");
            }
            for row in rows {
                let (old, new) = (figure(&row.old), figure(&row.new));
                let (label, ratio) = (&row.label, row.ratio());
                if row.is_text() && old.len().max(new.len()) >= width {
                    let _ = writeln!(text, "    {label}\n      old  {old}\n      new  {new}");
                } else {
                    let line = format!("    {label:<45}{old:>width$}{new:>width$}{ratio:>9}");
                    let _ = writeln!(text, "{}", line.trim_end());
                }
            }
        }
        let held = self.groups.iter().any(|group| !group.rows.is_empty());
        if shown.is_empty() {
            let words = if held { "  No figure changed.\n" } else { "  Nothing of it can be compared.\n" };
            text.push_str(words);
        }
        if shown.iter().any(|row| [&row.old, &row.new].into_iter().flatten().any(|known| known.likely)) {
            text.push_str("  ? is only likely, as where digits may be missing at the end of a line.\n");
        }
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
    }
}

impl Row {
    fn is_text(&self) -> bool {
        let is_text = |known: &Option<Known>| {
            known.as_ref().is_some_and(|known| matches!(known.value, Amount::Text(_)))
        };
        is_text(&self.old) || is_text(&self.new)
    }

    /// The ratio of after to before; empty for values that are not numbers.
    fn ratio(&self) -> String {
        let is_share = |known: &Option<Known>| {
            known.as_ref().is_some_and(|known| matches!(known.value, Amount::Share { .. }))
        };
        if self.is_text() || is_share(&self.old) || is_share(&self.new) {
            return String::new();
        }
        let number = |known: &Option<Known>| known.as_ref().and_then(Known::number);
        ratio(number(&self.old), number(&self.new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_has_a_ratio() {
        let mut subject = Subject::new("one", "two", [1, 3]);
        subject.group("FIGURES");
        subject.row("certain", Some(Known::count(8)), Some(Known::count(2)));
        subject.row("likely", Some(Known::count(8).or_likely(true)), Some(Known::count(2)));
        subject.row("span", Some(Known::span(8, Some(9))), Some(Known::span(2, None)));
        subject.row(
            "share",
            Known::share((1, Some(1)), (3, Some(3))),
            Known::share((1, Some(1)), (3, Some(4))),
        );
        subject.row("same", Some(Known::count(5)), Some(Known::count(5)));
        subject.row("only old", Some(Known::count(5)), None);
        subject.row("neither", None, None);
        subject.row("text", Some(Known::text("ON")), Some(Known::text("(OFF,EXT=ON,WRKSIZE=10)")));
        let mut text = String::new();
        subject.write(&mut text, false);
        assert_eq!(
            text,
            "\
one -> two
  new: the last of 3 reports
  FIGURES                                                    old            new    ratio
    certain                                                    8              2    0.250
    likely                                                    8?              2        -
    span                                                    8..9            >=2        -
    share                                                33.33 % 25.00..33.33 %
    only old                                                   5              -        -
    text
      old  ON
      new  (OFF,EXT=ON,WRKSIZE=10)
  ? is only likely, as where digits may be missing at the end of a line.
"
        );
        assert_eq!(Known::share((0, Some(0)), (0, Some(0))), None);
    }
}
