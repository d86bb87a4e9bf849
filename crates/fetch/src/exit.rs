//! The functions that end a program that we loaded: to the innermost LINK of its thread, or with the process.
//!
//! Not here: the places to which an exit returns ([`crate::frame`]).

use core::ffi::c_int;

use crate::frame;
use crate::system;

/// `exit` for our programs.
///
/// # Safety
/// As the C library's.
pub unsafe extern "C" fn exit(status: c_int) -> ! {
    // SAFETY: the caller's promise.
    unsafe { frame::exit(status, system::exit) }
}

/// `_exit` for our programs.
///
/// # Safety
/// As the C library's.
pub unsafe extern "C" fn exit_now(status: c_int) -> ! {
    // SAFETY: the caller's promise.
    unsafe { frame::exit(status, system::_exit) }
}
