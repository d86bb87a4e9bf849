//! The thread's slot: eight bytes of thread-local storage that hold the address of its heap.
//!
//! Its first value is the address of a heap without cells, put there by an ordinary relocation. So no code tests for null, and the
//! first request of a thread simply finds its bin empty.
//!
//! Invariant: the slot holds the address of a heap: the thread's own, `EMPTY` or `DEPARTED`.

use super::{EMPTY, ThreadHeap};
use crate::thread_word::thread_word;

thread_word!(word, set_word, "underbar_thread_heap", "{empty}", empty = EMPTY);

/// The heap of this thread.
#[inline(always)]
pub fn get() -> *mut ThreadHeap {
    word() as *mut ThreadHeap
}

/// Changes the heap of this thread.
#[inline]
pub fn set(heap: *const ThreadHeap) {
    set_word(heap as usize);
}
