//! Arms of a demo, run in turns, and their results: medians, and ratios with their intervals.
//!
//! ```text
//! round 1   arm 2, arm 0, arm 1      each arm once a round, in an order drawn by lot
//! round 2   arm 0, arm 1, arm 2
//! ...       ─> for each arm the median of each figure; for two arms the ratio, round by round
//! ```
//!
//! Not here: which arms run, and how they are printed.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use serde::Serialize;
use underbar_launch::{Ended, Failure, How, Launch, Library, LibraryError};
use underbar_ledger::Key;
use underbar_ledger::table::KEYS;
use underbar_options::{Base, WhereSet};
use underbar_profile::sampler::Refused;
use underbar_profile::{By, DEFAULT_RATE, Facts, Maps, Profile, Sampler, profile};
use underbar_report::figures::Figures;
use underbar_report::model::Report;
use underbar_report::steps::Steps;
use underbar_symbols::Symbols;
use underbar_verdict::interval::{Interval, TooFewPairs};
use underbar_verdict::logarithm::ln;
use underbar_verdict::random::Random;
use underbar_verdict::ratios::{paired, typical};
use underbar_verdict::turns::{self, Turn};

use super::progress::Progress;
use super::{Parameters, programs};
use underbar_runner::layers::Layers;
use underbar_runner::{Runner, steps};

/// The allocator that serves a program's storage.
#[derive(Clone, Debug)]
pub enum Server {
    /// underbar, with these options over its defaults.
    Underbar(String),
    /// Nothing is preloaded: the C library.
    Plain,
    /// Another allocator.
    Peer(PathBuf),
}

/// One arm: a program under a set of options.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Its name in tables.
    pub name: String,
    /// Its allocator.
    pub server: Server,
    /// The program's arguments; for a program of this binary its name comes first.
    pub program: Vec<String>,
}

/// The results of one run.
#[derive(Clone, Debug)]
pub struct Once {
    /// Its resource usage.
    pub steps: Steps,
    /// Its accounts; None if underbar was not in it.
    pub report: Option<Report>,
    /// Its output.
    pub output: String,
}

/// An arm's figures. Each is the median, the lower one of two, so that it is a figure that occurred.
#[derive(Clone, Debug, Serialize)]
pub struct Figured {
    /// Its name in tables.
    pub name: String,
    /// Options in force over the defaults; null without underbar.
    pub options: Option<String>,
    /// The other allocator's file.
    pub preload: Option<PathBuf>,
    /// Its counters; null without underbar.
    pub counters: Option<Figures>,
    /// Its resource usage.
    pub steps: Steps,
    /// CPU time, user and system together.
    pub cpu_ns: u64,
    /// The figures that the program printed about itself, as `name=figure`.
    pub said: BTreeMap<String, u64>,
    /// Did every run count the same segments and bytes?
    pub repeats: bool,
}

impl Figured {
    /// A counter's figure; None without underbar.
    pub fn counter(&self, key: Key) -> Option<u64> {
        self.counters.as_ref()?.known(key)
    }

    /// Page faults of both kinds.
    pub fn faults(&self) -> u64 {
        self.steps.minor_faults + self.steps.major_faults
    }

    /// The growth of resident memory from before the first get to after the last free.
    pub fn kept_resident(&self) -> Option<u64> {
        Some(self.said.get("resident_after")?.saturating_sub(*self.said.get("resident_before")?))
    }
}

/// Why a demo could not be run.
#[derive(Debug)]
pub enum Problem {
    /// The machine: there is no place for the preload library.
    NoPlace(LibraryError),
    /// The machine: a demo program could not be started.
    NotStarted(Failure),
    /// The machine: a file or pipe.
    File(io::Error),
    /// underbar, or an allocator that it is compared with: the program did not end as it does without one.
    Died(String),
    /// The machine, usually a full disk: a library could not be made.
    Library(String),
    /// underbar: there are no accounts.
    NoAccounts(String),
    /// The machine: it lacks what the demo needs.
    Missing(String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::NoPlace(error) => write!(f, "{error}"),
            Problem::NotStarted(failure) => write!(f, "{failure}"),
            Problem::File(error) => write!(f, "{error}"),
            Problem::Library(reason) => write!(f, "a library could not be made: {reason}"),
            Problem::Died(how) => write!(f, "the demo program {how}"),
            Problem::NoAccounts(reason) => write!(f, "no accounts were kept: {reason}"),
            Problem::Missing(what) => write!(f, "{what}"),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::File(error)
    }
}

impl From<underbar_store::Error> for Problem {
    fn from(error: underbar_store::Error) -> Self {
        Problem::Library(error.to_string())
    }
}

/// Runs programs of this binary, or another one.
pub struct Machine {
    /// The program.
    this: OsString,
    /// The first of its arguments, which chooses a hidden program of this binary.
    word: Option<&'static str>,
    library: Library,
    /// Where the program writes its figures, if not to its standard output.
    figures: Option<String>,
}

impl Machine {
    /// Puts the preload library at a path where programs find it.
    pub fn new(parameters: &Parameters) -> Result<Machine, Problem> {
        let library = (parameters.library)().map_err(Problem::NoPlace)?;
        let this = env::current_exe()?.into();
        Ok(Machine { this, word: Some(programs::WORD), library, figures: None })
    }

    /// The same for another program.
    pub fn of_program(program: &Path, parameters: &Parameters) -> Result<Machine, Problem> {
        Ok(Machine { this: program.into(), word: None, ..Machine::new(parameters)? })
    }

    /// The program writes its figures into this file, since its standard output goes elsewhere.
    pub fn says_in(&mut self, file: String) {
        self.figures = Some(file);
    }

    /// Runs an arm once.
    pub fn once(&self, arm: &Arm) -> Result<Once, Problem> {
        let (mut reader, writer) = io::pipe()?;
        let (input, output) = (File::open("/dev/null")?, File::from(OwnedFd::from(writer)));
        // A standard output that is given is not rerouted by MAINPR.
        let streams = [Some(&input), self.figures.is_none().then_some(&output), None];
        let arguments = self.arguments(arm);
        let (ended, report) = match &arm.server {
            Server::Underbar(text) => {
                let mut layers = Layers::new(Base::Underbar);
                layers.add(WhereSet::CommandLine, arm.name.clone(), text.clone());
                let runner = Runner {
                    library: Some(&self.library),
                    layers: &layers,
                    follow: false,
                    leaves: false,
                    streams,
                };
                let finished = runner.run(&self.this, &arguments).map_err(Problem::NotStarted)?;
                if let Some(reason) = finished.no_accounts {
                    return Err(Problem::NoAccounts(reason));
                }
                (finished.ended, Some(finished.report))
            }
            Server::Plain => (self.launch(arguments, None, streams)?, None),
            Server::Peer(path) => {
                let library = Library::at(path.clone());
                (self.launch(arguments, Some(&library), streams)?, None)
            }
        };
        drop(output);
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        died_otherwise(&arm.name, &ended)?;
        if let Some(file) = &self.figures {
            File::open(file)?.read_to_string(&mut text)?;
        }
        Ok(Once { steps: steps(&ended), report, output: text })
    }

    /// Runs an arm once, without a preload, and samples its instructions; the kernel may refuse that.
    pub fn profiled(&self, arm: &Arm) -> Result<Result<Profile, Refused>, Problem> {
        let mut sampler = match Sampler::begin(DEFAULT_RATE) {
            Ok(sampler) => sampler,
            Err(refused) => return Ok(Err(refused)),
        };
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        let streams = [Some(&nothing), Some(&nothing), None];
        let arguments = self.arguments(arm);
        let (program, variables) = (self.this.clone(), Vec::new());
        let launch = Launch { program, arguments, library: None, variables, follow: true, streams };
        let ended = launch.run_watched(&mut || sampler.look()).map_err(Problem::NotStarted)?;
        let steps = steps(&ended);
        let facts = Facts {
            program: shown(Path::new(&self.this)),
            arguments: arm.program.clone(),
            rate_hz: u64::from(DEFAULT_RATE),
            raw: false,
            sampler: By::Perf,
            notes: Vec::new(),
            elapsed_ns: steps.elapsed_ns,
            user_ns: steps.user_ns,
            system_ns: steps.system_ns,
        };
        died_otherwise(&arm.name, &ended)?;
        Ok(Ok(profile(&sampler.end(), &Symbols::new(), &Maps::default(), facts)))
    }

    /// The command line of the program.
    fn arguments(&self, arm: &Arm) -> Vec<OsString> {
        self.word.into_iter().chain(arm.program.iter().map(String::as_str)).map(Into::into).collect()
    }

    fn launch(
        &self,
        arguments: Vec<OsString>,
        library: Option<&Library>,
        streams: [Option<&File>; 3],
    ) -> Result<Ended, Problem> {
        let variables = Vec::new();
        Launch { program: self.this.clone(), arguments, library, variables, follow: true, streams }
            .run()
            .map_err(Problem::NotStarted)
    }

    /// Runs all arms once in each round.
    pub fn rounds(
        &self,
        arms: Vec<Arm>,
        rounds: usize,
        order: &mut Random,
        progress: &mut Progress,
    ) -> Result<Rounds, Problem> {
        let mut runs: Vec<Vec<Once>> = vec![Vec::with_capacity(rounds); arms.len()];
        let all: Vec<usize> = (0..arms.len()).collect();
        turns::rounds(rounds, &all, order, |Turn { round, place, arm }| {
            progress.at(round, rounds, place, arms.len());
            runs[arm].push(self.once(&arms[arm])?);
            Ok::<(), Problem>(())
        })?;
        Ok(Rounds { arms, runs })
    }
}

/// Fails if the program did not exit with success.
fn died_otherwise(name: &str, ended: &Ended) -> Result<(), Problem> {
    match ended.how {
        How::Exited(0) => Ok(()),
        How::Exited(code) => Err(Problem::Died(format!("({name}) ended with exit code {code}"))),
        How::Killed(signal) => Err(Problem::Died(format!("({name}) was killed by signal {signal}"))),
    }
}

/// All runs of all arms.
pub struct Rounds {
    arms: Vec<Arm>,
    runs: Vec<Vec<Once>>,
}

impl Rounds {
    /// The figures of each arm, in the order of the arms.
    pub fn figured(&self) -> Vec<Figured> {
        self.arms.iter().zip(&self.runs).map(|(arm, runs)| figured(arm, runs)).collect()
    }

    /// The ratio of two arms' CPU times, from the rounds.
    pub fn cpu_ratio(&self, arm: usize, to: usize) -> Result<Interval, TooFewPairs> {
        let times = |arm: usize| self.runs[arm].iter().map(|once| cpu(&once.steps).max(1) as f64);
        paired(&times(arm).collect::<Vec<_>>(), &times(to).collect::<Vec<_>>()).interval()
    }

    /// The ratio of a figure that programs print about themselves, from the rounds in which both printed it.
    pub fn said_ratio(
        &self,
        arm: usize,
        to: usize,
        figure: fn(&BTreeMap<String, u64>) -> Option<f64>,
    ) -> Result<Interval, TooFewPairs> {
        let is_known = |(this, that): &(f64, f64)| ln(this / that).is_finite();
        let (these, those): (Vec<f64>, Vec<f64>) = self.runs[arm]
            .iter()
            .zip(&self.runs[to])
            .filter_map(|(this, that)| Some((figure(&said(&this.output))?, figure(&said(&that.output))?)))
            .filter(is_known)
            .unzip();
        paired(&these, &those).interval()
    }

    /// The number of runs, over all arms, in which `so` holds for the program's own figures, and the number of all runs.
    pub fn said_is(&self, so: fn(&BTreeMap<String, u64>) -> bool) -> (usize, usize) {
        let all = || self.runs.iter().flatten();
        (all().filter(|once| so(&said(&once.output))).count(), all().count())
    }

    /// The index of an arm by its name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.name == name)
    }

    /// The arm without underbar that took the least CPU time, by its median.
    pub fn best_peer(&self) -> Option<usize> {
        (0..self.arms.len())
            .filter(|&arm| !matches!(self.arms[arm].server, Server::Underbar(_)))
            .min_by_key(|&arm| median(self.runs[arm].iter().map(|once| cpu(&once.steps))))
    }

    /// The number of arms.
    pub fn len(&self) -> usize {
        self.arms.len()
    }

    /// An arm's name.
    pub fn name(&self, arm: usize) -> &str {
        &self.arms[arm].name
    }
}

fn figured(arm: &Arm, runs: &[Once]) -> Figured {
    let of_steps = |get: fn(&Steps) -> u64| median(runs.iter().map(|once| get(&once.steps)));
    // Known only if every run knew it.
    let of_known = |get: fn(&Steps) -> Option<u64>| {
        let known: Option<Vec<u64>> = runs.iter().map(|once| get(&once.steps)).collect();
        known.filter(|known| !known.is_empty()).map(|known| median(known.into_iter()))
    };
    let reports: Vec<&Report> = runs.iter().filter_map(|once| once.report.as_ref()).collect();
    let counters = (!reports.is_empty()).then(|| {
        let mut figures = Figures::zero();
        for key in KEYS {
            figures.set(key, median(reports.iter().map(|report| report.tree.counters.get(key))));
        }
        figures
    });
    let same =
        |key| reports.windows(2).all(|two| two[0].tree.counters.get(key) == two[1].tree.counters.get(key));
    let said: Vec<BTreeMap<String, u64>> = runs.iter().map(|once| said(&once.output)).collect();
    let names = said.first().into_iter().flat_map(BTreeMap::keys);
    Figured {
        name: arm.name.clone(),
        options: match &arm.server {
            Server::Underbar(text) => Some(text.clone()),
            Server::Plain | Server::Peer(_) => None,
        },
        preload: match &arm.server {
            Server::Peer(path) => Some(path.clone()),
            Server::Plain | Server::Underbar(_) => None,
        },
        counters,
        steps: Steps {
            elapsed_ns: of_steps(|steps| steps.elapsed_ns),
            user_ns: of_steps(|steps| steps.user_ns),
            system_ns: of_steps(|steps| steps.system_ns),
            peak_resident_bytes: of_steps(|steps| steps.peak_resident_bytes),
            minor_faults: of_steps(|steps| steps.minor_faults),
            major_faults: of_steps(|steps| steps.major_faults),
            voluntary_switches: of_steps(|steps| steps.voluntary_switches),
            involuntary_switches: of_steps(|steps| steps.involuntary_switches),
            read_calls: of_known(|steps| steps.read_calls),
            write_calls: of_known(|steps| steps.write_calls),
            read_bytes: of_known(|steps| steps.read_bytes),
            written_bytes: of_known(|steps| steps.written_bytes),
            kernel_entries: of_known(|steps| steps.kernel_entries),
        },
        cpu_ns: median(runs.iter().map(|once| cpu(&once.steps))),
        said: names
            .map(|name| (name.clone(), median(said.iter().filter_map(|one| one.get(name).copied()))))
            .collect(),
        repeats: same(Key::HeapSegmentsAllocated)
            && same(Key::HeapSegmentBytesTotal)
            && same(Key::HeapUsedPeak),
    }
}

/// User and system time together.
pub fn cpu(steps: &Steps) -> u64 {
    steps.user_ns.saturating_add(steps.system_ns)
}

fn median(figures: impl Iterator<Item = u64>) -> u64 {
    typical(figures).unwrap_or(0)
}

/// The output of a program: `name=figure`, separated by blanks.
pub fn said(output: &str) -> BTreeMap<String, u64> {
    let pairs = output.split_ascii_whitespace().filter_map(|word| word.split_once('='));
    pairs.filter_map(|(name, figure)| Some((name.to_owned(), figure.parse().ok()?))).collect()
}

/// The file name of a path, for tables.
pub fn shown(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_of_itself_is_read() {
        let expected = [("a".to_owned(), 1), ("b_c".to_owned(), 22)];
        assert_eq!(said("a=1 b_c=22 x y=z\n"), expected.into_iter().collect());
    }
}
