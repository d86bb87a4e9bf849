//! pthread_create, to measure threads' stacks, and to make them as large as THREADSTACK requires.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by its C name only"))]

use core::ffi::{c_int, c_void};

use underbar_runtime::stack::{self, Attributes};

/// pthread_create of POSIX.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const Attributes,
    start: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller's contract is that of POSIX.
    unsafe { stack::create(thread, attributes, start, argument) }
}
