//! Pairs: two runs of one round, one of each arm, that both ended well.
//!
//! The machine of one round is not the machine of another: the pair divides out what both runs of a round
//! shared. A failed run has no partner. Its round is dropped for the pairs concerned, and counted.
//!
//! Invariant: |pairs| + dropped == rounds.
//! Not here: the meaning of the ratios.

use serde::Serialize;

use crate::logarithm::ln;
use crate::plan::Arm;
use crate::sample::{Measure, Runs};

/// The two figures of one round, raw, so that a reader can recompute everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The round in the plan, from 0.
    pub round: usize,
    /// The figure of the arm on trial.
    pub candidate: u64,
    /// The figure of the arm it is compared with.
    pub reference: u64,
}

impl Pair {
    /// ln(candidate / reference): negative is a gain. Two zeros are equal; with one zero there is no ratio.
    pub fn log_ratio(&self) -> Option<f64> {
        match (self.candidate, self.reference) {
            (0, 0) => Some(0.0),
            (0, _) | (_, 0) => None,
            // A difference of logarithms, not a logarithm of the quotient: it changes sign exactly when the
            // arms swap.
            (candidate, reference) => Some(ln(candidate as f64) - ln(reference as f64)),
        }
    }
}

/// Rounds that gave no pair, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Rounds in which the candidate failed.
    pub candidate_failed: usize,
    /// Rounds in which the reference failed (those in which both did are counted in both).
    pub reference_failed: usize,
    /// Rounds that were interrupted before both had run.
    pub unfinished: usize,
    /// Rounds dropped for any of these reasons, each counted once.
    pub rounds: usize,
}

/// Counts the rounds of `runs` that give no pair of `candidate` and `reference`.
pub fn dropped(runs: &Runs, candidate: Arm, reference: Arm) -> Dropped {
    let mut dropped = Dropped::default();
    for round in runs.rounds() {
        let ended_well = |arm| round.iter().find(|run| run.arm == arm).map(|run| run.sample.ended_well);
        let (c, r) = (ended_well(candidate), ended_well(reference));
        dropped.candidate_failed += usize::from(c == Some(false));
        dropped.reference_failed += usize::from(r == Some(false));
        dropped.unfinished += usize::from(c.is_none() || r.is_none());
        dropped.rounds += usize::from((c, r) != (Some(true), Some(true)));
    }
    dropped
}

/// The pairs of `candidate` and `reference` in `runs`.
pub fn pairs(runs: &Runs, measure: Measure, candidate: Arm, reference: Arm) -> Vec<Pair> {
    let figure = |round: &[crate::sample::Run], arm| {
        round.iter().find(|run| run.arm == arm && run.sample.ended_well).map(|run| run.sample.of(measure))
    };
    runs.rounds()
        .iter()
        .enumerate()
        .filter_map(|(round, of_round)| {
            Some(Pair {
                round,
                candidate: figure(of_round, candidate)?,
                reference: figure(of_round, reference)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::sample::tests::{filled, sample};
    use crate::sample::{Run, Sample};

    #[test]
    fn a_failed_run_enters_no_pair_and_is_counted() {
        let plan = Plan::new(&[Arm::PLAIN, Arm::DEFAULT, Arm::TUNED], 10, 3).expect("a good plan");
        let runs = filled(plan, |round, arm| {
            let failed = (arm == Arm::TUNED && round < 3) || (arm == Arm::PLAIN && round == 2);
            // A failed run's figures are absurd on purpose: any use of them would show.
            Sample { ended_well: !failed, ..sample(if failed { 1 } else { 1_000 }) }
        });
        let of_tuned = pairs(&runs, Measure::Cpu, Arm::TUNED, Arm::PLAIN);
        assert_eq!(of_tuned.len(), 7);
        assert!(of_tuned.iter().all(|p| p.candidate == 1_000 && p.reference == 1_000 && p.round >= 3));
        assert_eq!(
            dropped(&runs, Arm::TUNED, Arm::PLAIN),
            Dropped { candidate_failed: 3, reference_failed: 1, unfinished: 0, rounds: 3 }
        );
        // The pairs that the failure does not concern keep their rounds.
        assert_eq!(pairs(&runs, Measure::Cpu, Arm::DEFAULT, Arm::PLAIN).len(), 9);
    }

    #[test]
    fn an_interrupted_round_gives_the_pairs_it_has() {
        let plan = Plan::new(&[Arm::PLAIN, Arm::DEFAULT, Arm::TUNED], 2, 3).expect("a good plan");
        let mut runs = Runs::new(plan);
        runs.record(&[sample(1); 3]).expect("a whole round");
        runs.record(&[sample(1); 2]).expect("a short round");
        let second: Vec<Arm> = runs.rounds()[1].iter().map(|run: &Run| run.arm).collect();
        let third = runs.plan().orders()[1][2];
        assert_eq!(pairs(&runs, Measure::Cpu, second[0], second[1]).len(), 2);
        assert_eq!(pairs(&runs, Measure::Cpu, second[0], third).len(), 1);
        assert_eq!(dropped(&runs, third, second[0]).unfinished, 1);
    }

    #[test]
    fn zeros_are_equal_to_zeros_and_to_nothing_else() {
        let pair = |candidate, reference| Pair { round: 0, candidate, reference }.log_ratio();
        assert_eq!(pair(0, 0), Some(0.0));
        assert_eq!(pair(0, 5), None);
        assert_eq!(pair(5, 0), None);
        assert_eq!(pair(7, 5), pair(5, 7).map(|log| -log));
    }
}
