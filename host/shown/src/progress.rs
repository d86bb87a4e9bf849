//! Progress of long work, on standard error: a line that is overwritten on a terminal, and lines that stay.
//!
//! ```text
//! over ── terminal ──> one line, written over, wiped at the end
//! note ── no terminal ──> a line that stays, once for each text
//! ```
//!
//! Invariant: the overwritten line is gone when the work is done. A failed write is ignored.
//! Not here: the texts, and how long work may run without one (the callers).

use std::env;
use std::fmt::Arguments;
use std::time::{Duration, Instant};

use crate::door::{self, Form};

/// Can lines be overwritten where messages go: is standard error a terminal that is not dumb?
#[must_use]
pub fn is_written_over() -> bool {
    door::error_is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The printer.
pub struct Progress {
    quiet: bool,
    terminal: bool,
    /// How long the work may run without output, and how long a line stays at least.
    first: Duration,
    every: Duration,
    begun: Instant,
    /// When the line on the terminal was written; None: there is none.
    written: Option<Instant>,
}

impl Progress {
    /// Starts the clock. `first` is how long the work may run without output, `every` how long a line on the terminal stays at
    /// least.
    #[must_use]
    pub fn new(quiet: bool, first: Duration, every: Duration) -> Progress {
        Progress { quiet, terminal: is_written_over(), first, every, begun: Instant::now(), written: None }
    }

    /// Is this a terminal, on which a line is overwritten?
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Is a new line due?
    #[must_use]
    pub fn is_due(&self) -> bool {
        !self.quiet
            && match self.written {
                Some(written) => written.elapsed() >= self.every,
                None => self.begun.elapsed() >= self.first,
            }
    }

    /// Overwrites the line of the terminal, if this is a terminal and a new line is due.
    pub fn over(&mut self, words: Arguments<'_>) {
        if self.terminal && self.is_due() {
            door::over(words);
            self.written = Some(Instant::now());
        }
    }

    /// Writes a line that stays.
    pub fn note(&mut self, words: Arguments<'_>) {
        self.clear();
        if !self.quiet {
            let _ = door::to_error(Form::Text, &format!("{words}\n"));
        }
    }

    /// Clears the line of the terminal.
    pub fn clear(&mut self) {
        if self.written.take().is_some() {
            door::over(format_args!(""));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_due_when_the_work_takes_long_and_never_where_it_is_to_be_quiet() {
        let long = Duration::from_secs(3_600);
        assert!(Progress::new(false, Duration::ZERO, long).is_due());
        assert!(!Progress::new(true, Duration::ZERO, Duration::ZERO).is_due());
        let mut progress = Progress::new(false, long, Duration::ZERO);
        assert!(!progress.is_due());
        progress.written = Some(Instant::now());
        assert!(progress.is_due(), "a line is there, and may be written over at once");
        progress.every = long;
        assert!(!progress.is_due());
        progress.written = None;
    }
}
