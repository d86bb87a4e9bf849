//! A trial in a running program: policies of waiting for one mutex, set by turns while the program does its work.
//!
//! ```text
//! Watch, of one run:   looking ─> settling ─> measuring ─> settling ─> measuring ─> ... ─> over
//!                      for the    policy set  what it saw   the next arm's policy           policy as LOCK says
//!                      mutex
//! Live, of all runs:   the plan; rounds that are whole; how many runs it took
//! ```
//!
//! The program does not notice the trial: a thread obeys the control page the next time that it waits. The program may end at
//! any time: the round that is cut short is repeated in the next run.
//!
//! Invariant: only the control page is written. The number of rounds is fixed before the first.
//! Not here: which policy is better (`verdict::epochs`), and the use of the answer (`commands::tune`).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use underbar_launch::ControlPage;
use underbar_ledger::control::{Kind, Target};
use underbar_verdict::epochs::{Epoch, Epochs};
use underbar_verdict::plan::Plan;

use super::Stop;
use super::lock::{Found, Policy, Seen, Wanted};
use super::progress::Progress;
use super::say;
use super::single_run::{Fault, SideTask, Task, Way};

/// The time between two looks for the mutex.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// The time for which a policy is in force before its epoch begins, as a part of the epoch: by then earlier waits are over.
const SETTLES: u32 = 5;
/// The number of rounds in a run, if the user sets no length of an epoch. The length is kept between the two limits below.
/// Rounds close to each other in time are most alike, and the end of a run may cut off its first round.
const ROUNDS_OF_A_RUN: usize = 6;
/// The limits of the length.
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(250);
/// The most runs.
const RUNS: usize = 60;
/// This many runs without a whole round end the trial: another run would have no whole round, either.
const BARREN: usize = 3;

/// A trial, over as many runs as it takes.
pub struct Live<'p> {
    /// The mutex.
    pub wanted: Wanted,
    /// The policies to try, the policy in force first.
    pub policies: Vec<Policy>,
    /// The measurements so far.
    pub epochs: Epochs,
    /// The length of an epoch.
    pub epoch: Duration,
    /// Runs of the program so far.
    pub runs: usize,
    /// Rounds that the program's end cut short.
    pub cut: usize,
    /// Why nothing could be changed.
    pub refused: Option<String>,
    /// Why the program failed.
    pub fault: Option<Fault>,
    /// The output of each run.
    pub outputs: Vec<Option<u64>>,
    /// How long a run may go on before a thread waits for the mutex.
    patience: Duration,
    progress: &'p mut Progress,
}

impl<'p> Live<'p> {
    /// A trial of this many rounds, for a program that runs about this long. An error is the user's.
    pub fn new(
        wanted: Wanted,
        rounds: usize,
        seed: u64,
        epoch: Option<Duration>,
        runs_for: Duration,
        progress: &'p mut Progress,
    ) -> Result<Live<'p>, String> {
        let policies = wanted.policies();
        let arms: Vec<_> = policies.iter().map(|policy| policy.arm).collect();
        let plan = Plan::new(&arms, rounds, seed).map_err(|error| error.to_string())?;
        let epochs_of_a_run = u32::try_from(ROUNDS_OF_A_RUN * arms.len()).unwrap_or(u32::MAX);
        let epoch = epoch.unwrap_or((runs_for / epochs_of_a_run).clamp(SHORTEST, LONGEST));
        let patience = runs_for * 2 + Duration::from_secs(5);
        Ok(Live {
            wanted,
            policies,
            epochs: Epochs::new(plan),
            epoch,
            runs: 0,
            cut: 0,
            refused: None,
            fault: None,
            outputs: Vec::new(),
            patience,
            progress,
        })
    }

    /// The fewest rounds that give a verdict on each policy.
    pub fn rounds_needed(&self) -> usize {
        underbar_verdict::epochs::rounds_needed(self.policies.len().saturating_sub(1))
    }

    /// Prints the number of epochs, and about how long they take.
    pub fn announce(&mut self) {
        let epochs = self.epochs.plan().runs();
        let each = self.epoch + self.epoch / SETTLES;
        let all = each.saturating_mul(u32::try_from(epochs).unwrap_or(u32::MAX));
        let words = format!("{epochs} epochs in the running program, about {}", say::long(all));
        self.progress.say(&words);
    }

    /// Runs the program until the plan is done, several times if it ends before. Some is the reason of an interruption.
    pub fn run(&mut self, task: &Task<'_>, way: Way<'_>) -> Option<Stop> {
        self.progress.epochs("trying live", self.epochs.plan().runs());
        let mut barren = 0;
        while self.epochs.next_order().is_some() && self.runs < RUNS {
            let before = self.epochs.rounds();
            let ran = task.while_doing(way, &mut Watch::new(self));
            let once = match ran {
                Ok(once) => once,
                Err(stop) => {
                    self.progress.clear();
                    return Some(stop);
                }
            };
            self.runs += 1;
            self.outputs.push(once.sample.output);
            self.fault = once.fault;
            barren = if self.epochs.rounds() == before { barren + 1 } else { 0 };
            if self.fault.is_some() || self.refused.is_some() || barren == BARREN {
                break;
            }
        }
        self.progress.clear();
        None
    }
}

/// The phase of a run.
enum State {
    Looking,
    Settling(Place),
    Measuring(Place, Box<Seen>),
    Over,
}

/// The mutex of this run, and the control page with its policy.
struct Place {
    found: Found,
    control: ControlPage,
}

/// One run.
struct Watch<'l, 'p> {
    live: &'l mut Live<'p>,
    /// Empty until the program starts, and in a run without a ledger.
    ledger: PathBuf,
    begin: Instant,
    /// The time of the next step.
    due: Instant,
    /// The epochs of the current round.
    round: Vec<Epoch>,
    state: State,
}

impl SideTask for Watch<'_, '_> {
    fn begin(&mut self, ledger: &Path) {
        self.ledger = ledger.to_owned();
        (self.begin, self.due) = (Instant::now(), Instant::now());
    }

    fn step(&mut self) -> Option<Duration> {
        if self.ledger.as_os_str().is_empty() {
            return None;
        }
        let now = Instant::now();
        if now >= self.due {
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::Looking => self.look(now),
                State::Settling(place) => match place.found.see(&self.ledger) {
                    Some(seen) => {
                        self.due = Instant::now() + self.live.epoch;
                        State::Measuring(place, Box::new(seen))
                    }
                    None => self.cut_short(),
                },
                State::Measuring(place, before) => match place.found.see(&self.ledger) {
                    Some(seen) => {
                        self.round.push(seen.since(&before));
                        self.live.progress.ran();
                        self.next(place, now)
                    }
                    None => self.cut_short(),
                },
                State::Over => State::Over,
            };
        }
        match self.state {
            State::Over => None,
            _ => Some(self.due.saturating_duration_since(Instant::now())),
        }
    }
}

impl<'l, 'p> Watch<'l, 'p> {
    /// Of a run that has not begun.
    fn new(live: &'l mut Live<'p>) -> Watch<'l, 'p> {
        let (ledger, begin) = (PathBuf::new(), Instant::now());
        Watch { live, ledger, begin, due: begin, round: Vec::new(), state: State::Looking }
    }

    fn look(&mut self, now: Instant) -> State {
        let Some(found) = self.live.wanted.find(&self.ledger) else {
            self.due = now + LOOK_AGAIN;
            return if self.begin.elapsed() < self.live.patience { State::Looking } else { State::Over };
        };
        let place = match ControlPage::open(&self.ledger) {
            Ok(control) => Place { found, control },
            Err(error) => return self.refuse(&error),
        };
        match place.set(Kind::LockCounted, 0, found.address) {
            Ok(()) => self.next(place, now),
            Err(error) => self.refuse(&error),
        }
    }

    /// The next epoch's policy, or the end.
    fn next(&mut self, place: Place, now: Instant) -> State {
        let whole = self.live.epochs.next_order().is_some_and(|order| order.len() == self.round.len());
        if whole {
            // There are as many epochs as in the order.
            let _ = self.live.epochs.record(&self.round);
            self.round.clear();
        }
        let arm = self.live.epochs.next_order().and_then(|order| order.get(self.round.len()).copied());
        let policy = arm.and_then(|arm| self.live.policies.iter().find(|policy| policy.arm == arm));
        let set = match policy {
            Some(policy) => {
                self.live.progress.run(policy.arm.name());
                place.set(Kind::LockPolicy, place.found.address, u64::from(policy.number))
            }
            None => place
                .set(Kind::LockPolicy, place.found.address, u64::from(self.live.wanted.before))
                .and_then(|()| place.set(Kind::LockCounted, 0, 0)),
        };
        if let Err(error) = set {
            return self.refuse(&error);
        }
        self.due = now + self.live.epoch / SETTLES;
        if policy.is_some() { State::Settling(place) } else { State::Over }
    }

    /// The process has ended, or has become another program. The mutex may appear again.
    fn cut_short(&mut self) -> State {
        self.live.cut += 1;
        self.round.clear();
        State::Looking
    }

    fn refuse(&mut self, error: &dyn std::fmt::Display) -> State {
        self.live.refused = Some(error.to_string());
        State::Over
    }
}

impl Drop for Watch<'_, '_> {
    /// The program ended in the middle of a round: its epochs are not counted.
    fn drop(&mut self) {
        if !matches!(self.state, State::Over | State::Looking) {
            self.live.cut += 1;
        }
    }
}

impl Place {
    fn set(&self, kind: Kind, object: u64, value: u64) -> Result<(), underbar_launch::ControlError> {
        self.control.set(Target { kind, process: self.found.process, object }, value)
    }
}
