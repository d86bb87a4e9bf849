//! A line on standard error that says how far a long piece of work is, on a terminal only.
//!
//! Invariant: nothing is left of it when the work is done, and nothing is written where nobody sees it.

use std::time::Duration;

/// How far the work is.
pub struct Progress {
    what: &'static str,
    all: Option<u64>,
    printer: underbar_shown::progress::Progress,
}

impl Progress {
    /// Of so many things, if that is known. Work of less than half a second says nothing.
    pub fn new(what: &'static str, all: Option<u64>) -> Progress {
        const FIRST: Duration = Duration::from_millis(500);
        const EVERY: Duration = Duration::from_millis(100);
        Progress { what, all, printer: underbar_shown::progress::Progress::new(false, FIRST, EVERY) }
    }

    /// So many are done.
    pub fn done(&mut self, number: u64) {
        let of = self.all.map(|all| format!(" of {all}")).unwrap_or_default();
        self.printer.over(format_args!("{number}{of} {}", self.what));
    }
}
