//! The code that a call of these functions goes through: it empties caches if there are any, and jumps on.
//!
//! ```text
//! word of the program ──> stub of function n ── no file is cached ──────────────────> jump to the function
//!                                            └─ saves all registers, `before` ──────> jump to the function
//! ```
//!
//! Invariant: everything but r10, r11 and the flags is as the caller left it when the function begins; there is no frame, so that the
//! function may return twice, or never.
//! Not here: which function has which number (`names`).

use core::arch::global_asm;
use core::sync::atomic::AtomicUsize;

use super::before;
use super::entries::ACTIVE;
use super::names::FUNCTIONS;

/// The functions. Written before the first word holds a stub's address; read by stubs.
pub(super) static REAL: [AtomicUsize; FUNCTIONS] = [const { AtomicUsize::new(0) }; FUNCTIONS];

/// Bytes of a stub.
const STUB: usize = 32;

global_asm!(
    ".pushsection .text.underbar_cached,\"ax\",@progbits",
    ".set underbar_cached_number, 0",
    ".p2align 6",
    ".globl underbar_cached",
    ".hidden underbar_cached",
    "underbar_cached:",
    ".cfi_startproc",
    ".rept {functions}",
    ".p2align 5",
    "movl $underbar_cached_number, %r10d",
    "cmpl $0, {active}(%rip)",
    "jne underbar_cached_slowly",
    "jmpq *({real} + underbar_cached_number * 8)(%rip)",
    ".set underbar_cached_number, underbar_cached_number + 1",
    ".endr",
    ".cfi_endproc",
    ".p2align 4",
    ".type underbar_cached_slowly,@function",
    "underbar_cached_slowly:",
    ".cfi_startproc",
    "pushq %rax",
    "pushq %r10",
    "pushq %r9",
    "pushq %r8",
    "pushq %rcx",
    "pushq %rdx",
    "pushq %rsi",
    "pushq %rdi",
    "subq $136, %rsp",
    ".cfi_adjust_cfa_offset 200",
    "movups %xmm0, (%rsp)",
    "movups %xmm1, 16(%rsp)",
    "movups %xmm2, 32(%rsp)",
    "movups %xmm3, 48(%rsp)",
    "movups %xmm4, 64(%rsp)",
    "movups %xmm5, 80(%rsp)",
    "movups %xmm6, 96(%rsp)",
    "movups %xmm7, 112(%rsp)",
    "movq %r10, %rdi",
    "leaq 136(%rsp), %rsi",
    "call {before}",
    "movups (%rsp), %xmm0",
    "movups 16(%rsp), %xmm1",
    "movups 32(%rsp), %xmm2",
    "movups 48(%rsp), %xmm3",
    "movups 64(%rsp), %xmm4",
    "movups 80(%rsp), %xmm5",
    "movups 96(%rsp), %xmm6",
    "movups 112(%rsp), %xmm7",
    "addq $136, %rsp",
    "popq %rdi",
    "popq %rsi",
    "popq %rdx",
    "popq %rcx",
    "popq %r8",
    "popq %r9",
    "popq %r10",
    "popq %rax",
    ".cfi_adjust_cfa_offset -200",
    "leaq {real}(%rip), %r11",
    "jmpq *(%r11,%r10,8)",
    ".cfi_endproc",
    ".popsection",
    functions = const FUNCTIONS,
    active = sym ACTIVE,
    real = sym REAL,
    before = sym before::before,
    options(att_syntax)
);

#[unsafe(naked)]
extern "C" fn first() -> usize {
    core::arch::naked_asm!("lea rax, [rip + underbar_cached]", "ret")
}

/// The stub of a function.
pub(super) fn address(number: usize) -> usize {
    first() + number * STUB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_are_where_multiplication_finds_them() {
        for number in 0..FUNCTIONS {
            // SAFETY: the code of this program is readable.
            let code = unsafe { core::slice::from_raw_parts(address(number) as *const u8, 6) };
            assert_eq!(code[..2], [0x41, 0xba], "mov r10d");
            assert_eq!(code[2..6], (number as u32).to_le_bytes());
        }
    }
}
