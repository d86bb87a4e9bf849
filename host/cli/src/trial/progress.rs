//! Progress of trials: a line that is overwritten on a terminal, otherwise a line at each phase.

use std::time::{Duration, Instant};

use underbar_report::units::counted;

use super::say::long;

/// Writes the progress of the trials on standard error.
pub struct Progress {
    printer: underbar_shown::progress::Progress,
    phase: String,
    /// The unit that is counted: a run, or an epoch of one.
    each: &'static str,
    runs: usize,
    done: usize,
    begun: Instant,
}

impl Progress {
    /// Writes nothing if `quiet`.
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

    /// Writes a line that stays.
    pub fn say(&mut self, line: &str) {
        self.printer.note(format_args!("underbar: {line}"));
    }

    /// A phase of this many runs begins.
    pub fn phase(&mut self, phase: &str, runs: usize) {
        self.phase_of("run", phase, runs);
    }

    /// A phase of this many epochs begins.
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

    /// Clears the line of the terminal.
    pub fn clear(&mut self) {
        self.printer.clear();
    }
}

/// Whole seconds: a figure that changes all the time does not help.
fn rough(duration: Duration) -> String {
    long(Duration::from_secs(duration.as_secs() + 1)).replace(".0 s", " s")
}
