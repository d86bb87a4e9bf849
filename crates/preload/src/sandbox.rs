//! prctl, by which a program forbids itself system calls.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_int;

use underbar_runtime::sandbox;

/// prctl of Linux. In C it takes what follows the operation as it comes; on this machine that is four registers.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn prctl(operation: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    // SAFETY: the caller's contract is that of C.
    unsafe { sandbox::prctl(operation, [a, b, c, d]) }
}
