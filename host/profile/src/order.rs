//! Records of several rings in the order of their times.
//!
//! ```text
//! round 1   ring 0: 1 4 9     ring 1: 2 3 8        greatest 9; nothing is released yet
//! round 2   ring 0: 12        ring 1: 7? 10        up to 9 is released: 1 2 3 4 7 8 9
//! ```
//!
//! A record comes into its ring within microseconds of its time, and a round is many milliseconds: records older than the
//! newest of the previous round have come.
//! Invariant: released records never go back in time, as long as that holds; all are released at the end.

use crate::record::{Record, Timed};

/// Records that are held back for older ones.
#[derive(Debug, Default)]
pub struct Order {
    waiting: Vec<Timed>,
    newest: u64,
}

impl Order {
    /// Takes a record.
    pub fn add(&mut self, timed: Timed) {
        self.waiting.push(timed);
    }

    /// A round is over: releases the records from before it.
    pub fn round(&mut self, each: impl FnMut(Record)) {
        let before = self.newest;
        self.newest = self.waiting.iter().map(|(time, _)| *time).max().unwrap_or(0).max(before);
        self.let_out(before, each);
    }

    /// Releases everything.
    pub fn end(&mut self, each: impl FnMut(Record)) {
        self.let_out(u64::MAX, each);
    }

    fn let_out(&mut self, until: u64, mut each: impl FnMut(Record)) {
        // Stable: records of one ring and one time stay in their order.
        self.waiting.sort_by_key(|(time, _)| *time);
        let count = self.waiting.partition_point(|(time, _)| *time <= until);
        for (_, record) in self.waiting.drain(..count) {
            each(record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_merged_by_time() {
        let mut order = Order::default();
        let mut out = Vec::new();
        for round in [&[1, 4, 9, 2, 3, 8][..], &[12, 7, 10], &[]] {
            for &time in round {
                order.add((time, Record::Lost(time)));
            }
            order.round(|record| out.push(record));
            out.push(Record::Throttled);
        }
        order.end(|record| out.push(record));
        let shown = |record: &Record| match record {
            Record::Lost(time) => *time,
            _ => 0,
        };
        assert_eq!(out.iter().map(shown).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 7, 8, 9, 0, 10, 12, 0]);
    }
}
