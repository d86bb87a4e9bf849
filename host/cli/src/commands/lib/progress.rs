//! A line on standard error that says how far a long piece of work is, on a terminal only.
//!
//! Invariant: nothing is left of it when the work is done, and nothing is written where nobody sees it.

use std::time::{Duration, Instant};

use crate::door;

/// How far the work is.
pub struct Progress {
    what: &'static str,
    all: Option<u64>,
    is_shown: bool,
    begun: Instant,
    said: Option<Instant>,
}

impl Progress {
    /// Of so many things, if that is known.
    pub fn new(what: &'static str, all: Option<u64>) -> Progress {
        let is_shown =
            door::error_is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Progress { what, all, is_shown, begun: Instant::now(), said: None }
    }

    /// So many are done. Work of less than half a second says nothing.
    pub fn done(&mut self, number: u64) {
        const EVERY: Duration = Duration::from_millis(100);
        const FIRST: Duration = Duration::from_millis(500);
        if !self.is_shown || self.said.map_or(self.begun.elapsed() < FIRST, |said| said.elapsed() < EVERY) {
            return;
        }
        self.said = Some(Instant::now());
        let of = self.all.map(|all| format!(" of {all}")).unwrap_or_default();
        door::over(format_args!("{number}{of} {}", self.what));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.said.is_some() {
            door::over(format_args!(""));
        }
    }
}
