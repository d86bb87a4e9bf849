//! The contents of the listings, sorted by program.
//!
//! Invariant: memory is bounded: for all programs together [`MOST_REPORTS`] reports are kept. After the first [`WHOLE`], only
//! figures and line numbers are kept, without the text of the lines. Further reports are counted. A fragment without a
//! heading is a separate program, since its program is unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use underbar_listing::model::ztpf::Found;
use underbar_listing::natural::Natural;
use underbar_listing::{
    Carrier, Doubt, Doubtful, Evidence, Item, OptionRow, Region, StepParm, StepTiming, StorageReport, Unread,
    has_time,
};

use super::known_options::{InSight, Placed};
use super::repetitions::{self, Repetitions};
use super::report_requests::ReportRequests;
use super::sessions::Sessions;
use crate::advice::Line;

const MOST_REPORTS: usize = 20_000;
const WHOLE: usize = 500;
/// A repetition within this many items is kept once.
const ALIKE: usize = 256;
/// The most ranges of sizes, and the most doubts, that are kept of a report after the first `WHOLE`.
const MOST_RANGES: usize = 64;
const MOST_OTHER: usize = 2_000;
/// If this many lines of a file have the same doubt, the text names it once.
const MANY_ALIKE: usize = 6;

/// One run.
pub struct Run {
    /// The number of the file.
    pub file: usize,
    /// Its storage report.
    pub report: StorageReport,
}

/// One program.
pub struct Program {
    /// Its enclave's name, or a substitute.
    pub name: String,
    /// Its runs.
    pub runs: Vec<Run>,
}

impl Program {
    /// How many reports there are of it, and how doubtful they are.
    pub(crate) fn known(&self) -> underbar_model::Program {
        let doubts = self.runs.iter().map(|run| run.report.doubts.len()).sum();
        underbar_model::Program { name: self.name.clone(), runs: self.runs.len(), doubts }
    }
}

/// The findings in all files.
#[derive(Default)]
pub struct Collected {
    /// The file names, as the user gave them.
    pub files: Vec<String>,
    /// The programs, in the order of their first reports.
    pub programs: Vec<Program>,
    /// Options in force or in a text.
    pub options: InSight,
    /// The statements that show a region: the file and the statement.
    pub regions: Vec<(usize, Region)>,
    /// Statements of steps without REGION, by program and file.
    without_region: BTreeMap<(String, usize), Evidence>,
    /// PARM of steps: the file, PARM, and its options.
    pub(crate) parms: Vec<(usize, StepParm, Vec<OptionRow>)>,
    /// The options of the PARM that was read last.
    in_parm: Vec<OptionRow>,
    /// Step timings.
    pub steps: Vec<(usize, StepTiming)>,
    /// The findings for z/TPF: the file and the finding.
    pub ztpf: Vec<(usize, Found)>,
    /// The findings for Natural and Adabas.
    pub natural: Sessions,
    /// Errors in option texts: the file, the line, the error.
    pub flaws: Vec<(usize, u64, String)>,
    /// Unread lines, and every doubt: the file, the line, why.
    pub unread: Vec<(usize, u64, String)>,
    /// The number of items, of any kind.
    pub items: u64,
    /// The number of items that were not kept.
    pub beyond: u64,
    /// The index of each name in `programs`.
    places: HashMap<String, usize>,
    /// The number of reports that are kept.
    kept: usize,
    /// The storage reports that options reports show as requested.
    pub(super) report_requests: ReportRequests,
    /// The reports that can be given again.
    repetitions: Repetitions,
}

impl Collected {
    /// Begins a file.
    pub fn file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// Takes an item of the file begun last.
    pub fn take(&mut self, item: Item) {
        let file = self.files.len().saturating_sub(1);
        // A step without REGION is no finding: it only shows that the regions of other steps are not its own.
        if let Item::Region(Region {
            program: Some(program),
            region: None,
            memlimit: None,
            used_above: None,
            evidence,
        }) = item
        {
            if self.without_region.len() < MOST_OTHER {
                self.without_region.entry((program, file)).or_insert(evidence);
            }
            return;
        }
        if let Item::Parm(parm) = item {
            let rows = std::mem::take(&mut self.in_parm);
            if self.parms.len() < MOST_OTHER {
                self.parms.push((file, parm, rows));
            }
            return;
        }
        self.items += 1;
        match item {
            Item::Parm(_) => {}
            Item::Storage(report) => self.storage(file, report),
            Item::Options(report) => {
                self.report_requests.take(file, &report);
                for doubt in report.doubts {
                    self.say(file, doubt.line, doubt.words);
                }
                for row in report.rows {
                    self.option(Placed { file, enclave: report.enclave.clone(), carrier: None, row });
                }
            }
            Item::Text(text) => {
                for doubt in text.doubts {
                    self.flaw(file, doubt.line, doubt.words);
                }
                if text.carrier == Carrier::Parm {
                    self.in_parm.clone_from(&text.rows);
                }
                for row in text.rows {
                    self.option(Placed { file, enclave: None, carrier: Some(text.carrier), row });
                }
            }
            Item::Step(step) if self.steps.len() < MOST_OTHER => self.steps.push((file, step)),
            Item::Region(region) if self.is_known(file, &region) => {}
            Item::Region(region) if self.regions.len() < MOST_OTHER => self.regions.push((file, region)),
            Item::Step(_) | Item::Region(_) => self.beyond += 1,
            Item::Ztpf(found) => self.ztpf(file, found),
            Item::Natural(mut found) => {
                for doubt in found.doubts() {
                    self.say(file, doubt.line, doubt.words.clone());
                }
                if let Natural::Buffers(report) = &mut found {
                    let has_time = report.date.as_deref().is_some_and(has_time);
                    let line = report.lines.0;
                    if self.is_twice(file, line, &**report, "report of buffers", has_time) {
                        if has_time {
                            return;
                        }
                        let words = "may be a report that was given twice".to_owned();
                        report.doubts.push(Doubt { kind: Doubtful::Again, line, words });
                    }
                }
                self.beyond += u64::from(!self.natural.take(file, found));
            }
            Item::Unread(Unread { evidence, why }) => {
                self.natural.not_read(file, &why, &evidence);
                self.say(file, evidence.line, format!("{why}: {}", evidence.text))
            }
        }
    }

    /// The name of the file with this number, as the user gave it.
    #[must_use]
    pub fn name_of(&self, file: usize) -> &str {
        self.files.get(file).map_or("", String::as_str)
    }

    /// A line to show as evidence.
    pub(crate) fn line(&self, file: usize, evidence: &Evidence) -> Line {
        // The text of the first reports is kept; for others the line number shows where it is.
        let text =
            if evidence.text.is_empty() { "(text not kept)".to_owned() } else { evidence.text.clone() };
        Line { file: self.name_of(file).to_owned(), line: evidence.line, text }
    }

    /// The program with this name.
    pub(crate) fn program(&self, name: &str) -> Option<&Program> {
        self.programs.get(*self.places.get(name)?)
    }

    /// Unread lines, and every doubt, by file and line, each with its place. A doubt about many lines of a file appears once,
    /// with the number of lines and the first of them.
    #[must_use]
    pub fn doubts(&self) -> Vec<(String, String)> {
        let mut all: Vec<_> = self.unread.iter().collect();
        all.sort_by_key(|(file, line, _)| (*file, *line));
        let mut lines: HashMap<(usize, &str), Vec<u64>> = HashMap::new();
        for (file, line, why) in &all {
            lines.entry((*file, why)).or_default().push(*line);
        }
        let name = |file: &usize| self.name_of(*file);
        let said =
            all.iter().filter_map(|(file, line, why)| match lines.get(&(*file, why.as_str()))?.as_slice() {
                many if many.len() < MANY_ALIKE => Some((format!("{}:{line}", name(file)), why.clone())),
                many if many[0] == *line => {
                    // Once, at the first line.
                    let first: Vec<String> = many.iter().take(5).map(ToString::to_string).collect();
                    let words = format!("{why} ({} times, in lines {}, ...)", many.len(), first.join(", "));
                    Some((format!("{}:{line}", name(file)), words))
                }
                _ => None,
            });
        let mut said: Vec<_> = said.collect();
        said.dedup();
        said
    }

    /// The possible targets of advice: programs, then sessions of Natural.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let sessions = self.natural.sessions().into_iter().map(|session| session.name);
        self.programs.iter().map(|program| program.name.clone()).chain(sessions).collect()
    }

    /// Whether there are findings for Language Environment, or for the jobs in which it runs.
    #[must_use]
    pub fn is_of_language_environment(&self) -> bool {
        let is_empty = self.programs.is_empty() && self.options.rows().is_empty() && self.flaws.is_empty();
        !(is_empty && self.regions.is_empty() && self.steps.is_empty())
    }

    /// Whether there are lists of data sets, which another command reads.
    #[must_use]
    pub fn has_lists(&self) -> bool {
        let is_list = |why: &String| underbar_listing::LISTS.iter().any(|list| why.starts_with(list));
        self.unread.iter().any(|(_, _, why)| is_list(why))
    }

    fn storage(&mut self, file: usize, mut report: StorageReport) {
        for doubt in &report.doubts {
            self.say(file, doubt.line, doubt.words.clone());
        }
        let name = match &report.enclave {
            Some(name) if !name.is_empty() => name.clone(),
            // It has no name: its place becomes the name.
            _ => format!("{}:{}", self.name_of(file), report.lines.0),
        };
        if let Some((first, line)) = self.repetitions.of_storage(&name, file, &report) {
            let first = self.name_of(first);
            let words =
                format!("the same report of {name} again as at {first}:{line}: one run, counted once");
            self.say(file, report.lines.0, words);
            return;
        }
        if self.kept >= MOST_REPORTS {
            self.beyond += 1;
            return;
        }
        self.kept += 1;
        if self.kept > WHOLE {
            without_texts(&mut report);
        }
        let run = Run { file, report };
        match self.places.get(&name) {
            Some(at) => self.programs[*at].runs.push(run),
            None => {
                self.places.insert(name.clone(), self.programs.len());
                self.programs.push(Program { name, runs: vec![run] });
            }
        }
    }

    /// Whether a finding with the same figures was found before; if so, adds a doubt. A finding without a time always counts,
    /// since it may be another one.
    fn is_twice(
        &mut self,
        file: usize,
        line: u64,
        figures: &impl Serialize,
        what: &str,
        has_time: bool,
    ) -> bool {
        let Some((first, at)) = self.repetitions.of_figures((file, line), figures, what) else {
            return false;
        };
        let first = self.name_of(first);
        let words = match has_time {
            true => format!("the same {what} as at {first}:{at}: it counts once"),
            false => format!(
                "may be the same {what} as at {first}:{at}: it has the same figures and no time; both count, as two runs"
            ),
        };
        self.say(file, line, words);
        true
    }

    /// Whether the same request of the same file is known, as when a job is in the log repeatedly. In another file the request
    /// shows what runs there, so it counts.
    fn is_known(&self, file: usize, region: &Region) -> bool {
        self.regions.iter().rev().take(ALIKE).any(|(of, known)| {
            (*of, &known.program, known.region, known.memlimit, known.used_above)
                == (file, &region.program, region.region, region.memlimit, region.used_above)
        })
    }

    fn ztpf(&mut self, file: usize, found: Found) {
        for doubt in found.doubts() {
            self.say(file, doubt.line, doubt.words.clone());
        }
        if let Found::Profile(profile) = &found
            && self.is_twice(file, profile.title.line, &profile.samples, "profile", true)
        {
            return;
        }
        if let Some((known, line)) = repetitions::of_request_sizes(&self.ztpf, &found) {
            let place = self.name_of(known);
            let words = format!("the same report as that of {place}:{line}: it counts once");
            self.say(file, repetitions::first_line(&found), words);
        } else if self.ztpf.len() < MOST_OTHER {
            self.ztpf.push((file, found));
        } else {
            self.beyond += 1;
        }
    }

    fn option(&mut self, placed: Placed) {
        self.beyond += u64::from(!self.options.take(placed));
    }

    fn flaw(&mut self, file: usize, line: u64, words: String) {
        if self.flaws.len() < MOST_OTHER {
            self.flaws.push((file, line, words));
        } else {
            self.beyond += 1;
        }
    }

    fn say(&mut self, file: usize, line: u64, words: String) {
        if self.unread.len() < MOST_OTHER {
            self.unread.push((file, line, words));
        } else {
            self.beyond += 1;
        }
    }

    /// The statement of the step in this file that runs a program.
    pub(crate) fn step_of(&self, file: usize, program: &str) -> Option<&Evidence> {
        let mut regions = self.regions.iter();
        let with = regions.find(|(of, region)| *of == file && region.program.as_deref() == Some(program));
        let without = || self.without_region.get(&(program.to_owned(), file));
        with.map(|(_, region)| &region.evidence).or_else(without)
    }

    /// The programs of the steps that a file shows.
    pub(crate) fn programs_of_steps(&self, file: usize) -> BTreeSet<&str> {
        let with = self.regions.iter().filter(|(of, _)| *of == file);
        let with = with.filter_map(|(_, region)| region.program.as_deref());
        let without = self.without_region.keys().filter(|(_, of)| *of == file);
        with.chain(without.map(|(program, _)| program.as_str())).collect()
    }

    /// The region of a program, if it is clear: that of the step that runs it, or that of all steps if they agree. If its step
    /// is in the listing without REGION, that of the job.
    #[must_use]
    pub fn region_of(&self, program: &str) -> Option<(usize, &Region)> {
        let with = || self.regions.iter().filter(|(_, region)| region.region.is_some());
        let named = || with().filter(|(_, region)| region.program.as_deref() == Some(program));
        let smallest = named().min_by_key(|(_, region)| above(region));
        let mut without = self.without_region.range((program.to_owned(), 0)..);
        let own = without.next().is_some_and(|((name, _), _)| name == program);
        let with = || with().filter(|(_, region)| !own || region.program.is_none());
        let (file, region) = smallest.or_else(|| {
            let (first, mut all) = (with().next()?, with());
            all.all(|(_, region)| above(region) == above(&first.1)).then_some(first)
        })?;
        Some((*file, region))
    }
}

/// The storage above the line under a region; without a limit, the largest number.
fn above(region: &Region) -> u64 {
    crate::sizes::above_the_line(region).unwrap_or(u64::MAX)
}

/// Removes the texts, which can be read again at their lines.
fn without_texts(report: &mut StorageReport) {
    for section in &mut report.sections {
        section.heading.text = String::new();
        section.figures.iter_mut().for_each(|(_, figure)| figure.evidence.text = String::new());
        section.figures.shrink_to_fit();
    }
    report.sections.shrink_to_fit();
    report.pools.iter_mut().for_each(|pool| pool.evidence.text = String::new());
    report.ranges.truncate(MOST_RANGES);
    report.ranges.iter_mut().for_each(|(_, _, figure)| figure.evidence.text = String::new());
    report.doubts.truncate(MOST_RANGES);
    report
        .doubts
        .iter_mut()
        .filter(|doubt| !doubt.kind.spoils_the_report())
        .for_each(|doubt| doubt.words = String::new());
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a listing says.
    pub fn collected(text: &str) -> Collected {
        let mut collected = Collected::default();
        collected.file("job");
        underbar_listing::read(text.as_bytes()).into_iter().for_each(|item| collected.take(item));
        collected
    }

    #[test]
    fn the_same_report_again_is_one_run() {
        let report = |date: &str, total: u64| {
            format!(
                "Storage Report for Enclave main {date}\n\n    HEAP statistics:\n      Initial size: 4096\n      Total \
                 heap storage used (sugg. initial size): {total}\nEnd of Storage Report\n"
            )
        };
        let at = "12/04/26 07:31:09 PM";
        let all =
            report(at, 4000) + &report(at, 4000) + &report(at, 4008) + &report("12/04/26 07:31:10 PM", 4000);
        let collected_all = collected(&all);
        assert_eq!(collected_all.programs[0].runs.len(), 3);
        assert!(
            collected_all
                .unread
                .iter()
                .any(|(_, line, words)| *line == 7 && words.contains("job:1: one run"))
        );
        let dateless = collected(&(report("12/04/26", 4000) + &report("12/04/26", 4000)));
        assert_eq!(dateless.programs[0].runs.len(), 2, "it may be another run of that day");
    }

    #[test]
    fn what_is_given_twice_counts_once() {
        let listings = concat!(env!("CARGO_MANIFEST_DIR"), "/../listing/tests/listings/");
        for (name, what) in [("natural-bus.txt", "report of buffers"), ("ztpf-profile.txt", "profile")] {
            let text = std::fs::read_to_string(format!("{listings}{name}")).expect("a listing");
            let (once, mut twice) = (collected(&text), collected(&text));
            twice.file("job2");
            underbar_listing::read(text.as_bytes()).into_iter().for_each(|item| twice.take(item));
            assert_eq!(twice.natural.reports.len(), once.natural.reports.len(), "{name}");
            assert_eq!(twice.ztpf.len(), once.ztpf.len(), "{name}");
            let words = format!("the same {what} as at job:");
            assert!(twice.unread.iter().any(|(_, _, why)| why.contains(&words)), "{:?}", twice.unread);
        }
    }

    #[test]
    fn a_report_of_buffers_without_a_time_counts_twice_and_that_is_said() {
        let listing = concat!(env!("CARGO_MANIFEST_DIR"), "/../listing/tests/listings/natural-bus.txt");
        let text = std::fs::read_to_string(listing).expect("a listing").replace("07:41:55", "");
        let twice = collected(&text.repeat(2));
        assert_eq!(twice.natural.reports.len(), 2);
        let said = |(_, _, why): &&(usize, u64, String)| {
            why.starts_with("may be the same report of buffers as at job:")
        };
        assert_eq!(twice.unread.iter().filter(said).count(), 1, "{:?}", twice.unread);
        let is_again = |at: usize| {
            let doubts = &twice.natural.reports[at].1.doubts;
            doubts.iter().any(|doubt| doubt.kind == Doubtful::Again)
        };
        assert_eq!((is_again(0), is_again(1)), (false, true));
    }

    #[test]
    fn the_same_doubt_about_many_lines_is_said_once() {
        let mut collected = Collected::default();
        collected.file("job");
        for line in [9, 3, 4, 5, 6, 7] {
            collected.say(0, line, "bad".to_owned());
        }
        collected.say(0, 4, "other".to_owned());
        collected.file("job2");
        collected.say(1, 1, "bad".to_owned());
        let of = |place: &str, words: &str| (place.to_owned(), words.to_owned());
        let many = "bad (6 times, in lines 3, 4, 5, 6, 7, ...)";
        assert_eq!(collected.doubts(), [of("job:3", many), of("job:4", "other"), of("job2:1", "bad")]);
    }

    #[test]
    fn the_region_of_another_step_is_none_of_the_programs() {
        let steps = "//A EXEC PGM=SORT,REGION=96M\n//B EXEC PGM=PAY,REGION=200M\n";
        let region =
            |text: &str, name: &str| collected(text).region_of(name).and_then(|(_, region)| region.region);
        assert_eq!(region(steps, "PAY"), Some(200 << 20));
        assert_eq!(region(steps, "OTHER"), None);
        assert_eq!(region("//A EXEC PGM=SORT,REGION=96M\n", "OTHER"), Some(96 << 20));
        assert_eq!(region("//A EXEC PGM=SORT,REGION=96M\n//B EXEC PGM=OTHER\n", "OTHER"), None);
        assert_eq!(region("//J JOB (1),REGION=40M\n//B EXEC PGM=OTHER\n", "OTHER"), Some(40 << 20));
        let on_another_card = "//A EXEC PGM=SORT,REGION=96M\n//B EXEC PGM=OTHER,\n//  REGION=64M\n";
        assert_eq!(region(on_another_card, "OTHER"), Some(64 << 20));
        assert!(!collected("//B EXEC PGM=OTHER\n").is_of_language_environment());
    }

    #[test]
    fn the_step_of_a_program_is_known_in_each_file() {
        for log in ["//CICS EXEC PGM=DFHSIP,REGION=0M\n", "//CICS EXEC PGM=DFHSIP\n", "+DFHSI1517 CICSA\n"] {
            let mut both = collected(log);
            both.file("job2");
            underbar_listing::read(log.as_bytes()).into_iter().for_each(|item| both.take(item));
            both.file("job3");
            let step = |file| both.step_of(file, "DFHSIP").map(|at| at.line);
            assert_eq!([step(0), step(1), step(2)], [Some(1), Some(1), None], "{log}");
            assert_eq!(both.step_of(0, "DFHSI"), None, "{log}");
        }
        let twice = collected(&"//A EXEC PGM=SORT,REGION=96M\n".repeat(2));
        assert_eq!(twice.regions.len(), 1, "what one file says again is kept once");
    }

    #[test]
    fn many_reports_are_kept_and_more_are_counted() {
        let labels = underbar_listing::Kind::Heap.row().expect("a row").fields.iter();
        let lines: String = labels.map(|field| format!("      {}: 4096\n", field.label())).collect();
        let text = format!(
            "Storage Report for Enclave main x\n\n    HEAP statistics:\n{lines}End of Storage Report\n"
        );
        let items = underbar_listing::read(text.as_bytes());
        let mut collected = Collected::default();
        collected.file("job");
        for _ in 0..MOST_REPORTS + 7 {
            items.iter().cloned().for_each(|item| collected.take(item));
        }
        let runs = &collected.programs[0].runs;
        assert_eq!((collected.programs.len(), runs.len(), collected.beyond), (1, MOST_REPORTS, 7));
        let text = |run: &Run| run.report.sections[0].figures[0].1.evidence.text.clone();
        assert_eq!((text(&runs[0]).as_str(), text(&runs[WHOLE]).as_str()), ("Initial size: 4096", ""));
    }
}
