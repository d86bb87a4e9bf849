//! A lock on a file that tells which process has it.
//!
//! It belongs to a process (F_SETLK), not to an open file as those of [`crate::range_lock`]. Children do not inherit it. It is gone when
//! the process ends, or closes any descriptor of the file. The kernel gives the holder's number as it is in the asker's namespace of
//! process numbers: 0 if the holder has none there.
//!
//! Invariant: as in [`crate::syscall`], no C library, no `errno`, no allocation.

use crate::range_lock::{EXCLUSIVE, FREE, Flock, control};
use crate::syscall::Result;

const GET: usize = 5;
const SET: usize = 6;
/// The first byte, from the start of the file (SEEK_SET).
const LOCK: Flock = Flock { kind: EXCLUSIVE, whence: 0, start: 0, length: 1, process: 0 };

/// Takes the lock, on the first byte, for this process. The file must be open for writing.
///
/// # Errors
/// Another process has it; a file system without locks.
pub fn take(fd: i32) -> Result<()> {
    control(fd, SET, &mut { LOCK })
}

/// The process that has it, as this process sees it; None if no other process has it.
///
/// # Errors
/// A file system without locks.
pub fn holder(fd: i32) -> Result<Option<i32>> {
    let mut asked = LOCK;
    control(fd, GET, &mut asked)?;
    Ok((asked.kind != FREE).then_some(asked.process))
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
