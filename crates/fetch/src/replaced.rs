//! The functions that we replace for programs that we loaded.
//!
//! Invariant: a program of the system's loader never gets these.
//! Not here: the functions of the preload library that get storage (`enclave`), which are asked for as well.

use crate::image::{self, Replaced};
use crate::{addresses, departure, exit, program_headers, threads};

/// Their number.
const COUNT: usize = 14;

/// Names and functions.
#[must_use]
pub fn table() -> [Replaced; COUNT] {
    let row = |name: &'static [u8], address: *const ()| Replaced { name, address: address as usize };
    [
        row(b"__tls_get_addr", threads::thread_address as *const ()),
        row(b"__cxa_atexit", image::leave_for_exit as *const ()),
        row(b"__cxa_thread_atexit", image::leave_for_thread as *const ()),
        row(b"__cxa_thread_atexit_impl", image::leave_for_thread as *const ()),
        row(b"exit", exit::exit as *const ()),
        row(b"_exit", exit::exit_now as *const ()),
        row(b"_Exit", exit::exit_now as *const ()),
        row(b"longjmp", departure::jump as *const ()),
        row(b"_longjmp", departure::jump as *const ()),
        row(b"siglongjmp", departure::jump as *const ()),
        row(b"__longjmp_chk", departure::jump_checked as *const ()),
        row(b"dl_iterate_phdr", program_headers::iterate as *const ()),
        row(b"dladdr", addresses::of_address as *const ()),
        row(b"dlsym", addresses::of_name as *const ()),
    ]
}
