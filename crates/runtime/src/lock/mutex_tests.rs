//! The C library's mutex, taken by its own functions and by underbar's at the same time, under each LOCK, with turns and
//! without.

use super::super::mutex::{ADAPTIVE, ETIMEDOUT, NO_ELISION, NORMAL};
use super::super::set_mode;
use super::*;
use std::sync::atomic::AtomicUsize;
use std::vec::Vec;
use underbar_sys::syscall;

/// Lets tests that set the mode run one after the other.
static MODE_IS_ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

const EAGAIN: i32 = 11;

fn new(kind: u64) -> Mutex {
    // SAFETY: made of integers.
    let mutex: Mutex = unsafe { core::mem::zeroed() };
    mutex.kind.store(kind, Ordering::Relaxed);
    mutex
}

fn take(mutex: &Mutex, which: usize) -> i32 {
    let soon = Timespec { seconds: 0, nanoseconds: 1 };
    match which {
        // SAFETY: a mutex.
        0 | 1 => unsafe { lock(mutex, 1) },
        2 | 3 => c_library::lock(mutex),
        // SAFETY: as above, and a time.
        4 => unsafe { clocklock(mutex, CLOCK_MONOTONIC as i32, &raw const soon, 1) },
        // SAFETY: as above.
        _ => unsafe { trylock(mutex) },
    }
}

fn release(mutex: &Mutex, which: usize) -> i32 {
    if which % 2 == 1 {
        return c_library::unlock(mutex);
    }
    // SAFETY: this thread holds it.
    unsafe { unlock(mutex, 1) }
}

/// Threads add to two numbers that must always be equal. Some lock by the C library's own functions, and some give up.
fn shared_with_the_c_library(mode: Locks, kind: u64) {
    set_mode(mode);
    let (mutex, first, second) = (new(kind), AtomicUsize::new(0), AtomicUsize::new(0));
    let got = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let _: Vec<_> = (0..6)
            .map(|which| {
                let (mutex, first, second, got) = (&mutex, &first, &second, &got);
                scope.spawn(move || {
                    for _ in 0..4_000 {
                        let failure = take(mutex, which);
                        if failure != 0 {
                            assert_eq!(failure, if which == 4 { ETIMEDOUT } else { EBUSY });
                            continue;
                        }
                        let value = first.load(Ordering::Relaxed);
                        assert_eq!(value, second.load(Ordering::Relaxed), "two holders at once");
                        assert_eq!(mutex.owner.load(Ordering::Relaxed), syscall::gettid() as u32);
                        first.store(value + 1, Ordering::Relaxed);
                        core::hint::spin_loop();
                        second.store(value + 1, Ordering::Relaxed);
                        got.fetch_add(1, Ordering::Relaxed);
                        let failure = release(mutex, which);
                        assert_eq!(failure, 0);
                    }
                })
            })
            .collect();
    });
    assert_eq!(first.load(Ordering::Relaxed), got.load(Ordering::Relaxed));
    assert!(got.load(Ordering::Relaxed) >= 4 * 4_000);
    let left = (&mutex.word, &mutex.owner, &mutex.users);
    for word in [left.0, left.1, left.2] {
        assert_eq!(word.load(Ordering::Relaxed), 0, "as the C library leaves it");
    }
}

#[test]
fn one_holder_at_a_time_whoever_locks() {
    let _alone = MODE_IS_ONE.lock();
    for mode in [Locks::Off, Locks::Count, Locks::Simple] {
        for kind in [NORMAL, NORMAL | NO_ELISION, ADAPTIVE, owned::RECURSIVE as u64, owned::CHECKING as u64] {
            shared_with_the_c_library(mode, kind);
        }
    }
    set_mode(Locks::Off);
}

/// Whatever the arriving threads see, the mutex counts as one that a thread keeps busy.
#[test]
fn one_holder_at_a_time_with_turns() {
    let _alone = MODE_IS_ONE.lock();
    set_mode(Locks::Simple);
    let (mutex, first, second) = (new(NORMAL), AtomicUsize::new(0), AtomicUsize::new(0));
    let turn = &underbar_lock::waiting::place(&raw const mutex.word as usize).turn;
    std::thread::scope(|scope| {
        for which in 0..5 {
            let (mutex, first, second) = (&mutex, &first, &second);
            scope.spawn(move || {
                for _ in 0..2_000 {
                    (0..4).for_each(|_| turn.saw(underbar_lock::waiting::Sight::Watched));
                    assert_eq!(take(mutex, if which == 4 { 2 } else { 0 }), 0);
                    let value = first.load(Ordering::Relaxed);
                    assert_eq!(value, second.load(Ordering::Relaxed), "two holders at once");
                    first.store(value + 1, Ordering::Relaxed);
                    core::hint::spin_loop();
                    second.store(value + 1, Ordering::Relaxed);
                    assert_eq!(release(mutex, usize::from(which == 3)), 0);
                }
            });
        }
    });
    assert_eq!(first.load(Ordering::Relaxed), 5 * 2_000);
    assert_eq!((mutex.word.load(Ordering::Relaxed), mutex.is_reserved()), (0, false));
    set_mode(Locks::Off);
}

/// A mutex as a forked child may find it: the thread that asked for it is not in the process.
#[test]
fn one_that_is_reserved_for_nobody_is_had_and_no_longer_reserved() {
    let _alone = MODE_IS_ONE.lock();
    set_mode(Locks::Simple);
    let mutex = new(NORMAL);
    mutex.reserve(true);
    assert_eq!((take(&mutex, 0), mutex.is_reserved(), release(&mutex, 0)), (0, false, 0));
    set_mode(Locks::Off);
}

const EPERM: i32 = 1;

/// Both take it and give it up in turn, and each finds the state that the other left.
#[test]
fn a_recursive_mutex_has_the_owner_and_count_of_the_c_library() {
    let _alone = MODE_IS_ONE.lock();
    set_mode(Locks::Count);
    // The first lock teaches the thread's number.
    let first = new(owned::RECURSIVE as u64);
    assert_eq!((take(&first, 0), release(&first, 0)), (0, 0));
    for (takes, gives) in [([0, 2, 0], [0, 1, 0]), ([2, 0, 0], [1, 0, 0]), ([0, 0, 2], [0, 0, 1])] {
        let mutex = new(owned::RECURSIVE as u64);
        for (before, which) in takes.into_iter().enumerate() {
            assert_eq!((mutex.count.load(Ordering::Relaxed), take(&mutex, which)), (before as u32, 0));
        }
        let elsewhere = std::thread::scope(|scope| {
            scope.spawn(|| (take(&mutex, 5), release(&mutex, 0), take(&mutex, 4))).join().expect("no panic")
        });
        assert_eq!(elsewhere, (EBUSY, EPERM, ETIMEDOUT));
        for which in gives {
            assert_eq!(release(&mutex, which), 0);
        }
        assert_eq!(release(&mutex, 0), EPERM, "given up once too often");
    }
    let full = new(owned::RECURSIVE as u64);
    assert_eq!(take(&full, 0), 0);
    full.count.store(u32::MAX, Ordering::Relaxed);
    assert_eq!((take(&full, 0), take(&full, 2)), (EAGAIN, EAGAIN));
    set_mode(Locks::Off);
}

/// Firefox writes it in children that it makes by clone, and ends them if a mutex says otherwise.
#[test]
fn an_owner_is_the_number_that_the_c_library_has_now() {
    let _alone = MODE_IS_ONE.lock();
    set_mode(Locks::Count);
    let of = |kind: usize| {
        let mutex = new(kind as u64);
        assert_eq!(take(&mutex, 0), 0);
        let owner = mutex.owner.load(Ordering::Relaxed);
        assert_eq!(release(&mutex, 0), 0);
        owner
    };
    std::thread::spawn(move || {
        let own = syscall::gettid() as u32;
        for number in [own, own + 1, own + 1, own] {
            owned::tests::renumber(number);
            assert_eq!([owned::RECURSIVE, owned::CHECKING].map(of), [number; 2]);
            assert_eq!(owned::tests::learnt_of_both(), [number; 2]);
            assert_eq!([owned::RECURSIVE, owned::CHECKING].map(of), [number; 2], "by the fast path");
        }
    })
    .join()
    .expect("no panic");
    set_mode(Locks::Off);
}

/// The same for an error-checking mutex, whose errors come from the C library.
#[test]
fn an_error_checking_mutex_has_the_owner_and_errors_of_the_c_library() {
    const EDEADLK: i32 = 35;
    let _alone = MODE_IS_ONE.lock();
    for mode in [Locks::Off, Locks::Count, Locks::Simple] {
        set_mode(mode);
        // The first lock teaches the thread's number.
        let first = new(owned::CHECKING as u64);
        assert_eq!(
            (release(&first, 0), take(&first, 0), take(&first, 0), release(&first, 0)),
            (EPERM, 0, EDEADLK, 0)
        );
        for (takes, gives) in [(0, 0), (0, 1), (2, 0), (2, 1), (5, 0)] {
            let mutex = new(owned::CHECKING as u64);
            assert_eq!(take(&mutex, takes), 0);
            let figures = |of: &Mutex| {
                [&of.word, &of.count, &of.owner, &of.users].map(|word| word.load(Ordering::Relaxed))
            };
            let held = figures(&mutex);
            assert_eq!(held, [1, 0, syscall::gettid() as u32, 1]);
            assert_eq!([0, 2, 4, 5].map(|which| take(&mutex, which)), [EDEADLK, EDEADLK, EDEADLK, EBUSY]);
            let elsewhere = std::thread::scope(|scope| {
                let other = || (release(&mutex, 0), take(&mutex, 5), take(&mutex, 4), release(&mutex, 0));
                scope.spawn(other).join().expect("no panic")
            });
            assert_eq!(elsewhere, (EPERM, EBUSY, ETIMEDOUT, EPERM));
            // A thread that waited with a deadline has marked the word.
            assert_eq!(figures(&mutex)[1..], held[1..]);
            assert_eq!((release(&mutex, gives), release(&mutex, 0), figures(&mutex)), (0, EPERM, [0; 4]));
        }
    }
    set_mode(Locks::Off);
}

#[test]
fn other_kinds_are_the_c_library_s() {
    let _alone = MODE_IS_ONE.lock();
    let recursive = new(1);
    // SAFETY: a mutex.
    unsafe {
        assert_eq!((lock(&raw const recursive, 1), lock(&raw const recursive, 1)), (0, 0));
        assert_eq!(recursive.count.load(Ordering::Relaxed), 2);
        assert_eq!((unlock(&raw const recursive, 1), unlock(&raw const recursive, 1)), (0, 0));
        let checking = new(2);
        assert_eq!((lock(&raw const checking, 1), lock(&raw const checking, 1)), (0, 35));
        assert_eq!(trylock(&raw const checking), EBUSY);
        assert_eq!((unlock(&raw const checking, 1), unlock(&raw const checking, 1)), (0, 1));
        let never = Timespec { seconds: 0, nanoseconds: 1_000_000_000 };
        let held = new(NORMAL);
        assert_eq!(lock(&raw const held, 1), 0);
        assert_eq!(timedlock(&raw const held, &raw const never, 1), 22);
        assert_eq!(clocklock(&raw const held, 77, &raw const never, 1), 22);
        assert_eq!(trylock(&raw const held), EBUSY);
    }
}

/// Threads that wait without or with a deadline, while turns begin and end. In each round one of them is the last, and some
/// thread must have woken it, whoever took whose turn. A thread that was forgotten reaches its deadline.
#[test]
fn nobody_is_forgotten_when_turns_are_taken_over() {
    const THREADS: usize = 6;
    const ROUNDS: usize = 1_500;
    const TIMES: usize = 8;
    let _alone = MODE_IS_ONE.lock();
    set_mode(Locks::Simple);
    let seconds = syscall::clock_nanoseconds(CLOCK_MONOTONIC) / 1_000_000_000 + 60;
    let far = Timespec { seconds: seconds.cast_signed(), nanoseconds: 0 };
    let (mutex, sum, forgotten) = (new(NORMAL), AtomicUsize::new(0), AtomicUsize::new(0));
    let round = std::sync::Barrier::new(THREADS);
    let turn = &underbar_lock::waiting::place(&raw const mutex.word as usize).turn;
    let once = |which: usize, time: usize| {
        // SAFETY: a mutex, and a time.
        let failure = unsafe {
            match which % 2 {
                0 => lock(&raw const mutex, 1),
                _ => clocklock(&raw const mutex, CLOCK_MONOTONIC as i32, &raw const far, 1),
            }
        };
        if failure != 0 {
            forgotten.fetch_add(1, Ordering::Relaxed);
            return;
        }
        sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if (which + time).is_multiple_of(4) {
            // So that others arrive meanwhile.
            std::thread::sleep(core::time::Duration::from_micros(1));
        }
        assert_eq!(release(&mutex, 0), 0);
    };
    std::thread::scope(|scope| {
        for which in 0..THREADS {
            let (once, round) = (&once, &round);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    round.wait();
                    (0..6).for_each(|_| turn.saw(underbar_lock::waiting::Sight::Watched));
                    (0..TIMES).for_each(|time| once(which, time));
                }
            });
        }
    });
    assert_eq!((forgotten.into_inner(), sum.into_inner()), (0, THREADS * ROUNDS * TIMES));
    set_mode(Locks::Off);
}

/// Whichever thread is next, and whichever left its sleep early: the sleeping threads get the mutex all the same, with a
/// deadline and without.
#[test]
fn who_is_next_and_never_comes_keeps_nobody_waiting() {
    let _alone = MODE_IS_ONE.lock();
    set_mode(Locks::Simple);
    let mutex = new(NORMAL);
    let address = &raw const mutex.word as usize;
    let turn = &underbar_lock::waiting::place(address).turn;
    // Another test's mutex may have the same turn, and be next.
    while !(turn.is_busy() && turn.is_mine(address, false)) {
        turn.saw(underbar_lock::waiting::Sight::Watched);
        std::thread::yield_now();
    }
    assert_eq!(take(&mutex, 0), 0);
    let numbers = [const { AtomicU32::new(0) }; 4];
    let late = [CLOCK_MONOTONIC, CLOCK_REALTIME]
        .map(|clock| (clock, Timespec::of(syscall::clock_nanoseconds(clock) + 600_000_000_000)));
    std::thread::scope(|scope| {
        for (which, number) in numbers.iter().enumerate() {
            let mutex = &mutex;
            scope.spawn(move || {
                number.store(syscall::gettid() as u32, Ordering::Relaxed);
                let failure = match late.get(which) {
                    // SAFETY: a mutex, and a time.
                    Some((clock, until)) => unsafe { clocklock(mutex, clock.cast_signed(), until, 1) },
                    None => take(mutex, 0),
                };
                assert_eq!((failure, release(mutex, 0)), (0, 0));
            });
        }
        while !numbers.iter().all(|number| sleeps(number.load(Ordering::Relaxed))) {
            std::thread::yield_now();
        }
        // So no thread is woken. On a busy machine, it may be late by now.
        while !turn.is_taken_care_of(address) {
            turn.saw(underbar_lock::waiting::Sight::Watched);
            turn.is_mine(address, true);
        }
        assert_eq!(release(&mutex, 0), 0);
    });
    set_mode(Locks::Off);
}

/// Whether a thread is asleep in the kernel's futex.
fn sleeps(thread: u32) -> bool {
    std::fs::read_to_string(std::format!("/proc/self/task/{thread}/syscall"))
        .is_ok_and(|call| call.starts_with("202 "))
}
