//! malloc and related functions, with their C names.
//!
//! The whole family is here: a program that finds half of it elsewhere would pass pointers of one heap to another. The meaning
//! of each call is in `runtime::heap`; this file has only C's conventions for bad arguments.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

use underbar_runtime::{errno, heap};

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

/// malloc of C.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::malloc(size).cast() }
}

/// free of C.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn free(address: *mut c_void) {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::free(address.cast()) }
}

/// calloc of C.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::calloc(count, size).cast() }
}

/// realloc of C, as glibc has it: size 0 frees.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn realloc(address: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::realloc(address.cast(), size).cast() }
}

/// reallocarray of glibc and the BSDs.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn reallocarray(address: *mut c_void, count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        return heap::refuse().cast();
    };
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::realloc(address.cast(), bytes).cast() }
}

/// memalign: an alignment that is no power of two is rounded up to the next one, as in glibc.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    let Some(alignment) = alignment.checked_next_power_of_two() else {
        errno::set_errno(EINVAL);
        return null_mut();
    };
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::aligned(alignment, size).cast() }
}

/// aligned_alloc of C11.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: as memalign.
    unsafe { memalign(alignment, size) }
}

/// posix_memalign of POSIX: returns the error. Without storage it also sets errno, as glibc does.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return EINVAL;
    }
    // SAFETY: the caller's contract is that of C.
    unsafe {
        let address = heap::aligned(alignment, size);
        if address.is_null() {
            return ENOMEM;
        }
        *result = address.cast();
    }
    0
}

/// valloc: aligned to a page.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::aligned(4096, size).cast() }
}

/// pvalloc: whole pages.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    let Some(size) = size.max(1).checked_next_multiple_of(4096) else {
        return heap::refuse().cast();
    };
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::aligned(4096, size).cast() }
}

/// malloc_usable_size of glibc.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn malloc_usable_size(address: *mut c_void) -> usize {
    // SAFETY: the caller's contract is that of glibc.
    unsafe { heap::usable_size(address.cast()) }
}

/// free_sized of C23.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn free_sized(address: *mut c_void, _size: usize) {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::free(address.cast()) }
}

/// free_aligned_sized of C23.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn free_aligned_sized(address: *mut c_void, _alignment: usize, _size: usize) {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::free(address.cast()) }
}

/// cfree, an old name: programs linked long ago still call it.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn cfree(address: *mut c_void) {
    // SAFETY: the caller's contract is that of C.
    unsafe { heap::free(address.cast()) }
}

/// malloc_trim of glibc: 1 if storage went back to the kernel.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn malloc_trim(_pad: usize) -> c_int {
    c_int::from(heap::trim())
}

/// mallopt of glibc: its parameters belong to another heap; accepted without effect, with glibc's return value.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn mallopt(parameter: c_int, value: c_int) -> c_int {
    const M_MXFAST: c_int = 1;
    const LARGEST_FAST: usize = 80 * size_of::<usize>() / 4;
    // As in glibc: a negative value is large.
    c_int::from(parameter != M_MXFAST || value as usize <= LARGEST_FAST)
}
