//! A run as its samples come: the processes, what they have mapped, and their samples added up.
//!
//! ```text
//! for each process, again and again:   read its events ── look at its mappings ── take the events
//! at its end:                          take the last events ── ended
//! ```
//!
//! Look after reading and before taking: then what a sample's stack names is mapped, or was at the look before.
//!
//! Invariant: events of a process that was never looked at are counted, without callers. Memory is bounded as in `tally` and `space`.
//! Not here: where events come from.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use underbar_ledger::site_rules::Rule;

use crate::events::{Event, Sample, Stack};
use crate::files::Files;
use crate::made::MadeCode;
use crate::maps::{self, MOST_BYTES};
use crate::space::{Code, Space};
use crate::tally::{Taken, Tally};
use crate::walk::{End, Walk, Walker};

/// The samples of a run.
pub struct Recorder {
    /// The program files.
    pub files: Files,
    /// Names of code made at run time.
    pub made: MadeCode,
    /// The sums.
    pub tally: Tally,
    /// The programs' own files, as their processes executed them.
    pub programs: HashSet<PathBuf>,
    /// The file of the program that was met first; None if no process was met.
    pub binary: Option<PathBuf>,
    /// Processes with events.
    pub processes: u64,
    /// Rules of return addresses of the last sample, for its process. Whoever wants them takes them after each event.
    pub learned: Vec<(u64, Rule)>,
    /// Processes in which code is not where it was, so that rules of its addresses are void. Whoever gives rules takes them before.
    pub moved: HashSet<u32>,
    spaces: HashMap<u32, Process>,
}

#[derive(Default)]
struct Process {
    space: Space,
    has_events: bool,
}

impl Recorder {
    /// Nothing has happened yet. Code made at run time is named by maps in these folders that are not older than `since`.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>, since: SystemTime) -> Recorder {
        Recorder {
            files: Files::default(),
            made: MadeCode::new(folders, since),
            tally: Tally::default(),
            programs: HashSet::new(),
            binary: None,
            processes: 0,
            learned: Vec::new(),
            moved: HashSet::new(),
            spaces: HashMap::new(),
        }
    }

    /// Looks at the mappings of a process, at a time of CLOCK_MONOTONIC in nanoseconds. One that has ended has none: what is known stays.
    pub fn look(&mut self, process: u32, time: u64) {
        let folder = Path::new("/proc").join(process.to_string());
        let mut text = Vec::new();
        let read =
            File::open(folder.join("maps")).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
        if read.is_err() || text.is_empty() {
            return;
        }
        if let Ok(program) = fs::read_link(folder.join("exe")) {
            self.meet(program);
        }
        self.made.meet(process);
        self.see(process, time, &text);
    }

    fn meet(&mut self, program: PathBuf) {
        if self.binary.is_none() && program.is_absolute() {
            self.binary = Some(program.clone());
        }
        self.programs.insert(program);
    }

    /// The same with the text of `/proc/PID/maps`, if another has read it.
    pub fn see(&mut self, process: u32, time: u64, maps: &[u8]) {
        let mappings = maps::parse(maps);
        let code = mappings
            .iter()
            .map(|mapping| Code {
                range: mapping.range.clone(),
                offset: mapping.offset,
                file: self.files.of(process, mapping),
            })
            .collect();
        let is_new = self.spaces.get(&process).is_none_or(|known| known.space.is_empty());
        // A program's own file is below its libraries; `look` knows it better.
        if is_new && let Some(first) = mappings.first() {
            self.meet(PathBuf::from(&first.name));
        }
        if self.spaces.entry(process).or_default().space.see(time, code) {
            self.moved.insert(process);
        }
    }

    /// Lists of mappings that a process has written down itself, one after the other: each begins anew with its lowest address. They are
    /// for processes that end before anybody looks at them.
    pub fn told(&mut self, process: u32, time: u64, lists: &str) {
        for (number, list) in split(lists).into_iter().enumerate() {
            self.see(process, time.saturating_add(number as u64), list.as_bytes());
        }
    }

    /// An event of a process.
    pub fn take(&mut self, process: u32, event: Event) {
        self.learned.clear();
        let known = self.spaces.entry(process).or_default();
        if !known.has_events {
            known.has_events = true;
            self.processes += 1;
        }
        match event {
            Event::Got(Sample { time, address, size, mean, in_use, most, stack, .. }) => {
                let walk = if known.space.is_empty() {
                    Walk { places: Vec::new(), end: End::Unmapped }
                } else {
                    let Recorder { files, made, learned, spaces, .. } = &mut *self;
                    let space = &spaces[&process].space;
                    let learn = &mut |address, rule| learned.push((address, rule));
                    Walker { files, space, process, made }.walk_learning(time, &stack, learn)
                };
                if walk.end == End::Cut
                    && let Stack::Raw { stack, .. } = &stack
                {
                    let longest = &mut self.tally.counts.longest_copy;
                    *longest = (*longest).max(stack.len() as u64);
                }
                self.tally.got(process, Taken { address, size, mean, in_use, most }, walk);
            }
            Event::Freed { address, most, .. } => self.tally.freed(process, address, most),
            Event::Lost { samples } => self.tally.lost(samples),
        }
    }

    /// A process has ended, or executes another program. This mean distance of samples was in force then, in bytes; 0: not known.
    pub fn ended(&mut self, process: u32, mean: u64) {
        self.tally.ended(process, mean);
        self.spaces.remove(&process);
    }
}

/// The lists in a text, which each begin with their lowest address.
fn split(lists: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut at, mut last) = (0, 0, 0);
    for line in lists.split_inclusive('\n') {
        let start =
            line.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok()).unwrap_or(last);
        if start < last {
            found.push(&lists[begin..at]);
            begin = at;
        }
        last = start;
        at += line.len();
    }
    if begin < at {
        found.push(&lists[begin..at]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::Place;

    const ONE: &str = "1000-2000 r-xp 00000000 00:00 0 \n3000-4000 r-xp 00000000 00:00 0 \n";
    const TWO: &str = "1000-2000 r-xp 00000000 00:00 0 \n5000-6000 r-xp 00000000 00:00 0 \n";

    #[test]
    fn lists_of_mappings_begin_with_their_lowest_address() {
        assert_eq!(split(&format!("{ONE}{TWO}")), [ONE, TWO]);
        assert_eq!(split(ONE), [ONE]);
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("x\n-\n\n"), ["x\n-\n\n"]);
    }

    #[test]
    fn processes_have_events_until_they_end() {
        let mut recorder = Recorder::new(Vec::new(), SystemTime::now());
        let got = |address| {
            let stack = Stack::Frames { addresses: vec![0x1801, 0x5801], whole: true };
            Event::Got(Sample {
                thread: 1,
                time: 5,
                address,
                size: 1 << 20,
                mean: 1 << 19,
                in_use: 1 << 20,
                most: 1 << 20,
                stack,
            })
        };
        // A number that no process has.
        let process = u32::MAX - 1;
        recorder.look(process, 1);
        recorder.take(process, got(0x10));
        recorder.told(process, 9, &format!("{ONE}{TWO}"));
        recorder.take(process, got(0x20));
        recorder.take(process, got(0x30));
        recorder.take(process, Event::Freed { address: 0x20, time: 6, most: 1 << 20 });
        recorder.take(process, Event::Lost { samples: 4 });
        recorder.ended(process, 0);
        recorder.take(process, got(0x40));
        let counts = recorder.tally.counts;
        assert_eq!((counts.samples, counts.freed, counts.lost, recorder.processes), (4, 1, 4, 2));
        let rows = recorder.tally.rows();
        assert_eq!((rows[0].walk.end, rows[0].got.samples), (End::Unmapped, 2));
        let places = [Place::Process(process, 0x1800), Place::Process(process, 0x5800)];
        assert_eq!((&rows[1].walk.places[..], rows[1].at_end.samples), (&places[..], 1));
        assert_eq!(recorder.binary, None, "its mappings have no names");
    }

    #[test]
    fn the_first_program_that_is_met_is_the_binary() {
        let mut recorder = Recorder::new(Vec::new(), SystemTime::now());
        for (process, name) in [(u32::MAX - 1, "/opt/main"), (u32::MAX - 2, "/bin/child")] {
            recorder.told(process, 1, &format!("1000-2000 r-xp 00000000 08:01 7 {name}\n"));
        }
        assert_eq!(recorder.binary, Some(PathBuf::from("/opt/main")));
        assert_eq!(recorder.programs.len(), 2);
    }
}
