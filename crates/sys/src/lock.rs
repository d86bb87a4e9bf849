//! A lock for the runtime's own structures: one word, a futex when it has to wait.
//!
//! ```text
//! FREE --lock--> HELD --another wants it--> AWAITED
//!   ^--unlock-----/          \--unlock: wake one--/
//! ```
//!
//! Invariant: while a [`Guard`] lives no other guard of the same lock does.
//! Cost: one compare-and-swap to lock and one exchange to unlock, where nobody waits.
//! Not here: fairness, and the locks that underbar offers to programs.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::syscall::{futex_wait, futex_wake};

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;

/// A value that one thread at a time may touch.
pub struct Lock<T> {
    /// Taken with Acquire, given up with Release, so that each holder sees what the last one wrote.
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: a guard is the only way to the value, and there is one guard at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The right to touch the value, until dropped.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        if self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait();
        }
        Guard { lock: self }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).ok()?;
        Some(Guard { lock: self })
    }

    #[cold]
    fn wait(&self) {
        // A short spin first: the runtime holds its locks for well under a microsecond.
        for _ in 0..64 {
            core::hint::spin_loop();
            if self.word.load(Ordering::Relaxed) == FREE
                && self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
        }
        while self.word.swap(AWAITED, Ordering::Acquire) != FREE {
            // A wake for no reason, a signal or a changed word: look again in any case.
            let _ = futex_wait(&self.word, AWAITED, None);
        }
    }

    /// Takes the lock and leaves it taken, for the time of a fork.
    pub fn hold(&self) {
        core::mem::forget(self.lock());
    }

    /// Gives up what [`Lock::hold`] took.
    ///
    /// # Safety
    /// The caller's thread took the lock by `hold` (in a forked child: its parent's thread did, and no
    /// other thread exists).
    pub unsafe fn release(&self) {
        if self.word.swap(FREE, Ordering::Release) == AWAITED {
            // A waiter takes the word as AWAITED, so the next unlock wakes the next one.
            let _ = futex_wake(&self.word, 1);
        }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard is the proof that this thread holds the lock.
        unsafe { self.lock.release() }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: one guard at a time, see the invariant.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: one guard at a time, and `&mut self` excludes a second reference through it.
        unsafe { &mut *self.lock.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn one_holder_at_a_time() {
        static LOCK: Lock<(u64, u64)> = Lock::new((0, 0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let mut pair = LOCK.lock();
                        assert_eq!(pair.0, pair.1, "two holders at once");
                        pair.0 += 1;
                        pair.1 += 1;
                    }
                });
            }
        });
        assert_eq!(LOCK.lock().0, 80_000);
    }

    #[test]
    fn a_held_lock_is_not_taken_twice() {
        let lock = Lock::new(());
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert!(lock.try_lock().is_some());
    }
}
