//! The way to the supervisor: one connection for each message, so that the program keeps no descriptor of underbar.
//!
//! Invariant: without an answer nothing was done, as far as this process is concerned.
//! Not here: the messages (`underbar_filecache`), and the other side (`host/launch`).

use core::ffi::CStr;

use underbar_filecache::message::{BYTES, Message, SUFFIX};
use underbar_sys::description::{connect, receive, send};
use underbar_sys::syscall::{Errno, close};

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

    /// Tells the supervisor, and returns its answer. None: there is none, it refuses, or it does not answer soon.
    pub(super) fn tell(&self, message: &Message, descriptors: Option<[i32; 2]>) -> Option<u8> {
        self.exchange(message, descriptors, false)
    }

    /// Asks the supervisor for what must be done before this process goes on. False: there is no supervisor any more.
    pub(super) fn ask(&self, message: &Message) -> bool {
        self.exchange(message, None, true).is_some()
    }

    fn exchange(&self, message: &Message, descriptors: Option<[i32; 2]>, waits: bool) -> Option<u8> {
        let name = CStr::from_bytes_until_nul(&self.bytes).ok().filter(|name| !name.is_empty())?;
        let fd = connect(name).ok()?;
        let mut answer = [0; 1];
        let mut is_answered = false;
        if send(fd, &message.to_bytes(), descriptors) == Ok(BYTES) {
            is_answered = loop {
                match receive(fd, &mut answer) {
                    Err(Errno::EAGAIN | Errno::EINTR) if waits => {}
                    received => break received == Ok(1),
                }
            };
        }
        let _ = close(fd);
        is_answered.then_some(answer[0])
    }
}
