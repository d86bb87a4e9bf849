//! The kernel's count of a child's reads and writes: `/proc/PID/io`, which its parent reads at its end.
//!
//! ```text
//! start ── open /proc/PID/io while we still may ───────────────┐
//! waitid(WNOWAIT): the child has ended and still exists ───────┴─ pread ─> Transfers ─> waitid: it is gone
//! ```
//!
//! Why the parent reads them: the figures survive SIGKILL, and exist for any program, also one without the library.
//! Why opened early: the account of an ended process belongs to the superuser, and only a descriptor opened earlier can
//! still read it.
//!
//! Invariant: a value that the kernel does not give is None, never 0. Nothing here allocates.
//! Not here: waiting ([`crate::process`]).

use core::ffi::CStr;

use crate::syscall::{O_CLOEXEC, O_RDONLY, close, open, pread};

/// Reads and writes of a process and of its children that it waited for, as the kernel counts them: read, write and their
/// variants with an offset or a vector, sendfile and copy_file_range, on files, pipes, terminals and sockets. recv and send,
/// mapped files and io_uring are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// System calls that read.
    pub read_calls: u64,
    /// System calls that write.
    pub write_calls: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
}

/// The kernel's account of a child, open to be read at its end. Closed by [`Account::close`].
pub(crate) struct Account(i32);

impl Account {
    /// Opens the account of a child; None if there is no `/proc`, or if we may not see the account.
    pub(crate) fn open(pid: i32) -> Option<Account> {
        let mut room = [0; 24];
        open(path(pid, &mut room)?, O_RDONLY | O_CLOEXEC, 0).ok().map(Account)
    }

    /// Its current content. None if the kernel keeps no such account, or if the program has other rights than we have.
    pub(crate) fn read(&self) -> Option<Transfers> {
        let mut text = [0; 512];
        let length = pread(self.0, &mut text, 0).ok()?;
        parse(text.get(..length)?)
    }

    pub(crate) fn close(self) {
        let _ = close(self.0);
    }
}

/// `/proc/PID/io`.
fn path(pid: i32, room: &mut [u8; 24]) -> Option<&CStr> {
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut rest = u32::try_from(pid).ok()?;
    while at == digits.len() || rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let mut length = 0;
    for part in [b"/proc/", &digits[at..], b"/io"] {
        room.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    CStr::from_bytes_until_nul(room).ok()
}

/// Reads lines such as `syscr: 123`; all four that we show must be present.
fn parse(text: &[u8]) -> Option<Transfers> {
    let figure = |name: &[u8]| {
        let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(name))?;
        core::str::from_utf8(line).ok()?.trim_ascii().parse().ok()
    };
    Some(Transfers {
        read_calls: figure(b"syscr:")?,
        write_calls: figure(b"syscw:")?,
        read_bytes: figure(b"rchar:")?,
        written_bytes: figure(b"wchar:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::getpid;

    const TEXT: &[u8] = b"rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 4096\n";

    #[test]
    fn all_four_figures_or_none() {
        let expect = Transfers { read_calls: 1, write_calls: 2, read_bytes: 10, written_bytes: 20 };
        assert_eq!(parse(TEXT), Some(expect));
        assert_eq!(parse(&TEXT[..20]), None);
        assert_eq!(parse(b"rchar: x\nwchar: 20\nsyscr: 1\nsyscw: 2\n"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn paths_are_those_of_the_process() {
        let check = |pid, expect: Option<&CStr>| assert_eq!(path(pid, &mut [0; 24]), expect);
        check(0, Some(c"/proc/0/io"));
        check(4711, Some(c"/proc/4711/io"));
        check(i32::MAX, Some(c"/proc/2147483647/io"));
        check(-1, None);
    }

    #[test]
    fn an_account_counts_what_we_do() {
        let Some(account) = Account::open(getpid()) else {
            // A kernel without the account; the zoo reports what it skips.
            return;
        };
        let before = account.read().expect("our own account");
        for _ in 0..100 {
            account.read().expect("our own account");
        }
        let after = account.read().expect("our own account");
        // Other threads of the test may read as well.
        assert!(after.read_calls - before.read_calls >= 101);
        assert!(after.read_bytes - before.read_bytes >= 101 * 60);
        account.close();
    }
}
