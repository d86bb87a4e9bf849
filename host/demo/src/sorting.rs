//! `demo sort`: records handed one by one to a process of `sort` and back, and the internal sort of `underbar-records`.
//!
//! The document: 1,145 records, 3,435 switches with an external sort and 1,148 with the internal one, 155 and 70 ms of CPU time.
//! Switches are here calls of read and write, by the program and by `sort`, as the kernel counts them.
//! Not here: the sort (`underbar_records`), and large files (`cargo xtask bench sort`).

use std::collections::BTreeMap;

use underbar_report::units::{count, nanoseconds};

use super::document::SORT;
use super::measure::{Arm, Figured, Machine, Problem, Rounds};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Parameters, order, plain, saving};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
/// The document's number of records, and a large one.
const RECORDS: [u64; 2] = [1_145, 1_000_000];
const EACH: &str = "sort, record by record";
const BLOCKS: &str = "sort, by blocks of 64 KiB";
const INSIDE: &str = "internal sort";
/// Calls that the internal sort may make: none of them for records.
const MOST_INSIDE: u64 = 40;

const CALLS: Column = Column::new("calls", |_, arm| calls(arm).map(count), |row| row.excp.map(count));
const ELAPSED: Column = Column::new("elapsed", |_, arm| elapsed(arm).map(nanoseconds), |_| None);
const A_RECORD: Column = Column::new(
    "a record",
    |_, arm| Some(nanoseconds(elapsed(arm)? / arm.said.get("records").copied()?.max(1))),
    |_| None,
);

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "records that are sorted by another program, and inside";
    let mut output = Output::new("sort", title, parameters, runs);
    let machine = Machine::new(parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    for records in RECORDS {
        progress.part(if records == RECORDS[0] { "few records" } else { "many records" });
        let arms = arms(records, parameters.seed);
        let rounds = machine.rounds(arms, runs, &mut order(parameters), &mut progress)?;
        let arms = rounds.figured();
        checks(&mut output, records, &rounds, &arms);
        output.notes.push(saved(records, &rounds, &arms));
        output.tables.push(Table {
            document: if records == RECORDS[0] { SORT.to_vec() } else { Vec::new() },
            ..Table::new(
                format!("{} records of 100 bytes, a key of 10", count(records)),
                arms,
                vec![vec![CALLS, ELAPSED, A_RECORD, Column::CPU]],
            )
        });
    }
    output.notes.push(
        "The document's external sort makes about three switches for each record; a process at a pipe makes two here, one to hand the \
         record over and one to get it back. GNU sort reads and writes larger pieces. Programs that write their records into a file \
         and have the file sorted gain less; for these there is underbar sort."
            .to_owned(),
    );
    Ok(output)
}

fn arms(records: u64, seed: u64) -> Vec<Arm> {
    let (records, seed) = (records.to_string(), seed.to_string());
    let arm = |name, way| plain(name, &["sorting", "--way", way, "--times", &records, "--seed", &seed]);
    vec![arm(EACH, "each"), arm(BLOCKS, "user"), arm(INSIDE, "direct")]
}

fn checks(output: &mut Output, records: u64, rounds: &Rounds, arms: &[Figured]) {
    let few = records == RECORDS[0];
    let sum = |arm: &Figured| arm.said.get("sum").copied();
    let is_same = arms.iter().all(|arm| {
        arm.said.get("records") == Some(&records)
            && sum(arm).is_some()
            && sum(arm) == arms.first().and_then(sum)
    });
    output.checks.push(Check::count(
        if few { "same_order" } else { "same_order_of_many" },
        is_same,
        format!("{} records come back, in the same order whoever sorts", count(records)),
    ));
    let place = |name: &str| rounds.place(name).unwrap_or(0);
    let of = |name: &str| arms.get(place(name)).and_then(calls);
    if let (Some(each), Some(inside)) = (of(EACH), of(INSIDE)) {
        output.checks.push(Check::count(
            if few { "calls" } else { "calls_of_many" },
            each >= 2 * records && inside <= MOST_INSIDE,
            format!("{} calls for {} records, and {} inside", count(each), count(records), count(inside)),
        ));
    }
    let ratio = rounds.said_ratio(place(INSIDE), place(EACH), time);
    let what =
        format!("elapsed time of the internal sort to that of sort record by record, {}", count(records));
    output.checks.push(Check::at_most(if few { "time" } else { "time_of_many" }, &what, ratio, 0.99));
}

/// The time that the internal sort spares for each record, in words.
fn saved(records: u64, rounds: &Rounds, arms: &[Figured]) -> String {
    let place = |name: &str| rounds.place(name).unwrap_or(0);
    let each = arms.get(place(EACH)).and_then(elapsed).unwrap_or(0);
    let ratio = rounds.said_ratio(place(INSIDE), place(EACH), time);
    saving::words(&format!("{} records", count(records)), "record", records, each, &ratio)
}

fn time(said: &BTreeMap<String, u64>) -> Option<f64> {
    said.get("elapsed_ns").map(|time| *time as f64)
}

fn calls(arm: &Figured) -> Option<u64> {
    arm.said.get("calls").copied()
}

fn elapsed(arm: &Figured) -> Option<u64> {
    arm.said.get("elapsed_ns").copied()
}
