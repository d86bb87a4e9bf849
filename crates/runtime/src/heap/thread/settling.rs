//! Exact figures of a thread's heap: cells that were got from a bin and cells that came back are counted by looks.
//!
//! ```text
//! bin     handed = 10, cells still in it = 4      ──> 6 were got since it was filled
//! extent  settled = 30, cells out of it = 25      ──> 5 came back
//! ```
//!
//! A glance looks at the newest extents, a look at all of them and at the bins; a settle also puts ready cells back.
//!
//! Invariant: a look changes no list that malloc or free uses.
//! Not here: what is counted by the list, without a look (the parent), and the sums (`figures`).

use core::ptr::null_mut;

use super::super::check;
use super::super::extent::Extent;
use super::super::size::CLASSES;
use super::super::tally::Unsettled;
use super::ThreadHeap;
use super::by_size::BySize;

/// All methods are called by the owner, or, if there is none, under the lock of the heap's threads.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl ThreadHeap {
    /// More is in use than ever before.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn grown(&mut self) {
        if self.tally.wants_look(0) {
            // SAFETY: the contract above.
            unsafe { self.count_exactly(0) };
        } else if self.tally.is_grown() {
            self.tally.publish_bytes();
        }
    }

    /// `more` bytes of an element are about to be used: counts exactly the cells in use with it, if that is worth it.
    pub unsafe fn look_if_grown(&mut self, more: i64) {
        if self.tally.wants_look(more) {
            // SAFETY: the contract above.
            unsafe {
                self.collect();
                self.count_exactly(more);
            }
        }
    }

    /// Counts the cells in use, with `more` bytes about to be used: by a look, or by a glance if that is enough.
    unsafe fn count_exactly(&mut self, more: i64) {
        let before = self.tally.counted();
        // SAFETY: the contract above.
        unsafe {
            if self.tally.is_calm(more) {
                self.glance();
                if self.tally.counted() == before {
                    return self.tally.glanced(more);
                }
            }
            self.look(before, more);
        }
    }

    /// Counts the cells that came back to the current extent and to the newest full and partial one of each class.
    unsafe fn glance(&mut self) {
        for pool in &self.pools[1..] {
            for extent in [pool.current, pool.full, pool.partial] {
                // SAFETY: extents in our pools are live and ours.
                if let Some(extent) = unsafe { extent.as_mut() } {
                    self.tally.settle(extent);
                }
            }
        }
    }

    /// Counts the cells that came back to the extents of a class; returns how many extents there are.
    unsafe fn settle_extents(&mut self, class: usize) -> u32 {
        let pool = self.pools[class];
        let mut count = 1;
        // SAFETY: extents in our pools are live and ours.
        unsafe {
            if !pool.current.is_null() {
                self.tally.settle(&mut *pool.current);
            }
            for head in [pool.partial, pool.full] {
                let mut at = head;
                while !at.is_null() {
                    self.tally.settle(&mut *at);
                    at = (*at).next;
                    count += 1;
                }
            }
        }
        count
    }

    /// Counts the cells that were got from bins so far, and those that came back; `before` bytes were counted until now.
    unsafe fn look(&mut self, before: i64, more: i64) {
        let (mut taken, mut extents) = (0, 0);
        for (class, &cell_bytes) in self.cells.bytes.iter().enumerate().skip(1) {
            let handed = self.pools[class].handed;
            let mut cell = *self.bin(class);
            let mut waiting = 0;
            // Bounded: a cell that was freed twice makes a circle of the list.
            while !cell.is_null() && waiting < handed {
                waiting += 1;
                // SAFETY: cells in a bin are free, and ours.
                cell = unsafe { (*cell).next.get() };
            }
            self.pools[class].handed = waiting;
            self.tally.got(handed - waiting, cell_bytes);
            self.by_size.got(class, handed - waiting);
            taken += i64::from(handed - waiting) * i64::from(cell_bytes);
            // SAFETY: the contract above.
            extents += unsafe { self.settle_extents(class) };
        }
        let back = before + taken - self.tally.counted();
        self.tally.looked(before, back, extents, more);
    }

    /// Puts ready cells back into their extents and settles every figure, so that the accounts are exact.
    pub unsafe fn settle_all(&mut self) {
        for (class, &cell_bytes) in self.cells.bytes.iter().enumerate().skip(1) {
            // SAFETY: the bin's cells all come from the current extent.
            unsafe {
                let mut cell = core::mem::replace(self.bin(class), null_mut());
                let extent = self.pools[class].current;
                let mut left = 0;
                while !cell.is_null() {
                    if left >= self.pools[class].handed {
                        check::end_twice(cell as usize, extent);
                    }
                    let next = (*cell).next.get();
                    (*cell).next.set((*extent).list);
                    (*extent).list = cell;
                    cell = next;
                    left += 1;
                }
                if left > 0 {
                    (*extent).held = (*extent).out() - left;
                    (*extent).count_on();
                    (*extent).settled -= left;
                }
                let pool = &mut self.pools[class];
                let got = core::mem::take(&mut pool.handed) - left;
                self.tally.got(got, cell_bytes);
                self.by_size.got(class, got);
            }
        }
        // Cells that were got unnoticed may have been in use at the same time as all others; returned cells are counted afterwards.
        self.tally.note_most();
        for class in 1..CLASSES {
            // SAFETY: the contract above.
            unsafe { self.settle_extents(class) };
        }
        self.tally.publish_settled();
        self.by_size.publish_all(self.cells, self.tally.pool());
    }

    /// What a settle would add to the ledger now; `of_class` is told the cells that were got of each class. Reads only, so it is safe
    /// when a signal handler has interrupted a request of this thread: then it is right to that request.
    pub unsafe fn unsettled(&mut self, mut of_class: impl FnMut(&mut BySize, usize, u32)) -> Unsettled {
        let mut sum = self.tally.unpublished();
        for class in 1..CLASSES {
            let (mut cell, mut waiting) = (*self.bin(class), 0);
            let (handed, cell_bytes) = (self.pools[class].handed, i64::from(self.cells.bytes[class]));
            // SAFETY: cells in a bin are free, and ours; extents in our pools are live and ours.
            unsafe {
                while !cell.is_null() && waiting < handed {
                    waiting += 1;
                    cell = (*cell).next.get();
                }
                let got = handed - waiting;
                of_class(&mut self.by_size, class, got);
                let mut back = 0;
                let mut note = |extent: *mut Extent| {
                    back += i64::from((*extent).settled.saturating_sub((*extent).out()));
                };
                let pool = self.pools[class];
                if !pool.current.is_null() {
                    note(pool.current);
                }
                for mut extent in [pool.partial, pool.full] {
                    while !extent.is_null() {
                        note(extent);
                        extent = (*extent).next;
                    }
                }
                sum.gets += i64::from(got);
                sum.frees += back;
                sum.bytes += (i64::from(got) - back) * cell_bytes;
            }
        }
        sum
    }

    /// In a forked child: what was not settled at the fork is its parent's, and will not be counted here.
    pub unsafe fn owe_unsettled(&mut self) {
        // SAFETY: the contract above.
        let sum = unsafe { self.unsettled(BySize::owe) };
        self.tally.owe(sum);
    }
}
