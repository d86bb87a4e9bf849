//! A mutex on trial: the host changes how threads wait for it while the program runs, and has its acquisitions counted, so
//! that it can compare the program's behaviour under two policies.
//!
//! ```text
//! a thread waits ─> epoch of the control page == last epoch obeyed? one relaxed load
//!                        │ no
//!                        v
//!        LockPolicy(lock): the policy goes into its record, which waiting threads read
//!        LockCounted:      all mutexes take the path of kinds not handled here, on which acquisitions of this one count
//! ```
//!
//! Invariant: while nothing is on trial, a thread that finds a mutex free pays nothing. Only the holder adds to the counts.
//! The heap's settings on the same page are left to the heap: a thread that waits for a mutex may be inside it.
//! Known limits: acquisitions inside the C library (condition variables, C11's `mtx_t`) are not counted. A setting for a
//! lock that no thread has waited for yet is ignored.
//! Not here: when each policy is tried (the host).

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::control::Kind;
use underbar_ledger::locks::{LOCKS, POLICY_SLEEP};

use super::{area, mutex, record, simple_comes_into_use};
use crate::ledger::{self, control};

/// The epoch of the control page that locks last obeyed. Written by the thread that has `OBEYING`; read by all, relaxed.
static OBEYED: AtomicU64 = AtomicU64::new(0);
/// Taken by the thread that obeys (Acquire), given up with Release.
static OBEYING: AtomicBool = AtomicBool::new(false);
/// The mutex whose acquisitions are counted, 0: none; and the index of its record, written before it. Written by the thread
/// that has `OBEYING`, read by holders. Relaxed: a holder checks that the record is the mutex's.
static COUNTED: AtomicUsize = AtomicUsize::new(0);
static PLACE: AtomicUsize = AtomicUsize::new(0);

/// Obeys the host's changes. If there are none, the cost is one load of the page.
#[inline]
pub fn obey_if_changed() {
    if control::page().epoch() != OBEYED.load(Ordering::Relaxed) {
        obey();
    }
}

#[cold]
#[inline(never)]
fn obey() {
    if OBEYING.swap(true, Ordering::Acquire) {
        return;
    }
    let mut changes = 0;
    let epoch = control::page().obey(ledger::number(), |kind, object, value| {
        changes += u64::from(match kind {
            Kind::LockPolicy => set_policy(object as usize, value),
            Kind::LockCounted => count(value as usize),
            Kind::HeapDisposition | Kind::HeapTrim | Kind::EcbDisplay => false,
        });
    });
    if changes > 0 {
        ledger::add(underbar_ledger::Key::ControlObeyed, changes);
    }
    OBEYED.store(epoch, Ordering::Relaxed);
    OBEYING.store(false, Ordering::Release);
}

fn set_policy(lock: usize, policy: u64) -> bool {
    let Some(found) = record::known(lock) else { return false };
    // Noise is no policy.
    let policy = policy as u32;
    if policy <= POLICY_SLEEP {
        simple_comes_into_use();
    }
    policy <= POLICY_SLEEP && found.record.policy.swap(policy, Ordering::Relaxed) != policy
}

fn count(lock: usize) -> bool {
    if COUNTED.load(Ordering::Relaxed) == lock {
        return false;
    }
    let found = record::known(lock);
    if let Some(found) = found {
        PLACE.store(found.place, Ordering::Relaxed);
    }
    if found.is_none() {
        stop_counting();
        return false;
    }
    COUNTED.store(lock, Ordering::Relaxed);
    mutex::count_all(true);
    true
}

/// First all threads return to the fast path: a thread that takes the slow one with nothing to count would seem to wait.
fn stop_counting() {
    mutex::count_all(false);
    COUNTED.store(0, Ordering::Relaxed);
}

/// Whether there is a mutex whose acquisitions are counted.
#[inline]
pub fn is_on() -> bool {
    COUNTED.load(Ordering::Relaxed) != 0
}

/// This thread has just got the mutex at this address.
#[inline]
pub fn acquired(lock: usize) {
    if COUNTED.load(Ordering::Relaxed) != lock {
        return;
    }
    // In a forked child the area is another one, or none.
    let place = PLACE.load(Ordering::Relaxed) % LOCKS;
    if let Some(record) = area::existing().map(|area| &area.locks[place])
        && record.address.load(Ordering::Relaxed) == lock as u64
    {
        record.acquired.store(record.acquired.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// In a forked child: nothing is on trial, and the parent's thread that was obeying does not exist here.
pub fn in_child() {
    OBEYING.store(false, Ordering::Relaxed);
    if is_on() {
        stop_counting();
    }
}
