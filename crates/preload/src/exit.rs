//! The exits from a process that skip destructors: the accounts are settled first.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_int;

use underbar_runtime::start;

/// _exit of POSIX.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn _exit(status: c_int) -> ! {
    start::leave(status)
}

/// _Exit of C.
#[allow(non_snake_case, reason = "the name that C gives it")]
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn _Exit(status: c_int) -> ! {
    start::leave(status)
}

/// daemon of BSD.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn daemon(keeps_folder: c_int, keeps_streams: c_int) -> c_int {
    // SAFETY: the caller's contract is that of C.
    unsafe { start::daemon(keeps_folder, keeps_streams) }
}
