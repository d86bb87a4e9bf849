//! Runs together: a tree of losers gives the least of their current records, again and again.
//!
//! ```text
//!        winner
//!          |
//!        loser            the next record of the winner's run plays against the losers on its way up:
//!       /     \           one comparison for each level
//!    loser   loser
//!    /  \    /  \
//!   run run run run
//! ```
//!
//! Invariant: of equal records, that of the earlier run comes first.
//! Not here: what is done with the records (`output`), and where runs come from (`collect`).

use crate::error::Error;
use crate::key::{Keys, prefix};
use crate::run::Run;

/// The head of a run that has ended. It loses against every record, as no run has its number.
const ENDED: u128 = u128::MAX;

/// Runs in their order.
pub struct Merge<'a> {
    runs: Vec<Run<'a>>,
    /// The prefix of each run's record, and the run's number.
    heads: Vec<u128>,
    /// The made key of each run's record. Empty if prefixes hold whole keys, or if keys are bytes of their records.
    made: Vec<Vec<u8>>,
    /// The losers, and at 0 the winner.
    tree: Vec<usize>,
    keys: &'a Keys,
    room: Vec<u8>,
    has_begun: bool,
}

impl<'a> Merge<'a> {
    /// Begins to read the runs.
    ///
    /// # Errors
    /// A run cannot be read.
    pub fn new(runs: Vec<Run<'a>>, keys: &'a Keys) -> Result<Merge<'a>, Error> {
        let count = runs.len();
        let makes = !keys.are_short() && !keys.are_in_records();
        let made = vec![Vec::new(); if makes { count } else { 0 }];
        let (heads, tree) = (vec![ENDED; count], vec![0; count]);
        let mut merge = Merge { runs, heads, made, tree, keys, room: Vec::new(), has_begun: false };
        for run in 0..count {
            merge.read(run)?;
        }
        // Winners of the lower levels play at the upper ones. The runs are the leaves, behind all nodes.
        let mut winners = vec![0; 2 * count];
        (count..2 * count).for_each(|leaf| winners[leaf] = leaf - count);
        for node in (1..count).rev() {
            let (one, other) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if merge.beats(one, other) { (one, other) } else { (other, one) };
            (winners[node], merge.tree[node]) = (winner, loser);
        }
        if let Some(winner) = merge.tree.first_mut() {
            *winner = winners[1];
        }
        Ok(merge)
    }

    /// The next record; None at the end.
    ///
    /// # Errors
    /// A run cannot be read.
    #[inline]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        let Some(&winner) = self.tree.first() else { return Ok(None) };
        if self.has_begun {
            self.read(winner)?;
            self.play(winner);
        }
        self.has_begun = true;
        let winner = self.tree[0];
        Ok((self.heads[winner] != ENDED).then(|| self.runs[winner].record()))
    }

    /// Goes on to the next record of a run.
    #[inline]
    fn read(&mut self, run: usize) -> Result<(), Error> {
        if !self.runs[run].advance()? {
            self.heads[run] = ENDED;
            return Ok(());
        }
        // No key fails here: all were read before their records became part of a run.
        let record = self.runs[run].record();
        let prefix = match self.made.get_mut(run) {
            Some(made) => prefix(self.keys.key(record, made).unwrap_or(&[])),
            None => self.keys.prefix(record, &mut self.room).unwrap_or(0),
        };
        self.heads[run] = prefix | run as u128;
        Ok(())
    }

    /// A run with a new record goes up from its leaf.
    #[inline]
    fn play(&mut self, run: usize) {
        let mut winner = run;
        let mut node = (run + self.tree.len()) / 2;
        while node > 0 {
            let loser = self.tree[node];
            if self.beats(loser, winner) {
                self.tree[node] = winner;
                winner = loser;
            }
            node /= 2;
        }
        self.tree[0] = winner;
    }

    #[inline]
    fn beats(&self, one: usize, other: usize) -> bool {
        let (head, other_head) = (self.heads[one], self.heads[other]);
        if self.keys.are_short() || head >> 32 != other_head >> 32 || head == ENDED || other_head == ENDED {
            return head < other_head;
        }
        self.key(one).cmp(self.key(other)).then(one.cmp(&other)).is_lt()
    }

    /// The key of a run's record.
    fn key(&self, run: usize) -> &[u8] {
        match self.made.get(run) {
            Some(made) => made,
            None => self.keys.in_record(self.runs[run].record()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Field, Kind, Order, Short};
    use crate::format::Format;
    use crate::run::Layout;

    #[test]
    fn records_of_all_runs_are_in_order_and_equal_ones_in_that_of_runs() {
        let layout = Layout::of(Format::Lines);
        let order = |length| Order { field: Field { at: 0, length, kind: Kind::Ch }, is_descending: false };
        // Short, in the records, and made.
        for order in [vec![order(2)], vec![order(20)], vec![order(20), order(1)]] {
            let keys = Keys::new(&order, Short::Padded);
            for count in 0..9_usize {
                let mut expect: Vec<Vec<u8>> = Vec::new();
                // Of equal records, the run is behind the key.
                let runs = (0..count).map(|run| {
                    let mut records: Vec<_> = (0..run * 3)
                        .map(|number| format!("{:02}{:18}{run}", number * number % 7, "").into_bytes())
                        .collect();
                    records.sort();
                    expect.extend(records.iter().cloned());
                    let mut bytes = Vec::new();
                    records.iter().for_each(|record| layout.append(record, &mut bytes));
                    Run::in_memory(layout, bytes)
                });
                let mut merge = Merge::new(runs.collect(), &keys).expect("memory");
                expect.sort_by(|one, other| one[..2].cmp(&other[..2]));
                let mut found = Vec::new();
                while let Some(record) = merge.next().expect("memory") {
                    found.push(record.to_vec());
                }
                assert_eq!(found, expect, "{count} runs");
                assert_eq!(merge.next().expect("memory"), None, "the end stays");
            }
        }
    }
}
