//! The interval of a ratio: the range of the true ratio of two arms, from the log ratios of n pairs.
//!
//! The estimate is the median of the n(n+1)/2 Walsh averages (d_i + d_j)/2, i <= j (Hodges and Lehmann 1963);
//! the interval is the span between two of them, counted from both ends, whose depth comes from the exact
//! distribution of Wilcoxon's signed-rank statistic (Wilcoxon 1945; the interval is Tukey's).
//!
//! ```text
//! Walsh averages, sorted:   w1 w2 ... wc | w(c+1) ............ w(M-c) | ... wM      M = n(n+1)/2
//!                                          low        ratio     high
//!
//! 2 P(W <= c) <= 1 - confidence, c as large as possible
//! ```
//!
//! Why not Student's t: one run that met a busy neighbour widens t's interval by its size, here only by its
//! rank; on normal noise the price is small (the signed ranks need 1/0.955 as many pairs, in the limit). Why
//! it holds for any noise: see the crate's page.
//!
//! Ties and zeros among the log ratios stay in, and the interval is closed, which errs on the safe side: at
//! least the stated confidence.
//!
//! Invariant: low <= ratio <= high.
//! Not here: the choice of the confidence, and the definition of a gain.

use std::fmt;

use serde::Serialize;

use crate::logarithm::exp;
use crate::words::counted;

/// An end of an interval closer to 1 than this counts as 1. It is far below what any run can resolve, hides
/// the rounding of logarithms, and is as fine as a printed ratio shows.
pub const RESOLUTION: f64 = 1e-5;

/// A ratio with its interval. Ratios are candidate / reference: below 1 the candidate needs less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The point estimate.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The requested confidence, as 0.95; the interval has at least this.
    pub confidence: f64,
    /// The number of its pairs.
    pub pairs: usize,
}

/// No interval of this confidence exists for so few pairs: even if all agreed, chance could explain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TooFewPairs {
    /// Available pairs.
    pub have: usize,
    /// Pairs needed for the requested confidence.
    pub need: usize,
}

impl fmt::Display for TooFewPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} needed", counted(self.have, "pair"), self.need)
    }
}

impl std::error::Error for TooFewPairs {}

/// A difference with its interval, in the unit of what it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The point estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Span {
    /// The interval of the value behind `values`, one from each pair, which must be finite. `confidence` is between 0 and 1.
    ///
    /// # Errors
    /// If there are too few of them.
    pub fn of(values: &[f64], confidence: f64) -> Result<Span, TooFewPairs> {
        let pairs = values.len();
        let Some(depth) = depth(pairs, 1.0 - confidence) else {
            return Err(TooFewPairs { have: pairs, need: pairs_needed(confidence) });
        };
        let averages = walsh_averages(values);
        let last = averages.len() - 1;
        Ok(Span { value: middle(&averages), low: averages[depth], high: averages[last - depth] })
    }
}

/// The point estimate of values, as an interval has it, however few they are. None: there are none.
#[must_use]
pub fn estimate(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| middle(&walsh_averages(values)))
}

/// The middle of sorted values, or of the two in the middle their mean.
fn middle(sorted: &[f64]) -> f64 {
    let last = sorted.len() - 1;
    (sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0
}

/// An interval that decides nothing and begins below this does not say that there is no gain: it may be a tenth or more.
pub const TOO_NOISY_BELOW: f64 = 0.90;

impl Interval {
    /// The interval of the ratio behind `log_ratios`, which must be finite. `confidence` is between 0 and
    /// 1.
    pub fn of(log_ratios: &[f64], confidence: f64) -> Result<Interval, TooFewPairs> {
        let Span { value, low, high } = Span::of(log_ratios, confidence)?;
        Ok(Interval {
            ratio: exp(value),
            low: exp(low),
            high: exp(high),
            confidence,
            pairs: log_ratios.len(),
        })
    }

    /// It begins so low that, if it decides nothing, it does not say that there is no gain.
    pub fn is_too_noisy(&self) -> bool {
        // Whole figures often give exactly this ratio; the last digit of a logarithm must not decide.
        self.low < TOO_NOISY_BELOW - 1e-9
    }

    /// The whole interval is below 1.
    pub fn is_below_one(&self) -> bool {
        self.high < 1.0 - RESOLUTION
    }

    /// The whole interval is above 1.
    pub fn is_above_one(&self) -> bool {
        self.low > 1.0 + RESOLUTION
    }
}

/// `0.912 [0.894, 0.931]`; an end that is not 1 is never printed as 1.000.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, {}]", shown(self.ratio), shown(self.low), shown(self.high))
    }
}

/// The fewest pairs for which an interval of `confidence` exists: 2 / 2^n <= 1 - confidence.
pub fn pairs_needed(confidence: f64) -> usize {
    let mut chance = 1.0;
    let mut pairs = 1;
    while chance > 1.0 - confidence && pairs < 1_000 {
        pairs += 1;
        chance /= 2.0;
    }
    pairs
}

/// A ratio in three decimals, more where three would hide that it is not 1, fewer where it is large.
fn shown(ratio: f64) -> String {
    let decimals = match ratio {
        r if r >= 1000.0 => 0,
        r if r >= 10.0 => 1,
        _ => 3,
    };
    let short = format!("{ratio:.decimals$}");
    if short != "1.000" || (ratio - 1.0).abs() <= RESOLUTION {
        return short;
    }
    let four = format!("{ratio:.4}");
    if four == "1.0000" { format!("{ratio:.5}") } else { four }
}

/// All averages of two log ratios, each with itself included, sorted.
fn walsh_averages(log_ratios: &[f64]) -> Vec<f64> {
    let mut averages: Vec<f64> = log_ratios
        .iter()
        .enumerate()
        .flat_map(|(i, x)| log_ratios[i..].iter().map(move |y| (x + y) / 2.0))
        .collect();
    averages.sort_by(f64::total_cmp);
    averages
}

/// The largest c with 2 P(W <= c) <= alpha, W the signed-rank statistic of n pairs under a true ratio of 1.
///
/// The distribution is exact: W is the sum of those of 1..=n whose coin fell heads.
fn depth(pairs: usize, alpha: f64) -> Option<usize> {
    let mut chance = vec![0.0; pairs * (pairs + 1) / 2 + 1];
    chance[0] = 1.0;
    for rank in 1..=pairs {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let heads = if sum >= rank { chance[sum - rank] } else { 0.0 };
            chance[sum] = (chance[sum] + heads) / 2.0;
        }
    }
    let mut tail = 0.0;
    let within = chance.iter().take_while(|&p| {
        tail += 2.0 * p;
        tail <= alpha
    });
    within.count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_those_of_the_published_tables() {
        // Critical values of the two-sided signed-rank test at 5 %, as every table since Wilcoxon's has them.
        let at_5_percent = [(5, None), (6, Some(0)), (7, Some(2)), (8, Some(3)), (9, Some(5)), (10, Some(8))];
        for (pairs, expected) in at_5_percent {
            assert_eq!(depth(pairs, 0.05), expected, "{pairs} pairs");
        }
        for (pairs, expected) in [(12, 13), (15, 25), (20, 52), (25, 89), (30, 137)] {
            assert_eq!(depth(pairs, 0.05), Some(expected), "{pairs} pairs");
        }
        // And at 1 %.
        for (pairs, expected) in [(8, 0), (10, 3), (15, 15), (20, 37)] {
            assert_eq!(depth(pairs, 0.01), Some(expected), "{pairs} pairs");
        }
    }

    #[test]
    fn too_few_pairs_have_no_interval() {
        for have in 0..6 {
            let none = Interval::of(&vec![-0.5; have], 0.95);
            assert_eq!(none, Err(TooFewPairs { have, need: 6 }));
        }
        assert_eq!(Interval::of(&[-0.5; 6], 1.0 - 0.05 / 3.0), Err(TooFewPairs { have: 6, need: 7 }));
        assert!(Interval::of(&[-0.5; 7], 1.0 - 0.05 / 3.0).is_ok());
    }

    #[test]
    fn differences_have_the_same_interval_and_few_have_an_estimate() {
        let span = Span::of(&[4.0, 5.0, 6.0, 7.0, 8.0, 90.0], 0.95).expect("six pairs are enough");
        assert_eq!((span.low, span.value, span.high), (4.0, 6.5, 90.0));
        assert_eq!(estimate(&[1.0, 2.0]), Some(1.5));
        assert_eq!((estimate(&[]), Span::of(&[1.0; 5], 0.95)), (None, Err(TooFewPairs { have: 5, need: 6 })));
    }

    #[test]
    fn six_pairs_span_from_the_smallest_to_the_largest() {
        let logs = [-0.05, -0.01, -0.03, -0.02, -0.06, -0.04];
        let interval = Interval::of(&logs, 0.95).expect("six pairs are enough");
        assert_eq!((interval.low, interval.high), (exp(-0.06), exp(-0.01)));
        assert!((interval.ratio - (-0.035_f64).exp()).abs() < 1e-12);
    }

    #[test]
    fn a_worked_example() {
        // d = 1..10 (in hundredths): 55 averages, depth 8, so the 9th from each end. Averages from below:
        // 1, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3: the 9th is 3, and by symmetry 8.
        let logs: Vec<f64> = (1..=10).map(|i| f64::from(i) / 100.0).collect();
        let interval = Interval::of(&logs, 0.95).expect("ten pairs are enough");
        assert!((interval.low.ln() - 0.03).abs() < 1e-12, "{interval:?}");
        assert!((interval.high.ln() - 0.08).abs() < 1e-12, "{interval:?}");
        assert!((interval.ratio.ln() - 0.055).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn constant_and_tied_data_are_no_special_case() {
        let same = Interval::of(&[0.0; 15], 0.95).expect("15 pairs are enough");
        assert_eq!((same.ratio, same.low, same.high), (1.0, 1.0, 1.0));
        assert!(!same.is_below_one() && !same.is_above_one());
        let less = Interval::of(&[-0.1; 15], 0.95).expect("15 pairs are enough");
        assert!(less.is_below_one() && less.low == less.high);
        let mut mostly_same = [0.0; 15];
        mostly_same[..4].fill(-0.2);
        assert!(!Interval::of(&mostly_same, 0.95).expect("15 pairs are enough").is_below_one());
    }

    #[test]
    fn one_wild_run_moves_an_end_by_its_rank_not_by_its_size() {
        let mut logs: Vec<f64> = (0..15).map(|i| -0.05 + f64::from(i - 7) / 500.0).collect();
        logs[14] = 0.5;
        let wild = Interval::of(&logs, 0.95).expect("15 pairs are enough");
        logs[14] = 50.0;
        let wilder = Interval::of(&logs, 0.95).expect("15 pairs are enough");
        assert_eq!(wild, wilder);
        assert!(wild.is_below_one());
    }

    #[test]
    fn printed_ends_never_hide_on_which_side_they_lie() {
        let text = |ratio, low, high| Interval { ratio, low, high, confidence: 0.95, pairs: 15 }.to_string();
        assert_eq!(text(0.912, 0.894, 0.931), "0.912 [0.894, 0.931]");
        assert_eq!(text(0.98, 0.96, 0.9998), "0.980 [0.960, 0.9998]");
        assert_eq!(text(0.98, 0.96, 0.99997), "0.980 [0.960, 0.99997]");
        assert_eq!(text(1.0, 1.0, 1.0), "1.000 [1.000, 1.000]");
        assert_eq!(text(12.34, 0.0005, 1234.5), "12.3 [0.001, 1234]");
    }
}
