//! One thread's wait for one lock, from its first try to the acquisition.
//!
//! ```text
//! begin ─> parks, spun, slept ... ─> is_long: what does the holder do, what does this thread hold? ─> end
//! ```
//!
//! The thread that waited adds the results of its wait, as a rule when it no longer holds the lock ([`delayed_record`]).
//!
//! Invariant: a thread that waits counts in the record's `waiting` until [`Wait::end`].
//! Known limit: for a wait cut short by the end of its process, only its beginning is recorded.
//! Not here: the record of a lock (`record`), and which waits are recorded (`wait_sampling`).

use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, Ordering};

use underbar_ledger::locks::{LOCKS, POLICY_AS_OPTION, Sort};
use underbar_lock::waiting::{looks_again_at, now};

use super::area::Found;
use super::number::thread;
use super::order::Moment;
use super::record::{LONG_NS, Sums, add, one_more_waits, waited};
use super::wait_sampling::Pile;
use super::{delayed_record, holder, is_simple_in_use, order, wait_sampling};

/// Number of looks in one wait, each after ten times as long. Threads that do not watch the lock take only the last.
const LOOKS: u32 = 4;

/// The thread that looks early at what the holder of a lock does, indexed as the records; 0: none does. Taken by a thread
/// that is about to sleep, and given back by it. Relaxed: at worst two threads look, or none.
///
/// The watcher leaves its sleep and asks for the lock once more, and the holder must wake a thread for that. If all
/// sleeping threads did so after a millisecond, a lock that threads wait for all the time would be handed on ten times as
/// often.
static WATCHER: [AtomicU32; LOCKS] = [const { AtomicU32::new(0) }; LOCKS];

/// In a forked child no thread sleeps.
pub(super) fn in_child() {
    WATCHER.iter().for_each(|watcher| watcher.store(0, Ordering::Relaxed));
}

/// One thread's wait for one lock.
pub struct Wait {
    lock: usize,
    sort: Sort,
    caller: usize,
    /// The number of waits that it represents.
    times: u64,
    began: u64,
    found: Option<Found>,
    spin_ns: u64,
    runnable_ns: u64,
    parked: u64,
    /// Whether underbar waits, rather than the C library, which does not report how it waits.
    is_ours: bool,
    /// Whether it represents waits that are passed over. Those sleep at once, and so does this one: if it came later, it would
    /// find the lock given up meanwhile, and last a fraction of their time.
    is_sample: bool,
    /// How often it was found long, or is not to be.
    long: u32,
    /// Whether this thread is the lock's [`WATCHER`].
    watches: bool,
    /// Whether the locks that the thread holds were counted for this wait.
    order_seen: bool,
}

impl Wait {
    pub fn begin(lock: usize, sort: Sort, caller: usize, times: u64) -> Wait {
        // First of all: what follows takes time that the thread waits, too.
        let began = now();
        delayed_record::write_down();
        let found = waited(lock, sort, caller);
        let is_sample = !is_simple_in_use() && wait_sampling::recorded(began);
        if let Some(found) = found {
            one_more_waits(found, began);
        }
        Wait {
            lock,
            sort,
            caller,
            times,
            began,
            found,
            spin_ns: 0,
            runnable_ns: 0,
            parked: 0,
            is_ours: false,
            is_sample,
            long: 0,
            watches: false,
            order_seen: false,
        }
    }

    /// The policy that the host sets for this lock.
    pub fn policy(&self) -> u32 {
        self.found.map_or(POLICY_AS_OPTION, |found| found.record.policy.load(Ordering::Relaxed))
    }

    /// Underbar itself waits.
    pub fn is_ours(&mut self) {
        self.is_ours = true;
    }

    /// The lock's record. A wait that began while another thread made the area, or this record, finds it here.
    fn record(&mut self) -> Option<Found> {
        if self.found.is_none() {
            self.found = waited(self.lock, self.sort, self.caller);
            if let Some(found) = self.found {
                one_more_waits(found, self.began);
            }
        }
        self.found
    }

    /// The thread is going to sleep.
    pub fn parks(&mut self) {
        if self.is_sample {
            return;
        }
        let Some(found) = self.record() else { return };
        if !self.order_seen {
            self.order_seen = order::look(found, self.caller, Moment::Begins);
        }
        if !self.is_watcher(found) {
            self.long = LOOKS - 1;
        }
    }

    /// Whether this thread watches the lock. It does from now on if no other thread does.
    fn is_watcher(&mut self, found: Found) -> bool {
        let watcher = &WATCHER[found.place];
        self.watches |= watcher.load(Ordering::Relaxed) == 0
            && watcher.compare_exchange(0, thread(), Ordering::Relaxed, Ordering::Relaxed).is_ok();
        self.watches
    }

    /// When the wait becomes long, then ten times as long, and so on up to a second, by the monotonic clock; then never.
    /// This applies to one thread that sleeps for a lock; to the others only after a second.
    pub fn is_long_at(&self) -> Option<u64> {
        (self.long < LOOKS).then(|| self.began + LONG_NS * 10_u64.pow(self.long))
    }

    /// When a thread that sleeps under the simple policy is to look at the lock again if no thread wakes it. "Never" is not
    /// an answer there, see `underbar_lock`'s `turn`.
    pub fn looks_again_at(&self, now: u64) -> u64 {
        self.is_long_at().unwrap_or_else(|| looks_again_at(self.began, now))
    }

    /// The wait has become long.
    pub fn is_long(&mut self, owner: u32) {
        self.long = (self.long + 1).min(LOOKS);
        if let Some(found) = self.record() {
            if self.is_sample && !self.is_watcher(found) && self.long < LOOKS {
                self.long = LOOKS - 1;
                return;
            }
            holder::look(found, owner);
            let moment = if self.order_seen { Moment::Again } else { Moment::IsLong };
            self.order_seen |= order::look(found, self.caller, moment);
        }
    }

    /// The thread looked for that long.
    pub fn spun(&mut self, ns: u64) {
        self.spin_ns += ns;
    }

    /// The thread slept, and took that long to run after it was woken.
    pub fn slept(&mut self, runnable_ns: u64) {
        self.parked += 1;
        self.runnable_ns += runnable_ns;
    }

    /// The wait is over; `got`: this thread has the lock.
    pub fn end(self, got: bool) {
        let ns = now().saturating_sub(self.began);
        if let Some(found) = self.found {
            if self.is_sample && !self.order_seen {
                order::look(found, self.caller, Moment::Begins);
            }
            found.record.waiting.fetch_sub(1, Ordering::Relaxed);
            if self.watches {
                WATCHER[found.place].store(0, Ordering::Relaxed);
            }
        }
        let found = self.found.or_else(|| waited(self.lock, self.sort, self.caller));
        let sums = Sums {
            times: wait_sampling::represents(self.times, ns),
            ns,
            spin_ns: self.spin_ns,
            runnable_ns: self.runnable_ns,
            parked: self.parked,
            got,
        };
        ended(self.lock, found, self.caller, &sums, self.is_ours && self.parked == 0);
    }
}

/// Waits that were passed over, the last one for this lock, which this thread has got after `ns`.
#[cold]
pub fn piled(lock: usize, sort: Sort, caller: usize, ns: u64, pile: &Pile) {
    let found = waited(lock, sort, caller);
    let one = Sums { times: 1, ns, spin_ns: 0, runnable_ns: 0, parked: 0, got: true };
    add(found, caller, &one, false);
    if let Some(others) = NonZeroU64::new(pile.waits - 1) {
        let each = (pile.ns - ns) / others;
        add(found, caller, &Sums { times: others.get(), ns: each, ..one }, false);
    }
}

/// A wait is over. If the lock was got, the caller is its holder, and others may wait for it already.
pub fn ended(lock: usize, found: Option<Found>, caller: usize, sums: &Sums, spun: bool) {
    if !(sums.got && found.is_some() && delayed_record::keep(lock, caller, sums, spun)) {
        add(found, caller, sums, spun);
    }
}

/// A thread begins to wait for a simple lock by sleeping.
pub fn sleeps(lock: usize, sort: Sort, caller: usize) -> bool {
    delayed_record::write_down();
    let Some(found) = waited(lock, sort, caller) else { return false };
    one_more_waits(found, now());
    order::look(found, caller, Moment::Begins);
    true
}

/// The thread has woken.
pub fn sleeps_no_more(found: Found) {
    found.record.waiting.fetch_sub(1, Ordering::Relaxed);
}
