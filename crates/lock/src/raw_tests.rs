//! The lock under threads of this machine.

use super::*;
use crate::places::turn::Sight;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::thread;
use std::vec::Vec;

trait Lock: Sync {
    fn lock(&self);
    fn lock_until(&self, deadline: u64) -> bool;
    fn unlock(&self) -> bool;
}

macro_rules! lock {
    ($($name:ty)*) => { $(
        impl Lock for $name {
            fn lock(&self) { self.lock() }
            fn lock_until(&self, deadline: u64) -> bool { self.lock_until(deadline) }
            // SAFETY: the tests unlock what they locked, or a lock that no thread holds.
            fn unlock(&self) -> bool { unsafe { self.unlock() } }
        }
    )* };
}
lock! { SimpleLock SmallLock }

/// Threads add to two numbers that must always be equal under the lock; some of the threads stop waiting soon.
fn check(lock: &dyn Lock, patient: usize, impatient: usize, times: usize) {
    let (first, second) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let got = AtomicUsize::new(0);
    thread::scope(|scope| {
        for which in 0..patient + impatient {
            let (first, second, got) = (&first, &second, &got);
            scope.spawn(move || {
                for _ in 0..times {
                    if which < patient {
                        lock.lock();
                    } else if !lock.lock_until(processor::now() + 20_000) {
                        continue;
                    }
                    let value = first.load(Ordering::Relaxed);
                    assert_eq!(value, second.load(Ordering::Relaxed), "two holders at once");
                    first.store(value + 1, Ordering::Relaxed);
                    core::hint::spin_loop();
                    second.store(value + 1, Ordering::Relaxed);
                    assert!(lock.unlock());
                    got.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(first.load(Ordering::Relaxed), got.load(Ordering::Relaxed));
    assert!(got.load(Ordering::Relaxed) >= patient * times);
}

const TIMES: usize = if cfg!(miri) { 30 } else { 20_000 };

#[test]
fn one_holder_at_a_time() {
    // The interpreter runs one thread at a time: three threads meet in every way that more threads do.
    for threads in if cfg!(miri) { [1, 2, 3].as_slice() } else { &[1, 2, 3, 8] } {
        let threads = *threads;
        check(&SimpleLock::new(), threads, 0, TIMES);
        check(&SmallLock::new(), threads, 0, TIMES);
    }
}

#[test]
fn who_gives_up_waiting_leaves_nobody_behind() {
    let (one, two) = if cfg!(miri) { (1, 1) } else { (2, 3) };
    check(&SimpleLock::new(), 2, one, TIMES);
    check(&SmallLock::new(), 1, two, TIMES);
}

#[test]
fn a_lock_of_zeros_is_free_and_what_is_free_cannot_be_given_up() {
    // SAFETY: zeros are a free lock.
    let lock: SimpleLock = unsafe { core::mem::zeroed() };
    // SAFETY: no thread holds it.
    assert!(!unsafe { lock.unlock() });
    assert!(lock.try_lock() && !lock.try_lock() && lock.is_locked());
    assert!(!lock.lock_until(1), "its time has come");
    // SAFETY: taken above. The thread that stopped waiting may have left its mark.
    assert!(unsafe { lock.unlock() } && lock.try_lock());
}

/// A holder releases the lock and takes it again at once, forever; the waiting threads get it nevertheless.
#[test]
#[cfg_attr(miri, ignore = "its clock is not real")]
fn who_starves_is_served() {
    let (lock, stop, served) = (SimpleLock::new(), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let (lock, stop, served) = (&lock, &stop, &served);
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(move || {
                    for _ in 0..20 {
                        lock.lock();
                        served.fetch_add(1, Ordering::Relaxed);
                        assert!(Lock::unlock(lock));
                    }
                })
            })
            .collect();
        scope.spawn(move || {
            while stop.load(Ordering::Relaxed) == 0 {
                lock.lock();
                for _ in 0..1000 {
                    core::hint::spin_loop();
                }
                assert!(Lock::unlock(lock));
            }
        });
        waiters.into_iter().for_each(|waiter| waiter.join().expect("its end"));
        stop.store(1, Ordering::Relaxed);
    });
    assert_eq!(served.load(Ordering::Relaxed), 60);
}

/// The lock as a forked child may find it: the thread for which it was reserved is not in the process.
#[test]
#[cfg_attr(miri, ignore = "its clock is not real")]
fn a_lock_that_is_reserved_for_nobody_is_had_in_the_end() {
    for word in [S, S | W] {
        let lock = SimpleLock::new();
        lock.word.state.store(word, Ordering::Relaxed);
        assert!(!lock.try_lock());
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        lock.lock();
                        assert!(Lock::unlock(&lock));
                    }
                });
            }
        });
        assert!(lock.try_lock(), "free at the end");
    }
}

/// A thread for which the lock was reserved, until other threads no longer waited for that, sleeps apart from the rest. When a
/// turn begins, it may be the only sleeper.
#[test]
#[cfg(not(miri))]
fn who_lost_a_reservation_is_woken_by_the_holder_whose_turn_begins() {
    let lock = SimpleLock::new();
    let number = std::sync::atomic::AtomicI32::new(0);
    lock.lock();
    let deadline = processor::now() + 30_000_000_000;
    let is_in_time = thread::scope(|scope| {
        let starver = scope.spawn(|| {
            number.store(underbar_sys::syscall::gettid(), Ordering::Relaxed);
            // SAFETY: if it was got.
            lock.lock_until(deadline) && unsafe { lock.unlock() } && processor::now() < deadline
        });
        // A thread that is woken after a millisecond without getting the lock starves.
        while lock.word.state.load(Ordering::Relaxed) & S == 0 || !sleeps(number.load(Ordering::Relaxed)) {
            wake(&raw const lock.word.state, &lock.word.sleepers, 1, Room::All);
        }
        // As if it had gone to sleep after `take_reservation_back`.
        RESERVED_IN_VAIN.store(true, Ordering::Relaxed);
        lock.word.state.fetch_and(!S, Ordering::Relaxed);
        lock.word.call_the_next();
        // SAFETY: this thread holds it.
        assert!(unsafe { lock.unlock() });
        starver.join().expect("no panic")
    });
    assert!(is_in_time, "nobody woke it");
}

/// Whether a thread is asleep in the kernel's futex.
#[cfg(not(miri))]
fn sleeps(thread: i32) -> bool {
    std::fs::read_to_string(std::format!("/proc/self/task/{thread}/syscall"))
        .is_ok_and(|call| call.starts_with("202 "))
}

/// The same with turns: whatever the arriving threads see, the lock counts as kept busy by one thread.
#[test]
#[cfg_attr(miri, ignore = "its clock is not real")]
fn one_holder_at_a_time_with_turns() {
    let (lock, first, second) = (SimpleLock::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    let turn = lock.word.turn();
    let was_busy = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                for _ in 0..4_000 {
                    (0..4).for_each(|_| turn.saw(Sight::Watched));
                    lock.lock();
                    was_busy.fetch_add(usize::from(turn.is_busy()), Ordering::Relaxed);
                    let value = first.load(Ordering::Relaxed);
                    assert_eq!(value, second.load(Ordering::Relaxed), "two holders at once");
                    first.store(value + 1, Ordering::Relaxed);
                    core::hint::spin_loop();
                    second.store(value + 1, Ordering::Relaxed);
                    assert!(Lock::unlock(&lock));
                }
            });
        }
    });
    assert_eq!(first.load(Ordering::Relaxed), 5 * 4_000);
    assert!(was_busy.load(Ordering::Relaxed) > 0);
    assert!(lock.try_lock(), "free at the end");
}

/// The thread that is next left its sleep by a jump: the sleepers get the lock nevertheless.
#[test]
#[cfg(not(miri))]
fn who_is_next_and_never_comes_keeps_nobody_waiting() {
    let lock = SimpleLock::new();
    let turn = lock.word.turn();
    let address = &raw const lock.word.state as usize;
    // Another test's lock may have the same turn and be the next.
    while !(turn.is_busy() && turn.is_mine(address, false)) {
        turn.saw(Sight::Watched);
        thread::yield_now();
    }
    lock.lock();
    let numbers = [const { std::sync::atomic::AtomicI32::new(0) }; 3];
    thread::scope(|scope| {
        for number in &numbers {
            scope.spawn(|| {
                number.store(underbar_sys::syscall::gettid(), Ordering::Relaxed);
                lock.lock();
                assert!(Lock::unlock(&lock));
            });
        }
        while !numbers.iter().all(|number| sleeps(number.load(Ordering::Relaxed))) {
            thread::yield_now();
        }
        // So no thread is woken. The next thread may be late by now, on a busy machine.
        while !turn.is_taken_care_of(address) {
            turn.saw(Sight::Watched);
            turn.is_mine(address, true);
        }
        assert!(Lock::unlock(&lock));
    });
}
