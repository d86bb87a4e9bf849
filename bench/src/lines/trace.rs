//! A trace of valgrind's lackey, and the model of caches that reads it.
//!
//! ```text
//! --7--   SCHED[2]:  acquired lock (...)      thread 2 runs
//!  L 1ffefff8,8   S ...   M ...               it loads, stores, does both
//! ```
//!
//! A line is in the caches of those that have touched it, and a store leaves it in one. So a load moves a line if the thread does not have
//! it and another one does; a store does if another one has it.

use std::collections::HashMap;
use std::io::{self, BufRead};

/// Addresses of the program's own shared words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    mark: u64,
    first: u64,
    end: u64,
}

impl Own {
    /// As the program prints them: three numbers.
    pub fn of(text: &str) -> Option<Own> {
        let mut numbers = text.split_whitespace().map(|word| u64::from_str_radix(word, 16).ok());
        let mut next = || numbers.next().flatten();
        Some(Own { mark: next()?, first: next()?, end: next()? })
    }

    fn has(&self, address: u64) -> bool {
        (self.first..self.end).contains(&address)
    }
}

/// Accesses between the two marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Loads of a line that another thread wrote last.
    pub loads_of_written: u64,
    /// Loads of a line that others had, and nobody had written since: all can keep it.
    pub loads_of_clean: u64,
    /// Stores to a line that another thread had.
    pub stores: u64,
    /// All accesses.
    pub accesses: u64,
}

impl Counts {
    /// Transfers that repeat: a clean line comes once and stays.
    pub fn moved(&self) -> u64 {
        self.loads_of_written + self.stores
    }
}

/// Bytes of a line, as a power of two.
const LINE: u32 = 6;

/// Which threads have a line: a bit each; and who wrote it last, if nobody else has it.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    has: u128,
    writer: Option<u8>,
}

/// Reads a trace. None if it has not both marks.
///
/// # Errors
/// The system's.
pub fn read(mut trace: impl BufRead, own: Own) -> io::Result<Option<Counts>> {
    let mut lines: HashMap<u64, Line> = HashMap::new();
    let (mut thread, mut marks, mut counts) = (0_u8, 0, Counts::default());
    let mut text = Vec::new();
    loop {
        text.clear();
        if trace.read_until(b'\n', &mut text)? == 0 {
            return Ok((marks >= 2).then_some(counts));
        }
        match access(&text) {
            Some((address, stores, loads)) => {
                if address == own.mark && stores {
                    marks += 1;
                    continue;
                }
                if own.has(address) || address == own.mark {
                    continue;
                }
                let line = lines.entry(address >> LINE).or_default();
                let moved = touch(line, thread, stores, loads);
                if marks == 1 {
                    counts.accesses += 1;
                    counts.loads_of_written += u64::from(moved == Some(Moved::Written));
                    counts.loads_of_clean += u64::from(moved == Some(Moved::Clean));
                    counts.stores += u64::from(moved == Some(Moved::Stored));
                }
            }
            None => thread = scheduled(&text).unwrap_or(thread),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    Written,
    Clean,
    Stored,
}

fn touch(line: &mut Line, thread: u8, stores: bool, loads: bool) -> Option<Moved> {
    let mine = 1_u128 << (thread & 127);
    let others = line.has & !mine;
    if stores {
        *line = Line { has: mine, writer: Some(thread) };
        return (others != 0).then_some(Moved::Stored);
    }
    if !loads || line.has & mine != 0 {
        return None;
    }
    let moved = if others == 0 {
        None
    } else if line.writer.is_some_and(|writer| writer != thread) {
        Some(Moved::Written)
    } else {
        Some(Moved::Clean)
    };
    *line = Line { has: line.has | mine, writer: None };
    moved
}

/// The address of an access, and whether it stores and loads.
fn access(text: &[u8]) -> Option<(u64, bool, bool)> {
    let (stores, loads) = match text.get(..3)? {
        b" L " => (false, true),
        b" S " => (true, false),
        b" M " => (true, true),
        _ => return None,
    };
    let mut address = 0_u64;
    for &byte in text.get(3..)? {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => break,
        };
        address = address << 4 | u64::from(digit);
    }
    Some((address, stores, loads))
}

/// The thread that runs from here on.
fn scheduled(text: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, rest) = text.split_once("SCHED[")?;
    let (number, what) = rest.split_once(']')?;
    what.contains("acquired").then(|| number.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Own = Own { mark: 0x8000, first: 0x9000, end: 0x9100 };

    fn counts(trace: &str) -> Option<Counts> {
        read(trace.as_bytes(), OWN).expect("text")
    }

    #[test]
    fn lines_move_between_threads_and_nowhere_else() {
        let trace = "\
==1== Command: x
--1--   SCHED[1]:  acquired lock (a)
 S 1000,8
 S 8000,8
 L 1008,8
I  04000,3
--1--   SCHED[1]: releasing lock (b)
--1--   SCHED[2]:  acquired lock (a)
 L 1010,8
 L 1010,8
 S 9010,8
--1--   SCHED[3]:  acquired lock (a)
 L 1038,8
 M 1020,8
 S 2000,8
 S 8000,8
 L 2000,8
";
        let expect = Counts { loads_of_written: 1, loads_of_clean: 1, stores: 1, accesses: 6 };
        assert_eq!(counts(trace), Some(expect));
        assert_eq!(expect.moved(), 2);
        assert_eq!(counts(" S 8000,8\n"), None, "it did not come to its end");
    }

    #[test]
    fn addresses_are_hexadecimal() {
        assert_eq!(Own::of("8000 9000 9100\n"), Some(OWN));
        assert_eq!(Own::of("valgrind: no"), None);
        assert_eq!(access(b" M 1f,4\n"), Some((0x1f, true, true)));
        assert_eq!(access(b"I  1f,4\n"), None);
    }
}
