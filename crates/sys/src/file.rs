//! The kernel's data about a file that is about to be executed: kind, owner, special rights.
//!
//! Invariant: as in [`crate::syscall`], no C library, no `errno`, no allocation, so its functions may be called between vfork
//! and exec.
//! Not here: the content of the file (`carry` of preloadable).

use crate::syscall::{Errno, MAP_PRIVATE, PROT_READ, Result, mmap, munmap, number, syscall3, syscall6};
use core::ffi::{CStr, c_char};

/// The fields of the kernel's `struct stat` that we read, at their offsets.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Status {
    /// Device that holds the file.
    pub device: u64,
    /// Number of the file on its device.
    pub inode: u64,
    links: u64,
    /// Kind of file and permissions, as in `st_mode`.
    pub mode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    padding: u32,
    special_device: u64,
    /// Length in bytes.
    pub size: i64,
    block_size: u64,
    blocks: u64,
    accessed: [u64; 2],
    modified: [u64; 2],
    rest: [u64; 5],
}

const _: () = assert!(size_of::<Status>() == 144, "struct stat of x86-64");

impl Status {
    /// Takes the owner's rights when executed.
    pub const SET_USER: u32 = 0o4000;
    /// Takes the group's rights when executed.
    pub const SET_GROUP: u32 = 0o2000;

    /// Time of the last change of the content: seconds since 1970, and nanoseconds.
    #[must_use]
    pub fn changed(&self) -> (u64, u64) {
        (self.modified[0], self.modified[1])
    }

    /// Is it a regular file?
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }

    /// Is it a directory?
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

/// The status of an open file.
#[inline]
pub fn fstat(fd: i32) -> Result<Status> {
    let mut status = Status::default();
    // SAFETY: the kernel writes one `struct stat`, whose layout and size `Status` has.
    unsafe { syscall3(number::FSTAT, fd as isize as usize, &raw mut status as usize, 0)? };
    Ok(status)
}

/// The status of the file at `path`, following symbolic links.
#[inline]
pub fn stat(path: &CStr) -> Result<Status> {
    statat(crate::syscall::AT_FDCWD, path)
}

/// The status of the file at `path`, relative to the directory `fd`, following symbolic links.
#[inline]
pub fn statat(fd: i32, path: &CStr) -> Result<Status> {
    let mut status = Status::default();
    // SAFETY: as `fstat`; `path` is a C string for the whole call.
    unsafe {
        syscall6(
            number::NEWFSTATAT,
            fd as isize as usize,
            path.as_ptr() as usize,
            &raw mut status as usize,
            0,
            0,
            0,
        )?
    };
    Ok(status)
}

/// Does the open file carry capabilities, so that the loader distrusts the environment?
#[inline]
#[must_use]
pub fn has_capabilities(fd: i32) -> bool {
    const FGETXATTR: usize = 193;
    // SAFETY: with a size of 0 the kernel writes nothing and answers the attribute's length.
    let length = unsafe {
        syscall6(FGETXATTR, fd as isize as usize, c"security.capability".as_ptr() as usize, 0, 0, 0, 0)
    };
    length.is_ok_and(|bytes| bytes > 0)
}

/// May the loader map code from the open file? It may not if its file system forbids execution.
#[must_use]
pub fn is_executable_mapping_allowed(fd: i32) -> bool {
    const PROT_EXEC: u32 = 4;
    const PAGE: usize = 4096;
    // SAFETY: without MAP_FIXED a mapping replaces nothing, and this one is given back untouched.
    unsafe {
        mmap(core::ptr::null_mut(), PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0)
            .is_ok_and(|page| munmap(page, PAGE).is_ok())
    }
}

/// The effective group of this process.
#[inline]
#[must_use]
pub fn getegid() -> u32 {
    const GETEGID: usize = 108;
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(GETEGID, 0, 0, 0) }.map_or(u32::MAX, |group| group as u32)
}

/// The target of a symbolic link: fills `buffer` and returns the number of bytes. A longer target is cut without notice.
pub fn readlink<'a>(path: &CStr, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
    // SAFETY: the kernel reads the path up to its zero byte and writes at most the buffer.
    let length = unsafe {
        syscall3(number::READLINK, path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len())?
    };
    Ok(buffer.get(..length).unwrap_or_default())
}

/// The parent process; 0 if it is outside our process namespace.
#[inline]
#[must_use]
pub fn getppid() -> i32 {
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(number::GETPPID, 0, 0, 0) }.map_or(0, |pid| pid as i32)
}

/// Replaces this process by the program at `path`. Returns only on failure, with the reason.
///
/// # Safety
/// `arguments` and `environment` are null or arrays of C strings that end with a null pointer.
pub unsafe fn execve(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Errno {
    // SAFETY: the caller's promise.
    let back = unsafe { syscall3(number::EXECVE, path as usize, arguments as usize, environment as usize) };
    back.err().unwrap_or(Errno::EIO)
}

/// [`execve`] of the program at `path` relative to the descriptor `fd`, with flags `AT_*`.
///
/// # Safety
/// As [`execve`]; `path` is a C string.
pub unsafe fn execveat(
    fd: i32,
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    flags: i32,
) -> Errno {
    // SAFETY: the caller's promise.
    let back = unsafe {
        syscall6(
            number::EXECVEAT,
            fd as isize as usize,
            path as usize,
            arguments as usize,
            environment as usize,
            flags as isize as usize,
            0,
        )
    };
    back.err().unwrap_or(Errno::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::{O_RDONLY, close, open};
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn status_agrees_with_the_standard_library() {
        let expected = std::fs::metadata("/proc/self/exe").expect("our own file");
        let status = stat(c"/proc/self/exe").expect("our own file");
        let fd = open(c"/proc/self/exe", O_RDONLY, 0).expect("opened");
        let by_descriptor = fstat(fd).expect("status");
        for found in [status, by_descriptor] {
            assert!(found.is_regular() && !found.is_directory());
            assert_eq!((found.inode, found.size as u64), (expected.ino(), expected.len()));
            assert_eq!(
                (found.user, found.group, found.mode),
                (expected.uid(), expected.gid(), expected.mode())
            );
        }
        assert!(!has_capabilities(fd));
        assert!(is_executable_mapping_allowed(fd));
        assert!(!is_executable_mapping_allowed(-1));
        close(fd).expect("closed");
        assert!(stat(c"/").expect("root").is_directory());
    }

    #[test]
    fn a_program_that_is_not_there_cannot_replace_us() {
        let none = [core::ptr::null()];
        // SAFETY: both arrays consist of the final null pointer.
        let reason = unsafe { execve(c"/no/such/program".as_ptr(), none.as_ptr(), none.as_ptr()) };
        assert_eq!(reason, Errno::ENOENT);
    }
}
