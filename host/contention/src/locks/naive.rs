//! The old lock: every thread compares and swaps in a loop until it succeeds.
//!
//! Its two calls are separate functions, so that a profile names them. They are written as in the document's profile: no load
//! before the swap, no pause, no yield.

use crate::lock::Lock;
use std::sync::atomic::{AtomicU64, Ordering};

/// 0: free.
pub struct Naive(AtomicU64);

impl Naive {
    #[inline]
    fn take(&self) {
        if self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.take_from_others();
        }
    }

    /// The loop.
    #[inline(never)]
    fn take_from_others(&self) {
        while self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {}
    }
}

impl Lock for Naive {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.take();
        let result = work();
        self.0.store(0, Ordering::Release);
        result
    }
}
