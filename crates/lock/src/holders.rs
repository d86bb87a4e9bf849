//! Who holds which lock: the side table of the debug form. The locks themselves keep their size.
//!
//! ```text
//! hash of the lock's address ─> a window of 8 entries: lock | place | thread pointer | thread, process | signals held back
//!                                                      0: free   1: being written
//! ```
//!
//! A lock that is held and found no room in its window, or was taken by code without the debug form, has no entry: nothing
//! is known of it, and nothing said.
//!
//! Invariant: a lock has at most one entry, written and removed by its holder; an entry says what it says while its lock's
//! address stands in it, before and after it was read.
//! Not here: what is a fault (`debug`).

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use underbar_sys::syscall::{Errno, getpid, gettid, number, syscall3, syscall6};

use crate::call_site::Place;

const ENTRIES: usize = 2048;
/// An entry lies within so many places behind the one that the hash names.
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

/// A thread, such that it can be told whether two are the same: across a fork by their pointers, which the child's only
/// thread has from its parent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) thread: u32,
    pub(crate) process: u32,
    pointer: usize,
}

/// What is known of a lock that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) by: Who,
    /// Where it was taken.
    pub(crate) place: Place,
    /// Signals that its holder held back then.
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

    /// The calling thread, or the one of the parent that it was in when this process was forked.
    pub(crate) fn is(&self, this: &Who) -> bool {
        if self.process == this.process {
            self.thread == this.thread
        } else {
            // The one that forked is the child's first, whose number is the process's.
            self.pointer == this.pointer && this.thread == this.process
        }
    }

    /// It has ended: the kernel knows no such thread in this process.
    pub(crate) fn has_ended(&self) -> bool {
        const TGKILL: usize = 234;
        // SAFETY: signal 0 is sent to nobody; no memory is involved.
        let asked = unsafe { syscall3(TGKILL, self.process as usize, self.thread as usize, 0) };
        asked == Err(Errno::ESRCH)
    }
}

/// Signals that the calling thread holds back.
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

/// The calling thread has the lock, since this place.
pub(crate) fn note(lock: usize, place: Place) {
    // One that is there is of memory that was used for another lock, or of a thread that has ended with it.
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

/// Nobody holds it any more, as far as is known.
pub(crate) fn forget(lock: usize) {
    if let Some(entry) = entry_of(lock) {
        let _ = entry.lock.compare_exchange(lock, FREE, Ordering::Release, Ordering::Relaxed);
    }
}

/// What is known of its holder.
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
        // SAFETY: it was packed by `note`: the address stood in the entry, so its place was whole.
        Held { by, place: unsafe { Place::unpacked(place) }, held_back }
    })
}
