//! What code a process has mapped, and when: libraries are opened and closed while it runs.
//!
//! ```text
//! looks at /proc/PID/maps    1      2 3 4          5
//! generations                [ a ]  [   b   ]      [ c ]
//! a sample between 1 and 2: by b if its address is there, else by the next one that has it, else by a
//! ```
//!
//! Invariant: generations are in the order of their times; two neighbours differ.

use std::ops::Range;

use crate::files::FileId;

/// Code at addresses of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its addresses.
    pub range: Range<u64>,
    /// Offset in the file of its first byte.
    pub offset: u64,
    /// Its file; None if it was made at run time.
    pub file: Option<FileId>,
}

/// The code of one process.
#[derive(Debug, Default)]
pub struct Space {
    generations: Vec<Generation>,
}

/// What was mapped at some looks in a row, nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug)]
struct Generation {
    first: u64,
    last: u64,
    code: Vec<Code>,
}

/// More generations than are kept: the oldest go.
const MOST: usize = 1 << 10;

impl Space {
    /// The process was looked at. The code is in the order of its addresses. True if some of what was there is gone, so that its addresses
    /// may be of other code.
    pub fn see(&mut self, time: u64, code: Vec<Code>) -> bool {
        // A process that ends has no mappings at its last look.
        if code.is_empty() {
            return false;
        }
        let before = self.generations.last();
        let has_lost = before
            .is_some_and(|before| before.code != code && before.code.iter().any(|old| !is_in(&code, old)));
        match self.generations.last_mut() {
            Some(last) if last.code == code => last.last = last.last.max(time),
            _ => self.generations.push(Generation { first: time, last: time, code }),
        }
        if self.generations.len() > MOST {
            self.generations.remove(0);
        }
        has_lost
    }

    /// The code at an address at a time.
    #[must_use]
    pub fn find(&self, time: u64, address: u64) -> Option<&Code> {
        let after = self.generations.partition_point(|generation| generation.last < time);
        let next = self.generations.get(after);
        if let Some(generation) = next
            && generation.first <= time
        {
            return generation.find(address);
        }
        // Between two looks: what was mapped at the next one was probably there; else at one after it, or at the last one before.
        let (before, behind) = self.generations.split_at(after);
        behind.iter().chain(before.iter().rev()).find_map(|generation| generation.find(address))
    }

    /// Whether it was never seen with code.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.generations.is_empty()
    }
}

/// Whether this piece of code is there, or a larger one that holds it.
fn is_in(code: &[Code], old: &Code) -> bool {
    let behind = code.partition_point(|new| new.range.start <= old.range.start);
    let found = behind.checked_sub(1).and_then(|at| code.get(at));
    found.is_some_and(|new| {
        let is_there = new.file == old.file && old.range.end <= new.range.end;
        is_there && new.offset.wrapping_add(old.range.start - new.range.start) == old.offset
    })
}

impl Generation {
    fn find(&self, address: u64) -> Option<&Code> {
        let after = self.code.partition_point(|code| code.range.start <= address);
        self.code.get(after.checked_sub(1)?).filter(|code| code.range.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(start: u64, file: u32) -> Code {
        Code { range: start..start + 10, offset: 0, file: Some(FileId(file)) }
    }

    #[test]
    fn a_closed_library_keeps_its_samples() {
        let mut space = Space::default();
        assert!(space.is_empty() && space.find(0, 105).is_none());
        assert!(!space.see(10, vec![code(100, 1)]));
        assert!(!space.see(20, vec![code(100, 1), code(200, 2)]));
        assert!(!space.see(25, vec![code(100, 1), code(200, 2)]));
        assert!(space.see(30, vec![code(100, 1), code(200, 3)]), "another one at this place");
        assert!(!space.see(40, Vec::new()));
        let file = |time, address| space.find(time, address).and_then(|code| code.file).map(|file| file.0);
        for (time, address, expected) in [
            (0, 105, Some(1)),
            (10, 205, None),
            (15, 205, Some(2)),
            (22, 205, Some(2)),
            (27, 205, Some(3)),
            (99, 205, Some(3)),
            (99, 210, None),
            (99, 99, None),
        ] {
            assert_eq!(file(time, address), expected, "{time} {address}");
        }
        // Mapped at one look only, and sampled soon after it.
        space.see(50, vec![code(100, 1)]);
        assert_eq!(space.find(45, 205).and_then(|code| code.file), Some(FileId(3)));
    }
}
