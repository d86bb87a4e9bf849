//! A program's segments in memory.
//!
//! ```text
//! reserved: |....|headers r|code rx|constants r|data rw|zeros rw|....|     start .. start + length: the range to give back
//!                ^ bias + low
//! ```
//!
//! If the content is in a file at a whole page, pages are mapped from it and read on reference; else they are
//! copied.
//!
//! Invariant: everything is within one reservation, which belongs to the program as long as it exists.
//! Not here: relocation.

use underbar_sys::syscall::{
    self, Errno, MAP_ANONYMOUS, MAP_FIXED, MAP_NORESERVE, MAP_POPULATE, MAP_PRIVATE, PROT_NONE, PROT_READ,
    PROT_WRITE,
};

use crate::content::Content;
use crate::elf::{Layout, PAGE, Segment};

/// Pages may be executed.
pub(crate) const PROT_EXEC: u32 = 4;

/// The rights of a segment that is neither written nor executed.
const READ_ONLY: u32 = 4;
/// Make pages present, for reading.
const POPULATE_READ: u32 = 22;

/// A mapped program.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    start: usize,
    length: usize,
    /// The bias of the file's addresses.
    pub bias: usize,
}

impl Mapping {
    /// Maps or copies the segments. Read-only segments then have their rights; the others can be written.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn new(layout: &Layout, content: &dyn Content) -> Result<Mapping, Errno> {
        let slack = layout.alignment - PAGE;
        let length = layout.span().checked_add(slack).ok_or(Errno::ENOMEM)? as usize;
        // If the file can be mapped, its own first segment is the reservation. This saves one call, and one more for each other
        // segment that is only read and has the same distance from its offset in the file. The gaps between segments are then
        // pages of the file to which no address refers.
        let first = layout.segments().first().filter(|first| first.rights == READ_ONLY && first.in_file > 0);
        let of_file = first.zip(content.mapping()).filter(|_| slack == 0);
        // SAFETY: without MAP_FIXED a mapping replaces nothing; the file's part is within the file.
        let start = unsafe {
            match of_file {
                Some((first, (fd, offset))) => {
                    let at = offset + (first.offset & !(PAGE - 1));
                    syscall::mmap(core::ptr::null_mut(), length, PROT_READ, MAP_PRIVATE, fd, at)?
                }
                None => {
                    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
                    syscall::mmap(core::ptr::null_mut(), length, PROT_NONE, flags, -1, 0)?
                }
            }
        } as usize;
        // The first address in the reservation with the same alignment as `low`.
        let skip = layout.low.wrapping_sub(start as u64) & (layout.alignment - 1);
        let bias = start.wrapping_add(skip as usize).wrapping_sub(layout.low as usize);
        let mapping = Mapping { start, length, bias };
        let moved = |segment: &Segment| segment.address.wrapping_sub(segment.offset);
        let is_mapped = |segment: &Segment| {
            let is_like = |first: &Segment| {
                segment.rights == READ_ONLY
                    && moved(segment) == moved(first)
                    && segment.offset >= content.initial()
            };
            of_file.is_some_and(|(first, _)| {
                segment.in_file == segment.size && (first == segment || is_like(first))
            })
        };
        for segment in layout.segments().iter().filter(|segment| !is_mapped(segment)) {
            // SAFETY: the segment is within [low, high), and so in the reservation, which has no other user.
            if let Err(errno) = unsafe { mapping.fill(segment, content) } {
                // SAFETY: the pages are not in use yet.
                unsafe { mapping.unmap() };
                return Err(errno);
            }
        }
        Ok(mapping)
    }

    /// Gives all of it back.
    ///
    /// # Safety
    /// Nothing in it is in use any more.
    pub unsafe fn unmap(&self) {
        // SAFETY: the caller's promise; the reservation is ours.
        let _ = unsafe { syscall::munmap(self.start as *mut u8, self.length) };
    }

    /// The address in memory of an address in the file.
    #[must_use]
    pub fn at(&self, address: u64) -> *mut u8 {
        self.bias.wrapping_add(address as usize) as *mut u8
    }

    /// Changes the rights of whole pages.
    ///
    /// # Safety
    /// The pages are of this program, and nothing relies on a right that is removed.
    pub unsafe fn protect(&self, address: u64, length: u64, rights: u32) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { syscall::mprotect(self.at(address), length as usize, rights) }
    }

    /// Maps or copies a segment's bytes.
    unsafe fn fill(&self, segment: &Segment, content: &dyn Content) -> Result<(), Errno> {
        let (page, end) = (segment.address & !(PAGE - 1), segment.end().next_multiple_of(PAGE));
        let file_end = (segment.address + segment.in_file).next_multiple_of(PAGE).min(end);
        let rights = protection(segment);
        let zeros = segment.in_file < segment.size;
        // SAFETY: all in the reservation, by page; the file's part is within the file, as the layout was checked.
        unsafe {
            let mapped = match content.mapping() {
                Some((fd, offset)) if segment.in_file > 0 => {
                    let at = offset + (segment.offset & !(PAGE - 1));
                    let rights = if zeros { rights | PROT_WRITE } else { rights };
                    let length = (file_end - page) as usize;
                    // At once: all of it if LOAD reads all, or the part that LOAD reads.
                    let present = content.initial().saturating_sub(segment.offset & !(PAGE - 1)) as usize;
                    let populate = if present >= length { MAP_POPULATE } else { 0 };
                    syscall::mmap(self.at(page), length, rights, MAP_PRIVATE | MAP_FIXED | populate, fd, at)?;
                    if present > 0 && present < length && segment.is_readable() {
                        // Older kernels do not support this; the pages are then read on reference.
                        let _ = syscall::madvise(self.at(page), present, POPULATE_READ);
                    }
                    file_end
                }
                _ => page,
            };
            if end > mapped {
                let (flags, length) = (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (end - mapped) as usize);
                let wanted = if mapped == page { PROT_READ | PROT_WRITE } else { rights };
                syscall::mmap(self.at(mapped), length, wanted, flags, -1, 0)?;
            }
            if mapped == page {
                let length = segment.in_file as usize;
                let into = core::slice::from_raw_parts_mut(self.at(segment.address), length);
                content.read(segment.offset, into)?;
            } else if zeros {
                // The rest of the last page of the file's part contains the bytes that follow in the file.
                let rest = segment.address + segment.in_file;
                self.at(rest).write_bytes(0, (file_end - rest) as usize);
            }
            let has_other_rights = !segment.is_writable() && zeros || mapped == page;
            if has_other_rights && rights != PROT_READ | PROT_WRITE {
                self.protect(page, end - page, rights)?;
            }
        }
        Ok(())
    }
}

/// The rights of a segment, in the kernel's numbers.
fn protection(segment: &Segment) -> u32 {
    let mut rights = PROT_NONE;
    for (has, right) in [
        (segment.is_readable(), PROT_READ),
        (segment.is_writable(), PROT_WRITE),
        (segment.is_executable(), PROT_EXEC),
    ] {
        rights |= if has { right } else { 0 };
    }
    rights
}
