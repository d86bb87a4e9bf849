//! What-if: what was asked for, served again under the values of today and under those proposed.
//!
//! ```text
//! Collected -> avl: requests by class against sizes of available lists --+-> Simulation -> table, JSON
//!              (heap, pools: the same shape, a function each)          --+
//! ```
//!
//! Invariant: nothing is changed and nothing is measured; each figure follows from the listing. Where the listing
//! leaves something open, a figure is a span from the least to the most that it can be.
//! Not here: which values are proposed (the rules).

pub mod avl;

use serde::Serialize;

use super::{Collected, Line};

/// The least and the most that a figure can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// No less.
    pub least: u64,
    /// No more.
    pub most: u64,
}

/// One list, pool or kind of segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `AVL1`.
    pub name: String,
    /// Its size in bytes; None for what no list holds.
    pub size: Option<u64>,
    /// Requests that it serves.
    pub requests: Span,
    /// Bytes that it hands out for them.
    pub bytes: Span,
    /// Bytes of these that nobody asked for.
    pub wasted: Span,
}

/// What happens under one choice of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arm {
    /// `now`, `proposed`; `tried` where it is not advised.
    pub name: &'static str,
    /// Each list.
    pub rows: Vec<Row>,
    /// What no list holds.
    pub beyond: Row,
    /// All lists together.
    pub together: Row,
}

/// One what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Simulation {
    /// The rule whose proposal is tried.
    pub rule: &'static str,
    /// What is served: `z/TPF`, or a program.
    pub subject: String,
    /// What is chosen: `AVL sizes`.
    pub what: &'static str,
    /// Requests that are served.
    pub requests: u64,
    /// The lines that it rests on.
    pub evidence: Vec<Line>,
    /// The choices: today's first, where it is known.
    pub arms: Vec<Arm>,
    /// What is to be known about it.
    pub notes: Vec<String>,
}

/// All that can be tried.
#[must_use]
pub fn simulate(collected: &Collected) -> Vec<Simulation> {
    avl::simulate(collected)
}

impl std::fmt::Display for Simulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "What if: {} of {}, {} requests ({})",
            self.what,
            self.subject,
            grouped(self.requests),
            self.rule
        )?;
        for line in &self.evidence {
            writeln!(f, "    evidence   {}:{}: {}", line.file, line.line, line.text)?;
        }
        writeln!(
            f,
            "    {:<9} {:<8} {:>9} {:>17} {:>8} {:>25} {:>25}",
            "", "list", "size", "requests", "share", "bytes handed out", "of these wasted"
        )?;
        for arm in &self.arms {
            for (at, row) in arm.rows.iter().chain([&arm.beyond, &arm.together]).enumerate() {
                let name = if at == 0 { arm.name } else { "" };
                let size = row.size.map_or("-".to_owned(), grouped);
                let share = if row.requests.least == row.requests.most {
                    super::ztpf::share(row.requests.least, self.requests)
                } else {
                    "-".to_owned()
                };
                writeln!(
                    f,
                    "    {name:<9} {:<8} {size:>9} {:>17} {share:>8} {:>25} {:>25}",
                    row.name, row.requests, row.bytes, row.wasted
                )?;
            }
        }
        for note in &self.notes {
            writeln!(f, "    note       {note}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.least == self.most {
            f.pad(&grouped(self.least))
        } else {
            f.pad(&format!("{}..{}", grouped(self.least), grouped(self.most)))
        }
    }
}

/// `1,234,567`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_short() {
        assert_eq!(Span { least: 5, most: 5 }.to_string(), "5");
        assert_eq!(Span { least: 0, most: 1_234_567 }.to_string(), "0..1,234,567");
        assert_eq!(grouped(100), "100");
    }
}
