//! `demo lock`: many tasks under one lock, as z/TPF had them before and after its simple locks were changed.
//!
//! Two loads. In the open load, each task logs a fixed number of records a second, as in the document: either the lock keeps
//! up with them or it does not. In the closed load, threads take the lock again as soon as they can; so it shows the cost of
//! each acquisition, the longest waits, and whether all threads get the same share.
//!
//! Not here: other numbers of threads, other sections, intervals on everything (`cargo xtask bench lock`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread::available_parallelism;

use underbar_contention::work::Rate;
use underbar_profile::text;
use underbar_report::units::{count, nanoseconds};

use super::document::{LOCK, PROFILES};
use super::measure::{Arm, Figured, Machine, Problem, Rounds};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Parameters, order, plain};
use crate::programs::lock::{PER_SECOND, TASKS, THREADS};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
const NAIVE: &str = "naive";
const SIMPLE: &str = "simple";
/// The first two locks are profiled: before and after.
const PROFILED: usize = 2;
/// The number of instructions of a profile that are shown.
const TOP: usize = 8;
const LOCKS: [&str; 5] = [NAIVE, SIMPLE, "std", "parking_lot", "pthread"];
/// The most CPU time for each operation that the simple lock may take, as a share of the naive lock's.
const LIMIT: f64 = 0.10;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let mut output = Output::new("lock", "many tasks under one lock", parameters, runs);
    let machine = Machine::new(parameters)?;
    let (mut progress, mut order) = (Progress::new(parameters.quiet), order(parameters));
    let rate = Rate::measure();
    progress.part("the log");
    let logging = machine.rounds(arms("logging", parameters.seed, rate), runs, &mut order, &mut progress)?;
    progress.part("contention");
    let contended =
        machine.rounds(arms("contended", parameters.seed, rate), runs, &mut order, &mut progress)?;

    output.pages.push(profiles());
    output.profiles = &PROFILES;
    for arm in arms("contended", parameters.seed, rate).into_iter().take(PROFILED) {
        match machine.profiled(&arm)? {
            Ok(profile) => {
                output.pages.push(format!(
                    "Here, under the lock {}\n{}",
                    arm.name,
                    text::render(&profile, TOP)
                ));
                output.profiled.push(profile);
            }
            Err(refused) => output.notes.push(format!("No profile of {} here: {refused}", arm.name)),
        }
    }
    output.tables = vec![
        Table {
            document: LOCK.to_vec(),
            ..Table::new(
                format!(
                    "a log: {TASKS} tasks, {PER_SECOND} records a second each, appended under one lock; one in eight waits \
                 2 ms for a device"
                ),
                logging.figured(),
                vec![vec![RECORDS, SHARE, CPU_EACH, LATE, LATEST]],
            )
        },
        Table::new(
            format!("{THREADS} threads that want the lock at once; its holder blocks for 50 us"),
            contended.figured(),
            vec![vec![OPERATIONS, SHARE, CPU_EACH, WORST, FAIRNESS, FEWEST, MOST]],
        ),
    ];
    output.checks = checks(&logging, &contended);
    output.notes.push(
        "CPU is in percent of all processors, as in the document; on a machine that others use too, a lock that burns \
         whatever it gets gets less, and shows less. Fairness is Jain's index: 1 where all threads got the same."
            .to_owned(),
    );
    Ok(output)
}

/// The same program under each lock.
fn arms(program: &str, seed: u64, rate: Rate) -> Vec<Arm> {
    let (seed, Rate(rate)) = (seed.to_string(), rate);
    let rate = rate.to_string();
    let arm = |lock: &&str| plain(lock, &[program, "--lock", lock, "--seed", &seed, "--rate", &rate]);
    LOCKS.iter().map(arm).collect()
}

fn checks(logging: &Rounds, contended: &Rounds) -> Vec<Check> {
    let (right, runs) = contended.said_is(|said| {
        said.get("operations").is_some_and(|count| *count > 0)
            && said.get("operations") == said.get("protected")
    });
    let (kept, logs) = logging.said_is(|said| said.get("records").is_some_and(|records| *records > 0));
    let mut checks = vec![Check::count(
        "nothing_is_lost",
        right == runs && kept == logs,
        format!(
            "in {right} of {runs} runs all additions under the lock are there, in {kept} of {logs} the log was kept \
                 by one task at a time"
        ),
    )];
    let ratios = [
        ("cpu_each_record", "CPU for each record", logging, cpu_each as fn(&Said) -> Option<f64>),
        ("cpu_each_operation", "CPU for each operation", contended, cpu_each),
    ];
    for (name, what, rounds, figure) in ratios {
        if let (Some(simple), Some(naive)) = (rounds.place(SIMPLE), rounds.place(NAIVE)) {
            let what = format!("{what}, {SIMPLE} to {NAIVE}");
            checks.push(Check::at_most(name, &what, rounds.said_ratio(simple, naive, figure), LIMIT));
        }
    }
    checks
}

type Said = BTreeMap<String, u64>;

/// CPU time for each operation or record, in nanoseconds.
fn cpu_each(said: &Said) -> Option<f64> {
    let done = said.get("operations").or(said.get("records"))?;
    Some(*said.get("cpu_ns")? as f64 / (*done).max(1) as f64)
}

/// The rate of a figure: its number in a second.
fn each_second(arm: &Figured, name: &str) -> Option<String> {
    let seconds = *arm.said.get("elapsed_ns")? as f64 / 1e9;
    (seconds > 0.0).then(|| *arm.said.get(name).unwrap_or(&0) as f64 / seconds).map(|rate| count(rate as u64))
}

fn time(arm: &Figured, name: &str) -> Option<String> {
    arm.said.get(name).map(|time| nanoseconds(*time))
}

const RECORDS: Column =
    Column::new("records/s", |_, arm| each_second(arm, "records"), |row| row.records_per_second.map(count));
const OPERATIONS: Column = Column::new("op/s", |_, arm| each_second(arm, "operations"), |_| None);
const SHARE: Column = Column::new(
    "CPU",
    |_, arm| {
        let processors = available_parallelism().map_or(1, usize::from) as f64;
        let (cpu, elapsed) = (*arm.said.get("cpu_ns")? as f64, *arm.said.get("elapsed_ns")? as f64);
        Some(format!("{:.1} %", cpu * 100.0 / (elapsed.max(1.0) * processors)))
    },
    |row| row.cpu_percent.map(|percent| format!("{percent} %")),
);
const CPU_EACH: Column =
    Column::new("CPU each", |_, arm| cpu_each(&arm.said).map(|time| nanoseconds(time as u64)), |_| None);
const LATE: Column = Column::new("late, median", |_, arm| time(arm, "late_p50_ns"), |_| None);
const LATEST: Column = Column::new("latest", |_, arm| time(arm, "late_worst_ns"), |_| None);
const WORST: Column = Column::new("worst wait", |_, arm| time(arm, "wait_worst_ns"), |_| None);
const FAIRNESS: Column = Column::new(
    "fairness",
    |_, arm| arm.said.get("fairness_ppm").map(|ppm| format!("{:.3}", *ppm as f64 / 1e6)),
    |_| None,
);
const FEWEST: Column = Column::new("fewest", |_, arm| arm.said.get("fewest").copied().map(count), |_| None);
const MOST: Column = Column::new("most", |_, arm| arm.said.get("most").copied().map(count), |_| None);

/// The document's two profiles, as it prints them.
fn profiles() -> String {
    let mut text = "The document's profiles of the lock's own program, for the same workload\n".to_owned();
    for profile in PROFILES {
        let all: u64 = profile.samples.iter().map(|sampled| sampled.count).sum();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n  {}: {} % CPU, {} samples", profile.name, profile.cpu_percent, count(all));
        let _ = writeln!(text, "  PROGRAM      DISP  INST       COUNT      %");
        for sampled in profile.samples {
            let _ = writeln!(
                text,
                "  {:<11}  {:03X}   {:<6}  {:>8}  {:>5.1}",
                profile.program,
                sampled.displacement,
                sampled.instruction,
                count(sampled.count),
                sampled.count as f64 * 100.0 / all.max(1) as f64
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{LOCKS, profiles};

    #[test]
    fn every_lock_of_the_demo_exists() {
        for lock in LOCKS {
            assert!(underbar_contention::locks::find(lock).is_some(), "{lock}");
        }
    }

    #[test]
    fn the_documents_profiles_add_up() {
        let text = profiles();
        assert!(text.contains("8,718 samples") && text.contains("246 samples"), "{text}");
        assert!(text.contains("1BE   CSG        7,943   91.1"), "{text}");
    }
}
