//! What `demo pj47265` leaves out (ECB(WITHOUT(item))): the other way of each item, at places that requests reach by the slow path.
//!
//! | item | without it |
//! |---|---|
//! | entries on need | marks of the whole area are made and cleared when the ECB begins |
//! | hashed tags | all names in one list (`tags`) |
//! | cache lines | a thread takes one buffer at a time, next to the one that another thread took |
//! | LIFO | freed buffers wait until the others are dispensed, then the oldest comes first |
//! | no kernel call | locks do not spin before they sleep (`underbar_sys::lock`); shared lists alone |
//! | unique trace | one table of all threads (`traced`) |
//! | unique lists | each freed buffer goes to the lists that all threads share, under their lock |
//!
//! Invariant: an ECB does the same with and without.
//! Not here: which item it is (`given`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::classes::OfList;
use underbar_options::Without;

use super::super::cell::Cell;
use super::area::Area;
use super::control_block::Region;
use super::given;
use super::lists::{Aside, LISTS};
use super::piece::{Piece, push};
use super::seat::Seat;

/// Makes the control entries of a whole area.
///
/// # Safety
/// It is that of a new ECB, in which no thread is.
#[cold]
pub unsafe fn make_entries(area: *mut Area) {
    // SAFETY: the caller's promise.
    unsafe {
        let (from, end) = (*area).room();
        if (*area).prepare(from, end) {
            (*area).clear(end);
        }
    }
}

/// All functions are called by the seat's thread, which is inside.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl Seat {
    /// Whether a thread takes one buffer at a time. With zones, none is carved before it is asked for.
    pub fn takes_one(&self) -> bool {
        matches!(self.without, Without::Align | Without::Lists | Without::Spin) || given::has_zones()
    }

    /// A new piece for an empty bin, next to the last one of any thread; null if there is no memory.
    #[cold]
    pub unsafe fn carve_next(&mut self, list: usize) -> *mut Cell {
        let size = self.class().lists.sizes[list] as usize;
        if self.region.end - self.region.at < size && !self.grant(size) {
            return null_mut();
        }
        let at = self.region.at;
        self.region.at += size;
        self.handed[list] += 1;
        self.figures.count_refill(list, OfList::Carved);
        let piece = at as *mut Piece;
        // SAFETY: the region is ours, and its marks are there; the thread is inside.
        unsafe {
            (*piece).cell.next.set(null_mut());
            (*piece).depth.set(1);
            *(*self.region.area).mark(at) = list as u8;
            // The next thread goes on there.
            let rest = core::mem::replace(&mut self.region, Region::NONE);
            (*self.block).shared.lock().leave(rest);
        }
        at as *mut Cell
    }

    /// A buffer was freed into its bin.
    #[cold]
    pub unsafe fn freed_without(&mut self, list: usize) {
        // SAFETY: the contract above; pieces of a bin are ours.
        unsafe {
            match self.without {
                Without::Lists | Without::Spin if (*self.block).is_threaded.load(Ordering::Relaxed) != 0 => {
                    self.share(list);
                }
                Without::Lifo => {
                    let Some(aside) = self.aside() else { return };
                    let piece = self.heap.bins[list];
                    self.heap.bins[list] = (*piece).next.get();
                    push(&mut aside.0[list], piece.cast());
                }
                _ => {}
            }
        }
    }

    /// Puts what waits back into an empty bin, the oldest first.
    pub unsafe fn take_aside(&mut self, list: usize) {
        if self.without != Without::Lifo {
            return;
        }
        let Some(aside) = self.aside() else { return };
        let mut next = core::mem::replace(&mut aside.0[list], null_mut());
        while !next.is_null() {
            let piece = next;
            // SAFETY: pieces that wait are free and ours.
            unsafe {
                next = (*piece).next.get();
                push(&mut self.heap.bins[list], piece.cast());
            }
        }
    }

    /// The same for all lists, before they are counted.
    pub unsafe fn take_all_aside(&mut self) {
        if self.without == Without::Lifo {
            for list in 1..LISTS {
                // SAFETY: the contract above.
                unsafe { self.take_aside(list) };
            }
        }
    }

    fn aside(&mut self) -> Option<&'static mut Aside> {
        if self.aside.is_null() {
            self.aside = given::storage(size_of::<Aside>()).cast();
        }
        // SAFETY: null, or storage of that size that is this seat's for ever; zeroed at first.
        unsafe { self.aside.as_mut() }
    }
}
