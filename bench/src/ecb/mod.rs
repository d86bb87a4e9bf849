//! `bench ecb`: a heap for each unit of work, next to the heaps, arenas, contexts and pools of others.
//!
//! ```text
//! arms (arenas, malloc under each allocator)     once: compiled; scripts of requests written, one by the TLS driver
//! for each row, for each round, in an order drawn anew
//!   for each arm of the row: one process ──> figures
//! all figures ──> medians, ratios of ECBs to each arm   the heap's share of TLS (callgrind)   kernel calls (strace)   goals
//! ```
//!
//! Invariant: all arms of a row serve the same requests, and compare what they wrote: a wrong one is an error, not a sample.
//! Not here: the loop over an arena (`bench/ecb/driver.c`), the demo of TLS (`host/demo`), whose driver it uses, and a server under load for
//! long (`soak`).

pub mod arenas;
mod calls;
mod files;
mod goals;
pub mod rows;
mod script;
pub mod soak;
mod table;

use self::arenas::{Arm, Ready, Way};
use self::calls::Calls;
use self::rows::{Figure, Figures, Row, Scripts};
use crate::busy::Busy;
use crate::host::Host;
use crate::{Error, results};
use std::path::Path;
use underbar_demo::share::{self, Share};
use underbar_verdict::random::Random;
use underbar_verdict::ratios::{LogRatios, median, paired};
use underbar_verdict::turns::{Turn, rounds};

/// The request on the command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// Rounds of each row, at least one.
    pub rounds: usize,
    /// A fifth of the turns.
    pub quick: bool,
    /// Rows to run; empty: all.
    pub rows: Vec<String>,
    /// Arms whose names contain one of these; empty: all.
    pub arms: Vec<String>,
    /// The seed of the scripts, and of the order.
    pub seed: u64,
    /// Whether text, CSV and JSON are written below `bench/runs`.
    pub record: bool,
    /// Whether a missing arm is an error.
    pub require_all: bool,
    /// Minutes of a server under load, in place of all rows ([`soak`]).
    pub soak: Option<u64>,
}

/// The default number of rounds.
const ROUNDS: usize = 15;

impl Default for Request {
    fn default() -> Self {
        Self {
            rounds: ROUNDS,
            quick: false,
            rows: Vec::new(),
            arms: Vec::new(),
            seed: 1,
            record: true,
            require_all: false,
            soak: None,
        }
    }
}

impl Request {
    /// Quickly, and unrecorded.
    pub fn quick(&mut self) {
        (self.rounds, self.quick, self.record) = (3, true, false);
    }
}

/// One sample.
#[derive(Debug, Clone)]
pub struct Record {
    /// The round, from 0.
    pub round: usize,
    /// The index in the round's order, from 0.
    pub place: usize,
    /// The row's index in [`Run::rows`].
    pub row: usize,
    /// The arm's index in [`Run::arms`].
    pub arm: usize,
    /// What it printed.
    pub figures: Figures,
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// The rows, in the order of the table.
    pub rows: Vec<&'static Row>,
    /// The arms, ours last.
    pub arms: Vec<Arm>,
    /// Missing ones, with the reason.
    pub missing: Vec<(String, String)>,
    /// All samples, in order.
    pub records: Vec<Record>,
    /// Requests of a handshake.
    pub handshake_requests: f64,
    /// The heap's share of the instructions of TLS, or why it is not known.
    pub share: Result<Share, String>,
    /// Kernel calls of threads in one arena, or why they are not known.
    pub calls: Result<Vec<(usize, Calls)>, String>,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Compiles the programs, runs the rounds, prints the tables and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let chosen = chosen(&request)?;
    eprintln!("compiling drivers");
    let mut ready = arenas::make(workspace, target)?;
    let is_wanted = |arm: &Arm| request.arms.iter().any(|name| arm.name.contains(name.as_str()));
    ready.arms.retain(|arm| request.arms.is_empty() || is_wanted(arm));
    if request.require_all && !(ready.missing.is_empty() && ready.tls.is_ok()) {
        return Err(Error::Missing(format!("{} arms, and all are required", ready.missing.len())));
    }
    let scripts = rows::scripts(&ready, request.seed)?;
    let mut run = Run {
        host: Host::here(),
        request,
        rows: chosen,
        arms: ready.arms.clone(),
        missing: ready.missing.clone(),
        records: Vec::new(),
        handshake_requests: scripts.handshake_requests,
        share: Err("no TLS row".to_owned()),
        calls: Err("no row with threads".to_owned()),
        others: 0.0,
    };
    if run.has(rows::What::Tls) {
        eprintln!("the heap's share of TLS");
        run.share = match &ready.tls {
            Ok(tls) => share::of(tls, &ready.folder),
            Err(why) => Err(why.clone()),
        };
    }
    if run.has(rows::What::Threads) {
        eprintln!("kernel calls of threads");
        run.calls = calls::of(&run, &ready, &scripts).map_err(|error| error.to_string());
    }
    let before = Busy::now();
    samples(&mut run, &ready, &scripts)?;
    run.others = before.others(run.host.processors);
    let text = format!("{}{}", table::text(&run), goals::text(&run));
    let recorded_in = run.request.record.then_some(workspace);
    results::print(&run.host, recorded_in, "ecb", text, || files::csv(&run), || files::json(&run))
}

/// The rows that the request names.
fn chosen(request: &Request) -> Result<Vec<&'static Row>, Error> {
    let keys = || rows::TABLE.iter().map(|row| row.key);
    if let Some(wrong) = request.rows.iter().find(|name| !keys().any(|key| key == name.as_str())) {
        let known: Vec<&str> = keys().collect();
        return Err(Error::Usage(format!("no row {wrong}; there are {}", known.join(", "))));
    }
    let is_wanted = |row: &&Row| request.rows.is_empty() || request.rows.iter().any(|name| name == row.key);
    Ok(rows::TABLE.iter().filter(is_wanted).collect())
}

/// All samples of all rows.
fn samples(run: &mut Run, ready: &Ready, scripts: &Scripts) -> Result<(), Error> {
    let mut order = Random::new(run.request.seed ^ 0x006f_7264_6572);
    for (at, row) in run.rows.clone().into_iter().enumerate() {
        eprintln!("{:<14} {}", row.key, row.about);
        let arms: Vec<usize> = (0..run.arms.len()).filter(|arm| row.has(&run.arms[*arm], scripts)).collect();
        let turns = run.turns(row);
        rounds(run.request.rounds, &arms, &mut order, |Turn { round, place, arm }| {
            let figures = rows::run(&mut row.command(&run.arms[arm], ready, scripts, turns))?;
            run.records.push(Record { round, place, row: at, arm, figures });
            Ok::<(), Error>(())
        })?;
    }
    Ok(())
}

impl Run {
    /// Turns of a sample. What must be so many is always so many.
    fn turns(&self, row: &Row) -> usize {
        let is_fixed = row.what == rows::What::Live;
        if self.request.quick && !is_fixed { (row.turns / 5).max(1) } else { row.turns }
    }

    fn has(&self, what: rows::What) -> bool {
        self.rows.iter().any(|row| row.what == what)
    }

    /// The index of a row by its key.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.key == key)
    }

    /// The arms that took part in a row.
    #[must_use]
    pub fn arms_of(&self, row: usize) -> Vec<usize> {
        let took_part = |arm: &usize| self.records.iter().any(|one| (one.row, one.arm) == (row, *arm));
        (0..self.arms.len()).filter(took_part).collect()
    }

    /// The arm of our ECBs, if it took part.
    #[must_use]
    pub fn ours(&self, row: usize) -> Option<usize> {
        self.arms_of(row).into_iter().find(|arm| self.arms[*arm].way == Way::Ours)
    }

    /// A figure of an arm in a row, round by round.
    #[must_use]
    pub fn values(&self, row: usize, arm: usize, figure: &Figure) -> Vec<f64> {
        let mut records: Vec<&Record> =
            self.records.iter().filter(|one| (one.row, one.arm) == (row, arm)).collect();
        records.sort_by_key(|one| one.round);
        records.iter().map(|one| (figure.value)(&one.figures).unwrap_or(f64::NAN)).collect()
    }

    /// The median of a figure.
    #[must_use]
    pub fn median(&self, row: usize, arm: usize, figure: &Figure) -> f64 {
        median(&self.values(row, arm, figure))
    }

    /// Log ratios of one arm to another, round by round.
    #[must_use]
    pub fn against(&self, row: usize, figure: &Figure, arm: usize, other: usize) -> LogRatios {
        paired(&self.values(row, arm, figure), &self.values(row, other, figure))
    }

    /// The rival with the lowest median of a figure.
    #[must_use]
    pub fn best(&self, row: usize, figure: &Figure) -> Option<usize> {
        let rivals = self.arms_of(row).into_iter().filter(|arm| self.arms[*arm].is_rival());
        rivals
            .min_by(|one, other| self.median(row, *one, figure).total_cmp(&self.median(row, *other, figure)))
    }
}

#[cfg(test)]
mod tests {
    use super::arenas::{Arm, Way};
    use super::rows::{Figures, TABLE};
    use super::{Record, Request, Run};
    use crate::host::Host;

    fn arm(name: &str, way: Way) -> Arm {
        let (version, program, preload) = ("1".to_owned(), "/bin/true".into(), None);
        Arm { name: name.to_owned(), version, way, program, preload, variables: &[] }
    }

    /// Six rounds of every row: malloc, a pool as fast as it, a bare bump allocator, and ours, each with so many ns for a turn.
    pub(super) fn run(times: [u64; 3]) -> Run {
        let arms = vec![
            arm("malloc, mimalloc3", Way::Malloc),
            arm("APR pool", Way::Arena { is_shared: true, is_small: true }),
            arm("bumpalo", Way::Bump { is_kept: false }),
            arm("underbar ECB", Way::Ours),
        ];
        let mut records = Vec::new();
        for row in 0..TABLE.len() {
            let [other, bare, ours] = times;
            for (arm, time) in [other, other, bare, ours].iter().enumerate() {
                for round in 0..6 {
                    let names = ["turns", "handshakes", "messages", "requested"].map(|name| (name, 1_000));
                    let figures =
                        ["cpu_ns", "elapsed_ns", "handshake_cpu_ns", "message_ns", "message_cpu_ns"]
                            .map(|name| (name, time * 1_000))
                            .into_iter()
                            .chain(names)
                            .chain([("resident", time * 100)])
                            .map(|(name, figure)| (name.to_owned(), figure))
                            .collect::<Figures>();
                    records.push(Record { round, place: arm, row, arm, figures });
                }
            }
        }
        Run {
            host: Host::here(),
            request: Request::default(),
            rows: TABLE.iter().collect(),
            arms,
            missing: vec![("talloc".to_owned(), "apt-get install libtalloc-dev".to_owned())],
            records,
            handshake_requests: 3_000.0,
            share: Err("no valgrind".to_owned()),
            calls: Err("no strace".to_owned()),
            others: 0.0,
        }
    }

    #[test]
    fn the_best_is_a_rival() {
        let run = run([20, 10, 5]);
        let figure = &run.rows[0].figures[0];
        assert_eq!(run.best(0, figure).map(|arm| run.arms[arm].name.as_str()), Some("bumpalo"));
        assert_eq!(run.ours(0), Some(3));
        assert!((run.against(0, figure, 3, 0).ratio().value - 0.25).abs() < 1e-9);
    }
}
