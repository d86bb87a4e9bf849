//! Entering and leaving a heap: which one serves the calling thread.
//!
//! ```text
//! slot -> home (the thread's heap in the default heap) --others--> in heap B -> in heap A -> nil      entered last: first
//! enter(A): slot = the thread's heap in A, made at the first time            leave: slot as it was before
//! ```
//!
//! The fast paths of malloc and free know nothing of this: they use the slot. When a thread leaves a heap for the last time, it
//! sends everything that waits in its outbox there. What it then has in that heap is only lists of the heap's own cells, and can
//! end with it.
//!
//! Invariant: a thread is inside the heap of its slot, and inside those to which it will return.
//! Not here: how a heap ends (`registry`), and a thread's heap (`thread`).

use super::object::DEFAULT;
use super::registry::{Handle, Refused};
use super::thread::{self, ThreadHeap};
use super::{home, slot};

/// An entered heap: the argument of [`leave`].
#[must_use]
pub struct Entered {
    /// The slot before.
    pub(super) previous: *mut ThreadHeap,
}

/// From now on the calling thread gets its storage from that heap, also when realloc moves a block from another heap. Frees return
/// to the heap of the block, as always.
pub fn enter(handle: Handle) -> Result<Entered, Refused> {
    let Some(home) = home() else { return Err(Refused::Thread) };
    let previous = slot::get();
    let is_default = core::ptr::eq(handle.heap, &DEFAULT);
    if !is_default && !handle.heap.gate.enter(handle.generation) {
        return Err(Refused::Ended);
    }
    // SAFETY: the home is this thread's, and the heap does not end, as we are inside.
    unsafe {
        let here = if is_default { home } else { thread::of_thread(home, handle.heap) };
        if here.is_null() {
            handle.heap.gate.leave();
            return Err(Refused::NoMemory);
        }
        (*here).entered += 1;
        slot::set(here);
    }
    Ok(Entered { previous })
}

/// Returns the calling thread to the heap in which it was before it entered. Call in the reverse order of entering.
pub fn leave(entered: Entered) {
    let here = slot::get();
    // SAFETY: the slot's heap is this thread's own.
    unsafe {
        // A thread that has ended, as far as we were told, is inside none.
        if !thread::is_real(here) || (*here).entered == 0 {
            return;
        }
        let heap = (*here).heap;
        let is_default = core::ptr::eq(heap, &DEFAULT);
        if (*here).entered == 1 && !is_default {
            (*here).flush_all();
        }
        slot::set(entered.previous);
        (*here).entered -= 1;
        if !is_default {
            heap.gate.leave();
        }
    }
}
