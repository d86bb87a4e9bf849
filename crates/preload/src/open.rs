//! dlopen and dlmopen, to know of libraries that would find another heap than this one.
//!
//! The loader asks from where it was called: that library's paths are searched. So the call goes on by a jump.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_char, c_int, c_void};

use underbar_runtime::{deepbind, keep_three_arguments, restore_three_arguments};

/// Defines a C function that asks the runtime where to go on: what the runtime is to know as its arguments, and its function.
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
    dlopen(*const c_char, c_int) "" => deepbind::before_dlopen;
    /// dlmopen of glibc: its namespace and mode.
    dlmopen(isize, *const c_char, c_int) "mov esi, edx" => deepbind::before_dlmopen;
}
