//! __register_atfork, which pthread_atfork calls in each program and library, so that our handlers are the first.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_int;

use underbar_runtime::fork::{self, Handler};

/// __register_atfork of glibc.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn __register_atfork(
    before: Handler,
    parent: Handler,
    child: Handler,
    library: *mut u8,
) -> c_int {
    // SAFETY: the caller's contract is that of the C library.
    unsafe { fork::register(before, parent, child, library) }
}
