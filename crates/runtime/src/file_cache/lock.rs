//! The lock of all caches of files: the owner is the thread, so that a signal handler which writes in the middle of a write of its own
//! thread knows that it need not wait.
//!
//! Invariant: a thread that got the lock from [`enter`] gives it up; one that found itself as the owner does not.
//! Not here: fairness. Holders copy some bytes, or make a few system calls.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::callers;
use underbar_sys::syscall::{futex_wait, futex_wake};

/// The owner's thread pointer, and [`AWAITED`]; 0: free. Taken with Acquire, given up with Release.
static OWNER: AtomicUsize = AtomicUsize::new(0);
/// The owner's stack pointer when it took the lock. The owner writes and reads; relaxed.
static POINTER: AtomicUsize = AtomicUsize::new(0);
/// A thread may sleep. Thread pointers are multiples of 16.
const AWAITED: usize = 1;

/// The thread's pointer, which no other thread has. A child of vfork has that of its parent, which waits for it.
#[inline(always)]
fn me() -> usize {
    let pointer: usize;
    // SAFETY: the first word of a thread's block is its own address, by the ABI.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly))
    };
    pointer
}

/// The low half of the word, on which threads sleep.
fn low_half() -> &'static AtomicU32 {
    // SAFETY: the first four bytes of the word, which is a static; both are atomics.
    unsafe { AtomicU32::from_ptr((&raw const OWNER).cast::<u32>().cast_mut()) }
}

/// The lock, as a thread holds it.
pub(super) struct Held {
    /// A signal handler holds what the interrupted code of its own thread holds.
    pub is_nested: bool,
}

/// Takes the lock, or finds that this thread has it.
#[inline(always)]
pub(super) fn enter() -> Held {
    let me = me();
    match OWNER.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
        Ok(_) => taken(),
        Err(owner) if owner & !AWAITED == me => again(callers::stack_pointer()),
        Err(_) => wait(me),
    }
}

#[inline(always)]
fn taken() -> Held {
    POINTER.store(callers::stack_pointer(), Ordering::Relaxed);
    Held { is_nested: false }
}

/// The thread has the lock already: this is a signal handler; or a handler has left the thread's write for good, by a jump, and the frame
/// that took the lock is gone, as the stack pointer is above it.
#[cold]
fn again(now: usize) -> Held {
    let (then, bounds) = (POINTER.load(Ordering::Relaxed), callers::bounds());
    if now >= then && bounds.contains(&now) && bounds.contains(&then) {
        taken()
    } else {
        Held { is_nested: true }
    }
}

#[cold]
fn wait(me: usize) -> Held {
    loop {
        let owner = OWNER.load(Ordering::Relaxed);
        if owner == 0 {
            // Others may still sleep: the next unlock wakes one of them.
            if OWNER.compare_exchange(0, me | AWAITED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return taken();
            }
            continue;
        }
        let awaited = owner | AWAITED;
        if owner == awaited
            || OWNER.compare_exchange(owner, awaited, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            let _ = futex_wait(low_half(), awaited as u32, None);
        }
    }
}

impl Drop for Held {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.is_nested && OWNER.swap(0, Ordering::Release) & AWAITED != 0 {
            let _ = futex_wake(low_half(), 1);
        }
    }
}

/// Keeps the lock across a fork. Returns whether [`release`] is to be called.
pub(super) fn hold(held: Held) -> bool {
    let is_owner = !held.is_nested;
    core::mem::forget(held);
    is_owner
}

/// Gives up what [`hold`] kept.
pub(super) fn release() {
    drop(Held { is_nested: false });
}

/// In a child by fork: the owner, if there was one, is not here.
pub(super) fn forget_owner() {
    OWNER.store(0, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn threads_are_kept_apart_and_a_thread_does_not_wait_for_itself() {
        static SUM: AtomicUsize = AtomicUsize::new(0);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    for _ in 0..2_000 {
                        let held = enter();
                        assert!(!held.is_nested && enter().is_nested);
                        let before = SUM.load(Ordering::Relaxed);
                        std::hint::black_box(before);
                        SUM.store(before + 1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("done"));
        assert_eq!(SUM.load(Ordering::Relaxed), 8_000);
    }
}
