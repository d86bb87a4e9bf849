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
use crate::host::Host;
use crate::results;
use crate::rounds::Request;
use crate::samples::Samples;
use arms::Arm;
use fetches::Fetches;
use std::path::Path;
use underbar_verdict::random::Random;

/// The default number of rounds.
pub const ROUNDS: usize = 12;
/// Calls of a run.
const CALLS: u64 = 1_000_000;

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// The arms, in the order of the table.
    pub arms: Vec<Arm>,
    /// All samples: microseconds of a start, nanoseconds of a unit.
    pub samples: Samples<f64>,
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
    let turns = arms.iter().map(|arm| arm.group.turns()).collect();
    let mut order = Random::new(request.seed ^ 0x7377_6974_6368_6573);
    let before = Busy::now();
    let samples =
        Samples::take(None, request.rounds, turns, &mut order, |turn| arms[turn.arm].sample(&programs))?;
    let others = before.others(host.processors);
    let kernel_calls = arms.iter().map(|arm| arm.kernel_calls(&programs)).collect::<Result<_, Error>>()?;
    let fetches = fetches::run(request.quick)?;
    let run = Run { host, request, arms, samples, kernel_calls, fetches, others };
    let text = table::text(&run);
    let recorded_in = run.request.record.then_some(workspace);
    results::print(&run.host, recorded_in, "switches", text, || table::csv(&run), || table::json(&run))
}

impl Run {
    /// The index of the arm of that name; None if it could not run here.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::Run;
    use super::arms::{Programs, all};
    use crate::host::Host;
    use crate::rounds::Request;
    use crate::samples::Samples;

    /// Six rounds, in which a unit of each arm takes so long, and the kernel has so many calls.
    pub(super) fn run(time: impl Fn(&str) -> f64, calls: impl Fn(&str) -> u64) -> Run {
        let arms = all(&Programs::named(), 1_000);
        let turns = arms.iter().map(|arm| arm.group.turns()).collect();
        let samples = Samples::made(6, turns, |arm, turn| time(arms[arm].name) * [1.0, 2.0, 1.0][turn % 3]);
        let kernel_calls = arms.iter().map(|arm| Some(calls(arm.name))).collect();
        let (host, request) = (Host::here(), Request::of(6));
        Run { host, request, arms, samples, kernel_calls, fetches: None, others: 0.0 }
    }

    #[test]
    fn the_least_turn_of_a_round_counts() {
        let run = run(|name| if name == "call-counted" { 202.0 } else { 200.0 }, |_| 0);
        let (counted, plain) = (run.find("call-counted").expect("there"), run.find("call").expect("there"));
        assert!((run.samples.median(counted) - 202.0).abs() < 1e-9);
        assert!((run.samples.more(counted, plain).value - 2.0).abs() < 1e-9);
        assert!((run.samples.against(counted, plain).ratio().value - 1.01).abs() < 1e-9);
    }
}
