//! The lock under the actions of a kernel and a user: memory that is unmapped after it is used, threads that move between
//! processors, a process that is stopped and continued.
//!
//! Not here: orders of events, which the models try one by one (`raw`).
#![cfg(not(miri))]

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::thread;

use underbar_lock::SimpleLock;
use underbar_sys::syscall;

unsafe extern "C" {
    fn sched_setaffinity(thread: i32, bytes: usize, set: *const u64) -> i32;
    fn kill(process: i32, signal: i32) -> i32;
}

/// Two threads meet at a lock; the one that gets it last frees its memory at once. If the release touched it afterwards, the
/// other thread would be killed.
#[test]
fn its_memory_may_go_as_soon_as_the_next_holder_has_it() {
    const ROUNDS: u64 = 5_000;
    static PLACE: AtomicPtr<SimpleLock> = AtomicPtr::new(core::ptr::null_mut());
    /// Rounds that the second thread has ended.
    static ENDED: AtomicU64 = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                // Zeros are a free lock; this thread holds it before the other one knows it.
                let lock: *mut SimpleLock = syscall::map_anonymous(4096).expect("memory").cast();
                // SAFETY: the page exists until the other thread has the lock, which is after this one released it.
                unsafe {
                    (*lock).lock();
                    PLACE.store(lock, Ordering::Release);
                    for _ in 0..round % 200 {
                        core::hint::spin_loop();
                    }
                    assert!((*lock).unlock());
                }
                while ENDED.load(Ordering::Acquire) <= round {
                    core::hint::spin_loop();
                }
            }
        });
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                let lock = loop {
                    let lock = PLACE.swap(core::ptr::null_mut(), Ordering::Acquire);
                    if !lock.is_null() {
                        break lock;
                    }
                    core::hint::spin_loop();
                };
                // SAFETY: the page exists until this thread, which has the lock, takes it away.
                unsafe {
                    (*lock).lock();
                    syscall::munmap(lock.cast(), 4096).expect("unmapped");
                }
                ENDED.fetch_add(1, Ordering::Release);
            }
        });
    });
}

/// Threads that hold and wait are moved between processors all the time: the hint about the holder's processor is wrong as
/// often as possible.
#[test]
fn threads_may_be_moved_while_they_hold_and_wait() {
    let lock = SimpleLock::new();
    let (value, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let processors = u64::from(syscall::processors().clamp(1, 64));
    let added: u64 = thread::scope(|scope| {
        let (lock, value, stop) = (&lock, &value, &stop);
        let threads: Vec<_> = (0..6_u64)
            .map(|which| {
                scope.spawn(move || {
                    let mut added = 0_u64;
                    while added < 20_000 && !stop.load(Ordering::Relaxed) {
                        lock.lock();
                        let before = value.load(Ordering::Relaxed);
                        if added.is_multiple_of(64) {
                            let set = [1_u64 << ((added / 64 + which) % processors)];
                            // SAFETY: eight bytes may be read. If the call is refused, nothing moves.
                            unsafe { sched_setaffinity(0, 8, set.as_ptr()) };
                        }
                        value.store(before + 1, Ordering::Relaxed);
                        // SAFETY: taken above.
                        assert!(unsafe { lock.unlock() });
                        added += 1;
                    }
                    added
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("its end")).sum()
    });
    assert_eq!((value.load(Ordering::Relaxed), added), (120_000, 120_000));
}

/// The name under which the test below starts this file again.
const STOPPED: &str = "UNDERBAR_TEST_STOPPED";

/// A process in which threads pass a lock to each other is stopped and continued repeatedly, and still ends.
#[test]
fn a_process_may_be_stopped_at_any_time() {
    if std::env::var_os(STOPPED).is_some() {
        let lock = SimpleLock::new();
        let value = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200_000 {
                        lock.lock();
                        value.store(value.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        // SAFETY: taken above.
                        assert!(unsafe { lock.unlock() });
                    }
                });
            }
        });
        assert_eq!(value.load(Ordering::Relaxed), 800_000);
        return;
    }
    let own = std::env::current_exe().expect("this file");
    let mut child = Command::new(own)
        .args(["--exact", "a_process_may_be_stopped_at_any_time"])
        .env(STOPPED, "1")
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    let number = i32::try_from(child.id()).expect("a process number");
    let status = loop {
        if let Some(status) = child.try_wait().expect("waited") {
            break status;
        }
        for signal in [19, 18] {
            // SAFETY: a child of this process that was not waited for.
            unsafe { kill(number, signal) };
            thread::yield_now();
        }
    };
    assert!(status.success(), "{status}");
}
