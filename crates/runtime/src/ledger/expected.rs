//! Directory entries that a process takes for a program that it starts.
//!
//! ```text
//! parent, posix_spawn ── expect(child) ──┐
//! child, vfork        ── expect(None)  ──┴─> entry Claimed for the child ── it attaches, and takes the entry over
//!                                                                     └── no program starts: withdrawn
//! ```
//!
//! Invariant: a process never has two entries by this.
//! Not here: how the program takes it over (`attach`).

use underbar_ledger::layout::SLOTS;
use underbar_ledger::{Identity, SlotState};
use underbar_sys::file;

use core::sync::atomic::Ordering;

use super::attach::{FREE, NAMESPACE, mapped_header, namespace, process};
use crate::sandbox;

/// A directory entry taken for a program that is starting. From its exec to its first look at the ledger no other process
/// would know of it, and its starter may end meanwhile.
pub(crate) struct Expected {
    place: usize,
    process: Identity,
}

/// Takes an entry for the child of that number, or for this very process, which sees its parent's accounts (a child by
/// vfork). None if it has one already, or if that cannot be determined.
pub(crate) fn expect(child: Option<i32>) -> Option<Expected> {
    if sandbox::is_closed() {
        return None;
    }
    let directory = &mapped_header()?.directory;
    let (number, namespace) = match child {
        Some(child) => (child as u32, file::stat(c"/proc/self/ns/pid_for_children").ok()?.inode as u32),
        None => (process(), namespace()),
    };
    // In another namespace its number is a different one, and so not known here.
    if number == 0 || namespace == 0 || namespace != NAMESPACE.load(Ordering::Relaxed) {
        return None;
    }
    let process = Identity { namespace, number };
    let is_there = |except| {
        (0..SLOTS).any(|place| {
            place != except
                && directory.get(place).is_some_and(|(state, other)| {
                    other == process && !matches!(state, SlotState::Free | SlotState::Aggregate)
                })
        })
    };
    if is_there(SLOTS) {
        return None;
    }
    let place = (0..SLOTS).find(|&place| {
        directory.get(place) == Some(FREE) && directory.change(place, FREE, (SlotState::Claimed, process))
    })?;
    let expected = Expected { place, process };
    if is_there(place) {
        // It attached meanwhile, and passed over this entry.
        expected.withdraw();
        return None;
    }
    Some(expected)
}

impl Expected {
    /// The program does not start.
    pub(crate) fn withdraw(&self) {
        if let Some(header) = mapped_header() {
            let _ = header.directory.change(self.place, (SlotState::Claimed, self.process), FREE);
        }
    }
}
