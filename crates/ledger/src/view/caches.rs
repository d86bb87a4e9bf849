//! Caches of files, as the host reads them.
//!
//! Invariant: any bytes give figures.
//! Not here: what the figures mean together (`report`).

use core::mem::offset_of;

use super::{not_below_zero, text, word};
use crate::caches::{CacheRow, FLUSHES, NAME, PLAINS, POWERS};

/// A buffer: [`CacheRow`] as the host reads it.
#[derive(Clone, Copy)]
pub struct CacheView<'a> {
    pub(super) row: &'a [u8],
    pub(super) number: usize,
}

impl<'a> CacheView<'a> {
    fn figure(&self, at: usize) -> u64 {
        not_below_zero(word(self.row, at))
    }

    fn figures<const N: usize>(&self, at: usize) -> [u64; N] {
        core::array::from_fn(|index| self.figure(at + 8 * index))
    }

    pub(super) fn is_used(&self) -> bool {
        self.files() > 0 || self.plain().iter().any(|count| *count > 0)
    }

    /// The number of its row: [`crate::caches::PRINT`], [`crate::caches::WRITE`], or one from [`crate::caches::READ`] on.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Bytes of the buffer.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.figure(offset_of!(CacheRow, size))
    }

    /// Bytes in it.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.figure(offset_of!(CacheRow, used))
    }

    /// The most bytes that were in it.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.figure(offset_of!(CacheRow, most))
    }

    /// Files that it has served.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.figure(offset_of!(CacheRow, files))
    }

    /// Calls that it took, and their bytes.
    #[must_use]
    pub fn taken(&self) -> (u64, u64) {
        (self.figure(offset_of!(CacheRow, calls)), self.figure(offset_of!(CacheRow, bytes)))
    }

    /// Calls of the kernel in their place, and their bytes.
    #[must_use]
    pub fn kernel(&self) -> (u64, u64) {
        (self.figure(offset_of!(CacheRow, kernel_calls)), self.figure(offset_of!(CacheRow, kernel_bytes)))
    }

    /// Calls that were too large for it.
    #[must_use]
    pub fn large(&self) -> u64 {
        self.figure(offset_of!(CacheRow, large))
    }

    /// Bytes that the kernel refused, and the last error.
    #[must_use]
    pub fn not_written(&self) -> (u64, u64) {
        (self.figure(offset_of!(CacheRow, not_written)), self.figure(offset_of!(CacheRow, error)))
    }

    /// By the places of [`crate::caches::Flush`].
    #[must_use]
    pub fn flushes(&self) -> [u64; FLUSHES] {
        self.figures(offset_of!(CacheRow, flushes))
    }

    /// By the places of [`crate::caches::Plain`].
    #[must_use]
    pub fn plain(&self) -> [u64; PLAINS] {
        self.figures(offset_of!(CacheRow, plain))
    }

    /// Bytes between forced flushes, by powers of two.
    #[must_use]
    pub fn forced(&self) -> [u64; POWERS] {
        self.figures(offset_of!(CacheRow, forced))
    }

    /// The end of the path of the last file.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        text(self.row, offset_of!(CacheRow, name), NAME)
    }
}
