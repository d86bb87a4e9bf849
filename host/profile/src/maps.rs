//! Names of code in no program file, written by its process: a line for each function.
//!
//! ```text
//! FOLDER/perf-PID.map:   7f12a4010 3e report_line [/srv/job.pds(REPORT)]
//!                        address   bytes  function  its program, if it is named
//! ```
//!
//! Invariant: the bytes are untrusted; a line without meaning is skipped, and files are read up to a limit.
//! Known limit: of two programs at one address, one after the other, the later one gets all samples.
//! Not here: the writer (`underbar-fetch`, `image::perf_map`).

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

/// The most bytes read of a file.
const MOST: u64 = 256 << 20;

/// The names of all processes.
#[derive(Debug, Default)]
pub struct Maps {
    of: HashMap<u32, BTreeMap<u64, Function>>,
}

#[derive(Debug)]
struct Function {
    end: u64,
    name: String,
}

/// A function of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its program, if the line names one.
    pub program: Option<&'a str>,
    /// Its name.
    pub function: &'a str,
    /// Bytes from its start.
    pub displacement: u64,
}

impl Maps {
    /// Those of the processes with a map in this folder.
    #[must_use]
    pub fn read(folder: &Path) -> Maps {
        let mut maps = Maps::default();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("perf-")?.strip_suffix(".map"));
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let Some(process) = number.and_then(|number| number.parse().ok()).filter(|_| is_file) else {
                continue;
            };
            let mut text = Vec::new();
            if File::open(entry.path()).and_then(|file| file.take(MOST).read_to_end(&mut text)).is_ok() {
                maps.add(process, &text);
            }
        }
        maps
    }

    /// The lines of one process, in the order of writing.
    pub fn add(&mut self, process: u32, text: &[u8]) {
        let functions = self.of.entry(process).or_default();
        for line in text.split(|byte| *byte == b'\n') {
            let Some((start, function)) = function(line) else { continue };
            // Earlier code at these addresses is gone.
            let below: Vec<u64> = functions
                .range(..function.end)
                .rev()
                .take_while(|(at, old)| **at >= start || old.end > start)
                .map(|(at, _)| *at)
                .collect();
            for at in below {
                functions.remove(&at);
            }
            functions.insert(start, function);
        }
    }

    /// The function at an address of a process.
    #[must_use]
    pub fn find(&self, process: u32, address: u64) -> Option<Named<'_>> {
        let (start, found) = self.of.get(&process)?.range(..=address).next_back()?;
        if address >= found.end {
            return None;
        }
        let (function, program) = match found.name.strip_suffix(']').and_then(|name| name.split_once(" [")) {
            Some((function, program)) => (function, Some(program)),
            None => (found.name.as_str(), None),
        };
        Some(Named { program, function, displacement: address - start })
    }
}

fn function(line: &[u8]) -> Option<(u64, Function)> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let mut number = || u64::from_str_radix(str::from_utf8(words.next()?).ok()?, 16).ok();
    let (start, size) = (number()?, number()?);
    let end = start.checked_add(size).filter(|end| *end > start)?;
    let name = String::from_utf8_lossy(words.next()?).into_owned();
    (!name.is_empty()).then_some((start, Function { end, name }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_lie_somewhere_has_it() {
        let mut maps = Maps::default();
        maps.add(7, b"1000 10 first [/a.pds(ONE)]\n1010 10 second [/a.pds(ONE)]\n2000 20 made at run time\n");
        let named = |program, function, displacement| Some(Named { program, function, displacement });
        assert_eq!(maps.find(7, 0x1004), named(Some("/a.pds(ONE)"), "first", 4));
        assert_eq!(maps.find(7, 0x1010), named(Some("/a.pds(ONE)"), "second", 0));
        assert_eq!(maps.find(7, 0x201f), named(None, "made at run time", 0x1f));
        for (process, address) in [(7, 0xfff), (7, 0x1020), (7, 0x2020), (8, 0x1000)] {
            assert_eq!(maps.find(process, address), None, "{address:x}");
        }
        maps.add(7, b"1008 10 third\n");
        assert_eq!((maps.find(7, 0x1000), maps.find(7, 0x1018)), (None, None));
        assert_eq!(maps.find(7, 0x1017), named(None, "third", 0xf));
    }

    #[test]
    fn lines_that_make_no_sense_are_passed_over() {
        let mut maps = Maps::default();
        maps.add(
            1,
            b"\n1\n1 2\n1 2 \nx 2 name\nffffffffffffffff 2 name\n10 0 name\n\xff\xff 1 a\n20 8 \xff\n",
        );
        assert_eq!(maps.find(1, 0x20).map(|named| named.function), Some("\u{fffd}"));
        assert_eq!(maps.of[&1].len(), 1);
    }
}
