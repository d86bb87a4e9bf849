//! The one door to atomics for code that a model checks: core's atomics, or those of the model checker.
//!
//! Under `--cfg loom` each access is a point at which the checker may let another thread run, and a load may return any
//! value that the memory model permits. Checked code takes its atomics from here, and keeps in [`Plain`] the data that it
//! passes from thread to thread without them.
//!
//! Not here: the models, which are next to the code that they check.

#[cfg(not(loom))]
pub use core::sync::atomic;
#[cfg(loom)]
pub use loom::sync::atomic;

#[cfg(not(loom))]
use core::cell::UnsafeCell;
#[cfg(loom)]
use loom::cell::UnsafeCell;

/// A word that one thread at a time may touch. The model fails if two threads could touch it at once; the real one is an
/// ordinary load or store.
#[repr(transparent)]
pub struct Plain<T>(UnsafeCell<T>);

impl<T: Copy> Plain<T> {
    /// Holds a value.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Holds a value.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value.
    ///
    /// # Safety
    /// No other thread writes it at the same time.
    #[inline(always)]
    pub unsafe fn get(&self) -> T {
        // SAFETY: the caller's promise.
        #[cfg(not(loom))]
        return unsafe { *self.0.get() };
        // SAFETY: the caller's promise, which the model checks.
        #[cfg(loom)]
        return self.0.with(|value| unsafe { *value });
    }

    /// Changes the value.
    ///
    /// # Safety
    /// No other thread reads or writes it at the same time.
    #[inline(always)]
    pub unsafe fn set(&self, value: T) {
        // SAFETY: the caller's promise.
        #[cfg(not(loom))]
        unsafe {
            *self.0.get() = value;
        }
        // SAFETY: the caller's promise, which the model checks.
        #[cfg(loom)]
        self.0.with_mut(|place| unsafe { *place = value });
    }

    /// Where the value is, for code that changes it in more than one way. The model does not see what is done there.
    #[inline(always)]
    pub fn place(&self) -> *mut T {
        #[cfg(not(loom))]
        return self.0.get();
        #[cfg(loom)]
        return self.0.with_mut(|place| place);
    }
}
