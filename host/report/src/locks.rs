//! The locks of one process in a report: figures, places, circles, and unknown figures.
//!
//! Invariant: integers are counts and nanoseconds. Null means that the LOCK in force cannot fill the figure; it is never shown
//! as zero. The lock with the longest waits comes first.
//! Not here: how they are made ([`crate::lock::gather`]) and printed ([`crate::lock::chapter`]).

use serde::{Deserialize, Serialize};

use crate::file_name::file_name;
use crate::spread::Spread;

/// The locks of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locks {
    /// The process's number.
    pub process: u32,
    /// When its program began: nanoseconds after the run began.
    pub started_ns: u64,
    /// The value of LOCK.
    pub mode: Mode,
    /// Contended acquisitions of locks for which there was no record.
    #[serde(default)]
    pub unrecorded: u64,
    /// Pairs of a held and a wanted lock for which there was no room: circles may have been missed.
    #[serde(default)]
    pub edges_lost: u64,
    /// Locks that threads waited for, the longest wait first.
    pub locks: Vec<Lock>,
    /// Locks that were held while another was waited for.
    #[serde(default)]
    pub edges: Vec<Edge>,
    /// Circles among the edges: possible deadlocks. Each is a list of places in `edges`.
    #[serde(default)]
    pub circles: Vec<Vec<usize>>,
    /// Figures that are null, and why.
    #[serde(default)]
    pub missing: Vec<Missing>,
}

/// The value of LOCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Only underbar's own locks are seen.
    Off,
    /// The C library waits; waits are timed.
    Count,
    /// underbar waits in place of the C library.
    Simple,
    /// Noise.
    Unknown,
}

impl Mode {
    /// The mode with that number in an area.
    #[must_use]
    pub fn from_number(number: u32) -> Mode {
        match number {
            0 => Mode::Off,
            1 => Mode::Count,
            2 => Mode::Simple,
            _ => Mode::Unknown,
        }
    }

    /// As the option is written.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Mode::Off => "LOCK(OFF)",
            Mode::Count => "LOCK(COUNT)",
            Mode::Simple => "LOCK(SIMPLE)",
            Mode::Unknown => "LOCK(?)",
        }
    }
}

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockSort {
    /// A mutex of the C library of the usual kind.
    MutexNormal,
    /// A mutex of the C library that spins for a while.
    MutexAdaptive,
    /// A simple lock of eight bytes.
    Simple,
    /// One of four bytes.
    SimpleSmall,
    /// Noise.
    Unknown,
}

impl LockSort {
    /// In one or two words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            LockSort::MutexNormal => "mutex",
            LockSort::MutexAdaptive => "adaptive",
            LockSort::Simple => "simple",
            LockSort::SimpleSmall => "simple32",
            LockSort::Unknown => "unknown",
        }
    }

    /// Is it a lock of the C library?
    #[must_use]
    pub fn is_mutex(self) -> bool {
        matches!(self, LockSort::MutexNormal | LockSort::MutexAdaptive)
    }
}

/// One lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// Its variable, if it is in a file's data; otherwise only its address.
    pub place: Place,
    /// Its address in the process.
    pub address: u64,
    /// Its kind.
    pub sort: LockSort,
    /// The call that first waited for it: it names a lock that is no variable.
    pub first_site: Place,
    /// Acquisitions that did not succeed at once.
    pub contended: u64,
    /// Acquisitions that succeeded by trying again, without sleep.
    pub spun: Option<u64>,
    /// Times that a thread slept for it.
    pub parked: Option<u64>,
    /// Times that a holder woke a waiter.
    pub woken: Option<u64>,
    /// From the first try to the acquisition, summed over the contended ones.
    pub wait_ns: u64,
    /// Half of the waits were at most about this long; null without waits.
    pub p50_ns: Option<Spread>,
    /// 99 of 100 waits were at most about this long; null without waits.
    pub p99_ns: Option<Spread>,
    /// The longest.
    pub wait_max_ns: u64,
    /// Processor time spent on trying again.
    pub spin_ns: Option<u64>,
    /// `spin_ns` in millionths of the processor time of the whole run; null if that is not known.
    pub spin_share_millionths: Option<u64>,
    /// Woken and runnable, but not yet running: a part of `wait_ns`.
    pub runnable_ns: Option<u64>,
    /// Times that it was unlocked while others waited.
    pub given_up: u64,
    /// Those of them in which the same thread had also unlocked it the time before.
    pub same_holder: u64,
    /// Threads that waited for it when the report was made.
    pub waiting: u64,
    /// Policy of waiting in force; 0: as LOCK says.
    pub policy: u64,
    /// Waits by length: interval `n` counts waits of 2^n to 2^(n+1) nanoseconds.
    pub histogram: Vec<u64>,
    /// Where threads waited, the longest first.
    pub waiters: Vec<Site>,
    /// Where it was unlocked while others waited. The time is that of all threads that waited then. The longest first.
    pub holders: Vec<Site>,
    /// System calls in which its holder was seen during long waits, the most frequent first.
    pub blocked: Vec<Call>,
    /// Number of times that a waiter looked at the holder, in a call or not; 0 if there are calls and the looks were not
    /// counted.
    pub looked: Option<u64>,
}

/// A place in a file of the process, or an address of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Path of the file; null if the address is in none (the heap, a stack).
    pub file: Option<String>,
    /// Address in the file, as its symbols have it; without a file, the address in the process.
    pub offset: u64,
    /// The function or variable there, if the file names it.
    pub symbol: Option<String>,
    /// Distance from the beginning of `symbol`.
    pub displacement: u64,
    /// Source file and line, where known.
    #[serde(default)]
    pub line: Option<String>,
}

/// A call that locks or unlocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Its return address.
    pub place: Place,
    /// How often.
    pub count: u64,
    /// Total time.
    pub ns: u64,
}

/// A system call in which a holder was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its name, such as `write`; `call 450` if it has no name here.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// How often it was seen.
    pub count: u64,
}

/// One lock was held while another was waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Place in `locks` of the one that was held.
    pub held: usize,
    /// Of the one that was waited for.
    pub wanted: usize,
    /// The call that waited.
    pub site: Place,
    /// How often.
    pub count: u64,
}

/// A figure that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Its key, such as `locks.parked`.
    pub key: String,
    /// Why.
    pub why: String,
}

impl Place {
    /// In words: `append+0x1c (driver)`, `driver+0x4010`, or the bare address.
    #[must_use]
    pub fn words(&self) -> String {
        let file = self.file.as_deref().map(file_name);
        match (&self.symbol, file) {
            (Some(symbol), file) => {
                let behind =
                    if self.displacement == 0 { String::new() } else { format!("+{:#x}", self.displacement) };
                let file = file.map_or(String::new(), |file| format!(" ({file})"));
                format!("{symbol}{behind}{file}")
            }
            (None, Some(file)) => format!("{file}+{:#x}", self.offset),
            (None, None) => format!("{:#x}", self.offset),
        }
    }
}

impl Lock {
    /// Its name: its variable, or the call that first waited for it.
    #[must_use]
    pub fn name(&self) -> String {
        match self.place.file {
            Some(_) => self.place.words(),
            None => format!("lock of {}", self.first_site.words()),
        }
    }
}

impl Locks {
    /// Time of the waits for all locks.
    #[must_use]
    pub fn wait_ns(&self) -> u64 {
        self.locks.iter().fold(0, |sum, lock| sum.saturating_add(lock.wait_ns))
    }

    /// The lock with the longest waits.
    #[must_use]
    pub fn worst(&self) -> Option<&Lock> {
        self.locks.first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_as_far_as_known() {
        let mut place = Place { offset: 0x4010, ..Place::default() };
        assert_eq!(place.words(), "0x4010");
        place.file = Some("/home/me/driver".to_owned());
        assert_eq!(place.words(), "driver+0x4010");
        place.symbol = Some("audit".to_owned());
        assert_eq!(place.words(), "audit (driver)");
        place.displacement = 8;
        assert_eq!(place.words(), "audit+0x8 (driver)");
    }
}
