//! `demo dsa`: what it costs to give storage an initial value: filled by the heap, or set by the compiler.

use underbar_report::units::{bytes, count};

use super::document::DSA;
use super::measure::{Machine, Problem, Rounds};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Asked, arm, order};
use crate::programs::calls::{CALLS, FRAME};
use crate::programs::storage::SMALL_GETS;

const RUNS: usize = 8;

/// Runs it.
pub fn run(asked: &Asked) -> Result<Output, Problem> {
    let runs = asked.runs.unwrap_or(RUNS);
    let mut output = Output::new("dsa", "initial values for stack frames and heap storage", asked, runs);
    let machine = Machine::new()?;
    let mut progress = Progress::new(asked.quiet);
    let mut order = order(asked);
    let seed = asked.seed.to_string();
    let columns = || vec![vec![Column::CPU, Column::ELAPSED]];

    progress.part("calls");
    let arms = vec![
        arm("frames as they are found", "", &["calls", "--seed", &seed]),
        arm("compiler initialization", "", &["calls-initialised", "--seed", &seed]),
    ];
    let rounds = machine.rounds(arms, runs, &mut order, &mut progress)?;
    let document: Vec<u64> = DSA.iter().filter_map(|row| row.cpu_ns).collect();
    output.tables.push(Table {
        title: format!("{} calls, each with {} of stack", count(CALLS), bytes(FRAME as u64)),
        requested_bytes: None,
        requested_peak_bytes: None,
        arms: rounds.figured(),
        document: DSA.to_vec(),
        blocks: columns(),
        remarks: remarks(&rounds),
    });
    output.checks.push(Check::more(
        "compiler_initialization",
        "CPU of compiler initialization to frames as they are found",
        rounds.cpu_ratio(1, 0),
    ));

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
        title: format!("{} gets and frees of 1 to 512 bytes", count(SMALL_GETS)),
        requested_bytes: None,
        requested_peak_bytes: None,
        arms: rounds.figured(),
        document: Vec::new(),
        blocks: columns(),
        remarks: remarks(&rounds),
    });
    if let [none, each, _] = document.as_slice() {
        output.notes.push(format!(
            "The document calls filling each stack frame \"EXTREMELY HIGH OVERHEAD\": {:.1} times in its table. Its \
             \"best way\" is compiler initialization, as here; that is -ftrivial-auto-var-init=zero for C and C++.",
            *each as f64 / (*none).max(1) as f64
        ));
    }
    output.notes.push(
        "Stacks are not filled by underbar, so STORAGE(,,00) and STORAGE(,,CLEAR) have no rows of their own here."
            .to_owned(),
    );
    output.notes.push(
        "Getheap and freeheap fills have \"relatively low overhead\" in the document, which gives no figure. Here the \
         program does nothing with its pieces but write their first byte, so the ratios are the largest that there \
         are: a program that uses what it gets pays the same nanoseconds on top of more."
            .to_owned(),
    );
    Ok(output)
}

/// Beside each row its ratio to the first.
fn remarks(rounds: &Rounds) -> Vec<(String, String)> {
    (1..rounds.len())
        .map(|at| {
            let ratio = match rounds.cpu_ratio(at, 0) {
                Ok(interval) => format!("{interval} of the first row's CPU time"),
                Err(few) => format!("no interval: {few}"),
            };
            (rounds.name(at).to_owned(), ratio)
        })
        .collect()
}
