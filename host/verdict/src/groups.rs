//! The interval of a shift between two groups of runs that are not paired: all runs of one build, all runs of another.
//!
//! The estimate is the median of all differences of a run of one group and a run of the other (Hodges and Lehmann 1963); the
//! interval is the span between two of them, counted from both ends, whose depth comes from the exact distribution of the
//! statistic of Mann and Whitney (1947), that of Wilcoxon's rank sums (1945).
//!
//! ```text
//! differences, sorted:   d1 d2 ... dc | d(c+1) ............ d(M-c) | ... dM      M = n * m
//!                                       low       value     high
//!
//! 2 P(U <= c) <= 1 - confidence, c as large as possible
//! ```
//!
//! It holds if the runs of both groups are exchangeable where the true shift is taken out: for any noise, and not for a machine
//! that was busier while one of the groups ran. Runs in turns avoid that, and then pairs ([`crate::interval`]) need no such
//! assumption, but six rounds; four runs in each group are enough here.
//!
//! Invariant: low <= value <= high. Ties stay in, and the interval is closed, which errs on the safe side.
//! Not here: pairs, and what the shift means.

use std::fmt;

use crate::interval::Span;
use crate::words::counted;

/// The most runs of a group: the distribution is computed exactly.
pub const MOST: usize = 100;

/// No interval of this confidence exists for so few runs: even if all of one group were above all of the other, chance could
/// explain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewRuns {
    /// Runs in the groups.
    pub have: [usize; 2],
    /// Runs that each group needs, if both have as many.
    pub need: usize,
}

impl fmt::Display for TooFewRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.have;
        write!(f, "{} and {b}; {} on each side are needed", counted(a, "run"), self.need)
    }
}

impl std::error::Error for TooFewRuns {}

/// The interval of what the values of `new` have more than those of `old`. Values are finite; `confidence` is between 0 and 1.
/// Of a group with more than [`MOST`] values the first are used.
///
/// # Errors
/// If there are too few of them.
pub fn shift(new: &[f64], old: &[f64], confidence: f64) -> Result<Span, TooFewRuns> {
    let (new, old) = (&new[..new.len().min(MOST)], &old[..old.len().min(MOST)]);
    let Some(depth) = depth(new.len(), old.len(), 1.0 - confidence) else {
        return Err(TooFewRuns { have: [old.len(), new.len()], need: runs_needed(confidence) });
    };
    let differences = differences(new, old);
    let last = differences.len() - 1;
    Ok(Span { value: middle(&differences), low: differences[depth], high: differences[last - depth] })
}

/// The point estimate of the shift, however few values there are. None: a group is empty.
#[must_use]
pub fn shift_estimate(new: &[f64], old: &[f64]) -> Option<f64> {
    let differences = differences(&new[..new.len().min(MOST)], &old[..old.len().min(MOST)]);
    (!differences.is_empty()).then(|| middle(&differences))
}

/// The fewest runs of each group for which an interval of this confidence exists.
#[must_use]
pub fn runs_needed(confidence: f64) -> usize {
    (1..MOST).find(|&runs| depth(runs, runs, 1.0 - confidence).is_some()).unwrap_or(MOST)
}

fn differences(new: &[f64], old: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = new.iter().flat_map(|new| old.iter().map(move |old| new - old)).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn middle(sorted: &[f64]) -> f64 {
    let last = sorted.len() - 1;
    (sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0
}

/// The largest c with 2 P(U <= c) <= alpha, U the statistic of groups of n and m under a true shift of 0.
fn depth(n: usize, m: usize, alpha: f64) -> Option<usize> {
    let mut tail = 0.0;
    let within = chances(n, m).into_iter().take_while(|chance| {
        tail += 2.0 * chance;
        tail <= alpha
    });
    within.count().checked_sub(1)
}

/// The distribution of U for groups of n and m: the largest of all values is of the first group with chance n/(n+m), and is then
/// above the m of the other.
fn chances(n: usize, m: usize) -> Vec<f64> {
    // For i values of the first group, and each number j of the second.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=m {
            let mut of = vec![0.0; i * j + 1];
            let (first, second) = (i as f64 / (i + j) as f64, j as f64 / (i + j) as f64);
            for (u, chance) in row[j].iter().enumerate() {
                of[u + j] += first * chance;
            }
            for (u, chance) in next[j - 1].iter().enumerate() {
                of[u] += second * chance;
            }
            next.push(of);
        }
        row = next;
    }
    row.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn depths_are_those_of_the_published_tables() {
        // Critical values of U, two-sided at 5 %, as the tables since Mann and Whitney have them.
        for (n, m, expected) in [
            (3, 3, None),
            (3, 4, None),
            (3, 5, Some(0)),
            (4, 4, Some(0)),
            (4, 5, Some(1)),
            (5, 5, Some(2)),
            (5, 8, Some(6)),
            (6, 6, Some(5)),
            (7, 7, Some(8)),
            (8, 8, Some(13)),
            (10, 10, Some(23)),
            (15, 15, Some(64)),
            (20, 20, Some(127)),
        ] {
            assert_eq!(depth(n, m, 0.05), expected, "{n} and {m}");
            assert_eq!(depth(m, n, 0.05), expected, "{m} and {n}");
        }
        assert_eq!((runs_needed(0.95), runs_needed(0.99), runs_needed(1.0 - 0.05 / 3.0)), (4, 5, 5));
    }

    #[test]
    fn few_runs_have_an_estimate_and_no_interval() {
        let few = shift(&[5.0, 6.0, 7.0], &[1.0, 2.0, 3.0], 0.95);
        assert_eq!(few, Err(TooFewRuns { have: [3, 3], need: 4 }));
        assert_eq!(
            few.map_err(|few| few.to_string()),
            Err("3 runs and 3; 4 on each side are needed".to_owned())
        );
        assert_eq!(shift_estimate(&[5.0, 6.0, 7.0], &[1.0, 2.0, 3.0]), Some(4.0));
        assert_eq!((shift_estimate(&[], &[1.0]), shift(&[], &[], 0.95).is_err()), (None, true));
    }

    #[test]
    fn a_worked_example() {
        // Four and four: depth 0, so the interval is all sixteen differences.
        let span = shift(&[10.0, 11.0, 12.0, 40.0], &[1.0, 2.0, 3.0, 4.0], 0.95).expect("enough");
        assert_eq!((span.low, span.value, span.high), (6.0, 9.0, 39.0));
        // Five and five: depth 2, and each difference occurs five times.
        let span = shift(&[10.0; 5], &[1.0, 2.0, 3.0, 4.0, -90.0], 0.95).expect("enough");
        assert_eq!((span.low, span.value, span.high), (6.0, 8.0, 100.0));
        let six = shift(&[10.0; 6], &[1.0, 2.0, 3.0, 4.0, 5.0, -90.0], 0.95).expect("enough");
        assert_eq!((six.low, six.high), (5.0, 100.0));
    }

    /// 95 % of intervals hold the true shift, and no less, for noise with heavy outliers.
    #[test]
    fn the_interval_holds_as_often_as_it_says() {
        let mut random = Random::new(7);
        let mut value = |shift: f64| {
            let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            shift + if uniform < 0.1 { uniform * 1_000.0 } else { uniform }
        };
        let mut held = 0;
        for _ in 0..2_000 {
            let old: Vec<f64> = (0..6).map(|_| value(0.0)).collect();
            let new: Vec<f64> = (0..7).map(|_| value(3.0)).collect();
            let span = shift(&new, &old, 0.95).expect("enough");
            held += u32::from(span.low <= 3.0 && 3.0 <= span.high);
        }
        // Two standard deviations of the count of 2,000 are 20.
        assert!(held >= 1_880, "{held} of 2,000");
    }
}
