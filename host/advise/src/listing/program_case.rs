//! The input of a rule for one program, or for one session of Natural: what the listings hold about it.
//!
//! ```text
//! storage reports of sound runs -> certain figures -> Storage, threads, with their lines -> rules
//! ```
//!
//! Invariant: figures come from sound runs only, and only certain ones.
//! Not here: the rules (`le`, `natural`), and where an option is to be changed (`place`).

use underbar_listing::{Evidence, Field, Figure, Kind as Part, OptionRow, Section};
use underbar_model::{self as model, Certainty, Pool, Requests, Row, Storage, Supply, Threads};

use super::collect::{Collected, Program, Run};
use super::history::History;
use crate::advice::Line;
use crate::sizes::{LINE, above_the_line, written};

/// Why a figure is absent.
const NOT_SHOWN: &str = "no storage report shows it";

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
        self.collected.line(file, evidence)
    }

    /// A storage area over all sound runs, as their storage reports show it.
    pub(super) fn storage(&self, part: Part) -> Storage {
        let sections = || self.sections(part);
        let last = |field: Field| sections().filter_map(|one| one.get(field)).last();
        let most =
            |field: Field| sections().filter_map(|one| one.get(field)).max_by_key(|(_, figure)| figure.value);
        let used = most(use_of(part));
        // The run with the largest use has to show its number of segments.
        let is_counted = used.is_some_and(|(_, used)| {
            sections().any(|one| {
                one.get(use_of(part)).is_some_and(|(_, figure)| figure.value == used.value)
                    && one.get(Field::Allocated).is_some()
            })
        });
        let mut segments = self.figure(most(Field::Allocated));
        if segments.certainty == Certainty::Certain && !is_counted {
            segments.certainty = Certainty::AtLeast;
        }
        Storage {
            initial: self.figure(last(Field::Initial)),
            increment: self.figure(last(Field::Increment)),
            used: self.figure(used),
            used_by_all: self.figure(most(Field::AllThreads)),
            suggested: self.figure(last(Field::Suggested)),
            segments,
            freed: self.figure(most(Field::Freed)),
            requests: self.figure(most(Field::Gets)),
            ..Storage::absent(NOT_SHOWN)
        }
    }

    /// The same, in the sound run that freed most segments; None if none shows how many were freed.
    pub(super) fn storage_most_freed(&self, part: Part) -> Option<Storage> {
        let freed = |one: &SectionOf<'_>| {
            one.get(Field::Allocated).and(one.get(Field::Freed)).map(|(_, of)| of.value)
        };
        let one = self.sections(part).filter(|one| freed(one).is_some()).max_by_key(freed)?;
        Some(self.storage_of(part, Some(one)))
    }

    /// The heap of a run.
    pub(super) fn heap_of(&self, run: &Run) -> Storage {
        let section = run.report.section(Part::Heap);
        self.storage_of(Part::Heap, section.map(|section| SectionOf { file: run.file, section }))
    }

    fn storage_of(&self, part: Part, section: Option<SectionOf<'_>>) -> Storage {
        let figure = |field: Field| self.figure(section.and_then(|one| one.get(field)));
        Storage {
            initial: figure(Field::Initial),
            increment: figure(Field::Increment),
            used: figure(use_of(part)),
            used_by_all: figure(Field::AllThreads),
            suggested: figure(Field::Suggested),
            segments: figure(Field::Allocated),
            freed: figure(Field::Freed),
            requests: figure(Field::Gets),
            ..Storage::absent(NOT_SHOWN)
        }
    }

    /// The pools of a run, smallest cells first.
    pub(super) fn pools(&self, run: &Run) -> Vec<Pool> {
        let pool = |row: &underbar_listing::Pool| {
            let figure = |value| model::Figure::line(self.line(run.file, &row.evidence), value, false);
            let none = model::Figure::absent("extents are no share of the heap");
            Pool {
                cell: figure(row.cell),
                element: figure(row.element),
                percent: row.percent.map_or(none, figure),
                cells_per_extent: figure(row.cells_per_extent),
                extents: figure(row.extents),
                used: figure(row.used_peak),
                in_use: figure(row.in_use),
            }
        };
        run.report.pools.iter().map(pool).collect()
    }

    /// The requests of a run, by size.
    pub(super) fn requests(&self, run: &Run) -> Requests {
        let figure = |figure: &Figure| self.figure(Some((run.file, figure)));
        let row = |(from, to, count): &(u64, u64, Figure)| Row {
            from: from.saturating_sub(1),
            limit: *to,
            count: figure(count),
        };
        Requests {
            all: self.heap_of(run).requests,
            rows: run.report.ranges.iter().map(row).collect(),
            missing: None,
        }
    }

    /// How the requests of a run are served by its pools.
    pub(super) fn supply(&self, run: &Run) -> Supply {
        let cells = self.pools(run).into_iter().map(|pool| pool.cell);
        let none = || model::Figure::absent("there is no summary of pools");
        Supply {
            requests: self.requests(run),
            serves: cells.max_by_key(|cell| cell.value).unwrap_or_else(none),
            beyond: self.figure(run.report.larger_than_cells.as_ref().map(|figure| (run.file, figure))),
            largest: model::Figure::absent(NOT_SHOWN),
        }
    }

    /// The use of a storage area in each sound run.
    pub(super) fn history(&self, part: Part) -> History {
        let used = self.sections(part).filter_map(|one| one.get(use_of(part)));
        History::of(&used.map(|(_, figure)| figure.value).collect::<Vec<_>>())
    }

    /// The figure of the last run that shows it, and the file.
    pub(super) fn last(&self, part: Part, field: Field) -> Option<(usize, &Figure)> {
        self.sections(part).filter_map(|one| one.get(field)).last()
    }

    /// The section of each sound run that has it.
    fn sections(&self, part: Part) -> impl Iterator<Item = SectionOf<'_>> {
        self.sound()
            .filter_map(move |run| Some(SectionOf { file: run.file, section: run.report.section(part)? }))
    }

    /// A figure of the model.
    fn figure(&self, figure: Option<(usize, &Figure)>) -> model::Figure {
        figure.map_or(model::Figure::absent(NOT_SHOWN), |(file, figure)| {
            model::Figure::line(self.line(file, &figure.evidence), figure.value, figure.likely)
        })
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

    /// The threads, over all sound runs.
    pub(super) fn threads(&self) -> Threads {
        let threads = self.sound().filter_map(|run| Some((run.file, run.report.threads.as_ref()?)));
        let most = threads.filter(|(_, threads)| !threads.likely).max_by_key(|(_, threads)| threads.value);
        Threads::counted(self.figure(most), NOT_SHOWN)
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

/// A section of a storage report, and its file.
#[derive(Clone, Copy)]
struct SectionOf<'a> {
    file: usize,
    section: &'a Section,
}

impl<'a> SectionOf<'a> {
    /// A figure that is certain, and its file.
    fn get(&self, field: Field) -> Option<(usize, &'a Figure)> {
        Some((self.file, self.section.get(field)?))
    }
}

/// The field that shows the use: of stacks, that of the thread that used most.
fn use_of(part: Part) -> Field {
    let is_of_threads = part.row().is_some_and(|row| row.fields.contains(&Field::AnyThread));
    if is_of_threads { Field::AnyThread } else { Field::Total }
}
