//! The results of a wait, recorded once the thread has given up the lock. The cache lines of a record are in other
//! processors' caches. Fetching them while holding a lock that others wait for would lengthen their waits.
//!
//! ```text
//! wait ends, lock held ──> lane of this thread        gives it up ──> wakes ──┐
//!                                                     waits again ────────────┼──> record
//!                                                     the process ends ───────┘
//!
//! lane: EMPTY ──thread that waited──> AT_IT ──> FULL ──thread that records it──> AT_IT ──> EMPTY
//! ```
//!
//! A long wait is recorded at once: the time to record it is negligible next to the wait, and an observer sees it. So a
//! process that is killed loses at most one short wait of each thread.
//!
//! Invariant: each wait put into a lane is recorded once. A forked child finds its lanes empty.
//! Not here: the content of a record (`record`).

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

/// A wait, as [`record::add`] takes it. All fields but `state` are written and read, relaxed, by the thread that has set
/// [`AT_IT`].
#[repr(align(64))]
struct Lane {
    /// Written by the thread that waited and by the thread that records. Release and Acquire on it order the lane's other
    /// fields.
    state: AtomicU32,
    /// The thread that waited.
    thread: AtomicU32,
    /// The ledger slot of its process.
    slot: AtomicPtr<Slot>,
    lock: AtomicUsize,
    caller: AtomicUsize,
    ns: AtomicU64,
    spin_ns: AtomicU64,
    runnable_ns: AtomicU64,
    /// How often the thread slept. Above that: the number of waits that this one represents, and one bit: the lock was got
    /// by spinning.
    parked: AtomicU64,
}

const SPUN: u64 = 1 << 63;
/// Where in that word the number of represented waits begins.
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

/// Lanes from this one on were never filled. Raised by the thread that fills a lane, before it fills it. Relaxed: a reader
/// that misses that lane would have found it empty. So a process without waits touches no lane, neither at its end nor in a
/// forked child.
static FILLED: AtomicUsize = AtomicUsize::new(0);

fn filled() -> &'static [Lane] {
    LANE.get(..FILLED.load(Ordering::Relaxed)).unwrap_or(&LANE)
}

impl Lane {
    fn is_mine(&self, from: u32) -> bool {
        self.state.load(Ordering::Relaxed) == from
            && self.state.compare_exchange(from, AT_IT, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Moves the lane's wait into the record.
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
        // After a fork that the C library does not know of, the child finds its parent's wait here.
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

/// Keeps a wait that got the lock until this thread gives the lock up. False if the caller is to record it now.
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

/// In a forked child: the waits in the lanes are the parent's to record.
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
