//! Ratios of two arms, from rounds that ran side by side: those of the demos and of the benchmarks.
//!
//! Each round measures every arm once, so a disturbance of the machine hits all of a round alike; the logarithm of the ratio
//! within a round is one value. Estimate and interval are those by which `tune` and `compare` judge ([`crate::interval`]): signed
//! ranks, two-sided, 95 %. So a disturbed round moves an end by its rank and not by its size.
//!
//! Invariant: only ratios and differences within a round are used, never a value alone. Fewer than six rounds have an
//! estimate and no interval.

use std::fmt;

use crate::interval::{Interval, Span, TooFewPairs, estimate};
use crate::logarithm::{exp, ln};

const CONFIDENCE: f64 = 0.95;

/// A ratio with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The best estimate: below 1 is better than the reference.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end: infinite if there is no interval.
    pub high: f64,
}

impl Ratio {
    /// The result, if less is better: `gain`, `loss`, or `no difference` if the interval contains 1.
    #[must_use]
    pub fn word(self) -> &'static str {
        match () {
            () if self.high < 1.0 => "gain",
            () if self.low > 1.0 => "loss",
            () if self.high.is_infinite() => "too few rounds",
            () => "no difference",
        }
    }

    /// `2.1 [1.9, 2.3] times`, for a ratio that is far from 1.
    #[must_use]
    pub fn times(self) -> String {
        if self.high.is_infinite() {
            return format!("{:.1} [no interval] times", self.value);
        }
        format!("{:.1} [{:.1}, {:.1}] times", self.value, self.low, self.high)
    }
}

/// `1.030 [1.010, 1.050]`; `1.030 [no interval]`.
impl fmt::Display for Ratio {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.high.is_infinite() {
            return write!(to, "{:.3} [no interval]", self.value);
        }
        write!(to, "{:.3} [{:.3}, {:.3}]", self.value, self.low, self.high)
    }
}

/// Log ratios, round by round.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRatios(Vec<f64>);

/// The log ratios of `ours` to `theirs`, round by round.
#[must_use]
pub fn paired(ours: &[f64], theirs: &[f64]) -> LogRatios {
    LogRatios(ours.iter().zip(theirs).map(|(our, their)| ln(our / their)).collect())
}

/// The geometric mean of several workloads' ratios, round by round; each weighs the same.
/// Rounds that not every workload has are not used.
#[must_use]
pub fn geometric_mean(parts: &[LogRatios]) -> LogRatios {
    let rounds = parts.iter().map(|part| part.0.len()).min().unwrap_or(0);
    let mean = |round: usize| parts.iter().map(|part| part.0[round]).sum::<f64>() / parts.len() as f64;
    LogRatios((0..rounds).map(mean).collect())
}

impl LogRatios {
    /// The interval, where there are enough rounds for one.
    ///
    /// # Errors
    /// There are too few.
    pub fn interval(&self) -> Result<Interval, TooFewPairs> {
        Interval::of(&self.0, CONFIDENCE)
    }

    /// The ratio and its interval.
    #[must_use]
    pub fn ratio(&self) -> Ratio {
        // A time of 0 is no time: nothing is known then.
        let is_known = self.0.iter().all(|log| log.is_finite());
        match self.interval() {
            Ok(Interval { ratio, low, high, .. }) if is_known => Ratio { value: ratio, low, high },
            _ => {
                let value = estimate(&self.0).map_or(f64::NAN, exp);
                Ratio { value, low: 0.0, high: f64::INFINITY }
            }
        }
    }
}

/// A difference with its 95 % interval, in the unit of its values; unbounded if there are too few rounds.
#[must_use]
pub fn difference(of_rounds: &[f64]) -> Span {
    Span::of(of_rounds, CONFIDENCE).unwrap_or_else(|_| Span {
        value: estimate(of_rounds).unwrap_or(f64::NAN),
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    })
}

/// The median; of two middle values their mean.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The median of whole figures, the lower one of two: a figure that occurred.
#[must_use]
pub fn typical(figures: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = figures.into_iter().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::{difference, geometric_mean, median, paired, typical};

    #[test]
    fn a_constant_ratio_has_no_width_whatever_the_machine_does() {
        let theirs = [1.0, 3.0, 2.0, 50.0, 4.0, 7.0];
        let ours = theirs.map(|value| value * 1.25);
        let ratio = paired(&ours, &theirs).ratio();
        assert!((ratio.value - 1.25).abs() < 1e-9 && (ratio.high - ratio.low).abs() < 1e-6);
        assert_eq!((ratio.word(), ratio.to_string().as_str()), ("loss", "1.250 [1.250, 1.250]"));
    }

    /// Student's interval of these rounds contains 1: the one disturbed round makes it wide.
    #[test]
    fn a_disturbed_round_does_not_hide_a_gain() {
        let mut ours: Vec<f64> = (0..15).map(|round| 0.9 + f64::from(round) / 1000.0).collect();
        let quiet = paired(&ours, &[1.0; 15]).ratio();
        ours[14] = 40.0;
        let disturbed = paired(&ours, &[1.0; 15]).ratio();
        assert_eq!((quiet.word(), disturbed.word()), ("gain", "gain"));
        assert!(disturbed.high < 0.93, "{disturbed}");
    }

    #[test]
    fn too_few_rounds_have_an_estimate_and_no_interval() {
        let ratio = paired(&[2.0; 5], &[1.0; 5]).ratio();
        assert!((ratio.value - 2.0).abs() < 1e-9 && ratio.high.is_infinite());
        assert_eq!((ratio.word(), ratio.to_string().as_str()), ("too few rounds", "2.000 [no interval]"));
        assert!(paired(&[0.0; 6], &[1.0; 6]).ratio().high.is_infinite(), "no time was measured");
        let few = difference(&[4.0, 5.0, 6.0]);
        assert!((few.value - 5.0).abs() < 1e-12 && few.low.is_infinite() && few.high.is_infinite());
        let six = difference(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((six.low, six.value, six.high), (1.0, 3.5, 6.0));
    }

    #[test]
    fn a_geometric_mean_is_taken_within_the_rounds() {
        let one = paired(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], &[1.0; 7]);
        let other = paired(&[4.0, 2.0, 1.0, 0.5, 0.25, 0.125], &[1.0; 6]);
        let whole = geometric_mean(&[one.clone(), other]).ratio();
        assert!((whole.value - 2.0).abs() < 1e-9 && (whole.high - whole.low).abs() < 1e-6, "{whole}");
        assert_eq!(geometric_mean(&[one.clone(), one.clone()]), one);
        assert!(geometric_mean(&[]).ratio().value.is_nan());
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
    }

    #[test]
    fn a_typical_figure_is_one_that_occurred() {
        assert_eq!(typical([3, 1, 2]), Some(2));
        assert_eq!(typical([4, 1, 2, 3]), Some(2));
        assert_eq!(typical([]), None);
    }
}
