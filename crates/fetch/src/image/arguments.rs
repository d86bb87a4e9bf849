//! The arguments of this process, which constructors get.
//!
//! Invariant: they are noted before `main`, once.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The arguments of this process. Written once before `main`.
static ARGUMENT_COUNT: AtomicUsize = AtomicUsize::new(0);
static ARGUMENTS: AtomicUsize = AtomicUsize::new(0);

// Miri passes no arguments to functions that run before `main`.
#[cfg(not(miri))]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn(c_int, *const *const c_char) = note_arguments;

#[cfg_attr(miri, allow(dead_code))]
extern "C" fn note_arguments(count: c_int, arguments: *const *const c_char) {
    ARGUMENT_COUNT.store(count as usize, Ordering::Relaxed);
    ARGUMENTS.store(arguments as usize, Ordering::Relaxed);
}

/// Count and texts.
pub(super) fn arguments() -> (c_int, *const *const c_char) {
    static NONE: usize = 0;
    #[cfg(not(miri))]
    core::hint::black_box(&AT_START);
    match ARGUMENTS.load(Ordering::Relaxed) {
        0 => (0, (&raw const NONE).cast()),
        arguments => (ARGUMENT_COUNT.load(Ordering::Relaxed) as c_int, arguments as *const *const c_char),
    }
}
