//! The static library's choice: this runtime's functions, or those that the process has without it.
//!
//! ```text
//! program ─> malloc: jmp through its entry ─┬─ at first   a stub, which has the choice made
//!                                           ├─ chosen     this runtime's function
//!                                           └─ or         the first one of that name outside: the preload library's, the C library's
//! ```
//!
//! The names, the entries and the stubs are written by `cargo xtask static-library`, for all functions of the preload library.
//!
//! Invariant: all entries change at once, before the program has a second thread, and never again.
//! Cost: a jump through memory for each call, as of a function in a shared library.
//! Not here: when the runtime leaves the process to another one (`runtime::linked`).

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_runtime::linked;

/// A function of the library.
#[repr(C)]
struct Function {
    name: [u8; NAME],
    /// This runtime's.
    own: usize,
    /// The address of its word, from which the function of that name jumps on.
    entry: &'static AtomicUsize,
}

/// Room for a name, with a zero byte.
const NAME: usize = 48;

unsafe extern "C" {
    /// The functions, of which the last one is followed by the other.
    static underbar_functions: [Function; 0];
    static underbar_functions_end: [Function; 0];
    /// Where the functions are that jump through the entries.
    static underbar_jumps: [u8; 0];
    static underbar_jumps_end: [u8; 0];
    /// 0 in the library for programs that are linked statically, where the entries never change.
    static underbar_has_loader: u8;
}

const UNKNOWN: usize = 0;
const SERVES: usize = 1;
const STANDS_BACK: usize = 2;

/// Written by the first call of any function, or by the constructor, while there is one thread; relaxed, as threads begin later.
static CHOICE: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// Whether this runtime serves the process.
pub fn serves() -> bool {
    // SAFETY: a constant of the table.
    if unsafe { underbar_has_loader } == 0 {
        return true;
    }
    if CHOICE.load(Ordering::Relaxed) == UNKNOWN {
        underbar_choose();
    }
    CHOICE.load(Ordering::Relaxed) == SERVES
}

/// Sets all entries. Called by the stubs.
#[unsafe(no_mangle)]
extern "C" fn underbar_choose() {
    let here = underbar_choose as extern "C" fn() as usize;
    let stands_back = linked::stands_back(here);
    let first = (&raw const underbar_functions).cast::<Function>();
    let end = (&raw const underbar_functions_end).cast::<Function>();
    // SAFETY: the table that the linker has put together, from the first function to the end.
    let functions = unsafe { core::slice::from_raw_parts(first, end.offset_from_unsigned(first)) };
    for function in functions {
        let other = match CStr::from_bytes_until_nul(&function.name) {
            Ok(name) if stands_back => linked::elsewhere(here, name),
            _ => None,
        };
        function.entry.store(other.unwrap_or(function.own), Ordering::Relaxed);
    }
    if !stands_back {
        linked::functions_are((&raw const underbar_jumps).addr(), (&raw const underbar_jumps_end).addr());
    }
    CHOICE.store(if stands_back { STANDS_BACK } else { SERVES }, Ordering::Relaxed);
}
