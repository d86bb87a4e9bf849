//! A lock for the runtime's own structures: one word, a futex when it has to wait.
//!
//! ```text
//! 0 --lock--> owner --another wants it--> owner | AWAITED
//! ^--unlock-----/          \--unlock: wake one--/
//! ```
//!
//! The word names its owner, so that a fork in a signal handler which interrupted the owner itself does not wait for
//! ever ([`Lock::hold`]).
//! Invariant: while a [`Guard`] lives no other guard of the same lock does.
//! Cost: one compare-and-swap to lock and one exchange to unlock, where nobody waits.
//! Not here: fairness, and the locks that underbar offers to programs.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use crate::sync::Plain;
use crate::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
/// Beside the owner: somebody may sleep.
const AWAITED: u32 = 1 << 31;

/// How what was written under the lock becomes visible to the next owner.
#[cfg(not(seeded_bug = "relaxed_unlock"))]
const GIVEN_UP: Ordering = Ordering::Release;
#[cfg(seeded_bug = "relaxed_unlock")]
const GIVEN_UP: Ordering = Ordering::Relaxed;

/// What one who had to wait takes the lock with: others may sleep still, and the next unlock wakes one of them.
#[cfg(not(seeded_bug = "forgotten_sleeper"))]
const AFTER_WAITING: u32 = AWAITED;
#[cfg(seeded_bug = "forgotten_sleeper")]
const AFTER_WAITING: u32 = 0;

/// A value that one thread at a time may touch.
pub struct Lock<T> {
    /// The owner's name, see [`me`]. Taken with Acquire, given up with Release, so that each owner sees what the last
    /// one wrote.
    word: AtomicU32,
    /// How often the owner holds it beyond the first time. The owner's alone.
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
        for _ in 0..64 {
            core::hint::spin_loop();
            if self.word.load(Ordering::Relaxed) == FREE && self.take(me()) {
                return;
            }
        }
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if word == FREE {
                if self.take(me() | AFTER_WAITING) {
                    return;
                }
                continue;
            }
            let awaited = word | AWAITED;
            if word == awaited
                || self.word.compare_exchange(word, awaited, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                // A wake for no reason, a signal or a changed word: look again in any case.
                self.sleepers.sleep(&self.word, awaited);
            }
        }
    }

    /// Does this thread have the lock? In a forked child, the thread that is the copy of the owner has it.
    pub fn is_mine(&self) -> bool {
        self.word.load(Ordering::Relaxed) & !AWAITED == me()
    }

    /// Takes the lock and leaves it taken, for the time of a fork. Where this thread has it already, since a signal
    /// handler that forks has interrupted it, it stays so; what the lock guards is then in the middle of a change,
    /// for the handler as for the child's copy of it.
    pub fn hold(&self) {
        if self.is_mine() {
            // SAFETY: this thread is the owner.
            unsafe { self.again.set(self.again.get() + 1) }
        } else {
            core::mem::forget(self.lock());
        }
    }

    /// As [`Lock::hold`], but waits no longer than so many nanoseconds: for where the owner may wait for this thread in its turn.
    /// False where the lock was not to be had. The wait looks again in steps, as it is hardly ever needed.
    #[cfg(not(loom))]
    #[must_use]
    pub fn hold_within(&self, nanoseconds: u64) -> bool {
        const STEP: u64 = 100_000;
        const CLOCK_MONOTONIC: u32 = 1;
        let now = || crate::syscall::clock_nanoseconds(CLOCK_MONOTONIC);
        // The clock is asked where there is a wait only: a program may forbid itself to ask.
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

    /// Makes the lock free, whoever held it.
    ///
    /// # Safety
    /// Its owner is gone: this is a forked child, and the owner another thread of the parent.
    pub unsafe fn forget_owner(&self) {
        // SAFETY: nobody else is there.
        unsafe { self.again.set(0) };
        self.word.store(FREE, Ordering::Relaxed);
    }

    /// Does this thread have the lock beyond what [`Lock::hold`] took first? Between `hold` and [`Lock::release`].
    ///
    /// # Safety
    /// The caller's thread took the lock by `hold`, as for `release`.
    pub unsafe fn was_held(&self) -> bool {
        // SAFETY: this thread is the owner.
        unsafe { self.again.get() > 0 }
    }

    /// Gives up what [`Lock::hold`] took.
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
        if self.word.swap(FREE, GIVEN_UP) & AWAITED != 0 {
            self.sleepers.wake(&self.word);
        }
    }
}

/// This thread, as an owner: never 0, and without [`AWAITED`].
///
/// Where its thread-local storage lies: threads are more than 2 KiB apart there, and the name of one comes again
/// after 2 TiB of addresses. Only [`Lock::hold`] asks whose a name is.
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

/// Those who sleep until the word changes: the kernel keeps them.
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

    /// The owner waits for this thread: it goes on without the lock.
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
        // What a fork does in a signal handler that came just here.
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

/// The kernel's part, for the model checker, which sees a sleeper whom nobody wakes; and names of threads.
#[cfg(loom)]
mod mocked {
    use super::{AtomicU32, Ordering};
    use loom::sync::Mutex;
    use loom::thread::{Thread, current, park};
    use std::vec::Vec;

    /// Who sleeps, the first to come first.
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

/// Every order of events of three threads: each sees what the last one wrote, and nobody sleeps for ever. With the
/// faults of `--cfg seeded_bug` in place they must fail: `relaxed_unlock`, and `forgotten_sleeper` (who had to wait
/// takes the lock as if nobody else did).
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::thread;
    // Not the checker's: it may not be asked any more when it has found a fault and its threads are unwound.
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
    #[cfg_attr(seeded_bug = "relaxed_unlock", should_panic)]
    fn loom_each_owner_sees_what_the_last_one_wrote() {
        threads(2);
    }

    #[test]
    #[cfg_attr(any(seeded_bug = "relaxed_unlock", seeded_bug = "forgotten_sleeper"), should_panic)]
    fn loom_of_three_nobody_sleeps_for_ever() {
        threads(3);
    }
}
