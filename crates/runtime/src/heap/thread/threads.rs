//! Whose a thread's heap is: of a thread, or of nobody until a new thread takes it over. Those of the default heap live for ever.
//!
//! ```text
//! acquire -> a thread's heap -> abandon -> abandoned -> ... (the last one first) -> acquire
//! ```
//!
//! Invariant: a thread's heap is attended by its inbox, or in the list of abandoned ones, or its thread did not survive a fork.

use core::ptr::null_mut;

use super::ThreadHeap;
use crate::heap::object::{DEFAULT, Heap};
use crate::heap::own::OWN;

/// Abandoned heaps that keep their empty extents for the next thread.
const READY: u32 = 4;

/// The threads' heaps in one heap.
pub struct Threads {
    pub(super) all: *mut ThreadHeap,
    abandoned: *mut ThreadHeap,
    /// How many are abandoned.
    waiting: u32,
}

// SAFETY: followed under the lock only.
unsafe impl Send for Threads {}

impl Threads {
    /// None yet.
    pub const fn new() -> Self {
        Self { all: null_mut(), abandoned: null_mut(), waiting: 0 }
    }
}

/// A thread's heap in `heap`: one that an ended thread left, or a new one. Null where there is no memory.
pub fn acquire(heap: &'static Heap) -> *mut ThreadHeap {
    let mut threads = heap.threads.lock();
    let mut thread = threads.abandoned;
    if thread.is_null() {
        thread = OWN.lock().get(size_of::<ThreadHeap>()).cast();
        if thread.is_null() {
            return null_mut();
        }
        // SAFETY: new storage, of the right size and alignment.
        unsafe {
            thread.write(ThreadHeap::empty(heap));
            (*thread).next = threads.all;
        }
        threads.all = thread;
    } else {
        // SAFETY: threads' heaps live as long as the heap; abandoned ones are ours under the lock.
        unsafe {
            threads.abandoned = (*thread).next_abandoned;
            threads.waiting -= 1;
            // The ledger may be that of a child: another one.
            (*thread).note(0);
            (*thread).inbox.attend();
        }
    }
    thread
}

/// Leaves a thread's heap to whoever needs one next.
///
/// # Safety
/// The calling thread owns it and will not use it again.
pub unsafe fn abandon(thread: *mut ThreadHeap) {
    // SAFETY: ours until the state says otherwise.
    unsafe {
        (*thread).flush_all();
        let mut threads = (*thread).heap.threads.lock();
        let last = (*thread).inbox.leave();
        (*thread).counted = null_mut();
        (*thread).put_chain(last);
        // The one that waits on top is the next to be taken: its cells and extents stay as they are, as threads that
        // come and go would get the same again and again. Those below may wait for long.
        (*thread).ready = threads.waiting < READY;
        if !(*thread).ready {
            (*thread).settle_all();
            (*thread).release_empty();
        }
        (*thread).next_abandoned = threads.abandoned;
        threads.abandoned = thread;
        threads.waiting += 1;
    }
}

/// Whether no thread, this one included, is in the middle of what the locks guard: a signal handler that ends
/// the process may have interrupted just that, and must not wait for itself.
pub fn is_quiet() -> bool {
    (0..1000).any(|_| {
        core::hint::spin_loop();
        DEFAULT.threads.try_lock().is_some() && DEFAULT.space.try_lock().is_some() && OWN.try_lock().is_some()
    })
}

/// Settles the figures of threads that have ended.
pub fn settle_abandoned() {
    let threads = DEFAULT.threads.lock();
    let mut thread = threads.abandoned;
    while !thread.is_null() {
        // SAFETY: threads' heaps live as long as the heap; abandoned ones are ours under the lock.
        unsafe {
            (*thread).settle_all();
            thread = (*thread).next_abandoned;
        }
    }
}

/// Before a fork: nobody is in the middle of anything that a lock guards.
pub fn hold() {
    DEFAULT.threads.hold();
    DEFAULT.space.hold();
    OWN.hold();
}

/// After a fork, in parent and child. In the child the other threads are gone; what they were doing with their
/// heaps is not known, so nobody takes those over, and they look attended for ever.
///
/// # Safety
/// This thread called [`hold`].
pub unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe {
        OWN.release();
        DEFAULT.space.release();
        DEFAULT.threads.release();
    }
}
