//! The steps after a lock's release must not need its memory.
//!
//! The function that is told of the wake takes the memory away. One thread does everything, so chance plays no role: a later
//! access of the lock to its memory ends this process.
#![cfg(not(miri))]

use std::sync::atomic::{AtomicU32, Ordering};

use underbar_lock::{OBSERVER_VERSION, Observer, SimpleLock, SmallLock, Waited};
use underbar_sys::syscall;

static TOLD: AtomicU32 = AtomicU32::new(0);

/// The symbol by which the lock finds its observer.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is C's")]
static underbar_lock_observer: Observer =
    Observer { version: OBSERVER_VERSION, spare: 0, waits, waited, given_up };

extern "C" fn waits(_: usize, _: u32, _: usize) {}

extern "C" fn waited(_: usize, _: usize, _: &Waited) {}

extern "C" fn given_up(lock: usize, _: usize) {
    TOLD.fetch_add(1, Ordering::Relaxed);
    // SAFETY: a page of the test, which contains only the lock.
    unsafe { syscall::munmap(lock as *mut u8, 4096) }.expect("unmapped");
}

#[test]
fn nothing_of_it_is_touched_once_it_was_given_up() {
    for is_small in [false, true] {
        let page = syscall::map_anonymous(4096).expect("memory");
        let before = TOLD.load(Ordering::Relaxed);
        // SAFETY: zeros are a free lock of either size. The second wait is in vain, and leaves the mark that a thread may sleep;
        // so the release takes the path that wakes a sleeper.
        let given_up = unsafe {
            if is_small {
                let lock = &*page.cast::<SmallLock>();
                lock.lock();
                assert!(!lock.lock_until(1));
                lock.unlock()
            } else {
                let lock = &*page.cast::<SimpleLock>();
                lock.lock();
                assert!(!lock.lock_until(1));
                lock.unlock()
            }
        };
        assert!(given_up);
        assert_eq!(TOLD.load(Ordering::Relaxed), before + 1, "the memory was taken away");
        assert!(syscall::mincore(page as usize, &mut [0]).is_err(), "and is gone");
    }
}
