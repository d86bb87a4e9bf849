//! Runs a program faithfully: exec, signals, exit status, process tree
//!
//! ```text
//! Launch ── program  the path of the program, as execvp finds it
//!        ── library  the path of the preload library for the program's loader
//!        ── ledger   the file with the program's accounts
//!        ── file_keeper  the supervisor of caches of files
//!        ── process_file  what the kernel says of a running process
//!        ── last     the report of the last run, kept for printing again
//!        ── place    which folders are safe for library and ledger
//!        ── foreign  files whose names come from others
//!        ── part     files that are replaced whole
//!        ── environment  the program's environment, with the library or as if plain
//!        ── foreground   this process and its terminal
//!        ├─ cpu_limit  the CPU time of program starts, watched while they run
//!        ├─ control  changes settings while the program runs
//!        ├─ run      parent with the manners of `timeout`  |  exec: no parent at all
//!        └─ session  one program after another, with limits of time
//! ```
//!
//! Invariant: the program sees and is seen as without Underbar: arguments, environment (except the library),
//! descriptors, signals, process group, exit status.
//! May use: the runtime's `follow` (can a file carry the library) and the system calls.
//! Not here: the contents of the ledger, and the report.
#![forbid(unsafe_code)]

mod alive;
pub mod control;
pub mod cpu_limit;
pub mod ecbs;
mod environment;
pub mod file_keeper;
mod foreground;
pub mod foreign_file;
pub mod last;
pub mod ledger;
mod library;
mod part;
pub mod place;
mod process_file;
mod program;
mod run;
mod session;
mod started;
pub mod switches;

pub use alive::Alive;
pub use control::{ControlError, ControlPage};
pub use cpu_limit::{CpuWatch, Expired};
pub use environment::{denied_for_all, preloading};
pub use ledger::LedgerFile;
pub use library::{Library, LibraryError};
pub use process_file::{KernelFigures, ProcessFile};
pub use program::{Failure, denied, find};
pub use run::{Ended, How, LOOK_AGAIN};
pub use session::{Process, Session};
pub use underbar_preloadable::carry::Reason;
pub use underbar_preloadable::counter_of;
pub use underbar_sys::process::Usage;

use std::ffi::OsString;
use std::fs::File;

/// A program to run.
pub struct Launch<'a> {
    /// Its name, searched in PATH as the shell does, or its path.
    pub program: OsString,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// The library to load into it; None runs it plain.
    pub library: Option<&'a Library>,
    /// Variables (`UNDERBAR_...`); with a library, they are set only if it is loaded.
    pub variables: Vec<(OsString, OsString)>,
    /// Whether the programs that it starts are followed, too.
    pub follow: bool,
    /// Files in place of its standard input, output and error; None: those of the caller.
    pub streams: [Option<&'a File>; 3],
}

/// From now on a limit on the size of files (`ulimit -f`) makes our own writing fail, and does not kill us; programs
/// get the signal disposition that we had.
pub fn outlive_file_limit() {
    use underbar_sys::signal::{Disposition, name, set_disposition};
    // The system refuses this only for KILL and STOP.
    let _ = set_disposition(name::XFSZ, Disposition::Ignore);
}

/// The build-id of a program's file; empty if it has none or cannot be read.
#[must_use]
pub fn build_id(path: &std::path::Path) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    use underbar_preloadable::build_id::{LONGEST, build_id};
    let Ok(file) = foreign_file::open(path) else { return Vec::new() };
    build_id(|offset, buffer| file.read_at(buffer, offset).unwrap_or(0), &mut [0; LONGEST]).to_vec()
}

/// Processor time of a process so far, with all its threads, ended ones included; in nanoseconds. None if there is no
/// such process.
#[must_use]
pub fn processor_time(process: u32) -> Option<u64> {
    // The kernel's number for the clock of a process: its complement, and in the last three bits "by the scheduler".
    let clock = (!process << 3) | 2;
    Some(underbar_sys::syscall::clock_nanoseconds(clock)).filter(|&ns| process != 0 && ns > 0)
}

/// The effective user of this process.
#[must_use]
pub fn user() -> u32 {
    underbar_sys::syscall::geteuid()
}

impl Launch<'_> {
    /// The reason why the program will run without the library; None if it will be loaded, or was not requested.
    #[must_use]
    pub fn not_carried(&self) -> Option<Reason> {
        self.library.and_then(|_| program::examine(&self.program).err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_process_is_that_of_the_kernel() {
        let me = std::process::id();
        let before = processor_time(me).expect("this process");
        let mut sum = 0_u64;
        while processor_time(me).expect("this process") == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let mut child = std::process::Command::new("true").spawn().expect("a child");
        child.wait().expect("our child");
        assert_eq!(processor_time(child.id()), None);
        assert_eq!(processor_time(0), None);
    }
}
