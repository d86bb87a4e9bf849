//! The constructor, which runs before the program's `main`.
//!
//! Invariant: small, quiet, without allocation.

use core::ffi::{c_char, c_int};

#[cfg_attr(feature = "artifact", used, unsafe(link_section = ".init_array"))]
#[cfg_attr(not(feature = "artifact"), expect(dead_code, reason = "only the shared object has a constructor"))]
static AT_START: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = at_start;

/// The loader of the GNU C library passes constructors the arguments of `main`.
unsafe extern "C" fn at_start(_: c_int, arguments: *const *const c_char, environment: *const *const c_char) {
    #[cfg(feature = "linked")]
    if !crate::linked::serves() {
        return;
    }
    // SAFETY: the loader passes arguments and environment; no other thread runs yet.
    unsafe {
        underbar_runtime::start::constructor(arguments, environment);
    }
}

#[cfg_attr(feature = "artifact", used, unsafe(link_section = ".fini_array"))]
#[cfg_attr(not(feature = "artifact"), expect(dead_code, reason = "only the shared object has a destructor"))]
static AT_END: extern "C" fn() = at_end;

extern "C" fn at_end() {
    #[cfg(feature = "linked")]
    if !crate::linked::serves() {
        return;
    }
    underbar_runtime::start::destructor();
}
