//! Call sites of a run: the option that samples, and the record of its samples while it runs.
//!
//! ```text
//! SITES(ON) ─> processes write samples ─> look, several times a second ─> record ─> report, when the run has ended
//!                                       ─> nobody looks (run --exec, MSGFILE) ─> of_ledger, what has found room in their files
//! ```
//!
//! Invariant: a look reads first and learns the mappings then, so that what a stack names is known. Nothing here changes how the program
//! runs.
//! Not here: the samples' form and meaning (`sites`).

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use underbar_fetch::image::perf_map::VARIABLE;
use underbar_launch::{LedgerFile, ledger};
use underbar_ledger::site_rules::Rule;
use underbar_report::Report as Accounts;
use underbar_report::units::counted;
use underbar_sites::pace::Pace;
use underbar_sites::record::Recorder;
use underbar_sites::report::{Facts, Report, report};
use underbar_sites::{Event, Of, Read, Sources};
use underbar_sys::clock::monotonic;

use crate::unsampled;

/// The folder in which compilers at run time, and CPython, name their code.
const NAMES: &str = "/tmp";

/// The samples of a run.
pub struct SiteRecord {
    sources: Sources,
    recorder: Recorder,
    pace: Pace,
    looked: Instant,
}

impl SiteRecord {
    /// Of a run that begins now.
    pub fn begin() -> SiteRecord {
        SiteRecord::of(Sources::new(), SystemTime::now())
    }

    /// From these sources. Maps of code made at run time are not older than `since`.
    fn of(sources: Sources, since: SystemTime) -> SiteRecord {
        let own = env::var_os(OsStr::from_bytes(VARIABLE.to_bytes())).map(PathBuf::from);
        let folders = [Some(PathBuf::from(NAMES)), own].into_iter().flatten().collect();
        SiteRecord {
            sources,
            recorder: Recorder::new(folders, since),
            pace: Pace::default(),
            looked: Instant::now(),
        }
    }

    /// Takes what is new while the program runs. Returns when to look again.
    pub fn look(&mut self, ledger: &LedgerFile) -> Duration {
        let words = self.look_at(ledger.site_areas());
        let now = Instant::now();
        let since = now.duration_since(self.looked);
        self.looked = now;
        self.pace.next(words, since)
    }

    fn look_at(&mut self, areas: Vec<PathBuf>) -> usize {
        let mut read = Vec::new();
        let words = self.sources.look(areas, &mut |of, what| read.push((*of, what)));
        let learned = take(&mut self.recorder, read);
        for process in self.recorder.moved.drain() {
            self.sources.forget_rules(process);
        }
        for (of, rules) in learned {
            self.sources.tell(&of, rules);
        }
        words
    }

    /// The program has ended: its report, with or without wrappers of malloc among the sites. Processes that live on are not read any more.
    pub fn end(
        self,
        ledger: Option<&LedgerFile>,
        program: &OsStr,
        arguments: &[OsString],
        has_wrappers: bool,
    ) -> Report {
        let facts = Facts {
            program: program.to_string_lossy().into_owned(),
            arguments: arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect(),
            notes: ledger.and_then(|ledger| unsampled::of_ledger(&ledger.read().ok()?)).into_iter().collect(),
            has_wrappers,
        };
        self.end_at(ledger.map(LedgerFile::site_areas), facts)
    }

    fn end_at(self, areas: Option<Vec<PathBuf>>, facts: Facts) -> Report {
        let SiteRecord { sources, mut recorder, .. } = self;
        let mut read = Vec::new();
        if let Some(areas) = areas {
            sources.end(areas, &mut |of, what| read.push((*of, what)));
        }
        take(&mut recorder, read);
        report(recorder, facts)
    }
}

/// The call sites of a ledger that no command has attended, without a trace in its files: what found room in them, so the first some thousand
/// samples of each process. None if the run sampled nothing; an error says why there is nothing to show.
pub fn of_ledger(path: &Path, accounts: &Accounts) -> Option<Result<Report, String>> {
    let areas = ledger::site_areas(path);
    let is_on =
        accounts.sub_options("SITES").is_some_and(|values| values.first().is_some_and(|on| *on == "ON"));
    if areas.is_empty() {
        let why = "nothing is sampled yet, or its site files are not next to the ledger";
        return is_on.then(|| Err(why.to_owned()));
    }
    let since = SystemTime::UNIX_EPOCH + Duration::from_nanos(accounts.run.started_unix_ns);
    let mut record = SiteRecord::of(Sources::peeking(), since);
    // Twice: a process that lives is asked what it has mapped.
    record.look_at(areas.clone());
    let (met, taken) = (record.sources.met(), record.sources.taken());
    if met == 0 {
        return Some(Err(if taken > 0 {
            "another command has read its samples, and shows them when the program ends; if that command was killed, they are lost"
                .to_owned()
        } else {
            "its site files cannot be read: they are damaged, of another version, or another user's"
                .to_owned()
        }));
    }
    let mut notes = Vec::new();
    if met < areas.len() {
        let processes = counted((areas.len() - met) as u64, "process", "processes");
        notes.push(format!("The samples of {processes} are not shown: their files cannot be read."));
    }
    let damaged = record.sources.damaged();
    if damaged > 0 {
        let processes = counted(damaged as u64, "process", "processes");
        notes.push(format!(
            "Some samples are not shown: the files of {processes} end early, by damage or by a kill."
        ));
    }
    notes.extend(unsampled::of(accounts.processes.iter().flat_map(|process| &process.ecbs)));
    let run = &accounts.run;
    let facts =
        Facts { program: run.program.clone(), arguments: run.arguments.clone(), notes, has_wrappers: false };
    let mut report = record.end_at(Some(areas), facts);
    report.heap.learn(accounts);
    Some(Ok(report))
}

/// Learns the mappings of the processes that wrote something, and takes it. Returns the rules by which stacks were walked.
fn take(recorder: &mut Recorder, read: Vec<(Of, Read)>) -> HashMap<Of, HashMap<u64, Rule>> {
    // In the order of their numbers: a parent is usually met before its children.
    let near: BTreeSet<u32> = read
        .iter()
        .filter(|(of, what)| of.is_near && matches!(what, Read::Event(_)))
        .map(|(of, _)| of.process)
        .collect();
    let now = monotonic();
    // One that executes another program has two areas: what it has mapped now is the newer one's, so it is looked at after the end of the
    // older one.
    let ended: BTreeSet<u32> =
        read.iter().filter(|(_, what)| matches!(what, Read::End { .. })).map(|(of, _)| of.process).collect();
    for process in near.difference(&ended) {
        recorder.look(*process, now);
    }
    let mut learned: HashMap<Of, HashMap<u64, Rule>> = HashMap::new();
    for (of, what) in by_time(read) {
        match what {
            Read::Mappings(lists) => recorder.told(of.process, now, &lists),
            Read::Event(event) => {
                recorder.take(of.process, event);
                if !recorder.learned.is_empty() {
                    learned.entry(of).or_default().extend(recorder.learned.drain(..));
                }
            }
            Read::End { mean } => recorder.ended(of.process, mean),
        }
    }
    learned
}

/// What was read, in the order of its time as far as each process's own order allows: processes are read one after the other, and when most
/// was in use is a matter of all of them.
fn by_time(read: Vec<(Of, Read)>) -> Vec<(Of, Read)> {
    // By the process: what it executes next has accounts of its own, and comes behind.
    let mut last: HashMap<u32, u64> = HashMap::new();
    let mut with_time: Vec<(u64, (Of, Read))> = read
        .into_iter()
        .map(|(of, what)| {
            let latest = last.entry(of.process).or_default();
            let time = match &what {
                Read::Event(Event::Got(sample)) => sample.time,
                Read::Event(Event::Freed { time, .. }) => *time,
                Read::Mappings(_) | Read::Event(Event::Lost { .. }) | Read::End { .. } => *latest,
            };
            *latest = time.max(*latest);
            (*latest, (of, what))
        })
        .collect();
    // Of the same time, each stays where it was.
    with_time.sort_by_key(|(time, _)| *time);
    with_time.into_iter().map(|(_, what)| what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_are_read_one_after_the_other_are_mixed_by_time() {
        let of = |process| Of { process, is_near: true, made_ns: 1 };
        let freed = |process, time| (of(process), Read::Event(Event::Freed { address: time, time, most: 0 }));
        let mappings = (of(1), Read::Mappings(String::new()));
        let read = vec![
            mappings.clone(),
            freed(1, 50),
            freed(1, 40),
            (of(1), Read::End { mean: 1 }),
            freed(2, 45),
            freed(2, 60),
        ];
        let expected = vec![
            mappings,
            freed(2, 45),
            freed(1, 50),
            freed(1, 40),
            (of(1), Read::End { mean: 1 }),
            freed(2, 60),
        ];
        assert_eq!(by_time(read), expected);
        // What a process executed next comes behind what it was before.
        let next = Of { made_ns: 2, ..of(1) };
        let freed_next = (next, Read::Event(Event::Freed { address: 1, time: 70, most: 0 }));
        let mappings = (next, Read::Mappings(String::new()));
        let read = vec![
            freed(1, 50),
            (of(1), Read::End { mean: 1 }),
            mappings.clone(),
            freed_next.clone(),
            freed(2, 45),
            freed(2, 60),
        ];
        let expected = vec![
            freed(2, 45),
            freed(1, 50),
            (of(1), Read::End { mean: 1 }),
            mappings,
            freed(2, 60),
            freed_next,
        ];
        assert_eq!(by_time(read), expected);
    }
}
