//! The table of rules for listings of Language Environment, and what they look at.
//!
//! To add a rule, add an entry: its id, its words, its function, and a test beneath that function.
//! Not here: the functions, each in a file of its own below.

mod contradiction;
pub(super) mod fill;
mod heap;
mod keep;
mod link;
mod lost;
mod pools;
mod region;
mod sound;
mod stack;
#[cfg(test)]
mod tests;

use underbar_listing::{Evidence, Field, Figure, Kind as Part, OptionRow};

use super::collect::{Collected, Program, Run};
use super::history::History;
use super::sizes::{LINE, above_the_line, written};
use super::{Advice, Line};
use crate::rule::RuleOf;
use crate::suggestion::{Kind, Setting};

/// One rule for programs of Language Environment, or for sessions of Natural.
pub type LeRule = RuleOf<fn(&LeCase<'_>) -> Vec<Found>>;

/// What a rule looks at.
pub struct LeCase<'a> {
    /// All that was read.
    pub collected: &'a Collected,
    /// The program in question.
    pub program: &'a Program,
}

/// What a rule found.
pub struct Found {
    pub(super) kind: Kind,
    pub(super) now: String,
    pub(super) option: Option<Setting>,
    pub(super) evidence: Vec<Line>,
    pub(super) reason: String,
    pub(super) effect: String,
    pub(super) risk: String,
}

/// All rules for listings of Language Environment.
pub static LE_RULES: [LeRule; 8] = [
    LeRule {
        id: "le-sound",
        title: "Whether the report can be used",
        source: "Own: no advice rather than a wrong one",
        condition: "Lines of two reports stand in one another, or lines are cut at the right; or an options report or text of the \
                    same listing sets a size that the storage report shows otherwise.",
        formula: "No advice from that report, or upon that option.",
        stop: "Nothing of this kind was found.",
        risk: "None: nothing is set.",
        apply: sound::apply,
    },
    LeRule {
        id: "le-heap-size",
        title: "Initial size and increment of the heaps",
        source: "Language Environment, \"Total heap storage used (sugg. initial size)\"; storage tuning talk: 27,949 segments \
                 of 32K took 15.44 s of CPU, 8 segments of 100M 0.12 s",
        condition: "More used than the initial size holds, in more than 8 segments, or in any number of them where one of 16M \
                    or less would do (raise); an initial size of which less than 62 % and 64K less are used, or an increment \
                    of which less than a sixteenth is used (lower).",
        formula: "Initial size: the most that was used in any run and an eighth of it for headers and packing, rounded up; \
                  above 128M an eighth of it, as initial size and as increment, which makes about 8 segments. Increment: \
                  a quarter of the initial size. In ten runs or more, what was needed long ago counts less: each later run \
                  forgets a sixteenth of what it did not need. Where the largest of ten runs or more is twice the usual \
                  (nine in ten), or the region is less than twice the initial size or leaves less than an increment beside \
                  the peak, only the increment is raised, to half of what is left at most. ANYHEAP \
                  grows with the stacks of threads, whose first segments lie in it (BELOWHEAP where they are BELOW).",
        stop: "The initial size holds all, or 8 segments or fewer hold more than 16M: no change. Nothing goes down where more \
               segments were allocated than the use takes, and nothing is set by a size that is neither whole K nor a round \
               number: digits may be missing.",
        risk: "A peak of the runs seen need not be the largest. The initial size is taken at once, by each enclave: under \
               CICS and IMS by as many as run at one time.",
        apply: heap::apply,
    },
    LeRule {
        id: "le-keep-free",
        title: "KEEP or FREE for increments",
        source: "Storage tuning talk: 39,122 segments allocated and 39,120 freed under FREE took 25.79 s of CPU and 62 s, \
                 under KEEP 22.34 s and 25 s",
        condition: "16 segments or more were freed, and nine of ten of those allocated.",
        formula: "KEEP for the increments of that heap or stack; nothing where requests are larger than the increment, since \
                  KEEP then fragments in servers that run for long.",
        stop: "Fewer were freed, or KEEP is set: no change.",
        risk: "KEEP holds storage that others could use. In long-running servers with requests larger than the increment \
               KEEP fragments, and FREE is right.",
        apply: keep::apply,
    },
    LeRule {
        id: "le-stack",
        title: "Stacks from the largest use of any thread",
        source: "Language Environment, storage report: Largest used by any thread (not the maximum of all threads, which \
                 popular advice takes and which is wrong for threaded programs)",
        condition: "A thread used more than the initial size (raise), or less than 62 % of it and 64K less (lower), of STACK, \
                    THREADSTACK, LIBSTACK, THREADHEAP or the downward stacks.",
        formula: "Initial size: the largest use of any thread and an eighth of it, rounded up. THREADSTACK only where it is \
                  known to be ON. First segments of all threads but the first come out of ANYHEAP (BELOWHEAP if BELOW), \
                  which needs threads times the difference more. STACK64 and THREADSTACK64 are left alone: their increments ask nothing of the system.",
        stop: "The initial size holds what any thread used: no change. Nothing goes down where more segments were allocated \
               than there were threads, and nothing is set by a size that is neither whole K nor a round number: digits may be \
               missing.",
        risk: "The next run may call deeper, which costs an increment.",
        apply: stack::apply,
    },
    LeRule {
        id: "le-storage-fill",
        title: "STORAGE that fills every stack frame",
        source: "Storage tuning talk: 0.56 s of CPU under NONE, 2.15 s under 00, 0.57 s under CLEAR",
        condition: "The third value of STORAGE is neither NONE nor CLEAR.",
        formula: "STORAGE(,,NONE).",
        stop: "It is NONE or CLEAR: no change.",
        risk: "A program that uses variables before it sets them behaves otherwise; CLEAR clears the unused initial stack \
               once and may serve it.",
        apply: fill::apply,
    },
    LeRule {
        id: "le-heap-pools",
        title: "HEAPPOOLS: percentages, sizes, leaks",
        source: "Language Environment, storage report: extents allocated should be 1 or 2; suggested percentage = maximum \
                 cells used x element size x 100 / initial heap size, 1 to 90. The method of the suggested sizes is not \
                 published; ours is least waste over the requests by ranges of 8 bytes",
        condition: "A pool needed more than 2 extents, a quarter of the bytes of cells is wasted or a tenth of the requests is \
                    larger than the largest cell, or half of the cells were in use at the end.",
        formula: "Percentages: the published formula, rounded up. Sizes: of all sets of up to 12 sizes the one in which the \
                  requests waste least, with empty percentages as the system itself suggests them; then one more run.",
        stop: "2 extents or fewer everywhere, and sizes that fit: no change.",
        risk: "Counts of pools are not serialized and so inexact. An extent is taken whole.",
        apply: pools::apply,
    },
    LeRule {
        id: "le-region",
        title: "Initial sizes against the region",
        source: "A site's system member asked for an initial heap of 256M where about 125M was free: the program ended in \
                 abend 0C4 (zowe/zowe-common-c#505)",
        condition: "The initial sizes of heap, stack and library heap above the line are half of the region or more.",
        formula: "Nothing is set by this rule: sizes that are not used go down by le-heap-size and le-stack; otherwise the \
                  region has to be raised.",
        stop: "They are less than half of the region, or the region is unknown: nothing is said.",
        risk: "An initial size that cannot be had ends the program.",
        apply: region::apply,
    },
    LeRule {
        id: "le-link-call",
        title: "Many small enclaves",
        source: "Storage tuning talk: 10 levels of LINK took 1760K, of dynamic CALL 128K",
        condition: "Eight storage reports or more in one listing, none of which used more heap than 64K.",
        formula: "Nothing is set: where programs LINK to each other, dynamic CALL saves an enclave each.",
        stop: "Fewer, or larger ones: nothing is said.",
        risk: "A called program shares the caller's run-time: its options and what it leaves behind.",
        apply: link::apply,
    },
];

/// What a rule says of itself, by its id.
pub(super) fn rule(id: &str) -> Option<&'static LeRule> {
    LE_RULES.iter().find(|rule| rule.id == id)
}

impl LeCase<'_> {
    /// Runs whose figures may be used.
    pub(super) fn sound(&self) -> impl Iterator<Item = &Run> {
        self.program.runs.iter().filter(|run| run.report.is_sound())
    }

    /// A line to show as evidence.
    pub(super) fn line(&self, file: usize, evidence: &Evidence) -> Line {
        let file = self.collected.name_of(file).to_owned();
        // Of the first reports the text is kept; of others the line says where it is.
        let text =
            if evidence.text.is_empty() { "(text not kept)".to_owned() } else { evidence.text.clone() };
        Line { file, line: evidence.line, text }
    }

    /// Of all sound runs that have it: each run's file and figure.
    fn figures(&self, part: Part, field: Field) -> Vec<(usize, &Figure)> {
        self.sound().filter_map(|run| Some((run.file, run.report.section(part)?.get(field)?))).collect()
    }

    fn largest(&self, part: Part, field: Field) -> Option<(usize, &Figure)> {
        self.figures(part, field).into_iter().max_by_key(|(_, figure)| figure.value)
    }

    /// What the last run had: sizes that are set now.
    fn last(&self, part: Part, field: Field) -> Option<(usize, &Figure)> {
        self.figures(part, field).into_iter().next_back()
    }

    fn history(&self, part: Part, field: Field) -> History {
        let all: Vec<u64> = self.figures(part, field).iter().map(|(_, figure)| figure.value).collect();
        History::of(&all)
    }

    /// An option as it is known to be in force.
    fn option(&self, name: &str) -> Option<(usize, &OptionRow)> {
        let placed = self.collected.options.option_of(&self.program.name, name)?;
        Some((placed.file, &placed.row))
    }

    /// Whether a sub-option is known to be this word.
    pub(super) fn is_set(&self, option: &str, at: usize, word: &str) -> bool {
        self.option(option)
            .and_then(|(_, row)| row.sub_options().get(at).map(|value| value.eq_ignore_ascii_case(word)))
            .unwrap_or(false)
    }

    /// Most threads at one time, if a sound report says it.
    fn threads(&self) -> Option<u64> {
        let threads = self.sound().filter_map(|run| run.report.threads.as_ref());
        threads.filter(|threads| !threads.likely).map(|threads| threads.value).max()
    }

    /// A line that shows that the program runs under CICS: increments 16 bytes short of a page, or the step of CICS.
    pub(super) fn cics(&self) -> Option<Line> {
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

    /// The region's limit for what grows above 16M: a line to show, and words for the risk.
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

impl Found {
    /// As advice of a rule for a program or session.
    pub(super) fn advice(self, rule: &LeRule, program: &str, confidence: String) -> Advice {
        Advice {
            rule: rule.id,
            program: program.to_owned(),
            kind: self.kind,
            now: self.now,
            option: self.option,
            values: Vec::new(),
            evidence: self.evidence,
            reason: self.reason,
            effect: self.effect,
            risk: if self.risk.is_empty() { rule.risk.to_owned() } else { self.risk },
            confidence,
        }
    }
}

/// What a rule found, as long as it sets nothing.
pub(super) fn found(kind: Kind, now: String, evidence: Vec<Line>, reason: String) -> Found {
    Found { kind, now, option: None, evidence, reason, effect: String::new(), risk: String::new() }
}

/// A setting with sizes at the place of a section's initial size.
fn setting(part: Part, initial: Option<u64>, increment: Option<u64>) -> Option<Setting> {
    let (option, at) = part.row()?.option;
    let mut words: Vec<Option<String>> = vec![None; at];
    if matches!(option, "THREADSTACK" | "THREADSTACK64") && at > 0 {
        words[0] = Some("ON".to_owned());
    }
    words.push(initial.map(written));
    words.push(increment.map(written));
    Some(Setting { option, sub_options: words })
}

/// What the report shows; whether THREADSTACK is ON it does not show.
fn now(part: Part, initial: u64, increment: Option<u64>) -> String {
    let setting = setting(part, Some(initial), increment);
    setting.map_or(String::new(), |setting| setting.to_string().replace("(ON,", "(,"))
}
