//! The calls of a lock, in the plain or the debug form; the feature `debug-locks` selects the form.
//!
//! Invariant: both have the same lock. In the debug form a fault is a panic that names it, at the place of detection.

pub(crate) use calls::{lock, try_lock, try_lock_for, unlock};

#[cfg(not(feature = "debug-locks"))]
mod calls {
    use underbar_lock::SimpleLock;

    #[inline(always)]
    pub fn lock(lock: &SimpleLock) {
        lock.lock();
    }

    #[inline(always)]
    pub fn try_lock(lock: &SimpleLock) -> bool {
        lock.try_lock()
    }

    #[inline(always)]
    pub fn try_lock_for(lock: &SimpleLock, nanoseconds: u64) -> bool {
        lock.lock_for(nanoseconds)
    }

    /// # Safety
    /// This thread took the lock.
    #[inline(always)]
    pub unsafe fn unlock(lock: &SimpleLock) {
        // SAFETY: the caller's promise.
        unsafe { lock.unlock() };
    }
}

#[cfg(feature = "debug-locks")]
mod calls {
    use std::panic::Location;

    use underbar_lock::SimpleLock;
    use underbar_lock::debug::{self, Fault, Place};

    #[track_caller]
    pub fn lock(lock: &SimpleLock) {
        or_panic(debug::lock(lock, here()));
    }

    #[track_caller]
    pub fn try_lock(lock: &SimpleLock) -> bool {
        debug::try_lock(lock, here())
    }

    #[track_caller]
    pub fn try_lock_for(lock: &SimpleLock, nanoseconds: u64) -> bool {
        let deadline = underbar_lock::waiting::now().saturating_add(nanoseconds);
        or_panic(debug::lock_until(lock, deadline.max(1), here()))
    }

    /// # Safety
    /// This thread took the lock, or no safety depends on it.
    #[track_caller]
    pub unsafe fn unlock(lock: &SimpleLock) {
        // SAFETY: the caller's promise.
        or_panic(unsafe { debug::unlock(lock, here()) });
    }

    #[track_caller]
    fn here() -> Place {
        Place::Rust(Location::caller())
    }

    #[track_caller]
    fn or_panic<T>(result: Result<T, Fault>) -> T {
        match result {
            Ok(value) => value,
            Err(fault) => panic!("{fault}"),
        }
    }
}
