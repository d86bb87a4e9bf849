//! Raw system calls of Linux on x86-64: what the runtime and the launcher ask of the kernel.
//!
//! ```text
//! runtime, launch -> typed function in a file beside -> syscall6() -> `syscall` instruction -> kernel
//! ```
//!
//! | file | what is asked for |
//! |---|---|
//! | `memory` | mappings, and what the kernel is told of their pages |
//! | `files` | descriptors and paths |
//! | `time` | clocks |
//! | `futex` | sleep until another thread wakes one |
//! | `process` | who this is, settings, signals, the end |
//! | `errno`, `number` | what the kernel answers, what it is asked |
//!
//! Callers see one module: all of it is named from here.
//!
//! Invariant: nothing here calls the C library, writes `errno`, allocates or locks. So every function
//! may be called before the program's constructors, in a signal handler, between vfork and exec, and from
//! inside an interposed `mmap` or `read` without calling itself.
//! A call interrupted by a signal returns [`Errno::EINTR`]; nobody here tries again unless it says so.
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

/// One system call with six arguments; unused ones are 0. Returns what the kernel left in `rax`.
///
/// # Safety
/// The arguments must be what the call `number` expects: pointers valid for what the kernel reads and
/// writes there, and no memory taken away that Rust still uses.
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
    // The kernel answers -4095 to -1 for a refusal; everything else is a value (addresses included).
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
