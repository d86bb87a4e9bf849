//! Entries to the kernel of the C library's streams: each counts for the last one that called a function of streams.
//!
//! That is the caller if its call has not returned: its return address is still where it was, above the stack pointer, on the thread's
//! stack. Otherwise the C library itself is the caller, as of `getaddrinfo` which reads a file.
//!
//! Invariant: nothing is read but the stream's descriptor, and words of the thread's own stack.
//! Not here: how the streams come here (`tables`).

use underbar_ledger::switch_names::hidden;
use underbar_ledger::switches::key;

use super::{sites, words};
use crate::callers;

/// The place of the write, and of a write to standard output or standard error.
const WRITE: usize = 1;
const PRINT: usize = 5;
/// Where a FILE has its descriptor.
const DESCRIPTOR: usize = 112;

/// A stream enters the kernel. `pointer` is the stack pointer with which the C library called.
///
/// # Safety
/// `file` is a FILE of the C library.
pub(super) unsafe extern "C" fn entered(place: usize, file: *const u8, bytes: u64, pointer: usize) {
    // SAFETY: the caller's promise; the field is where it has been in all versions.
    let descriptor = unsafe { *file.add(DESCRIPTOR).cast::<i32>() };
    let function = hidden(if place == WRITE && matches!(descriptor, 1 | 2) { PRINT } else { place });
    let [noted, at] = words::noted_caller();
    let bounds = callers::bounds();
    let may_read = at > pointer && at.is_multiple_of(8) && bounds.contains(&pointer) && bounds.contains(&at);
    // SAFETY: the first is a word of this thread's stack above its pointer; the other is the return address of this very call.
    let caller = unsafe {
        if may_read && *(at as *const usize) == noted { noted } else { *(pointer as *const usize) }
    };
    let bytes = if place <= WRITE { bytes } else { 0 };
    sites::count(key(function, caller as u64), bytes, descriptor as u32 as u64 + 1, pointer);
}
