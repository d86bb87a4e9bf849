//! A mapping of the command, whose pages are touched one by one to measure the cost.
//!
//! ```text
//! mapped:   |.......|=====================|......|
//!           start   multiple of ALIGNMENT  end       used: `length` bytes from there
//! ```
//!
//! Invariant: the bytes in use begin at a multiple of [`ALIGNMENT`] if the mapping is anonymous. They are accessed by atomic
//! stores only, so others may map the same file.
//! Not here: how the runtime and the heap map their storage.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::syscall::{
    self, Errno, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_PRIVATE, MAP_SHARED,
    PROT_READ, PROT_WRITE, Result,
};

/// Alignment of an anonymous mapping, in bytes: a huge page of x86-64.
pub const ALIGNMENT: usize = 2 << 20;
/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Readable and writable pages, given back when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    mapped: usize,
    used: *mut u8,
    length: usize,
}

impl Mapping {
    /// So many zeroed private bytes, none of them touched; with huge pages, or without.
    ///
    /// # Errors
    /// [`Errno::ENOMEM`] if there is no room; [`Errno::EINVAL`] if the kernel does not support huge pages.
    pub fn anonymous(length: usize, huge: bool) -> Result<Mapping> {
        let mapped = length.checked_add(ALIGNMENT).ok_or(Errno::ENOMEM)?;
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        // SAFETY: without MAP_FIXED a mapping replaces nothing.
        let start =
            unsafe { syscall::mmap(core::ptr::null_mut(), mapped, PROT_READ | PROT_WRITE, flags, -1, 0)? };
        let used = start.wrapping_add(start.align_offset(ALIGNMENT));
        let mapping = Mapping { start, mapped, used, length };
        let advice = if huge { MADV_HUGEPAGE } else { MADV_NOHUGEPAGE };
        // SAFETY: advice about huge pages drops no content.
        unsafe { syscall::madvise(used, length, advice)? };
        Ok(mapping)
    }

    /// So many bytes of an open file from its start, shared with everyone who maps it. If the file is shorter, a touch beyond
    /// its end is a SIGBUS.
    ///
    /// # Errors
    /// Those of mmap.
    pub fn of_file(fd: i32, length: usize) -> Result<Mapping> {
        // SAFETY: without MAP_FIXED a mapping replaces nothing; the content is only ever stored to, atomically.
        let start = unsafe {
            syscall::mmap(core::ptr::null_mut(), length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)?
        };
        Ok(Mapping { start, mapped: length, used: start, length })
    }

    /// Stores a byte at this offset.
    ///
    /// # Panics
    /// If the offset is beyond the end.
    #[inline]
    pub fn touch(&self, at: usize) {
        assert!(at < self.length, "beyond the mapping");
        // SAFETY: the byte is in the mapping, which lives as long as `self`; all access to it is atomic.
        unsafe { AtomicU8::from_ptr(self.used.add(at)) }.store(1, Ordering::Relaxed);
    }

    /// How many pages of the huge page that begins here are in memory; 0 if the kernel does not tell.
    #[must_use]
    pub fn resident_from(&self, at: usize) -> usize {
        let mut pages = [0_u8; ALIGNMENT / PAGE];
        let count = (self.length.saturating_sub(at) / PAGE).min(pages.len());
        let pages = &mut pages[..count];
        match syscall::mincore(self.used as usize + at, pages) {
            Ok(()) => pages.iter().filter(|page| **page & 1 == 1).count(),
            Err(_) => 0,
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the whole mapping is ours, and no reference into it exists.
        let _ = unsafe { syscall::munmap(self.start, self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn small_pages_come_one_by_one() {
        let mapping = Mapping::anonymous(ALIGNMENT, false).expect("memory");
        assert!((mapping.used as usize).is_multiple_of(ALIGNMENT));
        assert_eq!(mapping.resident_from(0), 0);
        mapping.touch(0);
        mapping.touch(5 * PAGE + 7);
        assert_eq!(mapping.resident_from(0), 2);
    }

    #[test]
    fn what_is_touched_is_in_the_file() {
        let path = std::env::temp_dir().join(std::format!("underbar-mapping-{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("removed");
        file.set_len(2 * PAGE as u64).expect("a length");
        let mapping = Mapping::of_file(file.as_raw_fd(), 2 * PAGE).expect("mapped");
        mapping.touch(PAGE);
        let mut bytes = std::vec::Vec::new();
        file.read_to_end(&mut bytes).expect("read");
        assert_eq!((bytes[0], bytes[PAGE], bytes.len()), (0, 1, 2 * PAGE));
    }

    #[test]
    #[should_panic(expected = "beyond the mapping")]
    fn nothing_beyond_the_end_is_touched() {
        // A backtrace with lines of source takes 30 MiB.
        let _turn = crate::process_wide();
        Mapping::anonymous(PAGE, false).expect("memory").touch(PAGE);
    }
}
