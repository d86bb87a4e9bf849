//! prctl and syscall, by which a program forbids itself system calls.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_int;

use underbar_runtime::seccomp;
use underbar_sys::syscall::number;

/// prctl of Linux. In C its arguments after the operation are variable; on this machine they are four registers.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn prctl(operation: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    // SAFETY: the caller's contract is that of C.
    unsafe { seccomp::prctl(operation, [a, b, c, d]) }
}

/// syscall of Linux. All but two numbers are passed on at once, with registers and stack unchanged: it is called often, and takes
/// the kernel's sixth argument from the stack.
///
/// # Safety
/// As C's.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp edi, {prctl}",
        "je {looked_at}",
        "cmp edi, {seccomp}",
        "je {looked_at}",
        "jmp qword ptr [rip + {passed}]",
        ".cfi_endproc",
        prctl = const number::PRCTL,
        seccomp = const number::SECCOMP,
        looked_at = sym seccomp::system_call,
        passed = sym seccomp::PASSED,
    )
}
