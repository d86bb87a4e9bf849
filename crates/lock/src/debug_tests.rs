//! Each fault separately, and no fault in correct programs. Fork and signals need a separate process: the tests of the C
//! form cover them.

use super::*;
use core::panic::Location;
use std::format;
use std::string::String;
use std::sync::mpsc::channel;

#[track_caller]
fn here() -> Place {
    Place::Rust(Location::caller())
}

fn said(fault: &Fault) -> String {
    format!("{fault}")
}

/// In a separate thread.
fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().expect("no panic"))
}

#[test]
fn a_second_lock_by_the_holder_is_named_and_both_places_are_said() {
    let a_lock = SimpleLock::new();
    let (first, second) = (here(), here());
    lock(&a_lock, first).expect("free");
    let fault = lock(&a_lock, second).expect_err("held by this thread");
    assert_eq!((fault.kind, fault.lock), (Kind::LockedTwice, address(&a_lock)));
    let holder = fault.holder.expect("a holder");
    assert_eq!(
        (holder.thread, holder.place.line(), fault.place.line()),
        (fault.thread, first.line(), second.line())
    );
    let text = said(&fault);
    assert!(
        text.contains("locked twice") && text.contains(&format!("debug_tests.rs:{}", second.line())),
        "{text}"
    );
    assert!(lock_until(&a_lock, processor::now() + 1_000_000, here()).is_err());
    assert!(!try_lock(&a_lock, here()), "no fault, and not free");
    // SAFETY: taken above.
    unsafe { unlock(&a_lock, here()) }.expect("by its holder");
    lock(&a_lock, here()).expect("free again");
}

#[test]
fn unlocking_what_nobody_holds_is_named() {
    let a_lock = SimpleLock::new();
    // SAFETY: nothing depends on this lock.
    let fault = unsafe { unlock(&a_lock, here()) }.expect_err("free");
    assert_eq!(fault.kind, Kind::NotLocked);
    assert!(fault.holder.is_none() && said(&fault).contains("nobody holds it"), "{fault}");
    assert!(try_lock(&a_lock, here()));
    // SAFETY: taken above; the second time nothing depends on it.
    unsafe {
        unlock(&a_lock, here()).expect("held");
        assert_eq!(unlock(&a_lock, here()).expect_err("free").kind, Kind::NotLocked);
    }
}

#[test]
fn unlocking_what_another_thread_holds_is_named_and_does_nothing() {
    let a_lock = SimpleLock::new();
    let since = here();
    lock(&a_lock, since).expect("free");
    let mine = Who::this().thread;
    // SAFETY: nothing depends on this lock.
    let fault = elsewhere(|| unsafe { unlock(&a_lock, here()) }).expect_err("another's");
    assert_eq!(fault.kind, Kind::NotHolder);
    let holder = fault.holder.expect("a holder");
    assert_eq!((holder.thread, holder.place.line()), (mine, since.line()));
    assert_ne!(fault.thread, mine);
    assert!(a_lock.is_locked());
    // SAFETY: taken above.
    unsafe { unlock(&a_lock, here()) }.expect("held");
}

#[test]
fn a_holder_that_has_ended_is_named() {
    let a_lock = SimpleLock::new();
    elsewhere(|| lock(&a_lock, here())).expect("free");
    let fault = lock(&a_lock, here()).expect_err("its holder is gone");
    assert_eq!(fault.kind, Kind::HolderEnded);
    assert!(said(&fault).contains("has ended"), "{fault}");
}

#[test]
fn a_holder_that_ends_while_somebody_waits_is_named() {
    let a_lock = SimpleLock::new();
    let (send, receive) = channel();
    let (go_on, wait) = channel::<()>();
    std::thread::scope(|scope| {
        let a_lock = &a_lock;
        scope.spawn(move || {
            lock(a_lock, here()).expect("free");
            send.send(()).expect("told");
            let _ = wait.recv();
        });
        receive.recv().expect("held");
        let waiter = scope.spawn(|| lock(a_lock, here()).expect_err("in vain").kind);
        drop(go_on);
        assert_eq!(waiter.join().expect("no panic"), Kind::HolderEnded);
    });
}

#[test]
fn what_was_taken_without_the_debug_form_is_not_judged() {
    let a_lock = SimpleLock::new();
    a_lock.lock();
    assert_eq!(lock_until(&a_lock, processor::now() + 1_000_000, here()).ok(), Some(false));
    // SAFETY: taken above.
    unsafe { unlock(&a_lock, here()) }.expect("held, by whom is not known");
    lock(&a_lock, here()).expect("free");
    // SAFETY: taken above; then nothing depends on it.
    unsafe {
        assert!(a_lock.unlock());
        assert_eq!(unlock(&a_lock, here()).expect_err("free").kind, Kind::NotLocked);
    }
}

#[test]
fn memory_that_is_a_lock_again_is_a_new_lock() {
    let a_lock = SimpleLock::new();
    elsewhere(|| lock(&a_lock, here())).expect("free");
    // SAFETY: as if its memory had been freed and zeroed; no thread holds it any more.
    unsafe { a_lock.unlock() };
    lock(&a_lock, here()).expect("free");
    // SAFETY: taken above.
    unsafe { unlock(&a_lock, here()) }.expect("held by this thread, not by the one that ended");
    renew(&raw const a_lock);
    assert!(holders::of(address(&a_lock)).is_none());
}

#[test]
fn contended_locks_have_no_faults_and_exclude() {
    const THREADS: u64 = 4;
    const EACH: u64 = 2_000;
    let locks: std::vec::Vec<SimpleLock> = (0..64).map(|_| SimpleLock::new()).collect();
    let sums: std::vec::Vec<core::cell::UnsafeCell<u64>> = (0..64).map(|_| 0.into()).collect();
    struct Shared<'a>(&'a [core::cell::UnsafeCell<u64>]);
    // SAFETY: each cell is touched under the lock of its number only.
    unsafe impl Sync for Shared<'_> {}
    let shared = Shared(&sums);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (locks, shared) = (&locks, &shared);
            scope.spawn(move || {
                for turn in 0..EACH {
                    let number = ((turn * 7 + thread) % 64) as usize;
                    lock(&locks[number], here()).expect("no fault");
                    // SAFETY: under its lock; then the lock is this thread's.
                    unsafe {
                        *shared.0[number].get() += 1;
                        unlock(&locks[number], here()).expect("no fault");
                    }
                }
            });
        }
    });
    let sum: u64 = sums.into_iter().map(core::cell::UnsafeCell::into_inner).sum();
    assert_eq!(sum, THREADS * EACH);
    assert!(locks.iter().all(|lock| holders::of(address(lock)).is_none()));
}
