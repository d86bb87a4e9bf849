//! Our own, by their bare calls: no guard and no value lies between them and the measurement.
//!
//! `unsafe` stands here because a bare unlock trusts its caller to hold the lock.

use super::Lock;
use underbar_lock::{SimpleLock, SmallLock};

impl Lock for SimpleLock {
    fn new() -> Self {
        SimpleLock::new()
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.lock();
        let result = work();
        // SAFETY: taken by this thread, above.
        unsafe { self.unlock() };
        result
    }
}

impl Lock for SmallLock {
    fn new() -> Self {
        SmallLock::new()
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.lock();
        let result = work();
        // SAFETY: taken by this thread, above.
        unsafe { self.unlock() };
        result
    }
}
