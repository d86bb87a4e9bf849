//! `demo mainpr`: a program that prints to standard output, which becomes a cached print file.
//!
//! The document: primary output is not cached, its buffer is flushed when it is full or at an INPUT; MAINPR reroutes it to a printer
//! that is cached. Here the program's standard output is a file in both rows; MAINPR names it in the second.
//! Not here: the rerouting (`runtime`).
#![allow(clippy::disallowed_methods, reason = "files in a folder of our own")]

use underbar_report::units::count;

use super::measure::{Arm, Machine, Problem, Server};
use super::output::{Check, Column, Output, Table};
use super::print::{BYTES, CACHE, LINES, MOST_WRITES};
use super::progress::Progress;
use super::saving;
use super::work_file::SOURCE;
use super::workshop::{NEEDS_C, Workshop};
use super::{Parameters, order, words};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
const PLAIN: &str = "to a file";
const REROUTED: &str = "MAINPR, cached";

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "10,000 lines to standard output, rerouted to a cached file";
    let mut output = Output::new("mainpr", title, parameters, runs);
    let workshop = Workshop::new("mainpr")?;
    let (printed, figures) = (workshop.path("printed")?, workshop.path("figures")?);
    let program = workshop.compiled("records", SOURCE, &[], NEEDS_C)?;
    let mut machine = Machine::of_program(&program, parameters)?;
    machine.says_in(figures.clone());
    let arm =
        |name: &str, server, program: &[&str]| Arm { name: name.to_owned(), server, program: words(program) };
    let options = format!("MAINPR('{printed}') PRINT({CACHE})");
    let arms = vec![
        arm(PLAIN, Server::Plain, &["print", &figures, &printed]),
        arm(REROUTED, Server::Underbar(options), &["print", &figures]),
    ];
    // Each arm once, for the bytes that it prints.
    let mut all = Vec::new();
    for arm in &arms {
        let _ = std::fs::remove_file(&printed);
        machine.once(arm)?;
        all.push(std::fs::read(&printed).unwrap_or_default());
    }
    let same = all.first() == all.last() && all.first().is_some_and(|bytes| bytes.len() as u64 == BYTES);
    output.checks.push(Check::count(
        "same_bytes",
        same,
        "both files have all lines, byte by byte".to_owned(),
    ));
    let mut progress = Progress::new(parameters.quiet);
    progress.part("lines");
    let rounds = machine.rounds(arms, runs, &mut order(parameters), &mut progress)?;
    let arms = rounds.figured();
    output.checks.push(match arms.get(1).and_then(|arm| arm.said.get("writes")) {
        Some(writes) => Check::count(
            "few_writes",
            *writes <= MOST_WRITES,
            format!("{} writes under MAINPR", count(*writes)),
        ),
        None => Check::count("few_writes", true, "the kernel does not tell its counts of writes".to_owned()),
    });
    let time = arms.first().and_then(|arm| arm.said.get("elapsed_ns").copied()).unwrap_or(0);
    let ratio = rounds.said_ratio(1, 0, |said| said.get("elapsed_ns").map(|time| *time as f64));
    output.pages.push(saving::words(REROUTED, "line", LINES, time, &ratio));
    output.tables.push(Table::new(
        format!("{} lines of 132 characters, each passed on", count(LINES)),
        arms,
        vec![vec![Column::OWN_WRITES, Column::OWN_ELAPSED]],
    ));
    output.notes.push(
        "Natural's primary output is never cached, so MAINPR is needed there. Here PRINT alone does it, where standard output is a file; \
         MAINPR is for output that would go to a pipe. Before the program reads from a terminal or a pipe, all lines are in the file."
            .to_owned(),
    );
    Ok(output)
}
