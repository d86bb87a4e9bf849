//! The functions that end a program that we loaded: to the innermost LINK of its thread, or with the process.
//!
//! Not here: the places to which an exit returns ([`crate::frame`]).

use core::ffi::c_int;

use crate::frame;
use crate::system;

/// `exit` for our programs. With the caller's stack pointer, [`frame`] knows which LINKs it has passed.
///
/// # Safety
/// As the C library's.
#[unsafe(naked)]
pub unsafe extern "C" fn exit(status: c_int) -> ! {
    core::arch::naked_asm!("lea rsi, [rsp + 8]", "jmp {}", sym exit_from)
}

/// `_exit` for our programs.
///
/// # Safety
/// As the C library's.
#[unsafe(naked)]
pub unsafe extern "C" fn exit_now(status: c_int) -> ! {
    core::arch::naked_asm!("lea rsi, [rsp + 8]", "jmp {}", sym exit_now_from)
}

unsafe extern "C" fn exit_from(status: c_int, pointer: usize) -> ! {
    // SAFETY: the caller's promise.
    unsafe { frame::exit(status, pointer, system::exit) }
}

unsafe extern "C" fn exit_now_from(status: c_int, pointer: usize) -> ! {
    // SAFETY: the caller's promise.
    unsafe { frame::exit(status, pointer, system::_exit) }
}
