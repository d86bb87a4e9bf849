//! The statistics of one lock: how its record is found, and how waits and wakes are added to it.
//!
//! ```text
//! locks[]:  hash of the address, then the next, at most 64 of them
//!           FREE --compare-and-swap--> CLAIMED --address, sort, first site--> READY, for ever
//! ```
//!
//! All additions are read-modify-write operations.
//!
//! Invariant: an area has one record for each address. No thread waits for more than a moment.
//! Not here: a wait that is under way (`wait`), and when its results are added (`delayed_record`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_ledger::locks::{Area, CLAIMED, INTERVALS, LOCKS, READY, Site, Sort};
use underbar_lock::waiting::now;

use super::area::Found;
use super::{area, one};
use crate::ledger;

/// A wait of this length is worth a look at what the holder does.
pub(super) const LONG_NS: u64 = 1_000_000;
/// Records that are probed for one address.
const PROBES: usize = 64;

/// When each lock was last given up while others waited, or when the first of those began to wait; indexed as the records.
/// A forked child begins with its parent's times, which are in the past.
static SINCE: [AtomicU64; LOCKS] = [const { AtomicU64::new(0) }; LOCKS];

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

/// One more thread waits for the lock, since `began`.
pub(super) fn one_more_waits(found: Found, began: u64) {
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
