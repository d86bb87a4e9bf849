//! Kinds of mutex that are left to the C library, or to the short way of `owned`: a table from the kind to the functions.
//!
//! All mutexes of a program may be of these kinds. So a free recursive or error-checking mutex costs no more than in the C
//! library (`owned`). One of another known kind costs one table lookup and a jump, and under LOCK(OFF) any mutex costs one
//! jump (`entries`).
//!
//! Invariant: the table changes only after the C library's functions were found. Both paths follow one protocol, so it does not
//! matter which one a thread takes.
//! Not here: the C library's functions (`c_library`), and mutexes that are recorded (`entries`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use super::c_library::{self, LOCK, Lock, TRYLOCK, UNLOCK};
use super::mutex::Mutex;
use super::owned::{self, CHECKING, RECURSIVE};
use super::{Locks, mode};

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

/// Notes that a mutex which is not handled here was met. Counts each kind once.
#[cold]
#[inline(never)]
pub(super) fn met(mutex: &Mutex) {
    let Some(kind) = mutex.other_kind().filter(|_| mode() != Locks::Off) else { return };
    c_library::count(kind);
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
