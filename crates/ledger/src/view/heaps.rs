//! Heaps and heap pools of a process, as the host reads them.

use core::mem::offset_of;

use super::{SlotView, text, word};
use crate::counter::{Fold, Scope, Writer};
use crate::heap_steps::HeapSteps;
use crate::heaps::{self, HeapKind, HeapRow, RowState};
use crate::layout::{HEAP_STEPS_BYTES, Slot, SlotState, not_below_zero};
use crate::pools::{self, Head, PoolRow, Pools};
use crate::table::Key;

/// A heap pool of a process: [`PoolRow`] as the host reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolView {
    /// Bytes of a cell as it was set.
    pub cell: u64,
    /// Bytes that a cell takes.
    pub element: u64,
    /// The percentage that was set; 0 for HEAPPOOLS64.
    pub percent: u64,
    /// Cells of an extent.
    pub cells_per_extent: u64,
    /// Requests that it served.
    pub gets: u64,
    /// Extents that were allocated.
    pub extents: u64,
    /// Cells in use.
    pub used: u64,
    /// The most cells in use at one time.
    pub used_peak: u64,
}

/// A heap of a process.
#[derive(Clone, Copy)]
pub struct HeapView<'a> {
    slot: SlotView<'a>,
    /// The place of its row; the default heap has none.
    row: Option<usize>,
    /// Its use.
    pub kind: HeapKind,
    /// Has it ended?
    pub state: RowState,
    /// How many heaps of this kind and name were created, one after the other; the figures are those of all.
    pub created: u64,
}

impl<'a> HeapView<'a> {
    /// Its name; empty: it has none.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        self.row.map_or(&[], |at| text(self.slot.bytes, at + offset_of!(HeapRow, name), 32))
    }

    /// Its requests by steps of 8 bytes; None if the process does not count them, or its file was not read so far. The default heap has
    /// those of the process less those of the others.
    pub fn steps(&self) -> Option<impl Iterator<Item = u64> + use<'a>> {
        let (slot, row) = (self.slot, self.row);
        let all = slot.steps().filter(|_| slot.heap_steps.len() == HEAP_STEPS_BYTES)?;
        let of_row = move |at: usize, step: usize| {
            let row = (at - heaps::PAGE_OFFSET) / size_of::<HeapRow>();
            not_below_zero(word(slot.heap_steps, row * size_of::<HeapSteps>() + 8 * step))
        };
        Some(all.enumerate().map(move |(step, whole)| match row {
            Some(at) => of_row(at, step),
            None => {
                let others = slot.rows().filter_map(|heap| heap.row).map(|at| of_row(at, step));
                whole.saturating_sub(others.fold(0, u64::saturating_add))
            }
        }))
    }

    /// A counter's figure; None for a counter that heaps do not have, and for the default heap's peaks, which are known only for
    /// the whole process. Its sums are those of the process less those of the others.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<u64> {
        let entry = key.entry();
        if entry.scope != Scope::Heap {
            return None;
        }
        let in_row = |at: usize| word(self.slot.bytes, at + offset_of!(HeapRow, counters) + 8 * key as usize);
        match (self.row, entry.fold, entry.writer) {
            (Some(at), _, _) => Some(not_below_zero(in_row(at))),
            (None, _, Writer::Start) => Some(self.slot.get(key)),
            (None, Fold::Max, _) => None,
            (None, Fold::Sum, _) => {
                let others = self.slot.rows().filter_map(|heap| heap.row);
                let others = others.fold(0_u64, |sum, at| sum.wrapping_add(in_row(at)));
                let whole = word(self.slot.bytes, offset_of!(Slot, counters) + 8 * key as usize);
                Some(not_below_zero(whole.wrapping_sub(others)))
            }
        }
    }
}

impl<'a> SlotView<'a> {
    /// Heaps of a process that has more than its default one: that one first, then those with a row of their own, and the others
    /// together. None for processes that were folded.
    pub fn heaps(&self) -> impl Iterator<Item = HeapView<'a>> + use<'a> {
        let slot = *self;
        let has_more = self.state != SlotState::Aggregate && word(self.bytes, offset_of!(Slot, heaps)) != 0;
        let first = HeapView { slot, row: None, kind: HeapKind::Default, state: RowState::Live, created: 1 };
        has_more.then_some(first).into_iter().chain(slot.rows().take_while(move |_| has_more))
    }

    fn rows(self) -> impl Iterator<Item = HeapView<'a>> + use<'a> {
        (0..=heaps::ROWS).filter_map(move |row| {
            let at = heaps::PAGE_OFFSET + row * size_of::<HeapRow>();
            let word = word(self.bytes, at + offset_of!(HeapRow, word));
            let (kind, state) = HeapRow::entry(word)?;
            Some(HeapView { slot: self, row: Some(at), kind, state, created: HeapRow::heaps_of(word) })
        })
    }

    /// The heap pools, by ascending size. Empty without HEAPPOOLS.
    pub fn pools(&self) -> impl Iterator<Item = PoolView> + use<'a> {
        let bytes = self.bytes;
        let count = usize::try_from(self.pool_rows().unwrap_or(0)).unwrap_or(0).min(pools::ROWS);
        (0..count).map(move |row| {
            let at = pools::PAGE_OFFSET + offset_of!(Pools, rows) + row * size_of::<PoolRow>();
            let figure = |field: usize| not_below_zero(word(bytes, at + field));
            PoolView {
                cell: figure(offset_of!(PoolRow, cell)),
                element: figure(offset_of!(PoolRow, element)),
                percent: figure(offset_of!(PoolRow, percent)),
                cells_per_extent: figure(offset_of!(PoolRow, cells_per_extent)),
                gets: figure(offset_of!(PoolRow, gets)),
                extents: figure(offset_of!(PoolRow, extents)),
                used: figure(offset_of!(PoolRow, used)),
                used_peak: figure(offset_of!(PoolRow, used_peak)),
            }
        })
    }

    /// The initial size of HEAP of which extents are a percentage, 0 for HEAPPOOLS64, and the requests that were larger than the
    /// largest cell. None without HEAPPOOLS.
    #[must_use]
    pub fn pools_head(&self) -> Option<(u64, u64)> {
        let at = |field: usize| {
            not_below_zero(word(self.bytes, pools::PAGE_OFFSET + offset_of!(Pools, head) + field))
        };
        self.pool_rows().filter(|rows| *rows > 0)?;
        Some((at(offset_of!(Head, initial)), at(offset_of!(Head, larger))))
    }

    /// Requests by steps of 8 bytes; None if the process does not count them.
    pub fn steps(&self) -> Option<impl Iterator<Item = u64> + use<'a>> {
        let bytes = self.bytes;
        let counts = pools::PAGE_OFFSET + offset_of!(Pools, head) + offset_of!(Head, counts_steps);
        (self.pool_rows().is_some() && word(bytes, counts) != 0).then(|| {
            let at = pools::PAGE_OFFSET + offset_of!(Pools, steps);
            (0..pools::STEPS).map(move |step| not_below_zero(word(bytes, at + 8 * step)))
        })
    }

    /// How many pools have a row; None if their pages were never made.
    fn pool_rows(&self) -> Option<u64> {
        word(self.bytes, offset_of!(Slot, pools)).checked_sub(1)
    }
}
