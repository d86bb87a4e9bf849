//! The measurements of one run, and the book of a plan's runs.
//!
//! ```text
//! Runs -+- Plan                      the intended runs
//!       +- round 1: Run Run Run      the actual runs, in order;
//!       +- round 2: Run Run          the last round may be short: the user interrupted
//! ```
//!
//! Invariant: round i runs the arms of the plan's order i, from the front; no run is in the book twice.
//! Not here: the measuring of a run, and the meaning of its figures.

use std::fmt;

use serde::Serialize;

use crate::plan::{Arm, Plan};

/// The measures. For all of them, less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// CPU time, user and system together: the cost of the program.
    Cpu,
    /// Time from start to end: the user's waiting time.
    Elapsed,
    /// The most memory that was resident at one time.
    PeakRss,
    /// Page faults, minor and major together.
    Faults,
}

impl Measure {
    /// All measures, in the order in which reports list them.
    pub const ALL: [Measure; 4] = [Measure::Cpu, Measure::Elapsed, Measure::PeakRss, Measure::Faults];

    /// The label that reports print.
    pub const fn label(self) -> &'static str {
        match self {
            Measure::Cpu => "CPU",
            Measure::Elapsed => "elapsed",
            Measure::PeakRss => "peak RSS",
            Measure::Faults => "faults",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The figures of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// User and system time, nanoseconds.
    pub cpu_ns: u64,
    /// From start to end, nanoseconds.
    pub elapsed_ns: u64,
    /// Largest resident set, bytes.
    pub peak_rss_bytes: u64,
    /// Minor and major page faults.
    pub faults: u64,
    /// Ended as it should: the expected exit status, no signal, within its time. The caller decides on the expected
    /// status. The figures of a failed run enter no statistic.
    pub ended_well: bool,
    /// A fingerprint of everything that must not change (output, checked files); `None` if it was not taken.
    pub output: Option<u64>,
}

impl Sample {
    /// The figure of `measure`, in its own unit.
    pub const fn of(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Cpu => self.cpu_ns,
            Measure::Elapsed => self.elapsed_ns,
            Measure::PeakRss => self.peak_rss_bytes,
            Measure::Faults => self.faults,
        }
    }
}

/// One run in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Which arm ran.
    pub arm: Arm,
    /// Its measurements.
    pub sample: Sample,
}

/// The reason why a round cannot be entered. Both are faults of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// All rounds of the plan are already in the book.
    PlanComplete,
    /// The round has more samples than the plan has arms.
    TooManySamples {
        /// Samples given.
        given: usize,
        /// Arms of the plan.
        arms: usize,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::PlanComplete => f.write_str("all planned rounds are recorded"),
            RecordError::TooManySamples { given, arms } => {
                write!(f, "{given} samples for a round of {arms} arms")
            }
        }
    }
}

impl std::error::Error for RecordError {}

/// A plan and the runs made by it so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Runs {
    plan: Plan,
    rounds: Vec<Vec<Run>>,
}

impl Runs {
    /// An empty book for `plan`.
    pub fn new(plan: Plan) -> Runs {
        Runs { plan, rounds: Vec::new() }
    }

    /// The order of the next round; `None` when the plan is complete.
    pub fn next_order(&self) -> Option<&[Arm]> {
        self.plan.orders().get(self.rounds.len()).map(Vec::as_slice)
    }

    /// Enters the next round: its samples in the order that [`Runs::next_order`] gave. An interrupted round
    /// has fewer.
    pub fn record(&mut self, samples: &[Sample]) -> Result<(), RecordError> {
        let order = self.next_order().ok_or(RecordError::PlanComplete)?;
        if samples.len() > order.len() {
            return Err(RecordError::TooManySamples { given: samples.len(), arms: order.len() });
        }
        let round = order.iter().zip(samples).map(|(&arm, &sample)| Run { arm, sample }).collect();
        self.rounds.push(round);
        Ok(())
    }

    /// The plan that the runs follow.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The rounds so far, each in the order of its runs.
    pub fn rounds(&self) -> &[Vec<Run>] {
        &self.rounds
    }

    /// All samples of one arm.
    pub fn of(&self, arm: Arm) -> impl Iterator<Item = &Sample> {
        self.rounds.iter().flatten().filter(move |run| run.arm == arm).map(|run| &run.sample)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run that ended well, all figures derived from one number.
    pub(crate) fn sample(cpu_ns: u64) -> Sample {
        Sample {
            cpu_ns,
            elapsed_ns: 2 * cpu_ns,
            peak_rss_bytes: 1 << 20,
            faults: 300,
            ended_well: true,
            output: Some(1),
        }
    }

    /// Every round of `plan`, each sample made by `make(round, arm)`.
    pub(crate) fn filled(plan: Plan, mut make: impl FnMut(usize, Arm) -> Sample) -> Runs {
        let mut runs = Runs::new(plan);
        while let Some(order) = runs.next_order() {
            let round = runs.rounds().len();
            let samples: Vec<Sample> = order.iter().map(|&arm| make(round, arm)).collect();
            runs.record(&samples).expect("the order asked for exactly these");
        }
        runs
    }

    #[test]
    fn samples_go_to_the_arms_of_the_order() {
        let plan = Plan::new(&[Arm::A, Arm::B], 6, 5).expect("a good plan");
        let runs = filled(plan, |_, arm| sample(if arm == Arm::A { 10 } else { 20 }));
        assert!(runs.of(Arm::A).all(|s| s.cpu_ns == 10));
        assert_eq!(runs.of(Arm::B).count(), 6);
    }

    #[test]
    fn a_full_book_and_a_round_too_long_are_refused() {
        let plan = Plan::new(&[Arm::A, Arm::B], 1, 5).expect("a good plan");
        let mut runs = Runs::new(plan);
        let three = [sample(1); 3];
        assert_eq!(runs.record(&three), Err(RecordError::TooManySamples { given: 3, arms: 2 }));
        assert_eq!(runs.record(&three[..1]), Ok(()));
        assert_eq!(runs.record(&three[..1]), Err(RecordError::PlanComplete));
    }

    #[test]
    fn each_measure_reads_its_own_figure() {
        let s =
            Sample { cpu_ns: 1, elapsed_ns: 2, peak_rss_bytes: 3, faults: 4, ended_well: true, output: None };
        assert_eq!(Measure::ALL.map(|m| s.of(m)), [1, 2, 3, 4]);
    }
}
