//! The statistics of one lock, and how a thread that waits or wakes adds to them.
//!
//! ```text
//! locks[]:  hash of the address, then the next, at most 64 of them
//!           FREE --compare-and-swap--> CLAIMED --address, sort, first site--> READY, for ever
//! ```
//!
//! The thread that waited adds the results of its wait, as a rule when it no longer holds the lock ([`delayed_record`]), by
//! read-modify-write operations.
//!
//! Invariant: an area has one record for each address. No thread waits for more than a moment.
//! Known limit: for a wait cut short by the end of its process, only its beginning is recorded.

use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_ledger::locks::{Area, CLAIMED, INTERVALS, LOCKS, POLICY_AS_OPTION, READY, Site, Sort};
use underbar_lock::waiting::{looks_again_at, now};

use super::area::Found;
use super::number::thread;
use super::order::Moment;
use super::wait_sampling::Pile;
use super::{area, delayed_record, holder, one, order, simple, wait_sampling};
use crate::ledger;

/// A wait of this length is worth a look at what the holder does.
pub(super) const LONG_NS: u64 = 1_000_000;
/// Number of looks in one wait, each after ten times as long. Threads that do not watch the lock take only the last.
const LOOKS: u32 = 4;
/// Records that are probed for one address.
const PROBES: usize = 64;

/// When each lock was last given up while others waited, or when the first of those began to wait; indexed as the records.
/// A forked child begins with its parent's times, which are in the past.
static SINCE: [AtomicU64; LOCKS] = [const { AtomicU64::new(0) }; LOCKS];

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

/// The record of a lock. Makes it if there is none. None without an area, or if the area is full.
pub fn waited(lock: usize, sort: Sort, caller: usize) -> Option<Found> {
    let area = area::get()?;
    find(area, lock, Some((sort, caller)))
}

/// The record of a lock that some thread waited for before.
pub fn known(lock: usize) -> Option<Found> {
    find(area::existing()?, lock, None)
}

fn find(area: &'static Area, lock: usize, make: Option<(Sort, usize)>) -> Option<Found> {
    let start = ((lock >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> 56) % LOCKS;
    for probe in 0..PROBES {
        let place = (start + probe) % LOCKS;
        let record = &area.locks[place];
        let mut state = record.state.load(Ordering::Acquire);
        if state == 0 {
            let (sort, caller) = make?;
            match record.state.compare_exchange(0, CLAIMED, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => {
                    record.sort.store(sort as u32, Ordering::Relaxed);
                    record.address.store(lock as u64, Ordering::Relaxed);
                    record.first_site.store(caller as u64, Ordering::Relaxed);
                    record.state.store(READY, Ordering::Release);
                    area::module_of(area, lock);
                    area::module_of(area, caller);
                    one::look(area, record);
                    ledger::add(Key::LockLocks, 1);
                    return Some(Found { record, place, area });
                }
                Err(now) => state = now,
            }
        }
        // Another thread is setting it up: three stores. If that is this thread, interrupted by a signal, the setup never
        // ends.
        for _ in 0..1_000 {
            if state == READY {
                break;
            }
            core::hint::spin_loop();
            state = record.state.load(Ordering::Acquire);
        }
        if state != READY {
            return None;
        }
        if record.address.load(Ordering::Relaxed) == lock as u64 {
            return Some(Found { record, place, area });
        }
    }
    None
}

/// The record of a lock for which a thread with a recorded wait waits now.
pub fn waited_for(lock: usize) -> Option<Found> {
    known(lock).filter(|found| found.record.waiting.load(Ordering::Relaxed) != 0)
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
        let is_sample = !simple::is_in_use() && wait_sampling::recorded(began);
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

fn one_more_waits(found: Found, began: u64) {
    if found.record.waiting.fetch_add(1, Ordering::Relaxed) == 0 {
        SINCE[found.place].store(began, Ordering::Relaxed);
    }
}

/// What one wait adds.
pub struct Sums {
    /// The number of waits of its length that it represents; more than one only where the C library waits.
    pub times: u64,
    pub ns: u64,
    pub spin_ns: u64,
    pub runnable_ns: u64,
    pub parked: u64,
    pub got: bool,
}

/// A wait is over. If the lock was got, the caller is its holder, and others may wait for it already.
pub fn ended(lock: usize, found: Option<Found>, caller: usize, sums: &Sums, spun: bool) {
    if !(sums.got && found.is_some() && delayed_record::keep(lock, caller, sums, spun)) {
        add(found, caller, sums, spun);
    }
}

/// Adds a wait that is over.
pub fn add(found: Option<Found>, caller: usize, sums: &Sums, spun: bool) {
    if sums.parked != 0 {
        ledger::add(Key::LockParked, sums.parked);
    }
    if sums.spin_ns != 0 {
        ledger::add(Key::LockSpin, sums.spin_ns);
    }
    if sums.got {
        ledger::add(Key::LockContended, sums.times);
        ledger::add(Key::LockWait, sums.times * sums.ns);
        ledger::raise(Key::LockWaitMax, sums.ns);
        if spun {
            ledger::add(Key::LockSpun, 1);
        }
        if found.is_none() {
            ledger::add(Key::LockUnrecorded, sums.times);
            if let Some(area) = area::existing() {
                area.header.unrecorded.fetch_add(sums.times, Ordering::Relaxed);
            }
        }
    }
    let Some(found) = found else { return };
    let record = found.record;
    grow(&record.parked, sums.parked);
    grow(&record.spin_ns, sums.spin_ns);
    if !sums.got {
        return;
    }
    grow(&record.contended, sums.times);
    grow(&record.wait_ns, sums.times * sums.ns);
    grow(&record.runnable_ns, sums.runnable_ns);
    grow(&record.spun, u64::from(spun));
    if record.wait_max_ns.load(Ordering::Relaxed) < sums.ns {
        record.wait_max_ns.fetch_max(sums.ns, Ordering::Relaxed);
    }
    let interval = (sums.ns.max(1).ilog2() as usize).min(INTERVALS - 1);
    record.histogram[interval].fetch_add(sums.times as u32, Ordering::Relaxed);
    if at_site(found.area, &record.waiters, caller, sums.times, sums.times * sums.ns) {
        one::look(found.area, record);
    }
}

/// Adds to a sum, if there is something to add.
fn grow(sum: &AtomicU64, amount: u64) {
    if amount != 0 {
        sum.fetch_add(amount, Ordering::Relaxed);
    }
}

/// Adds to a call site's sums. If there is no room for the site, adds to none. True if the site is new.
fn at_site(area: &'static Area, sites: &'static [Site], caller: usize, times: u64, ns: u64) -> bool {
    let mut is_new = false;
    for site in sites {
        let mut address = site.address.load(Ordering::Relaxed);
        if address == 0 {
            match site.address.compare_exchange(0, caller as u64, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    area::module_of(area, caller);
                    address = caller as u64;
                    is_new = true;
                }
                Err(now) => address = now,
            }
        }
        if address == caller as u64 {
            site.count.fetch_add(times, Ordering::Relaxed);
            site.ns.fetch_add(ns, Ordering::Relaxed);
            return is_new;
        }
    }
    false
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

/// A thread was woken for a lock that was given up.
pub fn has_woken(found: Option<Found>) {
    if let Some(found) = found {
        found.record.woken.fetch_add(1, Ordering::Relaxed);
    }
}

/// A thread gave this lock up while others waited. The lock's memory may be gone. The call site is to blame for the time
/// that the waiting threads have waited since the lock was last given up. Each of them represents `times` waits.
pub fn given_up(found: Found, caller: usize, thread: u32, times: u64) {
    let Found { record, place, area } = found;
    let waiting = record.waiting.load(Ordering::Relaxed);
    if waiting == 0 {
        return;
    }
    record.given_up.fetch_add(1, Ordering::Relaxed);
    if swap(&record.last_holder, thread) == thread {
        record.same_holder.fetch_add(1, Ordering::Relaxed);
    }
    let time = now();
    let since = SINCE[place].swap(time, Ordering::Relaxed);
    // Threads that began to wait between two reads of the clock may make this large; no thread has waited for an hour.
    let waited = if since == 0 { 0 } else { time.saturating_sub(since).min(3_600_000_000_000) };
    at_site(area, &record.holders, caller, 1, waited * u64::from(waiting) * times);
}

fn swap(word: &AtomicU32, value: u32) -> u32 {
    word.swap(value, Ordering::Relaxed)
}
