//! Reads that underbar makes within the program's process, counted: the kernel counts them as the program's, and the report
//! subtracts them again.
//!
//! Invariant: all code here that reads a file uses these functions.
//! Not here: the purpose of the reads.

use underbar_ledger::Key;
use underbar_sys::syscall::{self, Errno};

use super::add;

/// Bytes of this library that the loader read before any of its code ran: the head of its file.
pub fn at_start() {
    const HEAD: u64 = 832;
    add(Key::OwnReads, 1);
    add(Key::OwnReadBytes, HEAD);
}

/// `read`.
///
/// # Errors
/// The kernel's.
pub fn read(fd: i32, buffer: &mut [u8]) -> Result<usize, Errno> {
    counted(syscall::read(fd, buffer))
}

/// `pread`.
///
/// # Errors
/// The kernel's.
pub fn pread(fd: i32, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    counted(syscall::pread(fd, buffer, offset))
}

fn counted(done: Result<usize, Errno>) -> Result<usize, Errno> {
    add(Key::OwnReads, 1);
    add(Key::OwnReadBytes, *done.as_ref().unwrap_or(&0) as u64);
    done
}
