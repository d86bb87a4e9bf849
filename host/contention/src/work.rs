//! Work of a known length: a chain of multiplications, each of which waits for the one before.
//!
//! The number of multiplications in a microsecond is measured once, by the process that starts the runs, and passed to each run.
//! So all locks get the same work.

use std::hint::black_box;
use std::time::Instant;

/// Steps in a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub u64);

impl Rate {
    /// Measures it: the fastest of many short trials, since any disturbance makes it slower.
    #[must_use]
    pub fn measure() -> Self {
        const STEPS: u64 = 50_000;
        let trial = |_| {
            let began = Instant::now();
            black_box(work(black_box(1), STEPS));
            began.elapsed().as_nanos().max(1) as u64
        };
        let best = (0..200).map(trial).min().unwrap_or(1);
        Self((STEPS * 1_000_000 / best).max(1))
    }

    /// Steps for this many nanoseconds.
    #[must_use]
    pub fn steps(self, nanoseconds: u64) -> u64 {
        self.0 * nanoseconds / 1_000_000
    }
}

/// Does this many steps.
#[inline]
#[must_use]
pub fn work(mut value: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        // Opaque at each step: a compiler may otherwise take two at once.
        value = black_box(value).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    value
}
