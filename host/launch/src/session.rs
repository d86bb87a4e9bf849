//! Programs that a measuring command runs one after another, or at the same time: with time limits,
//! and interruptible.
//!
//! ```text
//! Session::begin  signals blocked until it is dropped, also between two programs
//!   start ─> Process ── wait(patience) ─> Ended, or nothing yet
//!                    └─ stopped, or dropped before its end: killed and waited for, with its descendants
//! told  the signal that asked us to end (Ctrl-C, SIGTERM, ...), once there was one
//! ```
//!
//! As in `run`, a program is in our process group and has received signals from the terminal; signals that a process sent
//! to us alone are sent on. A second request to end kills the program.
//! Invariant: no handler, no second thread; a process is waited for before its number can be reused.
//! Not here: the measures, and the number of runs.

use std::cell::Cell;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use underbar_sys::inherited::inherited;
use underbar_sys::process::{Change, Child, Usage, start};
use underbar_sys::signal::{self, Disposition, SignalSet, Taken, name};
use underbar_sys::syscall::{Errno, getpid, kill};

use crate::program::{self, Failure};
use crate::run::{Ended, How, LOOK_AGAIN, Prepared, stop_too, was_for_us_alone};
use crate::started::Started;
use crate::{Launch, Reason};

/// The signals that ask us to end.
const ENDING: [i32; 4] = [name::INT, name::TERM, name::HUP, name::QUIT];

/// Blocked signals, so that a request to end is read at a chosen time, and does not end us at once.
pub struct Session {
    /// The earlier signal mask, with which programs are started.
    mask: SignalSet,
    taken: SignalSet,
    told: Cell<Option<i32>>,
}

impl Session {
    /// Blocks signals from now on. In a process with several threads, the others must do so, too.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn begin() -> Result<Session, Failure> {
        let taken = ENDING
            .into_iter()
            .chain([name::TSTP, name::CONT])
            .filter(|&signal| signal::disposition(signal) != Disposition::Ignore)
            .fold(SignalSet::NONE.with(name::CHLD), SignalSet::with);
        if inherited().ignored.has(name::CHLD) {
            // Otherwise the kernel would not report the end of a program.
            let _ = signal::set_disposition(name::CHLD, Disposition::Default);
        }
        let mask = signal::block(taken).map_err(Failure::NoProcess)?;
        Ok(Session { mask, taken, told: Cell::new(None) })
    }

    /// The signal that asked us to end, if there was one.
    #[must_use]
    pub fn told(&self) -> Option<i32> {
        while let Ok(Some(taken)) = signal::wait_for(self.taken, Duration::ZERO) {
            match taken.signal {
                signal if ENDING.contains(&signal) => self.told.set(Some(signal)),
                name::TSTP => {
                    let _ = kill(getpid(), name::STOP);
                }
                _ => {}
            }
        }
        self.told.get()
    }

    /// Starts a program.
    ///
    /// # Errors
    /// If no process could be started; a program that cannot be executed shows in its end.
    pub fn start(&self, launch: &Launch<'_>) -> Result<Process<'_>, Failure> {
        let not_carried = launch.not_carried();
        let prepared = Prepared::new(launch, not_carried)?;
        let begin = Instant::now();
        let child = prepared.with(self.mask, start).map_err(Failure::NoProcess)?;
        Ok(Process {
            session: self,
            program: launch.program.clone(),
            prepared,
            child: Some(child),
            begin,
            not_carried,
            was_stopped: false,
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Pending signals asked for an end that has come.
        let _ = self.told();
        let _ = signal::set_mask(self.mask);
    }
}

/// A program that was started as our child.
pub struct Process<'s> {
    session: &'s Session,
    program: OsString,
    prepared: Prepared,
    /// None once it has ended.
    child: Option<Child>,
    begin: Instant,
    not_carried: Option<Reason>,
    was_stopped: bool,
}

impl Process<'_> {
    /// Waits until the program has ended, at most for `patience` (None: for ever). Ok(None): it has not.
    ///
    /// # Errors
    /// If it could not be executed, or was waited for before.
    pub fn wait(&mut self, patience: Option<Duration>) -> Result<Option<Ended>, Failure> {
        let asked = Instant::now();
        loop {
            // First, since its signal may have been taken during a wait for another program.
            if let Some((how, usage)) = self.end().map_err(Failure::NoProcess)? {
                let elapsed = self.begin.elapsed();
                if let Some(ended) = self.ended(how, usage, elapsed)? {
                    return Ok(Some(ended));
                }
            }
            let taken = match patience {
                None => signal::wait_for(self.session.taken, LOOK_AGAIN),
                Some(patience) => {
                    let left = patience.saturating_sub(asked.elapsed());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    signal::wait_for(self.session.taken, left.min(LOOK_AGAIN))
                }
            };
            if let Some(taken) = taken.map_err(Failure::NoProcess)? {
                self.take(&taken);
            }
        }
    }

    /// Sends the program a signal, unless it has ended.
    pub fn send(&self, signal: i32) {
        if let Some(child) = &self.child {
            child.send(signal);
        }
    }

    /// Asks the program to end (SIGTERM), and kills it if it has not ended after `grace`. Its remaining descendants
    /// are then killed: they would run during the next measurement.
    ///
    /// # Errors
    /// As [`Process::wait`].
    pub fn stop(&mut self, grace: Duration) -> Result<Ended, Failure> {
        let started = self.started();
        self.send(name::TERM);
        let mut ended = self.wait(Some(grace))?;
        let mut later = None;
        if ended.is_none() {
            later = self.started();
            self.send(name::KILL);
            ended = self.wait(None)?;
        }
        [started, later].into_iter().flatten().for_each(Started::kill);
        ended.ok_or(Failure::NoProcess(Errno::ESRCH))
    }

    /// The descendants of the program; None if it has ended.
    fn started(&self) -> Option<Started> {
        self.child.as_ref().map(|child| Started::by(child.pid))
    }

    /// Whether it was stopped for a while (Ctrl-Z). Then its elapsed time is not usable.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        self.was_stopped
    }

    fn take(&self, taken: &Taken) {
        if taken.signal == name::CONT {
            self.send(name::CONT);
        } else if taken.signal == name::TSTP && taken.was_sent() {
            self.send(name::TSTP);
        } else if ENDING.contains(&taken.signal) {
            if self.session.told.replace(Some(taken.signal)).is_some() {
                self.send(name::KILL);
            } else if was_for_us_alone(taken) {
                self.send(taken.signal);
            }
        }
    }

    /// How it ended, if it has.
    fn end(&mut self) -> Result<Option<(How, Usage)>, Errno> {
        let Some(child) = &self.child else { return Err(Errno::ESRCH) };
        while let Some((change, usage)) = child.change()? {
            match change {
                Change::Exited(code) => return Ok(Some((How::Exited(code), usage))),
                Change::Killed(signal) => return Ok(Some((How::Killed(signal), usage))),
                Change::Continued => {}
                Change::Stopped(by) => {
                    self.was_stopped = true;
                    // Without a watcher: a trial that stops itself ends when its time is over.
                    let _ = stop_too(by, false);
                }
            }
        }
        Ok(None)
    }

    /// Its end; None if a shell had to be started instead, for a script without `#!`.
    fn ended(&mut self, how: How, usage: Usage, elapsed: Duration) -> Result<Option<Ended>, Failure> {
        let Some(child) = self.child.take() else { return Err(Failure::NoProcess(Errno::ESRCH)) };
        let pid = child.pid;
        let Some(refused) = child.refused() else {
            return Ok(Some(Ended { how, pid, usage, elapsed, not_carried: self.not_carried }));
        };
        let Some(by_shell) = self.prepared.by_shell(refused) else {
            return Err(program::failure(&self.program, &self.prepared.paths, refused));
        };
        self.begin = Instant::now();
        self.child = Some(by_shell.with(self.session.mask, start).map_err(Failure::NoProcess)?);
        self.prepared = by_shell;
        Ok(None)
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        let started = self.started();
        self.send(name::KILL);
        while let Some(child) = &self.child {
            match child.change() {
                Ok(None) => {
                    let _ = signal::wait_for(SignalSet::NONE.with(name::CHLD), LOOK_AGAIN);
                }
                Ok(Some((Change::Exited(_) | Change::Killed(_), _))) | Err(_) => {
                    // Closes its error pipe.
                    let _ = self.child.take().map(Child::refused);
                }
                Ok(Some(_)) => {}
            }
        }
        started.into_iter().for_each(Started::kill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Launch<'static> {
        Launch {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            library: None,
            variables: Vec::new(),
            follow: true,
            streams: [None; 3],
        }
    }

    // A request to end is not tested here: the other threads of a test do not block it. The zoo tests it.
    #[test]
    fn programs_run_beside_each_other_and_end_in_time() {
        let session = Session::begin().expect("signals held back");
        let mut first = session.start(&shell("exec sleep 1000")).expect("started");
        let mut second = session.start(&shell("exit 5")).expect("started");
        let ended = second.wait(None).expect("ours").expect("no limit");
        assert_eq!(ended.how, How::Exited(5));
        assert!(second.wait(None).is_err(), "it ends once");
        assert!(first.wait(Some(Duration::from_millis(1))).expect("ours").is_none());
        let ended = first.stop(Duration::from_secs(60)).expect("ours");
        assert_eq!(ended.how, How::Killed(name::TERM));

        let mut stubborn = session.start(&shell("trap '' TERM; exec sleep 1000"));
        let stubborn = stubborn.as_mut().expect("started");
        // Whether or not the trap is set by then: one of the two ends it.
        let ended = stubborn.stop(Duration::from_millis(200)).expect("ours");
        assert!([How::Killed(name::TERM), How::Killed(name::KILL)].contains(&ended.how), "{ended:?}");

        let dropped = session.start(&shell("exec sleep 1000")).expect("started");
        let pid = dropped.child.as_ref().expect("running").pid;
        drop(dropped);
        assert_eq!(kill(pid, 0), Err(Errno::ESRCH), "killed and waited for");

        let mut absent = Launch { program: "/no/such/program".into(), ..shell("") };
        let failure = session.start(&absent).expect("a process").wait(None).expect_err("no program");
        assert_eq!(failure.exit_code(), 127);
        absent.program = "a\0b".into();
        assert!(session.start(&absent).is_err());

        // A descendant that it did not wait for.
        for stops in [true, false] {
            let mut parent = session.start(&shell("sleep 1000 & trap 'exit 7' TERM; wait")).expect("started");
            let pid = parent.child.as_ref().expect("running").pid;
            let begin = Instant::now();
            let sleeper = loop {
                let started = Started::by(pid);
                if let [(sleeper, _)] = started.0[..] {
                    break sleeper;
                }
                assert!(begin.elapsed() < Duration::from_secs(60));
            };
            if stops {
                let _ = parent.stop(Duration::from_secs(60)).expect("ours");
            }
            drop(parent);
            while crate::alive::is_alive(sleeper.cast_unsigned()) {
                assert!(begin.elapsed() < Duration::from_secs(60), "it lives on");
            }
        }

        assert_eq!(session.told(), None);
    }
}
