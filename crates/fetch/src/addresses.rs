//! Answers a loaded program's questions for the file and symbol of an address, and for the address of a symbol.
//!
//! The C library answers both from its own list of programs, which does not contain ours. This module therefore answers
//! `dladdr` for an address in one of our programs. `RTLD_NEXT` ("after me") means for them what it means for a program that
//! `dlopen` opened with local scope: the programs of the global scope.
//!
//! Invariant: addresses outside our programs are left to the C library.
//! Not here: symbols by name in a program of ours (`table`).

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null;

use crate::image::Image;
use crate::system::{self, AddressInfo, RTLD_DEFAULT, RTLD_NEXT};

/// `dladdr` for our programs.
///
/// # Safety
/// As the C library's: `info` can be written; an address in one of our programs is asked for while that program is in use.
pub unsafe extern "C" fn of_address(address: *const c_void, info: *mut AddressInfo) -> c_int {
    let Some(image) = Image::of_address(address as usize) else {
        // SAFETY: the caller's promise.
        return unsafe { system::dladdr(address, info) };
    };
    // SAFETY: in use, by the caller's promise.
    let image = unsafe { image.as_ref() };
    let (name, start) = image.symbol_at(address as usize).unwrap_or((null(), 0));
    let (file, base) = image.seen_as();
    let (base, address) = (base as *const c_void, start as *const c_void);
    // SAFETY: the caller's promise.
    unsafe { info.write(AddressInfo { file, base, name, address }) };
    1
}

/// `dlsym` for our programs.
///
/// # Safety
/// As the C library's.
pub unsafe extern "C" fn of_name(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { system::dlsym(if handle == RTLD_NEXT { RTLD_DEFAULT } else { handle }, name) }
}
