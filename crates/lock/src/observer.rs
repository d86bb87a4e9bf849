//! Who is told of waits: the preload library, where one is loaded.
//!
//! A program that carries this lock in itself is accounted like one that has it from the library: the table of functions
//! is asked for by a symbol that may be absent.
//!
//! Invariant: nothing is told of acquisitions that did not wait, nor on the way to the releasing operation.
//! Not here: what becomes of it (`runtime::lock`).

/// Changes when [`Observer`] changes.
pub const OBSERVER_VERSION: u32 = 1;

/// What a wait was, when it is over.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Waited {
    /// From the first try to the end of the wait, in nanoseconds.
    pub wait_ns: u64,
    /// Of these: looking again and again.
    pub spin_ns: u64,
    /// Of these: from the time at which the lock was given up for us, or so it seemed, to running again.
    pub runnable_ns: u64,
    /// How often the thread slept.
    pub parked: u64,
    /// 1 where the lock was got; 0 where the time was up.
    pub got: u32,
    /// 1 for a lock of four bytes.
    pub small: u32,
}

/// The functions that are told.
#[repr(C)]
pub struct Observer {
    /// [`OBSERVER_VERSION`] of whoever made the table.
    pub version: u32,
    /// Nothing.
    pub spare: u32,
    /// A thread is going to sleep for the lock at this address, called from there.
    pub waits: extern "C" fn(lock: usize, small: u32, caller: usize),
    /// Its wait is over.
    pub waited: extern "C" fn(lock: usize, caller: usize, what: &Waited),
    /// The lock at this address, whose memory may be gone, was given up, and one who slept was woken.
    pub given_up: extern "C" fn(lock: usize, caller: usize),
}

#[cfg(all(not(loom), not(miri), target_arch = "x86_64"))]
mod real {
    use super::{OBSERVER_VERSION, Observer};

    #[unsafe(naked)]
    extern "C" fn address() -> *const Observer {
        core::arch::naked_asm!(
            // Weak where nobody in this file defines it, as the preload library does.
            ".weakref underbar_lock_observer_or_none, underbar_lock_observer",
            "mov rax, qword ptr [rip + underbar_lock_observer_or_none@GOTPCREL]",
            "ret"
        )
    }

    /// The table, if somebody is there who understands us.
    pub fn observer() -> Option<&'static Observer> {
        // SAFETY: the symbol, where it is there, is a static table; the version says that it is this one.
        unsafe { address().as_ref() }.filter(|table| table.version == OBSERVER_VERSION)
    }
}
#[cfg(all(not(loom), not(miri), target_arch = "x86_64"))]
pub use real::observer;

/// Nobody.
#[cfg(any(loom, miri, not(target_arch = "x86_64")))]
pub fn observer() -> Option<&'static Observer> {
    None
}
