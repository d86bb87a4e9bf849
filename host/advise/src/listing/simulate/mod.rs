//! What-if: the requests of a run, served again under the present values and under others.
//!
//! ```text
//! HEAP(...), HEAPPOOLS(...) -> heap: requests of each program, pseudorandom but always the same   -> an estimate
//! AVL, HAVSZ1=...           -> avl:  requests of z/TPF by class, with sizes of available lists    -> spans
//! ```
//!
//! Invariant: nothing is changed and nothing is measured. An estimate says that it is one. A span ranges from the least to the
//! largest possible value of a figure.
//! Not here: the advised values (the rules).

pub mod avl;
mod heap;

use serde::Serialize;

pub use self::heap::{Outcome, WhatIf};
use underbar_report::units::count;

use super::Collected;
pub use super::available_lists::{Arm, Row, Span};
use super::shares::share;
use crate::advice::Line;

/// One what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Simulation {
    /// The rule whose proposal is tried.
    pub rule: &'static str,
    /// The system or program: `z/TPF`, or a program.
    pub subject: String,
    /// The values that vary: `AVL sizes`.
    pub what: &'static str,
    /// Requests that are served.
    pub requests: u64,
    /// The lines that it is based on.
    pub evidence: Vec<Line>,
    /// The choices: the present one first, if it is known.
    pub arms: Vec<Arm>,
    /// Notes.
    pub notes: Vec<String>,
}

/// The result of a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Tried {
    /// Values of HEAP or HEAPPOOLS.
    Heap(WhatIf),
    /// Sizes of z/TPF's available lists.
    Lists(Simulation),
    /// Nothing: the values do not apply.
    Not(NotTried),
}

/// The reason why nothing can be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotTried {
    /// A program, or the data that is missing in all listings.
    pub subject: String,
    /// Why.
    pub why: String,
}

/// Serves the requests in the listings again: under the HEAP or HEAPPOOLS of an option text, under sizes of available lists
/// (`HAVSZ1=64,HAVSZ2=128`), or under the advised sizes (`AVL`).
///
/// # Errors
/// The error in the text.
pub fn simulate(collected: &Collected, text: &str) -> Result<Vec<Tried>, String> {
    let (all, what) = match avl::sizes(text) {
        Some(sizes) => {
            let all: Vec<_> = avl::simulate(collected, &sizes?).into_iter().map(Tried::Lists).collect();
            (all, "there is no request size report of z/TPF that can be used")
        }
        None => (heap::simulate(collected, text)?, "there is no storage report"),
    };
    if all.is_empty() {
        return Ok(vec![Tried::Not(NotTried { subject: text.trim().to_owned(), why: what.to_owned() })]);
    }
    Ok(all)
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Heap(one) => one.fmt(f),
            Self::Lists(one) => one.fmt(f),
            Self::Not(one) => writeln!(f, "What if, for {}: it cannot be said: {}.", one.subject, one.why),
        }
    }
}

impl std::fmt::Display for Simulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "What if: {} of {}, {} requests ({})",
            self.what,
            self.subject,
            count(self.requests),
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
                let size = row.size.map_or("-".to_owned(), count);
                let share = if row.requests.least == row.requests.most {
                    share(row.requests.least, self.requests)
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
