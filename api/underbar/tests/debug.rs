//! The debug form (`cargo test -p underbar --features debug-locks`): each fault a panic that names it.
#![cfg(feature = "debug-locks")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use underbar::SimpleLock;

/// The message of its panic, which must be located in this file, at the call with the fault.
fn panics(work: impl FnOnce()) -> String {
    std::panic::set_hook(Box::new(|info| {
        assert!(info.location().is_some_and(|place| place.file().ends_with("debug.rs")), "{info}");
    }));
    let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("a fault");
    payload.downcast_ref::<String>().cloned().expect("a message")
}

#[test]
fn a_lock_has_the_size_that_it_always_has() {
    assert_eq!((size_of::<SimpleLock<()>>(), size_of::<SimpleLock<u64>>()), (8, 16));
}

#[test]
fn locking_twice_says_both_places() {
    let lock = SimpleLock::new(1);
    let (first, guard) = (line!(), lock.lock());
    let text = panics(|| drop(lock.lock()));
    let second = line!() - 1;
    assert!(text.contains("locked twice") && text.contains(&format!("debug.rs:{first}")), "{text}");
    assert!(text.contains(&format!("debug.rs:{second}")), "{text}");
    assert!(panics(|| drop(lock.try_lock_for(Duration::from_millis(1)))).contains("locked twice"));
    assert!(lock.try_lock().is_none());
    drop(guard);
    assert_eq!(*lock.lock(), 1, "usable as before");
}

#[test]
fn a_thread_that_ends_with_a_lock_is_named_by_who_waits() {
    let lock = SimpleLock::new(());
    thread::scope(|scope| {
        let holder = scope.spawn(|| std::mem::forget(lock.lock()));
        holder.join().expect("no panic");
    });
    assert!(panics(|| drop(lock.lock())).contains("has ended"));
}

#[test]
fn guards_of_panicking_threads_give_their_locks_up_in_good_order() {
    let lock = SimpleLock::new(0);
    let text = panics(|| {
        let _guard = lock.lock();
        drop(lock.lock());
    });
    assert!(text.contains("locked twice"), "{text}");
    assert!(lock.try_lock().is_some());
}

#[cfg(feature = "lock_api")]
#[test]
fn unlocking_by_force_says_whose_it_is_or_that_it_is_nobodys() {
    let lock = underbar::Mutex::new(());
    // SAFETY: nothing depends on it.
    assert!(panics(|| unsafe { lock.force_unlock() }).contains("nobody holds it"));
    let (line, guard) = (line!(), lock.lock());
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            // SAFETY: nothing depends on it.
            panics(|| unsafe { lock.force_unlock() })
        });
        let text = other.join().expect("caught");
        assert!(text.contains("does not hold it") && text.contains(&format!("debug.rs:{line}")), "{text}");
    });
    assert!(lock.is_locked());
    drop(guard);
    assert!(!lock.is_locked());
}

#[test]
fn locks_without_faults_are_as_without_it() {
    let lock = SimpleLock::new(0_u64);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..2_000).for_each(|_| *lock.lock() += 1));
        }
    });
    assert_eq!(lock.into_inner(), 8_000);
}
