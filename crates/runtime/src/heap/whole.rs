//! What is asked of the heap as a whole: to give back, to settle its figures, to stand still for a fork.
//!
//! Not here: requests (the parent), and what single threads' heaps do (`thread`).

use core::sync::atomic::Ordering;

use underbar_ledger::Key;

use super::object::DEFAULT;
use super::own::OWN;
use super::registry::{self, REGISTRY};
use super::space::Disposition;
use super::{map, slot, thread};
use crate::ledger;

/// Returns what is idle to the kernel; true if there was any.
pub fn trim() -> bool {
    let before = ledger::slot().cell(Key::HeapSegmentBytes).load(Ordering::Relaxed);
    {
        let _registry = REGISTRY.lock();
        registry::each(|heap| {
            let mut space = heap.space.lock();
            space.release_parked(0);
            space.return_idle(0);
        });
    }
    ledger::slot().cell(Key::HeapSegmentBytes).load(Ordering::Relaxed) < before
}

/// Gets storage for a program that is about to forbid itself to ask for any.
pub fn reserve() {
    DEFAULT.space.lock().reserve();
}

/// Changes what becomes of empty increments of the default heap, while the program runs; false where that is in force already. Cells are
/// got as before, so under FREE, too.
pub fn change_disposition(disposition: Disposition) -> bool {
    DEFAULT.space.lock().change_disposition(disposition)
}

/// Gives back what is empty now of the default heap, whatever HEAP says.
pub fn give_back_empty() {
    DEFAULT.space.lock().give_back_empty();
}

/// Storage of [`DESCRIPTOR`](super::DESCRIPTOR) bytes, apart from the program's heap; null where there is none.
pub fn get_descriptor() -> *mut u8 {
    OWN.lock().get_descriptor()
}

/// Takes such storage back.
///
/// # Safety
/// It came from [`get_descriptor`], and nobody will write to it any more.
pub unsafe fn put_descriptor(descriptor: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { OWN.lock().put_descriptor(descriptor) }
}

/// The first page in a range that is this heap's, or the range's end.
pub fn next_ours(start: usize, end: usize) -> usize {
    map::next_ours(start, end)
}

/// Settles the figures of this thread, in all heaps, and of those that have ended, so that what the ledger says of them is
/// exact. Where a lock cannot be had soon, only those of this thread's own cells.
pub fn settle() {
    let quiet = thread::is_quiet();
    let heap = slot::get();
    if thread::is_real(heap) {
        // SAFETY: this thread owns its heap.
        unsafe {
            if quiet {
                (*heap).flush_all();
            }
            (*heap).settle_all();
            (*heap).count_inbox();
            if quiet {
                thread::settle_others(heap);
            }
        }
    }
    if quiet {
        thread::settle_abandoned();
    }
}

/// Before a fork.
pub fn before_fork() {
    thread::hold();
}

/// After a fork, in parent and child.
///
/// # Safety
/// This thread (in the child: its original) called [`before_fork`].
pub unsafe fn after_fork() {
    // SAFETY: the caller's promise.
    unsafe { thread::release() }
}

/// After a fork, in the child.
///
/// # Safety
/// This thread's original called [`before_fork`].
pub unsafe fn after_fork_in_child() {
    // SAFETY: the caller's promise.
    unsafe { thread::release() };
    thread::after_fork_in_child();
}
