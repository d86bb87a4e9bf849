//! Samples added up: by whole stacks, got and in use, at the peak and at the end.
//!
//! ```text
//! Got    ── got[stack] +, now[stack] +, live[process, address]
//! Freed  ── live -, now[stack] -
//! end    ── live of a process ──> at_end[stack] +, now[stack] -
//! peak   = now, whenever the sum of all is more than at the last peak by a hundredth
//! ```
//!
//! Invariant: of each stack, `now` is the sum of its live samples, and `got` is at least `now` and `at_end` together. Memory is bounded by the number of different
//! stacks, at most [`MOST_STACKS`], and of live samples.
//! Not here: names, and what a site is ([`crate::report`]).

use std::collections::HashMap;
use std::rc::Rc;

use crate::walk::{End, Place, Walk};
use crate::weights::Sum;

/// More different stacks than are kept apart: further ones are counted without their callers.
pub const MOST_STACKS: usize = 1 << 17;

/// A stack, by its place in the list.
type StackId = u32;

/// Samples of all processes.
#[derive(Default)]
pub struct Tally {
    ids: HashMap<Rc<Walk>, StackId>,
    rows: Vec<Row>,
    live: HashMap<(u32, u64), Live>,
    now: Sum,
    /// The sum at the last peak.
    peak: f64,
    /// What the samples say of the run.
    pub counts: Counts,
}

/// A stack and its sums.
pub struct Row {
    /// The stack.
    pub walk: Rc<Walk>,
    /// All requests.
    pub got: Sum,
    /// In use when all stacks together had most in use, within a hundredth.
    pub at_peak: Sum,
    /// In use when their process ended.
    pub at_end: Sum,
    now: Sum,
}

/// Counts of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples.
    pub samples: u64,
    /// Samples for which there was no room.
    pub lost: u64,
    /// Samples whose storage was freed.
    pub freed: u64,
    /// The least mean distance of samples, bytes.
    pub least_mean: u64,
    /// The largest.
    pub largest_mean: u64,
}

#[derive(Clone, Copy)]
struct Live {
    stack: StackId,
    size: u64,
    mean: u64,
}

impl Tally {
    /// A sampled request of a process, with its callers.
    pub fn got(&mut self, process: u32, address: u64, size: u64, mean: u64, walk: Walk) {
        // Its free was lost.
        self.forget(process, address);
        let stack = self.stack(walk);
        let counts = &mut self.counts;
        counts.least_mean = if counts.samples == 0 { mean } else { counts.least_mean.min(mean) };
        counts.largest_mean = counts.largest_mean.max(mean);
        counts.samples += 1;
        let Some(row) = self.rows.get_mut(stack as usize) else { return };
        row.got.add(size, mean);
        row.now.add(size, mean);
        self.now.add(size, mean);
        self.live.insert((process, address), Live { stack, size, mean });
        if self.now.bytes > self.peak * 1.01 {
            self.peak = self.now.bytes;
            self.rows.iter_mut().for_each(|row| row.at_peak = row.now);
        }
    }

    /// The storage at an address was freed.
    pub fn freed(&mut self, process: u32, address: u64) {
        self.counts.freed += u64::from(self.forget(process, address));
    }

    /// Samples were lost.
    pub fn lost(&mut self, samples: u64) {
        self.counts.lost = self.counts.lost.saturating_add(samples);
    }

    /// A process has ended, or executes another program: what it still had in use is so at the end.
    pub fn ended(&mut self, process: u32) {
        let left: Vec<(u32, u64)> = self.live.keys().copied().filter(|(of, _)| *of == process).collect();
        for key in left {
            if let Some(live) = self.take(key)
                && let Some(row) = self.rows.get_mut(live.stack as usize)
            {
                row.at_end.add(live.size, live.mean);
            }
        }
    }

    /// All processes have ended.
    pub fn end(&mut self) {
        let mut processes: Vec<u32> = self.live.keys().map(|(process, _)| *process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes.into_iter().for_each(|process| self.ended(process));
    }

    /// The stacks, in the order in which they were first seen.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn forget(&mut self, process: u32, address: u64) -> bool {
        self.take((process, address)).is_some()
    }

    fn take(&mut self, key: (u32, u64)) -> Option<Live> {
        let live = self.live.remove(&key)?;
        self.now.remove(live.size, live.mean);
        if let Some(row) = self.rows.get_mut(live.stack as usize) {
            row.now.remove(live.size, live.mean);
        }
        Some(live)
    }

    fn stack(&mut self, mut walk: Walk) -> StackId {
        if self.rows.len() >= MOST_STACKS && !self.ids.contains_key(&walk) {
            walk = Walk { places: Vec::<Place>::new(), end: End::Deep };
        }
        if let Some(known) = self.ids.get(&walk) {
            return *known;
        }
        let id = StackId::try_from(self.rows.len()).unwrap_or(StackId::MAX);
        let walk = Rc::new(walk);
        let none = Sum::default();
        self.rows.push(Row { walk: Rc::clone(&walk), got: none, at_peak: none, at_end: none, now: none });
        self.ids.insert(walk, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(address: u64) -> Walk {
        Walk { places: vec![Place::Process(1, address)], end: End::Whole }
    }

    fn samples(tally: &Tally) -> Vec<[u64; 4]> {
        let rows = tally.rows().iter();
        rows.map(|row| [row.got, row.at_peak, row.at_end, row.now].map(|sum| sum.samples)).collect()
    }

    #[test]
    fn storage_is_in_use_until_it_is_freed_or_its_process_ends() {
        let mut tally = Tally::default();
        for (process, address, stack) in [(1, 0x10, 5), (1, 0x20, 5), (2, 0x10, 6)] {
            tally.got(process, address, 1 << 30, 1 << 19, walk(stack));
        }
        tally.freed(1, 0x10);
        tally.freed(1, 0x10);
        tally.freed(3, 0x20);
        assert_eq!(samples(&tally), [[2, 2, 0, 1], [1, 1, 0, 1]]);
        tally.ended(2);
        tally.got(1, 0x30, 100, 1 << 19, walk(6));
        assert_eq!(samples(&tally), [[2, 2, 0, 1], [2, 1, 1, 1]], "no new peak");
        // The free of an address that is got again was lost.
        tally.got(1, 0x30, 100, 1 << 20, walk(5));
        tally.lost(3);
        tally.end();
        assert_eq!(samples(&tally), [[3, 2, 2, 0], [2, 1, 1, 0]]);
        let expected = Counts { samples: 5, lost: 3, freed: 1, least_mean: 1 << 19, largest_mean: 1 << 20 };
        assert_eq!(tally.counts, expected);
    }
}
