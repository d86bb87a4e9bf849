//! glibc's mutexes: the normal kind, and the one that spins for a while.
//!
//! `unsafe` is needed because only C offers them. Each mutex has its own allocation and never moves.

use crate::lock::Lock;
use std::cell::UnsafeCell;

/// A private mutex at an address of its own.
struct Mutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: many threads may call a mutex at once.
unsafe impl Sync for Mutex {}
// SAFETY: it belongs to no thread while it is free, and only a free one can be moved (see `with`).
unsafe impl Send for Mutex {}

impl Mutex {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        // SAFETY: initialised by its static initialiser, and boxed, so it stays where it was first used.
        let refused = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        assert_eq!(refused, 0, "a normal mutex can be locked");
        let result = work();
        // SAFETY: as above; locked by this thread in this call. If `work` panics it stays locked, which is safe.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        result
    }
}

/// PTHREAD_MUTEX_NORMAL, as the static initialiser makes it.
pub struct Normal(Mutex);

/// PTHREAD_MUTEX_ADAPTIVE_NP.
pub struct Adaptive(Mutex);

impl Lock for Normal {
    fn new() -> Self {
        Self(Mutex(Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))))
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.0.with(work)
    }
}

impl Lock for Adaptive {
    fn new() -> Self {
        Self(Mutex(Box::new(UnsafeCell::new(libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP))))
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.0.with(work)
    }
}
