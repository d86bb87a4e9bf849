//! Calls about memory: creating, moving and removing mappings, and advice about their pages.

use core::ffi::CStr;

use super::{Result, number, prctl, syscall3, syscall6};

/// Pages may not be accessed.
pub const PROT_NONE: u32 = 0;
/// Pages may be read.
pub const PROT_READ: u32 = 1;
/// Pages may be written.
pub const PROT_WRITE: u32 = 2;
/// Pages may be executed.
pub const PROT_EXEC: u32 = 4;

/// Everyone who maps the same file sees the stores.
pub const MAP_SHARED: u32 = 0x01;
/// Stores are private to this process.
pub const MAP_PRIVATE: u32 = 0x02;
/// Exactly at the hint, replacing any mapping there.
pub const MAP_FIXED: u32 = 0x10;
/// No file: zeroed pages.
pub const MAP_ANONYMOUS: u32 = 0x20;
/// Do not reserve swap space for it.
pub const MAP_NORESERVE: u32 = 0x4000;
/// Make the pages present at once.
pub const MAP_POPULATE: u32 = 0x8000;
/// Exactly at the hint, or [`Errno::EEXIST`](super::Errno::EEXIST) if something is mapped there.
pub const MAP_FIXED_NOREPLACE: u32 = 0x10_0000;

/// Drop the pages now; private anonymous ones read as zero afterwards.
pub const MADV_DONTNEED: u32 = 4;
/// The kernel may drop the pages when it needs memory.
pub const MADV_FREE: u32 = 8;
/// Use huge pages here.
pub const MADV_HUGEPAGE: u32 = 14;
/// Do not use huge pages here.
pub const MADV_NOHUGEPAGE: u32 = 15;
/// Leave the pages out of core dumps.
pub const MADV_DONTDUMP: u32 = 16;
/// Children see zeroed pages here after fork.
pub const MADV_WIPEONFORK: u32 = 18;
/// Make the pages present and writable now.
pub const MADV_POPULATE_WRITE: u32 = 23;
/// Children do not have these pages after fork.
pub const MADV_DONTFORK: u32 = 10;
/// Children get the pages again.
pub const MADV_DOFORK: u32 = 11;

/// [`mremap`] may choose another address.
pub const MREMAP_MAYMOVE: u32 = 1;

/// Maps `length` bytes. `fd` is -1 and `offset` 0 for anonymous memory. The result is never null.
///
/// # Safety
/// With [`MAP_FIXED`] nothing in the range may be in use. For files, the caller accepts that others change the content and
/// that access to a shortened file is a SIGBUS.
#[inline]
pub unsafe fn mmap(
    hint: *mut u8,
    length: usize,
    protection: u32,
    flags: u32,
    fd: i32,
    offset: u64,
) -> Result<*mut u8> {
    // SAFETY: the caller's promise; the kernel reads no memory of ours for this call.
    let address = unsafe {
        syscall6(
            number::MMAP,
            hint as usize,
            length,
            protection as usize,
            flags as usize,
            fd as isize as usize,
            offset as usize,
        )?
    };
    Ok(address as *mut u8)
}

/// Maps `length` bytes of private zeroed memory, readable and writable, at an address that the kernel chooses.
#[inline]
pub fn map_anonymous(length: usize) -> Result<*mut u8> {
    // SAFETY: without MAP_FIXED a mapping replaces nothing.
    unsafe { mmap(core::ptr::null_mut(), length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) }
}

/// The same at `address`, if nothing is mapped there; at another address on kernels before 4.17.
#[inline]
pub fn map_anonymous_at(address: usize, length: usize) -> Result<*mut u8> {
    const MAP_FIXED_NOREPLACE: u32 = 0x10_0000;
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    // SAFETY: with this flag, too, a mapping replaces nothing.
    unsafe { mmap(address as *mut u8, length, PROT_READ | PROT_WRITE, flags, -1, 0) }
}

/// Unmaps the pages of `[address, address + length)`.
///
/// # Safety
/// The range may no longer be in use. `address` is a multiple of the page size.
#[inline]
pub unsafe fn munmap(address: *mut u8, length: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { syscall3(number::MUNMAP, address as usize, length, 0)? };
    Ok(())
}

/// Grows, shrinks or (with [`MREMAP_MAYMOVE`]) moves a mapping; returns its new address.
///
/// # Safety
/// The old range must be one whole mapping of the caller; after a move the old addresses may no longer be used.
#[inline]
pub unsafe fn mremap(address: *mut u8, old: usize, new: usize, flags: u32) -> Result<*mut u8> {
    // SAFETY: the caller's promise.
    let moved = unsafe { syscall6(number::MREMAP, address as usize, old, new, flags as usize, 0, 0)? };
    Ok(moved as *mut u8)
}

/// Moves or resizes a mapping to an address that the caller chooses.
///
/// # Safety
/// As [`mremap`]; and the mapping at `to` is removed.
#[inline]
pub unsafe fn mremap_to(address: *mut u8, old: usize, new: usize, to: *mut u8) -> Result<*mut u8> {
    const MAYMOVE_AND_FIXED: usize = 3;
    // SAFETY: the caller's promise.
    let moved =
        unsafe { syscall6(number::MREMAP, address as usize, old, new, MAYMOVE_AND_FIXED, to as usize, 0)? };
    Ok(moved as *mut u8)
}

/// Changes the permissions of pages.
///
/// # Safety
/// Nothing may rely on a permission that is removed.
#[inline]
pub unsafe fn mprotect(address: *mut u8, length: usize, protection: u32) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { syscall3(number::MPROTECT, address as usize, length, protection as usize)? };
    Ok(())
}

/// Tells which pages from `address` on are in memory: one byte for each, of which the lowest bit matters. `address` is a
/// multiple of the page size; [`Errno::ENOMEM`](super::Errno::ENOMEM) if part of the range is not mapped.
#[inline]
pub fn mincore(address: usize, pages: &mut [u8]) -> Result<()> {
    // SAFETY: the kernel writes one byte for each page of the length given, and reads no memory of the range.
    unsafe { syscall3(number::MINCORE, address, pages.len() * 4096, pages.as_mut_ptr() as usize)? };
    Ok(())
}

/// Advises the kernel about pages (`MADV_*`).
///
/// # Safety
/// Some advice drops content ([`MADV_DONTNEED`], [`MADV_FREE`]): nothing may rely on it then.
#[inline]
pub unsafe fn madvise(address: *mut u8, length: usize, advice: u32) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { syscall3(number::MADVISE, address as usize, length, advice as usize)? };
    Ok(())
}

/// Consecutive pages, as [`pagemap_scan`] finds them: from an address to before another one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// The address of the first page.
    pub start: u64,
    /// The address after the last one.
    pub end: u64,
    categories: u64,
}

/// Finds the pages of a range that belong to this process alone: neither pages of a mapped file nor the page of zeros, and
/// written. `fd` is `/proc/self/pagemap`. Returns how many runs of pages it put into `found`, and how far it looked.
///
/// Kernels before 6.7 refuse (ENOTTY).
pub fn pagemap_scan(fd: i32, range: (u64, u64), found: &mut [Pages]) -> Result<(usize, u64)> {
    const PAGEMAP_SCAN: usize = 0xc060_6610;
    const FILE: u64 = 1 << 2;
    const PRESENT: u64 = 1 << 3;
    const SWAPPED: u64 = 1 << 4;
    const ZERO: u64 = 1 << 5;
    /// `struct pm_scan_arg`.
    #[repr(C)]
    struct Scan {
        size: u64,
        flags: u64,
        start: u64,
        end: u64,
        walk_end: u64,
        found: u64,
        room: u64,
        most_pages: u64,
        inverted: u64,
        all_of: u64,
        any_of: u64,
        told: u64,
    }
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        flags: 0,
        start: range.0,
        end: range.1,
        walk_end: 0,
        found: found.as_mut_ptr() as u64,
        room: found.len() as u64,
        most_pages: 0,
        inverted: FILE | ZERO,
        all_of: FILE | ZERO,
        any_of: PRESENT | SWAPPED,
        told: PRESENT,
    };
    // SAFETY: the kernel reads and writes the structure, and writes at most `room` runs; both are exclusively borrowed.
    let count =
        unsafe { syscall3(number::IOCTL, fd as isize as usize, PAGEMAP_SCAN, (&raw mut scan) as usize)? };
    Ok((count, scan.walk_end))
}

/// Gives a name to private anonymous memory, seen in `/proc/PID/maps` as `[anon:NAME]`; older kernels refuse.
///
/// `name` has at most 79 printable characters, without `\`, `` ` ``, `$`, `[` and `]`.
#[inline]
pub fn name_mapping(address: *mut u8, length: usize, name: &CStr) -> Result<()> {
    const PR_SET_VMA: u32 = 0x53_56_4d_41;
    const PR_SET_VMA_ANON_NAME: usize = 0;
    // SAFETY: the kernel reads the C string and labels mappings; their content and rights stay.
    unsafe {
        prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, address as usize, length, name.as_ptr() as usize)?;
    }
    Ok(())
}

/// A piece of memory, in the kernel's format for vectors.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Piece {
    /// Its address.
    pub address: usize,
    /// Its bytes.
    pub length: usize,
}

/// Reads pieces of this process's memory (`process` is its number), some of which may be unmapped, into `words`, one word of
/// four bytes for each piece. Returns how many were read before the first unmapped one.
pub fn read_words(process: i32, pieces: &[Piece], words: &mut [u32]) -> Result<usize> {
    let to = Piece { address: words.as_mut_ptr() as usize, length: size_of_val(words) };
    // SAFETY: the kernel writes within `words`, which is exclusively borrowed, and checks itself which memory may be read.
    let bytes = unsafe {
        syscall6(
            number::PROCESS_VM_READV,
            process as usize,
            &raw const to as usize,
            1,
            pieces.as_ptr() as usize,
            pieces.len(),
            0,
        )?
    };
    Ok(bytes / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_moves_and_goes() {
        let page = map_anonymous(4096).expect("a page");
        // SAFETY: `page` is 4096 bytes that this test mapped; after the move only `moved` is used.
        unsafe {
            page.write(7);
            name_mapping(page, 4096, c"underbar test").ok();
            let moved = mremap(page, 4096, 1 << 20, MREMAP_MAYMOVE).expect("room");
            assert_eq!(moved.read(), 7);
            madvise(moved, 1 << 20, MADV_DONTNEED).expect("advice");
            assert_eq!(moved.read(), 0);
            munmap(moved, 1 << 20).expect("given back");
        }
    }
}
