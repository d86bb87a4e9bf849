//! pthread_create, to measure threads' stacks, and to make them as THREADSTACK requires; joins and pthread_detach, to learn when a
//! stack may be reused.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_int, c_void};

use underbar_runtime::stack::{self, Attributes, joined};

/// pthread_create of POSIX.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const Attributes,
    start: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller's contract is that of POSIX.
    unsafe { stack::create(thread, attributes, start, argument) }
}

/// Defines a C function of up to four arguments, the first of which is a thread: it calls the next library's, and tells the runtime
/// its result. The thread may be cancelled in that call: the unwinder passes through.
macro_rules! joins {
    ($($(#[doc = $text:literal])* $name:ident => $after:path;)*) => { $(
        $(#[doc = $text])*
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name(_: usize, _: usize, _: usize, _: usize) -> c_int {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "push rcx",
                ".cfi_adjust_cfa_offset 8",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {next}",
                "mov rcx, qword ptr [rsp + 8]",
                "mov rdx, qword ptr [rsp + 16]",
                "mov rsi, qword ptr [rsp + 24]",
                "mov rdi, qword ptr [rsp + 32]",
                "call rax",
                "mov esi, eax",
                "mov rdi, qword ptr [rsp + 32]",
                "add rsp, 40",
                ".cfi_adjust_cfa_offset -40",
                "jmp {after}",
                ".cfi_endproc",
                next = sym joined::$name,
                after = sym $after,
            )
        }
    )* };
}

joins! {
    /// pthread_join of POSIX.
    pthread_join => joined::after_join;
    /// pthread_tryjoin_np of glibc.
    pthread_tryjoin_np => joined::after_join;
    /// pthread_timedjoin_np of glibc.
    pthread_timedjoin_np => joined::after_join;
    /// pthread_clockjoin_np of glibc.
    pthread_clockjoin_np => joined::after_join;
    /// pthread_detach of POSIX.
    pthread_detach => joined::after_detach;
}
