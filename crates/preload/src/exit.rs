//! The ways out of a process that skip destructors: the accounts are settled before they are taken.

use core::ffi::c_int;

use underbar_runtime::start;

/// _exit of POSIX.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn _exit(status: c_int) -> ! {
    start::leave(status)
}

/// _Exit of C.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn _Exit(status: c_int) -> ! {
    start::leave(status)
}
