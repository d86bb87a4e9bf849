//! `bench lock`: locks under contention, in interleaved rounds.
//!
//! ```text
//! for each cell (section x threads) and each round
//!   for each lock, in an order drawn anew
//!     one process: contend ──> figures on one line
//! all figures ──> table (ratios to the best peer)   goals (held or missed)   csv, json
//! ```
//!
//! Invariant: a sample is a process of its own, so that its CPU time is exactly that of this lock under this cell;
//! and all processes get the same length of work, measured once.
//! Not here: the locks and their threads (`contention`).

mod figure;
mod files;
mod goals;
mod table;

use self::figure::Figure;
use crate::busy::Busy;
use crate::host::Host;
use crate::measure::beside;
use crate::{Error, results};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use underbar_contention::contend::{self, CELLS, MOST_THREADS};
use underbar_contention::locks::{self, Entry, Role};
use underbar_contention::{Figures, work::Rate};
use underbar_verdict::random::Random;
use underbar_verdict::turns::{self, Turn};

/// The cell of one undisturbed thread.
pub const UNCONTENDED: &str = "uncontended";
/// The cell of tasks that log, at a given rate each.
pub const OPEN: &str = "open";
/// Tasks of that cell, their records a second, and the factor of its runs' length: records come slowly.
const TASKS: usize = 100;
const PER_SECOND: u64 = 10;
const OPEN_LONGER: u64 = 5;
/// With more threads than these a run is longer, in proportion: a thread's share in a few turns of the scheduler depends
/// more on the scheduler than on the lock.
const AS_LONG: u64 = 8;
/// The locks of that comparison: before, after, and the ones that programs have anyway.
const OPEN_LOCKS: [&str; 3] = ["naive", "std", "simple"];
/// Threads of the other cells.
const THREADS: [usize; 4] = [1, 2, 8, 32];

/// The request on the command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// Rounds of each cell, at least one.
    pub rounds: usize,
    /// Length of one run of up to eight threads; of more it is longer, in proportion.
    pub milliseconds: u64,
    /// Sections to run; empty: all.
    pub cells: Vec<String>,
    /// Numbers of threads; empty: 1, 2, 8, 32.
    pub threads: Vec<usize>,
    /// Locks to run; empty: all.
    pub locks: Vec<String>,
    /// glibc's normal mutex once more, started through a command: a name, and the command's words.
    pub through: Vec<(String, Vec<String>)>,
    /// The first round's seed.
    pub seed: u64,
    /// Whether text, CSV and JSON are written below `bench/runs`.
    pub record: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            rounds: 15,
            milliseconds: 400,
            cells: Vec::new(),
            threads: Vec::new(),
            locks: Vec::new(),
            through: Vec::new(),
            seed: 1,
            record: true,
        }
    }
}

impl Request {
    /// Three short rounds.
    pub fn quick(&mut self) {
        (self.rounds, self.milliseconds, self.record) = (3, 100, false);
    }
}

/// A lock of this run.
#[derive(Debug, Clone)]
pub struct Arm {
    /// The name in tables.
    pub name: String,
    /// The lock.
    pub entry: &'static Entry,
    /// Its role in the comparison.
    pub role: Role,
    /// The command that starts its processes; empty: none.
    pub before: Vec<String>,
}

/// A section with a number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The section's name, [`UNCONTENDED`], or [`OPEN`].
    pub section: &'static str,
    /// Threads that want the lock.
    pub threads: usize,
}

/// One sample.
#[derive(Debug, Clone)]
pub struct Record {
    /// The round, from 0.
    pub round: usize,
    /// The index in the round's order, from 0.
    pub place: usize,
    /// The cell's index in [`Run::cells`].
    pub cell: usize,
    /// The lock's index in [`Run::locks`].
    pub lock: usize,
    /// Its measurements.
    pub figures: Figures,
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// Steps of work in a millisecond.
    pub rate: Rate,
    /// The cells, in the order of the table.
    pub cells: Vec<Cell>,
    /// The locks, in the order of the table.
    pub locks: Vec<Arm>,
    /// All samples, in order.
    pub records: Vec<Record>,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Runs the rounds, prints the tables and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path) -> Result<(), Error> {
    let program = beside("underbar-bench-contend")?;
    let mut run = Run {
        host: Host::here(),
        rate: Rate::measure(),
        cells: cells(&request)?,
        locks: chosen_locks(&request)?,
        request,
        records: Vec::new(),
        others: 0.0,
    };
    let mut order = Random::new(run.request.seed ^ 0x006f_7264_6572);
    let before = Busy::now();
    for cell in 0..run.cells.len() {
        rounds(&mut run, &program, cell, &mut order)?;
    }
    run.others = before.others(run.host.processors);
    let text = format!("{}{}", table::text(&run), goals::text(&run));
    let recorded_in = run.request.record.then_some(workspace);
    results::print(&run.host, recorded_in, "lock", text, || files::csv(&run), || files::json(&run))
}

/// All rounds of one cell.
fn rounds(run: &mut Run, program: &Path, cell: usize, order: &mut Random) -> Result<(), Error> {
    eprintln!("{:<12} {} threads", run.cells[cell].section, run.cells[cell].threads);
    let takes_part = |lock: &usize| {
        run.cells[cell].section != OPEN || OPEN_LOCKS.contains(&run.locks[*lock].name.as_str())
    };
    let locks: Vec<usize> = (0..run.locks.len()).filter(takes_part).collect();
    turns::rounds(run.request.rounds, &locks, order, |Turn { round, place, arm: lock }| {
        let figures = sample(program, &run.locks[lock].before, &words(run, cell, lock, round))?;
        run.records.push(Record { round, place, cell, lock, figures });
        Ok(())
    })
}

/// The arguments of one process.
fn words(run: &Run, cell: usize, lock: usize, round: usize) -> Vec<String> {
    let (cell, name) = (run.cells[cell], run.locks[lock].entry.name);
    let Rate(rate) = run.rate;
    let threads = cell.threads as u64;
    let milliseconds = run.request.milliseconds * threads.max(AS_LONG) / AS_LONG;
    let seed = run.request.seed + round as u64;
    let (words, numbers) = match cell.section {
        UNCONTENDED => (vec![UNCONTENDED, name], vec![]),
        OPEN => (vec![OPEN, name], vec![threads, PER_SECOND, run.request.milliseconds * OPEN_LONGER, seed]),
        section => (vec!["contend", name, section], vec![threads, milliseconds, rate, seed]),
    };
    words.into_iter().map(str::to_owned).chain(numbers.iter().map(u64::to_string)).collect()
}

/// Runs one process.
fn sample(program: &Path, before: &[String], words: &[String]) -> Result<Figures, Error> {
    let mut all = before.iter().map(OsStr::new).chain([program.as_os_str()]);
    let first = all.next().unwrap_or(program.as_os_str());
    let done = Command::new(first)
        .args(all)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::system("starting a run", &error))?;
    let wrong = |what: &str| Error::Workload(format!("{}: {what}", words.join(" ")));
    if !done.status.success() {
        return Err(wrong(String::from_utf8_lossy(&done.stderr).trim_end()));
    }
    Figures::parse(&String::from_utf8_lossy(&done.stdout)).ok_or_else(|| wrong("no figures"))
}

/// The cells that the request names.
fn cells(request: &Request) -> Result<Vec<Cell>, Error> {
    for name in &request.cells {
        if ![UNCONTENDED, OPEN].contains(&name.as_str()) && contend::find(name).is_none() {
            let known: Vec<&str> = CELLS.iter().map(|cell| cell.name).chain([UNCONTENDED, OPEN]).collect();
            return Err(Error::Usage(format!("no cell {name}; there are {}", known.join(", "))));
        }
    }
    if let Some(many) = request.threads.iter().find(|threads| **threads > MOST_THREADS) {
        return Err(Error::Usage(format!("{many} threads; there may be {MOST_THREADS}")));
    }
    let wanted = |name: &str| request.cells.is_empty() || request.cells.iter().any(|one| one == name);
    let threads = if request.threads.is_empty() { &THREADS[..] } else { &request.threads };
    let mut cells: Vec<Cell> =
        wanted(UNCONTENDED).then_some(Cell { section: UNCONTENDED, threads: 1 }).into_iter().collect();
    for cell in CELLS.iter().filter(|cell| wanted(cell.name)) {
        cells.extend(threads.iter().map(|threads| Cell { section: cell.name, threads: *threads }));
    }
    cells.extend(wanted(OPEN).then_some(Cell { section: OPEN, threads: TASKS }));
    Ok(cells)
}

/// The locks that the request names; at least one of them a peer.
fn chosen_locks(request: &Request) -> Result<Vec<Arm>, Error> {
    for name in &request.locks {
        if locks::find(name).is_none() {
            let known: Vec<&str> = locks::TABLE.iter().map(|entry| entry.name).collect();
            return Err(Error::Usage(format!("no lock {name}; there are {}", known.join(", "))));
        }
    }
    let wanted = |name: &str| request.locks.is_empty() || request.locks.iter().any(|one| one == name);
    let itself = |entry: &'static Entry| {
        let (name, role, before) = (entry.name.to_owned(), entry.role, Vec::new());
        Arm { name, entry, role, before }
    };
    // An experiment takes no time of a whole run.
    let takes_part =
        |entry: &&Entry| wanted(entry.name) && (entry.role != Role::Experiment || !request.locks.is_empty());
    let mut arms: Vec<Arm> = locks::TABLE.iter().filter(takes_part).map(itself).collect();
    if !arms.iter().any(|arm| arm.role == Role::Peer) {
        return Err(Error::Usage("no peer to compare with among the locks".to_owned()));
    }
    if let Some(pthread) = locks::find("pthread") {
        arms.extend(request.through.iter().map(|(name, before)| Arm {
            name: name.clone(),
            entry: pthread,
            role: Role::Ours,
            before: before.clone(),
        }));
    }
    Ok(arms)
}

impl Run {
    /// One figure of one lock in one cell, round by round; empty if it was not measured.
    #[must_use]
    pub fn values(&self, cell: usize, lock: usize, figure: &Figure) -> Vec<f64> {
        let mut records: Vec<&Record> =
            self.records.iter().filter(|record| record.cell == cell && record.lock == lock).collect();
        records.sort_by_key(|record| record.round);
        records.iter().filter_map(|record| (figure.value)(&record.figures)).collect()
    }

    /// The index of the lock of that name.
    #[must_use]
    pub fn lock(&self, name: &str) -> Option<usize> {
        self.locks.iter().position(|arm| arm.name == name)
    }

    /// Cells where threads contend.
    pub fn contended(&self) -> impl Iterator<Item = usize> {
        (0..self.cells.len()).filter(|cell| ![UNCONTENDED, OPEN].contains(&self.cells[*cell].section))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, OPEN, Record, Request, Run, UNCONTENDED, cells, chosen_locks, words};
    use crate::host::Host;
    use underbar_contention::{Figures, work::Rate};

    /// std, naive, simple and fifo under `long` with eight threads; the CPU time for an operation is given, in ns, and
    /// everything else follows from it. The two rounds are repeated, as fewer than six have no interval.
    pub(super) fn run(times: [[u64; 4]; 2]) -> Run {
        let locks = ["std", "naive", "simple", "fifo"].map(str::to_owned).to_vec();
        let request = Request { rounds: 6, locks, ..Request::default() };
        let mut records = Vec::new();
        for (round, row) in times.iter().cycle().take(6).enumerate() {
            for (lock, time) in row.iter().enumerate() {
                let figures = Figures::default()
                    .with("operations", 1_000)
                    .with("cpu_ns", time * 1_000)
                    .with("elapsed_ns", time * 500)
                    .with("wait_worst_ns", time * 10)
                    .with("queued_worst_ns", time * 8)
                    .with("wait_p999_ns", time * 5)
                    .with("fairness_ppm", 990_000)
                    .with("queued_ns", 7)
                    .with("runnable_ns", 7)
                    .with("slept", 7)
                    .with("fewest", 1)
                    .with("most", 2);
                records.push(Record { round, place: lock, cell: 0, lock, figures });
            }
        }
        Run {
            host: Host { processors: 2, ..Host::here() },
            rate: Rate(1),
            cells: vec![Cell { section: "long", threads: 8 }],
            locks: chosen_locks(&request).expect("locks"),
            request,
            records,
            others: 0.25,
        }
    }

    #[test]
    fn a_request_names_what_there_is() {
        let request = |cells: &[&str], locks: &[&str]| Request {
            cells: cells.iter().map(ToString::to_string).collect(),
            locks: locks.iter().map(ToString::to_string).collect(),
            ..Request::default()
        };
        let all = cells(&request(&[], &[])).expect("cells");
        assert_eq!((all.len(), all[0].section, all[13].section), (14, UNCONTENDED, OPEN));
        assert!(cells(&request(&["none"], &[])).is_err());
        assert!(chosen_locks(&request(&[], &["none"])).is_err());
        assert!(chosen_locks(&request(&[], &["simple"])).is_err(), "nobody to compare with");
        let takes_part = |locks: &[&str], name: &str| {
            let arms = chosen_locks(&request(&[], locks)).expect("locks");
            arms.iter().any(|arm| arm.name == name)
        };
        assert!(takes_part(&["std", "one_rmw"], "one_rmw") && takes_part(&[], "fifo"));
        assert!(!takes_part(&[], "one_rmw"), "what was only tried takes no time of a whole run");
        let through = vec![("counted".to_owned(), vec!["env".to_owned()])];
        let arms = chosen_locks(&Request { through, ..request(&[], &["std"]) }).expect("locks");
        assert_eq!(
            (arms[1].name.as_str(), arms[1].entry.name, arms[1].before.len()),
            ("counted", "pthread", 1)
        );
    }

    #[test]
    fn every_process_is_told_the_same_work() {
        let run = run([[1; 4]; 2]);
        assert_eq!(words(&run, 0, 2, 5), ["contend", "simple", "long", "8", "400", "1", "6"]);
        // The words of one command line equal those of the other.
        let words = words(&run, 0, 2, 5);
        let words: Vec<&str> =
            words.iter().map(String::as_str).map(|word| if word == "400" { "1" } else { word }).collect();
        assert!(underbar_contention::program(&words).is_ok());
    }
}
