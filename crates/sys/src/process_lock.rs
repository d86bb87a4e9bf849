//! A lock on a file that tells which process has it.
//!
//! It belongs to a process (F_SETLK), not to an open file as those of [`crate::range_lock`]. Children do not inherit it. It is gone when
//! the process ends, or closes any descriptor of the file. The kernel gives the holder's number as it is in the asker's namespace of
//! process numbers: 0 if the holder has none there.
//!
//! Invariant: as in [`crate::syscall`], no C library, no `errno`, no allocation.

use crate::syscall::{Result, syscall3};

const FCNTL: usize = 72;
const GET: usize = 5;
const SET: usize = 6;
const EXCLUSIVE: i16 = 1;
const FREE: i16 = 2;

/// The kernel's `struct flock`. Zeros but for the kind: from the start of the file (SEEK_SET).
#[repr(C)]
struct Flock {
    kind: i16,
    whence: i16,
    start: i64,
    length: i64,
    process: i32,
}

const _: () = assert!(size_of::<Flock>() == 32, "struct flock of x86-64");

/// Takes the lock, on the first byte, for this process. The file must be open for writing.
///
/// # Errors
/// Another process has it; a file system without locks.
pub fn take(fd: i32) -> Result<()> {
    control(fd, SET).map(|_| ())
}

/// The process that has it, as this process sees it; None if no other process has it.
///
/// # Errors
/// A file system without locks.
pub fn holder(fd: i32) -> Result<Option<i32>> {
    control(fd, GET).map(|flock| (flock.kind != FREE).then_some(flock.process))
}

fn control(fd: i32, operation: usize) -> Result<Flock> {
    let mut flock = Flock { kind: EXCLUSIVE, whence: 0, start: 0, length: 1, process: 0 };
    // SAFETY: both operations read, and GET writes, one `struct flock`, whose layout and size `Flock` has.
    unsafe { syscall3(FCNTL, fd as isize as usize, operation, &raw mut flock as usize) }.map(|_| flock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::Errno;
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;
    use std::process::Command;

    #[test]
    fn another_process_sees_the_holder_and_this_one_does_not() {
        let path = std::env::temp_dir().join(std::format!("underbar-process-lock-{}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.expect("a file");
        assert_eq!((take(file.as_raw_fd()), holder(file.as_raw_fd())), (Ok(()), Ok(None)));
        let locks = std::fs::read_to_string("/proc/locks").expect("locks");
        let own = std::format!(" {} ", std::process::id());
        assert!(locks.lines().any(|line| line.contains("POSIX") && line.contains(&own)), "{locks}");
        let code = "import fcntl, sys; file = open(sys.argv[1], 'r+'); fcntl.lockf(file, fcntl.LOCK_EX, 1); \
                    print(flush=True); sys.stdin.read()";
        drop(file);
        let mut other = Command::new("python3");
        other.args(["-c", code]).arg(&path);
        other.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let Ok(mut other) = other.spawn() else { return };
        std::io::Read::read(other.stdout.as_mut().expect("piped"), &mut [0; 1]).expect("it has the lock");
        let file = OpenOptions::new().read(true).write(true).open(&path).expect("a file");
        assert_eq!(holder(file.as_raw_fd()), Ok(Some(other.id() as i32)));
        assert_eq!(take(file.as_raw_fd()), Err(Errno::EAGAIN));
        drop(other.stdin.take());
        other.wait().expect("it ends");
        std::fs::remove_file(&path).expect("it is there");
    }
}
