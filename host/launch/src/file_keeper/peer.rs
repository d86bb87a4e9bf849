//! Whether a process that connects is one of the run: of this user, and in the ledger.
//!
//! Invariant: who is not is refused, so that nobody else's descriptors are held, and nobody else's files written.
//! Not here: what it asks for (`buffers`).

use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, PidfdFlags, getegid, geteuid};

use underbar_ledger::Header;
use underbar_ledger::layout::{Directory, SLOTS, SlotState};
use underbar_sys::shared::SharedPage;

/// The process at the other end, if it has this process's rights.
pub(super) fn of(connection: &OwnedFd) -> Option<Pid> {
    let peer = socket_peercred(connection).ok()?;
    (peer.uid == geteuid() && peer.gid == getegid()).then_some(peer.pid)
}

/// Whether the directory of the ledger, in its first page, has the process. A program that exec gave other rights is not in it: it does not
/// carry the library.
pub(super) fn is_of_the_run(head: &SharedPage, process: Pid) -> bool {
    let words = head.words().get(offset_of!(Header, directory) / 8..).unwrap_or_default();
    let number = process.as_raw_nonzero().get().cast_unsigned();
    words.iter().take(SLOTS).any(|word| {
        let entry = Directory::entry(word.load(Ordering::Acquire));
        entry.is_some_and(|(state, identity)| {
            matches!(state, SlotState::Claimed | SlotState::Live) && identity.number == number
        })
    })
}

/// A descriptor of the process, which waits for an answer, so that its number was not given to another one: or it has ended.
pub(super) fn open(process: Pid, connection: &OwnedFd) -> Option<OwnedFd> {
    let descriptor = rustix::process::pidfd_open(process, PidfdFlags::empty()).ok()?;
    let mut other_end = [PollFd::new(connection, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    (poll(&mut other_end, Some(&now)) == Ok(0)).then_some(descriptor)
}
