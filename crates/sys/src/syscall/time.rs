//! Calls about time: the kernel's clocks.

use super::{number, syscall3};

const SECOND: u64 = 1_000_000_000;

/// Seconds and nanoseconds as the kernel counts them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Timespec {
    /// Whole seconds.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: i64,
}

impl Timespec {
    /// So many nanoseconds.
    #[must_use]
    pub fn of(nanoseconds: u64) -> Self {
        Self { seconds: (nanoseconds / SECOND) as i64, nanoseconds: (nanoseconds % SECOND) as i64 }
    }

    /// The whole time in nanoseconds; if that overflows or is negative, the nearest number.
    #[must_use]
    pub fn in_nanoseconds(&self) -> u64 {
        let (seconds, rest) = (self.seconds.max(0) as u64, self.nanoseconds.max(0) as u64);
        seconds.saturating_mul(SECOND).saturating_add(rest)
    }
}

/// Time since the machine started, never set back.
pub const CLOCK_MONOTONIC: u32 = 1;
/// Wall clock: since 1970, may be set.
pub const CLOCK_REALTIME: u32 = 0;
/// CPU time of the whole process.
pub const CLOCK_PROCESS_CPUTIME_ID: u32 = 2;
/// CPU time of this thread.
pub const CLOCK_THREAD_CPUTIME_ID: u32 = 3;

/// The clock of the CPU time of a thread of this process, by the kernel's number of it.
#[must_use]
pub const fn clock_of_thread(thread: u32) -> u32 {
    /// A single thread, and the time that the scheduler counts.
    const OF_THREAD: u32 = 4 | 2;
    !thread << 3 | OF_THREAD
}

/// The time of a clock in nanoseconds; 0 if the kernel refuses. Enters the kernel (some 100 ns).
#[inline]
#[must_use]
pub fn clock_nanoseconds(clock: u32) -> u64 {
    let mut time = Timespec::default();
    // SAFETY: the kernel writes one Timespec into `time`.
    let done = unsafe { syscall3(number::CLOCK_GETTIME, clock as usize, &raw mut time as usize, 0) };
    if done.is_err() {
        return 0;
    }
    time.in_nanoseconds()
}

/// The time between two of the kernel's ticks in nanoseconds: the step of its coarse clock. 0 if the kernel does not
/// tell.
#[must_use]
pub fn tick_nanoseconds() -> u64 {
    const CLOCK_MONOTONIC_COARSE: usize = 6;
    let mut step = Timespec::default();
    // SAFETY: the kernel writes one Timespec into `step`.
    let done = unsafe { syscall3(number::CLOCK_GETRES, CLOCK_MONOTONIC_COARSE, &raw mut step as usize, 0) };
    if done.is_err() {
        return 0;
    }
    step.in_nanoseconds()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::sched_yield;

    #[test]
    fn times_in_nanoseconds_end_at_the_last_number() {
        assert_eq!(Timespec::of(3_000_000_007).in_nanoseconds(), 3_000_000_007);
        assert_eq!(Timespec { seconds: i64::MAX, nanoseconds: 999_999_999 }.in_nanoseconds(), u64::MAX);
        assert_eq!(Timespec { seconds: -1, nanoseconds: 5 }.in_nanoseconds(), 5);
    }

    #[test]
    fn clocks_run_forward() {
        let before = clock_nanoseconds(CLOCK_MONOTONIC);
        sched_yield();
        assert!(before > 0 && clock_nanoseconds(CLOCK_MONOTONIC) >= before);
        assert_eq!(clock_nanoseconds(9999), 0);
    }
}
