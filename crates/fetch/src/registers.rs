//! The registers that a processor keeps over calls: saved where a frame is entered, and set again where it is left.
//!
//! Invariant: [`back`] returns from the [`enter`] or [`enter_on`] that saved the registers, once, while that has not returned.
//! Not here: the frames ([`crate::frame`]).

use core::ffi::c_void;

/// The place of the stack pointer in [`Registers`].
const RSP: usize = 6;

/// The state that a processor keeps over calls: rbx, rbp, r12 to r15, rsp, and two control words.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Registers([u64; 8]);

impl Registers {
    /// Not saved.
    pub(crate) const NONE: Registers = Registers([0; 8]);

    /// The stack pointer.
    pub(crate) fn stack_pointer(&self) -> usize {
        self.0[RSP] as usize
    }
}

/// Saves the registers, and calls `function(argument)`.
///
/// # Safety
/// The function takes one pointer, and may use this one. The registers stay until it has returned, or was left by [`back`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter(registers: *mut Registers, function: usize, argument: *mut c_void) {
    core::arch::naked_asm!(
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "mov [rdi + 48], rsp",
        "stmxcsr [rdi + 56]",
        "fnstcw [rdi + 60]",
        "sub rsp, 8",
        "mov rdi, rdx",
        "call rsi",
        "add rsp, 8",
        "ret",
    )
}

/// As [`enter`], and changes to the stack that ends at `top`. Debuggers and unwinders find this stack again by rbp.
///
/// # Safety
/// As [`enter`]; nobody else uses that stack.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter_on(
    registers: *mut Registers,
    function: usize,
    argument: *mut c_void,
    top: usize,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "mov [rdi + 48], rsp",
        "stmxcsr [rdi + 56]",
        "fnstcw [rdi + 60]",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rcx",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// Returns from the [`enter`] or [`enter_on`] that saved these registers.
///
/// # Safety
/// That call has not returned, and runs in this thread.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn back(registers: *const Registers) -> ! {
    core::arch::naked_asm!(
        "mov rbx, [rdi]",
        "mov rbp, [rdi + 8]",
        "mov r12, [rdi + 16]",
        "mov r13, [rdi + 24]",
        "mov r14, [rdi + 32]",
        "mov r15, [rdi + 40]",
        "mov rsp, [rdi + 48]",
        "ldmxcsr [rdi + 56]",
        "fldcw [rdi + 60]",
        "cld",
        "ret",
    )
}
