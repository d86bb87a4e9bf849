//! Which waits under LOCK(COUNT) are recorded: all, or, if threads wait very often, a share of them.
//!
//! ```text
//! a wait ─> to be passed over? one look at a word of the thread ─> the C library waits, nothing else
//!              │ no
//!              v
//!           recorded, and represents those that the thread passed over since ─> how many to pass over next
//! ```
//!
//! Recording a wait costs one to two microseconds: two reads of the clock, a sleep in pieces, and cache lines that all
//! threads write. A program that hands locks on 150,000 times a second lost a quarter of its speed by recording. So the process
//! records some [`MANY`] waits a second: the share halves while there are more, and doubles while there are far fewer.
//!
//! Invariant: the recorded waits represent all waits, except those that a thread passed over since its last recorded one.
//! Known limit: the longest wait is the longest recorded one. A wait that never ends leaves no record if it is passed over,
//! but later waits for the lock are recorded in their turn.
//! Not here: waiting as simple locks do (`simple`), which records each wait.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::number::thread;
use crate::thread_word::thread_word;

/// Recorded waits of the process per second, approximately.
const MANY: u64 = 2_500;
/// The share is reviewed after this many recorded waits.
const WINDOW: u32 = 32;
/// The time these take at [`MANY`] a second.
const WINDOW_NS: u64 = WINDOW as u64 * 1_000_000_000 / MANY;
/// At least one of this many waits is recorded.
const LEAST: u32 = 256;

// Waits that this thread is going to pass over; above these 32 bits, those that it has passed over since its last recorded
// one.
thread_word!(passing, set_passing, "underbar_waits_passed", "0");
const ONE_PASSED: usize = 1 << 32;

/// The share of waits that is recorded. Written by threads that record. Relaxed: an old share is as good as any, and two
/// threads that write at the same time make a window longer or shorter.
struct Share {
    /// One of this many waits is recorded.
    one_of: AtomicU32,
    /// Waits recorded in this window.
    recorded: AtomicU32,
    /// When it began.
    began: AtomicU64,
}

static SHARE: Share = Share::new();

/// Whether this wait is to be recorded, and then how many waits it represents.
#[inline(always)]
pub fn stands_for() -> Option<u64> {
    let word = passing();
    if word as u32 != 0 {
        set_passing(word + ONE_PASSED - 1);
        return None;
    }
    Some((word >> 32) as u64 + 1)
}

/// A wait that began at this time is recorded.
pub fn recorded(time: u64) {
    SHARE.recorded(time);
}

/// One of this many waits is recorded.
pub fn one_of() -> u64 {
    u64::from(SHARE.one_of.load(Ordering::Relaxed))
}

impl Share {
    const fn new() -> Share {
        Share { one_of: AtomicU32::new(1), recorded: AtomicU32::new(0), began: AtomicU64::new(0) }
    }

    fn recorded(&self, time: u64) {
        self.look(time);
        let one_of = self.one_of.load(Ordering::Relaxed);
        // The same number on average, but not in step with a pattern in the program.
        let noise = (time ^ u64::from(thread()) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        set_passing((noise % u64::from(2 * one_of - 1)) as usize);
    }

    fn look(&self, time: u64) {
        let recorded = self.recorded.load(Ordering::Relaxed).wrapping_add(1);
        self.recorded.store(recorded, Ordering::Relaxed);
        let taken = time.saturating_sub(self.began.load(Ordering::Relaxed));
        let is_seldom = taken > 4 * WINDOW_NS;
        if recorded < WINDOW && !is_seldom {
            return;
        }
        let one_of = self.one_of.load(Ordering::Relaxed);
        if is_seldom && one_of > 1 {
            self.one_of.store(one_of / 2, Ordering::Relaxed);
        } else if taken < WINDOW_NS && one_of < LEAST {
            self.one_of.store(one_of * 2, Ordering::Relaxed);
        }
        self.recorded.store(0, Ordering::Relaxed);
        self.began.store(time, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits at this interval for that long; returns the number of waits, of recorded ones, and of those that these
    /// represent.
    fn waits(share: &Share, clock: &mut u64, every_ns: u64, for_ns: u64) -> (u64, u64, u64) {
        let (end, mut sums) = (*clock + for_ns, (0, 0, 0));
        while *clock < end {
            *clock += every_ns;
            sums.0 += 1;
            if let Some(times) = stands_for() {
                share.recorded(*clock);
                sums.1 += 1;
                sums.2 += times;
            }
        }
        sums
    }

    #[test]
    fn all_waits_are_recorded_until_there_are_many_and_again_after() {
        const SECOND: u64 = 1_000_000_000;
        let (share, mut clock) = (Share::new(), 1_000 * SECOND);
        let (all, few, stood_for) = waits(&share, &mut clock, 500_000, SECOND);
        assert_eq!((all, few, stood_for), (2_000, 2_000, 2_000), "2,000 a second");

        let (all, many, stood_for) = waits(&share, &mut clock, 5_000, 10 * SECOND);
        assert_eq!(all, 2_000_000);
        assert!((15_000..60_000).contains(&many), "{many} of them in ten seconds");
        assert!((all - 2 * u64::from(LEAST)..=all).contains(&stood_for), "{stood_for}");

        waits(&share, &mut clock, 10_000_000, 20 * SECOND);
        let (all, few, stood_for) = waits(&share, &mut clock, 10_000_000, SECOND);
        assert_eq!((all, few, stood_for), (100, 100, 100), "100 a second");
    }
}
