//! The word of a lock: which thread may take it, and which is woken.
//!
//! ```text
//! bit 0  L  held
//!     1  W  a thread may sleep for it
//!     2  S  reserved for a thread that has waited for long; free for that thread alone
//!
//!   0 --L--> L --a sleeper--> L|W --unlock, one is woken--> 0
//!                              \--after a millisecond--> L|W|S --unlock, that one is woken--> W|S --> L|W
//! ```
//!
//! A thread that slept takes the lock with W set, since others may still sleep; so no sleeper is forgotten. One thread is
//! woken at a time, or all if the lock is mostly free. Until the woken thread runs, any other thread may take the lock first
//! (this keeps it busy), but only for a millisecond: then the lock is reserved.
//!
//! An unlock without a mark subtracts L. A mark that is set in the same moment stays in the word, which is then free: one
//! sleeper is woken as usual, and the next holder wakes one more.
//!
//! Orders: taking is Acquire, releasing is AcqRel. W and S are set by read-modify-write operations, which continue the
//! release sequence of the thread that released the lock, so Relaxed is enough for them. Acquire is used if a thread is woken
//! afterwards; that thread has published before in which room it sleeps.
//!
//! Invariant: L is set by the thread that gets the lock, and cleared by it; S is set and cleared by the same thread, or
//! cleared when it acquires the lock. A thread sleeps only while W is set.
//! Not here: how long to look before sleeping (`spin`), and when a lock stays with the thread that keeps it busy (`turn`).

use core::sync::atomic::{AtomicBool, Ordering};

use underbar_sys::planted;
use underbar_sys::sync::atomic::AtomicU32;

use crate::futex::{Room, Sleepers, wake};
use crate::observer::observer;
use crate::places;
use crate::places::turn::Turn;
use crate::processor;

pub(crate) const L: u32 = 1;
pub(crate) const W: u32 = 2;
pub(crate) const S: u32 = 4;

/// The ordering that makes writes under the lock visible to the next holder; and a thread that releases the lock sees what
/// the waiting threads wrote before they marked the word.
#[inline(always)]
fn given_up() -> Ordering {
    if planted!(relaxed_release) { Ordering::Relaxed } else { Ordering::AcqRel }
}

/// Whether a lock that was free and reserved for a thread was ever taken by another, since that one had not come: then a thread may sleep as the one for whom a lock is reserved, and it is not. Set by whoever
/// finds it out; relaxed.
pub(crate) static RESERVED_IN_VAIN: AtomicBool = AtomicBool::new(false);

/// A lock of four bytes; of zeros: free. See [`SimpleLock`], which can tell whether its holder runs.
#[repr(transparent)]
pub struct SmallLock {
    word: Word,
}

/// A lock of eight bytes; zeros: free.
///
/// Size, alignment and the meaning of zeros are a promise. The content of the words is not: programs that use only the calls
/// never need a change.
#[repr(C)]
pub struct SimpleLock {
    word: Word,
    /// Processor of the holder plus one, or `ASKED`; with `OFF` (`wait`). 0 until a thread wants to know it: a lock without
    /// waiters need not record it. Written by the holder, and marked by threads that look; relaxed: a hint that may be wrong.
    hint: AtomicU32,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<SmallLock>() == 4 && align_of::<SmallLock>() == 4);
    assert!(size_of::<SimpleLock>() == 8 && align_of::<SimpleLock>() == 4);
};

/// All threads write it, see the head of this file.
#[repr(C)]
pub(crate) struct Word {
    pub(crate) state: AtomicU32,
    pub(crate) sleepers: Sleepers,
    /// Separate for each lock, and outside its words: for the model checker only.
    #[cfg(loom)]
    turn: Turn,
}

/// Makes the methods of both sizes; they differ only in the hint.
macro_rules! methods {
    ($small:literal, $self:ident, $hint:expr, $taken:expr, $($rest:tt)*) => {
        /// A free lock.
        #[cfg(not(loom))]
        #[must_use]
        pub const fn new() -> Self {
            Self { word: Word { state: AtomicU32::new(0), sleepers: Sleepers::new() }, $($rest)* }
        }

        /// A free lock with known properties.
        #[cfg(loom)]
        #[must_use]
        #[allow(clippy::new_without_default)]
        pub fn new(known: crate::places::turn::Known) -> Self {
            let (state, sleepers, turn) = (AtomicU32::new(0), Sleepers::new(), Turn::new(known));
            Self { word: Word { state, sleepers, turn }, $($rest)* }
        }

        /// Waits for the lock.
        #[inline]
        pub fn lock(&$self) {
            if !$self.word.take_if_free() {
                $self.word.wait($hint, 0, $small, 0);
            }
            $taken
        }

        /// Takes the lock if it is free: neither held nor reserved.
        #[inline]
        #[must_use]
        pub fn try_lock(&$self) -> bool {
            if !$self.word.take_if_free() && !$self.word.take_if_not_held() {
                return false;
            }
            $taken
            true
        }

        /// Waits for the lock until a time of the monotonic clock, in nanoseconds. False if that time has passed.
        #[inline]
        #[must_use]
        pub fn lock_until(&$self, deadline: u64) -> bool {
            if !$self.word.take_if_free() && !$self.word.wait($hint, deadline.max(1), $small, 0) {
                return false;
            }
            $taken
            true
        }

        /// Waits for the lock, at most so many nanoseconds.
        #[inline]
        #[must_use]
        pub fn lock_for(&$self, nanoseconds: u64) -> bool {
            $self.try_lock() || $self.lock_until(processor::now().saturating_add(nanoseconds))
        }

        /// Like [`Self::lock`], for a caller that knows its own call site.
        #[inline]
        pub fn lock_from(&$self, caller: usize) {
            if !$self.word.take_if_free() {
                $self.word.wait($hint, 0, $small, caller);
            }
            $taken
        }

        /// Like [`Self::lock_until`], for a caller that knows its own call site.
        #[inline]
        #[must_use]
        pub fn lock_until_from(&$self, deadline: u64, caller: usize) -> bool {
            if !$self.word.take_if_free() && !$self.word.wait($hint, deadline.max(1), $small, caller) {
                return false;
            }
            $taken
            true
        }

        /// Releases the lock. False, without any change, if no thread held it.
        ///
        /// # Safety
        /// The caller took the lock. If it did not, and another thread did, that thread's lock is released: nothing
        /// distinguishes the two.
        #[inline]
        pub unsafe fn unlock(&$self) -> bool {
            $self.word.give_up(0)
        }

        /// Like [`Self::unlock`], for a caller that knows its own call site.
        ///
        /// # Safety
        /// As [`Self::unlock`].
        #[inline]
        pub unsafe fn unlock_from(&$self, caller: usize) -> bool {
            $self.word.give_up(caller)
        }

        /// Whether a thread holds it, at this moment.
        #[inline]
        #[must_use]
        pub fn is_locked(&$self) -> bool {
            $self.word.state.load(Ordering::Relaxed) & L != 0
        }
    };
}

impl SmallLock {
    methods!(1, self, None, {},);
}

impl SimpleLock {
    methods!(
        0,
        self,
        Some(&self.hint),
        {
            if self.hint.load(Ordering::Relaxed) != 0 {
                self.hint.store(processor::this(), Ordering::Relaxed);
            }
        },
        hint: AtomicU32::new(0)
    );
}

#[cfg(not(loom))]
impl Default for SmallLock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(not(loom))]
impl Default for SimpleLock {
    fn default() -> Self {
        Self::new()
    }
}

impl Word {
    #[inline(always)]
    fn take_if_free(&self) -> bool {
        self.state.compare_exchange(0, L, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Free, except for threads that were woken and do not run yet.
    #[cold]
    fn take_if_not_held(&self) -> bool {
        let seen = self.state.load(Ordering::Relaxed);
        seen & (L | S) == 0
            && self.state.compare_exchange(seen, seen | L, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn give_up(&self, caller: usize) -> bool {
        let seen = self.state.load(Ordering::Relaxed);
        if seen != L {
            return self.give_up_awaited(seen, caller);
        }
        // A subtraction takes a cycle or two less than a compare-and-swap. Marks that were set since then stay.
        match self.state.fetch_sub(L, given_up()) {
            L => true,
            seen => self.given_up(seen, caller),
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up_awaited(&self, mut seen: u32, caller: usize) -> bool {
        loop {
            if seen & L == 0 {
                return false;
            }
            let new = if seen & S != 0 && !planted!(reservation_dropped) { seen & !L } else { 0 };
            match self.state.compare_exchange(seen, new, given_up(), Ordering::Relaxed) {
                Ok(_) => return self.given_up(seen, caller),
                Err(now) => seen = now,
            }
        }
    }

    /// The lock has been released, and `seen` is its previous value: wakes the threads that have to be woken.
    #[cold]
    #[inline(never)]
    fn given_up(&self, seen: u32, caller: usize) -> bool {
        if seen & L == 0 {
            // Two threads released it at once, and one of them did not hold it.
            self.state.fetch_add(L, Ordering::Relaxed);
            return false;
        }
        // From here on the memory may be gone: only its address is used, not its content.
        let address = &raw const self.state;
        let turn = self.turn();
        let is_taken_care_of = seen & S == 0 && turn.is_taken_care_of(address as usize);
        if cfg!(not(loom)) && !is_taken_care_of {
            places::place(address as usize).woken_at.store(processor::now(), Ordering::Relaxed);
            turn.given_up_by.store(processor::this(), Ordering::Relaxed);
        }
        let room = if seen & S != 0 && !planted!(common_room) { Room::Starver } else { Room::All };
        // Reported before the wake: the woken thread may otherwise have run and gone already, and no thread would seem to wait.
        if let Some(observer) = observer() {
            (observer.given_up)(address as usize, caller);
        }
        if is_taken_care_of {
            return true;
        }

        let is_anybodys = room == Room::All
            || !wake(address, &self.sleepers, 1, room) && RESERVED_IN_VAIN.load(Ordering::Relaxed);
        if is_anybodys {
            self.wake_anybody(address);
        }
        true
    }

    /// Wakes one waiting thread, or all, see [`Turn::to_be_woken`]. Does not touch the lock's memory.
    pub(crate) fn wake_anybody(&self, address: *const AtomicU32) {
        let turn = self.turn();
        let most = turn.to_be_woken();
        if turn.has_first() && wake(address, &self.sleepers, most, Room::First)
            || wake(address, &self.sleepers, most, Room::All)
        {
            return;
        }
        turn.calls_nobody(address as usize);
        // A thread for which the lock was reserved, and no longer is, sleeps in the other room.
        if RESERVED_IN_VAIN.load(Ordering::Relaxed) {
            wake(address, &self.sleepers, 1, Room::Starver);
        }
    }

    /// The turns of this lock. Does not touch its memory.
    #[cfg(not(loom))]
    pub(crate) fn turn(&self) -> &'static Turn {
        &places::place(&raw const self.state as usize).turn
    }

    #[cfg(loom)]
    pub(crate) fn turn(&self) -> &Turn {
        &self.turn
    }
}

#[cfg(all(test, loom))]
#[path = "raw_model.rs"]
mod model;

#[cfg(all(test, not(loom)))]
#[path = "raw_tests.rs"]
mod tests;
