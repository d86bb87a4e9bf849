//! Whose a heap is: of a thread, or of nobody until a new thread takes it over. Heaps live for ever.
//!
//! ```text
//! acquire -> a thread's heap -> abandon -> abandoned -> ... (the last one first) -> acquire
//! ```
//!
//! Invariant: a heap is attended by its inbox, or in the list of abandoned ones, or its thread did not survive a fork.

use core::ptr::null_mut;

use underbar_sys::lock::Lock;

use super::ThreadHeap;
use crate::heap::space::SPACE;

/// Abandoned heaps that keep their empty extents for the next thread.
const READY: u32 = 4;

pub(super) struct Heaps {
    pub(super) all: *mut ThreadHeap,
    abandoned: *mut ThreadHeap,
    /// How many are abandoned.
    waiting: u32,
}

// SAFETY: followed under the lock only.
unsafe impl Send for Heaps {}

/// Order of locks: this before [`SPACE`].
pub(super) static HEAPS: Lock<Heaps> =
    Lock::new(Heaps { all: null_mut(), abandoned: null_mut(), waiting: 0 });

/// A heap for a new thread: one that an ended thread left, or a new one. Null where there is no memory.
pub fn acquire() -> *mut ThreadHeap {
    let mut heaps = HEAPS.lock();
    let mut heap = heaps.abandoned;
    if heap.is_null() {
        heap = SPACE.lock().own.get(size_of::<ThreadHeap>()).cast();
        if heap.is_null() {
            return null_mut();
        }
        // SAFETY: new storage, of the right size and alignment.
        unsafe {
            heap.write(ThreadHeap::empty());
            (*heap).next = heaps.all;
        }
        heaps.all = heap;
    } else {
        // SAFETY: heaps live for ever; abandoned ones are ours under the lock.
        unsafe {
            heaps.abandoned = (*heap).next_abandoned;
            heaps.waiting -= 1;
            // The ledger may be that of a child: another one.
            (*heap).note(0);
            (*heap).inbox.attend();
        }
    }
    heap
}

/// Leaves a heap to whoever needs one next.
///
/// # Safety
/// The calling thread owns the heap and will not use it again.
pub unsafe fn abandon(heap: *mut ThreadHeap) {
    // SAFETY: ours until the state says otherwise.
    unsafe {
        (*heap).flush_all();
        let mut heaps = HEAPS.lock();
        let last = (*heap).inbox.leave();
        (*heap).counted = null_mut();
        (*heap).put_chain(last);
        // The heap that waits on top is the next to be taken: its cells and extents stay as they are, as threads that
        // come and go would get the same again and again. Those below may wait for long.
        (*heap).ready = heaps.waiting < READY;
        if !(*heap).ready {
            (*heap).settle_all();
            (*heap).release_empty();
        }
        (*heap).next_abandoned = heaps.abandoned;
        heaps.abandoned = heap;
        heaps.waiting += 1;
    }
}

/// Whether no thread, this one included, is in the middle of what the locks guard: a signal handler that ends
/// the process may have interrupted just that, and must not wait for itself.
pub fn is_quiet() -> bool {
    (0..1000).any(|_| {
        core::hint::spin_loop();
        HEAPS.try_lock().is_some() && SPACE.try_lock().is_some()
    })
}

/// Settles the figures of heaps whose threads have ended.
pub fn settle_abandoned() {
    let heaps = HEAPS.lock();
    let mut heap = heaps.abandoned;
    while !heap.is_null() {
        // SAFETY: heaps live for ever; abandoned ones are ours under the lock.
        unsafe {
            (*heap).settle_all();
            heap = (*heap).next_abandoned;
        }
    }
}

/// Before a fork: nobody is in the middle of anything that a lock guards.
pub fn hold() {
    HEAPS.hold();
    SPACE.hold();
}

/// After a fork, in parent and child. In the child the other threads are gone; what they were doing with their
/// heaps is not known, so nobody takes those over, and they look attended for ever.
///
/// # Safety
/// This thread called [`hold`].
pub unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe {
        SPACE.release();
        HEAPS.release();
    }
}
