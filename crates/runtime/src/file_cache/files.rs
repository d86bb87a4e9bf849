//! What calls do to the files that this process writes and that are cached.
//!
//! ```text
//! descriptor ─> UNKNOWN   asked at its next write (`learn`)
//!            ─> SHARED    the same; another process may have what was written before in its buffer (`others`)
//!            ─> NAMED     the kernel's; another process may have a buffer of the file, and is asked for it (`others`)
//!            ─> PLAIN     the kernel's, until it is closed
//!            ─> a slot    a buffer (`slot`)
//! ```
//!
//! Invariant: all but the first look at a descriptor's entry is under the lock of `lock`.
//! Not here: the buffers (`slot`), which calls do what (`calls`, `before`).

use core::sync::atomic::Ordering;

use underbar_filecache::buffer::Append;
use underbar_ledger::Key;
use underbar_ledger::caches::{self, Flush, Plain};
use underbar_sys::description::{is_closed_on_exec, without_signals};

use super::entries::{
    ACTIVE, ENTRIES, EPOCH, NAMED, NOT_READ, PLAIN, REGULAR, SHARED, UNKNOWN, entry, forget,
};
use super::learn::learn;
use super::slot::{ANYWHERE, add, row, slot_of, slots};
use super::{others, settings};
use crate::ledger;

/// What became of a write.
pub(super) enum Taken {
    /// The cache has the bytes.
    Whole,
    /// It is the kernel's.
    NotOurs,
    /// An error that earlier bytes met, or this one.
    Failed(i32),
}

/// Whether a descriptor has a buffer of what is written.
pub(super) fn is_written(fd: i32) -> bool {
    slot_of(fd).is_some()
}

/// Takes a write of a descriptor. Called with the lock; `is_nested`: by a signal handler of the thread that has it.
#[inline(always)]
pub(super) fn take(fd: i32, total: usize, copy: &dyn Fn(*mut u8), is_nested: bool) -> Taken {
    if let Some(slot) = slot_of(fd)
        && !is_nested
        && slot.epoch.load(Ordering::Relaxed) == EPOCH.load(Ordering::Relaxed)
        && slot.error.load(Ordering::Relaxed) == 0
        && let Some(Append::Taken(_)) = slot.append(total, copy)
    {
        return Taken::Whole;
    }
    take_slowly(fd, total, copy, is_nested)
}

#[cold]
fn take_slowly(fd: i32, total: usize, copy: &dyn Fn(*mut u8), is_nested: bool) -> Taken {
    loop {
        let Some(slot) = slot_of(fd) else {
            let is_new = entry(fd).is_some_and(|entry| {
                matches!(entry.load(Ordering::Relaxed), UNKNOWN | NOT_READ | REGULAR | SHARED)
            });
            if !is_nested && is_new && without_signals(|| learn(fd)) {
                continue;
            }
            others::recall(fd);
            return Taken::NotOurs;
        };
        if slot.epoch.load(Ordering::Relaxed) != EPOCH.load(Ordering::Relaxed) {
            if slot.is_file_of(fd) {
                slot.epoch.store(EPOCH.load(Ordering::Relaxed), Ordering::Relaxed);
            } else {
                without_signals(|| slot.lose_descriptor());
            }
            continue;
        }
        let error = slot.error.swap(0, Ordering::Relaxed);
        if error != 0 {
            return Taken::Failed(error);
        }
        if is_nested || total >= slot.size.load(Ordering::Relaxed) {
            add(&row(slot.row.load(Ordering::Relaxed)).large, 1);
            slot.flush(Flush::Full);
            match slot.error.swap(0, Ordering::Relaxed) {
                0 if slot_of(fd).is_none() => continue,
                0 => {}
                error => return Taken::Failed(error),
            }
            slot.place.store(ANYWHERE, Ordering::Relaxed);
            return Taken::NotOurs;
        }
        match slot.append(total, copy) {
            Some(Append::Taken(_)) => return Taken::Whole,
            _ if slot.size.load(Ordering::Relaxed) == 0 => {}
            _ => {
                slot.flush(Flush::Full);
            }
        }
    }
}

/// Empties the buffer of a descriptor. An error waits for the program's next write, fsync or close.
pub(super) fn flush(fd: i32, reason: Flush) {
    if let Some(slot) = slot_of(fd) {
        slot.flush(reason);
    }
    others::look_at(fd);
}

/// The error that waits for the program, which is told now.
pub(super) fn error_of(fd: i32) -> Option<i32> {
    slot_of(fd).map(|slot| slot.error.swap(0, Ordering::Relaxed)).filter(|error| *error != 0)
}

/// Empties all buffers.
pub(super) fn flush_all(reason: Flush) {
    slots().for_each(|slot| {
        slot.flush(reason);
    });
}

/// Empties the buffers of printed output.
pub(super) fn flush_printed(reason: Flush) {
    for slot in slots().filter(|slot| slot.is_print.load(Ordering::Relaxed) != 0) {
        slot.flush(reason);
    }
}

/// A descriptor's file is cached no more; what it has in its buffer is written.
pub(super) fn make_plain(fd: i32, reason: Plain) {
    if let Some(slot) = slot_of(fd) {
        slot.make_plain(reason);
    }
    others::look_at(fd);
}

/// The same for all of them.
pub(super) fn make_all_plain(reason: Plain) {
    for slot in slots() {
        if let Some(fd) = slot.descriptor() {
            make_plain(fd, reason);
        }
    }
}

/// A program is started that gets all descriptors which exec does not close: those are cached no more. The others are the caller's alone
/// as soon as the new program runs.
pub(super) fn share_with_program() {
    for slot in slots() {
        slot.flush(Flush::Fork);
        slot.place.store(ANYWHERE, Ordering::Relaxed);
        let Some(fd) = slot.descriptor() else { continue };
        if is_closed_on_exec(fd) != Ok(true) {
            make_plain(fd, Plain::Fork);
        }
    }
    share_unknown();
}

/// The file of that number is cached no more: it is opened once more.
pub(super) fn make_file_plain(device: u64, inode: u64) {
    for slot in slots() {
        if (slot.device.load(Ordering::Relaxed), slot.inode.load(Ordering::Relaxed)) == (device, inode)
            && let Some(fd) = slot.descriptor()
        {
            make_plain(fd, Plain::Shared);
        }
    }
}

/// A descriptor is about to be closed. Returns an error that earlier bytes met.
pub(super) fn closes(fd: i32) -> Option<i32> {
    let slot = slot_of(fd);
    let mut error = 0;
    if let Some(slot) = slot {
        slot.flush(Flush::Close);
        error = slot.error.swap(0, Ordering::Relaxed);
    }
    // The flush may have given it up.
    match slot_of(fd) {
        Some(slot) => {
            forget(fd);
            if slot.descriptor().is_none() {
                slot.give_up(None, UNKNOWN);
            }
        }
        None => forget(fd),
    }
    (error != 0).then_some(error)
}

/// The place of a descriptor as the program sees it; None: the kernel knows.
pub(super) fn place(fd: i32) -> Option<u64> {
    if let Some(slot) = slot_of(fd) {
        if let Some(place) = slot.place_of(fd) {
            return Some(place);
        }
        slot.flush(Flush::Seek);
    }
    others::look_at(fd);
    None
}

/// The program moves the place of a descriptor.
pub(super) fn moves(fd: i32) {
    if let Some(slot) = slot_of(fd) {
        slot.place.store(ANYWHERE, Ordering::Relaxed);
    }
}

/// A program gets all descriptors that exec does not close, unseen: those are never cached, if they were not looked at yet.
pub(super) fn share_unknown() {
    for (fd, entry) in ENTRIES.iter().enumerate() {
        if !matches!(entry.load(Ordering::Relaxed), UNKNOWN | NOT_READ | REGULAR | SHARED)
            || fd < ASKED && is_closed_on_exec(fd as i32) != Ok(false)
        {
            continue;
        }
        entry.store(NAMED, Ordering::Relaxed);
        if matches!(fd, 1 | 2) && settings().print > 0 {
            add(&row(caches::PRINT).plain[Plain::Fork as usize], 1);
            ledger::add(Key::CacheLeftPlain, 1);
        }
    }
}

/// A child by fork has all descriptors, too: those that were not looked at yet may get a buffer there.
pub(super) fn share_with_child() {
    for (fd, entry) in ENTRIES.iter().enumerate() {
        if matches!(entry.load(Ordering::Relaxed), UNKNOWN | NOT_READ | REGULAR)
            && (fd >= ASKED || is_closed_on_exec(fd as i32).is_ok())
        {
            entry.store(SHARED, Ordering::Relaxed);
        }
    }
}

/// Descriptors from this one on are taken for open.
const ASKED: usize = 64;

/// The process ends, or can make no system calls soon: no file is cached any more.
pub(super) fn end() {
    for slot in slots() {
        slot.flush(Flush::Exit);
        if slot.size.load(Ordering::Relaxed) > 0 {
            slot.give_up(None, PLAIN);
        }
    }
    ACTIVE.store(0, Ordering::Relaxed);
}

/// Whether printed output is cached.
pub(super) fn has_printed() -> bool {
    slots().any(|slot| slot.is_print.load(Ordering::Relaxed) != 0)
}
