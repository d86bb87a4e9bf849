//! Filling stacks: the third sub-option of STORAGE.
//!
//! ```text
//!        | frame of main    |
//! enter  | frame of f       |   the lowest stack pointer seen is remembered: the low-water mark
//! enter  | frame of g       |
//! exit   | ...              |   from the stack pointer down to the mark is filled; the mark is the pointer then
//!        +------------------+
//! ```
//!
//! CLEAR clears what the loader left below the first thread's stack pointer, once, before `main`: cheap. A byte
//! fills what each call leaves behind, so that the next call finds it in its frame: that is dear, and it works
//! only for programs compiled with `-finstrument-functions`, since nothing else tells where frames begin and end.
//!
//! Invariant: only bytes below the stack pointer and its red zone are written; nothing live is touched.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, Ordering};

use underbar_sys::syscall;

use super::{MAIN_BASE, PAGE, lowest_resident};

/// Below the stack pointer: the red zone, and what this file's functions themselves use.
const MARGIN: usize = 512;
/// 256 + the byte that frames are filled with; 0: they are not.
static BYTE: AtomicU32 = AtomicU32::new(0);
/// Whether the first thread's unused stack is to be cleared before `main`.
static CLEAR: AtomicU32 = AtomicU32::new(0);

// The thread's low-water mark: a second word like that of `heap::slot`.
global_asm!(
    ".section .tdata.underbar_low_water,\"awT\",@progbits",
    ".p2align 3",
    ".hidden underbar_low_water",
    ".globl underbar_low_water",
    ".type underbar_low_water,@object",
    ".size underbar_low_water,8",
    "underbar_low_water:",
    ".quad -1",
    ".text",
);

fn low_water() -> usize {
    let mark: usize;
    // SAFETY: reads the thread's word.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_low_water@GOTTPOFF]",
            "mov {mark}, qword ptr fs:[{offset}]",
            offset = out(reg) _,
            mark = lateout(reg) mark,
            options(readonly, nostack, preserves_flags)
        );
    }
    mark
}

fn set_low_water(mark: usize) {
    // SAFETY: writes the thread's word.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_low_water@GOTTPOFF]",
            "mov qword ptr fs:[{offset}], {mark}",
            offset = out(reg) _,
            mark = in(reg) mark,
            options(nostack, preserves_flags)
        );
    }
}

#[inline(always)]
fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Sets what STORAGE says of stacks.
pub fn configure(clear: bool, byte: Option<u8>) {
    CLEAR.store(u32::from(clear), Ordering::Relaxed);
    BYTE.store(byte.map_or(0, |byte| 256 + u32::from(byte)), Ordering::Relaxed);
}

/// Before `main`, in the first thread: clears the stack that is not in use, if that is asked for. Pages that were
/// never touched are zero already, and stay untouched.
pub fn before_main() {
    if CLEAR.load(Ordering::Relaxed) != 0
        && let Some(lowest) = lowest_resident(MAIN_BASE.load(Ordering::Relaxed))
    {
        write(lowest, stack_pointer() - MARGIN, 0);
    }
}

/// An instrumented function was entered.
#[inline]
pub fn entered() {
    if BYTE.load(Ordering::Relaxed) != 0 {
        let pointer = stack_pointer();
        if pointer < low_water() {
            set_low_water(pointer);
        }
    }
}

/// An instrumented function is about to return: what its callees left is filled.
#[inline]
pub fn left() {
    let byte = BYTE.load(Ordering::Relaxed);
    if byte != 0 {
        let top = stack_pointer() - MARGIN;
        let mark = low_water();
        if mark < top {
            write(mark, top, byte as u8);
            set_low_water(top);
        }
    }
}

fn write(from: usize, to: usize, byte: u8) {
    // A mark of another stack (the program switched stacks) lies far away, or in what is not mapped.
    const DEEPEST: usize = 64 << 20;
    if from >= to || to - from > DEEPEST || syscall::mincore(from & !(PAGE - 1), &mut [0]).is_err() {
        return;
    }
    // SAFETY: below the stack pointer by more than the red zone and this function's frame; pages from the lowest
    // that the thread used up to here belong to its stack.
    unsafe { (from as *mut u8).write_bytes(byte, to - from) };
}
