//! Advisory locks on byte ranges of an open file, across processes.
//!
//! They belong to the open file description (F_OFD_SETLK). Threads that open the file each have their own; a copied or
//! inherited descriptor shares them. The kernel releases them when the last descriptor is closed, also if the process was
//! killed. The bytes need not exist.
//!
//! Invariant: as in [`crate::syscall`], no C library, no `errno`, no allocation.

use crate::syscall::{Errno, Result, syscall3};

const FCNTL: usize = 72;
const GET: usize = 36;
const SET: usize = 37;
const SET_WAITING: usize = 38;
const SHARED: i16 = 0;
pub(crate) const EXCLUSIVE: i16 = 1;
pub(crate) const FREE: i16 = 2;

/// The kernel's `struct flock`, of these locks and of those of a process ([`crate::process_lock`]).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Flock {
    pub(crate) kind: i16,
    pub(crate) whence: i16,
    pub(crate) start: i64,
    pub(crate) length: i64,
    pub(crate) process: i32,
}

const _: () = assert!(size_of::<Flock>() == 32, "struct flock of x86-64");

/// The mode in which a range is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Others may hold it shared, too. The file must be open for reading.
    Shared,
    /// No other description may hold it. The file must be open for writing.
    Exclusive,
}

/// Holds `length` bytes from `start` on; false if another description holds them in a conflicting mode.
///
/// # Errors
/// A range beyond 2^63, a file that is not open for this mode, a file system without locks.
pub fn try_hold(fd: i32, start: u64, length: u64, hold: Hold) -> Result<bool> {
    match control(fd, SET, &mut flock(start, length, kind(hold))?) {
        Ok(()) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Like [`try_hold`], but waits while another description holds them.
///
/// # Errors
/// As [`try_hold`]; [`Errno::EINTR`] if a signal arrived.
pub fn hold(fd: i32, start: u64, length: u64, hold: Hold) -> Result<()> {
    control(fd, SET_WAITING, &mut flock(start, length, kind(hold))?)
}

/// Releases bytes. Bytes that were not held stay so.
///
/// # Errors
/// A range beyond 2^63.
pub fn release(fd: i32, start: u64, length: u64) -> Result<()> {
    control(fd, SET, &mut flock(start, length, FREE)?)
}

/// The first byte of the range that another description holds in any mode; None if there is none.
///
/// # Errors
/// A range beyond 2^63, a file system without locks.
pub fn lowest_held(fd: i32, start: u64, length: u64) -> Result<Option<u64>> {
    let (mut end, mut lowest) = (start.saturating_add(length), None);
    // The kernel names any one of the locks; the bytes before it are queried again, until no lock is left there.
    while end > start {
        let mut asked = flock(start, end - start, EXCLUSIVE)?;
        control(fd, GET, &mut asked)?;
        if asked.kind == FREE {
            break;
        }
        let found = u64::try_from(asked.start).unwrap_or(0).max(start);
        lowest = Some(found);
        end = found;
    }
    Ok(lowest)
}

fn kind(hold: Hold) -> i16 {
    match hold {
        Hold::Shared => SHARED,
        Hold::Exclusive => EXCLUSIVE,
    }
}

fn flock(start: u64, length: u64, kind: i16) -> Result<Flock> {
    let number = |value: u64| i64::try_from(value).map_err(|_| Errno::EINVAL);
    // From the start of the file (SEEK_SET); the process must be 0 for these locks.
    Ok(Flock { kind, whence: 0, start: number(start)?, length: number(length)?, process: 0 })
}

/// One of the operations of fcntl on locks.
pub(crate) fn control(fd: i32, operation: usize, flock: &mut Flock) -> Result<()> {
    // SAFETY: the operations read, and those that ask write, one `struct flock`, whose layout and size `Flock` has.
    unsafe { syscall3(FCNTL, fd as isize as usize, operation, flock as *mut Flock as usize) }.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;

    #[test]
    fn holds_of_several_descriptions() {
        let path = std::env::temp_dir().join(std::format!("underbar-range-lock-{}", std::process::id()));
        let open = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .expect("a file")
        };
        let (one, two, three) = (open(), open(), open());
        std::fs::remove_file(&path).expect("it is there");
        let [one, two, three] = [&one, &two, &three].map(AsRawFd::as_raw_fd);
        let far = 1 << 62;
        assert_eq!(lowest_held(one, far, 100), Ok(None));
        assert_eq!(try_hold(one, far, 1, Hold::Exclusive), Ok(true));
        assert_eq!(try_hold(two, far, 1, Hold::Exclusive), Ok(false));
        assert_eq!(try_hold(two, far + 7, 1, Hold::Shared), Ok(true));
        assert_eq!(try_hold(three, far + 7, 1, Hold::Shared), Ok(true));
        assert_eq!(try_hold(three, far + 5, 1, Hold::Shared), Ok(true));
        assert_eq!(lowest_held(one, far, 100), Ok(Some(far + 5)), "its own hold is none of another");
        assert_eq!(lowest_held(three, far + 1, 100), Ok(Some(far + 7)));
        assert_eq!(release(three, far + 5, 1), Ok(()));
        assert_eq!(lowest_held(one, far + 1, 6), Ok(None));
        assert_eq!(lowest_held(one, far + 1, 100), Ok(Some(far + 7)));
        assert_eq!(try_hold(one, 1 << 63, 1, Hold::Shared), Err(Errno::EINVAL));
    }
}
