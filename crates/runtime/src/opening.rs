//! Before a library is opened: the heap makes room for it, and it will find this heap.
//!
//! Invariant: the call goes on to the next library's `dlopen` in any case, which sees its caller's address.
//! Not here: how a library finds this heap ([`crate::deepbind`]).

use core::ffi::{c_char, c_int};

use crate::{deepbind, heap};

/// RTLD_NOLOAD: asks only for a library that is loaded already.
const NO_LOAD: c_int = 4;

/// The function that continues `dlopen` of that file with that mode.
///
/// # Safety
/// `file` is null or a C string.
pub unsafe extern "C" fn before_dlopen(file: *const c_char, mode: c_int) -> usize {
    if !file.is_null() && mode & NO_LOAD == 0 {
        heap::before_load();
    }
    // SAFETY: the caller's promise.
    unsafe { deepbind::before_dlopen(file, mode) }
}
