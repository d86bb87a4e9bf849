//! Storage below the line and below the bar, with the names of z/OS (`underbar/malloc31.h`).
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_void;

use underbar_runtime::heap::below;

/// __malloc24: storage below 16 MiB.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn __malloc24(size: usize) -> *mut c_void {
    below::LINE.get(size).cast()
}

/// __malloc31: storage below 2 GiB.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn __malloc31(size: usize) -> *mut c_void {
    below::BAR.get(size).cast()
}
