//! Which waits under LOCK(COUNT) are recorded: all, or, if threads wait very often, a share of them.
//!
//! ```text
//! a wait ─> to be passed over? one look at a word of the thread ─> the C library waits ─> short: counted in that word
//!              │ no                                                                        long: put on the thread's pile
//!              v                                                                                   │ 1 ms or more
//!           recorded, and represents the short ones                                                v
//!           that the thread passed over since ─> how many to pass over next            recorded, and the pile with it
//! ```
//!
//! A few long waits may take most of the time, a hundredth of their number: a share of them would tell nothing about it. So
//! the time of long waits is recorded in full, and a share of short ones represents the rest.
//!
//! Recording a wait costs one to two microseconds: two reads of the clock, a sleep in pieces, and cache lines that all
//! threads write. A program that hands locks on 150,000 times a second lost a quarter of its speed by recording. So the process
//! records some [`MANY`] waits a second: the share halves while there are more, and doubles while there are far fewer.
//!
//! Invariant: the recorded waits represent all waits, except the short ones that a thread passed over since its last
//! recorded one, and its pile.
//! Known limits: a pile is recorded for the lock of the wait that completes it, so locks get their share of the time on
//! average. A wait that never ends leaves no record if it is passed over, but later waits for the lock are recorded in
//! their turn.
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

/// A wait of this many nanoseconds is long.
const LONG_NS: u64 = 100_000;
/// The nanoseconds at which a pile is recorded, while piles are recorded [`MANY`] times a second at most.
const PILE_NS: u64 = 1_000_000;

// Waits that this thread is going to pass over; above these 32 bits, short ones that it has passed over since its last
// recorded one.
thread_word!(passing, set_passing, "underbar_waits_passed", "0");
const ONE_PASSED: usize = 1 << 32;

// The pile: nanoseconds of long waits that this thread has passed over and not recorded; above these 40 bits, their number.
// A pile of fewer bits than that is recorded.
thread_word!(pile, set_pile, "underbar_waits_piled", "0");
const ONE_PILED: usize = 1 << 40;
const _: () = assert!(PILE_NS * LEAST as u64 + LONG_NS < ONE_PILED as u64);

/// A pile that is to be recorded.
pub struct Pile {
    /// Its waits, the last one among them.
    pub waits: u64,
    /// The time that they took together.
    pub ns: u64,
}

/// The share of waits, or of piles, that is recorded. Written by threads that record. Relaxed: an old share is as good as any,
/// and two threads that write at the same time make a window longer or shorter. On a cache line of its own: every unlock reads what would
/// lie next to it.
#[repr(align(64))]
struct Share {
    /// One of this many waits is recorded.
    one_of: AtomicU32,
    /// Waits recorded in this window.
    recorded: AtomicU32,
    /// When it began.
    began: AtomicU64,
}

static SHARE: Share = Share::new();
/// Of piles: they are recorded when they are so many times as long.
static PILES: Share = Share::new();

/// Whether this wait is to be recorded, and then how many waits it represents.
#[inline(always)]
pub fn stands_for() -> Option<u64> {
    let word = passing();
    if word as u32 != 0 {
        set_passing(word - 1);
        return None;
    }
    Some((word >> 32) as u64 + 1)
}

/// A wait that began at this time was passed over and got its lock after so many nanoseconds. Some if the pile is to be
/// recorded.
#[inline]
pub fn passed(began: u64, ns: u64) -> Option<Pile> {
    if ns < LONG_NS {
        set_passing(passing().wrapping_add(ONE_PASSED));
        return None;
    }
    let (piled, limit) = (pile(), PILE_NS * u64::from(PILES.one_of.load(Ordering::Relaxed)));
    let pile =
        Pile { waits: (piled / ONE_PILED) as u64 + 1, ns: ((piled % ONE_PILED) as u64).saturating_add(ns) };
    // Their number has 24 bits, and so many long waits are longer than any limit.
    if pile.ns < limit {
        set_pile(pile.waits as usize * ONE_PILED + pile.ns as usize);
        return None;
    }
    set_pile(0);
    PILES.look(began);
    Some(pile)
}

/// In a forked child: what its thread has passed over is the parent's.
pub fn in_child() {
    set_passing(passing() as u32 as usize);
    set_pile(0);
}

/// The number of waits that a recorded one represents after all: a long one only itself. Those that it was to represent are
/// left to the next.
pub fn represents(times: u64, ns: u64) -> u64 {
    if times == 1 || ns < LONG_NS {
        return times;
    }
    set_passing(passing().wrapping_add((times as usize - 1).wrapping_mul(ONE_PASSED)));
    1
}

/// A wait that began at this time is recorded. Returns whether it represents others, of which some are passed over.
pub fn recorded(time: u64) -> bool {
    SHARE.recorded(time);
    one_of() > 1
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

    /// Short waits at this interval for that long; returns the number of waits, of recorded ones, and of those that these
    /// represent.
    fn waits(share: &Share, clock: &mut u64, every_ns: u64, for_ns: u64) -> (u64, u64, u64) {
        let (end, mut sums) = (*clock + for_ns, (0, 0, 0));
        while *clock < end {
            *clock += every_ns;
            sums.0 += 1;
            match stands_for() {
                Some(times) => {
                    share.recorded(*clock);
                    sums.1 += 1;
                    sums.2 += times;
                }
                None => assert!(passed(*clock, LONG_NS - 1).is_none(), "a short one"),
            }
        }
        sums
    }

    /// One of a hundred waits is long, and a hundred of these take more time than all others.
    #[test]
    fn the_time_of_long_waits_is_recorded_in_full() {
        const SECOND: u64 = 1_000_000_000;
        let (share, mut clock) = (Share::new(), 2_000 * SECOND);
        let (mut true_ns, mut ns, mut true_waits, mut waits, mut records) = (0, 0, 0, 0, 0_u64);
        for number in 0..1_000_000_u64 {
            let each = if number % 10_000 == 77 {
                20_000_000
            } else if number % 100 == 0 {
                LONG_NS
            } else {
                2_000
            };
            clock += 1_000;
            true_ns += each;
            true_waits += 1;
            let (times, of) = match stands_for() {
                Some(times) => {
                    share.recorded(clock);
                    let times = represents(times, each);
                    (times, times * each)
                }
                None => passed(clock, each).map_or((0, 0), |pile| (pile.waits, pile.ns)),
            };
            records += u64::from(times != 0);
            waits += times;
            ns += of;
        }
        assert!(true_ns.abs_diff(ns) < true_ns / 20, "{ns} ns of {true_ns}");
        assert!(true_waits - waits < 2 * u64::from(LEAST) + 10, "{waits} of {true_waits}");
        assert!(records < 20_000, "{records}");
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
