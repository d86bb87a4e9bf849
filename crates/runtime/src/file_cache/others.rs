//! Files of which other processes of the run may have a buffer: those that this process got from its parent, or shares with a child.
//!
//! ```text
//! write, lseek, fstat ... ─ was a buffer granted to anyone since this descriptor was last asked about? ── no ──> the kernel
//!                                │ yes: has anyone else one now? ── no ──────────────────────────────────────────> the kernel
//!                                └ yes, of this file: RECALL or LOOK: the supervisor takes it, or writes it ─────> the kernel
//! ```
//!
//! A process that has been told of another one's write finds the count of grants changed, as that write's buffer was granted before. So the
//! bytes of all processes are in the file in the order of their writes, and mostly it costs two loads to know it.
//!
//! Invariant: nothing is asked unless another process has a buffer.
//! Not here: the other side (`host/launch`). Programs without the library: their descriptors have [`escaped`](escapes).

use core::sync::atomic::{AtomicBool, Ordering};

use underbar_filecache::message::{ALL, Kind, Message};
use underbar_sys::description::{O_ACCMODE, flags, is_closed_on_exec, without_signals};
use underbar_sys::file::fstat;
use underbar_sys::syscall::O_RDONLY;

use super::entries::{ENTRIES, NAMED, NOT_READ, REGULAR, SEEN, SHARED, UNKNOWN, entry, is_active};
use super::slot::owned;
use super::{settings, vfork};
use crate::ledger::control;

/// Whether a descriptor was duplicated that others may have, so that any descriptor may be one. Written under the lock; relaxed.
static DUPLICATED: AtomicBool = AtomicBool::new(false);

/// The count of grants, and whether another process has a buffer now.
fn look() -> (u32, bool) {
    let page = control::page();
    let granted = page.granted();
    // Without the page nothing is known; without a supervisor nobody has a buffer.
    if granted == 0 {
        return (0, !control::is_attached());
    }
    // Before the own buffers, which may be taken meanwhile: then one is asked for in vain.
    let buffered = page.buffered();
    (granted as u32, buffered > owned())
}

/// Whether another process may have a buffer of any file.
pub(super) fn may_be() -> bool {
    look().1
}

fn is_shared(fd: i32, entry: u8) -> bool {
    let is_unknown = matches!(entry, UNKNOWN | NOT_READ | REGULAR);
    matches!(entry, SHARED | NAMED) || is_unknown && fd >= 0 && DUPLICATED.load(Ordering::Relaxed)
}

/// A write is about to go to the kernel: others have no buffer of the file any more.
#[inline]
pub(super) fn recall(fd: i32) {
    ask_if_shared(fd, Kind::Recall);
}

/// The kernel is about to be asked for a descriptor's file: what others have in a buffer of it is written.
#[inline]
pub(super) fn look_at(fd: i32) {
    ask_if_shared(fd, Kind::Look);
}

#[inline]
fn ask_if_shared(fd: i32, kind: Kind) {
    let Some(entry) = entry(fd) else { return };
    if is_shared(fd, entry.load(Ordering::Relaxed)) {
        ask_for(fd, kind);
    }
}

#[cold]
fn ask_for(fd: i32, kind: Kind) {
    let Some(seen) = SEEN.get(fd as usize) else { return };
    let (granted, is_others) = look();
    if granted != 0 && seen.load(Ordering::Relaxed) == granted {
        return;
    }
    if is_others {
        let Ok(status) = fstat(fd) else { return };
        let Some(entry) = entry(fd) else { return };
        // What is read there by all, or is no file, needs no question any more.
        if !status.is_regular() {
            entry.store(NOT_READ, Ordering::Relaxed);
            return;
        }
        if is_read(fd) {
            return;
        }
        if has_others(status.device, status.inode) {
            ask(kind, status.device, status.inode);
            if kind == Kind::Look {
                return;
            }
        }
    }
    seen.store(granted, Ordering::Relaxed);
}

/// A regular file is about to be read. True if its descriptor is for reading alone, so that it needs no question any more.
pub(super) fn is_read(fd: i32) -> bool {
    let is = entry(fd).filter(|entry| entry.load(Ordering::Relaxed) == SHARED);
    let is = is.filter(|_| flags(fd).is_ok_and(|flags| flags & O_ACCMODE == O_RDONLY));
    is.inspect(|entry| entry.store(REGULAR, Ordering::Relaxed)).is_some()
}

fn has_others(device: u64, inode: u64) -> bool {
    !control::is_attached() || control::page().may_be_buffered(device, inode)
}

/// A path is opened whose file has these numbers: what others have in a buffer of it is written.
pub(super) fn look_at_file(device: u64, inode: u64) {
    if may_be() && has_others(device, inode) {
        ask(Kind::Look, device, inode);
    }
}

fn ask(kind: Kind, device: u64, inode: u64) {
    let message = Message { kind, buffer: ALL, size: 0, device, inode };
    without_signals(|| settings().supervisor.ask(&message));
}

/// A descriptor is duplicated, to that one if it is known.
pub(super) fn duplicates(fd: i32, to: Option<i32>) {
    let Some(from) = entry(fd) else { return };
    let is = from.load(Ordering::Relaxed);
    if !is_shared(fd, is) {
        return;
    }
    match to.and_then(entry) {
        Some(to) => to.store(if is == NAMED { NAMED } else { SHARED }, Ordering::Relaxed),
        None => DUPLICATED.store(true, Ordering::Relaxed),
    }
}

/// A child has ended: if it had buffers, what was in them is in the files before this process goes on.
pub(super) fn child_ended() {
    if is_active() && !vfork::is_child() && may_be() {
        ask(Kind::Ended, 0, 0);
    }
}

/// A program without the library is about to get the descriptors that exec does not close, or somebody else some by a message: nobody may
/// have a buffer of their files from now on.
pub(crate) fn escapes() {
    const ASKED: i32 = 64;
    if !is_active() || control::page().granted() == 0 {
        return;
    }
    for fd in (0..ASKED).filter(|fd| is_closed_on_exec(*fd) == Ok(false)) {
        escape(fd);
    }
}

/// Nobody may have a buffer of a descriptor's file from now on.
fn escape(fd: i32) {
    if let Ok(status) = fstat(fd)
        && status.is_regular()
        && flags(fd).is_ok_and(|flags| flags & O_ACCMODE != O_RDONLY)
    {
        ask(Kind::Escape, status.device, status.inode);
    }
}

/// The same, for a descriptor that others may have: it is mapped, or used by requests that go on.
pub(super) fn escape_if_shared(fd: i32) {
    if entry(fd).is_some_and(|entry| is_shared(fd, entry.load(Ordering::Relaxed)))
        && control::page().granted() != 0
    {
        escape(fd);
    }
}

/// The same for all of them.
pub(super) fn escape_all_shared() {
    (0..ENTRIES.len() as i32).for_each(escape_if_shared);
}

/// In a child by fork: its parent may have buffers.
pub(super) fn forget_all() {
    SEEN.iter().filter(|seen| seen.load(Ordering::Relaxed) != 0).for_each(|seen| {
        seen.store(0, Ordering::Relaxed);
    });
}
