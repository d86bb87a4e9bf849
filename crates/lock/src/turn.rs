//! Turns: a lock that one thread alone keeps busy is left to it for a while, in place of being handed to and fro.
//!
//! ```text
//! holder    |lock unlock|lock unlock| ... |lock unlock|            |sleeps ...
//! next      asleep, by the clock, for a turn ........ |reserves it |lock unlock| ...
//! others    asleep until they are woken                             ^ wakes one of them, who is the next now
//! ```
//!
//! Where a thread comes back to a lock before any other could have been woken, waking is in vain each time: the sleeper
//! comes, finds the lock held, and sleeps again; and looking takes a second processor to do the work of one. So the one
//! who is next sleeps by the clock, and as long as it does whoever gives the lock up need wake nobody. Each thread has
//! its turn, in the order in which they came.
//!
//! Whether a lock is kept busy by one thread, those who come for it see: the one woken, who finds it held by the thread
//! that gave it up; the one who looks, and now and then waits for a moment where it could have taken the lock; the one
//! who is next, at the end of a turn. One sight to the contrary weighs as much as four of this kind.
//!
//! Invariant: whoever is next clears `next`, and after that either takes the lock or marks its word, by an operation that
//! sees the newest value. So who gives a lock up without such a mark, and then sees its address in `next`, may leave all
//! waking to that thread: it comes, finds the lock free, and takes it as one behind whom others may sleep.
//!
//! A thread may never come: a signal's handler jumped out of its sleep, it was cancelled, a debugger stopped it. So it is
//! relied upon until `due` only; after that whoever gives up wakes others again, and whoever waits may be the next. What was
//! left to it before that, those find out who sleep: nobody sleeps for longer than a second without a look at the lock.
//! In a forked child nobody sleeps: there the kernel clears the table of which this is a part (see `spin`).
//! Not here: the word of the lock (`raw`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_sys::sync::atomic::{AtomicU32, AtomicUsize};

use crate::processor;

/// How long a turn is, in nanoseconds. Longer: fewer hand-overs (about 10 us of a processor each); shorter: shorter waits.
pub const TURN_NS: u64 = 300_000;

/// Who comes while the next one is being woken stays away for so long, in nanoseconds: if it asked to be woken at once, the
/// holder would wake one more, who would find its place taken and go to the end of the row.
pub const ASIDE_NS: u64 = TURN_NS / 2;

/// Whoever is next and has not come so long after its turn was over will not come, as far as others are concerned, in
/// nanoseconds: longer than a thread that can run has to wait for a processor, as a rule.
const LATE_NS: u64 = 100_000_000;

/// Nobody who waits sleeps for longer than this without a look at the lock, in nanoseconds; or than it has waited by then.
const PATIENCE_NS: u64 = 1_000_000_000;

/// When a thread that began to wait at `began` is to look at the lock, if nobody wakes it `now` or later.
#[must_use]
pub fn looks_again_at(began: u64, now: u64) -> u64 {
    now + PATIENCE_NS.max(now.saturating_sub(began))
}

/// With an address in `next`: nobody sleeps by the clock; who is woken next will, and nobody before it.
const CALLED: usize = 1;

/// From this weight on a lock is taken for busy; it may come to the other bound.
const BUSY: u32 = 16;
const BUSIEST: u32 = 24;

/// From this weight on a lock is taken for mostly free; it may come to the other bound. Of those who were woken, each who
/// found it free adds one, and each who found it held takes one away.
const FREE: u32 = 12;
const FREEST: u32 = 32;

/// How many are woken at once for a lock that is mostly free: for most locks all; about 2 us each.
const MANY: u32 = 64;

/// What somebody saw who came for a lock that was given up a moment ago, as a weight: whether one thread keeps it busy.
/// A lock that is free so often that it outweighs the rest, or that goes from one to another, is not left to anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nobody has it.
    Free = -4,
    /// Another thread has it than did.
    Other = 0,
    /// The same thread has it.
    Kept = 1,
    /// The same thread has it, before the eyes of one who waited for that.
    Watched = 4,
}

/// What the model checker's locks are known for, from beginning to end.
#[cfg(loom)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing.
    Nothing,
    /// One thread keeps it busy.
    Busy,
    /// It is mostly free.
    Free,
    /// Whoever has to sleep was woken before, for a turn that another had taken.
    TurnsTaken,
    /// One thread keeps it busy, and whoever is next is late.
    Late,
}

/// What is known of a lock's turns, or of several locks' that lie in one place of the table.
pub struct Turn {
    /// See the head of this file. Written by who is to be next, and by who was; relaxed, as the word of the lock orders
    /// what matters: if it is cleared before the mark that who gives up sees, then that is seen, too.
    next: AtomicUsize,
    /// Until when the one who is next is waited for, in nanoseconds of the monotonic clock. Written by it when it has become
    /// the next; relaxed: one who sees an older moment wakes somebody in vain, or becomes the next beside it, and either
    /// does no harm.
    due: AtomicU64,
    /// How sure it is that one thread keeps it busy. Written by those who wait; relaxed: a hint.
    busy: AtomicU32,
    /// Whoever woke somebody for it last: a thread, as `processor::this` or the kernel tells it. Relaxed: a hint.
    pub given_up_by: AtomicU32,
    /// Times that somebody looked and saw it free; relaxed.
    looks: AtomicU32,
    /// How sure it is that who is woken finds the lock free. Written by those who are woken; relaxed: a hint.
    free: AtomicU32,
    /// Whether somebody has ever slept in the room of those who come first: 1. Set before that sleep, never taken back;
    /// relaxed, as the kernel looks at the word of the lock before the thread sleeps, and who wakes has changed that word.
    first: AtomicU32,
    /// For the model checker.
    #[cfg(loom)]
    pub known: Known,
}

impl Turn {
    /// Nobody is next.
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

    /// For the model checker, where nothing is learnt.
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

    /// Learns from what was seen.
    pub fn saw(&self, sight: Sight) {
        if cfg!(loom) {
            return;
        }
        let busy = self.busy.load(Ordering::Relaxed);
        let now = busy.saturating_add_signed(sight as i32).min(BUSIEST);
        // Where a child would inherit a `next` that nobody is, there are no turns.
        let now = if now >= BUSY && !crate::spin::is_cleared_in_children() { BUSY - 1 } else { now };
        if now != busy {
            self.busy.store(now, Ordering::Relaxed);
        }
    }

    /// Learns from what somebody saw who was woken: whether the lock was free.
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

    /// Somebody is about to sleep in the room of those who come first.
    pub fn comes_first(&self) {
        if self.first.load(Ordering::Relaxed) == 0 {
            self.first.store(1, Ordering::Relaxed);
        }
    }

    /// Whether anybody may sleep there.
    pub fn has_first(&self) -> bool {
        cfg!(not(seeded_bug = "forgotten_first")) && self.first.load(Ordering::Relaxed) != 0
    }

    /// How many of those who sleep are to be woken when the lock is given up. All, where each of them would find it free:
    /// they sleep because a holder lost its processor for a moment, and one after the other, each waking the next when it
    /// gets a processor itself, the last would sleep for as many turns of the scheduler as there are threads.
    pub fn to_be_woken(&self) -> u32 {
        if !self.is_busy() && self.free.load(Ordering::Relaxed) >= FREE { MANY } else { 1 }
    }

    /// Whether one who looks, and sees the lock free, is to wait for a moment and see who takes it: one time in eight.
    pub fn is_to_watch(&self) -> bool {
        let looks = self.looks.load(Ordering::Relaxed);
        self.looks.store(looks.wrapping_add(1), Ordering::Relaxed);
        looks.is_multiple_of(8)
    }

    /// This thread becomes the next, unless another is. It sleeps by the clock, and calls [`Self::over`].
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

    /// The one who was next has slept. After this it takes the lock, or marks its word; and when it has the lock it wakes
    /// somebody, who is next then. Who comes by meanwhile stands aside, behind those who sleep.
    pub fn over(&self, lock: usize) {
        #[cfg(not(seeded_bug = "kept_next"))]
        self.next.store(lock | CALLED, Ordering::Relaxed);
        #[cfg(seeded_bug = "kept_next")]
        let _ = lock;
    }

    /// Nobody was there to be woken, or whoever was does not want to be next.
    pub fn calls_nobody(&self, lock: usize) {
        if self.is_called(lock) {
            let _ = self.next.compare_exchange(lock | CALLED, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Whether somebody is being woken who will be next.
    pub fn is_called(&self, lock: usize) -> bool {
        self.next.load(Ordering::Relaxed) == lock | CALLED
    }

    /// Whether whoever has just given the lock up may leave all waking to the one who is next.
    pub fn is_taken_care_of(&self, lock: usize) -> bool {
        self.is_busy()
            && self.next.load(Ordering::Relaxed) == lock
            // For the model checker who is late comes in the end.
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
        // However long this test is kept from a processor.
        turn.due.store(u64::MAX, Ordering::Relaxed);
        assert!(turn.is_taken_care_of(lock) && !turn.is_taken_care_of(128));
        assert!(!turn.is_mine(lock, true) && !turn.is_mine(128, true), "another is");
        turn.over(lock);
        assert!(!turn.is_taken_care_of(lock) && turn.is_called(lock));
        assert!(!turn.is_mine(lock, false) && turn.is_mine(lock, true), "who was called is next");
    }

    /// As one whose sleep was left by a jump, and one that was called and has gone.
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
