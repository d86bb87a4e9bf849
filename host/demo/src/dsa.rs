//! `demo dsa`: the cost of initial values for storage: stack frames set by STORAGE or by the compiler, and
//! heap storage set by STORAGE.

use underbar_report::units::{bytes, count};

use super::document::DSA;
use super::measure::{Machine, Problem, Rounds};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Parameters, arm, order};
use crate::programs::calls::{CALLS, FRAME};
use crate::programs::storage::SMALL_GETS;

const RUNS: usize = 8;
/// The most that CLEAR may cost, as a multiple of NONE.
const CLEAR_LIMIT: f64 = 1.05;
/// Indexes of the compared rows.
const NONE: usize = 0;
const EACH: usize = 1;
const CLEAR: usize = 2;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let mut output = Output::new("dsa", "initial values for stack frames and heap storage", parameters, runs);
    let machine = Machine::new(parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    let mut order = order(parameters);
    let seed = parameters.seed.to_string();
    let columns = || vec![vec![Column::CPU, Column::ELAPSED]];

    progress.part("calls");
    let program = ["calls", "--seed", &seed];
    let arms = vec![
        arm("STORAGE(,,NONE)", "STORAGE(NONE,NONE,NONE)", &program),
        arm("STORAGE(,,00)", "STORAGE(NONE,NONE,00)", &program),
        arm("STORAGE(,,CLEAR)", "STORAGE(NONE,NONE,CLEAR)", &program),
        arm("compiler initialization", "STORAGE(NONE,NONE,NONE)", &["calls-initialised", "--seed", &seed]),
    ];
    let rounds = machine.rounds(arms, runs, &mut order, &mut progress)?;
    let arms = rounds.figured();
    let said = |what: &str| arms.iter().map(|arm| arm.said.get(what).copied()).collect::<Vec<_>>();
    let (calls, sums) = (said("calls"), said("sum"));
    output.checks = vec![
        Check::count(
            "nothing_live_is_touched",
            calls.iter().all(|&calls| calls == Some(CALLS))
                && sums.iter().all(|sum| sum.is_some() && *sum == sums[NONE]),
            "the program came to the same sum in every row: no frame was written to while it lived"
                .to_owned(),
        ),
        Check::at_most(
            "clear_to_none",
            "CPU of STORAGE(,,CLEAR) to STORAGE(,,NONE)",
            rounds.cpu_ratio(CLEAR, NONE),
            CLEAR_LIMIT,
        ),
        Check::more(
            "each_frame_to_none",
            "CPU of STORAGE(,,00) to STORAGE(,,NONE)",
            rounds.cpu_ratio(EACH, NONE),
        ),
    ];
    output.tables.push(Table {
        document: DSA.to_vec(),
        remarks: remarks(&rounds),
        ..Table::new(
            format!("{} calls, each with {} of stack", count(CALLS), bytes(FRAME as u64)),
            arms,
            columns(),
        )
    });

    progress.part("getheap and freeheap");
    let program = ["fills", "--seed", &seed];
    let arms = vec![
        arm("STORAGE(NONE,NONE)", "STORAGE(NONE,NONE,NONE)", &program),
        arm("STORAGE(00,NONE)", "STORAGE(00,NONE,NONE)", &program),
        arm("STORAGE(NONE,FF)", "STORAGE(NONE,FF,NONE)", &program),
        arm("STORAGE(00,FF)", "STORAGE(00,FF,NONE)", &program),
    ];
    let rounds = machine.rounds(arms, runs, &mut order, &mut progress)?;
    output.tables.push(Table {
        remarks: remarks(&rounds),
        ..Table::new(
            format!("{} gets and frees of 1 to 512 bytes", count(SMALL_GETS)),
            rounds.figured(),
            columns(),
        )
    });
    output.notes = notes();
    Ok(output)
}

/// The ratio of each row to the first, printed next to the row.
fn remarks(rounds: &Rounds) -> Vec<(String, String)> {
    (1..rounds.len())
        .map(|at| {
            let ratio = match rounds.cpu_ratio(at, NONE) {
                Ok(interval) => format!("{interval} of the first row's CPU time"),
                Err(few) => format!("no interval: {few}"),
            };
            (rounds.name(at).to_owned(), ratio)
        })
        .collect()
}

fn notes() -> Vec<String> {
    let cpu = |at: usize| DSA.get(at).and_then(|row| row.cpu_ns).unwrap_or(0) as f64;
    vec![
        format!(
            "STORAGE(,,00) fills the storage of each stack frame: EXTREMELY HIGH OVERHEAD, as the document says of it \
             ({:.1} times there). It works only for programs compiled with -finstrument-functions, as this one is by \
             hand, and fills what a call leaves behind, below the stack pointer.",
            cpu(EACH) / cpu(NONE).max(1.0)
        ),
        "STORAGE(,,CLEAR) clears the unused stack once, before the main program: low overhead. The document's best \
         way is compiler initialization; today that is -ftrivial-auto-var-init=zero for C and C++."
            .to_owned(),
        "Getheap and freeheap fills have \"relatively low overhead\" in the document, which gives no figure. Here the \
         program does nothing with its pieces but write their first byte, so the ratios are the largest that there \
         are: a program that uses what it gets pays the same nanoseconds on top of more."
            .to_owned(),
    ]
}
