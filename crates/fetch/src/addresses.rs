//! What a program of ours is told that asks which file and symbol an address belongs to, or which address a symbol has.
//!
//! The C library answers both by its own list of programs, and does not know ours. So `dladdr` of an address in one of them
//! is answered here; and `RTLD_NEXT`, "behind me", means for them what it means for a program that `dlopen` opened apart:
//! the programs that all see.
//!
//! Invariant: what lies in none of our programs is the C library's to answer.
//! Not here: symbols by name in a program of ours (`table`).

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null;

use crate::image::Image;
use crate::system::{self, AddressInfo, RTLD_DEFAULT, RTLD_NEXT};

/// `dladdr` for our programs.
///
/// # Safety
/// As the C library's: `info` can be written; an address in a program of ours is asked for while that is in use.
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
