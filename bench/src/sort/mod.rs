//! `bench sort`: `underbar sort` next to GNU `sort`, with the same memory, all in memory and with a tenth of it.
//!
//! ```text
//! records of 100 bytes ──> arms, in an order drawn anew for each round ──> seconds, CPU seconds, peak memory
//! outputs ── the same bytes, or the run is no sample
//! strace, once for each arm ──> kernel entries
//! ```
//!
//! Invariant: what is compared ran in the same round, on the same file, with the same memory and number of threads.
//! Not here: the sort itself (`host/records`).

mod arms;
mod data;
mod goals;
mod table;

use crate::Error;
use crate::busy::Busy;
use crate::host::Host;
use crate::results;
use crate::samples::{Samples, Turns};
use arms::{Arm, Programs};
use std::path::Path;
use underbar_verdict::random::Random;
use underbar_verdict::ratios::LogRatios;

/// The request on the command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// Rounds, at least one.
    pub rounds: usize,
    /// Records of the file.
    pub records: u64,
    /// The seed of the order.
    pub seed: u64,
    /// Whether text, CSV and JSON are written below `bench/runs`.
    pub record: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self { rounds: 10, records: 1_000_000, seed: 1, record: true }
    }
}

impl Request {
    /// Three rounds of a tenth of the records, unrecorded.
    pub fn quick(&mut self) {
        (self.rounds, self.records, self.record) = (3, 100_000, false);
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.records * data::RECORD as u64
    }
}

/// One sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Seconds from start to end.
    pub seconds: f64,
    /// CPU seconds, user and system.
    pub cpu: f64,
    /// Peak of resident memory in KiB.
    pub peak_kib: u64,
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// The version of GNU sort.
    pub gnu: String,
    /// The arms, in the order of the table.
    pub arms: Vec<Arm>,
    /// All samples.
    pub samples: Samples<Sample>,
    /// Kernel entries of each arm; None without strace.
    pub entries: Vec<Option<u64>>,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Runs the rounds, prints the table and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let host = Host::here();
    let folder = data::Folder::new(&target.join("bench-sort"))?;
    data::write(&folder.input(), request.records)?;
    let programs = Programs::beside_us()?;
    let gnu = programs.gnu_version()?;
    let arms = arms::all(&programs, &folder, request.bytes(), host.processors);
    let mut order = Random::new(request.seed ^ 0x0073_6f72_7400);
    let before = Busy::now();
    let turns = vec![Turns::ONE; arms.len()];
    let samples = Samples::take(None, request.rounds, turns, &mut order, |turn| {
        arms[turn.arm].sample(&programs, &folder)
    })?;
    let others = before.others(host.processors);
    let entries = arms.iter().map(|arm| arm.entries(&folder)).collect::<Result<_, Error>>()?;
    let run = Run { host, request, gnu, arms, samples, entries, others };
    let text = table::text(&run);
    let name = format!("sort-{}k", run.request.records / 1_000);
    let recorded_in = run.request.record.then_some(workspace);
    results::print(&run.host, recorded_in, &name, text, || table::csv(&run), || table::json(&run))
}

impl Run {
    /// The index of the arm of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.name == name)
    }

    /// The median of a figure of an arm.
    #[must_use]
    pub fn median(&self, arm: usize, figure: impl Fn(&Sample) -> f64) -> f64 {
        self.samples.figure(figure).median(arm)
    }

    /// Log ratios of the seconds of an arm to those of another.
    #[must_use]
    pub fn against(&self, arm: usize, base: usize) -> LogRatios {
        self.samples.figure(|sample| sample.seconds).against(arm, base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six rounds, in which each arm takes these seconds, and this many kernel entries.
    pub(super) fn run(time: impl Fn(&str) -> f64, entries: impl Fn(&str) -> u64) -> Run {
        let folder = data::Folder::named();
        let request = Request { rounds: 6, ..Request::default() };
        let arms = arms::all(&Programs::named(), &folder, request.bytes(), 2);
        let samples = Samples::made(6, vec![Turns::ONE; arms.len()], |arm, _| {
            let seconds = time(arms[arm].name);
            Sample { seconds, cpu: seconds, peak_kib: 1_000 }
        });
        let entries = arms.iter().map(|arm| Some(entries(arm.name))).collect();
        let (host, gnu) = (Host::here(), "GNU sort".to_owned());
        Run { host, request, gnu, arms, samples, entries, others: 0.0 }
    }

    #[test]
    fn ratios_are_those_of_the_same_round() {
        let run = run(|name| if name == "ours" { 1.0 } else { 4.0 }, |_| 0);
        let (ours, gnu) = (run.find("ours").expect("there"), run.find("gnu-key").expect("there"));
        assert!((run.against(ours, gnu).ratio().value - 0.25).abs() < 1e-9);
        assert!((run.median(gnu, |sample| sample.seconds) - 4.0).abs() < 1e-9);
    }
}
