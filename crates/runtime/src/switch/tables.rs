//! The tables of the C library's streams: where `fputs` and `fflush` enter the kernel.
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
//! Invariant: words change only from the address of one of the five to its stub.
//! Not here: what the stubs call (`streams`); streams with functions of the program (`fopencookie`), and in memory: they do not enter the
//! kernel by these.

use core::ffi::CStr;
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::switch_names::hidden;
use underbar_sys::image::Symbol;
use underbar_sys::syscall::{PROT_READ, PROT_WRITE, mprotect};

use super::stubs;
use crate::c_library::address_of_version;
use crate::deepbind::{self, PATIENCE};
use crate::loaded::{self, Object};

/// In the order of the hidden functions of `switch_names`.
const ENTRIES: [&CStr; stubs::STREAMS] =
    [c"_IO_file_read", c"_IO_file_write", c"_IO_file_seek", c"_IO_file_close", c"_IO_file_stat"];
/// Puts the stubs into the tables. Returns how many of the five are counted from now on.
pub(super) fn bind() -> u64 {
    replace(&|place, was| {
        stubs::REAL[hidden(place)].store(was, Ordering::Relaxed);
        stubs::of_stream(place)
    })
}

/// Puts functions into the tables: `new` gets the place of an entry and what is there now, the C library's own or a stub. Returns how many
/// of the five are replaced.
pub(crate) fn replace(new: &dyn Fn(usize, usize) -> usize) -> u64 {
    let mut bound = 0;
    deepbind::under_lock(PATIENCE, || {
        loaded::each(&mut |object| {
            if object.holds(address_of_version()) {
                bound = replace_in(object, new);
            }
        });
    });
    bound
}

fn replace_in(library: &Object, new: &dyn Fn(usize, usize) -> usize) -> u64 {
    let mut addresses = [0; stubs::STREAMS];
    for (name, address) in ENTRIES.into_iter().zip(&mut addresses) {
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
        let is_it = |entry: &usize| addresses[*entry] == value || stubs::of_stream(*entry) == value;
        if let Some(entry) = (0..stubs::STREAMS).find(is_it) {
            word.store(new(entry, value), Ordering::Release);
            is_bound[entry] = true;
        }
    }
    // If it fails the pages stay writable, which does no harm.
    let _ = protect(PROT_READ);
    is_bound.into_iter().filter(|&is_bound| is_bound).count() as u64
}
