//! Files next to the ledger, each of one process: lock areas, sample areas.
//!
//! ```text
//! <ledger>.<process>-<nanoseconds since boot, hexadecimal>.<ending>
//! ```
//!
//! Invariant: a page has memory before anybody touches it, so a full file system means no file or fewer pages, never SIGBUS. No
//! descriptor stays open.
//! Not here: the contents of the files (`underbar_ledger`), and when they are removed (the host).

use core::ffi::CStr;
use core::ptr::null_mut;

use underbar_sys::machine::is_file_allowed;
use underbar_sys::syscall;

use super::{attach, reached};

const CLOCK_BOOTTIME: u32 = 7;
/// Longest path of such a file.
const PATH_BYTES: usize = 600;

/// Makes a file of that many zeros and maps it for ever, for reading and writing. None if there is no ledger, or no room.
pub(crate) fn make(ending: &CStr, bytes: usize) -> Option<*mut u8> {
    make_growing(ending, bytes, bytes).map(|(start, _)| start)
}

/// As [`make`], with memory for the first bytes, and how many have memory. Nobody may touch the others before [`back`] has given them
/// some: a page that finds none would end the program.
pub(crate) fn make_growing(ending: &CStr, bytes: usize, first: usize) -> Option<(*mut u8, usize)> {
    if attach::mapped_header().is_none() || !is_file_allowed(bytes) {
        return None;
    }
    let mut room = [0_u8; PATH_BYTES];
    let path = path(ending, &mut room)?;
    let flags =
        syscall::O_RDWR | syscall::O_CREAT | syscall::O_EXCL | syscall::O_CLOEXEC | syscall::O_NOFOLLOW;
    let fd = syscall::open(path, flags, 0o600).ok()?;
    let made = map(fd, bytes, first);
    let _ = syscall::close(fd);
    if made.is_err() {
        let _ = syscall::unlink(path);
    }
    made.ok()
}

fn map(fd: i32, bytes: usize, first: usize) -> syscall::Result<(*mut u8, usize)> {
    syscall::fallocate(fd, 0, 0, first as u64)?;
    if first < bytes {
        syscall::ftruncate(fd, bytes as u64)?;
    }
    let protection = syscall::PROT_READ | syscall::PROT_WRITE;
    // SAFETY: without MAP_FIXED a mapping replaces nothing. The file is never shortened.
    let start = unsafe { syscall::mmap(null_mut(), bytes, protection, syscall::MAP_SHARED, fd, 0)? };
    // SAFETY: a page of the mapping.
    if first == bytes || unsafe { back(start, 4096) } {
        return Ok((start, first));
    }
    // A kernel before 5.14.
    let all = syscall::fallocate(fd, 0, 0, bytes as u64).map(|()| (start, bytes));
    if all.is_err() {
        // SAFETY: nobody knows of the mapping yet.
        let _ = unsafe { syscall::munmap(start, bytes) };
    }
    all
}

/// Gives pages of such a file memory. False if there is none.
///
/// # Safety
/// They are in the mapping.
pub(crate) unsafe fn back(start: *mut u8, bytes: usize) -> bool {
    // SAFETY: the caller's promise; no content changes.
    unsafe { syscall::madvise(start, bytes, syscall::MADV_POPULATE_WRITE).is_ok() }
}

fn path<'a>(ending: &CStr, room: &'a mut [u8; PATH_BYTES]) -> Option<&'a CStr> {
    let mut length = reached::path(room)?;
    let (mut decimals, mut hexadecimals) = ([0; 10], [0; 16]);
    let process = decimal(syscall::getpid() as u32, &mut decimals);
    let moment = hexadecimal(syscall::clock_nanoseconds(CLOCK_BOOTTIME), &mut hexadecimals);
    for part in [b".".as_slice(), process, b"-", moment, b".", ending.to_bytes_with_nul()] {
        room.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    CStr::from_bytes_until_nul(room).ok()
}

/// A number in digits.
pub(crate) fn decimal(mut number: u32, room: &mut [u8; 10]) -> &[u8] {
    let mut at = room.len();
    loop {
        at -= 1;
        room[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &room[at..];
        }
    }
}

fn hexadecimal(mut number: u64, room: &mut [u8; 16]) -> &[u8] {
    let mut at = room.len();
    loop {
        at -= 1;
        room[at] = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
        if number == 0 {
            return &room[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written() {
        for number in [0, 7, 4_194_304, u32::MAX] {
            assert_eq!(decimal(number, &mut [0; 10]), std::format!("{number}").as_bytes());
            let wide = u64::from(number) << 20 | 5;
            assert_eq!(hexadecimal(wide, &mut [0; 16]), std::format!("{wide:x}").as_bytes());
        }
        assert_eq!(hexadecimal(u64::MAX, &mut [0; 16]), b"ffffffffffffffff");
    }
}
