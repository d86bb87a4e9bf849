//! How far a demo is, on standard error, where it takes longer than a second.

use crate::door::{self, Form};
use std::time::{Duration, Instant};

/// How long a demo may take without a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says how far a demo is: on a terminal in one line, which is wiped at the end, elsewhere a line for each
/// part and round.
pub struct Progress {
    started: Instant,
    quiet: bool,
    terminal: bool,
    part: &'static str,
    said: Option<(&'static str, usize)>,
}

impl Progress {
    /// Starts the clock.
    pub fn new(quiet: bool) -> Progress {
        let terminal = door::error_is_terminal();
        Progress { started: Instant::now(), quiet, terminal, part: "", said: None }
    }

    /// A new part begins.
    pub fn part(&mut self, part: &'static str) {
        self.part = part;
    }

    /// The next run of a round.
    pub fn at(&mut self, round: usize, rounds: usize, turn: usize, turns: usize) {
        if self.quiet || self.started.elapsed() < PATIENCE {
            return;
        }
        let (part, round) = (self.part, round + 1);
        if self.terminal {
            door::over(format_args!("{part}: round {round} of {rounds}, run {} of {turns}", turn + 1));
        } else if self.said != Some((part, round)) {
            self.say(format_args!("{part}: round {round} of {rounds}\n"));
        }
        self.said = Some((part, round));
    }

    /// The next step of a part without rounds.
    pub fn step(&mut self, step: usize, steps: usize) {
        if self.quiet || self.started.elapsed() < PATIENCE {
            return;
        }
        let part = self.part;
        if self.terminal {
            door::over(format_args!("{part}: {} of {steps}", step + 1));
        } else if self.said != Some((part, 0)) {
            self.say(format_args!("{part}\n"));
        }
        self.said = Some((part, 0));
    }

    fn say(&self, text: std::fmt::Arguments<'_>) {
        // That nobody reads it is no failure.
        let _ = door::to_error(Form::Text, &text.to_string());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal && self.said.is_some() {
            door::over(format_args!(""));
        }
    }
}
