//! The observer of waits: the preload library, if it is loaded.
//!
//! A program that contains this lock has the same accounts as one that uses it from the library: the table of functions is
//! found by a symbol that may be absent.
//!
//! Invariant: the observer is not called for acquisitions without a wait, nor before the releasing operation.
//! Not here: the use of these calls (`runtime::lock`).

/// Changes when [`Observer`] changes.
pub const OBSERVER_VERSION: u32 = 1;

/// The data of a wait that is over.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Waited {
    /// From the first try to the end of the wait, in nanoseconds.
    pub wait_ns: u64,
    /// Of these: spent looking at the lock.
    pub spin_ns: u64,
    /// Of these: from the time at which the lock was released for this thread, or seemed to be, until it ran again.
    pub runnable_ns: u64,
    /// How often the thread slept.
    pub parked: u64,
    /// 1 if the lock was acquired; 0 if the time was up.
    pub got: u32,
    /// 1 for a lock of four bytes.
    pub small: u32,
}

/// The functions of an observer.
#[repr(C)]
pub struct Observer {
    /// [`OBSERVER_VERSION`] of the library that made the table.
    pub version: u32,
    /// Reserved.
    pub spare: u32,
    /// A thread is going to sleep for the lock at this address; `caller` is the address of the call.
    pub waits: extern "C" fn(lock: usize, small: u32, caller: usize),
    /// Its wait is over.
    pub waited: extern "C" fn(lock: usize, caller: usize, what: &Waited),
    /// The lock at this address, whose memory may be gone, was released, and a sleeper was woken.
    pub given_up: extern "C" fn(lock: usize, caller: usize),
}

#[cfg(all(not(loom), not(miri), target_arch = "x86_64"))]
mod real {
    use super::{OBSERVER_VERSION, Observer};

    #[unsafe(naked)]
    extern "C" fn address() -> *const Observer {
        core::arch::naked_asm!(
            // Weak if this file does not define it; the preload library does.
            ".weakref underbar_lock_observer_or_none, underbar_lock_observer",
            "mov rax, qword ptr [rip + underbar_lock_observer_or_none@GOTPCREL]",
            "ret"
        )
    }

    /// The table, if there is one of our version.
    pub fn observer() -> Option<&'static Observer> {
        // SAFETY: if the symbol exists, it is a static table; the version shows that it is this one.
        unsafe { address().as_ref() }.filter(|table| table.version == OBSERVER_VERSION)
    }
}
#[cfg(all(not(loom), not(miri), target_arch = "x86_64"))]
pub use real::observer;

/// Never an observer.
#[cfg(any(loom, miri, not(target_arch = "x86_64")))]
pub fn observer() -> Option<&'static Observer> {
    None
}
