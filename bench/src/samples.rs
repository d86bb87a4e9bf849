//! The samples of a benchmark: each arm has its turns in every round, and arms are compared within rounds.
//!
//! ```text
//! take      for each round: the turns of all arms, in an order drawn anew ──> a record each
//! figure    a record ──> the number of it that is compared
//! values    the numbers of an arm ──> one for each round: the middle turn, or the least
//! median, more, against    those values ──> the median; the difference and the ratio to another arm, round by round
//! ```
//!
//! Invariant: records are in the order in which they were taken, so they are sorted by round.
//! Not here: the loop (`underbar_verdict::turns`), what a turn measures, and the intervals (`underbar_verdict::ratios`).

use crate::Error;
use underbar_verdict::interval::Span;
use underbar_verdict::random::Random;
use underbar_verdict::ratios::{LogRatios, difference, median, paired};
use underbar_verdict::turns::{Turn, rounds};

/// The turn of a round that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// The median: of work that waits.
    Middle,
    /// The least: of work on the processor alone, since another user of the processor can only add to it.
    Least,
}

/// The turns of an arm in each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// Their number, at least one.
    pub number: usize,
    /// The one that counts.
    pub counts: Counts,
}

impl Turns {
    /// One turn in each round.
    pub const ONE: Self = Self { number: 1, counts: Counts::Middle };
}

/// One sample, with its place.
#[derive(Debug, Clone)]
pub struct Record<S> {
    /// The round, from 0.
    pub round: usize,
    /// The index in the round's order, from 0.
    pub place: usize,
    /// The arm's index.
    pub arm: usize,
    /// What was measured.
    pub sample: S,
}

/// All samples of a number of arms.
#[derive(Debug, Clone)]
pub struct Samples<S> {
    /// By arm.
    turns: Vec<Turns>,
    rounds: usize,
    records: Vec<Record<S>>,
}

impl<S> Samples<S> {
    /// Takes the samples of all rounds: `turns` by arm, in an order from `order`. `what` names what is measured if there are
    /// several such runs. The first error ends it.
    ///
    /// # Errors
    /// Those of `sample`.
    pub fn take(
        what: Option<&str>,
        number: usize,
        turns: Vec<Turns>,
        order: &mut Random,
        mut sample: impl FnMut(Turn) -> Result<S, Error>,
    ) -> Result<Self, Error> {
        // Every turn of every arm, mixed, so that a slow minute of the machine falls on all.
        let each: Vec<usize> =
            turns.iter().enumerate().flat_map(|(arm, turns)| vec![arm; turns.number]).collect();
        let mut records = Vec::with_capacity(number * each.len());
        let prefix = what.map(|what| format!("{what}: ")).unwrap_or_default();
        rounds(number, &each, order, |turn| {
            let Turn { round, place, arm } = turn;
            if place == 0 {
                eprintln!("{prefix}round {} of {number}", round + 1);
            }
            records.push(Record { round, place, arm, sample: sample(turn)? });
            Ok(())
        })?;
        Ok(Self { turns, rounds: number, records })
    }

    /// All records, in the order in which they were taken.
    #[must_use]
    pub fn records(&self) -> &[Record<S>] {
        &self.records
    }

    /// The records of an arm.
    pub fn of(&self, arm: usize) -> impl Iterator<Item = &Record<S>> {
        self.records.iter().filter(move |record| record.arm == arm)
    }

    /// One figure of each sample.
    #[must_use]
    pub fn figure(&self, figure: impl Fn(&S) -> f64) -> Samples<f64> {
        let of = |record: &Record<S>| Record {
            round: record.round,
            place: record.place,
            arm: record.arm,
            sample: figure(&record.sample),
        };
        let records = self.records.iter().map(of).collect();
        Samples { turns: self.turns.clone(), rounds: self.rounds, records }
    }

    /// Samples for tests: `sample` gets the arm, and the number of its turn in the round.
    #[cfg(test)]
    pub(crate) fn made(number: usize, turns: Vec<Turns>, sample: impl Fn(usize, usize) -> S) -> Self {
        let mut records = Vec::new();
        for round in 0..number {
            for (arm, turns) in turns.iter().enumerate() {
                let of_arm = (0..turns.number).map(|turn| sample(arm, turn));
                records.extend(of_arm.enumerate().map(|(place, sample)| Record {
                    round,
                    place,
                    arm,
                    sample,
                }));
            }
        }
        Self { turns, rounds: number, records }
    }
}

impl Samples<f64> {
    /// The values of an arm, round by round: of the turn that counts.
    #[must_use]
    pub fn values(&self, arm: usize) -> Vec<f64> {
        let value = |round| {
            let of_round = self.of(arm).filter(|record| record.round == round);
            let turns: Vec<f64> = of_round.map(|record| record.sample).collect();
            match self.turns[arm].counts {
                Counts::Middle => median(&turns),
                Counts::Least => turns.into_iter().fold(f64::INFINITY, f64::min),
            }
        };
        (0..self.rounds).map(value).collect()
    }

    /// The median of the rounds.
    #[must_use]
    pub fn median(&self, arm: usize) -> f64 {
        median(&self.values(arm))
    }

    /// The difference between two arms.
    #[must_use]
    pub fn more(&self, arm: usize, base: usize) -> Span {
        let pairs = self.values(arm).into_iter().zip(self.values(base));
        difference(&pairs.map(|(ours, theirs)| ours - theirs).collect::<Vec<f64>>())
    }

    /// Log ratios of an arm to another.
    #[must_use]
    pub fn against(&self, arm: usize, base: usize) -> LogRatios {
        paired(&self.values(arm), &self.values(base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: [Turns; 2] =
        [Turns { number: 3, counts: Counts::Middle }, Turns { number: 3, counts: Counts::Least }];

    #[test]
    fn every_arm_has_its_turns_in_every_round() {
        let turns = [THREE[0], Turns::ONE];
        let samples = Samples::take(None, 6, turns.to_vec(), &mut Random::new(1), |turn| Ok(turn.round))
            .expect("no sample fails");
        assert_eq!(samples.records().len(), 6 * 4);
        assert_eq!((samples.of(0).count(), samples.of(1).count()), (18, 6));
        assert!(samples.records().iter().all(|record| record.round == record.sample && record.place < 4));
        assert!(samples.records().is_sorted_by_key(|record| (record.round, record.place)));
    }

    #[test]
    fn the_first_error_ends_it() {
        let mut taken = 0;
        let done = Samples::take(None, 6, vec![Turns::ONE; 2], &mut Random::new(1), |turn| {
            taken += 1;
            if turn.round == 1 { Err(Error::Workload("ended".to_owned())) } else { Ok(()) }
        });
        assert!(matches!(done, Err(Error::Workload(_))));
        assert_eq!(taken, 3);
    }

    #[test]
    fn the_middle_turn_of_a_round_counts_or_the_least() {
        let samples = Samples::made(6, THREE.to_vec(), |_, turn| [1.0, 0.5, 4.0][turn]);
        assert_eq!((samples.values(0), samples.values(1)), (vec![1.0; 6], vec![0.5; 6]));
        let more = samples.more(0, 1);
        assert!((more.value - 0.5).abs() < 1e-9 && (more.high - more.low).abs() < 1e-6);
        assert!((samples.against(0, 1).ratio().value - 2.0).abs() < 1e-9);
        assert!((samples.figure(|value| value * 3.0).median(0) - 3.0).abs() < 1e-9);
    }
}
