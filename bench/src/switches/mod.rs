//! `bench switches`: what counting switches costs, and what caches and multi-fetch spare.
//!
//! ```text
//! arms (a call plain, under SWITCHES(ON), under strace -c ...; lines with and without a cache ...)
//! for each round: turns in an order drawn anew ──> nanoseconds of a unit; the round's least counts, of starts the middle one
//! all rounds ──> differences and ratios within rounds ──> goals (held or missed), csv, json
//! the kernel's calls, once for each arm; `underbar demo multifetch`, once
//! ```
//!
//! Invariant: a sample is a run that ended with status 0; what is compared ran in the same round.
//! Not here: options that this build of the command does not have; their arms are left out.

mod arms;
mod fetches;
mod goals;
mod table;

use crate::Error;
use crate::busy::Busy;
use crate::heap;
use crate::host::Host;
use crate::rounds::Request;
use arms::{Arm, Group};
use fetches::Fetches;
use std::path::Path;
use underbar_verdict::interval::Span;
use underbar_verdict::random::Random;
use underbar_verdict::ratios::{LogRatios, difference, median, paired};
use underbar_verdict::turns::{Turn, rounds};

/// The default number of rounds.
pub const ROUNDS: usize = 12;
/// Calls of a run.
const CALLS: u64 = 1_000_000;

/// One sample.
#[derive(Debug, Clone)]
pub struct Record {
    /// The arm's place in [`Run::arms`].
    pub arm: usize,
    /// The round, from 0.
    pub round: usize,
    /// Microseconds of a start, nanoseconds of a unit.
    pub value: f64,
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
    /// Calls of the kernel of each arm, where its group counts some.
    pub kernel_calls: Vec<Option<u64>>,
    /// Multi-fetch; None without PostgreSQL.
    pub fetches: Option<Fetches>,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Runs the rounds, prints the tables and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let programs = arms::Programs::make(target)?;
    let arms = arms::all(&programs, if request.quick { CALLS / 10 } else { CALLS });
    let host = Host::here();
    let (records, kernel_calls) = (Vec::new(), Vec::new());
    let mut run = Run { host, request, arms, records, kernel_calls, fetches: None, others: 0.0 };
    let mut order = Random::new(run.request.seed ^ 0x7377_6974_6368_6573);
    let before = Busy::now();
    let turns: Vec<usize> =
        run.arms.iter().enumerate().flat_map(|(place, arm)| vec![place; arm.group.turns()]).collect();
    rounds(run.request.rounds, &turns, &mut order, |Turn { round, place, arm }| {
        if place == 0 {
            eprintln!("round {} of {}", round + 1, run.request.rounds);
        }
        let value = run.arms[arm].sample(&programs)?;
        run.records.push(Record { arm, round, value });
        Ok(())
    })?;
    run.others = before.others(run.host.processors);
    run.kernel_calls =
        run.arms.iter().map(|arm| arm.kernel_calls(&programs)).collect::<Result<_, Error>>()?;
    run.fetches = fetches::run(run.request.quick)?;
    let text = table::text(&run);
    print!("{text}");
    if run.request.record {
        let files = [
            ("switches.txt", text),
            ("switches.csv", table::csv(&run)),
            ("switches.json", table::json(&run)),
        ];
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

    /// The value of an arm's turns, round by round: the least, since another user of the processor can only add to it; of starts the
    /// median.
    #[must_use]
    pub fn values(&self, arm: usize) -> Vec<f64> {
        (0..self.request.rounds)
            .map(|round| {
                let of_round =
                    self.records.iter().filter(|record| record.arm == arm && record.round == round);
                let turns: Vec<f64> = of_round.map(|record| record.value).collect();
                match self.arms[arm].group {
                    Group::Start => median(&turns),
                    _ => turns.iter().copied().fold(f64::INFINITY, f64::min),
                }
            })
            .collect()
    }

    /// The median of an arm's rounds.
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
    use super::arms::{Programs, all};
    use super::{Record, Run};
    use crate::host::Host;
    use crate::rounds::Request;

    /// Six rounds, in which a unit of each arm takes so long, and the kernel has so many calls.
    pub(super) fn run(time: impl Fn(&str) -> f64, calls: impl Fn(&str) -> u64) -> Run {
        let arms = all(&Programs::named(), 1_000);
        let records = (0..6)
            .flat_map(|round| arms.iter().enumerate().map(move |(arm, one)| (round, arm, one.name)))
            .flat_map(|(round, arm, name)| {
                [1.0, 2.0, 1.0].map(|part| Record { arm, round, value: time(name) * part })
            })
            .collect();
        let kernel_calls = arms.iter().map(|arm| Some(calls(arm.name))).collect();
        let (host, request) = (Host::here(), Request::of(6));
        Run { host, request, arms, records, kernel_calls, fetches: None, others: 0.0 }
    }

    #[test]
    fn the_least_turn_of_a_round_counts() {
        let run = run(|name| if name == "call-counted" { 202.0 } else { 200.0 }, |_| 0);
        let (counted, plain) = (run.find("call-counted").expect("there"), run.find("call").expect("there"));
        assert!((run.median(counted) - 202.0).abs() < 1e-9);
        assert!((run.more(counted, plain).value - 2.0).abs() < 1e-9);
        assert!((run.against(counted, plain).ratio().value - 1.01).abs() < 1e-9);
    }
}
