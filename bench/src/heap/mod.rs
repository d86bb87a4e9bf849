//! `bench heap`: every workload under every allocator, in interleaved rounds.
//!
//! ```text
//! for each workload
//!   for each round            one seed per round, the same for all allocators
//!     for each allocator      in an order drawn anew
//!       one sample
//! ```
//!
//! Invariant: within a round all allocators were given the same work, and printed the same text; a run in which
//! one of them did not is an error, never a slow sample.
//! Not here: what the samples mean ([`table`]).

pub mod table;

use crate::measure::{self, Programs, Sample};
use crate::peers::{self, Allocator};
use crate::workloads::{self, Workload};
use crate::{Error, host::Host, results};
use std::path::Path;
use underbar_verdict::random::Random;
use underbar_verdict::turns::{self, Turn};

/// The request on the command line.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Rounds of each workload, at least one.
    pub rounds: usize,
    /// A tenth of the steps.
    pub quick: bool,
    /// Whether a missing allocator is an error.
    pub require_all: bool,
    /// Workloads to run; empty: all.
    pub workloads: Vec<String>,
    /// Allocators to run; empty: all.
    pub allocators: Vec<String>,
    /// Further allocators, as name and path of a library.
    pub libraries: Vec<(String, String)>,
    /// The first round's seed.
    pub seed: u64,
    /// Whether text, CSV and JSON are written below `bench/runs`.
    pub record: bool,
}

/// One recorded sample.
#[derive(Debug, Clone)]
pub struct Record {
    /// The round, from 0.
    pub round: usize,
    /// The index in the round's order, from 0.
    pub place: usize,
    /// The workload's name.
    pub workload: &'static str,
    /// The allocator's index in [`Run::allocators`].
    pub allocator: usize,
    /// Its measurements.
    pub sample: Sample,
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// Names of the workloads, in the order of the table.
    pub workloads: Vec<&'static str>,
    /// The allocators, in the order of the table.
    pub allocators: Vec<Allocator>,
    /// Missing ones, with the reason.
    pub missing: Vec<(&'static str, String)>,
    /// All samples, in order.
    pub records: Vec<Record>,
}

/// Finds the allocators, runs the rounds, prints the table and writes the files.
///
/// # Errors
/// Everything in [`Error`]; without `require_all` a missing allocator is only named.
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let (allocators, missing) = allocators(&request, workspace, target)?;
    if !allocators.iter().any(|allocator| allocator.rival) {
        return Err(Error::Missing("any peer to compare with".to_owned()));
    }
    let chosen = chosen_workloads(&request)?;
    let programs = Programs::beside_us()?;
    let mut run = Run {
        host: Host::here(),
        workloads: chosen.iter().map(|workload| workload.name).collect(),
        request,
        allocators,
        missing,
        records: Vec::new(),
    };
    samples(&mut run, &programs, &chosen)?;
    let text = table::text(&run);
    let recorded_in = run.request.record.then_some(workspace);
    results::print(&run.host, recorded_in, "heap", text, || table::csv(&run), || table::json(&run))
}

/// The result of [`allocators`]: available ones, and missing ones with the reason.
pub(crate) type Ready = (Vec<Allocator>, Vec<(&'static str, String)>);

/// The allocators that the request names; reports missing ones loudly.
pub(crate) fn allocators(request: &Request, workspace: &Path, target: &Path) -> Result<Ready, Error> {
    for name in &request.allocators {
        if !peers::TABLE.iter().any(|peer| peer.name == name) {
            let known: Vec<&str> = peers::TABLE.iter().map(|peer| peer.name).collect();
            return Err(Error::Usage(format!("no allocator {name}; there are {}", known.join(", "))));
        }
    }
    let wanted =
        |name: &str| request.allocators.is_empty() || request.allocators.iter().any(|one| one == name);
    let mut found = peers::find(workspace, target, &wanted);
    found.allocators.extend(request.libraries.iter().map(|(name, path)| peers::library(name, path)));
    for (name, reason) in &found.missing {
        eprintln!("NOT MEASURED: {name}: {reason}");
    }
    if request.require_all && !found.missing.is_empty() {
        return Err(Error::Missing(format!("{} allocators, and all are required", found.missing.len())));
    }
    Ok((found.allocators, found.missing))
}

/// The workloads that the request names.
pub(crate) fn chosen_workloads(request: &Request) -> Result<Vec<&'static Workload>, Error> {
    if request.workloads.is_empty() {
        return Ok(workloads::TABLE.iter().collect());
    }
    let find = |name: &String| {
        workloads::find(name).ok_or_else(|| {
            let known: Vec<&str> = workloads::TABLE.iter().map(|workload| workload.name).collect();
            Error::Usage(format!("no workload {name}; there are {}", known.join(", ")))
        })
    };
    request.workloads.iter().map(find).collect()
}

/// All samples of the run.
pub(crate) fn samples(run: &mut Run, programs: &Programs, chosen: &[&'static Workload]) -> Result<(), Error> {
    let mut order = Random::new(run.request.seed ^ 0x006f_7264_6572);
    for workload in chosen {
        eprintln!("{:<16} {}", workload.name, workload.about);
        rounds(run, programs, workload, &mut order)?;
    }
    Ok(())
}

/// All rounds of one workload.
fn rounds(
    run: &mut Run,
    programs: &Programs,
    workload: &'static Workload,
    order: &mut Random,
) -> Result<(), Error> {
    let steps = if run.request.quick { (workload.steps / 10).max(1) } else { workload.steps };
    let all: Vec<usize> = (0..run.allocators.len()).collect();
    // What the first of a round printed.
    let mut printed = (String::new(), String::new());
    turns::rounds(run.request.rounds, &all, order, |Turn { round, place, arm: allocator }| {
        let seed = run.request.seed + round as u64;
        let by = &run.allocators[allocator];
        let sample = measure::sample(programs, by, workload, steps, seed)?;
        if place == 0 {
            printed = (by.name.clone(), sample.printed.clone());
        }
        let (other, text) = &printed;
        if *text != sample.printed {
            return Err(Error::Workload(format!(
                "{} printed {:?} under {} and {text:?} under {other}",
                workload.name, sample.printed, by.name
            )));
        }
        run.records.push(Record { round, place, workload: workload.name, allocator, sample });
        Ok(())
    })
}
