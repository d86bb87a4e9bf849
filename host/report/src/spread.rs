//! Percentiles from intervals: the interval is exact, the place within it is not known.
//!
//! ```text
//! waits    |  3  |  90  |  7  |         half of 100 waits: in the second interval
//! ns       2^9   2^10   2^11  2^12      so at least 1,024 and below 2,048
//! ```

use serde::{Deserialize, Serialize};

use crate::units::nanoseconds;

/// Bounds of a percentile in nanoseconds, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The lower bound.
    pub at_least: u64,
    /// The upper bound.
    pub at_most: u64,
}

impl Spread {
    /// The wait that `percent` of all waits do not exceed; the longest wait bounds it. None without waits.
    #[must_use]
    pub fn of(histogram: &[u64], percent: u64, longest: u64) -> Option<Spread> {
        let all: u128 = histogram.iter().map(|&waits| u128::from(waits)).sum();
        if all == 0 {
            return None;
        }
        let rank = (all * u128::from(percent.min(100))).div_ceil(100).max(1);
        let mut seen = 0;
        let interval = histogram.iter().position(|&waits| {
            seen += u128::from(waits);
            seen >= rank
        })?;
        let (at_least, below) = bounds(interval);
        // The longest wait is stored apart from the histogram, so it may lag behind or be noise.
        let at_most = if longest >= at_least { longest.min(below) } else { below };
        Some(Spread { at_least, at_most })
    }

    /// In words: `1.05 to 2.10 ms`.
    #[must_use]
    pub fn words(self) -> String {
        if self.at_least == self.at_most {
            return nanoseconds(self.at_most);
        }
        let (from, to) = (nanoseconds(self.at_least), nanoseconds(self.at_most));
        match (from.split_once(' '), to.split_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {to}"),
            _ => format!("{from} to {to}"),
        }
    }
}

/// The shortest and the longest time in an interval, in nanoseconds.
fn bounds(interval: usize) -> (u64, u64) {
    let shift = u32::try_from(interval).unwrap_or(63).min(63);
    let least = if shift == 0 { 0 } else { 1 << shift };
    (least, (1_u64 << shift).checked_mul(2).map_or(u64::MAX, |end| end - 1))
}

/// A lower bound for the sum of all waits of 2^`interval` nanoseconds and longer.
#[must_use]
pub fn at_least_in(histogram: &[u64], interval: usize, together: u64) -> u64 {
    let sum = |from: usize, to: usize, bound: fn(usize) -> u64| {
        histogram
            .iter()
            .enumerate()
            .take(to)
            .skip(from)
            .fold(0_u64, |sum, (at, &waits)| sum.saturating_add(waits.saturating_mul(bound(at))))
    };
    let long = sum(interval, histogram.len(), |at| bounds(at).0);
    let without_short = together.saturating_sub(sum(0, interval, |at| bounds(at).1));
    long.max(without_short).min(together)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_lies_in_its_interval() {
        let mut histogram = vec![0; 13];
        (histogram[9], histogram[10], histogram[11]) = (3, 90, 7);
        let check = |percent, longest, expect: (u64, u64)| {
            let spread = Spread::of(&histogram, percent, longest).expect("waits");
            assert_eq!((spread.at_least, spread.at_most), expect, "{percent}");
        };
        check(0, 3_000, (512, 1_023));
        check(3, 3_000, (512, 1_023));
        check(4, 3_000, (1_024, 2_047));
        check(50, 3_000, (1_024, 2_047));
        check(93, 3_000, (1_024, 2_047));
        check(94, 3_000, (2_048, 3_000));
        check(99, 2_048, (2_048, 2_048));
        check(99, 7, (2_048, 4_095));
        assert_eq!(Spread::of(&[], 50, 1), None);
        assert_eq!(Spread::of(&[0, 0], 50, 1), None);
        assert_eq!(Spread::of(&[1], 99, 0), Some(Spread { at_least: 0, at_most: 0 }));
        let end = Spread::of(&[u64::MAX; 64], 99, u64::MAX).expect("waits");
        assert_eq!(end.at_most, u64::MAX);
    }

    #[test]
    fn any_true_percentile_is_inside() {
        let mut state = 88_172_645_463_325_252_u64;
        for _ in 0..200 {
            let mut waits = Vec::new();
            for _ in 0..37 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                waits.push((state >> (24 + state % 40)).max(1));
            }
            waits.sort_unstable();
            let mut histogram = vec![0; 40];
            waits.iter().for_each(|wait| histogram[wait.ilog2() as usize] += 1);
            for percent in [1, 50, 90, 99, 100] {
                let truth = waits[(waits.len() * percent).div_ceil(100) - 1];
                let spread = Spread::of(&histogram, percent as u64, waits[36]).expect("waits");
                assert!((spread.at_least..=spread.at_most).contains(&truth), "{truth} {spread:?}");
            }
            let together: u64 = waits.iter().sum();
            let long: u64 = waits.iter().filter(|&&wait| wait >= 1 << 20).sum();
            assert!(at_least_in(&histogram, 20, together) <= long);
        }
    }

    #[test]
    fn words_share_a_unit_where_they_can() {
        let words = |at_least, at_most| Spread { at_least, at_most }.words();
        assert_eq!(words(1_048_576, 2_097_151), "1.05 to 2.10 ms");
        assert_eq!(words(524_288, 1_048_575), "524 us to 1.05 ms");
        assert_eq!(words(5, 5), "5 ns");
    }
}
