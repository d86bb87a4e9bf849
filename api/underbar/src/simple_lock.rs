//! Simple locks that hold a value.
//!
//! Invariant: one guard of a lock at a time. A guard stays on the thread that took it.
//! A panic under the lock does not poison it: the value is as the thread left it.
//! Not here: the waiting (`underbar_lock`).

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::form;

/// A value that one thread at a time may touch; eight bytes in addition to the value.
///
/// Without waiters, locking and unlocking are one compare-and-swap each. Waiting threads look for a short while, few at a
/// time, then sleep; the lock is reserved for a thread that has waited for a millisecond.
#[derive(Default)]
pub struct SimpleLock<T: ?Sized> {
    raw: underbar_lock::SimpleLock,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one thread at a time, which may then move it away, so it must be Send; two references
// never exist at once, so it need not be Sync.
unsafe impl<T: ?Sized + Send> Sync for SimpleLock<T> {}

/// The right to touch the value of a [`SimpleLock`], until dropped.
#[must_use = "the lock is given up at once if the guard is not kept"]
pub struct Guard<'a, T: ?Sized> {
    lock: &'a SimpleLock<T>,
    /// The thread that took it releases it: accounts and the processor's number are that thread's.
    here: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared references only.
unsafe impl<T: ?Sized + Sync> Sync for Guard<'_, T> {}

impl<T> SimpleLock<T> {
    /// A free lock around a value.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self { raw: underbar_lock::SimpleLock::new(), value: UnsafeCell::new(value) }
    }

    /// The value, if no other thread can have the lock any more.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> SimpleLock<T> {
    /// Waits for the lock. A thread that already holds it waits forever; with the feature `debug-locks` it panics.
    #[inline]
    #[cfg_attr(feature = "debug-locks", track_caller)]
    pub fn lock(&self) -> Guard<'_, T> {
        form::lock(&self.raw);
        Guard { lock: self, here: PhantomData }
    }

    /// Takes the lock if it is free.
    #[inline]
    #[cfg_attr(feature = "debug-locks", track_caller)]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        form::try_lock(&self.raw).then(|| Guard { lock: self, here: PhantomData })
    }

    /// Waits for the lock, at most for this time.
    #[cfg_attr(feature = "debug-locks", track_caller)]
    pub fn try_lock_for(&self, time: Duration) -> Option<Guard<'_, T>> {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        form::try_lock_for(&self.raw, time).then(|| Guard { lock: self, here: PhantomData })
    }

    /// The value, through an exclusive reference.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether a thread holds it, at this moment.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}

impl<T: ?Sized> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard is the proof that this thread took the lock.
        unsafe { form::unlock(&self.lock.raw) };
    }
}

impl<T: ?Sized> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: one guard at a time.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: one guard at a time, and `&mut self` excludes a second reference through it.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for SimpleLock<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = out.debug_struct("SimpleLock");
        match self.try_lock() {
            Some(guard) => out.field("value", &&*guard),
            None => out.field("value", &format_args!("<locked>")),
        };
        out.finish()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(out)
    }
}

impl<T> From<T> for SimpleLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// The lock alone, in the form of `lock_api`.
#[cfg(feature = "lock_api")]
pub struct RawSimpleLock(underbar_lock::SimpleLock);

// SAFETY: `lock` and `try_lock` succeed for one thread at a time, until `unlock`.
#[cfg(feature = "lock_api")]
unsafe impl lock_api::RawMutex for RawSimpleLock {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api makes each lock from it")]
    const INIT: Self = Self(underbar_lock::SimpleLock::new());
    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    #[cfg_attr(feature = "debug-locks", track_caller)]
    fn lock(&self) {
        form::lock(&self.0);
    }

    #[inline]
    #[cfg_attr(feature = "debug-locks", track_caller)]
    fn try_lock(&self) -> bool {
        form::try_lock(&self.0)
    }

    #[inline]
    #[cfg_attr(feature = "debug-locks", track_caller)]
    unsafe fn unlock(&self) {
        // SAFETY: the caller took the lock.
        unsafe { form::unlock(&self.0) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn one_guard_at_a_time_and_a_panic_leaves_the_lock_free() {
        // The interpreter runs one thread at a time.
        const THREADS: u32 = if cfg!(miri) { 3 } else { 4 };
        const EACH: u32 = if cfg!(miri) { 30 } else { 10_000 };
        let lock = Arc::new(SimpleLock::new((0_u32, 0_u32)));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let mut pair = lock.lock();
                        assert_eq!(pair.0, pair.1);
                        pair.0 += 1;
                        pair.1 += 1;
                    }
                });
            }
        });
        let other = lock.clone();
        let panicked = thread::spawn(move || {
            let _guard = other.lock();
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(panicked.join().is_err());
        assert_eq!(lock.try_lock().map(|pair| *pair), Some((THREADS * EACH, THREADS * EACH)));
    }

    #[test]
    fn a_held_lock_is_not_taken_and_says_so() {
        let lock = SimpleLock::new("value".to_owned());
        let guard = lock.lock();
        assert!(lock.is_locked() && lock.try_lock().is_none());
        thread::scope(|scope| {
            let waited = scope.spawn(|| lock.try_lock_for(Duration::from_millis(1)).is_none());
            assert!(waited.join().expect("no panic"));
        });
        assert_eq!(format!("{lock:?}"), "SimpleLock { value: <locked> }");
        drop(guard);
        assert_eq!(format!("{lock:?}"), "SimpleLock { value: \"value\" }");
        assert_eq!(lock.into_inner(), "value");
    }

    #[test]
    fn eight_bytes_beside_the_value() {
        assert_eq!(size_of::<SimpleLock<u64>>(), 16);
        assert_eq!(size_of::<SimpleLock<()>>(), 8);
    }

    #[cfg(feature = "lock_api")]
    #[test]
    fn guards_of_other_crates_hold_it() {
        let table = crate::Mutex::new(vec![1, 2, 3]);
        {
            let mut first = crate::MutexGuard::map(table.lock(), |table| &mut table[0]);
            *first = 7;
            assert!(table.try_lock().is_none());
        }
        assert_eq!(*table.lock(), [7, 2, 3]);
    }
}
