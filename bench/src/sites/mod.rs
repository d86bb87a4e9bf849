//! `bench sites`: what sampled call sites cost, and how far their estimates are from exact counts, next to other profilers of storage.
//!
//! ```text
//! cost          each program, each round: every arm, in an order drawn anew ──> CPU and peak of the program, CPU of what is around it
//! instructions  each workload by callgrind, with SITES and without ──> the cost that no other program disturbs
//! errors        heaptrack's record of every request ──> sums for each site ──> compared with the estimates of `underbar heap`
//! all three ──> tables, goals, csv, json
//! ```
//!
//! Modules: [`arms`] (the profilers), [`subjects`] (what is run), [`count`] (instructions), [`exact`] (heaptrack's record),
//! [`errors`] (the comparison), [`goals`], [`table`] (cost) and [`error_table`].
//!
//! Invariant: a profiler is compared with its own allocator in the same round, so the ratio is the cost of profiling alone. All arms of a
//! round print the same.
//! Not here: the sampler's code, and what the estimates mean (`host/sites`).

mod arms;
mod count;
mod error_table;
mod errors;
mod exact;
mod goals;
mod subjects;
mod table;

use crate::Error;
use crate::busy::Busy;
use crate::host::Host;
use crate::measure::{Programs, beside};
use crate::programs::Sample;
use crate::results;
use crate::samples::{Samples, Turns};
use arms::{Arm, PLAIN};
use count::Counted;
use errors::Compared;
use std::path::Path;
use subjects::Subject;
use underbar_verdict::interval::Span;
use underbar_verdict::random::Random;
use underbar_verdict::ratios::LogRatios;
use underbar_verdict::turns::Turn;

/// The default number of rounds.
pub const ROUNDS: usize = 10;
/// Runs of `underbar heap` for each program whose errors are measured.
const RUNS: usize = 5;
/// The parts of the benchmark.
pub const PARTS: [&str; 3] = ["cost", "instructions", "errors"];

/// The request on the command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// Rounds of each program, at least one.
    pub rounds: usize,
    /// The steps of workloads are divided by this.
    pub divisor: usize,
    /// Only these of [`PARTS`]; empty: all.
    pub parts: Vec<String>,
    /// The first round's seed.
    pub seed: u64,
    /// Whether text, CSV and JSON are written below `bench/runs`.
    pub record: bool,
    /// Only these workloads and programs; empty: all.
    pub programs: Vec<String>,
    /// Only these arms, and those that they are compared with; empty: all.
    pub arms: Vec<String>,
    /// A missing profiler or program is an error.
    pub require_all: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            rounds: ROUNDS,
            divisor: 1,
            parts: Vec::new(),
            seed: 1,
            record: true,
            programs: Vec::new(),
            arms: Vec::new(),
            require_all: false,
        }
    }
}

/// One program's samples.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a workload.
    pub is_workload: bool,
    /// Those of all arms.
    pub samples: Samples<Sample>,
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// The arms.
    pub arms: Vec<Arm>,
    /// Profilers and programs that could not be measured, with the reason.
    pub missing: Vec<(&'static str, String)>,
    /// What was measured of each program.
    pub rows: Vec<Row>,
    /// Instructions of workloads.
    pub counted: Vec<Counted>,
    /// Errors of the estimates.
    pub compared: Vec<Compared>,
    /// Part of all processors' time that other programs used during the rounds, 0 to 1.
    pub others: f64,
}

/// Runs the rounds, counts, compares, prints the tables and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    if let Some(unknown) = request.parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(Error::Usage(format!("no part {unknown}; there are {}", PARTS.join(", "))));
    }
    let (programs, underbar) = (Programs::beside_us()?, beside("underbar")?);
    let scratch = target.join("sites");
    let (subjects, absent) = subjects::all(&request.programs, &programs.workload, &scratch)?;
    let mut arms = arms::all(&underbar);
    arms.missing.extend(absent);
    for (name, reason) in &arms.missing {
        eprintln!("NOT MEASURED: {name}: {reason}");
    }
    if request.require_all && !arms.missing.is_empty() {
        return Err(Error::Missing(format!("{} of those that are required", arms.missing.len())));
    }
    let chosen = chosen(arms.found, &request.arms)?;
    let mut run = Run {
        host: Host::here(),
        request,
        arms: chosen,
        missing: arms.missing,
        rows: Vec::new(),
        counted: Vec::new(),
        compared: Vec::new(),
        others: 0.0,
    };
    let has = |run: &Run, part: &str| subjects::is_wanted(&run.request.parts, part);
    let before = Busy::now();
    if has(&run, "cost") {
        costs(&mut run, &subjects, &programs.launch)?;
    }
    run.others = before.others(run.host.processors);
    if has(&run, "instructions") {
        match count::all(&subjects, &programs.workload, target, run.request.divisor) {
            Ok(counted) => run.counted = counted,
            Err(error) if !run.request.require_all => {
                eprintln!("NOT MEASURED: instructions: {error}");
                run.missing.push(("instructions", error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    if has(&run, "errors") {
        match arms::heaptrack() {
            Ok(_) => run.compared = errors::all(&subjects, &underbar, RUNS)?,
            Err(error) => run.missing.push(("errors", error.to_string())),
        }
    }
    let text = table::text(&run);
    print!("{text}");
    if run.request.record {
        let stem = std::iter::once("sites").chain(run.request.parts.iter().map(String::as_str));
        let stem = stem.collect::<Vec<&str>>().join("-");
        let mut files = vec![(format!("{stem}.txt"), text), (format!("{stem}.json"), table::json(&run))];
        if !run.rows.is_empty() {
            files.push((format!("{stem}.csv"), table::csv(&run)));
        }
        if !run.compared.is_empty() {
            files.push(("sites-errors.csv".to_owned(), error_table::csv(&run.compared)));
        }
        let files: Vec<(&str, String)> =
            files.iter().map(|(name, content)| (name.as_str(), content.clone())).collect();
        results::record(&run.host, &files, workspace)?;
    }
    Ok(())
}

/// The arms of these names, with those that they are compared with.
fn chosen(all: Vec<Arm>, names: &[String]) -> Result<Vec<Arm>, Error> {
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|arm| arm.name == name.as_str())) {
        let known: Vec<&str> = all.iter().map(|arm| arm.name).collect();
        return Err(Error::Usage(format!("no arm {unknown}; there are {}", known.join(", "))));
    }
    let bases: Vec<&str> = all
        .iter()
        .filter(|arm| subjects::is_wanted(names, arm.name))
        .flat_map(|arm| [Some(arm.name), arm.base, Some(PLAIN)])
        .flatten()
        .collect();
    Ok(all.iter().filter(|arm| bases.contains(&arm.name)).cloned().collect())
}

/// All rounds of all programs.
fn costs(run: &mut Run, subjects: &[Subject], launch: &Path) -> Result<(), Error> {
    let mut order = Random::new(run.request.seed ^ 0x7369_7465_7300);
    let divisor = run.request.divisor;
    for subject in subjects {
        let mut printed: Vec<(usize, u64)> = Vec::new();
        let turns = vec![Turns::ONE; run.arms.len()];
        let take = |Turn { round, place, arm }| {
            if place == 0 {
                printed.clear();
            }
            let arm = &run.arms[arm];
            let sample = subject.sample(arm, divisor, run.request.seed + round as u64, launch)?;
            // Arms with as much work must print the same.
            let output = (arm.divisor, sample.outcome.1);
            if printed.iter().any(|(divisor, hash)| *divisor == output.0 && *hash != output.1) {
                let why = format!("{} printed something else under {}", subject.name, arm.name);
                return Err(Error::Workload(why));
            }
            printed.push(output);
            Ok(sample)
        };
        let samples = Samples::take(Some(subject.name), run.request.rounds, turns, &mut order, take)?;
        run.rows.push(Row { name: subject.name, is_workload: subject.steps.is_some(), samples });
        eprintln!("{}", table::line(run, run.rows.len() - 1));
    }
    Ok(())
}

impl Run {
    /// The place of the arm of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.name == name)
    }

    /// The place of the arm with the same allocator and no profiler.
    #[must_use]
    pub fn base(&self, arm: usize) -> Option<usize> {
        self.find(self.arms[arm].base?)
    }

    /// The median of the rounds.
    #[must_use]
    pub fn median(&self, row: usize, arm: usize, figure: fn(&Sample) -> f64) -> f64 {
        self.rows[row].samples.figure(figure).median(arm)
    }

    /// Log ratios of the program's CPU time under an arm to that under another.
    #[must_use]
    pub fn cost(&self, row: usize, arm: usize, base: usize) -> LogRatios {
        self.rows[row].samples.figure(program).against(arm, base)
    }

    /// The difference of the peaks in MiB.
    #[must_use]
    pub fn more(&self, row: usize, arm: usize, base: usize) -> Span {
        self.rows[row].samples.figure(peak).more(arm, base)
    }
}

/// CPU time of the program in ms; at least a microsecond, since a logarithm is taken.
fn program(sample: &Sample) -> f64 {
    sample.program_us.max(1.0) / 1e3
}

/// CPU time of everything around the program in ms.
fn around(sample: &Sample) -> f64 {
    (sample.cpu_us - sample.program_us).max(0.0) / 1e3
}

/// Peak memory of the program in MiB.
fn peak(sample: &Sample) -> f64 {
    sample.peak_kib / 1024.0
}

#[cfg(test)]
mod tests {
    use super::arms::{all, heaptrack};
    use super::{Request, Row, Run, chosen};
    use crate::host::Host;
    use crate::programs::Sample;
    use crate::samples::{Samples, Turns};
    use std::path::Path;

    /// Two programs in six rounds, in which each arm takes so many ms and MiB.
    pub(super) fn run(figures: impl Fn(&str) -> (f64, f64)) -> Run {
        let arms = all(Path::new("underbar")).found;
        let sample = |name: &str| {
            let (cpu, peak) = figures(name);
            let (program_us, cpu_us) = (cpu * 1e3, cpu * 1e3 + 5e3);
            Sample { program_us, cpu_us, peak_kib: peak * 1024.0, ..Sample::default() }
        };
        let row = |name, is_workload| Row {
            name,
            is_workload,
            samples: Samples::made(6, vec![Turns::ONE; arms.len()], |arm, _| sample(arms[arm].name)),
        };
        Run {
            host: Host::here(),
            request: Request { rounds: 6, ..Request::default() },
            rows: vec![row("lifo", true), row("jq", false)],
            arms,
            missing: vec![("bytehound", "not here".to_owned())],
            counted: Vec::new(),
            compared: Vec::new(),
            others: 0.1,
        }
    }

    #[test]
    fn an_arm_is_compared_with_its_own_allocator() {
        let run = run(|name| if name == "underbar SITES" { (3.0, 12.0) } else { (2.0, 10.5) });
        let arm = run.find("underbar SITES").expect("an arm");
        let base = run.base(arm).expect("its allocator");
        assert_eq!(run.arms[base].name, "underbar");
        assert!((run.cost(0, arm, base).ratio().value - 1.5).abs() < 1e-9);
        assert!((run.more(1, arm, base).value - 1.5).abs() < 1e-9);
    }

    #[test]
    fn chosen_arms_come_with_what_they_are_compared_with() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
            let arms = chosen(all(Path::new("underbar")).found, &wanted)?;
            Ok::<_, crate::Error>(arms.iter().map(|arm| arm.name).collect::<Vec<&str>>())
        };
        assert_eq!(names(&["underbar heap"]).expect("arms"), ["plain", "underbar", "underbar heap"]);
        assert!(names(&["underbar heaps"]).is_err());
        if heaptrack().is_ok() {
            assert_eq!(names(&["heaptrack"]).expect("arms"), ["plain", "plain-short", "heaptrack"]);
        }
    }
}
