//! Whether anybody else has a file open, asked of the kernel in two calls.
//!
//! The kernel grants a lease for writing on a file only if no other open description of it exists: no descriptor for writing in any
//! process, and no mapping made through one, however the process that has it was made. We give the lease back at once.
//!
//! Invariant: as in [`crate::syscall`], no C library, no `errno`, no allocation. A process that opens the file between the two calls
//! waits for the second one, or gets EAGAIN where it does not wait; and we get a signal that is ignored by default.
//! Not here: which process has it open (`/proc`), descriptors for reading only, which not every kernel counts.

use crate::syscall::{Errno, Result, syscall3};

const FCNTL: usize = 72;
const SET_SIGNAL: usize = 10;
const SET_LEASE: usize = 1024;
/// What comes when somebody opens the file meanwhile. Without a choice it is SIGIO, which ends a process.
const URGENT: usize = 23;
const WRITE: usize = 1;
const NONE: usize = 2;

/// Has another open description of this file the right to write, or a mapping?
///
/// # Errors
/// Where the kernel does not answer: a file system without leases, another user's file.
pub fn is_open_elsewhere(fd: i32) -> Result<bool> {
    control(fd, SET_SIGNAL, URGENT)?;
    match control(fd, SET_LEASE, WRITE) {
        Ok(()) => control(fd, SET_LEASE, NONE).map(|()| false),
        Err(Errno::EAGAIN) => Ok(true),
        Err(error) => Err(error),
    }
}

fn control(fd: i32, operation: usize, argument: usize) -> Result<()> {
    // SAFETY: these operations take a number, and touch no memory of this process.
    unsafe { syscall3(FCNTL, fd as isize as usize, operation, argument) }.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::{MAP_SHARED, PROT_READ, PROT_WRITE, mmap, munmap};
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_descriptor_and_a_mapping_of_another_description_are_seen() {
        // A child of another test has the descriptors until its exec.
        let _turn = crate::process_wide();
        let path = std::env::temp_dir().join(std::format!("underbar-lease-{}", std::process::id()));
        let open = |is_new: bool| {
            OpenOptions::new().read(true).write(true).create_new(is_new).open(&path).expect("a file")
        };
        let ours = open(true);
        ours.set_len(4096).expect("a page");
        let asks = || is_open_elsewhere(ours.as_raw_fd());
        if asks() == Err(Errno::EINVAL) {
            std::eprintln!("the file system of {} has no leases", path.display());
            std::fs::remove_file(&path).expect("removed");
            return;
        }
        assert_eq!(asks(), Ok(false));
        let other = open(false);
        assert_eq!(asks(), Ok(true), "a descriptor");
        let protection = PROT_READ | PROT_WRITE;
        // SAFETY: without MAP_FIXED a mapping replaces nothing; nobody touches it.
        let mapped =
            unsafe { mmap(core::ptr::null_mut(), 4096, protection, MAP_SHARED, other.as_raw_fd(), 0) };
        drop(other);
        assert_eq!(asks(), Ok(true), "a mapping whose descriptor is closed");
        // SAFETY: mapped above.
        unsafe { munmap(mapped.expect("mapped"), 4096) }.expect("unmapped");
        assert_eq!(asks(), Ok(false));
        let reader = File::open(&path).expect("to read");
        assert_eq!(is_open_elsewhere(reader.as_raw_fd()), Ok(true), "ours, seen from there");
        std::fs::remove_file(&path).expect("removed");
    }
}
