//! The kernel's reason for refusing a call, as a number with a name.
//!
//! Only those that callers of this crate distinguish have a name here.

use core::fmt;

/// The kernel's reason for refusing a call: 1 to 4095, as in `errno.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub u16);

impl Errno {
    /// Operation not permitted.
    pub const EPERM: Errno = Errno(1);
    /// No such file or directory.
    pub const ENOENT: Errno = Errno(2);
    /// No such process.
    pub const ESRCH: Errno = Errno(3);
    /// Interrupted by a signal.
    pub const EINTR: Errno = Errno(4);
    /// Input or output error.
    pub const EIO: Errno = Errno(5);
    /// Argument list too long.
    pub const E2BIG: Errno = Errno(7);
    /// Unknown executable format.
    pub const ENOEXEC: Errno = Errno(8);
    /// Descriptor not open, or not open for this operation.
    pub const EBADF: Errno = Errno(9);
    /// No child process to wait for.
    pub const ECHILD: Errno = Errno(10);
    /// Try again: would block, or a futex that no longer holds the expected value.
    pub const EAGAIN: Errno = Errno(11);
    /// Out of memory, or out of mappings.
    pub const ENOMEM: Errno = Errno(12);
    /// Permission denied.
    pub const EACCES: Errno = Errno(13);
    /// Bad address.
    pub const EFAULT: Errno = Errno(14);
    /// No such device.
    pub const ENODEV: Errno = Errno(19);
    /// The file already exists.
    pub const EEXIST: Errno = Errno(17);
    /// A part of the path is not a directory.
    pub const ENOTDIR: Errno = Errno(20);
    /// Invalid argument.
    pub const EINVAL: Errno = Errno(22);
    /// The file does not support this call.
    pub const ENOTTY: Errno = Errno(25);
    /// The file is being written, so it cannot be executed.
    pub const ETXTBSY: Errno = Errno(26);
    /// No space left on the device.
    pub const ENOSPC: Errno = Errno(28);
    /// The pipe has no reader.
    pub const EPIPE: Errno = Errno(32);
    /// The name is too long.
    pub const ENAMETOOLONG: Errno = Errno(36);
    /// The kernel does not have this call (also the answer of many seccomp filters).
    pub const ENOSYS: Errno = Errno(38);
    /// Too many symbolic links.
    pub const ELOOP: Errno = Errno(40);
    /// The file's server no longer knows it.
    pub const ESTALE: Errno = Errno(116);
    /// The time is up.
    pub const ETIMEDOUT: Errno = Errno(110);

    /// The number, as C programs keep it in `errno`.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.0 as i32
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "errno {}", self.0)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl core::error::Error for Errno {}

/// The result of a system call: a value, or the kernel's reason.
pub type Result<T> = core::result::Result<T, Errno>;
