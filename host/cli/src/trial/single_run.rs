//! One run of the program: as it is tried, captured, measured, and checked.
//!
//! ```text
//! setup ─> program ─> cleanup                      measured: the program
//! setup ─> program, ready, load, SIGTERM ─> cleanup   measured: the program; elapsed: that of the load
//! ```
//!
//! Invariant: setup and cleanup are never measured, and cleanup follows whatever happened in between.
//! Not here: which runs, and in what order ([`super::rounds`]); a server under its load (`server`).

mod server;

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Seek;
use std::time::{Duration, Instant};
use underbar_shown::Shown;

use underbar_launch::{Ended, Failure, How, Launch, LedgerFile, Library, Process, Session, counter_of};
use underbar_report::Report;
use underbar_verdict::sample::Sample;

use super::flags::Flags;
use super::live::{Live, Watch};
use super::{Stop, files, say};
use crate::say::Kind;
use underbar_runner::layers::Layers;
use underbar_runner::{Finished, Runner};

/// How long a program that is told to end may take for it.
const GRACE: Duration = Duration::from_secs(10);

/// What is run; the same in every run.
pub struct Task<'a> {
    /// The program, as the user named it.
    pub program: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// How it is tried.
    pub flags: &'a Flags,
    /// What it reads.
    pub input: File,
    /// The library for all arms but plain.
    pub library: &'a Library,
    /// Where requests to end are kept.
    pub session: &'a Session,
    /// Was the user told that a file to be compared is not there?
    was_absent: Cell<bool>,
    /// And that a server takes its time?
    was_late: Cell<bool>,
}

/// What differs between arms.
#[derive(Clone, Copy)]
pub enum Way<'a> {
    /// Without the library.
    Plain,
    /// With the library and these options.
    Under(&'a Layers),
}

/// Why a run failed. Its figures count for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ended with another exit code than expected.
    Exited(i32),
    /// It died by a signal.
    Killed(i32),
    /// It outlived the limit, and was ended.
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
    /// Its accounts, where they were asked for.
    pub report: Option<Report>,
    /// Why there are no accounts, where there should be some.
    pub no_accounts: Option<String>,
    /// Why it ran without the library, where it should have had it.
    pub not_carried: Option<&'static str>,
    /// What it wrote on standard error.
    pub error: File,
    /// From before setup to after cleanup.
    pub all_of_it: Duration,
}

/// What a program was seen to do.
struct Seen<'m> {
    fault: Option<Fault>,
    was_stopped: bool,
    /// Something to be done while it runs.
    meanwhile: Option<Meanwhile<'m>>,
}

/// Called now and then; says when it wants to be called again, and None when it is done.
type Meanwhile<'m> = &'m mut dyn FnMut() -> Option<Duration>;

impl Seen<'_> {
    fn nothing() -> Seen<'static> {
        Seen { fault: None, was_stopped: false, meanwhile: None }
    }

    /// Does what is to be done meanwhile; None where nothing is to be done any more.
    fn go_on(&mut self) -> Option<Duration> {
        self.meanwhile.as_mut().and_then(|meanwhile| meanwhile())
    }

    /// As [`Process::wait`], and does meanwhile what is to be done.
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
    /// Nothing was run yet.
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
            // A run that was stopped for a while is made again: its times say nothing, and nobody failed.
            let (once, was_stopped) = self.attempt(way, report, None)?;
            if !was_stopped {
                return Ok(once);
            }
        }
    }

    /// Runs the program once, while one lock's waiting is tried in it. That it was stopped for a while spoils an epoch,
    /// not the run.
    pub fn while_trying(&self, way: Way<'_>, live: &mut Live<'_>) -> Result<Once, Stop> {
        self.attempt(way, false, Some(live)).map(|(once, _)| once)
    }

    /// One run, and whether it was stopped for a while.
    fn attempt(&self, way: Way<'_>, report: bool, live: Option<&mut Live<'_>>) -> Result<(Once, bool), Stop> {
        let begin = Instant::now();
        self.go_on()?;
        self.around("--setup", self.flags.setup.as_deref())?;
        let measured = self.measured(way, report, live);
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
        live: Option<&mut Live<'_>>,
    ) -> Result<(Once, bool), Stop> {
        let [mut output, server_output, error] = [files::nameless()?, files::nameless()?, files::nameless()?];
        (&self.input).rewind()?;
        let none = Layers::new(self.flags.opts_base.into());
        let (library, layers) = match way {
            Way::Plain => (None, &none),
            Way::Under(layers) => (Some(self.library), layers),
        };
        let before = files::Before::of(&self.flags.check);
        let captured = if self.flags.load.is_some() { &server_output } else { &output };
        let streams = [Some(&self.input), Some(captured), Some(&error)];
        let runner = Runner { library, layers, follow: true, leaves: false, streams };
        let (mut fault, mut was_stopped) = (None, false);
        let by = |launch: &Launch<'_>, ledger: Option<&LedgerFile>| {
            let mut watch = live.zip(ledger).map(|(live, ledger)| Watch::new(live, ledger.path()));
            let mut tick = || watch.as_mut().and_then(Watch::tick);
            let mut seen = Seen { meanwhile: Some(&mut tick), ..Seen::nothing() };
            let mut process = self.session.start(launch)?;
            let ended = match &self.flags.load {
                Some(load) => self.under_load(&mut process, load, [&output, &error], &mut seen),
                None => self.to_its_end(&mut process, &mut seen),
            };
            (fault, was_stopped) = (seen.fault, seen.was_stopped | process.was_stopped());
            ended
        };
        let (ended, report, no_accounts) = if report {
            let Finished { ended, report, no_accounts } = runner.run_by(self.program, self.arguments, by)?;
            (ended, Some(report), no_accounts)
        } else {
            // Accounts are kept, as they are for the user, but not read: what is read stays in our memory.
            let (ended, no_accounts) = runner.run_unread(self.program, self.arguments, by)?;
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
        let once = Once {
            sample,
            fault,
            report,
            no_accounts,
            not_carried: ended.not_carried.map(|reason| counter_of(reason).entry().label),
            error,
            all_of_it: Duration::ZERO,
        };
        Ok((once, was_stopped))
    }

    /// Stays with the program to its end.
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

    /// Runs a command of the user around a run.
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

    /// Fails where we were asked to end.
    fn go_on(&self) -> Result<(), Stop> {
        self.session.told().map_or(Ok(()), |signal| Err(Stop::Told(signal)))
    }
}
