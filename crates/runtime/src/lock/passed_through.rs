//! Mutexes that are left to the C library: its functions, and the kinds of mutex that are known to belong to it.
//!
//! ```text
//! pthread_mutex_lock ── jump ─┬─> `mutex::lock` ── a kind that is known ── jump ─> C library
//!                             └─> C library, under LOCK(OFF)
//! ```
//!
//! All mutexes of a program may be of these kinds. So a free recursive or error-checking mutex costs no more than in the C
//! library (`owned`). One of another known kind costs one table lookup and a jump, and under LOCK(OFF) any mutex costs one
//! jump.
//!
//! Invariant: an entry and the table change only after the C library's functions were found. Both paths follow one
//! protocol, so it does not matter which one a thread takes.
//! Not here: mutexes that are recorded (`mutex`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall::Timespec;

use super::mutex::{self, Mutex};
use super::owned::{self, CHECKING, RECURSIVE};
use super::{Locks, mode};
use crate::ledger;
use crate::next::Next;

const EINVAL: i32 = 22;

type Lock = unsafe extern "C" fn(*const Mutex) -> i32;
type TimedLock = unsafe extern "C" fn(*const Mutex, *const Timespec) -> i32;
type ClockLock = unsafe extern "C" fn(*const Mutex, i32, *const Timespec) -> i32;

static LOCK: Next = Next::new(c"pthread_mutex_lock");
static UNLOCK: Next = Next::new(c"pthread_mutex_unlock");
static TRYLOCK: Next = Next::new(c"pthread_mutex_trylock");
static TIMEDLOCK: Next = Next::new(c"pthread_mutex_timedlock");
static CLOCKLOCK: Next = Next::new(c"pthread_mutex_clocklock");

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
    lock: AtomicPtr::new(mutex::lock as *mut ()),
    unlock: AtomicPtr::new(mutex::unlock as *mut ()),
    trylock: AtomicPtr::new(mutex::trylock as *mut ()),
    timedlock: AtomicPtr::new(mutex::timedlock as *mut ()),
    clocklock: AtomicPtr::new(mutex::clocklock as *mut ()),
};

/// Finds the C library's functions. Under LOCK(OFF) the C names jump to them from now on.
pub(super) fn find() {
    let entries = [
        (&LOCK, &ENTRIES.lock),
        (&UNLOCK, &ENTRIES.unlock),
        (&TRYLOCK, &ENTRIES.trylock),
        (&TIMEDLOCK, &ENTRIES.timedlock),
        (&CLOCKLOCK, &ENTRIES.clocklock),
    ];
    for (next, entry) in entries {
        if let Some(address) = next.get()
            && mode() == Locks::Off
        {
            entry.store(address as *mut (), Ordering::Relaxed);
        }
    }
}

/// Calls a function of the C library; EINVAL if it has none.
macro_rules! call {
    ($next:ident as $type:ty, $($argument:expr),*) => {
        match $next.get() {
            // SAFETY: the C library's function of that name, whose signature this is; the caller's promise is passed on.
            Some(address) => unsafe { core::mem::transmute::<usize, $type>(address)($($argument),*) },
            None => EINVAL,
        }
    };
}

/// The C library's function.
pub(super) fn lock(mutex: *const Mutex) -> i32 {
    call!(LOCK as Lock, mutex)
}

/// The C library's function.
pub(super) fn unlock(mutex: *const Mutex) -> i32 {
    call!(UNLOCK as Lock, mutex)
}

/// The C library's function.
pub(super) fn trylock(mutex: *const Mutex) -> i32 {
    call!(TRYLOCK as Lock, mutex)
}

/// The C library's function.
pub(super) fn timedlock(mutex: *const Mutex, until: *const Timespec) -> i32 {
    call!(TIMEDLOCK as TimedLock, mutex, until)
}

/// The C library's function.
pub(super) fn clocklock(mutex: *const Mutex, clock: i32, until: *const Timespec) -> i32 {
    call!(CLOCKLOCK as ClockLock, mutex, clock, until)
}

/// Whether the C library has `pthread_mutex_clocklock`, found at the start.
pub(super) fn has_clocklock() -> bool {
    CLOCKLOCK.known() != 0
}

// ---- kinds that are known -----------------------------------------------------------------------------------------

/// Whether the functions for a kind are known, 1: yes. Kept apart from the functions: the kinds that `mutex` handles pay
/// for this look, too, and it reads one byte. Set with Release, read with Acquire.
static KNOWN: [AtomicU8; KINDS] = {
    let mut all = [const { AtomicU8::new(0) }; KINDS];
    all[RECURSIVE] = AtomicU8::new(1);
    all[CHECKING] = AtomicU8::new(1);
    all
};

/// The functions for mutexes of a kind. A null entry becomes the C library's function when any thread first meets such a
/// mutex, and then stays so.
static WAYS: [Ways; KINDS] = {
    let mut all = [const { Ways::new(null_mut(), null_mut()) }; KINDS];
    all[RECURSIVE] = Ways::new(owned::lock_recursive as *mut (), owned::unlock_recursive as *mut ());
    all[CHECKING] = Ways::new(owned::lock_checking as *mut (), owned::unlock_checking as *mut ());
    all
};

struct Ways {
    lock: AtomicPtr<()>,
    unlock: AtomicPtr<()>,
    trylock: AtomicPtr<()>,
}

impl Ways {
    const fn new(lock: *mut (), unlock: *mut ()) -> Ways {
        let trylock = AtomicPtr::new(null_mut());
        Ways { lock: AtomicPtr::new(lock), unlock: AtomicPtr::new(unlock), trylock }
    }
}

/// Values of the kind's marks: the kind itself (3), robust (0x10), inherits (0x20), protects (0x40), shared (0x80), elided
/// (0x100).
const KINDS: usize = 512;

#[inline(always)]
fn ways(kind: u64) -> &'static Ways {
    &WAYS[kind as usize % KINDS]
}

/// Whether there is a function for a mutex of this kind: [`lock_known`] and [`unlock_known`] may be called.
#[inline(always)]
pub(super) fn is_known(kind: u64) -> bool {
    KNOWN[kind as usize % KINDS].load(Ordering::Acquire) != 0
}

/// Takes a mutex of a kind that [`is_known`]: a jump.
///
/// # Safety
/// As C's.
#[inline(always)]
pub(super) unsafe fn lock_known(kind: u64, mutex: *const Mutex) -> i32 {
    // SAFETY: a function of this kind before the kind became known; the caller's promise is passed on.
    unsafe { core::mem::transmute::<*mut (), Lock>(ways(kind).lock.load(Ordering::Relaxed))(mutex) }
}

/// As [`lock_known`].
///
/// # Safety
/// As C's.
#[inline(always)]
pub(super) unsafe fn unlock_known(kind: u64, mutex: *const Mutex) -> i32 {
    // SAFETY: as above.
    unsafe { core::mem::transmute::<*mut (), Lock>(ways(kind).unlock.load(Ordering::Relaxed))(mutex) }
}

/// The C library's function, if such a mutex was met.
#[inline(always)]
pub(super) fn known_trylock(kind: u64) -> Option<unsafe extern "C" fn(*const Mutex) -> i32> {
    // SAFETY: null, which is None, or the C library's function of this signature.
    unsafe { core::mem::transmute::<*mut (), Option<Lock>>(ways(kind).trylock.load(Ordering::Relaxed)) }
}

/// Notes that a mutex of this kind, which is not handled here, was met. Counts each kind once.
#[cold]
#[inline(never)]
pub(super) fn met(kind: u64) {
    /// Kinds that were counted, one bit each. Any thread adds; relaxed.
    static COUNTED: AtomicU64 = AtomicU64::new(0);
    let bit = bit_of(kind as u32);
    if mode() == Locks::Off {
        return;
    }
    if COUNTED.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        ledger::add(Key::LockPassedThrough, 1);
    }
    let ways = ways(kind);
    let mut are_all_there = true;
    for (way, next) in [(&ways.lock, &LOCK), (&ways.unlock, &UNLOCK), (&ways.trylock, &TRYLOCK)] {
        let address = next.get().unwrap_or(0) as *mut ();
        // The functions of `owned` stay.
        let before = way.compare_exchange(null_mut(), address, Ordering::Relaxed, Ordering::Relaxed);
        are_all_there &= !before.unwrap_or_else(|before| before).is_null() || !address.is_null();
    }
    if are_all_there {
        KNOWN[kind as usize % KINDS].store(1, Ordering::Release);
    }
}

/// The lowest of the marks robust, inherits, protects, shared, elided; without any mark, the kind by its number. The C
/// library marks robust mutexes as shared, too.
fn bit_of(kind: u32) -> u64 {
    const MARKS: u32 = 0x1F0;
    let marks = kind & MARKS;
    if marks != 0 { u64::from(marks & marks.wrapping_neg()) } else { 1 << (kind & 3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_bit_of_its_own() {
        // Recursive, error-checking, and marked: robust (shared too, as in the C library), inheriting, protecting, shared,
        // elided.
        let bits = [1, 2, 0x90, 0x20, 0x41, 0x80, 0x100].map(bit_of);
        for (number, bit) in bits.iter().enumerate() {
            assert!(bit.is_power_of_two() && !bits[..number].contains(bit), "{bits:x?}");
        }
        assert_eq!(bit_of(0x10), bit_of(0x93), "whatever else it is");
    }
}
