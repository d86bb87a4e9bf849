//! dlopen and dlmopen, to detect libraries that would find a heap other than this one.
//!
//! The loader uses the caller's address: it searches that library's paths. So the call continues by a jump.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_char, c_int, c_void};

use underbar_runtime::{deepbind, keep_three_arguments, opening, restore_three_arguments};

/// Defines a C function that asks the runtime for the function to continue with; gives the runtime's arguments and its function.
macro_rules! opens {
    ($($(#[doc = $text:literal])* $name:ident($($type:ty),*) $arguments:literal => $function:path;)*) => { $(
        $(#[doc = $text])*
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name($(_: $type),*) -> *mut c_void {
            core::arch::naked_asm!(
                ".cfi_startproc",
                keep_three_arguments!(),
                $arguments,
                "call {before}",
                restore_three_arguments!(),
                "jmp rax",
                ".cfi_endproc",
                before = sym $function,
            )
        }
    )* };
}

opens! {
    /// dlopen of POSIX.
    dlopen(*const c_char, c_int) "" => opening::before_dlopen;
    /// dlmopen of glibc: its namespace and mode.
    dlmopen(isize, *const c_char, c_int) "mov esi, edx" => deepbind::before_dlmopen;
}
