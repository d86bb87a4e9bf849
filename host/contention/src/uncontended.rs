//! No contention: pairs of lock and unlock of one thread, in a process with a second one.
//!
//! The other thread sleeps. It must exist: glibc uses no atomic operations in a process of one thread. The lock is in its own
//! cache lines: next to the loop's data on the stack, the compiler's layout would be measured, too.

use crate::Figures;
use crate::lock::Lock;
use std::hint::black_box;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

const PAIRS: u64 = 200_000;
const TRIALS: u64 = 25;

#[repr(align(128))]
struct Apart<L>(L);

/// Times pairs; the fastest of many short trials, since any disturbance makes them slower.
#[must_use]
pub fn run<L: Lock>() -> Figures {
    let lock = Box::new(Apart(L::new()));
    let (end, wait) = mpsc::channel::<()>();
    let other = thread::spawn(move || wait.recv());
    let trial = |_| {
        let mut number = 0_u64;
        let began = Instant::now();
        for _ in 0..PAIRS {
            black_box(&lock.0).with(|| number = black_box(number + 1));
        }
        let elapsed = began.elapsed().as_nanos() as u64;
        assert_eq!(number, PAIRS);
        elapsed
    };
    let best = (0..TRIALS).map(trial).min().unwrap_or(0);
    drop(end);
    // It ends because no thread can send any more: an expected error.
    let _ = other.join();
    // In thousandths of a nanosecond, since a pair takes only a few nanoseconds.
    Figures::default().with("pair_ps", best * 1_000 / PAIRS)
}
