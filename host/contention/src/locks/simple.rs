//! underbar's locks: the lock of eight bytes in its form for Rust programs, and the lock of four bytes by its bare calls.
//!
//! `unsafe` is needed because a bare unlock trusts its caller to hold the lock.

use crate::lock::Lock;
use underbar::SimpleLock;
use underbar_lock::SmallLock;

impl Lock for SimpleLock<()> {
    fn new() -> Self {
        SimpleLock::new(())
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        let _held = self.lock();
        work()
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
        // SAFETY: taken by this thread, above. If `work` panics it stays locked, which is safe.
        unsafe { self.unlock() };
        result
    }
}
