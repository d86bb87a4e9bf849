//! `underbar-bench-launch [NAME=VALUE...] -- PROGRAM ARGS`: runs one program and prints its resource usage.
//!
//! The variables are set for the program alone: the launcher itself always runs under glibc.
//! The last line on standard output is `usage USER_MICROSECONDS SYSTEM_MICROSECONDS PEAK_KIBIBYTES MINOR_FAULTS`;
//! everything above it was printed by the program. The exit status is the program's, or 125 for a failure here.
//! With `--to=FILE` among the variables the line goes into that file.
//!
//! Invariant: one child per launcher, so that the usage of all children is the usage of that child (and of the
//! processes that it waited for itself). The kernel lets a child's peak memory start at its parent's at the time
//! of exec: that is why this program is small and separate from the runner.
#![forbid(unsafe_code)]

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut variables = Vec::new();
    let mut file = None;
    let mut words = std::env::args_os().skip(1);
    for word in words.by_ref() {
        let text = word.to_string_lossy();
        if text == "--" {
            break;
        }
        let Some((name, value)) = text.split_once('=') else {
            return fail(&format!("neither NAME=VALUE nor --: {text}"));
        };
        if name == "--to" {
            file = Some(value.to_owned());
            continue;
        }
        variables.push((name.to_owned(), value.to_owned()));
    }
    let Some(program) = words.next() else {
        return fail("no program named");
    };
    let status = match Command::new(&program).args(words).envs(variables).status() {
        Ok(status) => status,
        Err(error) => return fail(&format!("{}: {error}", program.to_string_lossy())),
    };
    let usage = match getrusage(UsageWho::RUSAGE_CHILDREN) {
        Ok(usage) => usage,
        Err(error) => return fail(&format!("getrusage: {error}")),
    };
    let line = format!(
        "usage {} {} {} {}\n",
        usage.user_time().num_microseconds(),
        usage.system_time().num_microseconds(),
        usage.max_rss(),
        usage.minor_page_faults()
    );
    match file {
        None => print!("{line}"),
        Some(file) => {
            if let Err(error) = std::fs::write(&file, line) {
                return fail(&format!("{file}: {error}"));
            }
        }
    }
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(125);
    ExitCode::from(code as u8)
}

/// Prints the fault and ends with the status of an own failure.
fn fail(why: &str) -> ExitCode {
    eprintln!("underbar-bench-launch: {why}");
    ExitCode::from(125)
}
