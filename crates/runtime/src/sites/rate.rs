//! How far samples are apart: the mean distance grows while samples take more than their part of the CPU time.
//!
//! ```text
//! 32 samples ─> time that they took : CPU time of the process meanwhile     above the share: mean * 2, 4 or 8
//!                                                                           below an eighth of it: mean / 2, down to what was asked for
//! ```
//!
//! Invariant: the mean is never below the one that was asked for.
//! Not here: how a sample carries the mean with which it was drawn (`heap::sampled`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use underbar_sys::{clock, syscall};

use crate::sandbox;

/// Samples between two looks.
const SAMPLES: u64 = 32;
/// Below this part of their share samples may be twice as dense. Then they take a quarter of it, so that the mean does not swing.
const SMALL: u64 = 8;
/// The mean grows by 2 to this power at most at a look: the first samples take longer than later ones.
const STEP: u32 = 3;
/// The largest factor of the mean: 2 to this power.
const MOST: u32 = 16;
/// What a sample takes besides the time that is measured: its element, and its free. Nanoseconds.
const OTHER: u64 = 800;

const CLOCK_PROCESS_CPUTIME: u32 = 2;

/// Thousandths of the CPU time that samples may take; 0: any. Written before the first request; relaxed.
static SHARE: AtomicU64 = AtomicU64::new(0);
/// The mean is what was asked for, times 2 to this power. Written by the thread that looks; relaxed: any thread reads it, and a sample
/// carries what was read.
static DOUBLED: AtomicU32 = AtomicU32::new(0);
/// Nanoseconds of all samples, and their number. Any thread adds, relaxed.
static SPENT: AtomicU64 = AtomicU64::new(0);
static TAKEN: AtomicU64 = AtomicU64::new(0);
/// Of the last look. Written by the thread that looks.
static SPENT_THEN: AtomicU64 = AtomicU64::new(0);
static CPU_THEN: AtomicU64 = AtomicU64::new(0);
/// 1 while a thread looks; others go on.
static LOOKING: AtomicU32 = AtomicU32::new(0);

/// Obeys the option.
pub(super) fn configure(share: u64) {
    SHARE.store(share, Ordering::Relaxed);
    begin();
}

/// Begins: at the start, and in a child.
pub(super) fn begin() {
    SPENT_THEN.store(SPENT.load(Ordering::Relaxed), Ordering::Relaxed);
    CPU_THEN.store(cpu(), Ordering::Relaxed);
    LOOKING.store(0, Ordering::Relaxed);
}

/// The power of 2 by which the mean is multiplied.
#[inline]
pub(super) fn doubled() -> u32 {
    DOUBLED.load(Ordering::Relaxed)
}

/// Nanoseconds that all samples took.
pub(super) fn all_spent() -> u64 {
    SPENT.load(Ordering::Relaxed)
}

/// A sample took so many nanoseconds. True if the mean has changed.
pub(super) fn spent(nanoseconds: u64) -> bool {
    SPENT.fetch_add(nanoseconds + OTHER, Ordering::Relaxed);
    let is_due = (TAKEN.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(SAMPLES);
    is_due && LOOKING.swap(1, Ordering::Acquire) == 0 && look()
}

#[cold]
fn look() -> bool {
    let (spent, cpu, doubled) = (SPENT.load(Ordering::Relaxed), cpu(), doubled());
    let took = spent.wrapping_sub(SPENT_THEN.swap(spent, Ordering::Relaxed));
    let of = cpu.saturating_sub(CPU_THEN.swap(cpu, Ordering::Relaxed));
    let share = SHARE.load(Ordering::Relaxed);
    let next = if share == 0 { doubled } else { next(doubled, took, of, share) };
    DOUBLED.store(next, Ordering::Relaxed);
    LOOKING.store(0, Ordering::Release);
    next != doubled
}

/// The next power of 2, when samples took so many nanoseconds of so much CPU time.
fn next(doubled: u32, took: u64, of: u64, share: u64) -> u32 {
    let (took, may) = (took.saturating_mul(1000), of.saturating_mul(share));
    if took > may {
        // As often as it takes until the samples take their share.
        let times = (took - 1).checked_div(may).map_or(STEP, |times| times.max(1).ilog2() + 1);
        (doubled + times.min(STEP)).min(MOST)
    } else if took.saturating_mul(SMALL) < may {
        doubled.saturating_sub(1)
    } else {
        doubled
    }
}

/// CPU time of the process; where system calls are forbidden, the time of day.
fn cpu() -> u64 {
    if sandbox::is_closed() { clock::monotonic() } else { syscall::clock_nanoseconds(CLOCK_PROCESS_CPUTIME) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_the_part_of_the_time() {
        const SECOND: u64 = 1_000_000_000;
        assert_eq!(next(0, SECOND / 100, SECOND, 5), 1, "one percent");
        assert_eq!(next(1, SECOND / 250, SECOND, 5), 1, "0.4 percent");
        assert_eq!(next(1, SECOND / 2000, SECOND, 5), 0);
        assert_eq!((next(0, 0, SECOND, 5), next(MOST, SECOND, SECOND, 5)), (0, MOST));
        assert_eq!(
            [15, 21, 100].map(|thousandths| next(2, SECOND / 1000 * thousandths, SECOND, 5)),
            [4, 5, 5]
        );
        assert_eq!((next(3, 1, 0, 5), next(3, u64::MAX, 1, 1)), (6, 6));
    }

    /// A program that allocates at a steady rate: the mean settles where samples take between the two parts.
    #[test]
    fn a_steady_program_gets_a_steady_mean() {
        for samples_a_second in [10_u64, 1000, 100_000, 1_000_000] {
            const EACH: u64 = 3_000;
            let mut doubled = 0;
            for _ in 0..64 {
                // The time in which there are so many samples at this mean.
                let of = (SAMPLES * 1_000_000_000 / samples_a_second) << doubled;
                doubled = next(doubled, SAMPLES * EACH, of, 5);
            }
            let part = (EACH * samples_a_second) as f64 / 1e9 / f64::from(1 << doubled);
            assert!(part <= 0.005 && (doubled == 0 || part >= 0.005 / SMALL as f64), "{part}");
        }
    }
}
