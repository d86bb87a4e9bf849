//! A progress line for long work, on standard error, only on a terminal.
//!
//! Invariant: the line is cleared when the work is done, and nothing is written if standard error is no terminal.

use std::time::Duration;

/// How far the work is.
pub struct Progress {
    what: &'static str,
    all: Option<u64>,
    printer: underbar_shown::progress::Progress,
}

impl Progress {
    /// For this many things, if the number is known. Work of less than half a second prints nothing.
    pub fn new(what: &'static str, all: Option<u64>) -> Progress {
        const FIRST: Duration = Duration::from_millis(500);
        const EVERY: Duration = Duration::from_millis(100);
        Progress { what, all, printer: underbar_shown::progress::Progress::new(false, FIRST, EVERY) }
    }

    /// This many are done.
    pub fn done(&mut self, number: u64) {
        let of = self.all.map(|all| format!(" of {all}")).unwrap_or_default();
        self.printer.over(format_args!("{number}{of} {}", self.what));
    }
}
