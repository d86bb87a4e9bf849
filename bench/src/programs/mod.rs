//! `bench programs`: real programs and servers, plain against `underbar run` with its defaults, in one run; on request
//! also with other allocators preloaded.
//!
//! ```text
//! catalog ──> a folder for each program, prepared once, plain
//! each round, each program: plain, under underbar and the peers, in an order drawn anew
//!    batch   launch ──> [underbar run --] ──> launch ──> program     CPU of all, peak of the program, its output
//!    server  [underbar run --] ──> server <── load from outside      CPU and time of the load, memory of its processes
//! samples ──> ratios within rounds, with intervals ──> docs/programs-tried.md, csv
//! ```
//!
//! Invariant: a batch program with another output under underbar, or another end, is marked and has no ratio.
//! Not here: workloads made for allocators (`heap`); the cost of one call (`accounts`).

pub(crate) mod arms;
pub(crate) mod batch;
pub(crate) mod catalog;
mod server;
pub mod soak;
mod table;
mod tree;

use crate::Error;
use crate::busy::Busy;
use crate::host::Host;
use crate::measure::beside;
use crate::results;
use arms::{Arm, PEERS, PLAIN, UNDER};
use catalog::{PROGRAMS, Program, Work};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use underbar_verdict::random::Random;
use underbar_verdict::ratios::{Ratio, median, paired};
use underbar_verdict::turns::{Turn, rounds};

/// The default number of rounds.
pub const ROUNDS: usize = 10;

/// The request on the command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// Rounds, at least one.
    pub rounds: usize,
    /// The seed of the order.
    pub seed: u64,
    /// Whether the page and the files below `bench/runs` are written.
    pub record: bool,
    /// Only these programs; empty: all.
    pub programs: Vec<String>,
    /// Words between `underbar run` and `--`.
    pub options: Vec<String>,
    /// Whether other allocators are measured, too.
    pub peers: bool,
    /// A missing program is an error.
    pub require_all: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            rounds: ROUNDS,
            seed: 1,
            record: true,
            programs: Vec::new(),
            options: Vec::new(),
            peers: false,
            require_all: false,
        }
    }
}

/// The measurements of one sample. Those that a kind of program does not have are 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// CPU time in microseconds: for a batch program with everything that it started, underbar's command included; for a server's
    /// processes while they were loaded.
    pub cpu_us: f64,
    /// CPU time of a batch program and of what it started, without underbar's command, in microseconds.
    pub program_us: f64,
    /// From start to end, or while the server was loaded, in microseconds.
    pub elapsed_us: f64,
    /// Most memory at once in KiB: of a batch program's largest process, of a server's processes together.
    pub peak_kib: f64,
    /// A server's memory in KiB a second after the load, with one request more.
    pub final_kib: f64,
    /// Page faults without reading, of a server's processes while they were loaded.
    pub faults: f64,
    /// Exit status, and a sum over the whole output of a batch program.
    pub outcome: (i32, u64),
}

/// One program's samples.
#[derive(Debug)]
pub struct Tried {
    /// The program.
    pub program: &'static Program,
    /// By arm, and for each by rounds.
    pub samples: Vec<Vec<Sample>>,
    /// By arm: the program did not run so. Only of peers.
    pub failed: Vec<bool>,
    /// The reason if there are none.
    pub missing: Option<String>,
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
    /// Each program, in the order of the catalog.
    pub tried: Vec<Tried>,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Runs the rounds, prints the table and writes the page.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let (launch, underbar) = (beside("underbar-bench-launch")?, beside("underbar")?);
    if let Some(unknown) =
        request.programs.iter().find(|name| PROGRAMS.iter().all(|program| program.name != **name))
    {
        return Err(Error::Usage(format!("no program is called {unknown}")));
    }
    let chosen: Vec<&'static Program> = PROGRAMS
        .iter()
        .filter(|program| {
            request.programs.is_empty() || request.programs.iter().any(|name| name == program.name)
        })
        .collect();
    provide(&chosen, request.peers)?;
    let arms = arms::all(&underbar, &request.options, request.peers)?;
    let scratch = target.join("programs-tried");
    let before = Busy::now();
    let mut order = Random::new(request.seed ^ 0x7072_6f67_7261_6d73);
    let mut tried = Vec::new();
    for program in chosen {
        let (samples, failed) = (vec![Vec::new(); arms.len()], vec![false; arms.len()]);
        let mut one = Tried { program, samples, failed, missing: None };
        let measured = prepared(program, &scratch).and_then(|folder| {
            let all: Vec<usize> = (0..arms.len()).collect();
            rounds(request.rounds, &all, &mut order, |Turn { round, place, arm }| {
                if place == 0 {
                    eprintln!("{}: round {} of {}", program.name, round + 1, request.rounds);
                }
                if one.failed[arm] {
                    return Ok(());
                }
                match sample(program, &arms[arm].before, &launch, &underbar, &folder) {
                    Ok(sample) => {
                        has_worked(program.name, arm, &sample)?;
                        one.samples[arm].push(sample);
                    }
                    // A program that does not run with a peer's library is a result.
                    Err(Error::Workload(why)) if arm > UNDER => {
                        eprintln!("with {}: {why}", arms[arm].name);
                        one.failed[arm] = true;
                        one.samples[arm].clear();
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            })
        });
        match measured {
            Ok(()) => {}
            // One program that does not come up here is no reason to lose the others' hour.
            Err(why @ (Error::Missing(_) | Error::Workload(_))) if !request.require_all => {
                one.samples.iter_mut().for_each(Vec::clear);
                one.missing = Some(why.to_string());
            }
            Err(error) => return Err(error),
        }
        eprintln!("{}", table::line(&one));
        tried.push(one);
    }
    let host = Host::here();
    let others = before.others(host.processors);
    let run = Run { host, request, arms, tried, others };
    let page = table::page(&run);
    print!("{page}");
    if run.request.record {
        results::record(&run.host, &[("programs.csv", table::csv(&run))], workspace)?;
        let path = workspace.join("docs/programs-tried.md");
        std::fs::write(&path, page).map_err(|error| Error::system("writing the page", &error))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// What fails plain measures nothing: it may not be the program that its name says.
fn has_worked(name: &str, arm: usize, sample: &Sample) -> Result<(), Error> {
    let (status, _) = sample.outcome;
    if arm == PLAIN && status != 0 {
        return Err(Error::Workload(format!("{name} ends with status {status}")));
    }
    Ok(())
}

/// One sample of one arm.
fn sample(
    program: &Program,
    before: &[String],
    launch: &Path,
    underbar: &Path,
    folder: &Path,
) -> Result<Sample, Error> {
    match &program.work {
        Work::Batch { words, turns } => {
            let front = batch::Front { before, variables: &[] };
            batch::sample(program.name, words, *turns, front, launch, folder)
        }
        Work::Server { words, ready, load, stop, .. } => {
            let server = server::Server { name: program.name, words, ready, load, stop };
            server.sample(before, underbar, folder)
        }
    }
}

/// Whether a program of the catalog is there: any of several names or patterns of paths, joined by `|`.
fn is_there(needed: &str) -> Result<bool, Error> {
    let tests: Vec<String> =
        needed.split('|').map(|one| format!("command -v {one} || ls -d {one}")).collect();
    Ok(shell(&tests.join(" || "), Path::new("/"))?.0)
}

/// Installs the programs' requirements, if this is root on Debian; otherwise the rows name what is missing.
pub(crate) fn provide(chosen: &[&Program], has_peers: bool) -> Result<(), Error> {
    let of_peers = PEERS.into_iter().filter(|(_, _, file)| has_peers && !arms::library(file).exists());
    let mut packages: Vec<&str> = of_peers.map(|(_, package, _)| package).collect();
    for (needed, package) in chosen.iter().flat_map(|program| program.needs) {
        if !packages.contains(package) && !is_there(needed)? {
            packages.push(*package);
        }
    }
    if packages.is_empty() || !shell("test \"$(id -u)\" = 0 && command -v apt-get", Path::new("/"))?.0 {
        return Ok(());
    }
    let names = packages.join(" ");
    eprintln!("installing {names}");
    let text = format!(
        "export DEBIAN_FRONTEND=noninteractive; apt-get update; apt-get install -y --no-install-recommends {names}"
    );
    let (is_done, said) = shell(&text, Path::new("/"))?;
    if !is_done {
        eprintln!("apt-get: {}", said.lines().last().unwrap_or_default());
    }
    Ok(())
}

/// Makes the program's folder anew and prepares it.
///
/// # Errors
/// [`Error::Missing`] if a requirement is not installed, [`Error::Workload`] if the preparation failed.
pub(crate) fn prepared(program: &Program, scratch: &Path) -> Result<PathBuf, Error> {
    for (needed, package) in program.needs {
        if !is_there(needed)? {
            return Err(Error::Missing(format!("{} needs the package {package}", program.name)));
        }
    }
    let folder = scratch.join(program.name.replace(' ', "-"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| Error::system("making a folder", &error))?;
    match shell(&format!("set -eu\n{}", program.prepare), &folder)? {
        (true, _) => Ok(folder),
        (false, said) => Err(Error::Workload(format!("preparing {}: {said}", program.name))),
    }
}

/// Runs a text in the shell, plain: whether it succeeded, and its output.
fn shell(text: &str, folder: &Path) -> Result<(bool, String), Error> {
    let done = Command::new("sh")
        .args(["-c", text])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::system("starting a shell", &error))?;
    let said = [done.stdout, done.stderr].concat();
    Ok((done.status.success(), String::from_utf8_lossy(&said).trim_end().to_owned()))
}

impl Tried {
    /// Whether every run under underbar ended and printed as the plain ones.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.is_same_in(UNDER)
    }

    /// Whether every run of an arm ended and printed as the plain ones.
    #[must_use]
    pub fn is_same_in(&self, arm: usize) -> bool {
        let all = || [PLAIN, arm].into_iter().flat_map(|arm| &self.samples[arm]).map(|sample| sample.outcome);
        all().next().is_some_and(|first| all().all(|outcome| outcome == first))
    }

    /// The ratio of a figure, for an arm to plain.
    #[must_use]
    pub fn ratio_of(&self, arm: usize, figure: impl Fn(&Sample) -> f64) -> Ratio {
        let of = |arm: usize| self.samples[arm].iter().map(&figure).collect::<Vec<f64>>();
        paired(&of(arm), &of(PLAIN)).ratio()
    }

    /// The ratio of a figure, under underbar to plain.
    #[must_use]
    pub fn ratio(&self, figure: impl Fn(&Sample) -> f64) -> Ratio {
        self.ratio_of(UNDER, figure)
    }

    /// The median of a figure's rounds: plain and under underbar.
    #[must_use]
    pub fn medians(&self, figure: impl Fn(&Sample) -> f64) -> (f64, f64) {
        let of = |arm: usize| median(&self.samples[arm].iter().map(&figure).collect::<Vec<f64>>());
        (of(PLAIN), of(UNDER))
    }
}

#[cfg(test)]
mod tests {
    use super::catalog::PROGRAMS;
    use super::{PLAIN, Sample, Tried, UNDER, has_worked};

    #[test]
    fn a_program_that_fails_plain_is_not_measured() {
        let ended = |status| Sample { outcome: (status, 7), ..Sample::default() };
        assert!(
            has_worked("convert", PLAIN, &ended(0)).is_ok()
                && has_worked("convert", UNDER, &ended(139)).is_ok()
        );
        let error = has_worked("convert", PLAIN, &ended(1)).expect_err("it failed");
        assert!(error.to_string().ends_with("convert ends with status 1"), "{error}");
    }

    #[test]
    fn another_outcome_is_another_program() {
        let sample = |outcome| Sample { cpu_us: 2.0, outcome, ..Sample::default() };
        let tried = |under| Tried {
            program: &PROGRAMS[0],
            samples: vec![vec![sample((0, 7)); 3], vec![sample(under); 3]],
            failed: vec![false; 2],
            missing: None,
        };
        assert!(tried((0, 7)).is_same());
        assert!(!tried((0, 8)).is_same() && !tried((1, 7)).is_same());
        assert!((tried((0, 7)).ratio(|sample| sample.cpu_us).value - 1.0).abs() < 1e-9);
    }
}
