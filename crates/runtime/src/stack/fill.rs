//! Filling stacks: the third sub-option of STORAGE.
//!
//! ```text
//!        | frame of main    |
//! enter  | frame of f       |   the lowest stack pointer seen is remembered: the low-water mark
//! enter  | frame of g       |
//! exit   | ...              |   from the stack pointer down to the mark is filled; the mark is the pointer then
//!        +------------------+
//! ```
//!
//! CLEAR clears what the loader left below the first thread's stack pointer, once, before `main`: cheap. A byte fills the
//! frame that each call leaves, so that the next call finds it in its frame. That is expensive, and works only for programs
//! compiled with `-finstrument-functions`, since nothing else marks where frames begin and end.
//!
//! Invariant: only bytes below the stack pointer and its red zone are written; nothing live is touched.

use core::sync::atomic::{AtomicU32, Ordering};

use underbar_ledger::Key;
use underbar_options::Dsa;

use super::depth::{MAIN_BASE, lowest_resident};
use crate::callers::{self, stack_pointer};
use crate::ledger;
use crate::orders::Orders;
use crate::thread_word::thread_word;

/// Below the stack pointer: the red zone, and the bytes that this file's functions themselves use.
const MARGIN: usize = 512;
/// 256 + the byte that frames are filled with; 0: they are not filled.
static BYTE: AtomicU32 = AtomicU32::new(0);
/// Whether the first thread's unused stack is to be cleared before `main`.
static CLEAR: AtomicU32 = AtomicU32::new(0);

// The lowest stack pointer since the last fill: a word of each thread.
thread_word!(mark, set_mark, "underbar_stack_mark", "-1");

/// Sets the bounds of the calling thread's stack.
pub fn set_bounds(low: usize, high: usize) {
    callers::set_bounds(low..high);
}

/// Obeys STORAGE's sub-option for stacks.
pub(crate) fn configure(orders: &Orders<'_>) {
    let dsa = orders.settings.storage().dsa;
    CLEAR.store(u32::from(dsa == Dsa::Clear), Ordering::Relaxed);
    let byte = if let Dsa::Byte(byte) = dsa { Some(byte) } else { None };
    BYTE.store(byte.map_or(0, |byte| 256 + u32::from(byte)), Ordering::Relaxed);
}

/// Before `main`, in the first thread: clears the unused stack, if STORAGE asks for it. Pages that were never touched are
/// zero already, and stay untouched.
pub fn before_main() {
    let base = MAIN_BASE.load(Ordering::Relaxed);
    callers::set_bounds_of_first(base);
    if CLEAR.load(Ordering::Relaxed) != 0
        && let Some(lowest) = lowest_resident(base)
    {
        let top = stack_pointer() - MARGIN;
        // SAFETY: resident pages of this thread's stack, below its pointer by more than the red zone and this frame.
        unsafe { (lowest as *mut u8).write_bytes(0, top.saturating_sub(lowest)) };
    }
}

/// An instrumented function was entered.
#[inline]
pub fn entered() {
    if BYTE.load(Ordering::Relaxed) != 0 {
        let pointer = stack_pointer();
        let bounds = callers::bounds();
        if (bounds.start..mark().min(bounds.end)).contains(&pointer) {
            set_mark(pointer);
        }
    }
}

/// An instrumented function is about to return: the frames that its callees left are filled.
#[inline]
pub fn left() {
    let byte = BYTE.load(Ordering::Relaxed);
    if byte != 0 {
        let top = stack_pointer() - MARGIN;
        let mark = mark();
        if mark < top && top < callers::bounds().end {
            // SAFETY: from the lowest address that the thread's stack pointer reached, on this same stack, up to below its
            // pointer by more than the red zone and this function's frame.
            unsafe { (mark as *mut u8).write_bytes(byte as u8, top - mark) };
            ledger::add(Key::StackFilledFrames, 1);
            ledger::add(Key::StackFilledBytes, (top - mark) as u64);
            set_mark(top);
        }
    }
}
