//! A server's run: the command asks it until it is ready, runs its load, and tells it to end.
//!
//! ```text
//! start ─> ready? ─> ready? ─> ... yes ─> load ─> SIGTERM ─> its end
//!             └ never, or the question itself cannot be asked: a fault, with the output of the question
//! ```
//!
//! Invariant: the output of the readiness question is never part of the output that is compared.

use std::fs::File;
use std::io::{self, Seek};
use std::time::{Duration, Instant};
use underbar_shown::door::{self, Form};

use underbar_launch::{Ended, How, Process};

use super::{Fault, GRACE, Seen, Task};
use crate::trial::{Stop, files, say};

/// The time for a server to become ready, if `--timeout` is not given.
const READY: Duration = Duration::from_secs(60);
/// After this time the user is told about the wait.
const LATE: Duration = Duration::from_secs(2);
/// The time between two questions.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// A shell's exit codes for a command that it cannot execute or find. Another question would end in the same way.
const NO_COMMAND: [How; 2] = [How::Exited(126), How::Exited(127)];
const TERM: i32 = 15;

impl Task<'_> {
    /// Waits until the server is ready, runs the load, and tells the server to end.
    pub(super) fn under_load(
        &self,
        server: &mut Process<'_>,
        load: &str,
        [output, error]: [&File; 2],
        seen: &mut Seen<'_>,
    ) -> Result<Ended, Stop> {
        if let Some(ended) = self.until_ready(server, load, error, seen)? {
            return Ok(ended);
        }
        let limit = self.flags.timeout.unwrap_or(Duration::MAX);
        let (mut how, elapsed) = self.shell(load, [output, error], limit, seen)?;
        // A trial during the load may take more than one load.
        while how == How::Exited(0) && seen.fault.is_none() && seen.go_on().is_some() {
            self.go_on()?;
            how = self.shell(load, [output, error], limit, seen)?.0;
        }
        if seen.fault.is_none() && how != How::Exited(0) {
            seen.fault = Some(Fault::Load(how));
        }
        if let Some(ended) = server.wait(Some(Duration::ZERO))? {
            seen.fault = Some(Fault::EndedEarly(ended.how));
            return Ok(ended);
        }
        self.go_on()?;
        let ended = server.stop(GRACE)?;
        let well = match ended.how {
            How::Exited(code) => code == self.flags.expect || code == 128 + TERM,
            How::Killed(signal) => signal == TERM,
        };
        if !well && seen.fault.is_none() {
            seen.fault = Some(match ended.how {
                How::Exited(code) => Fault::Exited(code),
                How::Killed(9) => Fault::DidNotEnd,
                How::Killed(signal) => Fault::Killed(signal),
            });
        }
        Ok(Ended { elapsed, ..ended })
    }

    /// Asks until the server is ready. Returns its end if it never became ready.
    fn until_ready(
        &self,
        server: &mut Process<'_>,
        load: &str,
        error: &File,
        seen: &mut Seen<'_>,
    ) -> Result<Option<Ended>, Stop> {
        let (flag, ready) = match self.flags.ready.as_deref() {
            Some(ready) => ("--ready", ready),
            None => ("--load", load),
        };
        let limit = self.flags.timeout.unwrap_or(READY);
        let begin = Instant::now();
        loop {
            // Only the output of the last question is shown.
            let said = files::nameless()?;
            let mut asked = Seen::nothing();
            let left = limit.saturating_sub(begin.elapsed()).max(ASK_AGAIN);
            let (how, _) = self.shell(ready, [&said, &said], left, &mut asked)?;
            seen.was_stopped |= asked.was_stopped;
            if how == How::Exited(0) && asked.fault.is_none() {
                return Ok(None);
            }
            self.go_on()?;
            if let Some(ended) = server.wait(Some(ASK_AGAIN))? {
                seen.fault = Some(Fault::EndedEarly(ended.how));
                return Ok(Some(ended));
            }
            let fault = if NO_COMMAND.contains(&how) {
                Fault::NoQuestion(flag, how)
            } else if begin.elapsed() > limit {
                Fault::NotReady(limit, how)
            } else {
                if begin.elapsed() > LATE {
                    self.say_late(flag, how, limit);
                }
                continue;
            };
            seen.fault = Some(fault);
            let ended = server.stop(GRACE)?;
            (&said).rewind()?;
            io::copy(&mut &said, &mut &*error)?;
            return Ok(Some(ended));
        }
    }

    /// Tells once what the command waits for, and for how long.
    fn say_late(&self, flag: &str, how: How, limit: Duration) {
        if !self.flags.quiet && !self.was_late.replace(true) {
            // Clears the line of progress, if there is one.
            if door::error_is_terminal() {
                door::over(format_args!(""));
            }
            let words = format!(
                "underbar: waiting until the program is ready: the command of {flag} {} so far, asked for {} at most\n",
                say::how(how),
                say::long(limit)
            );
            let _ = door::to_error(Form::Text, &words);
        }
    }
}
