//! The progress of a demo, on standard error, if it takes longer than a second.

use std::time::Duration;

/// The time before the first line of progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows the progress of a demo: on a terminal in one line, which is erased at the end; elsewhere in a line for
/// each part and round.
pub struct Progress {
    printer: underbar_shown::progress::Progress,
    part: &'static str,
    said: Option<(&'static str, usize)>,
}

impl Progress {
    /// Starts the clock.
    pub fn new(quiet: bool) -> Progress {
        let printer = underbar_shown::progress::Progress::new(quiet, PATIENCE, Duration::ZERO);
        Progress { printer, part: "", said: None }
    }

    /// Begins a new part.
    pub fn part(&mut self, part: &'static str) {
        self.part = part;
    }

    /// The next run of a round.
    pub fn at(&mut self, round: usize, rounds: usize, turn: usize, turns: usize) {
        let (part, round) = (self.part, round + 1);
        self.printer.over(format_args!("{part}: round {round} of {rounds}, run {} of {turns}", turn + 1));
        self.note(round, format_args!("{part}: round {round} of {rounds}"));
    }

    /// The next step of a part without rounds.
    pub fn step(&mut self, step: usize, steps: usize) {
        let part = self.part;
        self.printer.over(format_args!("{part}: {} of {steps}", step + 1));
        self.note(0, format_args!("{part}"));
    }

    /// Unless standard error is a terminal: one line for each part and round.
    fn note(&mut self, round: usize, words: std::fmt::Arguments<'_>) {
        if self.printer.is_due() && !self.printer.is_terminal() && self.said != Some((self.part, round)) {
            self.printer.note(words);
            self.said = Some((self.part, round));
        }
    }
}
