//! `bench load`: LOAD, call and DELETE of programs from libraries, next to `dlopen` and `dlclose` of their files.
//!
//! ```text
//! rows (program x library x way)           once: compiled, libraries filled
//! for each round, in an order drawn anew
//!   for each row: one process ──> time of all turns
//! all times ──> medians, ratios to dlopen   goals (held or missed)   csv, json
//! ```
//!
//! Invariant: a sample is a process of its own; one that did not load as its row states is an error, not a sample.
//! Not here: the ways of loading (`loading`).

mod files;
mod goals;
mod made;
mod rows;
mod table;

use self::rows::Row;
use crate::busy::Busy;
use crate::host::Host;
use crate::measure::beside;
use crate::rounds::Request;
use crate::samples::{Samples, Turns};
use crate::{Error, results};
use std::path::Path;
use std::process::{Command, Stdio};
use underbar_verdict::random::Random;
use underbar_verdict::turns::Turn;

/// The default number of rounds.
pub const ROUNDS: usize = 15;

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// The rows, in the order of the table.
    pub rows: Vec<Row>,
    /// All samples, an arm for each row: time of a turn in microseconds.
    pub samples: Samples<f64>,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Makes the libraries, runs the rounds, prints the tables and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path) -> Result<(), Error> {
    let program = beside("underbar-bench-load")?;
    let folder = made::Folder::new()?;
    eprintln!("making libraries");
    let places = rows::make(&folder)?;
    let rows = rows::all();
    let host = Host::here();
    let mut order = Random::new(request.seed ^ 0x006f_7264_6572);
    let before = Busy::now();
    let turns = vec![Turns::ONE; rows.len()];
    let samples = Samples::take(None, request.rounds, turns, &mut order, |Turn { arm: row, .. }| {
        let row = &rows[row];
        let (path, member) = places.of(row)?;
        let times = if request.quick { row.times / 10 } else { row.times }.max(2);
        sample(&program, row.way.name, &path, &member, times)
    })?;
    let others = before.others(host.processors);
    let run = Run { host, request, rows, samples, others };
    let text = format!("{}{}", table::text(&run), goals::text(&run));
    let recorded_in = run.request.record.then_some(workspace);
    results::print(&run.host, recorded_in, "load", text, || files::csv(&run), || files::json(&run))
}

/// Runs one process: microseconds for a turn.
fn sample(program: &Path, way: &str, path: &Path, member: &str, times: u64) -> Result<f64, Error> {
    let done = Command::new(program)
        .arg(way)
        .arg(path)
        .args([member, &times.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::system("starting a run", &error))?;
    let wrong = |what: &str| Error::Workload(format!("{way} {}: {what}", path.display()));
    if !done.status.success() {
        return Err(wrong(String::from_utf8_lossy(&done.stderr).trim_end()));
    }
    let text = String::from_utf8_lossy(&done.stdout);
    let elapsed: Option<f64> = text.trim().strip_prefix("elapsed_ns ").and_then(|digits| digits.parse().ok());
    elapsed.map(|elapsed| elapsed / 1e3 / times as f64).ok_or_else(|| wrong("no figures"))
}

impl Run {
    /// The index of the row of this way, program and library.
    #[must_use]
    pub fn find(&self, program: &str, library: Option<rows::Stored>, way: &str) -> Option<usize> {
        self.rows
            .iter()
            .position(|row| row.program.name == program && row.library == library && row.way.name == way)
    }

    /// The row that a row is compared with: `dlopen` and `dlclose` of the same program's file.
    #[must_use]
    pub fn base(&self, row: usize) -> Option<usize> {
        self.find(self.rows[row].program.name, None, "dlopen")
    }
}

#[cfg(test)]
mod tests {
    use super::rows::{Row, all};
    use super::{ROUNDS, Run};
    use crate::host::Host;
    use crate::rounds::Request;
    use crate::samples::{Samples, Turns};

    /// Six rounds, with these times.
    pub(super) fn run(time: impl Fn(&Row) -> f64) -> Run {
        let rows = all();
        let samples = Samples::made(6, vec![Turns::ONE; rows.len()], |row, _| time(&rows[row]));
        Run { host: Host::here(), request: Request::of(ROUNDS), rows, samples, others: 0.0 }
    }

    #[test]
    fn every_row_is_there_once() {
        let run = run(|_| 1.0);
        for (place, row) in run.rows.iter().enumerate() {
            assert_eq!(run.find(row.program.name, row.library, row.way.name), Some(place));
            assert!(run.base(place).is_some());
        }
    }
}
