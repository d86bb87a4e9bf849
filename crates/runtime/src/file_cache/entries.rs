//! The table of descriptors: what is known of each.
//!
//! Invariant: all but the first look at an entry is under the lock of `lock`.
//! Not here: the buffers (`files`, `reads`).

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::ledger::control;

/// How many files are cached, and 1 from the start until the end of the process's caching. Written under the lock of the caches; relaxed:
/// a thread that has yet to see it has not written.
pub(super) static ACTIVE: AtomicU32 = AtomicU32::new(0);

/// Descriptors from this one on are never cached.
pub(super) const DESCRIPTORS: usize = 1024;
/// Descriptors that are compared with a file that is to be cached.
pub(super) const COMPARED: i32 = 256;

/// Nothing is known: asked at the next read or write.
pub(super) const UNKNOWN: u8 = 0;
/// The kernel's, until it is closed.
pub(super) const PLAIN: u8 = 1;
/// Not cached for reading; asked at the next write.
pub(super) const NOT_READ: u8 = 2;
/// The same, and a regular file: no question of the program waits for what is read there.
pub(super) const REGULAR: u8 = 3;
/// And the number of the buffer of a file that is written.
pub(super) const WRITTEN: u8 = 4;
/// Got from a parent, or shared with a child: asked at the next write, and until then another process may have a buffer of the file.
pub(super) const SHARED: u8 = 120;
/// A file that is left alone, but of which another process may have a buffer.
pub(super) const NAMED: u8 = 121;
/// And the number of the buffer of a file that is read.
pub(super) const READ: u8 = 128;

pub(super) static ENTRIES: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(UNKNOWN) }; DESCRIPTORS];

/// The count of granted buffers when others were last asked for the descriptor's file; 0: never. Written under the lock, and by a handler
/// that is nested in it; relaxed: after an old value the supervisor is asked once more.
pub(super) static SEEN: [AtomicU32; DESCRIPTORS] = [const { AtomicU32::new(0) }; DESCRIPTORS];

/// Changes when a descriptor may have become another file in ways that are not seen: the next write looks.
pub(super) static EPOCH: AtomicU32 = AtomicU32::new(0);

/// The entry of a descriptor.
#[inline(always)]
pub(super) fn entry(fd: i32) -> Option<&'static AtomicU8> {
    ENTRIES.get(fd as u32 as usize)
}

/// Whether a descriptor is known to be the kernel's, so that nothing is to be done.
#[inline(always)]
pub(super) fn is_plain(fd: i32) -> bool {
    entry(fd).is_none_or(|entry| entry.load(Ordering::Relaxed) == PLAIN) || !is_active()
}

/// Whether a write of a descriptor needs no more than the kernel: it is known to be its, or nobody got a buffer since others were last asked
/// for its file.
#[inline(always)]
pub(super) fn passes(fd: i32) -> bool {
    is_plain(fd)
        || entry(fd).is_some_and(|entry| entry.load(Ordering::Relaxed) == NAMED)
            && SEEN[fd as usize].load(Ordering::Relaxed) == control::page().granted() as u32
}

/// Whether a descriptor is a regular file that is not cached, so that reads of it have no effect on caches.
#[inline(always)]
pub(super) fn is_read_plainly(fd: i32) -> bool {
    entry(fd).is_some_and(|entry| entry.load(Ordering::Relaxed) == REGULAR)
}

/// Whether caching goes on at all.
#[inline(always)]
pub(super) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed) != 0
}

/// Whether any file is cached.
pub(super) fn any() -> bool {
    ACTIVE.load(Ordering::Relaxed) > 1
}

/// A descriptor is made, perhaps with a number that was closed unseen.
pub(super) fn descriptor_is_made() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// The first descriptor with this entry.
pub(super) fn descriptor_of(entry: u8) -> Option<i32> {
    ENTRIES.iter().position(|other| other.load(Ordering::Relaxed) == entry).map(|fd| fd as i32)
}

/// All entries of one kind become another one.
pub(super) fn replace(entry: u8, by: u8) {
    for (other, seen) in ENTRIES.iter().zip(&SEEN).filter(|(other, _)| other.load(Ordering::Relaxed) == entry)
    {
        other.store(by, Ordering::Relaxed);
        seen.store(0, Ordering::Relaxed);
    }
}

/// A descriptor is closed: nothing is known of the next one of its number.
pub(super) fn forget(fd: i32) {
    if let (Some(entry), Some(seen)) = (entry(fd), SEEN.get(fd as u32 as usize)) {
        entry.store(UNKNOWN, Ordering::Relaxed);
        if seen.load(Ordering::Relaxed) != 0 {
            seen.store(0, Ordering::Relaxed);
        }
    }
}

/// In a child by fork, whose parent has the buffers.
pub(super) fn forget_all() {
    for entry in &ENTRIES {
        if (WRITTEN..SHARED).contains(&entry.load(Ordering::Relaxed)) {
            entry.store(SHARED, Ordering::Relaxed);
        }
    }
    ACTIVE.store(1, Ordering::Relaxed);
}
