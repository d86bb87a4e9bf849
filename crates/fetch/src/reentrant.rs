//! A reentrant lock: constructors load programs, visitors give them back.
//!
//! Invariant: one thread at a time holds it. The value is accessed by pointer only, since a second hold of the same thread may
//! change it during the first one's work: no reference to it may live across a call of foreign code.
//! Not here: the word and the waiting (`underbar_sys::lock`).

use core::cell::UnsafeCell;

use underbar_sys::lock::Lock;

/// A value under such a lock.
pub struct Again<T> {
    lock: Lock<()>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is accessed under the lock only, as `place` demands.
unsafe impl<T: Send> Sync for Again<T> {}

impl<T> Again<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { lock: Lock::new(()), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock, unless this thread has it.
    pub fn hold(&self) {
        self.lock.hold();
    }

    /// Does another thread hold it?
    pub fn is_anothers(&self) -> bool {
        !self.lock.is_mine() && self.lock.try_lock().is_none()
    }

    /// Gives up one hold.
    ///
    /// # Safety
    /// This thread (or in a forked child, the thread that it is a copy of) holds it.
    pub unsafe fn release(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock.release() }
    }

    /// Runs with the lock held.
    pub fn with<R>(&self, work: impl FnOnce(*mut T) -> R) -> R {
        /// Gives up the hold, also when a C++ exception unwinds through us.
        struct Held<'a>(&'a Lock<()>);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                // SAFETY: held since `with`.
                unsafe { self.0.release() }
            }
        }
        self.lock.hold();
        let held = Held(&self.lock);
        let result = work(self.value.get());
        drop(held);
        result
    }
}
