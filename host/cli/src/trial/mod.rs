//! Trials: the same program run many times, with the figures of each run. `tune` and `compare` share this.
//!
//! ```text
//! flags ──> Task ── once(way) ──> one run: setup, program (or server under load), cleanup -> Once
//!   files: input spooled, outputs captured, hashed        │
//! rounds: a plan's order, arm by arm ─────────────────────┴─> Runs (the book of the `verdict` crate)
//!   progress: messages meanwhile, on standard error
//! live: epochs of a plan in one running program, policy by policy, for the mutex that `lock` finds
//! ```
//!
//! Invariant: the runs of all arms differ only in the library and the options. They have the same input from its start, the same
//! kind of files as streams, and the same commands before and after.
//! Memory: the kernel counts the resident memory of this command at the fork as the program's first peak. So outputs are in
//! files, never in memory, and accounts are read only of the runs that are measured for suggestions.
//! Not here: the meaning of the figures (`verdict`), and the options to try (`advise`).

pub mod arms;
pub mod candidate;
pub mod files;
pub mod flags;
pub mod live;
pub mod lock;
pub mod peers;
pub mod progress;
pub mod rounds;
pub mod say;
pub mod single_run;
pub mod trial_outcome;

use std::fmt;

use underbar_launch::{Failure, How};

use crate::OWN_FAILURE;
use crate::exit::ExitCode;
use crate::printing::NO_ANSWER;

/// In place of an arm's name: the program fails there, and not without underbar.
pub const UNDER_UNDERBAR_ONLY: &str = "under underbar only, not plain";

/// Why there are no more runs, and at whose fault.
#[derive(Debug)]
pub enum Stop {
    /// The user: a request to end, by this signal.
    Told(i32),
    /// The program: it cannot be run.
    Failure(Failure),
    /// The user's command around the runs (`--setup`, `--cleanup`) failed.
    Around {
        /// Its flag.
        flag: &'static str,
        /// How it ended.
        how: How,
        /// The end of what it wrote.
        said: String,
    },
    /// The program fails by itself, before anything was tried.
    Fails {
        /// Which runs: `plain`, `default`, ...
        arm: &'static str,
        /// What went wrong.
        fault: single_run::Fault,
        /// The end of what it wrote on standard error.
        said: String,
    },
    /// The program cannot carry the library, or there is none: nothing to compare.
    NoLibrary(String),
    /// The user: underbar is to leave the program alone, for this reason.
    Off(String),
    /// The time limit is too short.
    NoTime(String),
    /// The user: a set without options. Its runs would be those of the default.
    NoOptions(String),
    /// The user, or the program: there is no such lock to try.
    NoLock(String),
    /// The user: a path to be compared or written is not a usable file.
    NoFile(String),
    /// The machine: no place for the files of a run.
    Files(std::io::Error),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failure(failure)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Stop {
        Stop::Files(error)
    }
}

impl Stop {
    /// The message. `is_early`: nothing was compared yet.
    pub fn to_be_said(&self, is_early: bool) -> String {
        match self {
            Stop::Told(_) if is_early => format!("{self} before anything was compared"),
            _ => self.to_string(),
        }
    }

    /// The exit code for it.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Stop::Told(signal) => u8::try_from(128 + signal).unwrap_or(OWN_FAILURE),
            Stop::Failure(failure) => u8::try_from(failure.exit_code()).unwrap_or(OWN_FAILURE),
            Stop::Around { .. }
            | Stop::Fails { .. }
            | Stop::Off(_)
            | Stop::NoTime(_)
            | Stop::NoOptions(_)
            | Stop::NoFile(_)
            | Stop::NoLock(_) => NO_ANSWER,
            Stop::NoLibrary(_) | Stop::Files(_) => OWN_FAILURE,
        })
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Told(_) => f.write_str("interrupted"),
            Stop::Failure(failure) => failure.fmt(f),
            Stop::Around { flag, how, said } => {
                write!(f, "the command of {flag} {}{}", say::how(*how), quoted(said))
            }
            Stop::Fails { arm, fault, said } => {
                write!(f, "the program fails ({arm}): {fault}{}", quoted(said))?;
                match fault {
                    // A different exit code of plain is the finding itself.
                    single_run::Fault::Exited(code) if *arm != UNDER_UNDERBAR_ONLY => {
                        write!(f, "\nhelp: if it ends so when all is well, say --expect {code}")
                    }
                    single_run::Fault::NotReady(..) => f.write_str(
                        "\nhelp: --ready COMMAND asks whether it is ready, --timeout says how long that may take",
                    ),
                    _ => Ok(()),
                }
            }
            Stop::Off(reason) => write!(f, "nothing was run: underbar leaves the program alone ({reason})"),
            Stop::NoLibrary(reason) => write!(f, "nothing to compare: {reason}"),
            Stop::NoOptions(set) => write!(f, "{set}: there is no option in it, so nothing to compare"),
            Stop::NoTime(reason) | Stop::NoLock(reason) | Stop::NoFile(reason) => f.write_str(reason),
            Stop::Files(error) => write!(f, "no place for the files of a run: {error}"),
        }
    }
}

fn quoted(said: &str) -> String {
    said.lines().map(|line| format!("\n  | {line}")).collect()
}
