//! `demo locate`: a buffer found by its name among 10, 1,000 and 100,000, by the table of an ECB and by a search from one to the next.
//!
//! The document: "Previously, a costly sequential search was needed to locate buffers. In PJ47265, a hash table was added". It has no
//! figures of it.
//! Not here: the table (`runtime::heap::ecb::tags`).

use underbar_report::units::{count, nanoseconds};

use super::ecbs::{self, Said, each};
use super::measure::{Figured, Machine, Problem, Rounds};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::Workshop;
use super::{Parameters, order};

const RUNS: usize = 8;
/// Tags, and how often one is located: in the table, and in the list.
const ROWS: [(u64, u64, u64); 3] =
    [(10, 2_000_000, 2_000_000), (1_000, 2_000_000, 100_000), (100_000, 1_000_000, 500)];
/// A locate among 100,000 tags should cost so many times that among 10, at most.
const TIMES: f64 = 3.0;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "a buffer found by its name: by a hash table, and by a search";
    let mut output = Output::new("locate", title, parameters, runs);
    let workshop = Workshop::new("locate")?;
    let machine = Machine::of_program(&ecbs::compiled(&workshop)?, parameters)?;
    ecbs::must_have_ecbs(&machine)?;
    let mut arms = Vec::new();
    for (is_list, how) in [(false, "hash table"), (true, "search")] {
        for (tags, in_table, in_list) in ROWS {
            let times = if is_list { in_list } else { in_table }.to_string();
            let (name, tags) = (format!("{how}, {} tags", count(tags)), tags.to_string());
            let mut words = vec!["locate", "--tags", &tags, "--times", &times];
            if is_list {
                words.push("--list");
            }
            arms.push(ecbs::arm(&name, "", &words));
        }
    }
    let mut progress = Progress::new(parameters.quiet);
    let rounds = machine.rounds(arms, runs, &mut order(parameters), &mut progress)?;
    output.checks = checks(&rounds);
    output.tables.push(Table::new(
        "locates of names drawn by lot, each of 8 bytes".to_owned(),
        rounds.figured(),
        vec![vec![LOCATES, EACH]],
    ));
    output.notes.push(
        "The search is over a list that the program itself makes of the same names, without a lock; the table is under the ECB's lock. \
         The document has no figures of it."
            .to_owned(),
    );
    Ok(output)
}

fn checks(rounds: &Rounds) -> Vec<Check> {
    let (right, runs) = rounds.said_is(|said| said.get("found") == said.get("locates"));
    let ratio = |arm, to| rounds.said_ratio(arm, to, |said: &Said| each(said, "locates"));
    let last = ROWS.len() - 1;
    let mut checks = vec![
        Check::count(
            "found",
            right == runs,
            format!("in {right} of {runs} runs every buffer was the right one"),
        ),
        Check::at_most(
            "table_100000_to_10",
            "a locate by the table, among 100,000 tags to among 10",
            ratio(last, 0),
            TIMES,
        ),
    ];
    for (at, name) in [(1, "table_to_search_1000"), (2, "table_to_search_100000")] {
        let text = format!("a locate among {} tags, by the table to by the search", count(ROWS[at].0));
        checks.push(Check::at_most(name, &text, ratio(at, at + ROWS.len()), 1.0));
    }
    checks
}

const LOCATES: Column =
    Column::new("locates", |_, arm: &Figured| arm.said.get("locates").map(|all| count(*all)), |_| None);
const EACH: Column = Column::new(
    "CPU each",
    |_, arm| each(&arm.said, "locates").map(|each| nanoseconds(each as u64)),
    |_| None,
);
