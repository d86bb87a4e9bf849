//! What is counted of one ECB until it ends, and its name-value pairs.
//!
//! ```text
//! control block ── named ── rows: up to four rows of the ledger
//!                     '---- buffers and bytes of the ECB so far          leave: + those of the visit
//! end of the ECB ─> its figures are added to each of the rows
//! display        ─> its figures, while it is alive (`display`)
//! ```
//!
//! Blocks have one when their class is counted so: since an ECB of it had a pair or was displayed, or by RPTSTG.
//!
//! Cost: a block without one pays a test for each list that a visit used, and one when a thread enters. An ECB with pairs adds its figures
//! at its end, about ten of them, with an atomic addition each.
//!
//! Invariant: an ECB has at most one value of a name, unless the table of pairs is full, and counts at most once in a row.
//! Not here: calls of programs, and new rows (`pairs`).

use underbar_ledger::classes::{LISTS, list_place};
use underbar_ledger::pairs::{EndedEcb, PairSum, ROWS, SUMS};

use super::figures::Ended;
use crate::ledger;

/// Buffers by list.
#[derive(Clone, Copy)]
pub struct Counts {
    /// Buffers that each list dispensed and got back.
    pub got: [u32; LISTS],
    pub freed: [u32; LISTS],
    /// Requests that shared lists filled, and for which a thread made room; its own lists filled all others.
    pub refills: [[u32; LISTS]; 2],
    /// Bytes of the buffers that were dispensed, in units of 16.
    units: u64,
    /// Earlier visits of the ECB are not in it.
    pub is_late: bool,
}

/// The pairs of an ECB, and what is counted of it. Under the lock of its control block.
pub struct Named {
    /// Each a row and one more; 0: none.
    rows: [u8; 4],
    pub counts: Counts,
}

const _: () = assert!(ROWS < u8::MAX as usize, "a row is one byte");

impl Counts {
    const NONE: Self =
        Self { got: [0; LISTS], freed: [0; LISTS], refills: [[0; LISTS]; 2], units: 0, is_late: false };
}

impl Named {
    /// No pairs.
    pub const NONE: Self = Self { rows: [0; 4], counts: Counts::NONE };

    /// So many buffers of a list of that size were got and freed.
    #[cold]
    pub fn count(&mut self, list: usize, size: usize, (gets, frees): (u32, u32)) {
        let (place, counts) = (list_place(list), &mut self.counts);
        counts.got[place] += gets;
        counts.freed[place] += frees;
        counts.units += u64::from(gets) * (size / 16) as u64;
    }

    /// So many requests of a visit found the thread's list empty.
    #[cold]
    pub fn count_refills(&mut self, refills: &[[u32; LISTS]; 2]) {
        let counts = self.counts.refills.as_flattened_mut().iter_mut();
        counts.zip(refills.as_flattened()).for_each(|(count, more)| *count += more);
    }

    /// Adds the ECB, which has ended, to the rows of its pairs; the next ECB has none.
    #[cold]
    pub fn ended(&mut self, ended: &Ended, frames: u64) {
        let Self { rows, counts } = core::mem::replace(self, Self::NONE);
        let Some(pairs) = ledger::pairs::pages() else { return };
        let mut sums = [0; SUMS];
        for (sum, figure) in [
            (PairSum::Ecbs, 1),
            (PairSum::WithBuffer, (ended.most > 0).into()),
            (PairSum::ExpandedTags, ended.expanded_tags.into()),
            (PairSum::WithFrame, ended.with_frame.into()),
            (PairSum::Frames, frames),
            (PairSum::HighWater, ended.most as u64),
            (PairSum::Bytes, counts.units * 16),
            (PairSum::Late, counts.is_late.into()),
        ] {
            sums[sum as usize] = figure;
        }
        let ended = EndedEcb { got: counts.got, freed: counts.freed, sums };
        for row in rows_of(rows) {
            pairs.add(row, &ended);
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

    /// The rows of its pairs.
    pub fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        rows_of(self.rows)
    }
}

fn rows_of(rows: [u8; 4]) -> impl Iterator<Item = usize> {
    rows.into_iter().filter(|row| *row != 0).map(|row| usize::from(row) - 1)
}
