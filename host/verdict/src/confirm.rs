//! Confirmation: the set that won is run again, and judged on the fresh runs alone.
//!
//! Of several sets tried, the winner owes part of its lead to luck; among many candidates, one will exceed
//! 95 % by chance. Fresh runs owe nothing to that luck, so their ratio is the one to
//! quote. The two books are never pooled.
//!
//! ```text
//! first runs, any number of sets -> the best set, Kept
//!   -> plan.fresh() -> fresh runs -> Kept again:    Confirmed
//!                                 -> anything else: NotConfirmed
//! ```
//!
//! Not here: the search for candidates.

use std::fmt;

use serde::Serialize;

use crate::sample::Runs;
use crate::verdict::{TuneOutcome, TuneVerdict};

/// Whether a kept set was kept again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// Kept on fresh runs too: the options are written.
    Confirmed,
    /// Not kept on fresh runs: tried, no gain.
    NotConfirmed,
    /// Not kept by the fresh runs before an interruption: no result.
    Interrupted,
}

/// The reason why there is nothing to confirm. Both are faults of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfirmError {
    /// The first verdict kept nothing.
    NothingKept,
    /// The fresh runs have the seed of the first: they are the same runs, or were planned by the same seed.
    /// [`crate::plan::Plan::fresh`] gives a plan of its own.
    NotFresh,
}

impl fmt::Display for ConfirmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfirmError::NothingKept => "nothing was kept, so there is nothing to confirm",
            ConfirmError::NotFresh => "the runs to confirm with have the seed of the first runs",
        })
    }
}

impl std::error::Error for ConfirmError {}

/// Both verdicts and their result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfirmedVerdict {
    /// The result.
    pub confirmation: Confirmation,
    /// The verdict that chose the set.
    pub first: TuneVerdict,
    /// The verdict on the fresh runs: the one to quote.
    pub fresh: TuneVerdict,
}

impl ConfirmedVerdict {
    /// Judges the set that `first` kept by `fresh` runs, with the same question and the same rule.
    pub fn of(first: TuneVerdict, fresh: Runs) -> Result<ConfirmedVerdict, ConfirmError> {
        if first.outcome != TuneOutcome::Kept {
            return Err(ConfirmError::NothingKept);
        }
        if fresh.plan().seed() == first.runs.plan().seed() {
            return Err(ConfirmError::NotFresh);
        }
        let fresh = TuneVerdict::of(fresh, first.question.clone());
        let confirmation = match fresh.outcome {
            TuneOutcome::Kept => Confirmation::Confirmed,
            _ if fresh.runs.rounds().len() < fresh.runs.plan().orders().len() => Confirmation::Interrupted,
            _ => Confirmation::NotConfirmed,
        };
        Ok(ConfirmedVerdict { confirmation, first, fresh })
    }
}

/// `confirmed on fresh runs: tuned: CPU 0.912 [0.894, 0.931] of plain, 15 pairs: kept; ...`
impl fmt::Display for ConfirmedVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.confirmation {
            Confirmation::Confirmed => write!(f, "confirmed on fresh runs: {}", self.fresh),
            Confirmation::NotConfirmed => write!(f, "tried, no gain on fresh runs: {}", self.fresh),
            Confirmation::Interrupted => write!(f, "interrupted before it was confirmed: {}", self.fresh),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Question;
    use crate::plan::{Arm, Plan};
    use crate::sample::Measure;
    use crate::sample::tests::{filled, sample};

    fn runs(plan: Plan, tuned_cpu_ns: u64) -> Runs {
        filled(plan, |round, arm| {
            sample(if arm == Arm::TUNED { tuned_cpu_ns } else { 1_000_000 } + round as u64 % 3)
        })
    }

    fn first(tuned_cpu_ns: u64) -> TuneVerdict {
        let plan = Plan::new(&[Arm::PLAIN, Arm::DEFAULT, Arm::TUNED], 15, 21).expect("a good plan");
        TuneVerdict::of(runs(plan, tuned_cpu_ns), Question::about(Measure::Cpu))
    }

    #[test]
    fn a_gain_that_comes_back_is_confirmed() {
        let first = first(900_000);
        let fresh = runs(first.runs.plan().fresh(), 920_000);
        let both = ConfirmedVerdict::of(first, fresh).expect("kept, and fresh");
        assert_eq!(both.confirmation, Confirmation::Confirmed);
        // The fresh figure is quoted, not the one that won.
        assert!(both.to_string().starts_with("confirmed on fresh runs: tuned: CPU 0.920"), "{both}");
    }

    #[test]
    fn a_gain_that_does_not_come_back_was_tried_without_gain() {
        let first = first(900_000);
        let fresh = runs(first.runs.plan().fresh(), 1_000_000);
        let both = ConfirmedVerdict::of(first, fresh).expect("kept, and fresh");
        assert_eq!(both.confirmation, Confirmation::NotConfirmed);
        assert!(both.to_string().starts_with("tried, no gain on fresh runs: tuned: CPU 1.000"), "{both}");
    }

    #[test]
    fn what_was_interrupted_is_not_called_luck() {
        let first = first(900_000);
        let mut few = Runs::new(first.runs.plan().fresh());
        few.record(&[sample(5); 3]).expect("the first round");
        let both = ConfirmedVerdict::of(first, few).expect("kept, and fresh");
        assert_eq!(both.confirmation, Confirmation::Interrupted);
        assert!(
            both.to_string().starts_with("interrupted before it was confirmed: tuned: CPU against plain"),
            "{both}"
        );
    }

    #[test]
    fn only_what_was_kept_is_confirmed_and_only_by_fresh_runs() {
        let kept = first(900_000);
        let stale = kept.runs.clone();
        assert_eq!(ConfirmedVerdict::of(kept, stale), Err(ConfirmError::NotFresh));
        let not_kept = first(1_000_000);
        let fresh = runs(not_kept.runs.plan().fresh(), 900_000);
        assert_eq!(ConfirmedVerdict::of(not_kept, fresh), Err(ConfirmError::NothingKept));
    }
}
