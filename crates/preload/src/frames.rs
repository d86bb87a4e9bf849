//! The calls of a program compiled with `-finstrument-functions` as it enters and leaves its functions. The C library's
//! functions of these names do nothing.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_void;

use underbar_runtime::stack::fill;

/// Called at the beginning of each instrumented function.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn __cyg_profile_func_enter(_function: *mut c_void, _caller: *mut c_void) {
    fill::entered();
}

/// Called at the end of each instrumented function.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn __cyg_profile_func_exit(_function: *mut c_void, _caller: *mut c_void) {
    fill::left();
}
