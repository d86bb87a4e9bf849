//! `bench accounts`: the cost of keeping accounts, by the same library with and without them, in one run.
//!
//! ```text
//! library  with, without ----+--> count  instructions per pair of malloc and free, and of every workload
//!                            |            (callgrind: exact, no time)
//!                            +--> heap   CPU time in interleaved rounds (the cost on this machine)
//!                                   both --> table: ratios, and the goals
//! ```
//!
//! Invariant: both libraries come from the same sources by the same call of Cargo, features apart, and have
//! paths of equal length: even the length of a variable moves a program's stack.
//! Not here: other allocators' times (`bench heap`); their instructions per pair are listed next to ours for orientation.

mod count;
mod library;
mod summary;
mod table;

pub(crate) use count::collected;

use crate::Error;
use crate::heap::{self, Request};
use crate::host::Host;
use crate::measure::Programs;
use crate::peers::Allocator;
use crate::results;
use crate::workloads::Workload;
use std::path::Path;

/// A figure of the library with accounts, and of the one without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Both<T> {
    /// Accounts kept.
    pub with: T,
    /// No accounts.
    pub without: T,
}

/// Instructions per pair of malloc and free of one workload, with the workload's loop.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// The workload's name.
    pub workload: &'static str,
    /// Instructions per pair.
    pub instructions: Both<f64>,
    /// The other allocators', in the order of [`Run::others`]; None if callgrind could not count them.
    pub others: Vec<Option<f64>>,
}

/// Instructions of one workload, over its whole program.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The workload's name.
    pub workload: &'static str,
    /// The number of its steps.
    pub steps: usize,
    /// Instructions.
    pub instructions: Both<u64>,
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Names and versions of other allocators whose pairs were counted.
    pub others: Vec<(String, String)>,
    /// Instructions per pair.
    pub pairs: Vec<Pairs>,
    /// A program without steps: its start and end.
    pub start: Both<u64>,
    /// Instructions, one entry per workload.
    pub counted: Vec<Counted>,
    /// CPU times: a run of `bench heap` whose allocators are [`WITH`] and [`WITHOUT`].
    pub times: heap::Run,
}

/// The index of the library with accounts in the allocators of [`Run::times`].
pub const WITH: usize = 0;
/// The index of the one without.
pub const WITHOUT: usize = 1;

/// Builds the library without accounts, counts, takes the times, prints the tables and writes the files.
///
/// # Errors
/// [`Error::Missing`] without valgrind or without the command's library, [`Error::Build`] when the library without
/// accounts did not build, [`Error::Workload`] when a program failed.
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let chosen = heap::chosen_workloads(&request)?;
    let (others, missing) = heap::allocators(&request, workspace, target)?;
    // Our own is measured anyway; `underbar run` starts another process, which callgrind would not follow.
    let others: Vec<Allocator> =
        others.into_iter().filter(|other| other.name != "underbar" && other.before.is_empty()).collect();
    let programs = Programs::beside_us()?;
    let libraries = library::both(workspace, target)?;

    eprintln!("counting instructions");
    let pairs = count::pairs(&programs, &libraries, &others, &chosen, request.require_all)?;
    let start = count::start(&programs, &libraries)?;
    let mut counted = Vec::new();
    for workload in &chosen {
        counted.push(count::whole(&programs, &libraries, workload, request.quick)?);
    }

    let mut run = Run {
        others: others.into_iter().map(|other| (other.name, other.version)).collect(),
        pairs,
        start,
        counted,
        times: times(request, &chosen, libraries, missing),
    };
    heap::samples(&mut run.times, &programs, &chosen)?;
    let text = table::text(&run);
    print!("{text}");
    if run.times.request.record {
        let csv = crate::heap::table::csv(&run.times);
        let files = [("accounts.txt", text), ("accounts.csv", csv), ("accounts.json", table::json(&run))];
        results::record(&run.times.host, &files, workspace)?;
    }
    Ok(())
}

/// A run of `bench heap` with the two libraries as its allocators; no sample is in it yet.
fn times(
    request: Request,
    chosen: &[&'static Workload],
    libraries: Both<Allocator>,
    missing: Vec<(&'static str, String)>,
) -> heap::Run {
    heap::Run {
        host: Host::here(),
        request,
        workloads: chosen.iter().map(|workload| workload.name).collect(),
        // In the order of WITH and WITHOUT.
        allocators: vec![libraries.with, libraries.without],
        missing,
        records: Vec::new(),
    }
}
