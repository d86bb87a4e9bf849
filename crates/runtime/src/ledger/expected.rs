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

use super::attach::{CHILDRENS_NAMESPACE, FREE, NAMESPACE, is_ours, mapped_header, namespace, process};
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
        Some(child) => (child as u32, namespace_of_children()?),
        None => (process(), namespace_of_child_by_vfork()),
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

/// The namespace of process numbers in which this process's children are. The kernel is asked once, for 10 microseconds. A process that
/// changes it later by the kernel's own call gets an entry that its child does not take over, and that is free when the child has
/// ended.
fn namespace_of_children() -> Option<u32> {
    // A child by vfork may be in another namespace than its parent, whose memory it shares.
    let is_ours = is_ours();
    let known = CHILDRENS_NAMESPACE.load(Ordering::Relaxed);
    if is_ours && known != 0 {
        return Some(known);
    }
    let asked = file::stat(c"/proc/self/ns/pid_for_children").ok()?.inode as u32;
    if is_ours {
        CHILDRENS_NAMESPACE.store(asked, Ordering::Relaxed);
    }
    Some(asked)
}

/// That of this very process, which shares its parent's memory. Its parent has a number in a namespace only if it is in it, or in one
/// below.
fn namespace_of_child_by_vfork() -> u32 {
    let parent = super::number();
    if parent != 0 && file::getppid() as u32 == parent {
        NAMESPACE.load(Ordering::Relaxed)
    } else {
        namespace()
    }
}

impl Expected {
    /// The program does not start.
    pub(crate) fn withdraw(&self) {
        if let Some(header) = mapped_header() {
            let _ = header.directory.change(self.place, (SlotState::Claimed, self.process), FREE);
        }
    }
}
