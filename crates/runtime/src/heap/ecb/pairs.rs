//! Name-value pairs of ECBs, such as TRANSACTION=PAY: attached by the program, and counted when the ECB ends.
//!
//! ```text
//! control block ── named ── rows: up to four rows of the ledger
//!                     '---- buffers and bytes of the ECB so far          leave: + those of the visit
//! end of the ECB ─> its figures are added to each of the rows
//! ```
//!
//! A control block gets its [`Named`] when one of its ECBs gets its first pair. So an ECB without pairs has no storage for them.
//!
//! Cost: a block that never had a pair pays a test for each list that a visit used. An ECB with pairs adds its figures at its end, about
//! ten of them, with an atomic addition each.
//!
//! Invariant: an ECB has at most one value of a name, unless the table of pairs is full, and counts at most once in a row.
//! Known limit: buffers of visits before the one in which the block gets its first pair are not counted for it.
//! Not here: the rows (`underbar_ledger::pairs`).

use core::sync::atomic::Ordering;

use underbar_ledger::classes::{LISTS, list_place};
use underbar_ledger::pairs::{BYTES, EndedEcb, PairSum, ROWS, SUMS, others};

use super::super::private_storage::OWN;
use super::class::{Class, MAKING};
use super::control_block::ControlBlock;
use super::figures::Ended;
use super::{Refused, here};
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
    const NONE: Self = Self { rows: [0; 4], got: [0; LISTS], freed: [0; LISTS], units: 0 };

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
    fn attach(&mut self, name: &[u8], row: Option<usize>) -> bool {
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

/// Attaches a pair to the ECB that the thread is in, in place of its pair of that name; an empty value takes that one away.
pub fn name(name: &[u8], value: &[u8]) -> Result<(), Refused> {
    let seat = here().ok_or(Refused::Outside)?;
    if name.is_empty() || name.len() > BYTES || value.len() > BYTES {
        return Err(Refused::Name);
    }
    // SAFETY: the seat is this thread's, which is inside.
    let block = unsafe { &*(*seat).block };
    let row = (!value.is_empty()).then(|| row_of(block.class(), name, value));
    // Threads that are in the ECB may attach pairs at the same time.
    let _shared = block.shared.lock();
    if block.named.load(Ordering::Relaxed).is_null() && !make(block) {
        return Err(Refused::NoMemory);
    }
    // SAFETY: under the lock.
    let named = unsafe { block.named() }.ok_or(Refused::NoMemory)?;
    if named.attach(name, row) { Ok(()) } else { Err(Refused::Full) }
}

/// Gives a block its [`Named`]. False if there is no memory. Under the lock of the block.
fn make(block: &ControlBlock) -> bool {
    let place: *mut Named = OWN.lock().get(size_of::<Named>()).cast();
    if !place.is_null() {
        // SAFETY: new storage of that size, aligned to 64.
        unsafe { place.write(Named::NONE) };
        block.named.store(place, Ordering::Relaxed);
    }
    !place.is_null()
}

/// The row of a pair, made if it has none yet and there is room.
fn row_of(class: &Class, name: &[u8], value: &[u8]) -> usize {
    let known = ledger::pairs::pages().and_then(|pairs| pairs.find(class.index(), name, value));
    known.unwrap_or_else(|| {
        let _made = MAKING.lock();
        if cfg!(feature = "no-accounts") {
            return others(class.index());
        }
        ledger::pages_of_pairs().find_or_make(class.index(), name, value)
    })
}
