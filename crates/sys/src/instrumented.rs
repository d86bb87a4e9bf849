//! The calls that a compiler's `-finstrument-functions` puts at the beginning and the end of each function, for code whose
//! compiler has no such flag.
//!
//! The C library's functions of these names do nothing; a library that is loaded before it may have others. The preload
//! library, which is one of those, does not use them.

use core::ffi::c_void;
use core::ptr::null_mut;

unsafe extern "C" {
    // SAFETY: both take two addresses, which they need not dereference, and may be called anywhere in pairs.
    safe fn __cyg_profile_func_enter(function: *mut c_void, caller: *mut c_void);
    safe fn __cyg_profile_func_exit(function: *mut c_void, caller: *mut c_void);
}

/// To be called first in a function.
#[inline(always)]
pub fn entered() {
    __cyg_profile_func_enter(null_mut(), null_mut());
}

/// To be called last in the same function.
#[inline(always)]
pub fn leaves() {
    __cyg_profile_func_exit(null_mut(), null_mut());
}
