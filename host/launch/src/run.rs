//! The program as our child, in the manner of `timeout`; or in our own place, without a parent.
//!
//! ```text
//! signal sent to us by a process ─────────────> sent on to the program, with its value
//! the same, sent by the program itself ───────> nothing: it sent it to its whole group, and has received it
//! signal from the terminal (Ctrl-C, Ctrl-Z) ──> nothing: the program, in our process group, has received it
//! signal from the kernel for us alone ────────> sent on: the terminal of the session that we lead is gone, or
//!                                               a timer ran out that was set before we were executed
//! program stopped ────────────────────────────> we stop, so that the shell sees it, and takes the terminal back
//! we are continued ───────────────────────────> so is the program, where it is not yet
//! another process continues the program ──────> so are we, by a watcher that lives as long as we are stopped
//! program ended ──────────────────────────────> Ended; later, Ended::leave: the same code or signal
//! ```
//!
//! As the first process of a container, this command also waits for processes whose parents have ended, so that none stays a zombie.
//!
//! Invariant: signals are blocked and taken one by one, so there is no handler and no race with one. A signal that was ignored
//! when we were started stays ignored for us, and for the program unless it decides otherwise: it is sent on like any
//! other. If we are killed, so is the program.
//! Known limits: a signal that another process sends to the whole group (`kill %1`) reaches the program twice, from the
//! sender and from us; the kernel does not show the other receivers. For the same reason a signal that the program sends to
//! us (`kill $PPID`) is taken for a `kill 0`, and is not sent on. A STOP sent to us stops us only. A program
//! that gains privileges when it is executed (setuid, file capabilities) survives if we are killed by SIGKILL: the
//! kernel clears the parent-death signal, and such an exec cannot be recognised beforehand.

use crate::environment;
use crate::foreground::{is_foreground, is_session_leader};
use crate::program::{self, Failure, c_string};
use crate::{Launch, Reason};
use std::ffi::{CStr, CString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::process;
use std::ptr;
use std::time::{Duration, Instant};
use underbar_preloadable::{NO_FOLLOW, deny};
use underbar_sys::continuation::Continuation;
use underbar_sys::inherited::inherited;
use underbar_sys::process::{Change, Child, Refused, Start, Strings, Usage, die_by, replace, start};
use underbar_sys::signal::{self, Disposition, SignalSet, Taken, name};
use underbar_sys::syscall::{Errno, getpid, kill};

/// Whether this is sent on to the program. All signals are that a program can catch, except for the end of children and two
/// that the C library reserves for itself.
fn is_sent_on(signal: i32) -> bool {
    const OF_THE_C_LIBRARY: [i32; 2] = [32, 33];
    let not = [name::KILL, name::STOP, name::CHLD];
    !not.contains(&signal) && !OF_THE_C_LIBRARY.contains(&signal)
}

/// Whether this signal was for us alone, so that the program has not received it.
pub(crate) fn was_for_us_alone(taken: &Taken) -> bool {
    match taken.signal {
        // A timer survives exec, but children do not inherit it: it was the program's.
        name::ALRM | name::VTALRM | name::PROF => true,
        // The terminal is gone: the leader of the session gets this signal, and then CONT.
        name::HUP | name::CONT => taken.was_sent() || is_session_leader(),
        // The kernel names us as the sender if it was our own message that had no reader.
        name::PIPE => taken.was_sent() && taken.sender != getpid(),
        _ => taken.was_sent(),
    }
}

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With this exit code, 0 to 255.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// A program that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The kind of its end.
    pub how: How,
    /// Its process number.
    pub pid: i32,
    /// The resources of it and of those of its descendants that were waited for.
    pub usage: Usage,
    /// From before its start until its end was known.
    pub elapsed: Duration,
    /// The reason why it ran without the library; None if the library was in it, or was not requested.
    pub not_carried: Option<Reason>,
}

impl Ended {
    /// Ends this process as the program ended: with its code, or by its signal, so that the caller sees the
    /// true status; 128 + signal if that is not possible.
    pub fn leave(self) -> ! {
        match self.how {
            How::Exited(code) => process::exit(code),
            How::Killed(signal) => {
                die_by(signal);
                process::exit(128 + signal)
            }
        }
    }
}

impl Launch<'_> {
    /// Runs the program to its end. In a process with several threads, the others should block all signals:
    /// a signal for the process goes to any thread that does not. The end of the program is noticed in any case.
    pub fn run(&self) -> Result<Ended, Failure> {
        self.run_looking(&mut || LOOK_AGAIN)
    }

    /// Like [`Launch::run`], with a function that is called now and then while the program runs: at least every
    /// 200 milliseconds. Signals wait while it runs.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn run_watched(&self, look: &mut dyn FnMut()) -> Result<Ended, Failure> {
        self.run_looking(&mut || {
            look();
            LOOK_AGAIN
        })
    }

    /// Like [`Launch::run_watched`], with a function that returns when it wants to be called again at the latest. Signals and the end of
    /// children call it earlier, too.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn run_looking(&self, look: &mut dyn FnMut() -> Duration) -> Result<Ended, Failure> {
        let not_carried = self.not_carried();
        let prepared = Prepared::new(self, not_carried)?;
        let taken = (1..=64)
            .filter(|&signal| is_sent_on(signal))
            .fold(SignalSet::NONE.with(name::CHLD), SignalSet::with);
        if inherited().ignored.has(name::CHLD) {
            // Otherwise the kernel would not report the end of the program.
            let _ = signal::set_disposition(name::CHLD, Disposition::Default);
        }
        let mask = signal::block(taken).map_err(Failure::NoProcess)?;
        let ended = run_or_interpret(&prepared, mask, taken, not_carried, look);
        // Signals for a program that has ended are not for us.
        while let Ok(Some(_)) = signal::wait_for(taken, Duration::ZERO) {}
        let _ = signal::set_mask(mask);
        ended.map_err(|refused| refused.into_failure(self, &prepared))
    }

    /// Becomes the program: same process, no parent. Returns only if that fails, with the reason.
    pub fn exec(&self) -> Failure {
        let prepared = match Prepared::new(self, self.not_carried()) {
            Ok(prepared) => prepared,
            Err(failure) => return failure,
        };
        let mask = signal::block(SignalSet::NONE).unwrap_or_default();
        let refused = prepared.with(mask, replace);
        let refused = match prepared.by_shell(refused) {
            Some(by_shell) => by_shell.with(mask, replace),
            None => refused,
        };
        Stop::Refused(refused).into_failure(self, &prepared)
    }
}

/// The reason why a program did not run to its end.
enum Stop {
    Refused(Refused),
    NoProcess(Errno),
}

impl Stop {
    fn into_failure(self, launch: &Launch<'_>, prepared: &Prepared) -> Failure {
        match self {
            Stop::Refused(refused) => program::failure(&launch.program, &prepared.paths, refused),
            Stop::NoProcess(reason) => Failure::NoProcess(reason),
        }
    }
}

fn run_or_interpret(
    prepared: &Prepared,
    mask: SignalSet,
    taken: SignalSet,
    not_carried: Option<Reason>,
    look: &mut dyn FnMut() -> Duration,
) -> Result<Ended, Stop> {
    match run_once(prepared, mask, taken, not_carried, look) {
        Err(Stop::Refused(refused)) => match prepared.by_shell(refused) {
            Some(by_shell) => run_once(&by_shell, mask, taken, not_carried, look),
            None => Err(Stop::Refused(refused)),
        },
        result => result,
    }
}

fn run_once(
    prepared: &Prepared,
    mask: SignalSet,
    taken: SignalSet,
    not_carried: Option<Reason>,
    look: &mut dyn FnMut() -> Duration,
) -> Result<Ended, Stop> {
    let begin = Instant::now();
    let child = prepared.with(mask, start).map_err(Stop::NoProcess)?;
    let pid = child.pid;
    let (how, usage) = attend(&child, taken, look).map_err(Stop::NoProcess)?;
    let elapsed = begin.elapsed();
    match child.refused() {
        Some(refused) => Err(Stop::Refused(refused)),
        None => Ok(Ended { how, pid, usage, elapsed, not_carried }),
    }
}

/// The interval at which a child is polled: its signal may have gone to a thread that does not
/// block it.
pub const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Stays with the child until it ends.
fn attend(
    child: &Child,
    taken: SignalSet,
    look: &mut dyn FnMut() -> Duration,
) -> Result<(How, Usage), Errno> {
    let (mut is_stopped, mut were_stopped) = (false, false);
    let (mut watcher, mut pause) = (None, look().min(LOOK_AGAIN));
    // The first process of a container inherits those whose parents have ended.
    let is_first = getpid() == 1;
    loop {
        let signal = signal::wait_for(taken, pause)?;
        pause = look().min(LOOK_AGAIN);
        while let Some((change, usage)) = child.change()? {
            match change {
                Change::Exited(code) => return Ok((How::Exited(code), usage)),
                Change::Killed(signal) => return Ok((How::Killed(signal), usage)),
                Change::Continued => is_stopped = false,
                Change::Stopped(by) => {
                    is_stopped = true;
                    // Its end is also the end of the watcher.
                    let continuation = Continuation::after(child.pid).ok();
                    were_stopped |= stop_too(by, continuation.is_some());
                    watcher = continuation.map(|continuation| continuation.watcher).or(watcher);
                }
            }
        }
        if is_first {
            child.reap_others();
        }
        let Some(signal) = signal else { continue };
        match signal.signal {
            name::CHLD => {}
            // The shell continues the whole group; only a child that was left out needs our signal.
            name::CONT if were_stopped && !is_stopped => were_stopped = false,
            // The program runs already; its own notice of that may come later.
            name::CONT if signal.was_sent() && Some(signal.sender) == watcher => were_stopped = false,
            // The program knows its own number: a signal that it sends to us, too, it sent to the whole group, as `kill 0` does.
            _ if signal.was_sent() && signal.sender == child.pid => {}
            _ if was_for_us_alone(&signal) => child.send_on(&signal),
            _ => {}
        }
    }
}

/// Stops this process as its program was stopped. `watched`: a watcher will continue it with the program. Else only for a stop by
/// the terminal or job control: a program that another process stopped (a debugger, an administrator) will be continued by that
/// process, which does not know us. True if we were stopped, and have been continued.
pub(crate) fn stop_too(by: i32, watched: bool) -> bool {
    if [name::TSTP, name::TTIN, name::TTOU].contains(&by) {
        // By the same signal, since the shell prints it. It is blocked except for this moment.
        let is_sent = signal::disposition(by) == Disposition::Default && kill(getpid(), by).is_ok();
        if is_sent && let Ok(mask) = signal::block(SignalSet::NONE) {
            let _ = signal::set_mask(mask.without(by));
            let _ = signal::set_mask(mask);
            return true;
        }
    } else if !watched && !is_foreground() {
        return false;
    }
    kill(getpid(), name::STOP).is_ok()
}

/// The arguments of exec, as C strings.
pub(crate) struct Prepared {
    streams: [Option<i32>; 3],
    /// The paths to try.
    pub(crate) paths: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Prepared {
    pub(crate) fn new(launch: &Launch<'_>, not_carried: Option<Reason>) -> Result<Prepared, Failure> {
        let mut arguments = vec![c_string(launch.program.as_bytes())?];
        for argument in &launch.arguments {
            arguments.push(c_string(argument.as_bytes())?);
        }
        let library = launch.library.filter(|_| not_carried.is_none());
        let are_set = launch.library.is_none() || library.is_some();
        let mut variables = if are_set { launch.variables.clone() } else { Vec::new() };
        if library.is_some() && !launch.follow {
            let name = String::from_utf8_lossy(NO_FOLLOW).into_owned();
            variables.push((name.into(), process::id().to_string().into()));
        }
        if library.is_some()
            && let Some((_, list)) = environment::denied_for_all()
        {
            let name = std::str::from_utf8(deny::VARIABLE).unwrap_or_default();
            variables.extend(environment::denied(std::env::var_os(name), &list));
        }
        let path = library.map(|library| library.path().as_os_str().as_bytes());
        let environment = environment::of_program(environment::own(), path, &variables);
        let streams = launch.streams.map(|stream| stream.map(AsRawFd::as_raw_fd));
        Ok(Prepared { streams, paths: program::paths(&launch.program)?, arguments, environment })
    }

    /// A file in no format that the kernel can execute is a shell script without `#!`, as for `execvp`.
    pub(crate) fn by_shell(&self, refused: Refused) -> Option<Prepared> {
        if refused.reason != Errno::ENOEXEC {
            return None;
        }
        let script = self.paths.get(refused.path)?.clone();
        let rest = self.arguments.iter().skip(1).cloned();
        Some(Prepared {
            streams: self.streams,
            paths: vec![c"/bin/sh".into()],
            arguments: [c"/bin/sh".into(), script].into_iter().chain(rest).collect(),
            environment: self.environment.clone(),
        })
    }

    pub(crate) fn with<R>(&self, mask: SignalSet, then: impl FnOnce(&Start<'_>) -> R) -> R {
        let slots = |strings: &[CString]| vec![ptr::null(); strings.len() + 1];
        let (mut first, mut second, mut third) =
            (slots(&self.paths), slots(&self.arguments), slots(&self.environment));
        then(&Start {
            paths: strings(&mut first, &self.paths),
            arguments: strings(&mut second, &self.arguments),
            environment: strings(&mut third, &self.environment),
            inherited: inherited(),
            streams: self.streams,
            mask,
        })
    }
}

fn strings<'a>(slots: &'a mut [*const std::ffi::c_char], strings: &'a [CString]) -> Strings<'a> {
    let strings = strings.iter().map(CString::as_c_str as fn(&CString) -> &CStr);
    Strings::new(slots, strings).expect("there is a slot for each string and one more")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read, Seek, Write};

    #[test]
    fn a_program_reads_and_writes_the_files_in_place_of_its_streams() {
        let folder = std::env::temp_dir().join(format!("underbar-run-{}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let open = |name: &str| {
            let mut options = fs::OpenOptions::new();
            options
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(folder.join(name))
                .expect("a file")
        };
        let (mut input, mut output, mut error) = (open("input"), open("output"), open("error"));
        input.write_all(b"three words here").expect("written");
        input.rewind().expect("at its start");
        let launch = Launch {
            program: "sh".into(),
            arguments: vec!["-c".into(), "wc -w; echo wrong >&2; exit 6".into()],
            library: None,
            variables: Vec::new(),
            follow: true,
            streams: [Some(&input), Some(&output), Some(&error)],
        };
        let ended = launch.run().expect("a shell");
        assert_eq!((ended.how, ended.not_carried), (How::Exited(6), None));
        let text = |file: &mut fs::File| {
            let mut text = String::new();
            file.rewind().and_then(|()| file.read_to_string(&mut text)).expect("text");
            text
        };
        assert_eq!((text(&mut output).trim(), text(&mut error).trim()), ("3", "wrong"));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
