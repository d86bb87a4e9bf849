//! A page that two processes share, as atomic words: of a file, or anonymous, between a process and its child.
//!
//! Invariant: while a [`SharedPage`] lives, its words are mapped, and were in the file when it was made. The file must not
//! be shortened meanwhile: then a touch is SIGBUS.
//! Not here: the meaning of the words.

use core::sync::atomic::AtomicU64;

use crate::syscall::{Errno, MAP_ANONYMOUS, MAP_SHARED, PROT_READ, PROT_WRITE, Result, mmap, munmap};

/// Bytes of a page.
pub const BYTES: usize = 4096;
/// Words of a page.
pub const WORDS: usize = BYTES / 8;

/// A mapped page; unmapped when dropped.
pub struct SharedPage(*mut [AtomicU64; WORDS]);

// SAFETY: the pages are the process's, not a thread's, and their words are atomics.
unsafe impl Send for SharedPage {}

impl SharedPage {
    /// Maps the page at `offset` of an open file for reading and writing.
    ///
    /// # Errors
    /// EINVAL if the offset is not that of a page, or if the file, of `length` bytes, ends before it; or the kernel's reason.
    pub fn map(fd: i32, offset: u64, length: u64) -> Result<SharedPage> {
        if !offset.is_multiple_of(BYTES as u64) || offset.saturating_add(BYTES as u64) > length {
            return Err(Errno::EINVAL);
        }
        let protection = PROT_READ | PROT_WRITE;
        // SAFETY: without MAP_FIXED a mapping replaces nothing.
        let page = unsafe { mmap(core::ptr::null_mut(), BYTES, protection, MAP_SHARED, fd, offset)? };
        Ok(SharedPage(page.cast()))
    }

    /// A page of zeros that children made by fork share, until they call exec. It takes no descriptor.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn with_children() -> Result<SharedPage> {
        let (protection, flags) = (PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
        // SAFETY: without MAP_FIXED a mapping replaces nothing.
        let page = unsafe { mmap(core::ptr::null_mut(), BYTES, protection, flags, -1, 0)? };
        Ok(SharedPage(page.cast()))
    }

    /// The words.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64; WORDS] {
        // SAFETY: mapped until dropped, page-aligned, and made of atomics, for which any bytes are a value.
        unsafe { &*self.0 }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: mapped by us; the borrow of `words` has ended.
        let _ = unsafe { munmap(self.0.cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::{close, ftruncate, memfd_create, pread};
    use core::sync::atomic::Ordering;

    #[test]
    fn what_is_stored_is_in_the_file() {
        let fd = memfd_create(c"page", false).expect("a file");
        ftruncate(fd, 2 * BYTES as u64).expect("two pages");
        assert!(SharedPage::map(fd, 8, 2 * BYTES as u64).is_err());
        assert!(SharedPage::map(fd, 2 * BYTES as u64, 2 * BYTES as u64).is_err());
        let page = SharedPage::map(fd, BYTES as u64, 2 * BYTES as u64).expect("mapped");
        page.words()[3].store(0x0102_0304_0506_0708, Ordering::Relaxed);
        let mut bytes = [0; 8];
        assert_eq!(pread(fd, &mut bytes, BYTES as u64 + 24), Ok(8));
        assert_eq!(u64::from_ne_bytes(bytes), 0x0102_0304_0506_0708);
        drop(page);
        close(fd).expect("closed");
    }
}
