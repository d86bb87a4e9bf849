//! Raw system calls of Linux on x86-64, for the runtime and the launcher.
//!
//! ```text
//! runtime, launch -> typed function in a file of this folder -> syscall6() -> `syscall` instruction -> kernel
//! ```
//!
//! file | calls |
//! |---|---|
//! `memory` | mappings, and advice about their pages |
//! | `files` | descriptors and paths |
//! | `time` | clocks |
//! `futex` | sleep until another thread wakes this one |
//! `process` | identity, settings, signals, the end |
//! `errno`, `number` | the kernel's refusals, the numbers of calls |
//!
//! Callers see one module, which exports all of it.
//!
//! Invariant: nothing here calls the C library, writes `errno`, allocates or locks. Every function may therefore be called
//! before the program's constructors, in a signal handler, between vfork and exec, and from inside an interposed `mmap` or
//! `read` without calling itself.
//! A call interrupted by a signal returns [`Errno::EINTR`]; it is repeated only if its function says so.
//!
//! Not here: starting, waiting for and signalling processes ([`crate::process`]).

mod errno;
mod files;
mod futex;
mod memory;
pub mod number;
mod process;
mod time;

pub use errno::{Errno, Result};
pub use files::*;
pub use futex::*;
pub use memory::*;
pub use process::*;
pub use time::*;

/// One system call with six arguments; unused ones are 0. Returns the value of `rax`.
///
/// # Safety
/// The arguments must match the call `number`: pointers valid for the kernel's reads and writes, and no removal of memory
/// that Rust still uses.
#[inline]
pub unsafe fn syscall6(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> Result<usize> {
    let result: usize;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11, which are named here, and does not touch
    // the red zone; the caller vouches for the meaning of the arguments. Memory is assumed written.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    // The kernel returns -4095 to -1 for a refusal; everything else is a value (addresses included).
    if result > usize::MAX - 4095 { Err(Errno(result.wrapping_neg() as u16)) } else { Ok(result) }
}

/// [`syscall6`] with three arguments.
///
/// # Safety
/// As [`syscall6`].
#[inline]
pub unsafe fn syscall3(number: usize, a: usize, b: usize, c: usize) -> Result<usize> {
    // SAFETY: the caller's promise, passed on.
    unsafe { syscall6(number, a, b, c, 0, 0, 0) }
}
