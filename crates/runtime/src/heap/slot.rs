//! The thread's slot: eight bytes of thread-local storage that hold the address of its heap.
//!
//! Rust's own thread-local storage in a shared library costs a call to `__tls_get_addr` for each access, and
//! may allocate. This slot is defined in assembly and read through the global offset table, which the loader
//! fills with its distance from the thread pointer (the initial-exec model): two instructions, no call. Eight
//! bytes always fit into what the loader keeps spare for libraries that come late.
//!
//! The slot's first value is the address of a heap without cells, put there by an ordinary relocation. So
//! nobody ever tests for null, and the first request of a thread simply finds its bin empty.
//!
//! Invariant: the slot holds the address of a heap: the thread's own, `EMPTY` or `DEPARTED`.

use core::arch::{asm, global_asm};

use super::thread::{EMPTY, ThreadHeap};

global_asm!(
    ".section .tdata.underbar_heap,\"awT\",@progbits",
    ".p2align 3",
    ".hidden underbar_thread_heap",
    ".globl underbar_thread_heap",
    ".type underbar_thread_heap,@object",
    ".size underbar_thread_heap,8",
    "underbar_thread_heap:",
    ".quad {empty}",
    ".text",
    empty = sym EMPTY,
);

/// The heap of this thread.
#[inline(always)]
pub fn get() -> *mut ThreadHeap {
    let heap: *mut ThreadHeap;
    // SAFETY: reads the slot. Not `pure`: a slow path may have changed it between two reads.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_thread_heap@GOTTPOFF]",
            "mov {heap}, qword ptr fs:[{offset}]",
            offset = out(reg) _,
            heap = lateout(reg) heap,
            options(readonly, nostack, preserves_flags)
        );
    }
    heap
}

/// Changes the heap of this thread.
#[inline]
pub fn set(heap: *const ThreadHeap) {
    // SAFETY: writes the slot.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_thread_heap@GOTTPOFF]",
            "mov qword ptr fs:[{offset}], {heap}",
            offset = out(reg) _,
            heap = in(reg) heap,
            options(nostack, preserves_flags)
        );
    }
}
