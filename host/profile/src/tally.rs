//! The samples of each place: a module and an offset in its file.
//!
//! Invariant: the sum of the counts is `samples`. The memory grows with the sampled places, not with time.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::record::Record;
use crate::space::{Module, Spaces};

/// A file with samples.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Its path, or the kernel's name for it.
    pub path: PathBuf,
    /// Its build-id when it was mapped; empty if the kernel does not give it.
    pub build_id: Vec<u8>,
    /// The process of code that is in no program file: then offsets are addresses in that process.
    pub process: Option<u32>,
}

/// Counts of places.
#[derive(Debug, Default)]
pub struct Tally {
    sources: Vec<Source>,
    known: HashMap<Source, Module>,
    spaces: Spaces,
    counts: HashMap<(Option<Module>, u64), u64>,
    processes: HashSet<u32>,
    threads: HashSet<u32>,
    no_programs: HashMap<PathBuf, bool>,
    /// All samples.
    pub samples: u64,
    /// Lost records of a ring.
    pub lost: u64,
    /// The number of times that the kernel throttled.
    pub throttled: u64,
}

impl Tally {
    /// Takes one event; in the order of time.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Sample { address, process, thread } => {
                self.samples += 1;
                self.processes.insert(process);
                self.threads.insert(thread);
                let place = match self.spaces.find(process, address) {
                    Some((module, offset)) => (Some(module), offset),
                    None => (None, address),
                };
                *self.counts.entry(place).or_default() += 1;
            }
            Record::Mapped { process, start, length, offset, name, build_id } => {
                // Code in no file has no offsets: those of the kernel's library begin at 0, those of code
                // made at run time are addresses. Offsets in a program library do not identify its programs.
                let (offset, owner) = match name.as_encoded_bytes() {
                    [b'[', ..] => (0, None),
                    [b'/', b'/', ..] => (start, Some(process)),
                    _ if self.is_no_program(Path::new(&name)) => (start, Some(process)),
                    _ => (offset, None),
                };
                let module = self.module(Source { path: name.into(), build_id, process: owner });
                self.spaces.map(process, start, length, module, offset);
            }
            Record::Executed { process } => self.spaces.clear(process),
            Record::Forked { process, parent } => self.spaces.fork(process, parent),
            Record::Lost(count) => self.lost = self.lost.saturating_add(count),
            Record::Throttled => self.throttled += 1,
        }
    }

    /// Whether a mapping is known there.
    #[must_use]
    pub fn is_mapped(&self, process: u32, address: u64) -> bool {
        self.spaces.find(process, address).is_some()
    }

    /// Whether it is an existing file that is not a program file. Each is read once.
    fn is_no_program(&mut self, path: &Path) -> bool {
        if let Some(known) = self.no_programs.get(path) {
            return *known;
        }
        let mut first = [0; 4];
        // A device may have no end, and a pipe no beginning.
        let is_file = std::fs::metadata(path).is_ok_and(|data| data.is_file());
        let is_none = is_file
            && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
            && first != *b"\x7fELF";
        self.no_programs.insert(path.to_owned(), is_none);
        is_none
    }

    fn module(&mut self, source: Source) -> Module {
        let next = Module::try_from(self.sources.len()).unwrap_or(Module::MAX);
        *self.known.entry(source).or_insert_with_key(|source| {
            self.sources.push(source.clone());
            next
        })
    }

    /// Every place and its count; the file is None if no mapping was known there, and the offset is then the
    /// address.
    pub fn places(&self) -> impl Iterator<Item = (Option<&Source>, u64, u64)> {
        let source = |module: Module| self.sources.get(usize::try_from(module).unwrap_or(usize::MAX));
        self.counts.iter().map(move |((module, offset), count)| (module.and_then(source), *offset, *count))
    }

    /// Processes in which samples were taken.
    #[must_use]
    pub fn processes(&self) -> u64 {
        self.processes.len() as u64
    }

    /// Threads in which samples were taken.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.threads.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(process: u32, start: u64, name: &str) -> Record {
        let name = name.into();
        Record::Mapped { process, start, length: 0x1000, offset: 0x200, name, build_id: Vec::new() }
    }

    #[test]
    fn samples_are_counted_where_they_lie() {
        let mut tally = Tally::default();
        let sample = |address, process| Record::Sample { address, process, thread: process + 10 };
        let records = [
            mapped(1, 0x1000, "/bin/a"),
            mapped(1, 0x3000, "[vdso]"),
            mapped(1, 0x5000, "//anon"),
            sample(0x1010, 1),
            sample(0x3010, 1),
            sample(0x5010, 1),
            sample(0x9000, 1),
            Record::Forked { process: 2, parent: 1 },
            sample(0x1010, 2),
            Record::Executed { process: 2 },
            sample(0x1010, 2),
            mapped(2, 0x1000, "/bin/a"),
            sample(0x1010, 2),
            Record::Lost(3),
            Record::Throttled,
        ];
        for record in records {
            tally.add(record);
        }
        let mut places: Vec<_> = tally
            .places()
            .map(|(source, offset, count)| {
                (source.map_or(String::new(), |source| source.path.display().to_string()), offset, count)
            })
            .collect();
        places.sort();
        let place = |name: &str, offset, count| (name.to_owned(), offset, count);
        assert_eq!(
            places,
            [
                place("", 0x1010, 1),
                place("", 0x9000, 1),
                place("//anon", 0x5010, 1),
                place("/bin/a", 0x210, 3),
                place("[vdso]", 0x10, 1)
            ]
        );
        assert_eq!((tally.samples, tally.lost, tally.throttled), (7, 3, 1));
        assert_eq!((tally.processes(), tally.threads()), (2, 2));
    }
}
