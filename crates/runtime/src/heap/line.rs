//! A value on a cache line of its own, since other threads write it.
//!
//! Not here: what the value is.

use core::ops::Deref;

/// The value.
#[repr(C, align(64))]
pub struct Line<T>(pub T);

impl<T> Deref for Line<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
