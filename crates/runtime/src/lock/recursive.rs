//! Recursive mutexes that are free, or held by the caller: the short way beside that of the C library.
//!
//! ```text
//! lock    free? owner = thread, count = 1     held by this thread? count + 1                 else ─> C library
//! unlock  held by this thread? count - 1; at 0 exchange for 0, and wake one if it was 2      else ─> C library
//! ```
//!
//! A look at the kind and this together take fewer instructions than the C library's function. So these mutexes cost a program
//! no more under LOCK(COUNT) than plain while they are free. Waits for them are the C library's, and unrecorded.
//!
//! Invariant: an owner is compared with the number that the C library itself has for the thread; doubts and errors are left to
//! it. A thread learns that number from the first recursive mutex that the C library takes for it. The kernel's number could be
//! another one: in a child of a raw `clone` the C library goes on with the parent's.
//! Not here: the protocol (`mutex`), other kinds (`left`).

use core::sync::atomic::{AtomicU32, Ordering};

use super::mutex::Mutex;
use super::{left, simple};
use crate::thread_word::thread_word;

/// The kind, without a mark that makes it another one.
pub(super) const KIND: u64 = 1;

// The number that the C library has for this thread; 0: not learnt yet.
thread_word!(owner, set_owner, "underbar_thread_owner", "0");

/// pthread_mutex_lock for a mutex of this kind.
#[inline(never)]
pub(super) fn lock(mutex: &Mutex) -> i32 {
    let thread = owner() as u32;
    if mutex.owner.load(Ordering::Relaxed) == thread {
        // Also where the thread is not known, and nobody owns it.
        return lock_again(mutex, thread);
    }
    if thread == 0 || !mutex.take_if_free() {
        return lock_and_learn(mutex);
    }
    mutex.count.store(1, Ordering::Relaxed);
    mutex.taken_by(thread);
    0
}

#[inline(never)]
fn lock_again(mutex: &Mutex, thread: u32) -> i32 {
    let count = mutex.count.load(Ordering::Relaxed);
    if thread == 0 || count == u32::MAX {
        return lock_and_learn(mutex);
    }
    mutex.count.store(count + 1, Ordering::Relaxed);
    0
}

#[cold]
#[inline(never)]
fn lock_and_learn(mutex: &Mutex) -> i32 {
    let failure = left::lock(mutex);
    if failure == 0 && owner() == 0 {
        mutex.is_met();
        set_owner(mutex.owner.load(Ordering::Relaxed) as usize);
    }
    failure
}

/// pthread_mutex_unlock for a mutex of this kind.
#[inline(never)]
pub(super) fn unlock(mutex: &Mutex) -> i32 {
    let thread = owner() as u32;
    if thread == 0 || mutex.owner.load(Ordering::Relaxed) != thread {
        return left::unlock(mutex);
    }
    // The holder's count is 1 at least.
    let count = mutex.count.load(Ordering::Relaxed).wrapping_sub(1);
    mutex.count.store(count, Ordering::Relaxed);
    if count == 0 {
        mutex.give_up_and(wake);
    }
    0
}

/// Wakes one of those who sleep in the C library. The memory at the address may be gone.
#[cold]
#[inline(never)]
fn wake(word: *const AtomicU32) {
    simple::wake_any(word);
}

/// The thread that goes on in a forked child has another number.
pub(super) fn forget_thread() {
    set_owner(0);
}
