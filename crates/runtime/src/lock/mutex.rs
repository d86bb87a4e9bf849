//! The C library's mutex, by its own protocol, so that the C library's code and underbar's can work on one mutex at the
//! same time. Condition variables, C11's `mtx_t` and calls from inside the C library never pass through here.
//!
//! ```text
//! word   0 free, 1 held, 2 held and a thread may sleep
//! lock   0 -> 1; else exchange for 2, and sleep while it is 2, until it was 0; then owner = thread, users + 1
//! unlock owner = 0, users - 1; exchange for 0, and wake one if it was 2
//! ```
//!
//! Handled here are mutexes private to the process, of the normal and the adaptive kind. The rest go to the C library
//! (`passed_through`), which handles relocking, dead owners and priority inheritance.
//!
//! While there is a single thread, no locked instructions are used, as in the C library, which reports this state
//! in `__libc_single_threaded`.
//!
//! Invariant: after the exchange that gives a mutex up, its memory is not touched. The first call needs no setup.
//! Not here: how to wait (`simple`), which waits are recorded (`wait_sampling`), and what is recorded (`record`).

use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::locks::{POLICY_AS_OPTION, POLICY_COUNT, Sort};
use underbar_lock::waiting::now;
use underbar_sys::syscall::{CLOCK_MONOTONIC, CLOCK_REALTIME, Timespec};

use super::number::{self, thread};
use super::record::{self, Wait};
use super::{Locks, delayed_record, mode, owned, passed_through, simple, trial, wait_sampling};
use crate::c_library::weak;

const EBUSY: i32 = 16;
pub(super) const ETIMEDOUT: i32 = 110;

/// `pthread_mutex_t` of glibc on x86-64. The C library writes all of it, too.
#[repr(C)]
pub struct Mutex {
    /// See the head of this file. Static initialisers fix the offsets of the other fields.
    pub(super) word: AtomicU32,
    /// How often its holder holds it, in the recursive kind. Written by the holder.
    pub(super) count: AtomicU32,
    /// The thread that holds it. Written by the holder; relaxed: others take it as a hint.
    pub(super) owner: AtomicU32,
    /// Holders, and waiters of condition variables. Written by the holder.
    users: AtomicU32,
    /// Kind and marks. Above them are the C library's counters for spinning and elision. The last is unused in the kinds
    /// handled here: [`RESERVED`]. All in one word, so that one load gets everything.
    kind: AtomicU64,
    list: [usize; 2],
}

const _: () = assert!(size_of::<Mutex>() == 40 && core::mem::offset_of!(Mutex, kind) == 16);

/// With the kind: a thread that has waited long wants to be the next holder. This is a request, which underbar's code obeys
/// and the C library's does not. Set and cleared by the waiting thread, or by any thread that finds it ignored.
const RESERVED: u64 = 1 << 48;

/// The mark "without elision", which `pthread_mutexattr_settype` sets for an ordinary mutex.
const NO_ELISION: u64 = 0x200;
const NORMAL: u64 = 0;
const ADAPTIVE: u64 = 3;
/// All bits but the mark above and the C library's counter for spinning.
const ADAPTIVE_MARKS: u64 = !(NO_ELISION | 0xffff << 32);

/// The normal kind; or a kind that no mutex has, so that all mutexes take the path of kinds not handled here: [`LEFT`]
/// under LOCK(OFF), which is set before there are other threads, and [`COUNTED`] while acquisitions are counted. Relaxed:
/// both paths follow the same protocol.
static NORMAL_NOW: AtomicU64 = AtomicU64::new(NORMAL);
const LEFT: u64 = u64::MAX;
const COUNTED: u64 = u64::MAX - 1;

/// Sets whether all mutexes are left to the C library from now on.
pub(super) fn leave_all(all: bool) {
    NORMAL_NOW.store(if all { LEFT } else { NORMAL }, Ordering::Relaxed);
}

/// Sets whether acquisitions pass through the path where they may be counted, unless all are left to the C library.
pub(super) fn count_all(all: bool) {
    if NORMAL_NOW.load(Ordering::Relaxed) != LEFT {
        NORMAL_NOW.store(if all { COUNTED } else { NORMAL }, Ordering::Relaxed);
    }
}

impl Mutex {
    /// Of the usual kind, and not reserved.
    #[inline(always)]
    fn is_normal(kind: u64) -> bool {
        kind & !NO_ELISION == NORMAL_NOW.load(Ordering::Relaxed)
    }

    /// Of the adaptive kind, and not reserved.
    #[inline(always)]
    fn is_adaptive(kind: u64) -> bool {
        kind & ADAPTIVE_MARKS == ADAPTIVE && NORMAL_NOW.load(Ordering::Relaxed) == NORMAL
    }

    /// None for kinds not handled here.
    fn sort(&self) -> Option<Sort> {
        if NORMAL_NOW.load(Ordering::Relaxed) == LEFT {
            return None;
        }
        match self.kind.load(Ordering::Relaxed) & 0xffff_ffff & !NO_ELISION {
            NORMAL => Some(Sort::MutexNormal),
            ADAPTIVE => Some(Sort::MutexAdaptive),
            _ => None,
        }
    }

    /// A mutex of a kind not handled here was met.
    pub(super) fn is_met(&self) {
        let kind = self.kind.load(Ordering::Relaxed);
        if !matches!(kind & 0xffff_ffff & !NO_ELISION, NORMAL | ADAPTIVE) {
            passed_through::met(kind);
        }
    }

    /// Whether a waiting thread wants to be next.
    pub(super) fn is_reserved(&self) -> bool {
        self.kind.load(Ordering::Relaxed) & RESERVED != 0
    }

    /// Makes or withdraws that request.
    pub(super) fn reserve(&self, is_wanted: bool) {
        if is_wanted {
            self.kind.fetch_or(RESERVED, Ordering::Relaxed);
        } else {
            self.kind.fetch_and(!RESERVED, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(super) fn take_if_free(&self) -> bool {
        if is_single_threaded() && self.word.load(Ordering::Relaxed) == 0 {
            self.word.store(1, Ordering::Relaxed);
            return true;
        }
        self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// By the thread that has just got it.
    #[inline(always)]
    pub(super) fn taken(&self) {
        self.taken_by(thread());
    }

    /// By this thread, which has just got it.
    #[inline(always)]
    pub(super) fn taken_by(&self, thread: u32) {
        self.owner.store(thread, Ordering::Relaxed);
        self.users.store(self.users.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// As `taken`, off the fast path: where it may be counted.
    fn taken_and_counted(&self) {
        self.taken();
        trial::acquired(core::ptr::from_ref(self) as usize);
    }

    #[inline(always)]
    fn give_up(&self, caller: usize, is_reserved: bool) {
        self.give_up_and(|word| wake(word, caller, is_reserved));
    }

    /// Gives it up. If a thread may sleep for the word, calls `wake`, which must not touch the mutex, as its memory may
    /// be gone.
    #[inline(always)]
    pub(super) fn give_up_and(&self, wake: impl FnOnce(*const AtomicU32)) {
        self.owner.store(0, Ordering::Relaxed);
        self.users.store(self.users.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
        if is_single_threaded() {
            self.word.store(0, Ordering::Relaxed);
        } else {
            let address = &raw const self.word;
            // Acquire, too: sees what the threads that marked it did, see `simple`.
            if self.word.swap(0, Ordering::AcqRel) > 1 {
                wake(address);
            }
        }
    }
}

/// Wakes one sleeper. The memory at the address may be gone.
#[cold]
#[inline(never)]
fn wake(word: *const AtomicU32, caller: usize, is_reserved: bool) {
    if simple::is_in_use() {
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

// ---- what the C library reports -----------------------------------------------------------------------------------

static SEVERAL: AtomicU8 = AtomicU8::new(0);
/// Points to the C library's `__libc_single_threaded`; until it is found, or if there is none, to [`SEVERAL`]. Written
/// once; relaxed.
static SINGLE_THREADED: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const SEVERAL).cast_mut());

weak! { address_of_single_threaded = "__libc_single_threaded"; }

#[inline(always)]
fn is_single_threaded() -> bool {
    // SAFETY: a static of this file, or a variable of the C library, which is never unloaded; the C library writes it only
    // while there is one thread, or by that thread.
    unsafe { &*SINGLE_THREADED.load(Ordering::Relaxed) }.load(Ordering::Relaxed) != 0
}

/// The thread that continues in a forked child has another number.
pub(super) fn forget_thread() {
    number::forget();
    owned::forget_thread();
}

/// Finds the C library's variable.
pub(super) fn find_what_it_tells() {
    let single = address_of_single_threaded();
    if single != 0 {
        SINGLE_THREADED.store(single as *mut AtomicU8, Ordering::Relaxed);
    }
}

// ---- the functions ------------------------------------------------------------------------------------------------

/// pthread_mutex_lock, called from `caller`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn lock(mutex: *const Mutex, caller: usize) -> i32 {
    // SAFETY: the caller's promise.
    let it = unsafe { &*mutex };
    let kind = it.kind.load(Ordering::Relaxed);
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
    if Mutex::is_adaptive(mutex.kind.load(Ordering::Relaxed)) && mutex.take_if_free() {
        mutex.taken();
        return 0;
    }
    lock_otherwise(mutex, caller)
}

#[cold]
#[inline(never)]
fn lock_otherwise(mutex: &Mutex, caller: usize) -> i32 {
    let Some(sort) = mutex.sort() else {
        mutex.is_met();
        return passed_through::lock(mutex);
    };
    // The mutex was found held a moment ago, unless all mutexes pass through here. A reserved one is left to the waiting
    // threads under LOCK(SIMPLE).
    let is_reserved = mutex.is_reserved();
    let may_take = trial::is_on() || is_reserved;
    if may_take && !(is_reserved && mode() == Locks::Simple) && mutex.take_if_free() {
        mutex.taken_and_counted();
        return 0;
    }
    if mode() == Locks::Off {
        return passed_through::lock(mutex);
    }
    trial::obey_if_changed();
    match stands_for() {
        Some(times) => contend(mutex, sort, caller, times),
        None => pass_over(mutex, sort, caller, || passed_through::lock(mutex)),
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
        record::piled(core::ptr::from_ref(mutex) as usize, sort, caller, ns, &pile);
    }
    failure
}

/// Whether a wait is to be recorded, and then how many waits it represents. Where some mutex may be waited for as simple
/// locks are, or acquisitions are counted, each wait is recorded.
#[inline]
fn stands_for() -> Option<u64> {
    if simple::is_in_use() || trial::is_on() { Some(1) } else { wait_sampling::stands_for() }
}

#[inline(never)]
fn contend(mutex: &Mutex, sort: Sort, caller: usize, times: u64) -> i32 {
    let mut wait = Wait::begin(core::ptr::from_ref(mutex) as usize, sort, caller, times);
    if is_simple(&wait) {
        let _ = simple::wait(mutex, &mut wait, None);
        mutex.taken_and_counted();
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
    while passed_through::has_clocklock()
        && let Some(long) = wait.is_long_at()
    {
        let long = Timespec::of(long);
        let failure = passed_through::clocklock(mutex, CLOCK_MONOTONIC as i32, &raw const long);
        if failure == 0 {
            return 0;
        }
        wait.is_long(mutex.owner.load(Ordering::Relaxed));
    }
    passed_through::lock(mutex)
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
    let kind = it.kind.load(Ordering::Relaxed);
    if Mutex::is_normal(kind) {
        it.give_up(caller, false);
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
        it.give_up(caller, false);
        return 0;
    }
    unlock_otherwise(it, caller)
}

#[cold]
#[inline(never)]
fn unlock_otherwise(mutex: &Mutex, caller: usize) -> i32 {
    if mutex.sort().is_some() {
        mutex.give_up(caller, mutex.is_reserved());
        return 0;
    }
    passed_through::unlock(mutex)
}

/// pthread_mutex_trylock.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn trylock(mutex: *const Mutex) -> i32 {
    // SAFETY: the caller's promise.
    let it = unsafe { &*mutex };
    let kind = it.kind.load(Ordering::Relaxed);
    if let Some(trylock) = passed_through::known_trylock(kind) {
        // SAFETY: the caller's promise.
        return unsafe { trylock(mutex) };
    }
    if it.sort().is_none() {
        it.is_met();
        return passed_through::trylock(mutex);
    }
    if !it.take_if_free() {
        return EBUSY;
    }
    it.taken_and_counted();
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
        it.taken_and_counted();
        return 0;
    }
    lock_until(it, CLOCK_REALTIME, until, caller, || passed_through::timedlock(mutex, until))
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
        it.taken_and_counted();
        return 0;
    }
    let real = || passed_through::clocklock(mutex, clock, until);
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
        mutex.is_met();
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

#[cfg(test)]
#[path = "mutex_tests.rs"]
mod tests;
