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

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::events::{Event, Sample};
use crate::files::Files;
use crate::made::MadeCode;
use crate::maps::{self, MOST_BYTES};
use crate::space::{Code, Space};
use crate::tally::Tally;
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
    pub programs: Vec<PathBuf>,
    /// Processes with events.
    pub processes: u64,
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
            programs: Vec::new(),
            processes: 0,
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
        if let Ok(program) = fs::read_link(folder.join("exe"))
            && !self.programs.contains(&program)
            && self.programs.len() < 1024
        {
            self.programs.push(program);
        }
        self.made.meet(process);
        self.see(process, time, &text);
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
        self.spaces.entry(process).or_default().space.see(time, code);
    }

    /// An event of a process.
    pub fn take(&mut self, process: u32, event: Event) {
        let known = self.spaces.entry(process).or_default();
        if !known.has_events {
            known.has_events = true;
            self.processes += 1;
        }
        match event {
            Event::Got(Sample { time, address, size, mean, stack, .. }) => {
                let walk = if known.space.is_empty() {
                    Walk { places: Vec::new(), end: End::Unmapped }
                } else {
                    let Recorder { files, made, .. } = &*self;
                    let space = &self.spaces[&process].space;
                    Walker { files, space, process, made }.walk(time, &stack)
                };
                self.tally.got(process, address, size, mean, walk);
            }
            Event::Freed { address, .. } => self.tally.freed(process, address),
            Event::Lost { samples } => self.tally.lost(samples),
        }
    }

    /// A process has ended, or executes another program.
    pub fn ended(&mut self, process: u32) {
        self.tally.ended(process);
        self.spaces.remove(&process);
    }
}
