//! An inbox: cells that other threads freed, on their way to the heap whose extents they come from.
//!
//! ```text
//! push   head -> [chain] -> the old list         any thread, one exchange for a whole chain
//! take   head -> nil                             the owner, all at once
//!
//!   attended --leave--> unattended --attend--> attended      by the owner or its heir, under a lock of theirs
//!      |                    |
//!      | push: true         | push: false: the sender takes the lock and empties it (`take_unattended`)
//! ```
//!
//! The attended flag is a bit of the same word as the chain, so a sender learns it in the same step that makes its cells visible:
//! either the leaving owner takes them, or the sender is told.
//!
//! Invariant: each cell pushed is taken once. Once every push has returned true or been followed by
//! `take_unattended`, an unattended inbox is empty.
//! Not here: the lock under which an inbox changes hands (`thread`), and the further path of the cells.

use core::ptr::null_mut;

use underbar_sys::planted;
use underbar_sys::sync::atomic::{AtomicUsize, Ordering};

use super::cell::Cell;

/// The flag for an inbox without an owner.
const UNATTENDED: usize = 1;

/// Ordering of a push: whoever takes the cells sees their links and what the sender last did to them.
#[inline(always)]
fn pushed() -> Ordering {
    if planted!(relaxed_push) { Ordering::Relaxed } else { Ordering::Release }
}

/// Cells on their way to a heap's owner.
pub struct Inbox {
    /// Address of the first cell, and [`UNATTENDED`]. Pushed by any thread (Release); emptied whole by the owner or, if there is
    /// none, by whoever holds the owners' lock (Acquire).
    head: AtomicUsize,
}

impl Inbox {
    /// An empty inbox that is attended.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { head: AtomicUsize::new(0) }
    }

    /// An empty inbox that is attended.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { head: AtomicUsize::new(0) }
    }

    /// Sends a chain of cells. False if the inbox has no owner: the sender must take the owners' lock and empty it.
    ///
    /// # Safety
    /// The cells from `head` to `tail` are linked, and the caller's alone.
    #[must_use]
    pub unsafe fn push(&self, head: *mut Cell, tail: *mut Cell) -> bool {
        let mut old = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the chain is the caller's until the exchange succeeds.
            unsafe { (*tail).next.set((old & !UNATTENDED) as *mut Cell) };
            let new = head as usize | (old & UNATTENDED);
            match self.head.compare_exchange_weak(old, new, pushed(), Ordering::Relaxed) {
                Ok(_) => return old & UNATTENDED == 0,
                Err(now) => old = now,
            }
        }
    }

    /// Everything that has arrived; null for nothing. By the owner.
    #[inline]
    pub fn take(&self) -> *mut Cell {
        if self.head.load(Ordering::Relaxed) == 0 {
            return null_mut();
        }
        if planted!(torn_take) {
            let head = self.head.load(Ordering::Acquire);
            self.head.store(0, Ordering::Relaxed);
            return head as *mut Cell;
        }
        self.head.swap(0, Ordering::Acquire) as *mut Cell
    }

    /// The newest cell that has arrived and waits; null for nothing. By the owner: all cells stay until the owner takes them.
    pub fn waiting(&self) -> *mut Cell {
        (self.head.load(Ordering::Acquire) & !UNATTENDED) as *mut Cell
    }

    /// The owner leaves; it must put away what has arrived until then. Under the owners' lock.
    pub fn leave(&self) -> *mut Cell {
        let taken = if planted!(late_leave) {
            let taken = self.take() as usize;
            self.head.fetch_or(UNATTENDED, Ordering::Relaxed);
            taken
        } else {
            self.head.swap(UNATTENDED, Ordering::Acquire)
        };
        (taken & !UNATTENDED) as *mut Cell
    }

    /// Everything that has arrived since the owner left. Under the owners' lock.
    pub fn take_unattended(&self) -> *mut Cell {
        (self.head.swap(UNATTENDED, Ordering::Acquire) & !UNATTENDED) as *mut Cell
    }

    /// There is an owner again, who will take the cells that arrived. Under the owners' lock.
    pub fn attend(&self) {
        self.head.fetch_and(!UNATTENDED, Ordering::Relaxed);
    }

    /// Is the inbox without an owner? Under the owners' lock.
    pub fn is_unattended(&self) -> bool {
        self.head.load(Ordering::Relaxed) & UNATTENDED != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;
    use underbar_sys::sync::Plain;

    fn chain_of(cells: &[*mut Cell]) -> (*mut Cell, *mut Cell) {
        for pair in cells.windows(2) {
            // SAFETY: the test's own cells.
            unsafe { (*pair[0]).next.set(pair[1]) };
        }
        (cells[0], cells[cells.len() - 1])
    }

    fn listed(mut cell: *mut Cell) -> Vec<*mut Cell> {
        let mut cells = Vec::new();
        while !cell.is_null() {
            cells.push(cell);
            // SAFETY: the test's own cells.
            cell = unsafe { (*cell).next.get() };
        }
        cells
    }

    #[test]
    fn chains_come_out_latest_first_and_once() {
        let cells: Vec<*mut Cell> =
            (0..5).map(|_| Box::into_raw(Box::new(Cell { next: Plain::new(null_mut()) }))).collect();
        let inbox = Inbox::new();
        assert!(inbox.take().is_null());
        let ((a, b), (c, d)) = (chain_of(&cells[..3]), chain_of(&cells[3..]));
        // SAFETY: chains of the test's own cells.
        unsafe { assert!(inbox.push(a, b) && inbox.push(c, d)) };
        assert_eq!(listed(inbox.take()), [cells[3], cells[4], cells[0], cells[1], cells[2]]);
        assert!(inbox.take().is_null());

        // SAFETY: as above.
        unsafe { assert!(inbox.push(a, b)) };
        assert_eq!(listed(inbox.leave()), cells[..3], "what came before the owner went is the owner's");
        assert!(inbox.is_unattended());
        // SAFETY: as above.
        unsafe { assert!(!inbox.push(a, b), "a sender is told that nobody attends") };
        assert_eq!(listed(inbox.take_unattended()), cells[..3]);
        // SAFETY: as above.
        unsafe { assert!(!inbox.push(c, d)) };
        inbox.attend();
        assert!(!inbox.is_unattended());
        assert_eq!(listed(inbox.take()), cells[3..], "an heir takes what has come");
        // SAFETY: the boxes from above.
        cells.into_iter().for_each(|cell| drop(unsafe { Box::from_raw(cell) }));
    }
}

/// The model: every interleaving of two senders, an owner that leaves and an heir. It must find each planted fault, which proves
/// that it can detect faults: `relaxed_push`, `torn_take` (two accesses in place of one exchange), `late_leave` (the same on
/// leaving).
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::{Arc, Mutex};
    use loom::thread;
    use std::boxed::Box;
    use underbar_sys::planted::finds;
    use underbar_sys::sync::Plain;

    /// A cell with a word after it that its last user wrote without any atomics.
    #[repr(C)]
    struct Freed {
        cell: Cell,
        content: Plain<u32>,
    }

    struct Heap {
        inbox: Inbox,
        /// Represents the lock under which heaps change hands; counts the cells that each holder of the heap took.
        owners: Mutex<()>,
        taken: Plain<u32>,
    }

    // SAFETY: `taken` is touched by the owner or under the lock; loom checks it.
    unsafe impl Send for Heap {}
    // SAFETY: as above.
    unsafe impl Sync for Heap {}

    impl Heap {
        /// Puts cells away, as their owner, or under the lock if there is none.
        fn put_away(&self, mut cell: *mut Cell) {
            while !cell.is_null() {
                // SAFETY: cells taken from the inbox are the taker's; loom checks that they are.
                unsafe {
                    let next = (*cell).next.get();
                    let freed: Box<Freed> = Box::from_raw(cell.cast());
                    assert_eq!(freed.content.get(), 7, "the last user's writes are not seen");
                    self.taken.set(self.taken.get() + 1);
                    cell = next;
                }
            }
        }

        /// A thread that is not the owner frees one cell.
        fn send_one(&self) {
            let freed = Box::into_raw(Box::new(Freed {
                cell: Cell { next: Plain::new(null_mut()) },
                content: Plain::new(0),
            }));
            // SAFETY: the cell is this thread's until pushed.
            let attended = unsafe {
                (*freed).content.set(7);
                self.inbox.push(freed.cast(), freed.cast())
            };
            if !attended {
                let _owners = self.owners.lock();
                if self.inbox.is_unattended() {
                    self.put_away(self.inbox.take_unattended());
                }
            }
        }
    }

    /// Checks it; one of `faults` must be found if it is planted.
    fn model(faults: &[&str], check: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        finds(faults, || builder.check(check));
    }

    fn new_heap() -> Arc<Heap> {
        Arc::new(Heap { inbox: Inbox::new(), owners: Mutex::new(()), taken: Plain::new(0) })
    }

    #[test]
    fn loom_no_cell_is_lost_or_stuck_when_the_owner_leaves() {
        model(&["relaxed_push", "late_leave"], || {
            let heap = new_heap();
            let senders: [_; 2] = std::array::from_fn(|_| {
                let heap = heap.clone();
                thread::spawn(move || heap.send_one())
            });
            heap.put_away(heap.inbox.take());
            {
                let _owners = heap.owners.lock();
                heap.put_away(heap.inbox.leave());
            }
            senders.into_iter().for_each(|sender| sender.join().expect("a sender"));
            assert!(heap.inbox.is_unattended());
            assert!(heap.inbox.take_unattended().is_null(), "cells are stuck in an unattended inbox");
            // SAFETY: all threads have ended.
            assert_eq!(unsafe { heap.taken.get() }, 2, "cells lost");
        });
    }

    /// An heir takes the heap over while two threads free into it.
    #[test]
    fn loom_an_heir_gets_what_the_dead_owner_was_sent() {
        model(&["relaxed_push", "torn_take"], || {
            let heap = new_heap();
            {
                let _owners = heap.owners.lock();
                heap.put_away(heap.inbox.leave());
            }
            let senders: [_; 2] = std::array::from_fn(|_| {
                let heap = heap.clone();
                thread::spawn(move || heap.send_one())
            });
            {
                let _owners = heap.owners.lock();
                heap.inbox.attend();
            }
            heap.put_away(heap.inbox.take());
            senders.into_iter().for_each(|sender| sender.join().expect("a sender"));
            heap.put_away(heap.inbox.take());
            // SAFETY: all threads have ended.
            assert_eq!(unsafe { heap.taken.get() }, 2, "cells lost");
        });
    }
}
