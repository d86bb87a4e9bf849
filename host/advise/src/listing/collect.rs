//! What the listings hold, sorted by program.
//!
//! Invariant: memory is bounded: of all programs together [`MOST_REPORTS`] reports are kept, and of those beyond the first
//! [`WHOLE`] only figures and lines, without the text that stands there; how many more there were is said. A fragment without
//! heading is a program of its own: nobody knows whose it is.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use serde::Serialize;
use underbar_listing::natural::Natural;
use underbar_listing::ztpf::model::Found;
use underbar_listing::{
    Carrier, Evidence, Item, OptionRow, Region, StepTiming, StorageReport, Unread, has_time,
};

const MOST_REPORTS: usize = 20_000;
const WHOLE: usize = 500;
/// What is said again within so many is kept once.
const ALIKE: usize = 256;
/// Of one report no more ranges of sizes are kept, and no more doubts, once the first reports are kept whole.
const MOST_RANGES: usize = 64;
const MOST_OTHER: usize = 2_000;
/// What is said of so many lines of a file is said once in words.
const MANY_ALIKE: usize = 6;

/// One run.
pub struct Run {
    /// Number of the file.
    pub file: usize,
    /// Its storage report.
    pub report: StorageReport,
}

/// One program.
pub struct Program {
    /// Its enclave's name, or what stands for it.
    pub name: String,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// An option as it is shown: with where it was set as its source.
pub struct Shown {
    /// Number of the file.
    pub file: usize,
    /// The program, where an options report names it.
    pub program: Option<String>,
    /// The option; its source in words.
    pub row: OptionRow,
}

/// What was found in all files.
#[derive(Default)]
pub struct Collected {
    /// The files, as they were named.
    pub files: Vec<String>,
    /// The programs, in the order in which they were met.
    pub programs: Vec<Program>,
    /// Options in force or in a text: the file, the enclave if it is known, the option.
    pub options: Vec<(usize, Option<String>, OptionRow)>,
    /// What shows the region: the file and the statement.
    pub regions: Vec<(usize, Region)>,
    /// Programs of steps that ask for no region: the file and the statement.
    without_region: HashMap<String, (usize, Evidence)>,
    /// Step timings.
    pub steps: Vec<(usize, StepTiming)>,
    /// What was found of z/TPF: the file and the finding.
    pub ztpf: Vec<(usize, Found)>,
    /// What concerns Natural and Adabas.
    pub natural: super::natural::Sessions,
    /// What is wrong with option texts: the file, the line, what.
    pub flaws: Vec<(usize, u64, String)>,
    /// What was not read, and every doubt: the file, the line, why.
    pub unread: Vec<(usize, u64, String)>,
    /// How many items there were, of any kind.
    pub items: u64,
    /// How many there were beyond what is kept.
    pub beyond: u64,
    /// Where in `programs` a name is.
    places: HashMap<String, usize>,
    /// Where in `options` those of an enclave are that it had last.
    own: HashMap<String, HashMap<String, usize>>,
    /// Where those are that are no enclave's, with how much they outrank others; None where places of one rank differ.
    plain: HashMap<String, (u8, Option<usize>)>,
    /// For each of `options` in what text it stands; None in an options report.
    carriers: Vec<Option<Carrier>>,
    /// Reports that are kept.
    kept: usize,
    /// The file and line of each report, by what it says.
    seen: HashMap<u64, (usize, u64)>,
}

impl Collected {
    /// Begins a file.
    pub fn file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// Takes an item of the file begun last.
    pub fn take(&mut self, item: Item) {
        let file = self.files.len().saturating_sub(1);
        // A step that asks for nothing is nothing found: it only tells that what others ask for is not its own.
        if let Item::Region(Region {
            program: Some(program),
            region: None,
            memlimit: None,
            used_above: None,
            evidence,
        }) = item
        {
            if self.without_region.len() < MOST_OTHER {
                self.without_region.entry(program).or_insert((file, evidence));
            }
            return;
        }
        self.items += 1;
        match item {
            Item::Storage(report) => self.storage(file, report),
            Item::Options(report) => {
                for doubt in report.doubts {
                    self.say(file, doubt.line, doubt.words);
                }
                for row in report.rows {
                    self.option(file, report.enclave.clone(), None, row);
                }
            }
            Item::Text(text) => {
                for doubt in text.doubts {
                    self.flaw(file, doubt.line, doubt.words);
                }
                for row in text.rows {
                    self.option(file, None, Some(text.carrier), row);
                }
            }
            Item::Step(step) if self.steps.len() < MOST_OTHER => self.steps.push((file, step)),
            Item::Region(region) if self.is_known(&region) => {}
            Item::Region(region) if self.regions.len() < MOST_OTHER => self.regions.push((file, region)),
            Item::Step(_) | Item::Region(_) => self.beyond += 1,
            Item::Ztpf(found) => self.ztpf(file, found),
            Item::Natural(found) => {
                for doubt in found.doubts() {
                    self.say(file, doubt.line, doubt.words.clone());
                }
                if let Natural::Buffers(report) = &found
                    && report.date.as_deref().is_some_and(has_time)
                    && self.is_twice(file, report.lines.0, report, "report of buffers")
                {
                    return;
                }
                self.beyond += u64::from(!self.natural.take(file, found));
            }
            Item::Unread(Unread { evidence, why }) => {
                self.natural.not_read(file, &why, &evidence);
                self.say(file, evidence.line, format!("{why}: {}", evidence.text))
            }
        }
    }

    /// The program of that name.
    pub(super) fn program(&self, name: &str) -> Option<&Program> {
        self.programs.get(*self.places.get(name)?)
    }

    /// What was not read, and every doubt, by file and line, each with its place; what is said of many lines of a file once,
    /// with how many they are and the first of them.
    #[must_use]
    pub fn doubts(&self) -> Vec<(String, String)> {
        let mut all: Vec<_> = self.unread.iter().collect();
        all.sort_by_key(|(file, line, _)| (*file, *line));
        let mut lines: HashMap<(usize, &str), Vec<u64>> = HashMap::new();
        for (file, line, why) in &all {
            lines.entry((*file, why)).or_default().push(*line);
        }
        let name = |file: &usize| self.files.get(*file).map_or("", String::as_str);
        let said =
            all.iter().filter_map(|(file, line, why)| match lines.get(&(*file, why.as_str()))?.as_slice() {
                many if many.len() < MANY_ALIKE => Some((format!("{}:{line}", name(file)), why.clone())),
                many if many[0] == *line => {
                    // Once, at the first of them.
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

    /// Whom advice may be for: programs, then sessions of Natural.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let sessions = self.natural.sessions().into_iter().map(|session| session.name);
        self.programs.iter().map(|program| program.name.clone()).chain(sessions).collect()
    }

    /// Whether there is anything of Language Environment, or of the jobs in which it runs.
    #[must_use]
    pub fn is_of_language_environment(&self) -> bool {
        let is_empty = self.programs.is_empty() && self.options.is_empty() && self.flaws.is_empty();
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
            Some(name) => name.clone(),
            None => format!("{}:{}", self.files.get(file).map_or("", String::as_str), report.lines.0),
        };
        if let Some((first, line)) = self.is_again(&name, file, &report) {
            let first = self.files.get(first).map_or("", String::as_str).to_owned();
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

    /// Where the same report was seen: same enclave, same date and time, same figures. One without a time may be another run.
    fn is_again(&mut self, name: &str, file: usize, report: &StorageReport) -> Option<(usize, u64)> {
        let date = report.date.as_ref()?;
        if !report.has_time() || report.sections.is_empty() || self.seen.len() >= MOST_REPORTS {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (name, date).hash(&mut hasher);
        for section in &report.sections {
            section.kind.title().hash(&mut hasher);
            for (field, figure) in &section.figures {
                (field.label(), figure.value, figure.likely).hash(&mut hasher);
            }
        }
        match self.seen.entry(hasher.finish()) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(new) => {
                new.insert((file, report.lines.0));
                None
            }
        }
    }

    /// Whether something with the same figures was found before, and says so.
    fn is_twice(&mut self, file: usize, line: u64, figures: &impl Serialize, what: &str) -> bool {
        // Figures, texts and lists of them have a JSON form, always.
        let mut plain = serde_json::to_value(figures).unwrap_or_default();
        without_places(&mut plain);
        let mut hasher = DefaultHasher::new();
        (what, plain.to_string()).hash(&mut hasher);
        if self.seen.len() >= MOST_REPORTS {
            return false;
        }
        match self.seen.entry(hasher.finish()) {
            Entry::Occupied(known) => {
                let (first, at) = *known.get();
                let first = self.files.get(first).map_or("", String::as_str);
                let words = format!("the same {what} as at {first}:{at}: it counts once");
                self.say(file, line, words);
                true
            }
            Entry::Vacant(new) => {
                new.insert((file, line));
                false
            }
        }
    }

    /// Whether a job that is in the log again and again asks for the same.
    fn is_known(&self, region: &Region) -> bool {
        self.regions.iter().rev().take(ALIKE).any(|(_, known)| {
            (&known.program, known.region, known.memlimit, known.used_above)
                == (&region.program, region.region, region.memlimit, region.used_above)
        })
    }

    fn ztpf(&mut self, file: usize, found: Found) {
        for doubt in found.doubts() {
            self.say(file, doubt.line, doubt.words.clone());
        }
        if let Found::Profile(profile) = &found
            && self.is_twice(file, profile.title.line, &profile.samples, "profile")
        {
            return;
        }
        if let Some((known, line)) = super::ztpf::same(&self.ztpf, &found) {
            let place = self.files.get(known).cloned().unwrap_or_default();
            let words = format!("the same report as that of {place}:{line}: it counts once");
            self.say(file, super::ztpf::first_line(&found), words);
        } else if self.ztpf.len() < MOST_OTHER {
            self.ztpf.push((file, found));
        } else {
            self.beyond += 1;
        }
    }

    fn option(&mut self, file: usize, enclave: Option<String>, carrier: Option<Carrier>, row: OptionRow) {
        let all = self.options.iter().zip(&self.carriers);
        let is_known = all.rev().take(ALIKE).any(|((known_file, program, known), known_carrier)| {
            known.name == row.name
                && *known_carrier == carrier
                && (*known_file, program, &known.values) == (file, &enclave, &row.values)
                && (&known.source, known.negative, known.overridable)
                    == (&row.source, row.negative, row.overridable)
        });
        if is_known {
            return;
        }
        if self.options.len() < MOST_OTHER {
            let at = self.options.len();
            match &enclave {
                Some(enclave) => {
                    self.own.entry(enclave.clone()).or_default().insert(row.name.clone(), at);
                }
                None => {
                    let rank = rank(carrier, &row);
                    let (known, first) = self.plain.entry(row.name.clone()).or_insert((rank, Some(at)));
                    let values = |at: usize| self.options.get(at).map(|(_, _, known)| &known.values);
                    if rank > *known {
                        (*known, *first) = (rank, Some(at));
                    } else if rank == *known {
                        *first = first.filter(|first| *first == at || values(*first) == Some(&row.values));
                    }
                }
            }
            self.options.push((file, enclave, row));
            self.carriers.push(carrier);
        } else {
            self.beyond += 1;
        }
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

    /// Options about storage: what options reports show, then what texts set that no report shows, each with the highest
    /// place first and with what outranks it. Nobody but a report says that a text is in force.
    #[must_use]
    pub fn in_force(&self) -> Vec<Shown> {
        let ours = |name: &str| {
            name.contains("HEAP") || name.contains("STACK") || matches!(name, "ALL31" | "STORAGE")
        };
        let shown = |file: usize, program: &Option<String>, row: &OptionRow, source: String| {
            let row = OptionRow { source, ..row.clone() };
            Shown { file, program: program.clone(), row }
        };
        let all = || self.with_carriers().filter(|((_, _, row), _)| ours(&row.name));
        let mut reported: HashSet<&str> = HashSet::new();
        let mut found = Vec::new();
        for ((file, program, row), _) in all().filter(|((_, _, row), _)| !row.source.is_empty()) {
            reported.insert(&row.name);
            found.push(shown(*file, program, row, row.source.clone()));
        }
        let mut texts: Vec<_> = all()
            .filter_map(|((file, program, row), carrier)| Some((*file, program, row, carrier?)))
            .filter(|(_, _, row, _)| !reported.contains(row.name.as_str()))
            .collect();
        texts.sort_by_key(|(_, _, row, carrier)| std::cmp::Reverse(rank(Some(*carrier), row)));
        let mut highest: HashMap<&str, (u8, Carrier)> = HashMap::new();
        for (file, program, row, carrier) in texts {
            let own = rank(Some(carrier), row);
            let (above, by) = *highest.entry(&row.name).or_insert((own, carrier));
            let outranked = match above > own {
                true => format!(", outranked in what it sets by {}", place(by)),
                false => String::new(),
            };
            found.push(shown(file, program, row, format!("{}{outranked}", place(carrier))));
        }
        found
    }

    /// For each of `options` in what text it stands; None where it is a row of an options report.
    pub(super) fn with_carriers(
        &self,
    ) -> impl Iterator<Item = (&(usize, Option<String>, OptionRow), Option<Carrier>)> {
        self.options.iter().zip(self.carriers.iter().copied())
    }

    /// An option as it is known for a program: from an options report of its own name, else from the place that outranks
    /// the others. None where two of one rank differ.
    #[must_use]
    pub fn option_of(&self, program: &str, name: &str) -> Option<(usize, &OptionRow)> {
        let own = self.own.get(program).and_then(|options| options.get(name));
        let at = own.or_else(|| self.plain.get(name)?.1.as_ref())?;
        let (file, _, row) = self.options.get(*at)?;
        Some((*file, row))
    }

    /// The step in this file that runs a program: its statement.
    pub(super) fn step_of(&self, file: usize, program: &str) -> Option<&Evidence> {
        let regions =
            self.regions.iter().map(|(file, region)| (*file, region.program.as_deref(), &region.evidence));
        let others = self.without_region.iter().map(|(name, (file, at))| (*file, Some(name.as_str()), at));
        let mut all = regions.chain(others);
        all.find(|(of, name, _)| *of == file && *name == Some(program)).map(|(_, _, evidence)| evidence)
    }

    /// The region of a program, where it is plain: of the step that runs it, or of all steps if they agree. Where its step is
    /// in sight and asks for none, that of the job.
    #[must_use]
    pub fn region_of(&self, program: &str) -> Option<(usize, &Region)> {
        let with = || self.regions.iter().filter(|(_, region)| region.region.is_some());
        let named = || with().filter(|(_, region)| region.program.as_deref() == Some(program));
        let smallest = named().min_by_key(|(_, region)| above(region));
        let own = self.without_region.contains_key(program);
        let with = || with().filter(|(_, region)| !own || region.program.is_none());
        let (file, region) = smallest.or_else(|| {
            let (first, mut all) = (with().next()?, with());
            all.all(|(_, region)| above(region) == above(&first.1)).then_some(first)
        })?;
        Some((*file, region))
    }
}

/// Leaves of a report what it says, without where that stands.
fn without_places(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            for place in ["line", "lines", "text", "doubts"] {
                fields.remove(place);
            }
            fields.values_mut().for_each(without_places);
        }
        serde_json::Value::Array(all) => all.iter_mut().for_each(without_places),
        _ => {}
    }
}

/// The carrier of a text, in words.
fn place(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Parm => "PARM",
        Carrier::CeeRunopts => "_CEE_RUNOPTS",
        Carrier::Ceeopts => "CEEOPTS or a bare text",
        Carrier::Ceeuopt => "CEEXOPT (CEEUOPT, CEEROPT)",
        Carrier::Ceeprm => "CEEPRMxx",
    }
}

/// Which of several texts is in force: what cannot be overridden, then a report, then PARM and `_CEE_RUNOPTS`, then CEEOPTS,
/// then what is linked with the program, then members of the system.
fn rank(carrier: Option<Carrier>, row: &OptionRow) -> u8 {
    match carrier {
        _ if row.overridable == Some(false) => 5,
        None => 4,
        Some(Carrier::Parm | Carrier::CeeRunopts) => 3,
        Some(Carrier::Ceeopts) => 2,
        Some(Carrier::Ceeuopt) => 1,
        Some(Carrier::Ceeprm) => 0,
    }
}

/// What a region leaves above the line; all there is counts as the most.
fn above(region: &Region) -> u64 {
    super::sizes::above_the_line(region).unwrap_or(u64::MAX)
}

/// Takes away the texts, which can be read again at their lines.
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
mod tests {
    use super::*;

    fn collected(text: &str) -> Collected {
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
    fn texts_are_shown_with_what_outranks_them() {
        let texts = "CEEDOPT(HEAP(64K,32K),STACK(128K,128K))\n//CEEOPTS DD *\nHEAP(2M,1M)\n/*\nexport _CEE_RUNOPTS=\"STACK(512K)\"\n";
        let shown: Vec<String> = collected(texts)
            .in_force()
            .iter()
            .map(|shown| format!("{}({}) {}", shown.row.name, shown.row.values, shown.row.source))
            .collect();
        assert_eq!(
            shown,
            [
                "STACK(512K) _CEE_RUNOPTS",
                "HEAP(2M,1M) CEEOPTS or a bare text",
                "HEAP(64K,32K) CEEPRMxx, outranked in what it sets by CEEOPTS or a bare text",
                "STACK(128K,128K) CEEPRMxx, outranked in what it sets by _CEE_RUNOPTS",
            ]
        );
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
    fn many_reports_are_kept_and_more_are_counted() {
        let text = "Storage Report for Enclave main x\n\n    HEAP statistics:\n      Initial size: 4096\nEnd of Storage Report\n";
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
