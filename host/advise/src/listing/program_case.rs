//! The input of a rule for one program, or for one session of Natural: what the listings hold about it.
//!
//! Invariant: figures come from sound runs only, and only certain ones.
//! Not here: the rules (`le`, `natural`), and where an option is to be changed (`place`).

use underbar_listing::{Evidence, Field, Figure, Kind as Part, OptionRow};

use super::collect::{Collected, Program, Run};
use super::history::History;
use crate::advice::Line;
use crate::sizes::{LINE, above_the_line, written};

/// The input of a rule.
pub struct ProgramCase<'a> {
    /// Everything read.
    pub collected: &'a Collected,
    /// The program.
    pub program: &'a Program,
    /// The possible cost of following the rule, in its words.
    pub risk: &'static str,
}

impl ProgramCase<'_> {
    /// Runs whose figures may be used.
    pub(super) fn sound(&self) -> impl Iterator<Item = &Run> {
        self.program.runs.iter().filter(|run| run.report.is_sound())
    }

    /// A line to show as evidence.
    pub(super) fn line(&self, file: usize, evidence: &Evidence) -> Line {
        let file = self.collected.name_of(file).to_owned();
        // The text of the first reports is kept; for others the line number shows where it is.
        let text =
            if evidence.text.is_empty() { "(text not kept)".to_owned() } else { evidence.text.clone() };
        Line { file, line: evidence.line, text }
    }

    /// The file and the figure of each sound run that has it.
    pub(super) fn figures(&self, part: Part, field: Field) -> Vec<(usize, &Figure)> {
        self.sound().filter_map(|run| Some((run.file, run.report.section(part)?.get(field)?))).collect()
    }

    /// The largest of them.
    pub(super) fn largest(&self, part: Part, field: Field) -> Option<(usize, &Figure)> {
        self.figures(part, field).into_iter().max_by_key(|(_, figure)| figure.value)
    }

    /// The figure of the last run: for sizes, the present setting.
    pub(super) fn last(&self, part: Part, field: Field) -> Option<(usize, &Figure)> {
        self.figures(part, field).into_iter().next_back()
    }

    /// The figures of all runs.
    pub(super) fn history(&self, part: Part, field: Field) -> History {
        let all: Vec<u64> = self.figures(part, field).iter().map(|(_, figure)| figure.value).collect();
        History::of(&all)
    }

    /// An option that is known to be in force.
    pub(super) fn option(&self, name: &str) -> Option<(usize, &OptionRow)> {
        let placed = self.collected.options.option_of(&self.program.name, name)?;
        Some((placed.file, &placed.row))
    }

    /// Whether a sub-option is known to be this word.
    pub(super) fn is_set(&self, option: &str, at: usize, word: &str) -> bool {
        self.option(option)
            .and_then(|(_, row)| row.sub_options().get(at).map(|value| value.eq_ignore_ascii_case(word)))
            .unwrap_or(false)
    }

    /// The most threads at one time, if a sound report shows it.
    pub(super) fn threads(&self) -> Option<u64> {
        let threads = self.sound().filter_map(|run| run.report.threads.as_ref());
        threads.filter(|threads| !threads.likely).map(|threads| threads.value).max()
    }

    /// A line that shows that the program runs under CICS: increments 16 bytes short of a page, or the step of CICS.
    pub(crate) fn cics(&self) -> Option<Line> {
        let run = self.program.runs.iter().find_map(|run| {
            let sections = run.report.sections.iter();
            let mut increments = sections.filter_map(|section| section.get(Field::Increment));
            Some((run.file, increments.find(|figure| (figure.value + 16).is_multiple_of(4096))?))
        });
        let step = || {
            let mut runs = self.program.runs.iter();
            runs.find_map(|run| Some(self.line(run.file, self.collected.step_of(run.file, "DFHSIP")?)))
        };
        run.map(|(file, figure)| self.line(file, &figure.evidence)).or_else(step)
    }

    /// The region's limit for growth above 16M, a line to show, and words for the risk.
    pub(super) fn region(&self, bytes: u64) -> (Option<u64>, Option<Line>, String) {
        match self.collected.region_of(&self.program.name) {
            Some((file, region)) => {
                let line = self.line(file, &region.evidence);
                match above_the_line(region) {
                    Some(limit) => (
                        Some(limit),
                        Some(line),
                        format!(
                            "The region leaves {} above the line, unless IEFUSI sets another limit. ",
                            written(limit)
                        ),
                    ),
                    None => (
                        None,
                        Some(line),
                        "REGION asks for all there is; IEFUSI may set a limit. ".to_owned(),
                    ),
                }
            }
            None if bytes > LINE => {
                let used = self.collected.regions.iter().filter_map(|(file, region)| {
                    Some((region.used_above?, self.line(*file, &region.evidence)))
                });
                let (seen, line) = match used.max_by_key(|(used, _)| *used) {
                    Some((used, line)) => {
                        (format!("A step in the listing used {} above the line. ", written(used)), Some(line))
                    }
                    None => (String::new(), None),
                };
                let words = format!(
                    "region unknown: whether {} fit into it cannot be seen here; check REGION first. {seen}",
                    written(bytes)
                );
                (None, line, words)
            }
            None => (None, None, String::new()),
        }
    }
}
