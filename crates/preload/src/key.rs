//! pthread_key_create and tss_create, so that a program that needs all keys of the C library also gets ours.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_int;

use underbar_runtime::key::{self, Destructor};

/// pthread_key_create of POSIX.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn pthread_key_create(key: *mut u32, destructor: Destructor) -> c_int {
    // SAFETY: the caller's contract is that of POSIX.
    unsafe { key::create(key, destructor) }
}

/// tss_create of C11.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn tss_create(key: *mut u32, destructor: Destructor) -> c_int {
    // SAFETY: the caller's contract is that of C.
    unsafe { key::create_c11(key, destructor) }
}
