//! Reads and writes of caches of files (WORKFILE, PRINT), which this library makes for the program: counted, so that the sum is the kernel's.
//!
//! The component is this library; who calls it is sampled, as for other libraries that stand between programs and the kernel.
//!
//! Invariant: off, the system call and a test of a flag. A call counts without its descriptor: the caches' lock may be held, so nothing is
//! asked about the file.
//! Not here: the caches (`file_cache`).

use underbar_ledger::switch_names::{CACHE_READ, CACHE_WRITE};
use underbar_ledger::switches::key;
use underbar_sys::syscall::{self, Errno};

use super::{is_on, sites};
use crate::callers;

/// Writes, as the system call does.
pub(crate) fn write(fd: i32, bytes: &[u8]) -> Result<usize, Errno> {
    if is_on() {
        count(CACHE_WRITE, bytes.len());
    }
    syscall::write(fd, bytes)
}

/// Reads, as the system call does.
pub(crate) fn read(fd: i32, room: &mut [u8]) -> Result<usize, Errno> {
    if is_on() {
        count(CACHE_READ, room.len());
    }
    syscall::read(fd, room)
}

#[cold]
fn count(function: usize, bytes: usize) {
    let here = count as *const () as usize as u64;
    sites::count(key(function, here), bytes as u64, 0, callers::stack_pointer());
}
