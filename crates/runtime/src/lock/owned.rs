//! Recursive and error-checking mutexes, which check their holder, while they are free or the caller's: the fast path that
//! bypasses the C library.
//!
//! ```text
//! recursive   lock    free? owner = thread, count = 1     held by this thread? count + 1                 else ─> C library
//!             unlock  held by this thread? count - 1; at 0 exchange for 0, and wake one if it was 2      else ─> C library
//! checking    lock    free? owner = thread                                                               else ─> C library
//!             unlock  held by this thread? exchange for 0, and wake one if it was 2                      else ─> C library
//! ```
//!
//! Testing the kind and running this code together take fewer instructions than the C library's function. So while these mutexes
//! are free, they cost a program no more under LOCK(COUNT) than without underbar. Waits for them are the C library's, and
//! unrecorded.
//!
//! Invariant: an owner is compared with the number that the C library itself has for the thread. Doubtful cases and errors
//! are left to the C library. A thread learns that number from the first of these mutexes that the C library takes for it.
//! The kernel's number could differ: in a child of a raw `clone` the C library keeps the parent's.
//! Not here: the protocol (`mutex`), other kinds (`passed_through`).

use core::sync::atomic::{AtomicU32, Ordering};

use super::mutex::Mutex;
use super::{c_library, simple};
use crate::thread_word::thread_word;

/// The recursive kind, without a mark that makes it another one.
pub(super) const RECURSIVE: usize = 1;
/// The error-checking kind, without such a mark.
pub(super) const CHECKING: usize = 2;

// The number that the C library has for this thread, in each half: the lower for recursive mutexes, the upper for
// error-checking ones; 0: not learnt yet. Each kind learns it for itself, so that the first mutex of each is reported
// (`c_library::count`).
thread_word!(owners, set_owners, "underbar_thread_owner", "0");

/// One of the two kinds, by the bit where its half begins.
#[inline(always)]
fn owner(half: u32) -> u32 {
    (owners() >> half) as u32
}

const OF_RECURSIVE: u32 = 0;
const OF_CHECKING: u32 = 32;

/// pthread_mutex_lock for a recursive mutex.
///
/// # Safety
/// As C's, of this kind.
pub(super) unsafe extern "C" fn lock_recursive(mutex: *const Mutex) -> i32 {
    // SAFETY: the caller's promise.
    let mutex = unsafe { &*mutex };
    let thread = owner(OF_RECURSIVE);
    if mutex.owner.load(Ordering::Relaxed) == thread {
        // Also where the thread's number is not known, and no thread owns it.
        return lock_again(mutex, thread);
    }
    if thread == 0 || !mutex.take_if_free() {
        return lock_and_learn(mutex, OF_RECURSIVE);
    }
    mutex.count.store(1, Ordering::Relaxed);
    mutex.taken_by(thread);
    0
}

/// pthread_mutex_lock for an error-checking mutex. The C library reports the error of a thread that holds it already.
///
/// # Safety
/// As C's, of this kind.
pub(super) unsafe extern "C" fn lock_checking(mutex: *const Mutex) -> i32 {
    // SAFETY: the caller's promise.
    let mutex = unsafe { &*mutex };
    let thread = owner(OF_CHECKING);
    if thread == 0 || mutex.owner.load(Ordering::Relaxed) == thread || !mutex.take_if_free() {
        return lock_and_learn(mutex, OF_CHECKING);
    }
    mutex.taken_by(thread);
    0
}

#[inline(never)]
fn lock_again(mutex: &Mutex, thread: u32) -> i32 {
    let count = mutex.count.load(Ordering::Relaxed);
    if thread == 0 || count == u32::MAX {
        return lock_and_learn(mutex, OF_RECURSIVE);
    }
    mutex.count.store(count + 1, Ordering::Relaxed);
    0
}

#[cold]
#[inline(never)]
fn lock_and_learn(mutex: &Mutex, half: u32) -> i32 {
    let failure = c_library::lock(mutex);
    if failure == 0 && owner(half) == 0 {
        if let Some(kind) = mutex.other_kind() {
            c_library::count(kind);
        }
        // A signal handler that meanwhile learns the other half learns it again later.
        set_owners(owners() | (mutex.owner.load(Ordering::Relaxed) as usize) << half);
    }
    failure
}

/// pthread_mutex_unlock for a recursive mutex.
///
/// # Safety
/// As C's, of this kind.
pub(super) unsafe extern "C" fn unlock_recursive(mutex: *const Mutex) -> i32 {
    // SAFETY: the caller's promise.
    let mutex = unsafe { &*mutex };
    let thread = owner(OF_RECURSIVE);
    if thread == 0 || mutex.owner.load(Ordering::Relaxed) != thread {
        return c_library::unlock(mutex);
    }
    // The holder's count is at least 1.
    let count = mutex.count.load(Ordering::Relaxed).wrapping_sub(1);
    mutex.count.store(count, Ordering::Relaxed);
    if count == 0 {
        mutex.give_up_and(wake);
    }
    0
}

/// pthread_mutex_unlock for an error-checking mutex.
///
/// # Safety
/// As C's, of this kind.
pub(super) unsafe extern "C" fn unlock_checking(mutex: *const Mutex) -> i32 {
    // SAFETY: the caller's promise.
    let mutex = unsafe { &*mutex };
    let thread = owner(OF_CHECKING);
    // No other thread sets the word while this thread owns it.
    if thread == 0 || mutex.owner.load(Ordering::Relaxed) != thread {
        return c_library::unlock(mutex);
    }
    mutex.give_up_and(wake);
    0
}

/// Wakes one thread that sleeps in the C library. The memory at the address may be gone.
#[cold]
#[inline(never)]
fn wake(word: *const AtomicU32) {
    simple::wake_any(word);
}

/// The thread that continues in a forked child has another number.
pub(super) fn forget_thread() {
    set_owners(0);
}
