//! Which classes of large cells a heap has: those that are in use.
//!
//! ```text
//! request of 2 to 32 KiB ──> element ──┬─ many of its class are in use ──┐
//!                                      ├─ many of its class were freed ──┼──> its class has cells from then on
//!                                      └─ a second thread requests ──────┘
//! ```
//! A cell is got in a third of the time, and without a lock. But a class keeps its free cells to itself, and most programs have few blocks
//! in each of the 32 largest classes: as elements they lie close to each other, and what is free between them serves any size. Many
//! blocks of a class fill their extents.
//!
//! Invariant: a class that has cells keeps them.
//! Not here: smaller classes, which always have cells; heaps without cells (`object::Settings`).

use core::sync::atomic::{AtomicU16, Ordering};

use underbar_ledger::sizes::cell_bytes;

use super::block::HEADER;
use super::size::{CLASSES, LARGEST_CELL, class_of};

/// The first class that has to be earned: the one above 2 KiB.
const FIRST: usize = {
    let mut class = 1;
    while cell_bytes(class) <= 2048 {
        class += 1;
    }
    class
};
/// Elements of a class in use at one time, after which it has cells.
const MANY_IN_USE: u16 = 64;
/// Freed elements of a class, after which it has cells: they have cost 50 µs more than cells.
const MANY_FREED: u16 = 1000;

/// For each class from [`FIRST`] on, what happened to its elements.
pub struct Turnover([Elements; CLASSES - FIRST]);

/// Any thread counts, and few do at the same time; relaxed: a lost count delays the first cell.
struct Elements {
    in_use: AtomicU16,
    /// [`MANY_FREED`] if the class has cells.
    freed: AtomicU16,
}

impl Elements {
    const fn none() -> Self {
        Self { in_use: AtomicU16::new(0), freed: AtomicU16::new(0) }
    }

    fn earn(&self) {
        self.freed.store(MANY_FREED, Ordering::Relaxed);
    }
}

impl Turnover {
    /// Of a heap without elements.
    pub const fn new() -> Self {
        Self([const { Elements::none() }; CLASSES - FIRST])
    }

    /// Has this class cells?
    #[inline]
    pub fn has_cells(&self, class: usize) -> bool {
        self.of_class(class).is_none_or(|of| of.freed.load(Ordering::Relaxed) >= MANY_FREED)
    }

    /// A thread requests storage that is not the first one: elements have one lock for all.
    pub fn earn_all(&self) {
        self.0.iter().for_each(Elements::earn);
    }

    /// An element was got, whose block has so many bytes.
    #[inline]
    pub fn note_got(&self, block_bytes: usize) {
        let Some(of) = self.of_block(block_bytes) else { return };
        let in_use = of.in_use.load(Ordering::Relaxed).saturating_add(1);
        of.in_use.store(in_use, Ordering::Relaxed);
        if in_use >= MANY_IN_USE {
            of.earn();
        }
    }

    /// An element was freed, whose block has so many bytes.
    #[inline]
    pub fn note_freed(&self, block_bytes: usize) {
        let Some(of) = self.of_block(block_bytes) else { return };
        of.in_use.store(of.in_use.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        let freed = of.freed.load(Ordering::Relaxed);
        if freed < MANY_FREED {
            of.freed.store(freed + 1, Ordering::Relaxed);
        }
    }

    fn of_block(&self, block_bytes: usize) -> Option<&Elements> {
        let bytes = block_bytes.saturating_sub(HEADER);
        if bytes > LARGEST_CELL { None } else { self.of_class(class_of(bytes)) }
    }

    fn of_class(&self, class: usize) -> Option<&Elements> {
        self.0.get(class.checked_sub(FIRST)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 10_000 + HEADER;

    #[test]
    fn a_class_earns_cells_by_many_in_use_and_by_many_freed() {
        let class = class_of(10_000);
        let turnover = Turnover::new();
        assert!(turnover.has_cells(FIRST - 1) && !turnover.has_cells(FIRST) && !turnover.has_cells(class));
        (1..MANY_IN_USE).for_each(|_| turnover.note_got(BLOCK));
        turnover.note_freed(BLOCK);
        turnover.note_got(BLOCK);
        assert!(!turnover.has_cells(class));
        turnover.note_got(BLOCK);
        assert!(turnover.has_cells(class) && !turnover.has_cells(class + 1));
        let turnover = Turnover::new();
        (1..MANY_FREED).for_each(|_| turnover.note_freed(BLOCK));
        assert!(!turnover.has_cells(class));
        turnover.note_freed(BLOCK);
        assert!(turnover.has_cells(class));
    }

    #[test]
    fn what_has_no_class_counts_nowhere_and_all_can_be_earned_at_once() {
        let turnover = Turnover::new();
        for block in [0, HEADER, 1000, LARGEST_CELL + HEADER + 1, usize::MAX] {
            (0..MANY_FREED).for_each(|_| turnover.note_freed(block));
            (0..MANY_IN_USE).for_each(|_| turnover.note_got(block));
        }
        assert!((FIRST..CLASSES).all(|class| !turnover.has_cells(class)));
        turnover.earn_all();
        assert!((1..CLASSES).all(|class| turnover.has_cells(class)));
    }
}
