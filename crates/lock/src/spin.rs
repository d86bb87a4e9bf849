//! Which threads may look at a held lock, and for how long.
//!
//! A look costs the holder nothing as long as the word is only read, but it occupies a processor. Few threads look at a time,
//! and no longer than sleeping and being woken would take. The time is learnt for each lock: twice what it took lately when
//! looking was enough, and less after each time when it was not.
//!
//! Invariant: `lookers` of a place is the number of threads inside [`Looker`].
//! Not here: the table of places, in which the time is learnt ([`crate::places`]).

use core::sync::atomic::Ordering;

use crate::places::Place;
use crate::processor;

/// The approximate cost of sleeping and being woken, in nanoseconds: looking for longer costs more than sleeping.
pub const SLEEP_NS: u32 = 4_000;
/// First bound for a new lock, and the least bound, in nanoseconds.
const FIRST_NS: u32 = 2_000;
const LEAST_NS: u32 = 250;
/// How long a thread that could take the lock waits to see whether its last holder comes back, in nanoseconds.
pub const WATCH_NS: u32 = 500;

/// Waits for a while, in nanoseconds, as long as a word does not change. Returns whether it stayed the same.
pub fn stays(word: &underbar_sys::sync::atomic::AtomicU32, seen: u32, nanoseconds: u32) -> bool {
    if cfg!(loom) {
        return true;
    }
    let pauses = nanoseconds * 1000 / processor::known().1;
    for _ in 0..pauses {
        if word.load(Ordering::Relaxed) != seen {
            return false;
        }
        core::hint::spin_loop();
    }
    word.load(Ordering::Relaxed) == seen
}

/// A thread that looks, until this value is dropped.
pub struct Looker {
    place: &'static Place,
    /// Pauses left, and pauses made.
    left: u32,
    made: u32,
    /// Pauses in the next round.
    round: u32,
    pause_ps: u32,
}

impl Looker {
    /// None if looking makes no sense: on a single processor, or if enough other threads look.
    pub fn begin(place: &'static Place) -> Option<Looker> {
        let (processors, pause_ps) = processor::known();
        if cfg!(loom) {
            // Learnt values would outlive an order of events and change the next one. One more look is enough.
            return Some(Looker { place, left: 1, made: 0, round: 1, pause_ps });
        }
        if processors < 2 || place.lookers.load(Ordering::Relaxed) >= (processors / 4).clamp(1, 4) {
            return None;
        }
        place.lookers.fetch_add(1, Ordering::Relaxed);
        let bound = match place.bound.load(Ordering::Relaxed) {
            0 => FIRST_NS,
            bound => bound,
        };
        let left = (u64::from(bound) * 1000 / u64::from(pause_ps)) as u32;
        Some(Looker { place, left, made: 0, round: 1, pause_ps })
    }

    /// Waits for a moment; false when it is time to sleep.
    #[inline]
    pub fn pause(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        let round = self.round.min(self.left);
        for _ in 0..round {
            #[cfg(not(loom))]
            core::hint::spin_loop();
            #[cfg(loom)]
            loom::thread::yield_now();
        }
        self.left -= round;
        self.made += round;
        self.round = (2 * self.round).min(8);
        true
    }

    /// Learns from a look that was long enough.
    pub fn got(&self) {
        let used = u64::from(self.made) * u64::from(self.pause_ps) / 1000;
        self.learn((2 * used).min(u64::from(SLEEP_NS)) as u32);
    }

    /// Learns from a look that was not.
    pub fn gave_up(&self) {
        self.learn(0);
    }

    fn learn(&self, sample: u32) {
        if cfg!(loom) {
            return;
        }
        let bound = match self.place.bound.load(Ordering::Relaxed) {
            0 => FIRST_NS,
            bound => bound,
        };
        let bound = bound - bound / 8 + sample / 8;
        self.place.bound.store(bound.clamp(LEAST_NS, SLEEP_NS), Ordering::Relaxed);
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        if cfg!(not(loom)) {
            self.place.lookers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
