//! The functions of the C names: pthread_mutex_lock and its relatives.
//!
//! ```text
//! pthread_mutex_lock ── jump ─┬─> `lock` ─┬─ normal or adaptive, free ──────────────────> taken
//!                             │           ├─ a kind that is known ── jump ──────────────> `owned`, or the C library
//!                             │           └─ held ─> recorded, and waited for as LOCK says
//!                             └─> C library, under LOCK(OFF)
//! ```
//!
//! Invariant: after the exchange that gives a mutex up, its memory is not touched. An entry changes only after the C library's
//! function was found; both ways follow one protocol, so it does not matter which one a thread takes.
//! Not here: the protocol (`mutex`), how to wait (`simple`), which waits are recorded (`wait_sampling`), and what is recorded
//! (`record`).

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use underbar_ledger::locks::{POLICY_AS_OPTION, POLICY_COUNT, Sort};
use underbar_lock::waiting::now;
use underbar_sys::syscall::{CLOCK_MONOTONIC, CLOCK_REALTIME, Timespec};

use super::mutex::Mutex;
use super::number::thread;
use super::record;
use super::wait::{self, Wait};
use super::{
    Locks, c_library, delayed_record, is_simple_in_use, mode, owned, passed_through, simple, trial,
    wait_sampling,
};

const EBUSY: i32 = 16;

/// The functions that the C names jump to.
///
/// At first underbar's; under LOCK(OFF) the C library's. Written by the constructor; relaxed: both do the same.
pub struct Entries {
    /// `pthread_mutex_lock`
    pub lock: AtomicPtr<()>,
    /// `pthread_mutex_unlock`
    pub unlock: AtomicPtr<()>,
    /// `pthread_mutex_trylock`
    pub trylock: AtomicPtr<()>,
    /// `pthread_mutex_timedlock`
    pub timedlock: AtomicPtr<()>,
    /// `pthread_mutex_clocklock`
    pub clocklock: AtomicPtr<()>,
}

/// See [`Entries`].
pub static ENTRIES: Entries = Entries {
    lock: AtomicPtr::new(lock as *mut ()),
    unlock: AtomicPtr::new(unlock as *mut ()),
    trylock: AtomicPtr::new(trylock as *mut ()),
    timedlock: AtomicPtr::new(timedlock as *mut ()),
    clocklock: AtomicPtr::new(clocklock as *mut ()),
};

/// Finds the C library's functions. Under LOCK(OFF) the C names jump to them from now on.
pub(super) fn find() {
    let entries = [&ENTRIES.lock, &ENTRIES.unlock, &ENTRIES.trylock, &ENTRIES.timedlock, &ENTRIES.clocklock];
    for (next, entry) in c_library::FUNCTIONS.into_iter().zip(entries) {
        if let Some(address) = next.get()
            && mode() == Locks::Off
        {
            entry.store(address as *mut (), Ordering::Relaxed);
        }
    }
}

/// pthread_mutex_lock, called from `caller`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn lock(mutex: *const Mutex, caller: usize) -> i32 {
    // SAFETY: the caller's promise.
    let it = unsafe { &*mutex };
    let kind = it.kind();
    if Mutex::is_normal(kind) && it.take_if_free() {
        it.taken();
        return 0;
    }
    // Without a table lookup: programs have many of these.
    if kind == owned::RECURSIVE as u64 {
        // SAFETY: the caller's promise.
        return unsafe { owned::lock_recursive(mutex) };
    }
    if passed_through::is_known(kind) {
        // SAFETY: the caller's promise.
        return unsafe { passed_through::lock_known(kind, mutex) };
    }
    lock_adaptive(it, caller)
}

/// A separate function, so that the normal kind saves no registers for it.
#[inline(never)]
fn lock_adaptive(mutex: &Mutex, caller: usize) -> i32 {
    if Mutex::is_adaptive(mutex.kind()) && mutex.take_if_free() {
        mutex.taken();
        return 0;
    }
    lock_otherwise(mutex, caller)
}

#[cold]
#[inline(never)]
fn lock_otherwise(mutex: &Mutex, caller: usize) -> i32 {
    let Some(sort) = mutex.sort() else {
        passed_through::met(mutex);
        return c_library::lock(mutex);
    };
    // The mutex was found held a moment ago, unless all mutexes pass through here. A reserved one is left to the waiting
    // threads under LOCK(SIMPLE).
    let is_reserved = mutex.is_reserved();
    let may_take = trial::is_on() || is_reserved;
    if may_take && !(is_reserved && mode() == Locks::Simple) && mutex.take_if_free() {
        taken_and_counted(mutex);
        return 0;
    }
    if mode() == Locks::Off {
        return c_library::lock(mutex);
    }
    trial::obey_if_changed();
    match stands_for() {
        Some(times) => contend(mutex, sort, caller, times),
        None => pass_over(mutex, sort, caller, || c_library::lock(mutex)),
    }
}

/// Waits in the C library, without a record unless the wait was long.
fn pass_over(mutex: &Mutex, sort: Sort, caller: usize, wait: impl Fn() -> i32) -> i32 {
    let began = now();
    let failure = wait();
    if failure == 0
        && let ns = now().saturating_sub(began)
        && let Some(pile) = wait_sampling::passed(began, ns)
    {
        wait::piled(core::ptr::from_ref(mutex) as usize, sort, caller, ns, &pile);
    }
    failure
}

/// Whether a wait is to be recorded, and then how many waits it represents. Where some mutex may be waited for as simple
/// locks are, or acquisitions are counted, each wait is recorded.
#[inline]
fn stands_for() -> Option<u64> {
    if is_simple_in_use() || trial::is_on() { Some(1) } else { wait_sampling::stands_for() }
}

#[inline(never)]
fn contend(mutex: &Mutex, sort: Sort, caller: usize, times: u64) -> i32 {
    let mut wait = Wait::begin(core::ptr::from_ref(mutex) as usize, sort, caller, times);
    if is_simple(&wait) {
        let _ = simple::wait(mutex, &mut wait, None);
        taken_and_counted(mutex);
        wait.end(true);
        return 0;
    }
    let failure = wait_in_the_c_library(mutex, &mut wait);
    if failure == 0 {
        trial::acquired(core::ptr::from_ref(mutex) as usize);
    }
    wait.end(failure == 0);
    failure
}

/// Waits in pieces where possible: after each piece it is time to look at what the holder does.
fn wait_in_the_c_library(mutex: &Mutex, wait: &mut Wait) -> i32 {
    wait.parks();
    while c_library::has_clocklock()
        && let Some(long) = wait.is_long_at()
    {
        let long = Timespec::of(long);
        let failure = c_library::clocklock(mutex, CLOCK_MONOTONIC as i32, &raw const long);
        if failure == 0 {
            return 0;
        }
        wait.is_long(mutex.owner.load(Ordering::Relaxed));
    }
    c_library::lock(mutex)
}

fn is_simple(wait: &Wait) -> bool {
    match wait.policy() {
        POLICY_AS_OPTION => mode() == Locks::Simple,
        policy => policy != POLICY_COUNT,
    }
}

/// pthread_mutex_unlock, called from `caller`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn unlock(mutex: *const Mutex, caller: usize) -> i32 {
    // SAFETY: the caller's promise.
    let it = unsafe { &*mutex };
    let kind = it.kind();
    if Mutex::is_normal(kind) {
        give_up(it, caller, false);
        return 0;
    }
    // Without a table lookup: programs have many of these.
    if kind == owned::RECURSIVE as u64 {
        // SAFETY: the caller's promise.
        return unsafe { owned::unlock_recursive(mutex) };
    }
    if passed_through::is_known(kind) {
        // SAFETY: the caller's promise.
        return unsafe { passed_through::unlock_known(kind, mutex) };
    }
    if Mutex::is_adaptive(kind) {
        give_up(it, caller, false);
        return 0;
    }
    unlock_otherwise(it, caller)
}

#[cold]
#[inline(never)]
fn unlock_otherwise(mutex: &Mutex, caller: usize) -> i32 {
    if mutex.sort().is_some() {
        give_up(mutex, caller, mutex.is_reserved());
        return 0;
    }
    c_library::unlock(mutex)
}

/// pthread_mutex_trylock.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn trylock(mutex: *const Mutex) -> i32 {
    // SAFETY: the caller's promise.
    let it = unsafe { &*mutex };
    let kind = it.kind();
    if let Some(trylock) = passed_through::known_trylock(kind) {
        // SAFETY: the caller's promise.
        return unsafe { trylock(mutex) };
    }
    if it.sort().is_none() {
        passed_through::met(it);
        return c_library::trylock(mutex);
    }
    if !it.take_if_free() {
        return EBUSY;
    }
    taken_and_counted(it);
    0
}

/// pthread_mutex_timedlock, called from `caller`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn timedlock(mutex: *const Mutex, until: *const Timespec, caller: usize) -> i32 {
    // SAFETY: the caller's promise.
    let it = unsafe { &*mutex };
    if it.sort().is_some() && it.take_if_free() {
        taken_and_counted(it);
        return 0;
    }
    lock_until(it, CLOCK_REALTIME, until, caller, || c_library::timedlock(mutex, until))
}

/// pthread_mutex_clocklock, called from `caller`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn clocklock(
    mutex: *const Mutex,
    clock: i32,
    until: *const Timespec,
    caller: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let it = unsafe { &*mutex };
    let is_clock_known = matches!(clock.cast_unsigned(), CLOCK_REALTIME | CLOCK_MONOTONIC);
    if is_clock_known && it.sort().is_some() && it.take_if_free() {
        taken_and_counted(it);
        return 0;
    }
    let real = || c_library::clocklock(mutex, clock, until);
    if is_clock_known { lock_until(it, clock.cast_unsigned(), until, caller, real) } else { real() }
}

#[cold]
fn lock_until(
    mutex: &Mutex,
    clock: u32,
    until: *const Timespec,
    caller: usize,
    real: impl Fn() -> i32,
) -> i32 {
    let Some(sort) = mutex.sort() else {
        passed_through::met(mutex);
        return real();
    };
    // SAFETY: the caller's promise.
    let until = unsafe { &*until };
    // The C library is the best judge of a time that is invalid or over.
    let is_a_time = until.seconds >= 0 && (0..1_000_000_000).contains(&until.nanoseconds);
    if mode() == Locks::Off || !is_a_time {
        return real();
    }
    trial::obey_if_changed();
    let Some(times) = stands_for() else { return pass_over(mutex, sort, caller, real) };
    let mut wait = Wait::begin(core::ptr::from_ref(mutex) as usize, sort, caller, times);
    let failure = if is_simple(&wait) {
        let failure = simple::wait(mutex, &mut wait, Some((clock, until.in_nanoseconds())));
        if failure == 0 {
            mutex.taken();
        }
        failure
    } else {
        wait.parks();
        real()
    };
    if failure == 0 {
        trial::acquired(core::ptr::from_ref(mutex) as usize);
    }
    wait.end(failure == 0);
    failure
}

/// As [`Mutex::taken`], off the fast path: where it may be counted.
fn taken_and_counted(mutex: &Mutex) {
    mutex.taken();
    trial::acquired(core::ptr::from_ref(mutex) as usize);
}

#[inline(always)]
fn give_up(mutex: &Mutex, caller: usize, is_reserved: bool) {
    mutex.give_up_and(|word| wake(word, caller, is_reserved));
}

/// Wakes one sleeper. The memory at the address may be gone.
#[cold]
#[inline(never)]
fn wake(word: *const AtomicU32, caller: usize, is_reserved: bool) {
    if is_simple_in_use() {
        wake_in_our_way(word, caller, is_reserved);
    } else if let Some(found) = record::waited_for(word as usize) {
        // Before the wake: the woken thread soon no longer counts as waiting.
        record::given_up(found, caller, thread(), wait_sampling::one_of());
        if simple::wake_any(word) {
            record::has_woken(Some(found));
        }
    } else {
        simple::wake_any(word);
    }
    delayed_record::write_down();
}

fn wake_in_our_way(word: *const AtomicU32, caller: usize, is_reserved: bool) {
    let is_taken_care_of = !is_reserved && simple::is_taken_care_of(word as usize);
    if !is_taken_care_of {
        simple::note_wake(word as usize, thread());
    }
    let found = record::known(word as usize);
    if let Some(found) = found {
        record::given_up(found, caller, thread(), 1);
    }
    if !is_taken_care_of && simple::wake_one(word, is_reserved) {
        record::has_woken(found);
    }
}

#[cfg(test)]
#[path = "mutex_tests.rs"]
mod tests;
