//! One run of the program: captured, measured, and checked.
//!
//! ```text
//! setup ─> program ─> cleanup                      measured: the program
//! setup ─> program, ready, load, SIGTERM ─> cleanup   measured: the program; elapsed: that of the load
//! ```
//!
//! Invariant: setup and cleanup are never measured, and cleanup always follows, whatever happened in between.
//! Not here: the runs and their order ([`super::rounds`]); a server under its load (`server`).

mod server;

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::time::{Duration, Instant};
use underbar_shown::Shown;

use underbar_launch::{Ended, Failure, How, Launch, LedgerFile, Library, Process, Session, counter_of};
use underbar_report::Report;
use underbar_verdict::sample::Sample;

use super::arms::Beside;
use super::flags::Flags;
use super::{Stop, files, say};
use crate::say::Kind;
use underbar_runner::layers::Layers;
use underbar_runner::looks::Looks;
use underbar_runner::{Finished, Runner};

/// The time for a program to end after it was told to.
const GRACE: Duration = Duration::from_secs(10);

/// The task; the same in every run.
pub struct Task<'a> {
    /// The program, as the user named it.
    pub program: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// The flags of the trial.
    pub flags: &'a Flags,
    /// Its standard input.
    pub input: File,
    /// The library for all arms but plain.
    pub library: &'a Library,
    /// Runs whose accounts are read are also looked at from outside, once in each interval.
    pub every: Option<Duration>,
    /// It keeps requests to end.
    pub session: &'a Session,
    /// Was the user told that a compared file does not exist?
    was_absent: Cell<bool>,
    /// Was the user told that a server is not ready yet?
    was_late: Cell<bool>,
}

/// The difference between arms.
#[derive(Clone, Copy)]
pub enum Way<'a> {
    /// Without the library.
    Plain,
    /// With the library and these options.
    Under(&'a Layers),
    /// Without the library, and with something else.
    Beside(&'a Beside),
}

/// Why a run failed. Its figures are not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ended with another exit code than expected.
    Exited(i32),
    /// It died by a signal.
    Killed(i32),
    /// It exceeded the limit, and was ended.
    TimedOut(Duration),
    /// The server was not ready in this time; how the last question ended.
    NotReady(Duration, How),
    /// Whether the server is ready cannot be asked: the command of this flag cannot be executed or found.
    NoQuestion(&'static str, How),
    /// The server ended before it was told to.
    EndedEarly(How),
    /// The command of `--load` failed.
    Load(How),
    /// The server did not end when it was told to.
    DidNotEnd,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Exited(code) => f.write_str(&say::how(How::Exited(*code))),
            Fault::Killed(signal) => f.write_str(&say::how(How::Killed(*signal))),
            Fault::TimedOut(limit) => write!(f, "took longer than {}", say::long(*limit)),
            Fault::NotReady(limit, how) => {
                write!(
                    f,
                    "was not ready after {}: asked last, the command {}",
                    say::long(*limit),
                    say::how(*how)
                )
            }
            Fault::NoQuestion(flag, how) => {
                write!(f, "cannot be asked whether it is ready: the command of {flag} {}", say::how(*how))
            }
            Fault::EndedEarly(how) => write!(f, "{} before it was told to", say::how(*how)),
            Fault::Load(how) => write!(f, "its load {}", say::how(*how)),
            Fault::DidNotEnd => write!(f, "did not end {} after SIGTERM", say::long(GRACE)),
        }
    }
}

/// A run that was made.
pub struct Once {
    /// Its figures.
    pub sample: Sample,
    /// Why it failed, if it did.
    pub fault: Option<Fault>,
    /// Its accounts, if they were asked for.
    pub report: Option<Report>,
    /// Why accounts are missing that were wanted.
    pub no_accounts: Option<String>,
    /// Why it ran without the library, if it should have had it.
    pub not_carried: Option<Stop>,
    /// Its standard error.
    pub error: File,
    /// Time from before setup to after cleanup.
    pub all_of_it: Duration,
}

/// A task that goes on while the program runs.
pub trait SideTask {
    /// The program starts, with this ledger.
    fn begin(&mut self, ledger: &Path);

    /// Does the step that is due. Returns the time until the next step, None when all is done.
    fn step(&mut self) -> Option<Duration>;
}

/// What happened in a program's run.
struct Seen<'m> {
    fault: Option<Fault>,
    was_stopped: bool,
    /// A task to do while it runs.
    meanwhile: Option<Meanwhile<'m>>,
}

/// Called repeatedly; returns the time until the next call, and None when it is done.
type Meanwhile<'m> = &'m mut dyn FnMut() -> Option<Duration>;

impl Seen<'_> {
    fn nothing() -> Seen<'static> {
        Seen { fault: None, was_stopped: false, meanwhile: None }
    }

    /// Does the task; None if nothing is left to do.
    fn go_on(&mut self) -> Option<Duration> {
        self.meanwhile.as_mut().and_then(|meanwhile| meanwhile())
    }

    /// As [`Process::wait`], and does the task meanwhile.
    fn wait(
        &mut self,
        process: &mut Process<'_>,
        patience: Option<Duration>,
    ) -> Result<Option<Ended>, Failure> {
        let begin = Instant::now();
        loop {
            let left = patience.map(|patience| patience.saturating_sub(begin.elapsed()));
            let again = self.go_on();
            let until = match (left, again) {
                (Some(left), Some(again)) => Some(left.min(again)),
                (left, again) => left.or(again),
            };
            if let Some(ended) = process.wait(until)? {
                return Ok(Some(ended));
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
        }
    }
}

impl<'a> Task<'a> {
    /// A task without runs so far.
    pub fn new(
        (program, arguments): (&'a OsStr, &'a [OsString]),
        flags: &'a Flags,
        input: File,
        library: &'a Library,
        session: &'a Session,
    ) -> Task<'a> {
        Task {
            program,
            arguments,
            flags,
            input,
            library,
            every: None,
            session,
            was_absent: Cell::new(false),
            was_late: Cell::new(false),
        }
    }
}

impl Task<'_> {
    /// Runs the program once.
    pub fn once(&self, way: Way<'_>) -> Result<Once, Stop> {
        self.repeated(way, false)
    }

    /// Runs the program once, and reads its accounts.
    pub fn with_report(&self, way: Way<'_>) -> Result<Once, Stop> {
        self.repeated(way, true)
    }

    fn repeated(&self, way: Way<'_>, report: bool) -> Result<Once, Stop> {
        loop {
            // A run that was stopped for a while is repeated: its times are useless, and it is no failure.
            let (once, was_stopped) = self.attempt(way, report, None)?;
            if !was_stopped {
                return Ok(once);
            }
        }
    }

    /// Runs the program once, and does a task meanwhile. If the run is stopped for a while, that spoils a part of the task, not
    /// the run.
    pub fn while_doing(&self, way: Way<'_>, task: &mut dyn SideTask) -> Result<Once, Stop> {
        self.attempt(way, false, Some(task)).map(|(once, _)| once)
    }

    /// One run, and whether it was stopped for a while.
    fn attempt(
        &self,
        way: Way<'_>,
        report: bool,
        side_task: Option<&mut dyn SideTask>,
    ) -> Result<(Once, bool), Stop> {
        let begin = Instant::now();
        self.go_on()?;
        self.around("--setup", self.flags.setup.as_deref())?;
        let measured = self.measured(way, report, side_task);
        let cleaned = self.around("--cleanup", self.flags.cleanup.as_deref());
        let (mut once, was_stopped) = measured?;
        cleaned?;
        self.go_on()?;
        once.all_of_it = begin.elapsed();
        Ok((once, was_stopped))
    }

    fn measured(
        &self,
        way: Way<'_>,
        report: bool,
        side_task: Option<&mut dyn SideTask>,
    ) -> Result<(Once, bool), Stop> {
        let [mut output, server_output, mut error] =
            [files::nameless()?, files::nameless()?, files::nameless()?];
        (&self.input).rewind()?;
        let none = Layers::new(self.flags.opts_base.into());
        let (library, layers) = match way {
            Way::Plain | Way::Beside(_) => (None, &none),
            Way::Under(layers) => (Some(self.library), layers),
        };
        let before = files::Before::of(&self.flags.check);
        let captured = if self.flags.load.is_some() { &server_output } else { &output };
        let streams = [Some(&self.input), Some(captured), Some(&error)];
        let runner = Runner { library, layers, follow: true, leaves: false, streams };
        let (mut fault, mut was_stopped) = (None, false);
        let mut looks = self.every.filter(|_| report).map(Looks::every);
        let by = |launch: &Launch<'_>, ledger: Option<&LedgerFile>| {
            let mut side_task = side_task.zip(ledger).map(|(task, ledger)| {
                task.begin(ledger.path());
                task
            });
            let mut looked = looks.as_mut().zip(ledger);
            let mut tick = || {
                let next_look = looked.as_mut().map(|(looks, ledger)| looks.look(ledger));
                let next_step = side_task.as_mut().and_then(|task| task.step());
                next_look.into_iter().chain(next_step).min()
            };
            let mut seen = Seen { meanwhile: Some(&mut tick), ..Seen::nothing() };
            let other = if let Way::Beside(beside) = way { Some(beside.launch(launch)) } else { None };
            let mut process = self.session.start(other.as_ref().unwrap_or(launch))?;
            let ended = match &self.flags.load {
                Some(load) => self.under_load(&mut process, load, [&output, &error], &mut seen),
                None => self.to_its_end(&mut process, &mut seen),
            };
            (fault, was_stopped) = (seen.fault, seen.was_stopped | process.was_stopped());
            ended
        };
        let (ended, report, no_accounts) = if report {
            let Finished { ended, mut report, no_accounts, .. } =
                runner.run_by(self.program, self.arguments, by)?;
            if let Some(looks) = looks {
                looks.finish(&mut report);
            }
            (ended, Some(report), no_accounts)
        } else {
            // Accounts are kept, as in the user's own runs, but not read: they would stay in this command's memory.
            let (ended, no_accounts, _) = runner.run_unread(self.program, self.arguments, by)?;
            (ended, None, no_accounts)
        };
        self.go_on()?;
        let print = files::fingerprint(&mut output, &before)?;
        if let Some(path) = before.absent()
            && !self.was_absent.replace(true)
        {
            let path = path.shown();
            self.flags.say(Kind::Warning, format_args!("--check {path}: no such file after a run"));
        }
        let sample = Sample {
            cpu_ns: ended.usage.user_nanoseconds() + ended.usage.system_nanoseconds(),
            elapsed_ns: u64::try_from(ended.elapsed.as_nanos()).unwrap_or(u64::MAX),
            peak_rss_bytes: ended.usage.peak_resident_bytes(),
            faults: ended.usage.minor_faults() + ended.usage.major_faults(),
            ended_well: fault.is_none(),
            output: Some(print),
        };
        let not_carried = match way {
            Way::Beside(beside) => {
                let why = beside.not_carried(self.program, self.library, &mut error);
                why.map(|why| Stop::NoFile(format!("--preload: {why}")))
            }
            _ => ended.not_carried.map(|reason| {
                let why = counter_of(reason).entry().label;
                Stop::NoLibrary(format!("underbar cannot be loaded into this program ({why})"))
            }),
        };
        let once = Once { sample, fault, report, no_accounts, not_carried, error, all_of_it: Duration::ZERO };
        Ok((once, was_stopped))
    }

    /// Waits for the program's end.
    fn to_its_end(&self, process: &mut Process<'_>, seen: &mut Seen<'_>) -> Result<Ended, Stop> {
        match seen.wait(process, self.flags.timeout)? {
            Some(ended) => {
                seen.fault = self.fault_of(ended.how);
                Ok(ended)
            }
            None => {
                seen.fault = self.flags.timeout.map(Fault::TimedOut);
                Ok(process.stop(GRACE)?)
            }
        }
    }

    fn fault_of(&self, how: How) -> Option<Fault> {
        match how {
            How::Exited(code) if code == self.flags.expect => None,
            How::Exited(code) => Some(Fault::Exited(code)),
            How::Killed(signal) => Some(Fault::Killed(signal)),
        }
    }

    /// Runs a shell command without the library, with these files as its output and error.
    fn shell(
        &self,
        command: &str,
        [output, error]: [&File; 2],
        limit: Duration,
        seen: &mut Seen<'_>,
    ) -> Result<(How, Duration), Stop> {
        let launch = Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), command.into()],
            library: None,
            variables: Vec::new(),
            follow: true,
            streams: [Some(&files::nameless()?), Some(output), Some(error)],
        };
        let mut process = self.session.start(&launch)?;
        let ended = match seen.wait(&mut process, (limit < Duration::MAX).then_some(limit))? {
            Some(ended) => ended,
            None => {
                seen.fault = Some(Fault::TimedOut(limit));
                process.stop(GRACE)?
            }
        };
        seen.was_stopped |= process.was_stopped();
        Ok((ended.how, ended.elapsed))
    }

    /// Runs a command of the user before or after a run.
    fn around(&self, flag: &'static str, command: Option<&str>) -> Result<(), Stop> {
        let Some(command) = command else { return Ok(()) };
        let mut said = files::nameless()?;
        let mut seen = Seen::nothing();
        let (how, _) = self.shell(command, [&said, &said], Duration::MAX, &mut seen)?;
        if how != How::Exited(0) {
            self.go_on()?;
            return Err(Stop::Around { flag, how, said: files::tail(&mut said) });
        }
        Ok(())
    }

    /// An error if there was a request to end.
    fn go_on(&self) -> Result<(), Stop> {
        self.session.told().map_or(Ok(()), |signal| Err(Stop::Told(signal)))
    }
}
