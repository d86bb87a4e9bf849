//! Reports whose figures cannot be used, and why: each becomes an advice that sets nothing.
//!
//! Not here: which reports on the preallocated area belong together (`area_use`).

use underbar_listing::Doubtful;
use underbar_listing::model::ztpf::Found;

use super::super::Collected;
use super::about;
use super::population::name;
use crate::advice::{Advice, Kind, Line};

/// A report that cannot be used.
pub(crate) struct Unusable {
    /// The set of sizes, or the system.
    pub target: String,
    /// What there is, in a few words.
    pub now: &'static str,
    /// Why it cannot be used: sentences.
    pub why: String,
    /// Its lines to show.
    pub lines: Vec<Line>,
}

impl Unusable {
    /// The advice that sets nothing.
    pub fn said(self) -> Advice {
        let mut said = about(&self.target, Kind::NoAdvice, self.lines);
        said.now = self.now.to_owned();
        said.reason = self.why;
        said.certainty = "none".to_owned();
        said
    }
}

/// Tables of frequencies that are damaged.
pub(crate) fn tables(collected: &Collected) -> impl Iterator<Item = Unusable> {
    collected.ztpf.iter().filter_map(|(file, found)| {
        let Found::Frequencies(report) = found else { return None };
        if report.sound {
            return None;
        }
        let absurd = report.doubts.iter().rfind(|doubt| doubt.kind == Doubtful::Absurd);
        let why = absurd.or(report.doubts.last()).map_or("it is damaged", |doubt| doubt.words.as_str());
        let mut why = why.chars();
        let first = why.next().map(|c| c.to_ascii_uppercase());
        Some(Unusable {
            target: name(report.set.as_deref()),
            now: "not used",
            why: first.into_iter().chain(why).chain(['.']).collect(),
            lines: vec![collected.line(*file, &report.title)],
        })
    })
}
