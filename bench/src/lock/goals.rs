//! The goals of the simple lock: each printed as held or missed, with the lost cells.
//!
//! A goal whose cells were not run is not printed.

use super::figure::{CPU, FAIRNESS, Figure, P999, PAIR, TIME, WORST, WORST_QUEUED};
use super::table::{against, best, overall, to_best};
use super::{Run, UNCONTENDED};
use crate::goal::Goal;
use std::fmt::Write as _;
use underbar_verdict::ratios::median;

/// The judged lock.
const OURS: &str = "simple";

/// All goals that the run can judge.
pub fn all(run: &Run) -> Vec<Goal> {
    let Some(ours) = run.lock(OURS) else { return Vec::new() };
    [
        uncontended(run, ours),
        throughput(run, ours),
        cpu_overall(run, ours),
        cpu_cells(run, ours),
        fairness(run, ours),
        worst_wait(run, ours, "queued for the lock", &WORST_QUEUED),
        worst_wait(run, ours, "with the time that its thread had no processor", &WORST),
    ]
    .into_iter()
    .chain([(2, 4.0), (8, 10.0), (32, 10.0)].map(|(threads, times)| naive(run, ours, threads, times)))
    .chain((0..run.locks.len()).map(|lock| through(run, lock)))
    .flatten()
    .collect()
}

/// The goals as lines.
pub fn text(run: &Run) -> String {
    let goals = all(run);
    let mut out = tail(run);
    if !goals.is_empty() {
        let _ = writeln!(out, "\nGoals of {OURS}");
    }
    for goal in goals {
        let _ = write!(out, "{goal}");
    }
    out
}

fn name(run: &Run, cell: usize) -> String {
    format!("{} {:>2}", run.cells[cell].section, run.cells[cell].threads)
}

fn uncontended(run: &Run, ours: usize) -> Option<Goal> {
    let cell = run.cells.iter().position(|cell| cell.section == UNCONTENDED)?;
    let ratio = against(run, cell, ours, run.lock("std")?, &PAIR).ratio();
    Some(Goal {
        wanted: "uncontended not slower than std: the interval includes 1 or is below, its end at most 1.03"
            .to_owned(),
        held: ratio.low <= 1.0 && ratio.high <= 1.03,
        found: vec![ratio.to_string()],
    })
}

/// A goal on every contended cell: `lost` returns the fault of one, if any.
fn cells(run: &Run, wanted: &str, lost: impl Fn(usize) -> Option<String>) -> Option<Goal> {
    run.contended().next()?;
    let found: Vec<String> = run.contended().filter_map(lost).collect();
    Some(Goal { wanted: wanted.to_owned(), held: found.is_empty(), found })
}

fn throughput(run: &Run, ours: usize) -> Option<Goal> {
    cells(run, "throughput at least 0.9 of the best peer in every cell", |cell| {
        let (peer, _) = best(run, cell, &TIME)?;
        // Work done in a time is the inverse of the time for the work.
        let throughput = against(run, cell, peer, ours, &TIME).ratio();
        (throughput.value < 0.9)
            .then(|| format!("{}: {throughput} of {}", name(run, cell), run.locks[peer].name))
    })
}

fn cpu_overall(run: &Run, ours: usize) -> Option<Goal> {
    let ratio = overall(run, ours, &CPU)?.ratio();
    Some(Goal {
        wanted: "CPU per operation: geometric mean over the cells at most 1.0 of the best peers".to_owned(),
        held: ratio.value <= 1.0,
        found: vec![ratio.to_string()],
    })
}

fn cpu_cells(run: &Run, ours: usize) -> Option<Goal> {
    cells(run, "CPU per operation: upper bound at most 1.15 of the best peer in every cell", |cell| {
        let (peer, _) = best(run, cell, &CPU)?;
        let ratio = to_best(run, cell, ours, &CPU)?.ratio();
        (ratio.high > 1.15).then(|| format!("{}: {ratio} of {}", name(run, cell), run.locks[peer].name))
    })
}

fn fairness(run: &Run, ours: usize) -> Option<Goal> {
    cells(run, "Jain's index at least 0.95 wherever threads outnumber processors", |cell| {
        let value = median(&run.values(cell, ours, &FAIRNESS));
        let lost = run.cells[cell].threads > run.host.processors && value < 0.95;
        lost.then(|| format!("{}: {value:.3}", name(run, cell)))
    })
}

fn worst_wait(run: &Run, ours: usize, of_what: &str, figure: &Figure) -> Option<Goal> {
    let std = run.lock("std")?;
    let wanted = format!("worst wait, {of_what}: at most half of std's at 8 and 32 threads");
    cells(run, &wanted, |cell| {
        if ![8, 32].contains(&run.cells[cell].threads) {
            return None;
        }
        let ratio = against(run, cell, ours, std, figure).ratio();
        (ratio.value > 0.5).then(|| format!("{}: {ratio}", name(run, cell)))
    })
}

/// Not a goal: both are printed next to each other.
fn tail(run: &Run) -> String {
    let (Some(ours), Some(floor)) = (run.lock(OURS), run.lock("fifo")) else { return String::new() };
    let us = |cell, lock| median(&run.values(cell, lock, &P999)) / 1e3;
    let mut out = String::new();
    for cell in run.contended() {
        let (mine, queue) = (us(cell, ours), us(cell, floor));
        let _ = writeln!(out, "  {:<12}{mine:>10.1} us   in the queue {queue:>10.1} us", name(run, cell));
    }
    if out.is_empty() { out } else { format!("\np99.9 of {OURS}, next to a queue that never spins\n{out}") }
}

/// A command through which glibc's mutex is started: it must not be noticeable without contention.
fn through(run: &Run, lock: usize) -> Option<Goal> {
    let cell = run.cells.iter().position(|cell| cell.section == UNCONTENDED)?;
    let pthread = run.lock("pthread").filter(|_| !run.locks[lock].before.is_empty())?;
    let ratio = against(run, cell, lock, pthread, &PAIR).ratio();
    Some(Goal {
        wanted: format!("{}: uncontended equal to pthread within 5 %", run.locks[lock].name),
        held: ratio.high <= 1.05,
        found: vec![ratio.to_string()],
    })
}

fn naive(run: &Run, ours: usize, threads: usize, times: f64) -> Option<Goal> {
    let naive = run.lock("naive")?;
    let cell = run.cells.iter().position(|cell| cell.section == "blocking" && cell.threads == threads)?;
    let ratio = against(run, cell, naive, ours, &CPU).ratio();
    Some(Goal {
        wanted: format!(
            "at {threads} threads and a blocking holder at least {times} times less CPU than the naive lock"
        ),
        held: ratio.value >= times,
        found: vec![ratio.times()],
    })
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::lock::tests::run;

    fn held(run: &crate::lock::Run, word: &str) -> bool {
        all(run).iter().find(|goal| goal.wanted.contains(word)).expect("the goal").held
    }

    #[test]
    fn who_takes_less_holds_what_who_takes_more_misses() {
        let (better, worse) = (run([[300, 200, 100, 50]; 2]), run([[300, 200, 400, 50]; 2]));
        for word in ["throughput", "geometric mean", "upper bound", "worst wait"] {
            assert!(held(&better, word) && !held(&worse, word), "{word}");
        }
        let lost =
            all(&worse).into_iter().find(|goal| goal.wanted.contains("upper bound")).expect("the goal");
        assert_eq!(lost.found, ["long  8: 2.000 [2.000, 2.000] of naive"]);
    }

    #[test]
    fn a_goal_whose_cells_were_not_run_is_not_printed() {
        assert!(all(&run([[1; 4]; 2])).iter().all(|goal| !goal.wanted.contains("blocking")));
    }
}
