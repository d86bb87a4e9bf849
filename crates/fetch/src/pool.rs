//! The initial state of an image, kept so that the image can start again (as VLF does for LLA).
//!
//! ```text
//! writable pages of an image      kept as                                    restored by
//!   the file's, up to 64 KiB      a copy in the arena                        comparing, and copying pages that differ
//!   the file's, beyond            a file in memory, mapped privately         comparing pages that were written, copying
//!   zeros                         nothing                                    zeroing pages that were written
//! ```
//!
//! A page that the program has written once stays private, and is compared each time: dropping it and getting it again costs
//! ten times as much as copying it. If the kernel does not tell which pages were written, the whole range is dropped.
//!
//! Pages that are protected after relocation are not written by the program, so they need neither copy nor restore.
//!
//! Invariant: after [`Copy::restore`] each writable byte has its value from the time of [`Copy::take`].
//! Cost: a program with one page of data is restored by reading two pages; 4 MiB, each page of them written, in less than 200 us.
//! Not here: the choice of images to keep, and for how long (`table`).

use core::ptr::NonNull;

use underbar_sys::syscall::{
    self, Errno, MADV_DONTNEED, MAP_FIXED, MAP_PRIVATE, MAP_SHARED, PROT_READ, PROT_WRITE,
};

use crate::arena;
use crate::image::{Image, Writable};
use crate::written_pages;

const PAGE: usize = 4096;
/// Up to so many bytes are compared; for more, the kernel is asked which pages were written.
const MOST_COPIED: usize = 64 << 10;
/// Up to so many bytes of zeros are compared; for more, the kernel is asked which pages were written.
const FEW_ZEROS: usize = 16 << 10;
/// Ranges of writable pages in one image: two for each segment, and their zeros.
const MOST_RANGES: usize = 8;

/// The way to restore a range.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Copies all pages from this copy.
    Copied(NonNull<u8>),
    /// Copies pages that were written, from this mapping of the underlying file.
    Written(NonNull<u8>),
    /// Zeroes pages that were written.
    Zeroed,
}

/// The initial state of an image.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    ranges: [Option<(usize, usize, Way)>; MOST_RANGES],
    /// Bytes that the copy itself takes.
    pub bytes: u64,
}

/// The work of a restoration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Pages that had been written, and were copied.
    pub pages: u64,
    /// Bytes of ranges whose private pages were dropped, since the kernel did not tell which were written.
    pub dropped: u64,
}

impl Copy {
    /// Keeps the state of an image that was relocated and has not begun.
    ///
    /// # Safety
    /// The image is not used yet.
    ///
    /// # Errors
    /// No room for it, more ranges than are kept ([`Errno::E2BIG`]), or code that the program writes ([`Errno::EACCES`]).
    pub unsafe fn take(image: &Image) -> Result<Copy, Errno> {
        let mut copy = Copy { ranges: [None; MOST_RANGES], bytes: 0 };
        let ranges = image.writable().filter(|range| range.length > 0);
        for (number, Writable { start, length, is_zeros, is_code }) in ranges.enumerate() {
            let Some(place) = copy.ranges.get_mut(number) else {
                // SAFETY: allocated just now.
                unsafe { copy.free() };
                return Err(Errno::E2BIG);
            };
            let way = match (is_zeros, length <= MOST_COPIED) {
                _ if is_code => Err(Errno::EACCES),
                (true, _) => Ok(Way::Zeroed),
                // SAFETY: the image's own pages, which are not in use.
                (false, true) => arena::get(length).map(|room| unsafe {
                    core::ptr::copy_nonoverlapping(start as *const u8, room.as_ptr(), length);
                    Way::Copied(room)
                }),
                // SAFETY: the same.
                (false, false) => unsafe { into_file(start, length) }.map(Way::Written),
            };
            match way {
                Ok(way) => *place = Some((start, length, way)),
                Err(errno) => {
                    // SAFETY: allocated just now.
                    unsafe { copy.free() };
                    return Err(errno);
                }
            }
            copy.bytes += if is_zeros { 0 } else { length as u64 };
        }
        Ok(copy)
    }

    /// Restores the image to that state. None if it cannot: the program has removed pages, or sealed them. Then it must not start
    /// again.
    ///
    /// # Safety
    /// The image has ended, and its data is not in use.
    #[must_use]
    pub unsafe fn restore(&self) -> Option<Restored> {
        let mut restored = Restored::default();
        for (start, length, way) in self.ranges.iter().flatten().copied() {
            // The program may have protected pages, or made one of them a guard.
            // SAFETY: the image's own pages, which could be read and written before its constructors ran.
            unsafe { syscall::mprotect(start as *mut u8, length, PROT_READ | PROT_WRITE) }.ok()?;
            match way {
                // SAFETY: the copy is as long as the range, and neither is used by anything else.
                Way::Copied(room) => unsafe { restored.pages += copy_back(room.as_ptr(), start, length) },
                Way::Written(room) => {
                    // SAFETY: the same; runs of pages of the range.
                    let again = |at, length| unsafe { copy_back(room.as_ptr().add(at - start), at, length) };
                    let done =
                        written_pages::each(start, length, |at, length| restored.pages += again(at, length));
                    // SAFETY: private pages above a file that has their initial content.
                    unsafe { restored.drop_unless(done, start, length, again) };
                }
                Way::Zeroed => {
                    // SAFETY: pages of the range, which are not in use.
                    let again = |at, length| unsafe { zero_again(at, length) };
                    let done = if length <= FEW_ZEROS {
                        restored.pages += again(start, length);
                        Ok(())
                    } else {
                        written_pages::each(start, length, |at, length| restored.pages += again(at, length))
                    };
                    // SAFETY: private pages that were zeros at first.
                    unsafe { restored.drop_unless(done, start, length, again) };
                }
            }
        }
        Some(restored)
    }

    /// Gives the copy back. The file below a mapped range goes with the image.
    ///
    /// # Safety
    /// It is no longer used.
    pub unsafe fn free(&mut self) {
        for (_, length, way) in self.ranges.iter_mut().filter_map(Option::take) {
            // SAFETY: got, or mapped, with this length.
            unsafe {
                match way {
                    Way::Copied(room) => arena::put(room, length),
                    Way::Written(room) => drop(syscall::munmap(room.as_ptr(), length)),
                    Way::Zeroed => {}
                }
            }
        }
    }
}

/// Copies the pages that differ; returns their number.
///
/// # Safety
/// Whole pages that nothing else uses, so many bytes in both places.
unsafe fn copy_back(from: *const u8, to: usize, length: usize) -> u64 {
    let mut pages = 0;
    for at in (0..length).step_by(PAGE) {
        // SAFETY: a page in both places.
        unsafe {
            let (from, to) = (from.add(at), (to + at) as *mut u8);
            let (kept, now): (&[u8; PAGE], &[u8; PAGE]) = (&*from.cast(), &*to.cast());
            if kept != now {
                core::ptr::copy_nonoverlapping(from, to, PAGE);
                pages += 1;
            }
        }
    }
    pages
}

/// Zeroes the pages with other content; returns their number. A page that was never touched is not allocated for this.
///
/// # Safety
/// Whole pages that nothing else uses.
unsafe fn zero_again(start: usize, length: usize) -> u64 {
    static ZEROS: [u8; PAGE] = [0; PAGE];
    let mut pages = 0;
    for at in (start..start + length).step_by(PAGE) {
        // SAFETY: a page of the caller's.
        unsafe {
            let page = at as *mut [u8; PAGE];
            if *page != ZEROS {
                (*page).fill(0);
                pages += 1;
            }
        }
    }
    pages
}

impl Restored {
    /// Drops a range for which the written pages are unknown. If the kernel keeps it (pages that the program has locked), `again`
    /// restores all of it and returns how many pages differed.
    ///
    /// # Safety
    /// Private pages whose first content is that of the mapping itself; they are not in use.
    unsafe fn drop_unless(
        &mut self,
        done: Result<(), Errno>,
        start: usize,
        length: usize,
        again: impl Fn(usize, usize) -> u64,
    ) {
        if done.is_ok() {
            return;
        }
        // SAFETY: the caller's promise.
        match unsafe { syscall::madvise(start as *mut u8, length, MADV_DONTNEED) } {
            Ok(()) => self.dropped += length as u64,
            Err(_) => self.pages += again(start, length),
        }
    }
}

/// Puts pages into a file in memory, and maps that file below them. Returns a second mapping of it, for reading.
unsafe fn into_file(start: usize, length: usize) -> Result<NonNull<u8>, Errno> {
    let fd = syscall::memfd_create(c"underbar program", false)?;
    // SAFETY: the image's own pages, readable.
    let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, length) };
    let done = write_all(fd, bytes).and_then(|()| {
        // SAFETY: the same pages with the same bytes, of this program alone; the file has no other user, so it is not
        // shortened.
        unsafe {
            let rights = PROT_READ | PROT_WRITE;
            let kept = syscall::mmap(core::ptr::null_mut(), length, PROT_READ, MAP_SHARED, fd, 0)?;
            match syscall::mmap(start as *mut u8, length, rights, MAP_PRIVATE | MAP_FIXED, fd, 0) {
                Ok(_) => NonNull::new(kept).ok_or(Errno::ENOMEM),
                Err(errno) => {
                    let _ = syscall::munmap(kept, length);
                    Err(errno)
                }
            }
        }
    });
    let _ = syscall::close(fd);
    done
}

/// Writes all bytes to the beginning of a file.
pub(crate) fn write_all(fd: i32, bytes: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match syscall::pwrite(fd, rest, done as u64) {
            Ok(0) => return Err(Errno::EIO),
            Ok(written) => done += written,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn mlock(start: *const u8, length: usize) -> i32;
    }

    fn zeros(pages: usize) -> (Copy, *mut u8) {
        let start = syscall::map_anonymous(pages * PAGE).expect("memory");
        let mut copy = Copy { ranges: [None; MOST_RANGES], bytes: 0 };
        copy.ranges[0] = Some((start as usize, pages * PAGE, Way::Zeroed));
        (copy, start)
    }

    #[test]
    fn locked_pages_that_the_kernel_keeps_are_brought_back() {
        let (_, start) = zeros(2);
        let second = start.wrapping_add(PAGE);
        // SAFETY: this test's own pages.
        unsafe {
            second.write(7);
            assert_eq!(mlock(start, 2 * PAGE), 0, "two pages can be locked");
            let mut restored = Restored::default();
            restored.drop_unless(Err(Errno::ENOTTY), start as usize, 2 * PAGE, |at, length| {
                zero_again(at, length)
            });
            assert_eq!((second.read(), restored), (0, Restored { pages: 1, dropped: 0 }));
        }
    }

    #[test]
    fn an_image_without_one_of_its_pages_does_not_begin_again() {
        let (copy, start) = zeros(3);
        // SAFETY: this test's own pages.
        unsafe {
            start.write(7);
            assert_eq!(copy.restore(), Some(Restored { pages: 1, dropped: 0 }));
            assert_eq!(start.read(), 0);
            syscall::munmap(start.wrapping_add(PAGE), PAGE).expect("a page less");
            assert_eq!(copy.restore(), None);
        }
    }
}
