//! Two arms: was the candidate better than the reference?
//!
//! ```text
//! do the outputs differ?       -> OutputDiffers     an arm that changes results is never kept, however fast
//! did the candidate fail more? -> Fails
//! too few pairs?               -> NotEnoughRuns
//! zeros on one side?           -> NoRatio
//! interval of the primary:  below 1, gain >= 1 % -> Better;  above 1, loss >= 1 % -> Worse;  else
//!   its low end below 0.90 -> TooNoisy;  else NoGain
//! ```
//!
//! One primary measure, named before the runs, decides, with a 95 % interval. The secondary ones decide
//! nothing; they show the cost of a gain. They are several, so each has the confidence 1 - 0.05/m
//! (Bonferroni): all m intervals hold together with 95 %. Holm's procedure would find slightly more, but its
//! decisions have no interval that could be printed next to them.
//!
//! Not here: three arms ([`crate::verdict`]), and layout ([`crate::render`]).

use std::fmt;

use serde::Serialize;

use crate::interval::{Interval, TooFewPairs};
use crate::output::OutputCheck;
use crate::pairs::{Dropped, Pair, dropped, pairs};
use crate::plan::Arm;
use crate::sample::{Measure, Runs};
use crate::words::counted;

/// Confidence of the primary measure, and of all secondary ones together.
pub const CONFIDENCE: f64 = 0.95;

/// The smallest effect that counts: the point estimate is at most this (or its inverse, on the bad side).
pub const LARGEST_RATIO_KEPT: f64 = 0.99;

/// The question: fixed before the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    primary: Measure,
    secondary: Vec<Measure>,
}

impl Question {
    /// `primary` decides, all other measures are secondary.
    pub fn about(primary: Measure) -> Question {
        Question::with(primary, &Measure::ALL)
    }

    /// `primary` decides; of `secondary`, each counts once, and the primary is left out.
    pub fn with(primary: Measure, secondary: &[Measure]) -> Question {
        let listed = Measure::ALL.into_iter().filter(|m| *m != primary && secondary.contains(m));
        Question { primary, secondary: listed.collect() }
    }

    /// The measure that decides.
    pub fn primary(&self) -> Measure {
        self.primary
    }

    /// The measures that are reported in addition.
    pub fn secondary(&self) -> &[Measure] {
        &self.secondary
    }
}

/// The result of one measure for two arms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The interval is below 1 and the gain is at least 1 %.
    Better(Interval),
    /// The interval is above 1 and the loss is at least 1 %.
    Worse(Interval),
    /// Neither: no difference shown, or one below 1 %.
    Neither(Interval),
    /// No interval: too few pairs.
    TooFew(TooFewPairs),
    /// No interval: this many pairs have a zero on one side only.
    NoRatio {
        /// Pairs with exactly one zero.
        pairs: usize,
    },
}

impl Finding {
    pub(crate) fn of(pairs: &[Pair], confidence: f64) -> Finding {
        let logs: Vec<f64> = pairs.iter().filter_map(Pair::log_ratio).collect();
        if logs.len() < pairs.len() {
            // To leave those pairs out would leave out the largest effects.
            return Finding::NoRatio { pairs: pairs.len() - logs.len() };
        }
        match Interval::of(&logs, confidence) {
            Err(too_few) => Finding::TooFew(too_few),
            Ok(i) if i.is_below_one() && i.ratio <= LARGEST_RATIO_KEPT => Finding::Better(i),
            Ok(i) if i.is_above_one() && i.ratio >= 1.0 / LARGEST_RATIO_KEPT => Finding::Worse(i),
            Ok(i) => Finding::Neither(i),
        }
    }

    /// The interval, if there is one.
    pub fn interval(&self) -> Option<&Interval> {
        match self {
            Finding::Better(i) | Finding::Worse(i) | Finding::Neither(i) => Some(i),
            Finding::TooFew(_) | Finding::NoRatio { .. } => None,
        }
    }
}

/// One measure and its result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The measure.
    pub measure: Measure,
    /// Pairs that both ended well.
    pub pairs: usize,
    /// Their result.
    pub finding: Finding,
}

impl Estimate {
    fn of(runs: &Runs, measure: Measure, candidate: Arm, reference: Arm, confidence: f64) -> Estimate {
        let pairs = pairs(runs, measure, candidate, reference);
        Estimate { measure, pairs: pairs.len(), finding: Finding::of(&pairs, confidence) }
    }
}

/// The decision about a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Better on the primary measure, beyond chance and by at least 1 %.
    Better,
    /// No gain shown, or one below 1 %.
    NoGain,
    /// No gain shown, but the runs differ so much that there may be a gain of a tenth or more.
    TooNoisy,
    /// Worse on the primary measure, beyond chance and by at least 1 %.
    Worse,
    /// Too few pairs for an interval.
    NotEnoughRuns(TooFewPairs),
    /// The primary measure was zero on one side of this many pairs: too small to measure.
    NoRatio {
        /// Pairs with exactly one zero.
        pairs: usize,
    },
    /// The reference gave the same output every time, the candidate another one in this many runs.
    OutputDiffers {
        /// Runs of the candidate with another output.
        runs: usize,
    },
    /// The candidate failed more often than the reference.
    Fails {
        /// Failed runs of the candidate.
        candidate: usize,
        /// Failed runs of the reference.
        reference: usize,
    },
}

/// A candidate held against a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The arm on trial.
    pub candidate: Arm,
    /// The arm it is compared with.
    pub reference: Arm,
    /// Rounds of the plan.
    pub planned: usize,
    /// Completed rounds without a pair.
    pub dropped: Dropped,
    /// Whether the outputs agree.
    pub output: OutputCheck,
    /// The measure that decides.
    pub primary: Estimate,
    /// The other measures.
    pub secondary: Vec<Estimate>,
    /// The decision.
    pub outcome: Outcome,
}

impl Comparison {
    /// Decides about `candidate` against `reference` from the runs so far.
    pub fn of(runs: &Runs, candidate: Arm, reference: Arm, question: &Question) -> Comparison {
        Comparison::with_behaviour_of(runs, candidate, reference, reference, question)
    }

    /// Like [`Comparison::of`], with the candidate's output and failures also compared with those of a third arm. If all
    /// runs of two arms print the addresses of a heap that is laid out alike in every run, only the plain arm shows that
    /// this output is not repeatable; and options are not the cause if a program fails now and then by itself.
    pub fn with_behaviour_of(
        runs: &Runs,
        candidate: Arm,
        reference: Arm,
        third: Arm,
        question: &Question,
    ) -> Comparison {
        let estimate = |measure, confidence| Estimate::of(runs, measure, candidate, reference, confidence);
        let primary = estimate(question.primary, CONFIDENCE);
        let corrected = 1.0 - (1.0 - CONFIDENCE) / question.secondary.len().max(1) as f64;
        let secondary = question.secondary.iter().map(|&measure| estimate(measure, corrected)).collect();
        let dropped = dropped(runs, candidate, reference);
        let output = OutputCheck::of(runs, candidate, third);
        let fail_by_themselves = runs.of(third).filter(|sample| !sample.ended_well).count();
        Comparison {
            candidate,
            reference,
            planned: runs.plan().orders().len(),
            dropped,
            output,
            primary,
            secondary,
            outcome: decide(&primary, &dropped, fail_by_themselves, output),
        }
    }

    /// All measures, the primary first.
    pub fn estimates(&self) -> impl Iterator<Item = &Estimate> {
        std::iter::once(&self.primary).chain(&self.secondary)
    }

    /// The secondary measures that got worse beyond their corrected interval.
    pub fn costs(&self) -> impl Iterator<Item = (Measure, &Interval)> {
        self.secondary.iter().filter_map(|e| match &e.finding {
            Finding::Worse(interval) => Some((e.measure, interval)),
            _ => None,
        })
    }
}

/// The table at the top of this file.
fn decide(primary: &Estimate, dropped: &Dropped, fail_by_themselves: usize, output: OutputCheck) -> Outcome {
    if let OutputCheck::Differs { runs } = output {
        return Outcome::OutputDiffers { runs };
    }
    if dropped.candidate_failed > dropped.reference_failed.max(fail_by_themselves) {
        return Outcome::Fails { candidate: dropped.candidate_failed, reference: dropped.reference_failed };
    }
    match primary.finding {
        Finding::Better(_) => Outcome::Better,
        Finding::Worse(_) => Outcome::Worse,
        Finding::Neither(interval) if interval.is_too_noisy() => Outcome::TooNoisy,
        Finding::Neither(_) => Outcome::NoGain,
        Finding::TooFew(too_few) => Outcome::NotEnoughRuns(too_few),
        Finding::NoRatio { pairs } => Outcome::NoRatio { pairs },
    }
}

/// `CPU 0.912 [0.894, 0.931] of plain, 15 pairs: kept, but peak RSS +12.0 % [+8.0, +16.1]`
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Estimate { measure, pairs, finding } = &self.primary;
        let of_pairs = counted(*pairs, "pair");
        match finding.interval() {
            Some(interval) => write!(f, "{measure} {interval} of {}, {of_pairs}", self.reference)?,
            None => write!(f, "{measure} against {}, {of_pairs}", self.reference)?,
        }
        if *pairs < self.planned {
            write!(f, " of {}", counted(self.planned, "round"))?;
        }
        // Only tune keeps an arm.
        let (kept, not_kept) =
            if self.candidate == Arm::TUNED { ("kept", "not kept, ") } else { ("better", "") };
        f.write_str(": ")?;
        match &self.outcome {
            Outcome::Better => f.write_str(kept)?,
            Outcome::NoGain if finding.interval().is_some_and(Interval::is_below_one) => {
                f.write_str("no gain, less than 1 %")?;
            }
            Outcome::NoGain => f.write_str("no gain")?,
            Outcome::TooNoisy => f.write_str("too noisy to tell")?,
            Outcome::Worse => f.write_str("worse")?,
            Outcome::NotEnoughRuns(too_few) => {
                return write!(f, "no verdict, too few pairs ({} needed)", too_few.need);
            }
            Outcome::NoRatio { pairs } => {
                return write!(f, "no verdict, {measure} is zero on one side of {}", counted(*pairs, "pair"));
            }
            Outcome::OutputDiffers { runs } => {
                return write!(f, "{not_kept}output differs in {}", counted(*runs, "run"));
            }
            Outcome::Fails { candidate, reference } => {
                let failed = counted(*candidate, "run");
                return write!(f, "{not_kept}{failed} failed ({reference} of {})", self.reference);
            }
        }
        self.write_costs(f)?;
        let unjudged = |estimate: &Estimate| matches!(estimate.finding, Finding::TooFew(_));
        if self.outcome == Outcome::Better && self.secondary.iter().any(unjudged) {
            f.write_str("; too few pairs to judge the other measures")?;
        }
        Ok(())
    }
}

impl Comparison {
    /// `, but peak RSS +12.0 % [+8.0, +16.1]`: the measures that got worse.
    pub(crate) fn write_costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (measure, cost)) in self.costs().enumerate() {
            let word = match (i, self.outcome) {
                (0, Outcome::Better) => ", but",
                (0, _) => ", and",
                _ => ",",
            };
            let percent = |ratio: f64| (ratio - 1.0) * 100.0;
            write!(
                f,
                "{word} {measure} {:+.1} % [{:+.1}, {:+.1}]",
                percent(cost.ratio),
                percent(cost.low),
                percent(cost.high)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::sample::Sample;
    use crate::sample::tests::{filled, sample};

    /// Fifteen rounds of A and B; A's figures are near 1,000,000, B's as `change` makes them.
    fn compared(rounds: usize, change: impl Fn(usize, Sample) -> Sample) -> Comparison {
        let plan = Plan::new(&[Arm::A, Arm::B], rounds, 9).expect("a good plan");
        let runs = filled(plan, |round, arm| {
            let base = sample(1_000_000 + 1_000 * (round as u64 % 3));
            if arm == Arm::B { change(round, base) } else { base }
        });
        Comparison::of(&runs, Arm::B, Arm::A, &Question::about(Measure::Cpu))
    }

    fn percent(figure: u64, percent: u64) -> u64 {
        figure * percent / 100
    }

    #[test]
    fn a_gain_is_kept_and_the_sentence_says_how_large() {
        let c = compared(15, |i, s| Sample { cpu_ns: percent(s.cpu_ns, 90 + i as u64 % 3), ..s });
        assert_eq!(c.outcome, Outcome::Better);
        assert_eq!(c.to_string(), "CPU 0.910 [0.905, 0.915] of A, 15 pairs: better");
    }

    #[test]
    fn a_gain_below_one_percent_is_not_kept_though_it_is_certain() {
        let c = compared(15, |_, s| Sample { cpu_ns: s.cpu_ns * 992 / 1_000, ..s });
        assert_eq!(c.outcome, Outcome::NoGain);
        assert_eq!(c.to_string(), "CPU 0.992 [0.992, 0.992] of A, 15 pairs: no gain, less than 1 %");
    }

    #[test]
    fn a_loss_and_no_difference_are_told_apart() {
        assert_eq!(
            compared(15, |_, s| Sample { cpu_ns: percent(s.cpu_ns, 105), ..s }).outcome,
            Outcome::Worse
        );
        let same = compared(15, |_, s| s);
        assert_eq!(same.outcome, Outcome::NoGain);
        assert_eq!(same.to_string(), "CPU 1.000 [1.000, 1.000] of A, 15 pairs: no gain");
    }

    #[test]
    fn a_gain_that_costs_memory_says_so() {
        let c = compared(15, |i, s| Sample {
            cpu_ns: percent(s.cpu_ns, 90),
            peak_rss_bytes: percent(s.peak_rss_bytes, 110 + i as u64 % 5),
            ..s
        });
        assert_eq!(c.outcome, Outcome::Better);
        assert_eq!(
            c.to_string(),
            "CPU 0.900 [0.900, 0.900] of A, 15 pairs: better, but peak RSS +12.0 % [+11.0, +13.0]"
        );
    }

    #[test]
    fn secondary_measures_have_wider_intervals() {
        let c = compared(15, |_, s| s);
        let confidence = |e: &Estimate| e.finding.interval().map(|i| i.confidence);
        assert_eq!(confidence(&c.primary), Some(0.95));
        assert_eq!(c.secondary.len(), 3);
        assert!(c.secondary.iter().all(|e| confidence(e) == Some(1.0 - (1.0 - 0.95) / 3.0)));
    }

    #[test]
    fn five_pairs_are_no_verdict_even_if_all_agree() {
        let c = compared(5, |_, s| Sample { cpu_ns: percent(s.cpu_ns, 50), ..s });
        assert_eq!(c.outcome, Outcome::NotEnoughRuns(TooFewPairs { have: 5, need: 6 }));
        assert_eq!(c.to_string(), "CPU against A, 5 pairs: no verdict, too few pairs (6 needed)");
    }

    #[test]
    fn a_candidate_that_fails_is_not_kept_however_fast() {
        let c = compared(15, |i, s| Sample { cpu_ns: percent(s.cpu_ns, 50), ended_well: i > 1, ..s });
        assert_eq!(c.outcome, Outcome::Fails { candidate: 2, reference: 0 });
        assert_eq!(
            c.to_string(),
            "CPU 0.500 [0.500, 0.500] of A, 13 pairs of 15 rounds: 2 runs failed (0 of A)"
        );
    }

    #[test]
    fn a_candidate_with_another_output_is_not_kept_however_fast() {
        let c = compared(15, |i, s| Sample {
            cpu_ns: percent(s.cpu_ns, 50),
            output: Some(if i == 4 { 2 } else { 1 }),
            ..s
        });
        assert_eq!(c.outcome, Outcome::OutputDiffers { runs: 1 });
        assert!(c.to_string().ends_with("output differs in 1 run"), "{c}");
    }

    #[test]
    fn a_zero_on_one_side_has_no_ratio_and_zeros_on_both_are_equal() {
        let one_sided = compared(15, |_, s| Sample { cpu_ns: 0, ..s });
        assert_eq!(one_sided.outcome, Outcome::NoRatio { pairs: 15 });
        assert_eq!(
            one_sided.to_string(),
            "CPU against A, 15 pairs: no verdict, CPU is zero on one side of 15 pairs"
        );
        let plan = Plan::new(&[Arm::A, Arm::B], 15, 9).expect("a good plan");
        let runs = filled(plan, |_, _| Sample { faults: 0, ..sample(1_000) });
        let c = Comparison::of(&runs, Arm::B, Arm::A, &Question::about(Measure::Faults));
        assert_eq!(c.outcome, Outcome::NoGain);
    }

    #[test]
    fn the_primary_is_not_secondary_too() {
        let q = Question::with(Measure::Cpu, &[Measure::Cpu, Measure::Faults, Measure::Faults]);
        assert_eq!((q.primary(), q.secondary()), (Measure::Cpu, &[Measure::Faults][..]));
    }
}
