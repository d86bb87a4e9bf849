//! The memory of a server, second by second, and whether its line is flat.
//!
//! Invariant: a server that grows for as long as it is under load is not flat, whatever it took at its start: the first quarter of the
//! run does not count.
//! Not here: who reads the memory, and of which processes (`ecb::soak`, `programs::soak`).

use crate::goal::Goal;
use underbar_verdict::ratios::median;

/// The memory is flat if its median in the last quarter is at most so much above that of the second quarter: a part, or so many KiB,
/// since a process of few MiB has more than a hundredth in its connections' buffers.
const FLAT: f64 = 1.01;
const FLAT_KIB: f64 = 256.0;

/// A server's memory at a second of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Second {
    /// The second, from 0.
    pub second: u64,
    /// KiB of it.
    pub resident_kib: u64,
}

/// Seconds that a run took.
#[must_use]
pub fn length(seconds: &[Second]) -> u64 {
    seconds.last().map_or(0, |last| last.second + 1)
}

/// The memory from one second up to another one, in order of its size.
#[must_use]
pub fn between(seconds: &[Second], from: u64, to: u64) -> Vec<f64> {
    let within = seconds.iter().filter(|one| (from..to).contains(&one.second));
    let mut all: Vec<f64> = within.map(|one| one.resident_kib as f64).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Medians of the memory in the second and the last quarter of the run, in KiB.
#[must_use]
pub fn quarters(seconds: &[Second]) -> [f64; 2] {
    let length = length(seconds);
    [1, 3].map(|quarter| median(&between(seconds, length * quarter / 4, length * (quarter + 1) / 4)))
}

/// The goal that the line is flat. `whose`: words before it, with a blank at their end, or none.
#[must_use]
pub fn flat(seconds: &[Second], whose: &str) -> Goal {
    let [second, last] = quarters(seconds);
    Goal {
        wanted: format!(
            "{whose}flat memory: in the last quarter at most 1 %, or 256 KiB, more than in the second"
        ),
        held: second > 0.0 && last <= (FLAT * second).max(second + FLAT_KIB),
        found: vec![format!("{second:.0} KiB, then {last:.0} KiB (medians)")],
    }
}

#[cfg(test)]
mod tests {
    use super::{Second, between, flat, quarters};

    /// A hundred seconds of a server that grows by so many KiB a second, from the tenth on.
    fn line(grows: u64) -> Vec<Second> {
        let of = |second: u64| 60_000 + second.min(10) * 4_000 + second.saturating_sub(10) * grows;
        (0..100).map(|second| Second { second, resident_kib: of(second) }).collect()
    }

    #[test]
    fn the_start_does_not_count_and_growth_does() {
        assert!(flat(&line(0), "").held);
        assert!(flat(&line(10), "").held, "0.5 % in half of the run");
        assert!(!flat(&line(40), "").held, "2 %");
        assert!(!flat(&[], "").held, "nothing was measured");
        assert_eq!(quarters(&line(0)), [100_000.0; 2]);
        assert_eq!(between(&line(1), 10, 13), [100_000.0, 100_001.0, 100_002.0]);
    }
}
