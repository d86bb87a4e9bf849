//! The initial state of an image, kept so that the image can begin again (what VLF is to LLA).
//!
//! ```text
//! writable pages of an image      kept as                                    restored by
//!   the file's, up to 64 KiB      a copy in the arena                        comparing, and copying pages that differ
//!   the file's, beyond            a file in memory, mapped privately         dropping the private pages
//!   zeros                         nothing                                    dropping the private pages
//! ```
//!
//! Pages that are protected after relocation are not written by the program, so they need neither.
//!
//! Invariant: after [`Copy::restore`] each writable byte is what it was when [`Copy::take`] was called.
//! Cost: a program with one page of data is restored by reading two pages.
//! Not here: which images are kept, and for how long (`table`).

use core::ptr::NonNull;

use underbar_sys::syscall::{self, Errno, MADV_DONTNEED, MAP_FIXED, MAP_PRIVATE, PROT_READ, PROT_WRITE};

use crate::arena;
use crate::image::{Image, Writable};

const PAGE: usize = 4096;
/// Up to so many bytes are copied; beyond, the kernel's page table is quicker.
const MOST_COPIED: usize = 64 << 10;
/// Ranges of writable pages in one image: two for each segment, and their zeros.
const MOST_RANGES: usize = 8;

/// How one range is brought back.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// From this copy.
    Copied(NonNull<u8>),
    /// By dropping pages.
    Dropped,
}

/// The initial state of an image.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    ranges: [Option<(usize, usize, Way)>; MOST_RANGES],
    /// Bytes that the copy takes itself.
    pub bytes: u64,
}

/// What a restoration did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Pages that had been written, and were copied.
    pub pages: u64,
    /// Bytes of ranges whose private pages were dropped, written or not.
    pub dropped: u64,
}

impl Copy {
    /// Keeps the state of an image that was relocated and has not begun.
    ///
    /// # Safety
    /// Nobody uses the image yet.
    ///
    /// # Errors
    /// No room for it, more ranges than are kept ([`Errno::E2BIG`]), or code that the program writes ([`Errno::EACCES`]).
    pub unsafe fn take(image: &Image) -> Result<Copy, Errno> {
        let mut copy = Copy { ranges: [None; MOST_RANGES], bytes: 0 };
        let ranges = image.writable().filter(|range| range.length > 0);
        for (number, Writable { start, length, is_zeros, is_code }) in ranges.enumerate() {
            let Some(place) = copy.ranges.get_mut(number) else {
                // SAFETY: taken just now.
                unsafe { copy.free() };
                return Err(Errno::E2BIG);
            };
            let way = match (is_zeros, length <= MOST_COPIED) {
                _ if is_code => Err(Errno::EACCES),
                (true, _) => Ok(Way::Dropped),
                // SAFETY: the image's own pages, which nobody uses.
                (false, true) => arena::get(length).map(|room| unsafe {
                    core::ptr::copy_nonoverlapping(start as *const u8, room.as_ptr(), length);
                    Way::Copied(room)
                }),
                // SAFETY: the same.
                (false, false) => unsafe { into_file(start, length) }.map(|()| Way::Dropped),
            };
            match way {
                Ok(way) => *place = Some((start, length, way)),
                Err(errno) => {
                    // SAFETY: taken just now.
                    unsafe { copy.free() };
                    return Err(errno);
                }
            }
            copy.bytes += if is_zeros { 0 } else { length as u64 };
        }
        Ok(copy)
    }

    /// Brings the image back to that state.
    ///
    /// # Safety
    /// The image has ended, and nobody uses its data.
    pub unsafe fn restore(&self) -> Restored {
        let mut restored = Restored::default();
        for (start, length, way) in self.ranges.iter().flatten().copied() {
            match way {
                Way::Copied(room) => {
                    for at in (0..length).step_by(PAGE) {
                        // SAFETY: a page of the copy and one of the image, both whole and of nobody else's use.
                        unsafe {
                            let (from, to) = (room.as_ptr().add(at), (start + at) as *mut u8);
                            let (kept, now): (&[u8; PAGE], &[u8; PAGE]) = (&*from.cast(), &*to.cast());
                            if kept != now {
                                core::ptr::copy_nonoverlapping(from, to, PAGE);
                                restored.pages += 1;
                            }
                        }
                    }
                }
                Way::Dropped => {
                    // SAFETY: private pages whose first content is what lies below them: zeros, or our file.
                    let _ = unsafe { syscall::madvise(start as *mut u8, length, MADV_DONTNEED) };
                    restored.dropped += length as u64;
                }
            }
        }
        restored
    }

    /// Gives the copy back. What is below a mapped range goes with the image.
    ///
    /// # Safety
    /// It is not used any more.
    pub unsafe fn free(&mut self) {
        for (_, length, way) in self.ranges.iter_mut().filter_map(Option::take) {
            if let Way::Copied(room) = way {
                // SAFETY: got with this length.
                unsafe { arena::put(room, length) };
            }
        }
    }
}

/// Puts pages into a file in memory, and that below them.
unsafe fn into_file(start: usize, length: usize) -> Result<(), Errno> {
    let fd = syscall::memfd_create(c"underbar program", false)?;
    // SAFETY: the image's own pages, readable.
    let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, length) };
    let done = write_all(fd, bytes).and_then(|()| {
        // SAFETY: the same pages with the same bytes, of this program alone; the file has no other user, so it is not
        // shortened.
        unsafe {
            let rights = PROT_READ | PROT_WRITE;
            syscall::mmap(start as *mut u8, length, rights, MAP_PRIVATE | MAP_FIXED, fd, 0).map(|_| ())
        }
    });
    let _ = syscall::close(fd);
    done
}

/// Writes everything to the beginning of a file.
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
