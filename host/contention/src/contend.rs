//! One cell: a number of threads lock, work inside, unlock, work outside; for a given time.
//!
//! ```text
//! each thread   [wait for the lock | inside | maybe sleep ] outside, half to one and a half times as long ...
//!                ^ timed, one acquisition in a given number
//! ```
//!
//! The longest wait is reported twice: as measured, and without the time during which the thread could have run and had no
//! processor, since any lock would have cost that much. The second figure is the longest of the shortened waits, not the longest
//! wait shortened.
//!
//! After the time is up each thread finishes its current acquisition; so a starved thread has at least one acquisition,
//! and its wait is in the figures. Rates are per elapsed time up to the last thread's end.
//!
//! Invariant: the protected number is read before the work inside and written after it, by plain operations; at the
//! end it equals the sum of acquisitions, or the run panics.

use crate::Figures;
use crate::histogram::Histogram;
use crate::lock::Lock;
use crate::threads::{Account, Runnable, process_cpu};
use crate::work::{Rate, work};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The most threads of the `fifo` queue.
pub const MOST_THREADS: usize = 127;

/// The work inside and outside.
#[derive(Debug, PartialEq, Eq)]
pub struct Cell {
    /// The name on the command line and in tables.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Work under the lock, in nanoseconds.
    pub inside_ns: u64,
    /// Sleep under the lock, as if blocked in a system call; 0: none.
    pub sleep_ns: u64,
    /// Work outside the lock, in nanoseconds.
    pub outside_ns: u64,
    /// One acquisition in this number is timed: two readings of the clock must not be much of the work.
    pub timed_one_in: u64,
}

/// All cells.
pub static CELLS: [Cell; 3] = [
    Cell {
        name: "short",
        about: "50 ns inside, 1 us outside",
        inside_ns: 50,
        sleep_ns: 0,
        outside_ns: 1_000,
        // Two readings of the clock would be half of the work inside.
        timed_one_in: 16,
    },
    Cell {
        name: "long",
        about: "1 us inside, 0.1 us outside: saturated",
        inside_ns: 1_000,
        sleep_ns: 0,
        outside_ns: 100,
        // A starving thread has few acquisitions, and its waits are the subject.
        timed_one_in: 1,
    },
    Cell {
        name: "blocking",
        about: "50 ns inside and the holder sleeps for 50 us, 1 us outside",
        inside_ns: 50,
        sleep_ns: 50_000,
        outside_ns: 1_000,
        // As above.
        timed_one_in: 1,
    },
];

/// The cell of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Cell> {
    CELLS.iter().find(|cell| cell.name == name)
}

/// The parameters of a run.
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    /// Work inside and outside.
    pub cell: &'static Cell,
    /// Threads, from 1 to [`MOST_THREADS`].
    pub threads: usize,
    /// Its length.
    pub milliseconds: u64,
    /// The speed of this processor.
    pub rate: Rate,
    /// The seed of the work outside and of the timed acquisitions.
    pub seed: u64,
}

/// The data under the lock, in its own cache line.
#[repr(align(128))]
struct Apart<T>(T);

struct Shared<L> {
    lock: Apart<L>,
    number: Apart<AtomicU64>,
    stop: Apart<AtomicBool>,
    ready: Barrier,
}

/// The counts of one thread.
struct Did {
    acquisitions: u64,
    waits: Histogram,
    queued: Queued,
    account: Account,
}

/// Runs the cell.
///
/// # Panics
/// When the lock let in two at once, so that a number was lost.
#[must_use]
pub fn run<L: Lock>(parameters: &Parameters) -> Figures {
    let shared = Shared {
        lock: Apart(L::new()),
        number: Apart(AtomicU64::new(0)),
        stop: Apart(AtomicBool::new(false)),
        ready: Barrier::new(parameters.threads + 1),
    };
    let (did, elapsed, cpu) = thread::scope(|scope| {
        let shared = &shared;
        let threads: Vec<_> = (0..parameters.threads)
            .map(|which| scope.spawn(move || one(shared, parameters, which)))
            .collect();
        // All are ready, and none has begun.
        let (began, cpu) = (Instant::now(), process_cpu());
        shared.ready.wait();
        thread::sleep(Duration::from_millis(parameters.milliseconds));
        shared.stop.0.store(true, Ordering::Relaxed);
        let did: Vec<Did> =
            threads.into_iter().map(|thread| thread.join().expect("a thread's end")).collect();
        (did, began.elapsed(), process_cpu() - cpu)
    });
    let acquisitions: u64 = did.iter().map(|did| did.acquisitions).sum();
    assert_eq!(shared.number.0.load(Ordering::Relaxed), acquisitions, "the lock let in two at once");
    figures(&did, elapsed, cpu).with("protected", shared.number.0.load(Ordering::Relaxed))
}

/// One thread.
fn one<L: Lock>(shared: &Shared<L>, parameters: &Parameters, which: usize) -> Did {
    let cell = parameters.cell;
    let (inside, outside) = (parameters.rate.steps(cell.inside_ns), parameters.rate.steps(cell.outside_ns));
    let sleep = Duration::from_nanos(cell.sleep_ns);
    let mut waits = Histogram::default();
    let mut value =
        work(parameters.seed.wrapping_add(which as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, 8);
    let (mut acquisitions, mut lot) = (0, value);
    shared.ready.wait();
    let (before, mut queued) = (Account::now(), Queued::new());
    loop {
        lot = work(lot, 1);
        let is_timed = (lot >> 32) % cell.timed_one_in == 0;
        let began = is_timed.then(|| queued.begins());
        let (waited, after) = shared.lock.0.with(|| {
            let waited = began.map(|began| began.elapsed());
            let number = shared.number.0.load(Ordering::Relaxed);
            let after = work(value, inside);
            if !sleep.is_zero() {
                thread::sleep(sleep);
            }
            shared.number.0.store(number + 1, Ordering::Relaxed);
            (waited, after)
        });
        acquisitions += 1;
        if let Some(waited) = waited {
            waits.add(waited.as_nanos() as u64);
            queued.ends(waited.as_nanos() as u64);
        }
        value = work(after, outside / 2 + (lot >> 40) % outside.max(1));
        // Tested last: a thread that is first scheduled now still has one acquisition.
        if shared.stop.0.load(Ordering::Relaxed) {
            break;
        }
    }
    Did { acquisitions, waits, queued, account: Account::now().since(before) }
}

/// The greatest age of [`Runnable`]'s last value at the beginning of a wait: later time counts as part of the wait.
/// A reading for each wait would be a tenth of the work of many threads.
const STALE: Duration = Duration::from_millis(2);

/// The longest wait without the time in which its thread had no processor.
struct Queued {
    runnable: Runnable,
    /// The last value of `runnable`, and its time.
    known: (u64, Instant),
    longest: u64,
}

impl Queued {
    fn new() -> Self {
        let runnable = Runnable::of_this_thread();
        let known = (runnable.nanoseconds(), Instant::now());
        Self { runnable, known, longest: 0 }
    }

    /// A wait begins, at the returned time.
    fn begins(&mut self) -> Instant {
        let now = Instant::now();
        if now.duration_since(self.known.1) < STALE {
            return now;
        }
        self.known.0 = self.runnable.nanoseconds();
        self.known.1 = Instant::now();
        self.known.1
    }

    /// The wait is over. Called after the unlock, so that other threads do not wait for this.
    fn ends(&mut self, waited: u64) {
        if waited > self.longest {
            let runnable = self.runnable.nanoseconds();
            self.longest = self.longest.max(waited.saturating_sub(runnable - self.known.0));
            self.known = (runnable, Instant::now());
        }
    }
}

fn figures(did: &[Did], elapsed: Duration, cpu_ns: u64) -> Figures {
    let counts: Vec<u64> = did.iter().map(|did| did.acquisitions).collect();
    let operations: u64 = counts.iter().sum();
    let mut waits = Histogram::default();
    did.iter().for_each(|did| waits.merge(&did.waits));
    let sum = |get: fn(&Account) -> u64| did.iter().map(|did| get(&did.account)).sum();
    // Scaled from the timed acquisitions to all.
    let queued = u128::from(waits.sum()) * u128::from(operations) / u128::from(waits.number().max(1));
    Figures::default()
        .with("operations", operations)
        .with("elapsed_ns", elapsed.as_nanos() as u64)
        .with("cpu_ns", cpu_ns)
        .with("timed", waits.number())
        .with("queued_ns", queued as u64)
        .with("runnable_ns", sum(|account| account.runnable_ns))
        .with("slept", sum(|account| account.slept))
        .with("preempted", sum(|account| account.preempted))
        .with("wait_p50_ns", waits.quantile(500_000))
        .with("wait_p99_ns", waits.quantile(990_000))
        .with("wait_p999_ns", waits.quantile(999_000))
        .with("wait_worst_ns", waits.longest())
        .with("queued_worst_ns", did.iter().map(|did| did.queued.longest).max().unwrap_or(0))
        .with("fewest", counts.iter().copied().min().unwrap_or(0))
        .with("most", counts.iter().copied().max().unwrap_or(0))
        .with("fairness_ppm", (jain(&counts) * 1e6) as u64)
}

/// Jain's index: 1 if all got the same, 1/n if one got everything.
fn jain(counts: &[u64]) -> f64 {
    let sum: f64 = counts.iter().map(|count| *count as f64).sum();
    let squares: f64 = counts.iter().map(|count| (*count as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (counts.len() as f64 * squares) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{Parameters, find, jain};
    use crate::locks::TABLE;
    use crate::work::Rate;

    #[test]
    fn the_index_of_equal_shares_is_one() {
        assert!((jain(&[5, 5, 5]) - 1.0).abs() < 1e-12);
        assert!((jain(&[9, 0, 0]) - 1.0 / 3.0).abs() < 1e-12);
        assert!(jain(&[0, 0]).abs() < 1e-12);
    }

    #[test]
    fn every_lock_runs_every_cell() {
        for entry in &TABLE {
            for cell in &super::CELLS {
                let parameters =
                    Parameters { cell, threads: 3, milliseconds: 5, rate: Rate(100_000), seed: 1 };
                let figures = (entry.contend)(&parameters);
                let get = |name| figures.get(name).expect("a figure");
                assert!(get("fewest") > 0 && get("operations") >= 3, "{} {figures}", entry.name);
                assert!(get("wait_worst_ns") >= get("wait_p999_ns"));
                // On a busy machine the threads may have had no processor in all of their waits.
                let least = u64::from(get("runnable_ns") == 0);
                assert!((least..=get("wait_worst_ns")).contains(&get("queued_worst_ns")), "{figures}");
                assert!(get("timed") <= get("operations") && get("elapsed_ns") >= 5_000_000);
            }
        }
        assert!(find("none").is_none());
    }
}
