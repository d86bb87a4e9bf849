//! Epochs: several ways to do one thing, tried alternately inside one running program.
//!
//! ```text
//! one program, running   | COUNT | SLEEP | SIMPLE | SIMPLE | COUNT | SLEEP | ...     epochs
//!                        |------- round 1 --------|------- round 2 -------|         a round has each arm once
//! an epoch's figure = the cost in it / the work done in it
//! ```
//!
//! The method is that of runs ([`crate::plan`], [`crate::interval`]): the order of every round is drawn by lot and balanced
//! over the rounds, and each round gives one log ratio per arm on trial and the one in force. The difference is that a
//! program does not do the same work in every epoch. So an epoch records the work done in it, and figures are those of
//! one unit of work; an epoch without work has none.
//!
//! Several arms are compared with the one in force, and the best of them is kept: each decides with the confidence
//! 1 - 0.05/k of k arms (Bonferroni), so that of useless sets of arms at most one in twenty gives something to keep. An arm
//! that needs less processor time and gets less done is not kept, however certain the saving.
//!
//! Invariant: a round is whole or it is not in the book; |pairs| + idle == rounds.
//! Not here: changing anything, clocks, the definition of a unit of work.
//!
//! Limits: an arm's effects must end with its epoch (the caller lets some time pass before each). The result is about the
//! measured time: a program that does other work later may need another arm.

use std::fmt;

use serde::Serialize;

use crate::compare::{CONFIDENCE, Finding};
use crate::interval::TooFewPairs;
use crate::pairs::Pair;
use crate::plan::{Arm, Plan};
use crate::ratios::typical;
use crate::words::counted;

/// The measurements of one epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Epoch {
    /// Units of work done.
    pub work: u64,
    /// Its length, nanoseconds.
    pub elapsed_ns: u64,
    /// Processor time of the program, nanoseconds.
    pub cpu_ns: u64,
    /// Time that its threads waited for the object of the trial, nanoseconds.
    pub waited_ns: u64,
    /// 99 of 100 such waits were at most this long, nanoseconds; 0 if no thread waited.
    pub p99_ns: u64,
}

/// A figure of an epoch. Of all of them, less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Processor time for a unit of work.
    Cpu,
    /// Time for a unit of work: the inverse of throughput.
    Elapsed,
    /// Waiting for a unit of work.
    Waited,
    /// The limit that 99 of 100 waits did not exceed.
    P99,
}

impl Figure {
    /// All figures, in the order in which they are listed.
    pub const ALL: [Figure; 4] = [Figure::Cpu, Figure::Elapsed, Figure::Waited, Figure::P99];

    /// The label that is printed.
    pub const fn label(self) -> &'static str {
        match self {
            Figure::Cpu => "CPU",
            Figure::Elapsed => "time",
            Figure::Waited => "wait",
            Figure::P99 => "p99 wait",
        }
    }

    /// The figure in picoseconds: a unit of work may take few nanoseconds. None in an epoch without work.
    pub fn of(self, epoch: &Epoch) -> Option<u64> {
        let each = |ns: u64| {
            let of_one = (u128::from(ns) * 1_000).checked_div(u128::from(epoch.work))?;
            Some(u64::try_from(of_one).unwrap_or(u64::MAX))
        };
        match self {
            Figure::Cpu => each(epoch.cpu_ns),
            Figure::Elapsed => each(epoch.elapsed_ns),
            Figure::Waited => each(epoch.waited_ns),
            Figure::P99 => (epoch.work > 0).then(|| epoch.p99_ns.saturating_mul(1_000)),
        }
    }
}

/// The round has another number of epochs than the plan has arms, or the plan has no round left. A fault of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchRound;

impl fmt::Display for NoSuchRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the plan has no such round")
    }
}

impl std::error::Error for NoSuchRound {}

/// A plan, and its epochs so far, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Epochs {
    plan: Plan,
    rounds: Vec<Vec<Epoch>>,
}

impl Epochs {
    /// An empty book.
    pub fn new(plan: Plan) -> Epochs {
        Epochs { plan, rounds: Vec::new() }
    }

    /// The order of the next round; None when the plan is complete.
    pub fn next_order(&self) -> Option<&[Arm]> {
        self.plan.orders().get(self.rounds.len()).map(Vec::as_slice)
    }

    /// Enters the next round: its epochs in the order of [`Epochs::next_order`]. A round that was cut short,
    /// because the program ended in it, is not entered: it is made again.
    ///
    /// # Errors
    /// If that is not a round of the plan.
    pub fn record(&mut self, round: &[Epoch]) -> Result<(), NoSuchRound> {
        match self.next_order() {
            Some(order) if order.len() == round.len() => {
                self.rounds.push(round.to_vec());
                Ok(())
            }
            _ => Err(NoSuchRound),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of rounds.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The epochs of an arm, by round.
    pub fn of(&self, arm: Arm) -> impl Iterator<Item = &Epoch> {
        let places = self.plan.orders().iter().map(move |order| order.iter().position(|&other| other == arm));
        self.rounds.iter().zip(places).filter_map(|(round, place)| round.get(place?))
    }

    /// The figure of an arm's typical epoch, in picoseconds; None if none had work.
    pub fn typical(&self, arm: Arm, figure: Figure) -> Option<u64> {
        typical(self.of(arm).filter_map(|epoch| figure.of(epoch)))
    }
}

/// The decision about an arm on trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Better on the figure that decides, beyond chance and by at least 1 %, and not shown to be slower.
    Kept,
    /// No gain shown, or one below 1 %.
    NoGain,
    /// No gain shown, and the interval reaches below 0.90: there may be one.
    TooNoisy,
    /// Worse, beyond chance and by at least 1 %.
    Worse,
    /// Better on the figure that decides, but a unit of work takes longer.
    Slower,
    /// Too few rounds with work in both epochs.
    TooFew(TooFewPairs),
    /// The deciding figure was zero on one side of this many pairs.
    NoRatio {
        /// Pairs with exactly one zero.
        pairs: usize,
    },
}

/// An arm compared with the one in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// The arm on trial.
    pub candidate: Arm,
    /// Rounds in which one of the two epochs had no work.
    pub idle: usize,
    /// The result of each figure, in the order of [`Figure::ALL`].
    pub findings: [Finding; 4],
    /// The decision.
    pub outcome: Outcome,
}

impl Against {
    /// The result of a figure.
    pub fn finding(&self, figure: Figure) -> &Finding {
        &self.findings[figure as usize]
    }
}

/// All arms compared with the one in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The arm in force: the first of the plan.
    pub reference: Arm,
    /// The figure that decides.
    pub primary: Figure,
    /// Each arm on trial.
    pub against: Vec<Against>,
    /// The best of those that were kept.
    pub best: Option<Arm>,
    /// The plan and every epoch, raw: everything else can be computed again from these.
    pub epochs: Epochs,
}

impl Trial {
    /// Decides about all arms but the first, which is the one in force. `primary`: [`Figure::Cpu`] or [`Figure::Elapsed`].
    pub fn of(epochs: Epochs, primary: Figure) -> Trial {
        let arms = epochs.plan().arms();
        let reference = arms[0];
        let candidates = &arms[1..];
        let confidence = 1.0 - (1.0 - CONFIDENCE) / candidates.len() as f64;
        let against: Vec<Against> =
            candidates.iter().map(|&arm| held(&epochs, arm, reference, primary, confidence)).collect();
        let ratio = |against: &Against| against.finding(primary).interval().map_or(1.0, |i| i.ratio);
        let best = against
            .iter()
            .filter(|against| against.outcome == Outcome::Kept)
            .min_by(|a, b| ratio(a).total_cmp(&ratio(b)))
            .map(|against| against.candidate);
        Trial { reference, primary, against, best, epochs }
    }

    /// One line for an arm on trial.
    pub fn line(&self, against: &Against) -> String {
        let Trial { reference, primary, .. } = self;
        let mut line = format!("{}: ", against.candidate);
        let other = if *primary == Figure::Elapsed { Figure::Cpu } else { Figure::Elapsed };
        match against.finding(*primary).interval() {
            Some(interval) => line += &format!("{} {interval} of {reference}", primary.label()),
            None => line += &format!("{} against {reference}", primary.label()),
        }
        if let Some(interval) = against.finding(other).interval() {
            line += &format!(", {} {interval}", other.label());
        }
        line += &format!(", {}: ", counted(self.epochs.rounds() - against.idle, "round"));
        line += &match against.outcome {
            Outcome::Kept => "kept".to_owned(),
            Outcome::NoGain => "tried, without gain".to_owned(),
            Outcome::TooNoisy => "tried, too noisy to tell".to_owned(),
            Outcome::Worse => "tried, without gain: worse".to_owned(),
            Outcome::Slower => "tried, without gain: less is done in the same time".to_owned(),
            Outcome::TooFew(too_few) => format!("no verdict, {} needed", counted(too_few.need, "round")),
            Outcome::NoRatio { pairs } => format!("no verdict, zero in {}", counted(pairs, "round")),
        };
        line
    }
}

fn held(epochs: &Epochs, candidate: Arm, reference: Arm, primary: Figure, confidence: f64) -> Against {
    let pairs = |figure: Figure| -> Vec<Pair> {
        let both = epochs.of(candidate).zip(epochs.of(reference)).enumerate();
        both.filter_map(|(round, (candidate, reference))| {
            // Without work there is no figure: the round has no pair.
            let (candidate, reference) = (figure.of(candidate)?, figure.of(reference)?);
            Some(Pair { round, candidate, reference })
        })
        .collect()
    };
    let idle = epochs.rounds() - pairs(Figure::Elapsed).len();
    let findings = Figure::ALL.map(|figure| Finding::of(&pairs(figure), confidence));
    let is_slower = matches!(findings[Figure::Elapsed as usize], Finding::Worse(_));
    let outcome = match findings[primary as usize] {
        Finding::Better(_) if is_slower => Outcome::Slower,
        Finding::Better(_) => Outcome::Kept,
        Finding::Worse(_) => Outcome::Worse,
        Finding::Neither(interval) if interval.is_too_noisy() => Outcome::TooNoisy,
        Finding::Neither(_) => Outcome::NoGain,
        Finding::TooFew(too_few) => Outcome::TooFew(too_few),
        Finding::NoRatio { pairs } => Outcome::NoRatio { pairs },
    };
    Against { candidate, idle, findings, outcome }
}

/// The fewest rounds that k arms on trial need for a verdict.
pub fn rounds_needed(candidates: usize) -> usize {
    crate::interval::pairs_needed(1.0 - (1.0 - CONFIDENCE) / candidates.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const COUNT: Arm = Arm::named("COUNT");
    const SIMPLE: Arm = Arm::named("SIMPLE");
    const SLEEP: Arm = Arm::named("SLEEP");

    fn epochs(rounds: usize, seed: u64, mut make: impl FnMut(usize, Arm) -> Epoch) -> Epochs {
        let mut epochs = Epochs::new(Plan::new(&[COUNT, SIMPLE, SLEEP], rounds, seed).expect("a good plan"));
        while let Some(order) = epochs.next_order() {
            let round = epochs.rounds();
            let of_round: Vec<Epoch> = order.iter().map(|&arm| make(round, arm)).collect();
            epochs.record(&of_round).expect("a round of the plan");
        }
        epochs
    }

    /// An epoch with this processor time for each acquisition, and this work done.
    fn epoch(cpu_each: u64, work: u64) -> Epoch {
        Epoch { work, elapsed_ns: 1_000_000, cpu_ns: cpu_each * work, waited_ns: 7 * work, p99_ns: 65_535 }
    }

    fn said(trial: &Trial) -> Vec<(&'static str, Outcome)> {
        trial.against.iter().map(|against| (against.candidate.name(), against.outcome)).collect()
    }

    #[test]
    fn the_best_of_those_that_gain_is_kept() {
        let trial = Trial::of(
            epochs(15, 5, |round, arm| {
                let percent = [(COUNT, 100), (SIMPLE, 80), (SLEEP, 90)];
                let percent = percent.iter().find(|(other, _)| *other == arm).expect("one of them").1;
                // The program does more work in some rounds; a unit of it costs the same.
                epoch(10 * percent, 1_000 + 300 * (round as u64 % 4))
            }),
            Figure::Cpu,
        );
        assert_eq!(said(&trial), [("SIMPLE", Outcome::Kept), ("SLEEP", Outcome::Kept)]);
        assert_eq!(trial.best, Some(SIMPLE));
        assert_eq!(
            trial.line(&trial.against[0]),
            "SIMPLE: CPU 0.800 [0.800, 0.800] of COUNT, time 1.000 [1.000, 1.000], 15 rounds: kept"
        );
        let confidence = trial.against[0].finding(Figure::Cpu).interval().map(|interval| interval.confidence);
        assert_eq!(confidence, Some(0.975), "two are on trial");
        assert_eq!(trial.epochs.typical(SIMPLE, Figure::Cpu), Some(800_000));
    }

    #[test]
    fn what_gets_less_done_is_not_kept() {
        let trial = Trial::of(
            epochs(15, 6, |_, arm| if arm == SLEEP { epoch(50, 600) } else { epoch(100, 1_000) }),
            Figure::Cpu,
        );
        assert_eq!(said(&trial), [("SIMPLE", Outcome::NoGain), ("SLEEP", Outcome::Slower)]);
        assert_eq!(trial.best, None);
        assert!(trial.line(&trial.against[1]).ends_with("less is done in the same time"));
        let by_time = Trial::of(trial.epochs, Figure::Elapsed);
        assert_eq!(said(&by_time), [("SIMPLE", Outcome::NoGain), ("SLEEP", Outcome::Worse)]);
    }

    #[test]
    fn what_may_be_a_tenth_better_is_not_without_gain() {
        let trial = Trial::of(
            epochs(15, 6, |round, arm| {
                epoch(if arm == SIMPLE { 60 + 80 * (round as u64 % 2) } else { 100 }, 1_000)
            }),
            Figure::Cpu,
        );
        assert_eq!(said(&trial), [("SIMPLE", Outcome::TooNoisy), ("SLEEP", Outcome::NoGain)]);
        assert!(trial.line(&trial.against[0]).ends_with("tried, too noisy to tell"));
    }

    #[test]
    fn rounds_without_work_are_counted_and_give_no_pair() {
        let idle = |rounds: usize| {
            Trial::of(
                epochs(8, 7, |round, arm| {
                    epoch(100, if arm == SIMPLE && round < rounds { 0 } else { 1_000 })
                }),
                Figure::Cpu,
            )
        };
        let trial = idle(1);
        assert_eq!((trial.against[0].idle, trial.against[0].outcome), (1, Outcome::NoGain));
        let trial = idle(2);
        let too_few = TooFewPairs { have: 6, need: 7 };
        assert_eq!((trial.against[0].idle, trial.against[0].outcome), (2, Outcome::TooFew(too_few)));
        assert_eq!(trial.against[1].outcome, Outcome::NoGain);
        assert!(trial.line(&trial.against[0]).ends_with("6 rounds: no verdict, 7 rounds needed"));
        assert_eq!(rounds_needed(2), 7);
    }

    #[test]
    fn a_round_that_was_cut_short_is_not_entered() {
        let mut book = Epochs::new(Plan::new(&[COUNT, SIMPLE], 2, 1).expect("a good plan"));
        let order = book.next_order().expect("a round").to_vec();
        assert_eq!(book.record(&[epoch(1, 1)]), Err(NoSuchRound));
        assert_eq!(book.next_order(), Some(&order[..]), "it is made again");
        for _ in 0..2 {
            book.record(&[epoch(1, 1); 2]).expect("a round");
        }
        assert_eq!(book.record(&[epoch(1, 1); 2]), Err(NoSuchRound));
        assert_eq!(Trial::of(book, Figure::Cpu).best, None);
    }

    #[test]
    fn equal_arms_are_seldom_kept() {
        // Work and noise differ from epoch to epoch, the policies do not. At most one in forty is kept by chance: of 2,000,
        // fifty, with a deviation of seven.
        let kept = (0..2_000).filter(|&seed| {
            let mut random = Random::new(seed * 977);
            let made = epochs(10, seed, |_, _| {
                let noise = random.next_u64() % 200;
                epoch(900 + noise, 500 + random.next_u64() % 1_000)
            });
            Trial::of(made, Figure::Cpu).best.is_some()
        });
        let kept = kept.count();
        assert!(kept <= 78, "{kept} of 2,000");
    }
}
