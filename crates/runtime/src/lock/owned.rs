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
//! are left to the C library. A thread learns that number from the first of these mutexes that the C library takes for it, and learns
//! it anew when the C library's number changes. The kernel's number could differ: in a child of a raw `clone` the C library keeps the
//! parent's, until a program such as Firefox writes the child's own to the thread's descriptor.
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
// error-checking ones; all bits 1: not learnt yet. Each kind learns it for itself, so that the first mutex of each is reported
// (`c_library::count`).
thread_word!(owners, set_owners, "underbar_thread_owner", "-1");
const UNKNOWN: u32 = u32::MAX;

/// The number in one of the two halves, by the bit where it begins.
#[inline(always)]
fn learnt(half: u32) -> u32 {
    (owners() >> half) as u32
}

/// The number in the thread's descriptor, where glibc 2.36 has it on x86-64. A C library that has something else there takes all these
/// mutexes itself, since what was learnt never equals that.
#[inline(always)]
fn of_the_c_library() -> u32 {
    let number: u32;
    // SAFETY: reads the thread's descriptor, which is at the thread pointer and longer than that. Not `pure`: the program may change it.
    unsafe {
        core::arch::asm!(
            "mov {number:e}, dword ptr fs:[{place}]",
            number = out(reg) number,
            place = const NUMBER_IN_DESCRIPTOR,
            options(readonly, nostack, preserves_flags)
        );
    }
    number
}

const NUMBER_IN_DESCRIPTOR: usize = 0x2d0;

const OF_RECURSIVE: u32 = 0;
const OF_CHECKING: u32 = 32;

/// pthread_mutex_lock for a recursive mutex.
///
/// # Safety
/// As C's, of this kind.
pub(super) unsafe extern "C" fn lock_recursive(mutex: *const Mutex) -> i32 {
    // SAFETY: the caller's promise.
    let mutex = unsafe { &*mutex };
    let thread = of_the_c_library();
    if learnt(OF_RECURSIVE) != thread {
        return lock_and_learn(mutex, OF_RECURSIVE);
    }
    if mutex.owner.load(Ordering::Relaxed) == thread {
        return lock_again(mutex);
    }
    if !mutex.take_if_free() {
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
    let thread = of_the_c_library();
    let is_learnt = learnt(OF_CHECKING) == thread;
    if !is_learnt || mutex.owner.load(Ordering::Relaxed) == thread || !mutex.take_if_free() {
        return lock_and_learn(mutex, OF_CHECKING);
    }
    mutex.taken_by(thread);
    0
}

#[inline(never)]
fn lock_again(mutex: &Mutex) -> i32 {
    let count = mutex.count.load(Ordering::Relaxed);
    if count == u32::MAX {
        return lock_and_learn(mutex, OF_RECURSIVE);
    }
    mutex.count.store(count + 1, Ordering::Relaxed);
    0
}

#[cold]
#[inline(never)]
fn lock_and_learn(mutex: &Mutex, half: u32) -> i32 {
    let failure = c_library::lock(mutex);
    if failure == 0 && learnt(half) != of_the_c_library() {
        if learnt(half) == UNKNOWN
            && let Some(kind) = mutex.other_kind()
        {
            c_library::count(kind);
        }
        // A signal handler that meanwhile learns the other half learns it again later.
        let other = owners() & !((u32::MAX as usize) << half);
        set_owners(other | (mutex.owner.load(Ordering::Relaxed) as usize) << half);
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
    let thread = of_the_c_library();
    if learnt(OF_RECURSIVE) != thread || mutex.owner.load(Ordering::Relaxed) != thread {
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
    let thread = of_the_c_library();
    // No other thread sets the word while this thread owns it.
    if learnt(OF_CHECKING) != thread || mutex.owner.load(Ordering::Relaxed) != thread {
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
    set_owners(usize::MAX);
}

#[cfg(test)]
pub(super) mod tests {
    use super::{NUMBER_IN_DESCRIPTOR, OF_CHECKING, OF_RECURSIVE, learnt};

    /// What the calling thread has learnt.
    pub fn learnt_of_both() -> [u32; 2] {
        [OF_RECURSIVE, OF_CHECKING].map(learnt)
    }

    /// Gives the calling thread another number in the C library.
    pub fn renumber(number: u32) {
        // SAFETY: the C library uses the number as a mutex's owner, and for signals to the thread, of which there are none here.
        unsafe {
            core::arch::asm!(
                "mov dword ptr fs:[{place}], {number:e}",
                number = in(reg) number,
                place = const NUMBER_IN_DESCRIPTOR,
                options(nostack, preserves_flags)
            );
        }
    }
}
