//! Thread descriptors (TLSDESC): the second way in which code accesses its thread storage.
//!
//! ```text
//! code: lea rax, descriptor; call [rax] ──> resolve: rax = address in this thread - fs:0, every other register kept
//!                                              descriptor = { resolve, Index }
//! ```
//!
//! The caller expects all registers except rax and the flags to be unchanged, including vector registers; and
//! [`thread_address`] may copy memory. So everything is saved with xsave, which costs some 100 ns. Compilers write
//! descriptors only if told to (`-mtls-dialect=gnu2`).
//!
//! Invariant: only rax and the flags are changed.

use core::arch::x86_64::{__cpuid, __cpuid_count};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::threads::{Index, thread_address};

/// Bytes that the processor saves, of the state that the kernel has enabled. Written before the first descriptor exists.
static AREA: AtomicUsize = AtomicUsize::new(0);

/// The value of a descriptor's first word; none if the processor cannot save its state in this way.
#[must_use]
pub fn resolver() -> Option<usize> {
    const KERNEL_USES_XSAVE: u32 = 1 << 27;
    if AREA.load(Ordering::Relaxed) == 0 {
        if __cpuid(1).ecx & KERNEL_USES_XSAVE == 0 {
            return None;
        }
        AREA.store(__cpuid_count(0xd, 0).ebx as usize, Ordering::Relaxed);
    }
    Some(resolve as *const () as usize)
}

/// The address in this thread, as a distance from the thread pointer.
unsafe extern "C" fn distance(index: *const Index) -> usize {
    let pointer: usize;
    // SAFETY: on x86-64 the word at fs:0 is its own address.
    unsafe {
        core::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly, pure));
    }
    // SAFETY: an index that relocation wrote into a descriptor.
    (unsafe { thread_address(index) } as usize).wrapping_sub(pointer)
}

/// `rax` points to the descriptor.
#[unsafe(naked)]
unsafe extern "C" fn resolve() {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rbx",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "push rax",
        // Room for the saved state, of the size that the kernel has enabled; aligned to 64 bytes.
        "sub rsp, [rip + {area}]",
        "and rsp, -64",
        // The header of the saved state must be zeros.
        "xor eax, eax",
        "mov [rsp + 512], rax",
        "mov [rsp + 520], rax",
        "mov [rsp + 528], rax",
        "mov [rsp + 536], rax",
        "mov [rsp + 544], rax",
        "mov [rsp + 552], rax",
        "mov [rsp + 560], rax",
        "mov [rsp + 568], rax",
        // x87, SSE, AVX, AVX-512.
        "mov eax, 0xe7",
        "xor edx, edx",
        "xsave64 [rsp]",
        "mov rdi, [rbp - 80]",
        "mov rdi, [rdi + 8]",
        "call {distance}",
        "mov rbx, rax",
        "mov eax, 0xe7",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "mov rax, rbx",
        "lea rsp, [rbp - 72]",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rbx",
        "pop rbp",
        "ret",
        distance = sym distance,
        area = sym AREA,
    )
}
