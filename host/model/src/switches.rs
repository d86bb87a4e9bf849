//! What a program enters the kernel, or calls a server, for: switches, small reads and writes, rows fetched one by one.
//!
//! ```text
//! report of a run   ─> Traffic of each kind, Fetches ─┐
//!                                                     ├─> rules about caches, factors and sorts
//! listing (Natural) ─> Switches of each way, Fetches ─┘
//! ```
//!
//! Not here: which way of working spares switches (the rules), and the caches themselves ([`crate::Storage`]).

use crate::figure::Figure;

/// The largest factor of a multi-fetch that pays: beyond it there is little to gain.
pub const LARGEST_FACTOR: u64 = 100;

/// Records and switches of one way of working.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Records that were read, or lines that were written.
    pub records: Figure,
    /// Switches.
    pub switches: Figure,
    /// Processor time, in milliseconds.
    pub cpu: Figure,
}

/// Calls that move few bytes each, of one kind of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Calls.
    pub calls: Figure,
    /// Bytes that they moved, as asked for.
    pub bytes: Figure,
    /// What they cost, in nanoseconds of processor time, without waits.
    pub time: Figure,
}

/// Rows or records that a program asks for one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetches {
    /// How many a call returns at most; 0 or 1: one.
    pub factor: Figure,
    /// The largest factor whose records fit into a call.
    pub room: Figure,
    /// Rows that the program asked for one by one.
    pub asked: Figure,
    /// Of these, rows that came from larger fetches.
    pub served: Figure,
    /// Larger fetches.
    pub sent: Figure,
    /// Of the rows asked for, those of cursors that must be left alone.
    pub alone: Figure,
    /// Why most of these cursors must be left alone, in words.
    pub why_alone: Option<&'static str>,
    /// What a call costs at least, in nanoseconds of waiting and processor time.
    pub cost: Figure,
}

/// A function of a library that a component calls in a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopedCall {
    /// The function.
    pub function: String,
    /// Its library.
    pub library: String,
    /// The component that calls.
    pub caller: String,
    /// Calls.
    pub calls: Figure,
    /// What they would take as hand-overs to another thread and back, in nanoseconds.
    pub as_hand_overs: Figure,
}

/// The switches of a program in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switching {
    /// Lines to standard output and standard error.
    pub print: Traffic,
    /// Writes to files.
    pub written: Traffic,
    /// Reads of files.
    pub read: Traffic,
    /// Timers that are set; they move no bytes.
    pub timers: Traffic,
    /// Functions of libraries that ZIIP(3GL) names, called in a loop, the most calls first.
    pub looped: Vec<LoopedCall>,
    /// Rows of cursors.
    pub fetches: Fetches,
    /// Processor time of the run, in nanoseconds.
    pub cpu: Figure,
    /// Time of the run, in nanoseconds.
    pub elapsed: Figure,
}

impl Traffic {
    /// Traffic of which nothing is known, for one reason.
    #[must_use]
    pub fn absent(why: &'static str) -> Self {
        let none = || Figure::absent(why);
        Self { calls: none(), bytes: none(), time: none() }
    }

    /// The calls that a cache of this size leaves: one for each time that it is full. None: not known.
    #[must_use]
    pub fn calls_with(&self, cache: u64) -> Option<u64> {
        Some(self.bytes.at_least()?.div_ceil(cache.max(1)).min(self.calls.at_least()?))
    }

    /// The time that a cache of this size spares, in nanoseconds. None: not known.
    #[must_use]
    pub fn spared(&self, cache: u64) -> Option<u64> {
        let (calls, time) = (self.calls.at_least()?, self.time.at_least()?);
        let fewer = calls.saturating_sub(self.calls_with(cache)?);
        let spared = u128::from(time) * u128::from(fewer) / u128::from(calls.max(1));
        Some(u64::try_from(spared).unwrap_or(u64::MAX))
    }
}

impl Fetches {
    /// Fetches of which nothing is known, for one reason.
    #[must_use]
    pub fn absent(why: &'static str) -> Self {
        let none = || Figure::absent(why);
        let (factor, room, asked, served) = (none(), none(), none(), none());
        Self { factor, room, asked, served, sent: none(), alone: none(), why_alone: None, cost: none() }
    }

    /// Calls to the server now: rows one by one, and larger fetches. None: not known.
    #[must_use]
    pub fn calls(&self) -> Option<u64> {
        let one_by_one = self.asked.at_least()?.saturating_sub(self.served.value);
        Some(one_by_one.saturating_add(self.sent.value))
    }

    /// Calls that rows of cursors which may be read ahead take under another factor. None: not known.
    #[must_use]
    pub fn calls_under(&self, factor: u64) -> Option<u64> {
        let (asked, alone) = (self.asked.at_least()?, self.alone.value);
        Some(alone.saturating_add(asked.saturating_sub(alone).div_ceil(factor.max(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Certainty;

    fn figure(value: u64) -> Figure {
        Figure::counter("switches.calls", value, Certainty::Certain)
    }

    #[test]
    fn a_cache_spares_all_calls_but_one_for_each_time_that_it_is_full() {
        let lines = Traffic { calls: figure(10_000), bytes: figure(1_320_000), time: figure(4_000_000) };
        assert_eq!(lines.calls_with(132_000), Some(10));
        assert_eq!(lines.spared(132_000), Some(3_996_000));
        // A cache that is smaller than a record spares nothing.
        assert_eq!((lines.calls_with(100), lines.spared(100)), (Some(10_000), Some(0)));
        assert_eq!(Traffic::absent("not counted").spared(1), None);
        let most = Traffic { calls: figure(u64::MAX), bytes: figure(0), time: figure(u64::MAX) };
        assert_eq!(most.spared(0), Some(u64::MAX));
    }

    #[test]
    fn rows_that_are_left_alone_take_a_call_each() {
        let fetches = Fetches {
            asked: figure(100_000),
            alone: figure(20_000),
            served: figure(70_000),
            sent: figure(10_000),
            ..Fetches::absent("not counted")
        };
        assert_eq!((fetches.calls(), fetches.calls_under(8)), (Some(40_000), Some(30_000)));
        assert_eq!(Fetches::absent("not counted").calls(), None);
    }
}
