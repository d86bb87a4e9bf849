//! A lock for the runtime's own structures: one word, and a futex for waiting.
//!
//! ```text
//! 0 --lock--> owner --another wants it--> owner | AWAITED
//! ^--unlock-----/          \--unlock: wake one--/
//! ```
//!
//! The word names its owner. A fork in a signal handler that interrupted the owner itself therefore does not wait forever
//! ([`Lock::hold`]).
//! Invariant: at most one guard of a lock exists at any time.
//! Cost without waiters: one compare-and-swap to lock and one exchange to unlock.
//! Not here: fairness, and the locks that underbar offers to programs.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use crate::planted;
use crate::sync::Plain;
use crate::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
/// A bit in addition to the owner: a thread may sleep.
const AWAITED: u32 = 1 << 31;

/// How often a thread looks at a taken lock before it sleeps. Written once, before there are threads; relaxed.
#[cfg(not(loom))]
static SPINS: AtomicU32 = AtomicU32::new(64);

/// Sets how often a thread looks at a taken lock before it sleeps: to measure what that spares.
#[cfg(not(loom))]
pub fn set_spins(spins: u32) {
    SPINS.store(spins, Ordering::Relaxed);
}

/// The same for a model, whose threads do not spin.
#[cfg(loom)]
pub fn set_spins(_: u32) {}

/// The ordering that makes writes under the lock visible to the next owner.
#[inline(always)]
fn given_up() -> Ordering {
    if planted!(relaxed_unlock) { Ordering::Relaxed } else { Ordering::Release }
}

/// The bit that a thread sets with the lock if it had to wait: others may still sleep, and the next unlock wakes one of them.
#[inline(always)]
fn after_waiting() -> u32 {
    if planted!(forgotten_sleeper) { 0 } else { AWAITED }
}

/// A value that one thread at a time may touch.
pub struct Lock<T> {
    /// The owner's name, see [`me`]. Taken with Acquire, given up with Release, so each owner sees the writes of the
    /// previous one.
    word: AtomicU32,
    /// How often the owner holds it beyond the first time. Only the owner uses it.
    again: Plain<u32>,
    sleepers: Sleepers,
    value: UnsafeCell<T>,
}

// SAFETY: a guard is the only way to the value, and there is one guard at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The right to touch the value, until dropped.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Lock<T> {
    /// A free lock.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self {
            word: AtomicU32::new(FREE),
            again: Plain::new(0),
            sleepers: Sleepers,
            value: UnsafeCell::new(value),
        }
    }

    /// A free lock.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self {
            word: AtomicU32::new(FREE),
            again: Plain::new(0),
            sleepers: Sleepers::default(),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        if !self.take(me()) {
            self.wait();
        }
        Guard { lock: self }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.take(me()).then(|| Guard { lock: self })
    }

    #[inline]
    fn take(&self, new: u32) -> bool {
        self.word.compare_exchange(FREE, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self) {
        // A short spin first: the runtime holds its locks for well under a microsecond.
        #[cfg(not(loom))]
        for _ in 0..SPINS.load(Ordering::Relaxed) {
            core::hint::spin_loop();
            if self.word.load(Ordering::Relaxed) == FREE && self.take(me()) {
                return;
            }
        }
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if word == FREE {
                if self.take(me() | after_waiting()) {
                    return;
                }
                continue;
            }
            let awaited = word | AWAITED;
            if word == awaited
                || self.word.compare_exchange(word, awaited, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                // A wake without a reason, a signal or a changed word: check again in each case.
                self.sleepers.sleep(&self.word, awaited);
            }
        }
    }

    /// Does this thread have the lock? In a forked child, the thread that is the copy of the owner has it.
    pub fn is_mine(&self) -> bool {
        self.word.load(Ordering::Relaxed) & !AWAITED == me()
    }

    /// Does another thread have the lock?
    pub fn is_another_s(&self) -> bool {
        let owner = self.word.load(Ordering::Relaxed) & !AWAITED;
        owner != FREE && owner != me()
    }

    /// Takes the lock and keeps it during a fork. If this thread already has it, because a signal handler that forks interrupted
    /// the thread, the thread keeps it. The data under the lock is then in the middle of a change, both for the handler and in
    /// the child's copy.
    pub fn hold(&self) {
        if self.is_mine() {
            // SAFETY: this thread is the owner.
            unsafe { self.again.set(self.again.get() + 1) }
        } else {
            core::mem::forget(self.lock());
        }
    }

    /// Like [`Lock::hold`], but waits at most so many nanoseconds: for cases in which the owner may itself wait for this thread.
    /// False if the lock did not become free. The wait polls in steps, since it is rarely needed.
    #[cfg(not(loom))]
    #[must_use]
    pub fn hold_within(&self, nanoseconds: u64) -> bool {
        const STEP: u64 = 100_000;
        const CLOCK_MONOTONIC: u32 = 1;
        let now = || crate::syscall::clock_nanoseconds(CLOCK_MONOTONIC);
        // The clock is read only if there is a wait: a program may forbid itself to read it.
        let mut deadline = None;
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if word & !AWAITED == me() || (word == FREE && self.take(me())) {
                if word != FREE {
                    // SAFETY: this thread is the owner.
                    unsafe { self.again.set(self.again.get() + 1) }
                }
                return true;
            }
            if now() >= *deadline.get_or_insert_with(|| now() + nanoseconds) {
                return false;
            }
            let _ = crate::syscall::futex_wait(&self.word, word, Some(STEP));
        }
    }

    /// Frees the lock, whoever held it.
    ///
    /// # Safety
    /// Its owner is gone: this is a forked child, and the owner another thread of the parent.
    pub unsafe fn forget_owner(&self) {
        // SAFETY: no other thread exists here.
        unsafe { self.again.set(0) };
        self.word.store(FREE, Ordering::Relaxed);
    }

    /// Does this thread hold the lock more often than the first [`Lock::hold`]? Call it between `hold` and [`Lock::release`].
    ///
    /// # Safety
    /// The caller's thread took the lock by `hold`, as for `release`.
    pub unsafe fn was_held(&self) -> bool {
        // SAFETY: this thread is the owner.
        unsafe { self.again.get() > 0 }
    }

    /// Gives up the lock that [`Lock::hold`] took.
    ///
    /// # Safety
    /// The caller's thread took the lock by `hold` (in a forked child: its parent's thread did, and no
    /// other thread exists).
    pub unsafe fn release(&self) {
        // SAFETY: this thread is the owner, and so is the child's only one, which has the same name.
        unsafe {
            match self.again.get() {
                0 => self.unlock(),
                again => self.again.set(again - 1),
            }
        }
    }

    #[inline]
    fn unlock(&self) {
        if self.word.swap(FREE, given_up()) & AWAITED != 0 {
            self.sleepers.wake(&self.word);
        }
    }
}

/// This thread as an owner: never 0, and without [`AWAITED`].
///
/// The address of its thread-local storage: these are more than 2 KiB apart, and a thread's name repeats only after 2 TiB of
/// addresses. Only [`Lock::hold`] compares names.
#[cfg(not(loom))]
#[inline]
fn me() -> u32 {
    let storage: usize;
    // SAFETY: on x86-64 the word at fs:0 is its own address, from before any code of a library runs.
    unsafe {
        core::arch::asm!("mov {}, fs:0", out(reg) storage, options(nostack, preserves_flags, readonly));
    }
    ((storage >> 10) as u32 & !AWAITED) | 1
}

/// The threads that sleep until the word changes; the kernel keeps them.
#[cfg(not(loom))]
struct Sleepers;

#[cfg(not(loom))]
impl Sleepers {
    fn sleep(&self, word: &AtomicU32, seen: u32) {
        let _ = crate::syscall::futex_wait(word, seen, None);
    }

    fn wake(&self, word: &AtomicU32) {
        let _ = crate::syscall::futex_wake(word, 1);
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.unlock();
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: one guard at a time, see the invariant.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: one guard at a time, and `&mut self` excludes a second reference through it.
        unsafe { &mut *self.lock.value.get() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn one_holder_at_a_time() {
        static LOCK: Lock<(u64, u64)> = Lock::new((0, 0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let mut pair = LOCK.lock();
                        assert_eq!(pair.0, pair.1, "two holders at once");
                        pair.0 += 1;
                        pair.1 += 1;
                    }
                });
            }
        });
        assert_eq!(LOCK.lock().0, 80_000);
    }

    #[test]
    fn a_held_lock_is_not_taken_twice() {
        let lock = Lock::new(());
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        assert!(lock.try_lock().is_none(), "a failed attempt gave up what another has");
        drop(guard);
        assert!(lock.try_lock().is_some());
    }

    /// The owner waits for this thread: this thread continues without the lock.
    #[test]
    fn a_wait_for_an_owner_that_waits_for_us_ends() {
        static LOCK: Lock<()> = Lock::new(());
        let (taken, is_taken) = std::sync::mpsc::channel();
        let (given_up, goes_on) = std::sync::mpsc::channel();
        let owner = thread::spawn(move || {
            let guard = LOCK.lock();
            taken.send(()).expect("a receiver");
            goes_on.recv().expect("a sender");
            drop(guard);
        });
        is_taken.recv().expect("a sender");
        assert!(!LOCK.hold_within(1_000_000));
        given_up.send(()).expect("a receiver");
        owner.join().expect("its end");
        assert!(LOCK.hold_within(0) && LOCK.hold_within(0), "free, and our own");
        // SAFETY: held twice above.
        unsafe {
            LOCK.release();
            assert!(LOCK.try_lock().is_none());
            LOCK.release();
        }
        assert!(LOCK.try_lock().is_some());
    }

    #[test]
    fn who_has_the_lock_holds_it_again_without_waiting() {
        static LOCK: Lock<u32> = Lock::new(0);
        let mut guard = LOCK.lock();
        *guard = 1;
        // The action of a fork in a signal handler that interrupts this point.
        LOCK.hold();
        // SAFETY: held.
        assert!(unsafe { LOCK.was_held() });
        // SAFETY: held.
        unsafe { LOCK.release() };
        assert!(LOCK.try_lock().is_none(), "the guard still has it");
        thread::scope(|scope| {
            scope.spawn(|| {
                LOCK.hold();
                // SAFETY: held.
                assert!(!unsafe { LOCK.was_held() }, "another thread's lock is not ours");
                // SAFETY: held.
                unsafe { LOCK.release() };
            });
            drop(guard);
        });
        assert_eq!(*LOCK.try_lock().expect("free"), 1);
    }
}

/// The kernel's part, for the model checker, which detects a sleeper that is never woken; and names of threads.
#[cfg(loom)]
mod mocked {
    use super::{AtomicU32, Ordering};
    use loom::sync::Mutex;
    use loom::thread::{Thread, current, park};
    use std::vec::Vec;

    /// The sleepers, in order of arrival.
    #[derive(Default)]
    pub struct Sleepers(Mutex<Vec<Thread>>);

    impl Sleepers {
        pub fn sleep(&self, word: &AtomicU32, seen: u32) {
            {
                let mut kernel = self.0.lock().expect("no panic inside");
                // The kernel sees the newest value, which a load need not.
                if word.fetch_or(0, Ordering::Relaxed) != seen {
                    return;
                }
                kernel.push(current());
            }
            park();
        }

        pub fn wake(&self, _: &AtomicU32) {
            let mut kernel = self.0.lock().expect("no panic inside");
            if !kernel.is_empty() {
                kernel.remove(0).unpark();
            }
        }
    }

    pub fn me() -> u32 {
        use core::sync::atomic::AtomicU32 as Counter;
        static NAMES: Counter = Counter::new(1);
        loom::thread_local! { static NAME: u32 = NAMES.fetch_add(1, Ordering::Relaxed) & 0x7fff_ffff | 1 << 30; }
        NAME.with(|name| *name)
    }
}
#[cfg(loom)]
use mocked::{Sleepers, me};

/// Every order of events of three threads: each thread sees the writes of the previous owner, and no thread sleeps forever.
/// The models must find the planted faults `relaxed_unlock` and `forgotten_sleeper` (a thread that had to wait takes the lock as if
/// no other thread did).
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::planted::finds;
    use loom::thread;
    // Not the checker's type: it must not be used after the checker has found a fault and unwinds its threads.
    use std::sync::Arc;

    fn threads(count: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let lock = Arc::new(Lock::new(Plain::new(0)));
            let add = |lock: &Lock<Plain<usize>>| {
                let guard = lock.lock();
                // SAFETY: under the lock; loom checks it.
                unsafe { guard.set(guard.get() + 1) }
            };
            let others: std::vec::Vec<_> = (1..count)
                .map(|_| {
                    let lock = lock.clone();
                    thread::spawn(move || add(&lock))
                })
                .collect();
            add(&lock);
            others.into_iter().for_each(|other| other.join().expect("its end"));
            // SAFETY: all threads have ended.
            assert_eq!(unsafe { lock.lock().get() }, count);
        });
    }

    #[test]
    fn loom_each_owner_sees_what_the_last_one_wrote() {
        finds(&["relaxed_unlock"], || threads(2));
    }

    #[test]
    fn loom_of_three_nobody_sleeps_for_ever() {
        finds(&["relaxed_unlock", "forgotten_sleeper"], || threads(3));
    }
}
