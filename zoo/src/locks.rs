//! Programs under each mode of LOCK, and the lock figures of their reports.
//!
//! Not here: the programs (`tests/locks.rs`, `tests/lock_programs.rs`).

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Left, left};

/// The values of LOCK.
pub const MODES: [&str; 3] = ["OFF", "COUNT", "SIMPLE"];

/// One way to run a program under underbar.
pub struct Run<'a> {
    /// The command.
    pub underbar: &'a Path,
    /// The value of LOCK.
    pub mode: &'a str,
    /// The folder in which the program runs.
    pub folder: &'a Path,
    /// The file of the report; removed after it was read.
    pub report: &'a Path,
    /// The user who runs it, if it is not the test's own.
    pub user: Option<u32>,
}

impl Run<'_> {
    /// Runs a line; returns its result, and the report.
    ///
    /// # Panics
    /// If there is no report.
    #[must_use]
    pub fn of(&self, line: &[&str]) -> (Left, Value) {
        let mut run = Command::new(self.underbar);
        run.args(["run", "--json", "-o"]).arg(self.report);
        run.args(["--opts", &format!("LOCK({})", self.mode), "--"]).args(line);
        run.current_dir(self.folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
        if let Some(user) = self.user {
            run.uid(user).gid(user).env("HOME", self.folder);
        }
        let left = left(&mut run);
        let report = fs::read(self.report).unwrap_or_else(|error| panic!("{line:?}: {error}: {left:?}"));
        fs::remove_file(self.report).expect("removed");
        (left, serde_json::from_slice(&report).expect("a report"))
    }
}

/// A figure of locks, summed over the processes of this program, or of all.
///
/// # Panics
/// If the report has no such figure.
#[must_use]
pub fn sum(report: &Value, program: Option<&str>, key: &str) -> u64 {
    let is_meant = |process: &&Value| {
        let name = process["program"].as_str().expect("a program");
        program.is_none_or(|wanted| Path::new(name).file_name().is_some_and(|last| last == wanted))
    };
    let of = |process: &Value| process["counters"]["lock"][key].as_u64().expect("a figure");
    report["processes"].as_array().expect("processes").iter().filter(is_meant).map(of).sum()
}
