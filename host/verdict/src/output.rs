//! Whether two arms gave the same output, judged from the fingerprints of their runs.
//!
//! Only a program with repeatable output can be checked: if the reference alone gives different outputs (a time
//! stamp, an address, a random order), a difference between the arms means nothing.
//!
//! Not here: the contents of a fingerprint; that is the caller's choice (output, exit status, checked files).

use std::fmt;

use serde::Serialize;

use crate::plan::Arm;
use crate::sample::Runs;
use crate::words::counted;

/// The result of comparing the fingerprints of the runs that ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCheck {
    /// All runs of both arms gave the same output.
    Equal {
        /// Runs that agree.
        runs: usize,
    },
    /// All runs of the reference agree, and this many of the candidate's do not agree with them.
    Differs {
        /// Runs of the candidate with another output.
        runs: usize,
    },
    /// Two equal runs of the reference differ: no check is possible.
    NotRepeatable,
    /// No fingerprints, or fewer than two of the reference or none of the candidate.
    NotChecked,
}

impl OutputCheck {
    /// Compares the outputs of `candidate` with those of `reference`.
    pub fn of(runs: &Runs, candidate: Arm, reference: Arm) -> OutputCheck {
        let prints =
            |arm| runs.of(arm).filter(|s| s.ended_well).map(|s| s.output).collect::<Option<Vec<u64>>>();
        let (Some(candidate), Some(reference)) = (prints(candidate), prints(reference)) else {
            return OutputCheck::NotChecked;
        };
        let [first, second, others @ ..] = reference.as_slice() else {
            return OutputCheck::NotChecked;
        };
        if candidate.is_empty() {
            return OutputCheck::NotChecked;
        }
        if second != first || others.iter().any(|other| other != first) {
            return OutputCheck::NotRepeatable;
        }
        match candidate.iter().filter(|&print| print != first).count() {
            0 => OutputCheck::Equal { runs: candidate.len() + reference.len() },
            runs => OutputCheck::Differs { runs },
        }
    }
}

impl fmt::Display for OutputCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutputCheck::Equal { runs } => write!(f, "equal in {}", counted(*runs, "run")),
            OutputCheck::Differs { runs } => write!(f, "differs in {}", counted(*runs, "run")),
            OutputCheck::NotRepeatable => f.write_str("not repeatable"),
            OutputCheck::NotChecked => f.write_str("not checked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::sample::Sample;
    use crate::sample::tests::{filled, sample};

    fn check(print: impl Fn(usize, Arm) -> (bool, Option<u64>)) -> OutputCheck {
        let plan = Plan::new(&[Arm::A, Arm::B], 6, 2).expect("a good plan");
        let runs = filled(plan, |round, arm| {
            let (ended_well, output) = print(round, arm);
            Sample { ended_well, output, ..sample(1) }
        });
        OutputCheck::of(&runs, Arm::B, Arm::A)
    }

    #[test]
    fn equal_differing_and_unrepeatable_outputs_are_told_apart() {
        assert_eq!(check(|_, _| (true, Some(4))), OutputCheck::Equal { runs: 12 });
        assert_eq!(check(|_, arm| (true, Some(u64::from(arm == Arm::B)))), OutputCheck::Differs { runs: 6 });
        assert_eq!(check(|round, _| (true, Some(round as u64))), OutputCheck::NotRepeatable);
        assert_eq!(check(|_, arm| (true, (arm == Arm::A).then_some(1))), OutputCheck::NotChecked);
    }

    #[test]
    fn the_output_of_a_failed_run_is_not_looked_at() {
        assert_eq!(
            check(|round, _| (round > 0, Some(u64::from(round > 0)))),
            OutputCheck::Equal { runs: 10 }
        );
        assert_eq!(check(|round, arm| (arm == Arm::B || round == 0, Some(1))), OutputCheck::NotChecked);
    }
}
