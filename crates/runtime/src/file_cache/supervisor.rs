//! The way to the supervisor: one connection for each message, so that the program keeps no descriptor of underbar.
//!
//! Invariant: without an answer nothing was done, as far as this process is concerned.
//! Not here: the messages (`underbar_filecache`), and the other side (`host/launch`).

use core::ffi::CStr;

use underbar_filecache::message::{BYTES, DONE, Message, SUFFIX};
use underbar_sys::description::{connect, receive, send};
use underbar_sys::syscall::close;

/// Bytes of a socket's name with its zero byte, at most.
const LONGEST: usize = 108;

/// The name of the supervisor's socket: that of the ledger with an ending. Written before the program begins.
pub(super) struct Name {
    bytes: [u8; LONGEST],
}

impl Name {
    /// None.
    pub(super) const NONE: Self = Self { bytes: [0; LONGEST] };

    /// Beside a ledger.
    pub(super) fn of(ledger: &CStr) -> Self {
        let mut name = Self::NONE;
        let path = ledger.to_bytes();
        if path.len() + SUFFIX.len() < LONGEST {
            name.bytes[..path.len()].copy_from_slice(path);
            name.bytes[path.len()..path.len() + SUFFIX.len()].copy_from_slice(SUFFIX);
        }
        name
    }

    /// Tells the supervisor; true if it did what was asked.
    pub(super) fn tell(&self, message: &Message, descriptors: Option<[i32; 2]>) -> bool {
        let Ok(name) = CStr::from_bytes_until_nul(&self.bytes) else { return false };
        if name.is_empty() {
            return false;
        }
        let Ok(fd) = connect(name) else { return false };
        let mut answer = [0; 1];
        let is_done = send(fd, &message.to_bytes(), descriptors) == Ok(BYTES)
            && receive(fd, &mut answer) == Ok(1)
            && answer == [DONE];
        let _ = close(fd);
        is_done
    }
}
