//! Turns: a lock that only one thread keeps busy stays with it for a while, in place of being handed to and fro.
//!
//! ```text
//! holder    |lock unlock|lock unlock| ... |lock unlock|            |sleeps ...
//! next      asleep, by the clock, for a turn ........ |reserves it |lock unlock| ...
//! others    asleep until they are woken                             ^ wakes one of them, which becomes the next
//! ```
//!
//! If a thread comes back to a lock before any other could have been woken, every wake is in vain: the sleeper runs, finds
//! the lock held, and sleeps again; and looking uses a second processor for the work of one. The next thread therefore sleeps
//! by the clock, and as long as it does, a thread that releases the lock need not wake any other. Each thread has its turn, in
//! the order of arrival.
//!
//! The arriving threads detect whether one thread keeps a lock busy: the woken thread, which finds it held by the thread that
//! released it; the looking thread, which now and then waits for a moment when it could have taken the lock; the next thread,
//! at the end of a turn. One observation to the contrary weighs as much as four of these.
//!
//! Invariant: the next thread clears `next`, and after that either takes the lock or marks its word, by an operation that sees
//! the newest value. A thread that releases a lock without such a mark, and then sees its address in `next`, may leave all
//! waking to that thread: it will come, find the lock free, and take it as a thread after which others may sleep.
//!
//! A thread may never come: a signal handler jumped out of its sleep, it was cancelled, a debugger stopped it. Others
//! therefore rely on it only until `due`. After that, a thread that releases the lock wakes others again, and any waiting
//! thread may become the next. The sleepers discover by themselves what was left to it before: no thread sleeps for longer
//! than a second without a look at the lock. A forked child has no sleepers: the kernel clears the table of which this is a
//! part (see [`super`]).
//! Not here: the word of the lock (`raw`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_sys::planted;
use underbar_sys::sync::atomic::{AtomicU32, AtomicUsize};

use crate::processor;

/// The length of a turn, in nanoseconds. Longer: fewer hand-overs (about 10 us of a processor each); shorter: shorter waits.
pub const TURN_NS: u64 = 300_000;

/// A thread that arrives while the next one is being woken stays away for so long, in nanoseconds. If it asked to be woken at
/// once, the holder would wake one more thread, which would find its place taken and go to the end of the queue.
pub const ASIDE_NS: u64 = TURN_NS / 2;

/// A next thread that is late by more than this after its turn counts as gone, in nanoseconds: longer than a runnable thread
/// usually has to wait for a processor.
const LATE_NS: u64 = 100_000_000;

/// No waiting thread sleeps for longer than this without a look at the lock, in nanoseconds; or than it has waited by then.
const PATIENCE_NS: u64 = 1_000_000_000;

/// The time at which a thread that began to wait at `began` looks at the lock, if no thread wakes it `now` or later.
#[must_use]
pub fn looks_again_at(began: u64, now: u64) -> u64 {
    now + PATIENCE_NS.max(now.saturating_sub(began))
}

/// A mark on an address in `next`: no thread sleeps by the clock; the next thread that is woken will, and none before it.
const CALLED: usize = 1;

/// From this weight on a lock counts as busy; the weight may rise to the other bound.
const BUSY: u32 = 16;
const BUSIEST: u32 = 24;

/// From this weight on a lock counts as mostly free; the weight may rise to the other bound. Each woken thread that finds it
/// free adds one, and each that finds it held subtracts one.
const FREE: u32 = 12;
const FREEST: u32 = 32;

/// How many threads are woken at once for a lock that is mostly free: for most locks all; about 2 us each.
const MANY: u32 = 64;

/// The observation of a thread that came for a lock released a moment ago, as a weight: does one thread keep it busy? A lock
/// that is free often enough to outweigh the rest, or that goes from thread to thread, gives no turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// No thread has it.
    Free = -4,
    /// Another thread has it than before.
    Other = 0,
    /// The same thread has it.
    Kept = 1,
    /// The same thread has it, seen by a thread that waited for that.
    Watched = 4,
}

/// The fixed properties of the model checker's locks.
#[cfg(loom)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing.
    Nothing,
    /// One thread keeps it busy.
    Busy,
    /// It is mostly free.
    Free,
    /// A thread that has to sleep was woken before, for a turn that another thread had taken.
    TurnsTaken,
    /// One thread keeps it busy, and the next thread is late.
    Late,
}

/// The state of a lock's turns, or of those of several locks in one place of the table.
pub struct Turn {
    /// See the head of this file. Written by the thread that becomes the next, and by the one that was; relaxed, as the word of
    /// the lock orders what matters: if `next` is cleared before the mark that a releasing thread sees, that thread sees the
    /// cleared `next`, too.
    next: AtomicUsize,
    /// How long others wait for the next thread, in nanoseconds of the monotonic clock. Written by the thread that has become the
    /// next; relaxed: a thread that sees an older time wakes another one in vain, or becomes a second next one, and neither does
    /// any harm.
    due: AtomicU64,
    /// How certain it is that one thread keeps it busy. Written by waiting threads; relaxed: a hint.
    busy: AtomicU32,
    /// The thread that last woke another for it, as `processor::this` or the kernel gives it. Relaxed: a hint.
    pub given_up_by: AtomicU32,
    /// How often a thread looked and saw it free; relaxed.
    looks: AtomicU32,
    /// How certain it is that a woken thread finds the lock free. Written by woken threads; relaxed: a hint.
    free: AtomicU32,
    /// Whether a thread has ever slept in the room of the first: 1. Set before that sleep, never taken back; relaxed, as the
    /// kernel reads the word of the lock before the thread sleeps, and a thread that wakes has changed that word.
    first: AtomicU32,
    /// For the model checker.
    #[cfg(loom)]
    pub known: Known,
}

impl Turn {
    /// No thread is next.
    #[cfg(not(loom))]
    #[allow(clippy::new_without_default, reason = "only the table of places makes some")]
    pub const fn new() -> Self {
        Self {
            next: AtomicUsize::new(0),
            due: AtomicU64::new(0),
            busy: AtomicU32::new(0),
            given_up_by: AtomicU32::new(0),
            looks: AtomicU32::new(0),
            free: AtomicU32::new(0),
            first: AtomicU32::new(0),
        }
    }

    /// For the model checker, which learns nothing.
    #[cfg(loom)]
    pub fn new(known: Known) -> Self {
        Self {
            next: AtomicUsize::new(0),
            due: AtomicU64::new(0),
            busy: AtomicU32::new(if matches!(known, Known::Busy | Known::Late) { BUSY } else { 0 }),
            given_up_by: AtomicU32::new(0),
            looks: AtomicU32::new(0),
            free: AtomicU32::new(if known == Known::Free { FREE } else { 0 }),
            first: AtomicU32::new(0),
            known,
        }
    }

    /// Whether one thread keeps the lock busy.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) >= BUSY
    }

    /// Learns from an observation.
    pub fn saw(&self, sight: Sight) {
        if cfg!(loom) {
            return;
        }
        let busy = self.busy.load(Ordering::Relaxed);
        let now = busy.saturating_add_signed(sight as i32).min(BUSIEST);
        // If a child would inherit a `next` that names none of its threads, there are no turns.
        let now = if now >= BUSY && !super::is_cleared_in_children() { BUSY - 1 } else { now };
        if now != busy {
            self.busy.store(now, Ordering::Relaxed);
        }
    }

    /// Learns from the observation of a woken thread: whether the lock was free.
    pub fn was_woken_to(&self, is_free: bool) {
        if cfg!(loom) {
            return;
        }
        let free = self.free.load(Ordering::Relaxed);
        let now = if is_free { (free + 1).min(FREEST) } else { free.saturating_sub(1) };
        if now != free {
            self.free.store(now, Ordering::Relaxed);
        }
    }

    /// A thread is about to sleep in the room of the first.
    pub fn comes_first(&self) {
        if self.first.load(Ordering::Relaxed) == 0 {
            self.first.store(1, Ordering::Relaxed);
        }
    }

    /// Whether any thread may sleep there.
    pub fn has_first(&self) -> bool {
        !planted!(forgotten_first) && self.first.load(Ordering::Relaxed) != 0
    }

    /// How many sleepers are to be woken when the lock is released. All, if each of them would find it free: they sleep because
    /// a holder lost its processor for a moment. If they were woken one after the other, each by the one before when that gets a
    /// processor, the last would sleep for as many turns of the scheduler as there are threads.
    pub fn to_be_woken(&self) -> u32 {
        if !self.is_busy() && self.free.load(Ordering::Relaxed) >= FREE { MANY } else { 1 }
    }

    /// Whether a looking thread that sees the lock free is to wait a moment and see which thread takes it: one time in eight.
    pub fn is_to_watch(&self) -> bool {
        let looks = self.looks.load(Ordering::Relaxed);
        self.looks.store(looks.wrapping_add(1), Ordering::Relaxed);
        looks.is_multiple_of(8)
    }

    /// This thread becomes the next, unless another is. It then sleeps by the clock, and calls [`Self::over`].
    pub fn is_mine(&self, lock: usize, was_woken: bool) -> bool {
        let taken =
            |from| self.next.compare_exchange(from, lock, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        let now = processor::now();
        let is_mine = taken(0)
            || was_woken && taken(lock | CALLED)
            || self.is_late(now) && taken(self.next.load(Ordering::Relaxed));
        if is_mine {
            self.due.store(now + TURN_NS + LATE_NS, Ordering::Relaxed);
        }
        is_mine
    }

    #[cfg(not(loom))]
    fn is_late(&self, now: u64) -> bool {
        now > self.due.load(Ordering::Relaxed)
    }

    #[cfg(loom)]
    fn is_late(&self, _: u64) -> bool {
        self.known == Known::Late
    }

    /// The next thread has slept. After this it takes the lock, or marks its word; when it has the lock, it wakes another, which
    /// then becomes the next. A thread that arrives meanwhile stands aside, after the sleepers.
    pub fn over(&self, lock: usize) {
        if !planted!(kept_next) {
            self.next.store(lock | CALLED, Ordering::Relaxed);
        }
    }

    /// There was no thread to wake, or the woken thread does not want to be the next.
    pub fn calls_nobody(&self, lock: usize) {
        if self.is_called(lock) {
            let _ = self.next.compare_exchange(lock | CALLED, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Whether a thread is being woken that will be the next.
    pub fn is_called(&self, lock: usize) -> bool {
        self.next.load(Ordering::Relaxed) == lock | CALLED
    }

    /// Whether a thread that has just released the lock may leave all waking to the next thread.
    pub fn is_taken_care_of(&self, lock: usize) -> bool {
        self.is_busy()
            && self.next.load(Ordering::Relaxed) == lock
            // In the model checker, a late thread comes in the end.
            && (cfg!(loom) || !self.is_late(processor::now()))
    }
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn busy() -> Turn {
        let turn = Turn::new();
        turn.busy.store(BUSIEST, Ordering::Relaxed);
        turn
    }

    #[test]
    fn who_is_next_takes_care_of_the_others_until_its_turn_is_over() {
        let (turn, lock) = (busy(), 64);
        assert!(!turn.is_taken_care_of(lock));
        assert!(turn.is_mine(lock, false));
        // Independent of how long this test is kept from a processor.
        turn.due.store(u64::MAX, Ordering::Relaxed);
        assert!(turn.is_taken_care_of(lock) && !turn.is_taken_care_of(128));
        assert!(!turn.is_mine(lock, true) && !turn.is_mine(128, true), "another is");
        turn.over(lock);
        assert!(!turn.is_taken_care_of(lock) && turn.is_called(lock));
        assert!(!turn.is_mine(lock, false) && turn.is_mine(lock, true), "who was called is next");
    }

    /// A thread whose sleep was left by a jump, and one that was called and has gone.
    #[test]
    fn who_never_comes_is_relied_upon_no_longer_than_it_is_due() {
        for is_called in [false, true] {
            let (turn, lock) = (busy(), 64);
            assert!(turn.is_mine(lock, false));
            if is_called {
                turn.over(lock);
            }
            // Its time is over.
            turn.due.store(processor::now() - 1, Ordering::Relaxed);
            assert!(!turn.is_taken_care_of(lock));
            assert!(turn.is_mine(lock, false), "another may be next");
            turn.due.store(u64::MAX, Ordering::Relaxed);
            assert!(turn.is_taken_care_of(lock) && !turn.is_mine(lock, false));
        }
    }

    #[test]
    fn who_waits_looks_after_a_second_and_each_time_that_it_has_waited_twice_as_long() {
        let mut now = 5_000_000_000;
        let looks: Vec<u64> = core::iter::repeat_with(|| {
            now = looks_again_at(5_000_000_000, now);
            now / 1_000_000_000 - 5
        })
        .take(5)
        .collect();
        assert_eq!(looks, [1, 2, 4, 8, 16]);
    }
}
