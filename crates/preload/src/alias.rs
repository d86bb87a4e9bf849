//! glibc's second names for the same functions. A program that calls malloc by one name and free by the other must reach the
//! same heap.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_void;

use underbar_runtime::heap;

use crate::malloc;

/// malloc, by glibc's own name.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn __libc_malloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::malloc(size).cast() }
}

/// free, by glibc's own name.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn __libc_free(address: *mut c_void) {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::free(address.cast()) }
}

/// calloc, by glibc's own name.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn __libc_calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::calloc(count, size).cast() }
}

/// realloc, by glibc's own name.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn __libc_realloc(address: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::realloc(address.cast(), size).cast() }
}

/// memalign, by glibc's own name.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { malloc::memalign(alignment, size) }
}

/// valloc, by glibc's own name.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn __libc_valloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { malloc::valloc(size) }
}

/// pvalloc, by glibc's own name.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn __libc_pvalloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { malloc::pvalloc(size) }
}
