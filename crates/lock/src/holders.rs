//! The side table of the debug form: the holder of each lock. The locks themselves keep their size.
//!
//! ```text
//! hash of the lock's address ─> a window of 8 entries: lock | place | thread pointer | thread, process | signals held back
//!                                                      0: free   1: being written
//! ```
//!
//! A held lock that found no room in its window, or was taken by code without the debug form, has no entry: its holder is
//! unknown, and no fault of it is reported.
//!
//! Invariant: a lock has at most one entry, written and removed by its holder. The data of an entry is valid if the entry
//! has its lock's address both before and after it was read.
//! Not here: the decision whether something is a fault (`debug`).

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use underbar_sys::syscall::{Errno, getpid, gettid, number, syscall3, syscall6};

use crate::call_site::Place;

const ENTRIES: usize = 2048;
/// An entry is within so many places after the one that the hash names.
const WINDOW: usize = 8;
const FREE: usize = 0;
const WRITING: usize = 1;

struct Entry {
    /// Address of the lock; written last, with Release, and first when it is removed.
    lock: AtomicUsize,
    /// All others: relaxed, between the two.
    place: AtomicUsize,
    pointer: AtomicUsize,
    /// Thread in the upper half, process in the lower.
    who: AtomicU64,
    held_back: AtomicU64,
}

static TABLE: [Entry; ENTRIES] = [const {
    Entry {
        lock: AtomicUsize::new(FREE),
        place: AtomicUsize::new(0),
        pointer: AtomicUsize::new(0),
        who: AtomicU64::new(0),
        held_back: AtomicU64::new(0),
    }
}; ENTRIES];

/// The identity of a thread. It can be compared across a fork by the thread pointer, which the child's only thread keeps from
/// its thread of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) thread: u32,
    pub(crate) process: u32,
    pointer: usize,
}

/// The data of a held lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) by: Who,
    /// The place at which it was taken.
    pub(crate) place: Place,
    /// Signals that its holder had blocked then.
    pub(crate) held_back: u64,
}

impl Who {
    /// The calling thread.
    pub(crate) fn this() -> Who {
        let pointer: usize;
        // SAFETY: the word at the thread pointer is its own address.
        unsafe {
            core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(readonly, nostack, preserves_flags))
        };
        Who { thread: gettid().cast_unsigned(), process: getpid().cast_unsigned(), pointer }
    }

    /// The calling thread, or the thread of the parent that forked this process.
    pub(crate) fn is(&self, this: &Who) -> bool {
        if self.process == this.process {
            self.thread == this.thread
        } else {
            // The thread that forked becomes the child's first thread, whose number is the process's.
            self.pointer == this.pointer && this.thread == this.process
        }
    }

    /// It has ended: the kernel has no such thread in this process.
    pub(crate) fn has_ended(&self) -> bool {
        const TGKILL: usize = 234;
        // SAFETY: signal 0 is sent to no thread; no memory is involved.
        let asked = unsafe { syscall3(TGKILL, self.process as usize, self.thread as usize, 0) };
        asked == Err(Errno::ESRCH)
    }
}

/// Signals that the calling thread has blocked.
pub(crate) fn held_back() -> u64 {
    let mut held = 0_u64;
    // SAFETY: nothing is changed, and the kernel writes the 8 bytes that it is told.
    let _ = unsafe { syscall6(number::RT_SIGPROCMASK, 0, 0, &raw mut held as usize, size_of::<u64>(), 0, 0) };
    held
}

fn window(lock: usize) -> impl Iterator<Item = &'static Entry> {
    let first = (lock >> 2) ^ (lock >> 13);
    (0..WINDOW).map(move |step| &TABLE[(first + step) % ENTRIES])
}

fn entry_of(lock: usize) -> Option<&'static Entry> {
    window(lock).find(|entry| entry.lock.load(Ordering::Acquire) == lock)
}

/// Records that the calling thread has the lock, taken at this place.
pub(crate) fn note(lock: usize, place: Place) {
    // An existing entry is left from memory that was used for another lock, or from a thread that ended with the lock.
    let claimed = entry_of(lock)
        .into_iter()
        .find(|entry| {
            entry.lock.compare_exchange(lock, WRITING, Ordering::Acquire, Ordering::Relaxed).is_ok()
        })
        .or_else(|| {
            window(lock).find(|entry| {
                entry.lock.compare_exchange(FREE, WRITING, Ordering::Acquire, Ordering::Relaxed).is_ok()
            })
        });
    let Some(entry) = claimed else { return };
    let this = Who::this();
    entry.place.store(place.packed(), Ordering::Relaxed);
    entry.pointer.store(this.pointer, Ordering::Relaxed);
    entry.who.store(u64::from(this.thread) << 32 | u64::from(this.process), Ordering::Relaxed);
    entry.held_back.store(held_back(), Ordering::Relaxed);
    entry.lock.store(lock, Ordering::Release);
}

/// Removes the entry: no thread is known to hold the lock any more.
pub(crate) fn forget(lock: usize) {
    if let Some(entry) = entry_of(lock) {
        let _ = entry.lock.compare_exchange(lock, FREE, Ordering::Release, Ordering::Relaxed);
    }
}

/// The data of its holder.
pub(crate) fn of(lock: usize) -> Option<Held> {
    let entry = entry_of(lock)?;
    let who = entry.who.load(Ordering::Relaxed);
    let by = Who {
        thread: (who >> 32) as u32,
        process: who as u32,
        pointer: entry.pointer.load(Ordering::Relaxed),
    };
    let place = entry.place.load(Ordering::Relaxed);
    let held_back = entry.held_back.load(Ordering::Relaxed);
    core::sync::atomic::fence(Ordering::Acquire);
    (entry.lock.load(Ordering::Relaxed) == lock).then(|| {
        // SAFETY: `note` packed it: the address was in the entry, so its place was complete.
        Held { by, place: unsafe { Place::unpacked(place) }, held_back }
    })
}
