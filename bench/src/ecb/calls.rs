//! Kernel calls of threads that share an arena, counted by strace.
//!
//! A run with so many turns and a run with four times as many make the same calls at their start and end; what the longer one makes
//! more is of the turns. A few of them are waits at barriers.

use super::Run;
use super::arenas::{Ready, Way};
use super::rows::{Scripts, TABLE, THREADS, What};
use crate::Error;
use std::process::Command;

/// Turns of a thread in the shorter run.
const TURNS: usize = 2_000;
/// Calls that two runs may differ by: threads meet at barriers, and wait there or not.
pub const NOISE: u64 = 32;

/// The calls of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// Turns of all threads, beyond those of the shorter run.
    pub turns: usize,
    /// Calls beyond those of the shorter run.
    pub calls: u64,
}

/// The calls of each arm that threads can share, by its index: ours, the C library's, and other arenas.
///
/// # Errors
/// No strace; a run's.
pub fn of(run: &Run, ready: &Ready, scripts: &Scripts) -> Result<Vec<(usize, Calls)>, Error> {
    let row = TABLE
        .iter()
        .find(|row| row.what == What::Threads)
        .ok_or_else(|| Error::Usage("no row with threads".to_owned()))?;
    let mut all = Vec::new();
    for (at, arm) in run.arms.iter().enumerate().filter(|(_, arm)| row.has(arm, scripts)) {
        if arm.way == Way::Malloc && arm.preload.is_some() {
            continue;
        }
        let count = |turns| counted(&row.command(arm, ready, scripts, turns), ready);
        let (fewer, more) = (count(TURNS)?, count(4 * TURNS)?);
        all.push((at, Calls { turns: 3 * TURNS * THREADS, calls: more.saturating_sub(fewer) }));
    }
    Ok(all)
}

/// The calls of one run of all its threads.
fn counted(command: &Command, ready: &Ready) -> Result<u64, Error> {
    let file = ready.folder.join("calls.txt");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-o"]).arg(&file);
    // The variables are the program's, not strace's.
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            strace.arg("-E").arg(format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
        }
    }
    let done = strace
        .env_remove("LD_PRELOAD")
        .arg(command.get_program())
        .args(command.get_args())
        .output()
        .map_err(|error| Error::Missing(format!("strace: {error}; apt-get install strace")))?;
    if !done.status.success() {
        return Err(Error::Workload(format!(
            "under strace: {}",
            String::from_utf8_lossy(&done.stderr).trim_end()
        )));
    }
    let text = std::fs::read_to_string(&file).map_err(|error| Error::system("reading counts", &error))?;
    total(&text).ok_or_else(|| Error::Workload("strace printed no total".to_owned()))
}

/// The number of calls in the last line: share, seconds, microseconds for a call, calls, perhaps errors, "total".
fn total(text: &str) -> Option<u64> {
    let line = text.lines().rev().find(|line| line.trim_end().ends_with("total"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_total_is_in_the_last_line() {
        let text = "% time     seconds  usecs/call     calls    errors syscall\n\
                    ------ ----------- ----------- --------- --------- ----------------\n\
                    \x2050.00    0.000200           2        80           futex\n\
                    ------ ----------- ----------- --------- --------- ----------------\n\
                    100.00    0.000400           1       117         3 total\n";
        assert_eq!(total(text), Some(117));
        assert_eq!(total("nothing\n"), None);
    }
}
