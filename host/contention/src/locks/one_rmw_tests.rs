//! The lock with one read-modify-write under the real kernel: exact sums, and no thread sleeps forever.
//!
//! The test for endless sleep uses the kernel and no clock: a wake of all sleepers returns their number. If that is all threads
//! that are not done, there was no thread left to wake them.

use super::{AWAITED, FREE, HELD, OneRmw, restart_all, sequences, syscall};
use crate::lock::Lock;
use crate::locks::tests::one_at_a_time;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The calls of lock and unlock in a run.
#[derive(Clone, Copy)]
enum Way {
    /// As the lock does.
    Own,
    /// Each thread that finds it held marks it without a load before: so marks meet stores as often as possible.
    Eager,
    /// Some unlock as if there were no sequences.
    Mixed,
}

/// One run; returns the number of times that all threads were found asleep.
fn contend(threads: u64, each: u64, way: Way) -> u64 {
    /// The number of tests without any progress before the watchdog uses the kernel.
    const LOOKS: u32 = 2_000;
    let lock = OneRmw::new();
    let (sum, done, mut lost) = (AtomicU64::new(0), AtomicU64::new(0), 0);
    thread::scope(|scope| {
        for which in 0..threads {
            let (lock, sum, done) = (&lock, &sum, &done);
            scope.spawn(move || {
                for turn in 0..each {
                    match way {
                        Way::Eager => {
                            let (taken, failed) = (Ordering::Acquire, Ordering::Relaxed);
                            if let Err(seen) = lock.word.compare_exchange(FREE, HELD, taken, failed) {
                                lock.mark_and_sleep(seen);
                            }
                        }
                        _ => lock.take(),
                    }
                    // Not an atomic addition: two at once would lose some.
                    sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    // Now and then the other threads get time to go to sleep.
                    if (turn + which) % 64 == 0 && !matches!(way, Way::Eager) {
                        thread::yield_now();
                    }
                    match way {
                        Way::Mixed if (turn + which) % 3 == 0 => lock.give_up_by_swap(),
                        _ => lock.give_up(),
                    }
                }
                done.fetch_add(1, Ordering::Release);
            });
        }
        let (mut looks, mut before) = (0, 0);
        loop {
            // Read before the wake: a thread that is awake at the wake is among those that are left here.
            let left = threads - done.load(Ordering::Acquire);
            if left == 0 {
                break;
            }
            let now = sum.load(Ordering::Relaxed);
            looks = if now == before { looks + 1 } else { 0 };
            before = now;
            if looks >= LOOKS {
                looks = 0;
                let asleep = syscall::futex_wake(&lock.word, u32::MAX >> 1).expect("a word of ours");
                lost += u64::from(asleep as u64 == left);
            }
            thread::yield_now();
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), threads * each, "the lock let in two at once");
    lost
}

#[test]
fn nobody_is_forgotten_and_nothing_lost() {
    for threads in [2, 3, 8] {
        for _ in 0..30 {
            assert_eq!(contend(threads, 500, Way::Own), 0, "{threads} threads, all asleep");
        }
        assert_eq!(contend(threads, 20_000, Way::Own), 0, "{threads} threads, all asleep");
    }
}

#[test]
fn a_mark_that_meets_a_store_is_not_lost() {
    for threads in [2, 3] {
        for _ in 0..800 {
            assert_eq!(contend(threads, 500, Way::Eager), 0, "{threads} threads, all asleep");
        }
    }
}

#[test]
fn who_swaps_and_who_stores_share_a_lock() {
    for _ in 0..10 {
        assert_eq!(contend(3, 2_000, Way::Mixed), 0);
    }
}

#[test]
fn without_sequences_it_is_a_lock_all_the_same() {
    one_at_a_time(&OneRmw { area: 0, ..OneRmw::new() });
}

#[test]
fn a_waiter_who_cannot_make_sure_leaves_its_mark_with_the_lock() {
    let lock = OneRmw::new();
    lock.take_awake();
    assert_eq!(lock.word.load(Ordering::Relaxed), AWAITED);
    lock.give_up();
    assert_eq!(lock.word.load(Ordering::Relaxed), FREE);
}

#[test]
fn the_sequence_stores_over_held_alone() {
    let area = sequences::area();
    if area == 0 {
        // No rseq or no membarrier here: the lock swaps, and other tests cover that.
        return;
    }
    for (before, is_stored) in [(HELD, true), (AWAITED, false), (FREE, false)] {
        let word = std::sync::atomic::AtomicU32::new(before);
        // SAFETY: the area is this process's; no other thread has the word.
        assert_eq!(unsafe { sequences::store_if_held(&word, area) }, is_stored);
        assert_eq!(word.load(Ordering::Relaxed), if is_stored { FREE } else { before });
    }
    assert!(restart_all());
}
