//! dlopen and dlmopen, to know of libraries that would find another heap than this one.
//!
//! The loader asks from where it was called: that library's paths are searched. So the call goes on by a jump.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_char, c_int, c_void};

use underbar_runtime::deepbind;

/// dlopen of POSIX.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn dlopen(_file: *const c_char, _mode: c_int) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {before}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        before = sym deepbind::before_dlopen,
    )
}

/// dlmopen of glibc.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn dlmopen(_namespace: isize, _file: *const c_char, _mode: c_int) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "mov esi, edx",
        "call {before}",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        before = sym deepbind::before_dlmopen,
    )
}
