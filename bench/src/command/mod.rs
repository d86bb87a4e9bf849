//! `bench command`: the time that the command adds to a program: at its start, for each followed child, and by sampling it.
//!
//! ```text
//! arms (true, timeout true, underbar run -- true ...)
//! for each round: turns in an order drawn anew ──> microseconds of each; the round's middle or least one counts
//! all rounds ──> differences and ratios within rounds ──> goals (held or missed), csv, json
//! ```
//!
//! Invariant: a sample is a run that ended with status 0; what is compared ran in the same round.
//! Not here: what goes on within the program's own storage (`accounts`, `heap`).

mod arms;
mod goals;
mod table;

use crate::Error;
use crate::busy::Busy;
use crate::heap;
use crate::host::Host;
use crate::rounds::Request;
use arms::{Arm, Kind};
use std::path::Path;
use underbar_verdict::interval::Span;
use underbar_verdict::random::Random;
use underbar_verdict::ratios::{LogRatios, difference, median, paired};
use underbar_verdict::turns::{Turn, rounds};

/// The default number of rounds.
pub const ROUNDS: usize = 20;

/// One sample.
#[derive(Debug, Clone)]
pub struct Record {
    /// The arm's place in [`Run::arms`].
    pub arm: usize,
    /// The round, from 0.
    pub round: usize,
    /// Microseconds.
    pub microseconds: f64,
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// The arms, in the order of the table.
    pub arms: Vec<Arm>,
    /// All samples, in order.
    pub records: Vec<Record>,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Runs the rounds, prints the tables and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path) -> Result<(), Error> {
    let arms = arms::all(&arms::Programs::beside_us()?);
    let mut run = Run { host: Host::here(), request, arms, records: Vec::new(), others: 0.0 };
    let mut order = Random::new(run.request.seed ^ 0x636f_6d6d_616e_6400);
    let before = Busy::now();
    // Every turn of every arm, mixed, so that a slow minute of the machine falls on all.
    let turns: Vec<usize> =
        run.arms.iter().enumerate().flat_map(|(place, arm)| vec![place; arm.kind.turns()]).collect();
    rounds(run.request.rounds, &turns, &mut order, |Turn { round, place, arm }| {
        if place == 0 {
            eprintln!("round {} of {}", round + 1, run.request.rounds);
        }
        let microseconds = run.arms[arm].sample()?;
        run.records.push(Record { arm, round, microseconds });
        Ok(())
    })?;
    run.others = before.others(run.host.processors);
    let text = table::text(&run);
    print!("{text}");
    if run.request.record {
        let files =
            [("command.txt", text), ("command.csv", table::csv(&run)), ("command.json", table::json(&run))];
        heap::record(&run.host, &files, workspace)?;
    }
    Ok(())
}

impl Run {
    /// The index of the arm of that name; None if it could not run here.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.name == name)
    }

    /// The value of an arm's turns, round by round: the median; for work on the processor alone the least, since another
    /// user of the processor's core can only add to it.
    #[must_use]
    pub fn values(&self, arm: usize) -> Vec<f64> {
        (0..self.request.rounds)
            .map(|round| {
                let of_round =
                    self.records.iter().filter(|record| record.arm == arm && record.round == round);
                let turns: Vec<f64> = of_round.map(|record| record.microseconds).collect();
                match self.arms[arm].kind {
                    Kind::Work => turns.iter().copied().fold(f64::INFINITY, f64::min),
                    Kind::Start | Kind::Children => median(&turns),
                }
            })
            .collect()
    }

    /// The median of an arm's rounds.
    #[must_use]
    pub fn median(&self, arm: usize) -> f64 {
        median(&self.values(arm))
    }

    /// The difference between two arms, in microseconds.
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
    use super::arms::{Programs, all};
    use super::{Record, Run};
    use crate::host::Host;
    use crate::rounds::Request;

    /// Six rounds, in which each arm takes these microseconds.
    pub(super) fn run(time: impl Fn(&str) -> f64) -> Run {
        let arms = all(&Programs::named());
        let records = (0..6)
            .flat_map(|round| arms.iter().enumerate().map(move |(arm, one)| (round, arm, one.name)))
            .flat_map(|(round, arm, name)| {
                [1.0, 0.5, 2.0].map(|part| Record { arm, round, microseconds: time(name) * part })
            })
            .collect();
        let request = Request::of(6);
        Run { host: Host::here(), request, arms, records, others: 0.0 }
    }

    #[test]
    fn the_middle_turn_of_a_round_counts_and_of_work_the_least() {
        let run = run(|name| if name == "true" { 1_000.0 } else { 3_000.0 });
        let (ours, plain) = (run.find("run").expect("there"), run.find("true").expect("there"));
        assert!((run.median(ours) - 3_000.0).abs() < 1e-9);
        let more = run.more(ours, plain);
        assert!((more.value - 2_000.0).abs() < 1e-9 && (more.high - more.low).abs() < 1e-6);
        assert!((run.against(ours, plain).ratio().value - 3.0).abs() < 1e-9);
        assert!((run.median(run.find("work").expect("there")) - 1_500.0).abs() < 1e-9);
    }
}
