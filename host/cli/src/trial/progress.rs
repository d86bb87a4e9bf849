//! What is said while trials run: a line that is written over on a terminal, else a line at each phase.

use std::time::{Duration, Instant};

use underbar_report::units::counted;

use super::say::long;

/// Tells on standard error how far the trials are.
pub struct Progress {
    printer: underbar_shown::progress::Progress,
    phase: String,
    /// What there are so many of: a run, or an epoch of one.
    each: &'static str,
    runs: usize,
    done: usize,
    begun: Instant,
}

impl Progress {
    /// Says nothing where `quiet`.
    pub fn new(quiet: bool) -> Progress {
        Progress {
            printer: underbar_shown::progress::Progress::new(quiet, Duration::ZERO, Duration::ZERO),
            phase: String::new(),
            each: "run",
            runs: 0,
            done: 0,
            begun: Instant::now(),
        }
    }

    /// Says something that stays.
    pub fn say(&mut self, line: &str) {
        self.printer.note(format_args!("underbar: {line}"));
    }

    /// A phase of so many runs begins.
    pub fn phase(&mut self, phase: &str, runs: usize) {
        self.phase_of("run", phase, runs);
    }

    /// A phase of so many epochs begins.
    pub fn epochs(&mut self, phase: &str, epochs: usize) {
        self.phase_of("epoch", phase, epochs);
    }

    fn phase_of(&mut self, each: &'static str, phase: &str, runs: usize) {
        self.clear();
        self.each = each;
        (self.phase, self.runs, self.done, self.begun) = (phase.to_owned(), runs, 0, Instant::now());
        if !self.printer.is_terminal() {
            self.say(&format!("{phase}: {}", counted(runs as u64, each, &format!("{each}s"))));
        }
    }

    /// A run of this arm begins.
    pub fn run(&mut self, arm: &str) {
        let left = match self.done {
            0 => String::new(),
            done => {
                let each = self.begun.elapsed() / u32::try_from(done).unwrap_or(u32::MAX);
                let runs = u32::try_from(self.runs.saturating_sub(done)).unwrap_or(u32::MAX);
                format!(", {} left", rough(each.saturating_mul(runs)))
            }
        };
        let (phase, each, next, runs) = (&self.phase, self.each, self.done + 1, self.runs);
        self.printer.over(format_args!("{phase}: {each} {next} of {runs}{left} ({arm})"));
    }

    /// A run has ended.
    pub fn ran(&mut self) {
        self.done += 1;
    }

    /// Takes the line that is written over off the terminal.
    pub fn clear(&mut self) {
        self.printer.clear();
    }
}

/// Whole seconds: a figure that trembles is no comfort.
fn rough(duration: Duration) -> String {
    long(Duration::from_secs(duration.as_secs() + 1)).replace(".0 s", " s")
}
