//! Runs the rounds of a plan, arm by arm in the order that was drawn, and records them in the book.
//!
//! Invariant: the number of rounds is fixed before the first. An interruption keeps the rounds so far.
//! Not here: the plan's order, and the meaning of the figures (`verdict`).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use underbar_verdict::plan::{Arm, DEFAULT_ROUNDS, MINIMUM_ROUNDS, Plan, Rounds, rounds_for};
use underbar_verdict::sample::{Runs, Sample};
use underbar_verdict::turns::{self, Turn};

use super::progress::Progress;
use super::single_run::{Once, Task, Way};
use super::{Stop, files};

/// An arm and the way its program runs.
pub type Treatment<'a> = (Arm, Way<'a>);

/// The seed of a plan's order: the user's, or a new one.
pub fn seed(given: Option<u64>) -> u64 {
    // 53 bits, so that every JSON reader reads it exactly. The standard library's hasher is seeded by the kernel's entropy.
    given.unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 11)
}

impl Task<'_> {
    /// The number of rounds, if each takes `round` and `phases` of them must fit into the time.
    pub fn rounds(&self, spent: Duration, round: Duration, phases: usize) -> Result<usize, Stop> {
        if let Some(runs) = self.flags.runs {
            return Ok(usize::try_from(runs).unwrap_or(DEFAULT_ROUNDS));
        }
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let budget = self
            .flags
            .time
            .map(|time| nanoseconds(time.saturating_sub(spent)) / u64::try_from(phases.max(1)).unwrap_or(1));
        match rounds_for(budget, nanoseconds(round), DEFAULT_ROUNDS, MINIMUM_ROUNDS) {
            Rounds::Enough(rounds) => Ok(rounds),
            too_few => {
                // The time so far, and the time of the rounds that each phase needs; a little more, since rounds differ.
                let needed = u32::try_from(MINIMUM_ROUNDS * phases.max(1) + 1).unwrap_or(u32::MAX);
                let time = spent + round.saturating_mul(needed);
                let help = format!("--time {}s would do, --runs sets a number", time.as_secs() + 1);
                Err(Stop::NoTime(format!("{too_few}\nhelp: {help}")))
            }
        }
    }

    /// One run of each arm that is not counted. The first arm must end well; otherwise the program itself fails.
    ///
    /// The sum of their durations is the time of a round.
    pub fn warm_up(&self, arms: &[Treatment<'_>], progress: &mut Progress) -> Result<Duration, Stop> {
        progress.phase("warming up", arms.len());
        let mut round = Duration::ZERO;
        for (at, &(arm, way)) in arms.iter().enumerate() {
            progress.run(arm.name());
            let mut once = self.once(way)?;
            progress.ran();
            round += once.all_of_it;
            if at == 0 {
                once.must_have_ended_well(arm.name())?;
            }
            once.must_have_had_the_library()?;
        }
        Ok(round)
    }

    /// Runs the plan. If it is stopped, the book has the rounds so far, and the reason is returned with it.
    pub fn book(
        &self,
        plan: Plan,
        arms: &[Treatment<'_>],
        phase: &str,
        progress: &mut Progress,
    ) -> (Runs, Option<Stop>) {
        progress.phase(phase, plan.runs());
        let (mut runs, orders) = (Runs::new(plan.clone()), plan.orders());
        let (mut round, mut told): (Vec<Sample>, Vec<Arm>) = (Vec::new(), Vec::new());
        let stop = turns::run(orders, |Turn { place, arm, .. }| {
            if place == 0 && !round.is_empty() {
                enter(&mut runs, &mut round);
            }
            let Some(&(_, way)) = arms.iter().find(|(known, _)| *known == arm) else { return Ok(()) };
            progress.run(arm.name());
            let mut once = self.once(way)?;
            once.must_have_had_the_library()?;
            if let Some(fault) = once.fault
                && !told.contains(&arm)
            {
                told.push(arm);
                progress.say(&format!("a run of {arm} failed: it {fault}"));
                for line in files::tail(&mut once.error).lines() {
                    progress.say(&format!("  | {line}"));
                }
            }
            round.push(once.sample);
            progress.ran();
            Ok(())
        });
        // The last round, or the one that was interrupted.
        enter(&mut runs, &mut round);
        progress.clear();
        (runs, stop.err())
    }
}

/// Enters a round. Its order is from the same book, so the book has a place for it.
fn enter(runs: &mut Runs, round: &mut Vec<Sample>) {
    let _ = runs.record(round);
    round.clear();
}

impl Once {
    /// An error if this run failed.
    pub fn must_have_ended_well(&mut self, arm: &'static str) -> Result<(), Stop> {
        match self.fault {
            None => Ok(()),
            Some(fault) => Err(Stop::Fails { arm, fault, said: files::tail(&mut self.error) }),
        }
    }

    /// An error if it ran without the library or accounts and should have had them: all arms would be plain.
    pub fn must_have_had_the_library(&mut self) -> Result<(), Stop> {
        if let Some(stop) = self.not_carried.take() {
            return Err(stop);
        }
        self.no_accounts.clone().map_or(Ok(()), |reason| Err(Stop::NoLibrary(reason)))
    }
}
