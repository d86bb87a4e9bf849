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
use crate::host::Host;
use crate::results;
use crate::rounds::Request;
use crate::samples::Samples;
use arms::Arm;
use std::path::Path;
use underbar_verdict::random::Random;

/// The default number of rounds.
pub const ROUNDS: usize = 20;

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// The arms, in the order of the table.
    pub arms: Vec<Arm>,
    /// All samples: microseconds.
    pub samples: Samples<f64>,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Runs the rounds, prints the tables and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path) -> Result<(), Error> {
    let host = Host::here();
    let arms = arms::all(&arms::Programs::beside_us()?);
    let turns = arms.iter().map(|arm| arm.kind.turns()).collect();
    let mut order = Random::new(request.seed ^ 0x636f_6d6d_616e_6400);
    let before = Busy::now();
    let samples = Samples::take(None, request.rounds, turns, &mut order, |turn| arms[turn.arm].sample())?;
    let others = before.others(host.processors);
    let run = Run { host, request, arms, samples, others };
    let text = table::text(&run);
    let recorded_in = run.request.record.then_some(workspace);
    results::print(&run.host, recorded_in, "command", text, || table::csv(&run), || table::json(&run))
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

    /// Six rounds, in which each arm takes these microseconds.
    pub(super) fn run(time: impl Fn(&str) -> f64) -> Run {
        let arms = all(&Programs::named());
        let turns = arms.iter().map(|arm| arm.kind.turns()).collect();
        let samples = Samples::made(6, turns, |arm, turn| time(arms[arm].name) * [1.0, 0.5, 2.0][turn % 3]);
        Run { host: Host::here(), request: Request::of(6), arms, samples, others: 0.0 }
    }

    #[test]
    fn the_middle_turn_of_a_round_counts_and_of_work_the_least() {
        let run = run(|name| if name == "true" { 1_000.0 } else { 3_000.0 });
        let (ours, plain) = (run.find("run").expect("there"), run.find("true").expect("there"));
        assert!((run.samples.median(ours) - 3_000.0).abs() < 1e-9);
        let more = run.samples.more(ours, plain);
        assert!((more.value - 2_000.0).abs() < 1e-9 && (more.high - more.low).abs() < 1e-6);
        assert!((run.samples.against(ours, plain).ratio().value - 3.0).abs() < 1e-9);
        assert!((run.samples.median(run.find("work").expect("there")) - 1_500.0).abs() < 1e-9);
    }
}
