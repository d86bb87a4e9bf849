//! The site areas of a run: each of its processes has one, from its start or its fork to its end or its exec.
//!
//! Invariant: the events of one area come in their order; those of different areas come one area after the other.
//! Not here: where the files are (`host/launch`), and reading one (`ring`).

use std::collections::HashSet;
use std::path::PathBuf;

use underbar_ledger::site_rules::Rule;
use underbar_sys::syscall::{Errno, kill};

use crate::events::Event;
use crate::ring::Ring;

/// What a run's processes recorded.
#[derive(Default)]
pub struct Sources {
    open: Vec<Source>,
    met: HashSet<PathBuf>,
    /// Areas are read without a trace.
    is_peeking: bool,
    /// Areas of which another reader has taken samples. They are not read.
    taken: usize,
    /// Areas of ended processes that were not read to their end.
    damaged: usize,
}

struct Source {
    ring: Ring,
    of: Of,
    /// There is a newer area of the same process.
    is_old: bool,
}

/// Whose events they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Of {
    /// The process's number.
    pub process: u32,
    /// Whether that is its number in this process's namespace.
    pub is_near: bool,
    /// When its area was made, nanoseconds of CLOCK_BOOTTIME: another one after an exec.
    pub made_ns: u64,
}

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The process has written down its executable mappings, as `/proc/PID/maps` has them; before its first event, and when it ends.
    Mappings(String),
    /// An event.
    Event(Event),
    /// Nothing more comes of this area.
    End {
        /// The mean distance of samples that was in force at the end, bytes; 0 if it is not known.
        mean: u64,
    },
}

impl Sources {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// None yet, and those that come are read without a trace, so that they can be read again.
    #[must_use]
    pub fn peeking() -> Self {
        Self { is_peeking: true, ..Self::default() }
    }

    /// Areas that are or were read.
    #[must_use]
    pub fn met(&self) -> usize {
        self.met.len() - self.taken
    }

    /// Areas that were not read, since another reader takes their samples.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Areas with samples that are missing and that nobody can count, of those that were read until now.
    #[must_use]
    pub fn damaged(&self) -> usize {
        self.damaged + self.open.iter().filter(|source| source.ring.is_damaged()).count()
    }

    /// Reads what is new. Called several times a second, with all areas that exist then. Returns the words that the fullest ring had in use,
    /// of [`RING_WORDS`].
    ///
    /// [`RING_WORDS`]: underbar_ledger::sites::RING_WORDS
    pub fn look(&mut self, paths: Vec<PathBuf>, then: &mut dyn FnMut(&Of, Read)) -> usize {
        self.meet(paths);
        let mut fullest = 0;
        self.open.retain_mut(|source| {
            let is_over = source.is_old || source.is_gone();
            source.read(is_over, then);
            fullest = fullest.max(source.ring.found());
            self.damaged += usize::from(is_over && source.ring.is_damaged());
            !is_over
        });
        fullest
    }

    /// Tells a process the rules of its return addresses.
    pub fn tell(&mut self, of: &Of, rules: impl IntoIterator<Item = (u64, Rule)>) {
        if let Some(source) = self.open.iter_mut().find(|source| source.of == *of) {
            source.ring.tell(rules);
        }
    }

    /// The code of a process has moved: it forgets all rules.
    pub fn forget_rules(&mut self, process: u32) {
        let of_process = self.open.iter_mut().filter(|source| source.of.process == process);
        of_process.for_each(|source| source.ring.forget_rules());
    }

    /// The run has ended: reads all that is left. Processes that live on are not read any more.
    pub fn end(mut self, paths: Vec<PathBuf>, then: &mut dyn FnMut(&Of, Read)) {
        self.meet(paths);
        for source in &mut self.open {
            source.read(true, then);
        }
    }

    fn meet(&mut self, paths: Vec<PathBuf>) {
        let mut new = Vec::new();
        for path in paths {
            if self.met.contains(&path) {
                continue;
            }
            // One that is not whole yet is met at the next look.
            let ring = if self.is_peeking { Ring::peek(&path) } else { Ring::open(&path) };
            if let Some(ring) = ring {
                if self.is_peeking && ring.was_read() {
                    self.taken += 1;
                    self.met.insert(path);
                    continue;
                }
                let of = Of { process: ring.process(), is_near: ring.is_near(), made_ns: ring.made_ns() };
                new.push(Source { ring, of, is_old: false });
                self.met.insert(path);
            }
        }
        new.sort_by_key(|source| source.of.made_ns);
        for source in new {
            let process = source.of.process;
            self.open
                .iter_mut()
                .filter(|older| older.of.process == process)
                .for_each(|older| older.is_old = true);
            self.open.push(source);
        }
    }
}

impl Source {
    fn read(&mut self, is_over: bool, then: &mut dyn FnMut(&Of, Read)) {
        let text = self.ring.mappings();
        if !text.is_empty() {
            then(&self.of, Read::Mappings(text));
        }
        let of = self.of;
        self.ring.read(is_over, &mut |event| then(&of, Read::Event(event)));
        if is_over {
            then(&of, Read::End { mean: self.ring.mean() });
        }
    }

    /// Whether the process has ended. One of another namespace cannot be asked.
    fn is_gone(&self) -> bool {
        self.of.is_near && kill(self.of.process.cast_signed(), 0) == Err(Errno::ESRCH)
    }
}
