//! Calls about files: descriptors and paths.

use core::ffi::CStr;

use super::{Result, number, syscall3, syscall6};

/// Relative paths start at the current directory.
pub const AT_FDCWD: i32 = -100;
/// The path may be empty: it then names the descriptor itself.
pub const AT_EMPTY_PATH: u32 = 0x1000;
/// Open for reading.
pub const O_RDONLY: u32 = 0;
/// Open for writing.
pub const O_WRONLY: u32 = 1;
/// Open for both.
pub const O_RDWR: u32 = 2;
/// Create the file if absent.
pub const O_CREAT: u32 = 0o100;
/// Fail if the file exists.
pub const O_EXCL: u32 = 0o200;
/// Do not make a terminal the controlling one.
pub const O_NOCTTY: u32 = 0o400;
/// Do not wait, for instance for the writer of a FIFO.
pub const O_NONBLOCK: u32 = 0o4000;
/// Fail if the last component is a symbolic link.
pub const O_NOFOLLOW: u32 = 0o400_000;
/// Close on exec.
pub const O_CLOEXEC: u32 = 0o2_000_000;

/// Opens `path`, relative to the current directory; `mode` matters only with [`O_CREAT`].
#[inline]
pub fn open(path: &CStr, flags: u32, mode: u32) -> Result<i32> {
    openat(AT_FDCWD, path, flags, mode)
}

/// Opens `path`, relative to the directory `fd`.
#[inline]
pub fn openat(fd: i32, path: &CStr, flags: u32, mode: u32) -> Result<i32> {
    // SAFETY: `path` is a C string for the whole call; the kernel only reads it.
    let opened = unsafe {
        syscall6(
            number::OPENAT,
            fd as isize as usize,
            path.as_ptr() as usize,
            flags as usize,
            mode as usize,
            0,
            0,
        )?
    };
    Ok(opened as i32)
}

/// Closes a descriptor. Do not repeat it after an error: the descriptor is closed in any case.
#[inline]
pub fn close(fd: i32) -> Result<()> {
    // SAFETY: no memory is involved. The caller answers for owning the descriptor.
    unsafe { syscall3(number::CLOSE, fd as isize as usize, 0, 0)? };
    Ok(())
}

/// Reads at most `buffer.len()` bytes; 0 is the end.
#[inline]
pub fn read(fd: i32, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: the kernel writes only within `buffer`, which is exclusively borrowed.
    unsafe { syscall3(number::READ, fd as isize as usize, buffer.as_mut_ptr() as usize, buffer.len()) }
}

/// Reads at most `buffer.len()` bytes from `offset` on, without moving the file's position.
#[inline]
pub fn pread(fd: i32, buffer: &mut [u8], offset: u64) -> Result<usize> {
    // SAFETY: as `read`.
    unsafe {
        syscall6(
            number::PREAD64,
            fd as isize as usize,
            buffer.as_mut_ptr() as usize,
            buffer.len(),
            offset as usize,
            0,
            0,
        )
    }
}

/// Writes at `offset`, without moving the file's position; may write fewer bytes than given.
#[inline]
pub fn pwrite(fd: i32, bytes: &[u8], offset: u64) -> Result<usize> {
    // SAFETY: the kernel reads the bytes, which outlive the call.
    unsafe {
        syscall6(
            number::PWRITE64,
            fd as isize as usize,
            bytes.as_ptr() as usize,
            bytes.len(),
            offset as usize,
            0,
            0,
        )
    }
}

/// Writes at most `bytes.len()` bytes and returns how many.
#[inline]
pub fn write(fd: i32, bytes: &[u8]) -> Result<usize> {
    // SAFETY: the kernel only reads `bytes`.
    unsafe { syscall3(number::WRITE, fd as isize as usize, bytes.as_ptr() as usize, bytes.len()) }
}

/// Allocates the blocks of a file, so that a later store through a mapping cannot meet a full device.
#[inline]
pub fn fallocate(fd: i32, mode: u32, offset: u64, length: u64) -> Result<()> {
    // SAFETY: no memory is involved.
    unsafe {
        syscall6(
            number::FALLOCATE,
            fd as isize as usize,
            mode as usize,
            offset as usize,
            length as usize,
            0,
            0,
        )?
    };
    Ok(())
}

/// Removes a name; the file goes with its last user.
#[inline]
pub fn unlink(path: &CStr) -> Result<()> {
    // SAFETY: `path` is a C string for the whole call; the kernel only reads it.
    unsafe { syscall3(number::UNLINK, path.as_ptr() as usize, 0, 0)? };
    Ok(())
}

/// Sets the length of a file. Access to a mapping of the part that is cut off is a SIGBUS.
#[inline]
pub fn ftruncate(fd: i32, length: u64) -> Result<()> {
    // SAFETY: no memory is involved.
    unsafe { syscall3(number::FTRUNCATE, fd as isize as usize, length as usize, 0)? };
    Ok(())
}

/// An anonymous file in memory, closed on exec unless `keep_on_exec`.
#[inline]
pub fn memfd_create(name: &CStr, keep_on_exec: bool) -> Result<i32> {
    let flags = if keep_on_exec { 0 } else { 1 };
    // SAFETY: `name` is a C string for the whole call; the kernel only reads it.
    let fd = unsafe { syscall3(number::MEMFD_CREATE, name.as_ptr() as usize, flags, 0)? };
    Ok(fd as i32)
}

/// May this process (by its real user) read (4), write (2), execute (1) `path`, or is it there (0)?
#[inline]
pub fn access(path: &CStr, mode: u32) -> Result<()> {
    // SAFETY: `path` is a C string for the whole call; the kernel only reads it.
    unsafe { syscall3(number::ACCESS, path.as_ptr() as usize, mode as usize, 0)? };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::{Errno, kill};

    #[test]
    fn refusals_carry_the_reason() {
        assert_eq!(open(c"/no/such/file", O_RDONLY, 0), Err(Errno::ENOENT));
        assert_eq!(close(-1), Err(Errno::EBADF));
        assert_eq!(kill(i32::MAX, 0), Err(Errno::ESRCH));
    }

    #[test]
    fn a_file_in_memory_is_written_and_read() {
        let fd = memfd_create(c"test", false).expect("memfd");
        fallocate(fd, 0, 0, 8192).expect("blocks");
        ftruncate(fd, 5).expect("length");
        assert_eq!(write(fd, b"hello"), Ok(5));
        let mut buffer = [0; 8];
        assert_eq!(pread(fd, &mut buffer, 1), Ok(4));
        assert_eq!(&buffer[..4], b"ello");
        close(fd).expect("closed");
    }
}
