//! What a wait came to, written down when the lock is no longer held: a record's lines lie in other processors' caches, and
//! to fetch them while holding a lock that others wait for would lengthen their waits.
//!
//! ```text
//! wait ends, lock held ──> lane of this thread        gives it up ──> wakes ──┐
//!                                                     waits again ────────────┼──> record
//!                                                     the process ends ───────┘
//!
//! lane: EMPTY ──who waited──> AT_IT ──> FULL ──who writes it down──> AT_IT ──> EMPTY
//! ```
//!
//! A long wait is written down at once: beside it, the time to do so is nothing, and whoever looks on sees it. So what a
//! process that is killed takes with it is at most one short wait of each thread.
//!
//! Invariant: what was put into a lane is written down once. A forked child finds its lanes empty.
//! Not here: what is written (`record`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::Slot;

use super::number::thread;
use super::record::{self, LONG_NS, Sums};
use crate::ledger;

const EMPTY: u32 = 0;
const AT_IT: u32 = 1;
const FULL: u32 = 2;

const LANES: usize = 256;

/// A wait, as [`record::add`] takes it. All but `state` is written and read by who has it [`AT_IT`], relaxed.
#[repr(align(64))]
struct Lane {
    /// Written by who waited, and by who writes down; what is in the lane goes with it, by Release and Acquire.
    state: AtomicU32,
    /// Thread that waited.
    thread: AtomicU32,
    /// Accounts of its process.
    slot: AtomicPtr<Slot>,
    lock: AtomicUsize,
    caller: AtomicUsize,
    ns: AtomicU64,
    spin_ns: AtomicU64,
    runnable_ns: AtomicU64,
    /// Times that it slept; above them, for how many waits it stands; and one bit: it was got by looking.
    parked: AtomicU64,
}

const SPUN: u64 = 1 << 63;
/// Where the number of waits for which it stands begins in that word.
const TIMES: u32 = 32;

const _: () = assert!(size_of::<Lane>() == 64);

static LANE: [Lane; LANES] = [const {
    Lane {
        state: AtomicU32::new(EMPTY),
        thread: AtomicU32::new(0),
        slot: AtomicPtr::new(null_mut()),
        lock: AtomicUsize::new(0),
        caller: AtomicUsize::new(0),
        ns: AtomicU64::new(0),
        spin_ns: AtomicU64::new(0),
        runnable_ns: AtomicU64::new(0),
        parked: AtomicU64::new(0),
    }
}; LANES];

/// Lanes from this one on were never filled. Raised by who fills one, before it; relaxed, since whoever looks and misses that
/// lane would have met it empty. So a process in which nobody waits touches no lane, neither at its end nor in a forked child.
static FILLED: AtomicUsize = AtomicUsize::new(0);

fn filled() -> &'static [Lane] {
    LANE.get(..FILLED.load(Ordering::Relaxed)).unwrap_or(&LANE)
}

impl Lane {
    fn is_mine(&self, from: u32) -> bool {
        self.state.load(Ordering::Relaxed) == from
            && self.state.compare_exchange(from, AT_IT, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Empties it into the record.
    fn write_down(&self) {
        if !self.is_mine(FULL) {
            return;
        }
        let parked = self.parked.load(Ordering::Relaxed);
        let sums = Sums {
            ns: self.ns.load(Ordering::Relaxed),
            spin_ns: self.spin_ns.load(Ordering::Relaxed),
            runnable_ns: self.runnable_ns.load(Ordering::Relaxed),
            times: (parked & !SPUN) >> TIMES,
            parked: u64::from(parked as u32),
            got: true,
        };
        let (lock, caller) = (self.lock.load(Ordering::Relaxed), self.caller.load(Ordering::Relaxed));
        // Of a fork that the C library did not know of, the child finds what is its parent's.
        let is_ours = core::ptr::eq(self.slot.load(Ordering::Relaxed), ledger::slot());
        self.state.store(EMPTY, Ordering::Release);
        if is_ours {
            record::add(record::known(lock), caller, &sums, parked & SPUN != 0);
        }
    }
}

fn own() -> &'static Lane {
    &LANE[own_place()]
}

fn own_place() -> usize {
    thread() as usize % LANES
}

/// Keeps a wait that got the lock, until this thread holds it no longer. False where it is to be written down now.
pub fn keep(lock: usize, caller: usize, sums: &Sums, spun: bool) -> bool {
    if sums.ns >= LONG_NS {
        return false;
    }
    let place = own_place();
    if FILLED.load(Ordering::Relaxed) <= place {
        FILLED.fetch_max(place + 1, Ordering::Relaxed);
    }
    let lane = &LANE[place];
    if !lane.is_mine(EMPTY) {
        return false;
    }
    lane.thread.store(thread(), Ordering::Relaxed);
    lane.slot.store(core::ptr::from_ref(ledger::slot()).cast_mut(), Ordering::Relaxed);
    lane.lock.store(lock, Ordering::Relaxed);
    lane.caller.store(caller, Ordering::Relaxed);
    lane.ns.store(sums.ns, Ordering::Relaxed);
    lane.spin_ns.store(sums.spin_ns, Ordering::Relaxed);
    lane.runnable_ns.store(sums.runnable_ns, Ordering::Relaxed);
    lane.parked.store(sums.parked | sums.times << TIMES | if spun { SPUN } else { 0 }, Ordering::Relaxed);
    lane.state.store(FULL, Ordering::Release);
    true
}

/// This thread holds nothing that others wait for, or is about to wait itself.
pub fn write_down() {
    let lane = own();
    if lane.thread.load(Ordering::Relaxed) == thread() {
        lane.write_down();
    }
}

/// The process ends, or becomes another program.
pub fn write_all_down() {
    filled().iter().for_each(Lane::write_down);
}

/// In a forked child: what is in the lanes is the parent's to write down.
pub fn in_child() {
    filled().iter().for_each(|lane| lane.state.store(EMPTY, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that empty all lanes, one after the other.
    static LANES_ARE_ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn keep_one(ns: u64) -> bool {
        let sums = Sums { times: 7, ns, spin_ns: 1, runnable_ns: 2, parked: 3, got: true };
        keep(0x1000, 0x2000, &sums, true)
    }

    #[test]
    fn a_short_wait_is_kept_once_until_it_is_written_down() {
        let _alone = LANES_ARE_ONE.lock();
        // A lane of its own: no other test's thread has this one's number, up to a multiple.
        std::thread::spawn(|| {
            assert!(!keep_one(LONG_NS), "a long one is for now");
            assert!(keep_one(5));
            assert!(!keep_one(5), "there is one");
            let words = [&own().ns, &own().spin_ns, &own().runnable_ns, &own().parked];
            assert_eq!(words.map(|word| word.load(Ordering::Relaxed)), [5, 1, 2, 3 | 7 << TIMES | SPUN]);
            own().thread.fetch_add(1, Ordering::Relaxed);
            write_down();
            assert_eq!(own().state.load(Ordering::Relaxed), FULL, "another thread's stays");
            own().thread.fetch_sub(1, Ordering::Relaxed);
            write_down();
            assert_eq!(own().state.load(Ordering::Relaxed), EMPTY);
            assert!(keep_one(5));
            write_all_down();
            assert_eq!(own().state.load(Ordering::Relaxed), EMPTY);
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn a_lane_that_somebody_is_at_is_left_alone() {
        let _alone = LANES_ARE_ONE.lock();
        std::thread::spawn(|| {
            own().state.store(AT_IT, Ordering::Relaxed);
            assert!(!keep_one(5));
            own().thread.store(thread(), Ordering::Relaxed);
            write_down();
            assert_eq!(own().state.load(Ordering::Relaxed), AT_IT);
            in_child();
            assert!(keep_one(5), "in a child nobody is at it");
            write_down();
        })
        .join()
        .expect("no panic");
    }
}
