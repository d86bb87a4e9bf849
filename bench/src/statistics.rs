//! Intervals: the ratio of two allocators from rounds that ran side by side.
//!
//! Each round measures every allocator once, so a disturbance of the machine hits all of a round alike; the
//! logarithm of the ratio within a round is what is averaged. The interval is Student's, two-sided, 95 %.
//!
//! Invariant: nothing here looks at a value alone; only at ratios within a round.

use std::fmt;

/// A ratio with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The best guess: below 1 is better than what it is compared with.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

impl Ratio {
    /// What it comes to, where less is better: `gain`, `loss`, or `no difference` where the interval holds 1.
    #[must_use]
    pub fn word(self) -> &'static str {
        match () {
            () if self.high < 1.0 => "gain",
            () if self.low > 1.0 => "loss",
            () => "no difference",
        }
    }
}

/// `1.030 [1.010, 1.050]`.
impl fmt::Display for Ratio {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:.3} [{:.3}, {:.3}]", self.value, self.low, self.high)
    }
}

/// Mean and squared standard error of a set of log ratios.
#[derive(Debug, Clone, Copy)]
pub struct LogMean {
    /// Mean of the logarithms.
    pub mean: f64,
    /// Variance of that mean.
    pub variance: f64,
    /// Degrees of freedom: rounds less one.
    pub freedom: usize,
}

/// The log ratios of `ours` to `theirs`, round by round.
///
/// With a single round the variance is infinite: the interval then says that nothing is known.
#[must_use]
pub fn paired(ours: &[f64], theirs: &[f64]) -> LogMean {
    let logs: Vec<f64> = ours.iter().zip(theirs).map(|(our, their)| (our / their).ln()).collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let freedom = logs.len().saturating_sub(1);
    let variance = if freedom == 0 {
        f64::INFINITY
    } else {
        logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / freedom as f64 / count
    };
    LogMean { mean, variance, freedom }
}

/// A difference with its 95 % interval, in the unit of what it was made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The best guess.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

/// The mean of differences, one for each round. With a single round the interval says that nothing is known.
#[must_use]
pub fn difference(of_rounds: &[f64]) -> Difference {
    let count = of_rounds.len() as f64;
    let value = of_rounds.iter().sum::<f64>() / count;
    let freedom = of_rounds.len().saturating_sub(1);
    let squares = of_rounds.iter().map(|one| (one - value).powi(2)).sum::<f64>();
    let half = if freedom == 0 {
        f64::INFINITY
    } else {
        student(freedom) * (squares / freedom as f64 / count).sqrt()
    };
    Difference { value, low: value - half, high: value + half }
}

/// The geometric mean of several workloads' ratios; each weighs the same.
#[must_use]
pub fn geometric_mean(parts: &[LogMean]) -> LogMean {
    let count = parts.len() as f64;
    LogMean {
        mean: parts.iter().map(|part| part.mean).sum::<f64>() / count,
        variance: parts.iter().map(|part| part.variance).sum::<f64>() / count / count,
        // The smallest freedom of the parts: the interval is wide rather than narrow.
        freedom: parts.iter().map(|part| part.freedom).min().unwrap_or(0),
    }
}

impl LogMean {
    /// The ratio and its interval.
    #[must_use]
    pub fn ratio(&self) -> Ratio {
        let half = student(self.freedom) * self.variance.sqrt();
        let half = if half.is_nan() { f64::INFINITY } else { half };
        Ratio { value: self.mean.exp(), low: (self.mean - half).exp(), high: (self.mean + half).exp() }
    }
}

/// The middle value; of two middle values their mean.
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

/// The 97.5 % quantile of Student's distribution with so many degrees of freedom.
fn student(freedom: usize) -> f64 {
    /// From the usual tables, one to thirty degrees of freedom.
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[freedom - 1],
        // The first term of the expansion around the normal quantile; off by less than 0.001 from 30 on.
        _ => 1.960 + 2.373 / freedom as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::{difference, geometric_mean, median, paired, student};

    #[test]
    fn a_constant_ratio_has_no_width_whatever_the_machine_does() {
        let theirs = [1.0, 3.0, 2.0, 50.0];
        let ours = theirs.map(|value| value * 1.25);
        let ratio = paired(&ours, &theirs).ratio();
        assert!((ratio.value - 1.25).abs() < 1e-12 && (ratio.high - ratio.low).abs() < 1e-6);
    }

    #[test]
    fn the_interval_is_students() {
        // Log ratios -1, 0, 1: mean 0, standard error 1/sqrt(3), two degrees of freedom.
        let ours = [(-1.0f64).exp(), 1.0, 1.0f64.exp()];
        let ratio = paired(&ours, &[1.0; 3]).ratio();
        assert!((ratio.high.ln() - 4.303 / 3.0f64.sqrt()).abs() < 1e-9);
        assert!((ratio.low * ratio.high - 1.0).abs() < 1e-9);
        assert!(paired(&[2.0], &[1.0]).ratio().high.is_infinite(), "one round says nothing");
        // Differences 4, 5, 6: the same spread around 5.
        let difference_of = difference(&[4.0, 5.0, 6.0]);
        assert!((difference_of.value - 5.0).abs() < 1e-12);
        assert!((difference_of.high - 5.0 - 4.303 / 3.0f64.sqrt()).abs() < 1e-9);
        assert!(difference(&[1.0]).low.is_infinite());
    }

    #[test]
    fn a_geometric_mean_halves_the_error_of_four_equal_parts() {
        let part = paired(&[1.0, 2.0, 4.0], &[1.0; 3]);
        let whole = geometric_mean(&[part; 4]);
        assert!((whole.mean - part.mean).abs() < 1e-12);
        assert!((whole.variance * 4.0 - part.variance).abs() < 1e-12);
    }

    #[test]
    fn the_tables_continue_smoothly_and_medians_are_in_the_middle() {
        assert!(student(30) > student(31) && student(31) > student(1_000) && student(1_000) > 1.96);
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
    }
}
