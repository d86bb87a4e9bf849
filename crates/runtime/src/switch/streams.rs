//! The C library's own entries for its streams: where `fputs` and `fflush` enter the kernel.
//!
//! ```text
//! FILE ─> table of its kind, in read-only data of the C library:  ... read | write | seek | close | stat ...
//!                                                                       │      │      │      │       │
//!                                                                       └──────┴── our stubs ┴───────┘
//! ```
//!
//! These words hold the addresses of five functions that the C library also has names for (`_IO_file_write`). So all kinds of streams are
//! found: files, wide characters, `popen`. Each entry is one call of the kernel, however many bytes `printf` had. Counting `fputs` and
//! `putc` instead would count calls that only fill a buffer.
//!
//! The caller is the last one that called a noted function (`fputs` and so on), if that call has not returned: its return address is
//! still where it was, above the stack pointer, on the thread's stack. Otherwise the C library itself is the caller.
//!
//! Invariant: words change only from the address of one of the five to its stub.
//! Not here: streams with functions of the program (`fopencookie`), and in memory: they do not enter the kernel by these.

use core::ffi::CStr;
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::switch_names::{hidden, hidden as number_of};
use underbar_ledger::switches::key;
use underbar_sys::image::Symbol;
use underbar_sys::syscall::{PROT_READ, PROT_WRITE, mprotect};

use super::{sites, stubs};
use crate::c_library::address_of_version;
use crate::callers;
use crate::deepbind::{self, PATIENCE};
use crate::loaded::{self, Object};

/// In the order of the hidden functions of `switch_names`.
const ENTRIES: [&CStr; stubs::STREAMS] =
    [c"_IO_file_read", c"_IO_file_write", c"_IO_file_seek", c"_IO_file_close", c"_IO_file_stat"];
/// The place of the write, and of a write to standard output or standard error.
const WRITE: usize = 1;
const PRINT: usize = 5;
/// Where a FILE has its descriptor.
const DESCRIPTOR: usize = 112;

/// Puts the stubs into the tables. Returns how many of the five are counted from now on.
pub(super) fn bind() -> u64 {
    let mut bound = 0;
    deepbind::under_lock(PATIENCE, || {
        loaded::each(&mut |object| {
            if object.holds(address_of_version()) {
                bound = bind_in(object);
            }
        });
    });
    bound
}

fn bind_in(library: &Object) -> u64 {
    let mut addresses = [0; stubs::STREAMS];
    for (place, (name, address)) in ENTRIES.into_iter().zip(&mut addresses).enumerate() {
        let mut symbol: *const Symbol = null();
        library.functions(name, &mut |found, is_default| {
            if is_default {
                symbol = found;
            }
        });
        if symbol.is_null() {
            return 0;
        }
        // SAFETY: a symbol of a library that is loaded.
        *address = library.base.wrapping_add(unsafe { (*symbol).value });
        stubs::REAL[number_of(place)].store(*address, Ordering::Relaxed);
    }
    let pages = library.read_only();
    // SAFETY: pages of the C library, which stays loaded; the loader left them readable and no more.
    let protect = |access| unsafe { mprotect(pages.start as *mut u8, pages.len(), access).is_ok() };
    if pages.is_empty() || !protect(PROT_READ | PROT_WRITE) {
        return 0;
    }
    let mut is_bound = [false; stubs::STREAMS];
    for place in pages.clone().step_by(size_of::<usize>()) {
        // SAFETY: an aligned word of these pages; the C library reads it as a whole.
        let word = unsafe { AtomicUsize::from_ptr(place as *mut usize) };
        let value = word.load(Ordering::Relaxed);
        if let Some(entry) = addresses.iter().position(|&address| address == value) {
            word.store(stubs::of_stream(entry), Ordering::Release);
            is_bound[entry] = true;
        }
    }
    // If it fails the pages stay writable, which does no harm.
    let _ = protect(PROT_READ);
    is_bound.into_iter().filter(|&is_bound| is_bound).count() as u64
}

/// A stream enters the kernel. `pointer` is the stack pointer with which the C library called.
///
/// # Safety
/// `file` is a FILE of the C library.
pub(super) unsafe extern "C" fn entered(place: usize, file: *const u8, bytes: u64, pointer: usize) {
    // SAFETY: the caller's promise; the field is where it has been in all versions.
    let descriptor = unsafe { *file.add(DESCRIPTOR).cast::<i32>() };
    let function = hidden(if place == WRITE && matches!(descriptor, 1 | 2) { PRINT } else { place });
    let [noted, at] = stubs::noted_caller();
    let bounds = callers::bounds();
    let may_read = at > pointer && at.is_multiple_of(8) && bounds.contains(&pointer) && bounds.contains(&at);
    // SAFETY: the first is a word of this thread's stack above its pointer; the other is the return address of this very call.
    let caller = unsafe {
        if may_read && *(at as *const usize) == noted { noted } else { *(pointer as *const usize) }
    };
    let bytes = if place <= WRITE { bytes } else { 0 };
    sites::count(key(function, caller as u64), bytes, descriptor as u32 as u64 + 1);
}
