//! The code that a call goes through: it counts, and jumps to the function.
//!
//! ```text
//! word of the program ──> stub of function n
//!                           entry = the thread's table [lowest byte of the return address], or its neighbour
//!                           key   = n + 1, return address
//!                           entry.key == key ?  count += 1, bytes += third argument ──> jump to the function
//!                           neither, or it is time for a sample: `missed` saves all registers, calls `sites::missed` ──> jump to the function
//! ```
//!
//! At a call by name only r10, r11 and the flags are free: rax has the number of vector registers of a function like `printf`. So a stub
//! uses these two, and parses no arguments. All stubs of a kind have the same size, and are found by multiplication: a table of their
//! addresses would have to be relocated in each process.
//!
//! One call in 997 of a module that hides its callers goes the slow way too, which looks for the caller (`owners`).
//!
//! A thread without a table has the address of an empty one, in which no key matches.
//!
//! Invariant: everything but r10, r11 and the flags is as the caller left it when the function begins.
//! Not here: which function has which number (`underbar_ledger::switch_names`).

use core::arch::global_asm;
use core::sync::atomic::AtomicUsize;

use underbar_ledger::switch_names::{COUNTED, FUNCTIONS, NAMED, NOTED};
use underbar_ledger::switches::{ENTRIES, Entry, FUNCTION_SHIFT};

use super::{sites, streams};

/// The functions. Written before the first word holds a stub's address; read by stubs.
pub(super) static REAL: [AtomicUsize; FUNCTIONS] = [const { AtomicUsize::new(0) }; FUNCTIONS];

/// Bytes of a stub of each kind.
const COUNTING: usize = 80;
const NOTING: usize = 128;
const PASSING: usize = 32;
const STREAMING: usize = 64;
/// The C library's own entries that have a stub.
pub(super) const STREAMS: usize = 5;

const _: () = assert!(ENTRIES == 256 && size_of::<Entry>() == 32 && FUNCTION_SHIFT == 48);

global_asm!(
    ".pushsection .text.underbar_switch,\"ax\",@progbits",
    ".set underbar_number, 0",
    ".p2align 6",
    ".globl underbar_switch_counted",
    ".hidden underbar_switch_counted",
    "underbar_switch_counted:",
    ".cfi_startproc",
    ".rept {counted}",
    ".balign 16",
    "movq underbar_switch@GOTTPOFF(%rip), %r11",
    "movq %fs:(%r11), %r11",
    "movzbl (%rsp), %r10d",
    "shll $5, %r10d",
    "addq %r10, %r11",
    "movabsq $((underbar_number + 1) << 48), %r10",
    "orq (%rsp), %r10",
    "cmpq %r10, (%r11)",
    "je 2f",
    "xorq $32, %r11",
    "cmpq %r10, (%r11)",
    "jne underbar_switch_missed",
    "2:",
    "decl 28(%r11)",
    "js underbar_switch_missed",
    "incq 8(%r11)",
    "addq %rdx, 16(%r11)",
    "jmpq *({real} + underbar_number * 8)(%rip)",
    ".set underbar_number, underbar_number + 1",
    ".endr",
    ".cfi_endproc",
    ".balign 16",
    ".globl underbar_switch_counted_end",
    ".hidden underbar_switch_counted_end",
    "underbar_switch_counted_end:",
    ".p2align 7",
    ".globl underbar_switch_noted",
    ".hidden underbar_switch_noted",
    "underbar_switch_noted:",
    ".cfi_startproc",
    ".rept {noted}",
    ".p2align 7",
    "movq underbar_switch@GOTTPOFF(%rip), %r11",
    "movq (%rsp), %r10",
    "movq %r10, %fs:8(%r11)",
    "movq %rsp, %fs:16(%r11)",
    "movq %fs:(%r11), %r11",
    "movzbl (%rsp), %r10d",
    "shll $5, %r10d",
    "addq %r10, %r11",
    "movabsq $((underbar_number + 1) << 48), %r10",
    "orq (%rsp), %r10",
    "cmpq %r10, (%r11)",
    "je 2f",
    "xorq $32, %r11",
    "cmpq %r10, (%r11)",
    "jne underbar_switch_missed",
    "2:",
    "incq 8(%r11)",
    "jmpq *({real} + underbar_number * 8)(%rip)",
    ".set underbar_number, underbar_number + 1",
    ".endr",
    ".cfi_endproc",
    ".p2align 5",
    ".globl underbar_switch_passed",
    ".hidden underbar_switch_passed",
    "underbar_switch_passed:",
    ".cfi_startproc",
    ".rept {passed}",
    ".p2align 5",
    "movq underbar_switch@GOTTPOFF(%rip), %r11",
    "movq (%rsp), %r10",
    "movq %r10, %fs:8(%r11)",
    "movq %rsp, %fs:16(%r11)",
    "jmpq *({real} + underbar_number * 8)(%rip)",
    ".set underbar_number, underbar_number + 1",
    ".endr",
    ".cfi_endproc",
    ".globl underbar_switch_passed_end",
    ".hidden underbar_switch_passed_end",
    "underbar_switch_passed_end:",
    // The C library's own entries have three arguments at most. The third one is the number of bytes.
    ".p2align 6",
    ".globl underbar_switch_streams",
    ".hidden underbar_switch_streams",
    "underbar_switch_streams:",
    ".rept {streams}",
    ".p2align 6",
    ".cfi_startproc",
    "pushq %rdi",
    ".cfi_adjust_cfa_offset 8",
    "pushq %rsi",
    ".cfi_adjust_cfa_offset 8",
    "pushq %rdx",
    ".cfi_adjust_cfa_offset 8",
    "movq %rdi, %rsi",
    "movl $(underbar_number - {named}), %edi",
    "leaq 24(%rsp), %rcx",
    "call {entered}",
    "popq %rdx",
    ".cfi_adjust_cfa_offset -8",
    "popq %rsi",
    ".cfi_adjust_cfa_offset -8",
    "popq %rdi",
    ".cfi_adjust_cfa_offset -8",
    "jmpq *({real} + underbar_number * 8)(%rip)",
    ".cfi_endproc",
    ".set underbar_number, underbar_number + 1",
    ".endr",
    // r10 has the key. All that may have an argument is kept: seven registers, and eight for vectors.
    ".p2align 4",
    ".type underbar_switch_missed,@function",
    "underbar_switch_missed:",
    ".cfi_startproc",
    "pushq %rax",
    "pushq %rdi",
    "pushq %rsi",
    "pushq %rdx",
    "pushq %rcx",
    "pushq %r8",
    "pushq %r9",
    "pushq %r10",
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
    "movq %rdx, %rsi",
    "movq %rdi, %rdx",
    "movq %r10, %rdi",
    "leaq 200(%rsp), %rcx",
    "call {missed}",
    "movups (%rsp), %xmm0",
    "movups 16(%rsp), %xmm1",
    "movups 32(%rsp), %xmm2",
    "movups 48(%rsp), %xmm3",
    "movups 64(%rsp), %xmm4",
    "movups 80(%rsp), %xmm5",
    "movups 96(%rsp), %xmm6",
    "movups 112(%rsp), %xmm7",
    "addq $136, %rsp",
    "popq %r10",
    "popq %r9",
    "popq %r8",
    "popq %rcx",
    "popq %rdx",
    "popq %rsi",
    "popq %rdi",
    "popq %rax",
    ".cfi_adjust_cfa_offset -200",
    "movq %r10, %r11",
    "shrq $48, %r11",
    "leaq ({real} - 8)(%rip), %r10",
    "jmpq *(%r10,%r11,8)",
    ".cfi_endproc",
    ".popsection",
    real = sym REAL,
    counted = const COUNTED,
    noted = const NOTED - COUNTED,
    passed = const NAMED - NOTED,
    streams = const STREAMS,
    named = const NAMED,
    missed = sym sites::missed,
    entered = sym streams::entered,
    options(att_syntax)
);

/// The addresses of the first stubs of each kind.
#[unsafe(naked)]
extern "C" fn counted() -> usize {
    core::arch::naked_asm!("lea rax, [rip + underbar_switch_counted]", "ret")
}
#[unsafe(naked)]
extern "C" fn noted() -> usize {
    core::arch::naked_asm!("lea rax, [rip + underbar_switch_noted]", "ret")
}
#[unsafe(naked)]
extern "C" fn passed() -> usize {
    core::arch::naked_asm!("lea rax, [rip + underbar_switch_passed]", "ret")
}
#[unsafe(naked)]
extern "C" fn streams_begin() -> usize {
    core::arch::naked_asm!("lea rax, [rip + underbar_switch_streams]", "ret")
}

/// The stub of a function that has a name for the loader.
pub(super) fn address(number: usize) -> usize {
    if number < COUNTED {
        counted() + number * COUNTING
    } else if number < NOTED {
        noted() + (number - COUNTED) * NOTING
    } else {
        passed() + (number - NOTED) * PASSING
    }
}

/// The stub of the C library's own entry at that place.
pub(super) fn of_stream(place: usize) -> usize {
    streams_begin() + place * STREAMING
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[unsafe(naked)]
    extern "C" fn counted_end() -> usize {
        core::arch::naked_asm!("lea rax, [rip + underbar_switch_counted_end]", "ret")
    }
    #[unsafe(naked)]
    extern "C" fn passed_end() -> usize {
        core::arch::naked_asm!("lea rax, [rip + underbar_switch_passed_end]", "ret")
    }

    /// The number in the key that a counting stub of so many bytes makes, from its code: `movabs r10, key`.
    pub(in crate::switch) fn number_in(stub: usize, bytes: usize) -> u64 {
        // SAFETY: the code of this program is readable.
        let code = unsafe { core::slice::from_raw_parts(stub as *const u8, bytes) };
        let at = code.windows(2).position(|two| two == [0x49, 0xba]).expect("movabs");
        u64::from_le_bytes(code[at + 2..at + 10].try_into().expect("eight bytes")) >> FUNCTION_SHIFT
    }

    #[test]
    fn stubs_are_where_multiplication_finds_them() {
        for number in 0..NOTED {
            assert_eq!(number_in(address(number), NOTING), number as u64 + 1, "{number}");
        }
        assert_eq!(counted_end() - counted(), COUNTED * COUNTING);
        assert!(passed_end() > address(NAMED - 1) && passed_end() <= address(NAMED - 1) + PASSING);
        assert_eq!((address(NAMED - 1) - passed()) % PASSING, 0);
    }
}
