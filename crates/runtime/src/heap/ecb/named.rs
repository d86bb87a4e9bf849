//! The name-value pairs of an ECB, and what is counted for them until it ends.
//!
//! ```text
//! control block ── named ── rows: up to four rows of the ledger
//!                     '---- buffers and bytes of the ECB so far          leave: + those of the visit
//! end of the ECB ─> its figures are added to each of the rows
//! ```
//!
//! Cost: a block that never had a pair pays a test for each list that a visit used. An ECB with pairs adds its figures at its end, about
//! ten of them, with an atomic addition each.
//!
//! Invariant: an ECB has at most one value of a name, unless the table of pairs is full, and counts at most once in a row.
//! Not here: calls of programs, and new rows (`pairs`).

use underbar_ledger::classes::{LISTS, list_place};
use underbar_ledger::pairs::{EndedEcb, PairSum, ROWS, SUMS};

use super::figures::Ended;
use crate::ledger;

/// The pairs of an ECB, and what is counted for them. Under the lock of its control block.
pub struct Named {
    /// Each a row and one more; 0: none.
    rows: [u8; 4],
    /// Buffers that each list dispensed and got back.
    got: [u32; LISTS],
    freed: [u32; LISTS],
    /// Bytes of the buffers that were dispensed, in units of 16.
    units: u64,
}

const _: () = assert!(ROWS < u8::MAX as usize, "a row is one byte");

impl Named {
    /// No pairs.
    pub const NONE: Self = Self { rows: [0; 4], got: [0; LISTS], freed: [0; LISTS], units: 0 };

    /// So many buffers of a list of that size were got and freed.
    #[cold]
    pub fn count(&mut self, list: usize, size: usize, (gets, frees): (u32, u32)) {
        let place = list_place(list);
        self.got[place] += gets;
        self.freed[place] += frees;
        self.units += u64::from(gets) * (size / 16) as u64;
    }

    /// Adds the ECB, which has ended, to the rows of its pairs; the next ECB has none.
    #[cold]
    pub fn ended(&mut self, ended: &Ended, frames: u64) {
        let Self { rows, got, freed, units } = core::mem::replace(self, Self::NONE);
        let Some(pairs) = ledger::pairs::pages() else { return };
        let mut sums = [0; SUMS];
        for (sum, figure) in [
            (PairSum::Ecbs, 1),
            (PairSum::WithBuffer, (ended.most > 0).into()),
            (PairSum::ExpandedTags, ended.expanded_tags.into()),
            (PairSum::WithFrame, ended.with_frame.into()),
            (PairSum::Frames, frames),
            (PairSum::HighWater, ended.most as u64),
            (PairSum::Bytes, units * 16),
        ] {
            sums[sum as usize] = figure;
        }
        let ended = EndedEcb { got, freed, sums };
        for row in rows.into_iter().filter(|row| *row != 0) {
            pairs.add(usize::from(row) - 1, &ended);
        }
    }

    /// Attaches the pair of a row, or none, in place of the one of that name. False if there is no room.
    pub fn attach(&mut self, name: &[u8], row: Option<usize>) -> bool {
        let is_named = |row: u8| {
            let at = usize::from(row).wrapping_sub(1);
            ledger::pairs::pages().is_some_and(|pairs| pairs.is_named(at, name))
        };
        for row in self.rows.iter_mut().filter(|row| is_named(**row)) {
            *row = 0;
        }
        let Some(row) = row.map(|row| row as u8 + 1) else { return true };
        if self.rows.contains(&row) {
            return true;
        }
        let free = self.rows.iter_mut().find(|known| **known == 0);
        free.map(|free| *free = row).is_some()
    }
}
