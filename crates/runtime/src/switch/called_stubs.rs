//! The code that a call of a counted function of a library goes through: it counts, and jumps to the function.
//!
//! ```text
//! word of the program ──> stub n      entry = the thread's table [lowest byte of the return address], or its neighbour
//!                                     entry.key == n, return address ?  count += 1 ──> jump to the function
//!                                     else: all that may hold an argument is saved, `called::missed` ──> jump to the function
//! symbol of a function that chooses ──> chooser m ──> `called::choose` ──> the address of its stub
//! dlsym, dlopen, pthread_create ... ──> hook k ──> `called::look` ──> jump to the function
//! ```
//!
//! As for the stubs of the C library's functions (`stubs`), r10, r11 and the flags are free. But arguments of these functions may be in any
//! vector register, at its full width: so what is saved is what the processor calls its state (XSAVE), as the loader saves it.
//!
//! Invariant: everything but r10, r11 and the flags is as the caller left it when the function begins, the stack too. No frame is left:
//! returns, jumps and exceptions pass as without the stub.
//! Not here: which function has which number (`called`).

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use underbar_ledger::switches::{CALLED, ENTRIES, Entry, FIRST_CALLED, FUNCTION_SHIFT};

use super::called;

/// The functions. Written under the lock of `called` before the first word or symbol holds the stub's address, and when a library that was
/// unloaded comes again; read by stubs.
pub(super) static REAL: [AtomicUsize; CALLED] = [const { AtomicUsize::new(0) }; CALLED];
/// Functions that choose and have a stub.
pub(super) const CHOOSERS: usize = 64;
/// The functions that a hook goes on to, likewise.
pub(super) static HOOKED: [AtomicUsize; HOOKS] = [const { AtomicUsize::new(0) }; HOOKS];
/// Functions with a hook.
pub(super) const HOOKS: usize = 5;

/// Bytes of a stub of each kind.
const STUB: usize = 80;
const CHOOSER: usize = 16;
const HOOK: usize = 32;

/// Bytes of the vector registers' state with its header, and which parts of it are saved; no parts: the processor has only the old
/// instruction, and 512 bytes. Written once by [`prepare`], before the first stub is used.
static STATE_BYTES: AtomicU32 = AtomicU32::new(512);
static STATE_PARTS: AtomicU32 = AtomicU32::new(0);

const _: () = assert!(ENTRIES == 256 && size_of::<Entry>() == 32 && FUNCTION_SHIFT == 48);

global_asm!(
    ".pushsection .text.underbar_called,\"ax\",@progbits",
    ".set underbar_number, 0",
    ".p2align 6",
    ".globl underbar_called",
    ".hidden underbar_called",
    "underbar_called:",
    ".cfi_startproc",
    ".rept {called}",
    ".balign 16",
    "movq underbar_switch@GOTTPOFF(%rip), %r11",
    "movq %fs:(%r11), %r11",
    "movzbl (%rsp), %r10d",
    "shll $5, %r10d",
    "addq %r10, %r11",
    "movabsq $((underbar_number + {first} + 1) << 48), %r10",
    "orq (%rsp), %r10",
    "cmpq %r10, (%r11)",
    "je 2f",
    "xorq $32, %r11",
    "cmpq %r10, (%r11)",
    "jne underbar_called_missed",
    "2:",
    "incq 8(%r11)",
    "jmpq *({real} + underbar_number * 8)(%rip)",
    ".set underbar_number, underbar_number + 1",
    ".endr",
    ".cfi_endproc",
    ".balign 16",
    ".globl underbar_called_end",
    ".hidden underbar_called_end",
    "underbar_called_end:",
    // The address of a function that chooses: it has no argument.
    ".set underbar_number, 0",
    ".globl underbar_choosers",
    ".hidden underbar_choosers",
    "underbar_choosers:",
    ".cfi_startproc",
    ".rept {choosers}",
    ".balign 16",
    "movl $underbar_number, %edi",
    "jmp underbar_choose_original",
    ".set underbar_number, underbar_number + 1",
    ".endr",
    "underbar_choose_original:",
    "jmp {choose}",
    ".cfi_endproc",
    // The hooked functions have five arguments at most, none in a vector register.
    ".set underbar_number, 0",
    ".p2align 4",
    ".globl underbar_hooks",
    ".hidden underbar_hooks",
    "underbar_hooks:",
    ".rept {hooks}",
    ".balign 16",
    ".cfi_startproc",
    "pushq %rdi",
    ".cfi_adjust_cfa_offset 8",
    "pushq %rsi",
    ".cfi_adjust_cfa_offset 8",
    "pushq %rdx",
    ".cfi_adjust_cfa_offset 8",
    "pushq %rcx",
    ".cfi_adjust_cfa_offset 8",
    "pushq %r8",
    ".cfi_adjust_cfa_offset 8",
    "call {look}",
    "popq %r8",
    ".cfi_adjust_cfa_offset -8",
    "popq %rcx",
    ".cfi_adjust_cfa_offset -8",
    "popq %rdx",
    ".cfi_adjust_cfa_offset -8",
    "popq %rsi",
    ".cfi_adjust_cfa_offset -8",
    "popq %rdi",
    ".cfi_adjust_cfa_offset -8",
    "jmpq *({hooked} + underbar_number * 8)(%rip)",
    ".balign 16",
    ".cfi_endproc",
    ".set underbar_number, underbar_number + 1",
    ".endr",
    ".globl underbar_hooks_end",
    ".hidden underbar_hooks_end",
    "underbar_hooks_end:",
    // r10 has the key. The state is 64-byte aligned below the general registers.
    ".p2align 4",
    ".type underbar_called_missed,@function",
    "underbar_called_missed:",
    ".cfi_startproc",
    "pushq %rbp",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset %rbp, 0",
    "movq %rsp, %rbp",
    ".cfi_def_cfa_register %rbp",
    "pushq %rax",
    "pushq %rdi",
    "pushq %rsi",
    "pushq %rdx",
    "pushq %rcx",
    "pushq %r8",
    "pushq %r9",
    "pushq %r10",
    "movl {bytes}(%rip), %eax",
    "subq %rax, %rsp",
    "andq $-64, %rsp",
    "movl {parts}(%rip), %eax",
    "testl %eax, %eax",
    "jz 3f",
    "xorl %edx, %edx",
    "movq %rdx, 512(%rsp)",
    "movq %rdx, 520(%rsp)",
    "movq %rdx, 528(%rsp)",
    "movq %rdx, 536(%rsp)",
    "movq %rdx, 544(%rsp)",
    "movq %rdx, 552(%rsp)",
    "movq %rdx, 560(%rsp)",
    "movq %rdx, 568(%rsp)",
    "xsave64 (%rsp)",
    "movq %r10, %rdi",
    "leaq 8(%rbp), %rsi",
    "call {missed}",
    "movl {parts}(%rip), %eax",
    "xorl %edx, %edx",
    "xrstor64 (%rsp)",
    "jmp 4f",
    "3:",
    "fxsave64 (%rsp)",
    "movq %r10, %rdi",
    "leaq 8(%rbp), %rsi",
    "call {missed}",
    "fxrstor64 (%rsp)",
    "4:",
    "leaq -64(%rbp), %rsp",
    "popq %r10",
    "popq %r9",
    "popq %r8",
    "popq %rcx",
    "popq %rdx",
    "popq %rsi",
    "popq %rdi",
    "popq %rax",
    "popq %rbp",
    ".cfi_def_cfa %rsp, 8",
    ".cfi_restore %rbp",
    "movq %r10, %r11",
    "shrq $48, %r11",
    "leaq ({real} - ({first} + 1) * 8)(%rip), %r10",
    "jmpq *(%r10,%r11,8)",
    ".cfi_endproc",
    ".size underbar_called_missed, .-underbar_called_missed",
    ".popsection",
    real = sym REAL,
    hooked = sym HOOKED,
    called = const CALLED,
    first = const FIRST_CALLED,
    choosers = const CHOOSERS,
    hooks = const HOOKS,
    bytes = sym STATE_BYTES,
    parts = sym STATE_PARTS,
    missed = sym called::missed,
    choose = sym called::choose,
    look = sym called::look,
    options(att_syntax)
);

#[unsafe(naked)]
extern "C" fn stubs() -> usize {
    core::arch::naked_asm!("lea rax, [rip + underbar_called]", "ret")
}
#[unsafe(naked)]
extern "C" fn choosers() -> usize {
    core::arch::naked_asm!("lea rax, [rip + underbar_choosers]", "ret")
}
#[unsafe(naked)]
extern "C" fn hooks() -> usize {
    core::arch::naked_asm!("lea rax, [rip + underbar_hooks]", "ret")
}

/// The stub of a number.
pub(super) fn stub(number: usize) -> usize {
    stubs() + number * STUB
}

/// The number of the stub at this address.
pub(super) fn number_of(address: usize) -> Option<usize> {
    let number = address.checked_sub(stubs())? / STUB;
    (number < CALLED && stub(number) == address).then_some(number)
}

/// The function of the place that chooses a stub.
pub(super) fn chooser(place: usize) -> usize {
    choosers() + place * CHOOSER
}

/// Whether a chooser of these is at the address.
pub(super) fn is_chooser(address: usize) -> bool {
    (choosers()..choosers() + CHOOSERS * CHOOSER).contains(&address)
}

/// The hook of a place.
pub(super) fn hook(place: usize) -> usize {
    hooks() + place * HOOK
}

/// Learns what vector registers this processor has.
pub(super) fn prepare() {
    /// The vector registers of all widths, and the masks; not the tiles, which hold no arguments.
    const VECTORS: u32 = 0b1110_0110;
    const IN_USE: u32 = 1 << 27;
    let leaf = |number, part| core::arch::x86_64::__cpuid_count(number, part);
    if leaf(0, 0).eax < 13 || leaf(1, 0).ecx & IN_USE == 0 {
        return;
    }
    let enabled: u32;
    // SAFETY: the system uses this instruction, as the bit above says.
    unsafe { asm!("xgetbv", in("ecx") 0, out("eax") enabled, out("edx") _, options(nomem, nostack)) };
    let parts = enabled & VECTORS;
    let ends = (2..8).filter(|part| parts >> part & 1 != 0).map(|part| {
        let of_part = leaf(13, part);
        of_part.ebx.saturating_add(of_part.eax)
    });
    STATE_BYTES.store(ends.fold(576, u32::max), Ordering::Relaxed);
    STATE_PARTS.store(parts, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::stubs::tests::number_in;

    #[unsafe(naked)]
    extern "C" fn stubs_end() -> usize {
        core::arch::naked_asm!("lea rax, [rip + underbar_called_end]", "ret")
    }
    #[unsafe(naked)]
    extern "C" fn hooks_end() -> usize {
        core::arch::naked_asm!("lea rax, [rip + underbar_hooks_end]", "ret")
    }

    #[test]
    fn stubs_are_where_multiplication_finds_them() {
        for number in 0..CALLED {
            assert_eq!(number_in(stub(number), STUB), (FIRST_CALLED + number) as u64 + 1, "{number}");
            assert_eq!(number_of(stub(number)), Some(number));
        }
        assert_eq!((stubs_end() - stubs(), hooks_end() - hooks()), (CALLED * STUB, HOOKS * HOOK));
        assert_eq!((number_of(stub(0) + 1), number_of(stubs_end()), number_of(0)), (None, None, None));
        // SAFETY: as above: `mov edi, place`.
        let place = |place| unsafe { ((chooser(place) + 1) as *const u32).read_unaligned() };
        assert_eq!([place(0), place(CHOOSERS - 1)], [0, CHOOSERS as u32 - 1]);
    }

    #[test]
    fn the_state_has_room_for_all_vector_registers() {
        prepare();
        let (bytes, parts) = (STATE_BYTES.load(Ordering::Relaxed), STATE_PARTS.load(Ordering::Relaxed));
        assert!(bytes >= if parts & 4 != 0 { 832 } else { 512 } && bytes < 4096, "{bytes} {parts:b}");
    }
}
