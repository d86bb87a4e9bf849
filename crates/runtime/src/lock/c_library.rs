//! The C library's own functions for mutexes, and the kinds of mutex that were left to it.
//!
//! Invariant: a function that the C library does not have answers EINVAL.
//! Not here: which mutexes are left to it (`entries`, `passed_through`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall::Timespec;

use super::mutex::Mutex;
use super::{Locks, mode};
use crate::ledger;
use crate::next::Next;

const EINVAL: i32 = 22;

pub(super) type Lock = unsafe extern "C" fn(*const Mutex) -> i32;
type TimedLock = unsafe extern "C" fn(*const Mutex, *const Timespec) -> i32;
type ClockLock = unsafe extern "C" fn(*const Mutex, i32, *const Timespec) -> i32;

pub(super) static LOCK: Next = Next::new(c"pthread_mutex_lock");
pub(super) static UNLOCK: Next = Next::new(c"pthread_mutex_unlock");
pub(super) static TRYLOCK: Next = Next::new(c"pthread_mutex_trylock");
static TIMEDLOCK: Next = Next::new(c"pthread_mutex_timedlock");
static CLOCKLOCK: Next = Next::new(c"pthread_mutex_clocklock");

/// In the order of [`super::entries::ENTRIES`].
pub(super) const FUNCTIONS: [&Next; 5] = [&LOCK, &UNLOCK, &TRYLOCK, &TIMEDLOCK, &CLOCKLOCK];

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

/// Counts a kind of mutex that is left to the C library, once.
pub(super) fn count(kind: u64) {
    /// Kinds that were counted, one bit each. Any thread adds; relaxed.
    static COUNTED: AtomicU64 = AtomicU64::new(0);
    let bit = bit_of(kind as u32);
    if mode() != Locks::Off && COUNTED.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        ledger::add(Key::LockPassedThrough, 1);
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
