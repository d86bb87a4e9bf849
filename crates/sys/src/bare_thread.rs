//! A thread that the C library does not know: it has a stack and the kernel's number, and nothing else.
//!
//! ```text
//! start ── all signals blocked ── clone ──┬─> the calling thread: signals as before
//!                                         └─> the new one: `work`, on its own stack, all signals blocked
//! ```
//!
//! It shares the starter's thread-local storage: its code must use none, so no `errno`, no function of the C library, no allocation and no
//! panic. It ends with the process, or when its work ends it.
//!
//! Invariant: it never runs a signal handler of the program.
//! Not here: what it does.

use core::sync::atomic::AtomicU32;

use crate::syscall::{Errno, Result, number, syscall3, syscall6};

/// Bytes of its stack, with the page below it that catches an overflow.
pub const STACK: usize = 32 * 1024;

/// Starts a thread that runs `work`. Its number is put into `thread`, which becomes 0 when it has ended.
///
/// # Errors
/// The kernel has no memory, or allows no further thread.
///
/// # Safety
/// `work` uses no thread-local storage and calls nothing that does.
pub unsafe fn start(thread: &'static AtomicU32, work: extern "C" fn() -> !) -> Result<()> {
    const VM: usize = 0x100;
    const FS: usize = 0x200;
    const FILES: usize = 0x400;
    const SIGHAND: usize = 0x800;
    const THREAD: usize = 0x1_0000;
    const SYSVSEM: usize = 0x4_0000;
    const PARENT_SETTID: usize = 0x10_0000;
    const CHILD_CLEARTID: usize = 0x20_0000;
    const FLAGS: usize = VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | PARENT_SETTID | CHILD_CLEARTID;
    const PAGE: usize = 4096;
    let stack = crate::syscall::map_anonymous(STACK)?;
    // SAFETY: the lowest page of the new mapping, which nothing uses.
    let _ = unsafe { crate::syscall::mprotect(stack, PAGE, 0) };
    let before = block_all()?;
    let word = core::ptr::from_ref(thread) as usize;
    let result: usize;
    // SAFETY: the new thread begins behind the call with `work` in a register that the kernel keeps, on its own, empty stack, aligned as
    // for a call; it never returns. The calling thread goes on as after any system call.
    unsafe {
        core::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") number::CLONE => result,
            in("rdi") FLAGS,
            in("rsi") stack as usize + STACK,
            in("rdx") word,
            in("r10") word,
            in("r8") 0,
            in("r12") work as *const () as usize,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    set_mask(before);
    if result > usize::MAX - 4095 {
        // SAFETY: there is no thread that uses it.
        let _ = unsafe { crate::syscall::munmap(stack, STACK) };
        return Err(Errno(result.wrapping_neg() as u16));
    }
    Ok(())
}

/// Ends the calling thread, and no other. Its stack stays.
pub fn end() -> ! {
    loop {
        // SAFETY: the calling thread is a bare one, on which nobody waits but by its word.
        let _ = unsafe { syscall3(number::EXIT, 0, 0, 0) };
    }
}

const SETMASK: usize = 2;

/// Blocks all signals of the calling thread. Returns those that were blocked before.
///
/// # Errors
/// Those of the kernel: a filter of system calls.
pub fn block_all() -> Result<u64> {
    let (all, mut before) = (u64::MAX, 0_u64);
    // SAFETY: the kernel reads one set and writes one.
    unsafe {
        syscall6(
            number::RT_SIGPROCMASK,
            SETMASK,
            &raw const all as usize,
            &raw mut before as usize,
            size_of::<u64>(),
            0,
            0,
        )?
    };
    Ok(before)
}

/// The calling thread's blocked signals are these.
pub fn set_mask(mask: u64) {
    // SAFETY: the kernel reads one set.
    let _ = unsafe {
        syscall6(number::RT_SIGPROCMASK, SETMASK, &raw const mask as usize, 0, size_of::<u64>(), 0, 0)
    };
}

/// Names the calling thread, and has the kernel wake it without slack.
pub fn is_named_and_punctual(name: &core::ffi::CStr) {
    const PR_SET_NAME: usize = 15;
    const PR_SET_TIMERSLACK: usize = 29;
    // SAFETY: the kernel reads the name.
    unsafe {
        let _ = syscall3(number::PRCTL, PR_SET_NAME, name.as_ptr() as usize, 0);
        let _ = syscall3(number::PRCTL, PR_SET_TIMERSLACK, 1, 0);
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU64, Ordering};

    static THREAD: AtomicU32 = AtomicU32::new(0);
    static MASK: AtomicU64 = AtomicU64::new(0);
    static NUMBER: AtomicU32 = AtomicU32::new(0);

    extern "C" fn work() -> ! {
        MASK.store(block_all().unwrap_or(0), Ordering::Relaxed);
        NUMBER.store(crate::syscall::gettid() as u32, Ordering::Release);
        end()
    }

    #[test]
    fn it_works_with_all_signals_blocked_and_ends() {
        // SAFETY: the work makes system calls and stores.
        unsafe { start(&THREAD, work) }.expect("a thread");
        // The word is the number, until the thread has ended.
        while THREAD.load(Ordering::Acquire) != 0 {
            crate::syscall::sched_yield();
        }
        assert_ne!(NUMBER.load(Ordering::Acquire), 0);
        assert_ne!(NUMBER.load(Ordering::Relaxed), crate::syscall::gettid() as u32);
        // KILL and STOP are never blocked.
        assert_eq!(MASK.load(Ordering::Relaxed), !(1 << 8 | 1 << 18));
    }
}
