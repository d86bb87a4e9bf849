//! Functions of underbar's library in this program, as the loader finds them.
//!
//! Not here: which functions there are (`ecb`, `heaps`).

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

/// The function of that name; None in a program that does not run under underbar.
///
/// # Safety
/// `F` is the type of a pointer to it.
pub unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: a null handle means all libraries of the program, in the loader's order.
    let address = unsafe { dlsym(null_mut(), name.as_ptr()) };
    // SAFETY: the address of a function of that name, whose type is the caller's promise.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}
