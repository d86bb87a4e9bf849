//! Runs together: the least of their first records, again and again, by a tree of losers.
//!
//! ```text
//!        winner
//!          |
//!        loser            a new record of the winner's run plays against the losers on its way up:
//!       /     \           one comparison for each level
//!    loser   loser
//!    /  \    /  \
//!   run run run run
//! ```
//!
//! Invariant: of equal records that of the earlier run comes first.
//! Not here: what is done with the records (`sort`).

use std::io;

use crate::key::{Keys, prefix};
use crate::run::Run;

/// The head of a run that has ended: it loses against each record, since its lower half is no run's.
const ENDED: u128 = u128::MAX;

/// Runs in their order.
pub struct Merge<'a> {
    runs: Vec<Run>,
    /// The prefix of each run's record, and its number.
    heads: Vec<u128>,
    /// The losers, and at 0 the winner.
    tree: Vec<usize>,
    keys: &'a Keys,
    rooms: [Vec<u8>; 2],
    has_begun: bool,
}

impl<'a> Merge<'a> {
    /// Begins to read the runs.
    ///
    /// # Errors
    /// A work file cannot be read.
    pub fn new(runs: Vec<Run>, keys: &'a Keys) -> io::Result<Merge<'a>> {
        let count = runs.len();
        let rooms = [Vec::new(), Vec::new()];
        let mut merge = Merge { runs, heads: vec![ENDED; count], tree: vec![0; count], keys, rooms, has_begun: false };
        for run in 0..count {
            merge.read(run)?;
        }
        // Winners of the lower levels play at the upper ones.
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
    /// A work file cannot be read.
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(&winner) = self.tree.first() else { return Ok(None) };
        if self.has_begun {
            self.read(winner)?;
            self.play(winner);
        }
        self.has_begun = true;
        let winner = self.tree[0];
        Ok((self.heads[winner] != ENDED).then(|| self.runs[winner].record()))
    }

    /// The next record of a run.
    #[inline]
    fn read(&mut self, run: usize) -> io::Result<()> {
        self.heads[run] = if self.runs[run].advance()? {
            // Whoever made the run has read the key.
            let key = self.keys.key(self.runs[run].record(), &mut self.rooms[0]).unwrap_or(&[]);
            prefix(key) | run as u128
        } else {
            // Its memory is free for others.
            self.runs[run] = Run::in_memory(self.runs[run].layout(), Vec::new());
            ENDED
        };
        Ok(())
    }

    /// A new record goes up from its leaf.
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
    fn beats(&mut self, one: usize, other: usize) -> bool {
        let (head, other_head) = (self.heads[one], self.heads[other]);
        if self.keys.are_short() || head >> 32 != other_head >> 32 || head == ENDED || other_head == ENDED {
            return head < other_head;
        }
        let [room, other_room] = &mut self.rooms;
        let key = self.keys.key(self.runs[one].record(), room).unwrap_or(&[]);
        let other_key = self.keys.key(self.runs[other].record(), other_room).unwrap_or(&[]);
        key.cmp(other_key).then(one.cmp(&other)).is_lt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Field, Kind, Short};
    use crate::format::Format;
    use crate::run::Layout;
    use crate::statement::Order;

    #[test]
    fn records_of_all_runs_come_in_their_order() {
        let layout = Layout::of(Format::Lines);
        for length in [2, 20] {
            let field = Field { at: 0, length, kind: Kind::Ch };
            let keys = Keys::new(&[Order { field, is_descending: false }], Short::Padded);
            for count in 0..9_usize {
                let mut expect: Vec<Vec<u8>> = Vec::new();
                let runs = (0..count).map(|run| {
                    // Many are equal, and tell which run they are of.
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
