//! `demo components`: which component of an unmodified program enters the kernel, under SWITCHES(ON).
//!
//! The document's component switch statistics (`ZIIP PRINT STAT`) say which components leave the zIIP, and how often. Here a program of C
//! (`programs/parts.c`) reads records and has a library (`programs/chatty.c`) write a line for each, which also polls and starts its timer
//! anew. The counts are those that the sources say.
//! Not here: how they are counted (`runtime::switch`).

use std::path::PathBuf;

use underbar_report::model::Report;
use underbar_report::page::Page;
use underbar_report::switch_lines::{self, Order};
use underbar_report::units::{count, nanoseconds};

use super::measure::{Machine, Problem};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::saving;
use super::workshop::{NEEDS_C, Workshop};
use super::{Parameters, arm, order, plain};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
const EACH: &str = "a write for each line";
const COUNTED: &str = "the same, counted: SWITCHES(ON)";
const LATER: &str = "a thousand lines at once";
const LINES: u64 = 10_000;
const CHATTY: &str = "libchatty.so";
const PARTS: &str = "parts";

const ELAPSED: Column = Column::new(
    "elapsed in the loop",
    |_, arm| arm.said.get("elapsed_ns").copied().map(nanoseconds),
    |_| None,
);

/// Calls of a function by a component, of a kind of work.
struct Known {
    component: &'static str,
    kind: &'static str,
    function: &'static str,
    count: u64,
}

/// What the sources say.
const KNOWN: [Known; 4] = [
    Known { component: CHATTY, kind: "file", function: "write", count: LINES },
    Known { component: CHATTY, kind: "timer", function: "setitimer", count: LINES },
    Known { component: CHATTY, kind: "network", function: "poll", count: LINES / 10 },
    Known { component: PARTS, kind: "file", function: "read", count: LINES / 10 },
];

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let mut output = Output::new("components", "which part of a program enters the kernel", parameters, runs);
    let workshop = Workshop::new("components")?;
    let program = compiled(&workshop)?;
    let machine = Machine::of_program(&program, parameters)?;
    let counted = arm(COUNTED, "SWITCHES(ON)", &["each"]);
    let mut progress = Progress::new(parameters.quiet);
    progress.part("counts");
    let report = machine.once(&counted)?.report;
    if let Some(mut report) = report {
        report.host.switch_costs = Some((parameters.switch_costs)(report.starts_processes()));
        output.checks.extend(KNOWN.iter().map(|known| check(&report, known)));
        output.checks.push(on_top(&report));
        output.pages.push(switch_lines::render(&report, Order::Time, Page::of_terminal(None, false)));
    }
    progress.part("times");
    let arms = vec![plain(EACH, &["each"]), counted, plain(LATER, &["later"])];
    let rounds = machine.rounds(arms, runs, &mut order(parameters), &mut progress)?;
    let (right, all) = rounds.said_is(|said| said.get("bytes") == Some(&(LINES * 132)));
    output.checks.push(Check::count(
        "all_lines",
        right == all,
        format!("in {right} of {all} runs all lines were written"),
    ));
    let place = |name: &str| rounds.place(name).unwrap_or(0);
    let figured = rounds.figured();
    let elapsed = |name: &str| figured[place(name)].said.get("elapsed_ns").copied().unwrap_or(0);
    output.notes = vec![
        format!("A library that writes a thousand lines at once, with one timer: {}.", saving::between("line", LINES, elapsed(EACH), elapsed(LATER))),
        "Other orders of the rows: --report switches-by-name, switches-by-product, switches-by-count, of underbar run and report. The \
         time of a row is its count times what the kind costs on this machine; a count alone tells little."
            .to_owned(),
    ];
    output.tables.push(Table::new(
        format!("{} lines of 132 bytes, written by a library", count(LINES)),
        figured,
        vec![vec![ELAPSED, Column::CPU]],
    ));
    Ok(output)
}

/// Compiles the library and the program, with the user's compiler.
fn compiled(workshop: &Workshop) -> Result<PathBuf, Problem> {
    workshop.compiled(CHATTY, include_str!("programs/chatty.c"), &["-shared", "-fPIC"], NEEDS_C)?;
    let folder = workshop.path("")?;
    let (search, path) = (format!("-L{folder}"), format!("-Wl,-rpath,{folder}"));
    workshop.compiled(PARTS, include_str!("programs/parts.c"), &[&search, "-lchatty", &path], NEEDS_C)
}

fn check(report: &Report, known: &Known) -> Check {
    let calls =
        report.processes.iter().filter_map(|process| process.switches.as_ref()).flat_map(|all| &all.calls);
    let found: u64 = calls
        .filter(|calls| {
            (calls.component.as_str(), calls.kind.as_str(), calls.function.as_str())
                == (known.component, known.kind, known.function)
        })
        .map(|calls| calls.count)
        .sum();
    let Known { component, kind, function, count: right } = known;
    let text =
        format!("{} {function} of {component} ({kind}); the source has {}", count(found), count(*right));
    Check::count(name_of(function), found == *right, text)
}

fn name_of(function: &str) -> &'static str {
    match function {
        "write" => "writes",
        "setitimer" => "timers",
        "poll" => "polls",
        _ => "reads",
    }
}

/// The component with the longest time.
fn on_top(report: &Report) -> Check {
    let costs = report.host.switch_costs.unwrap_or_default();
    let calls =
        report.processes.iter().filter_map(|process| process.switches.as_ref()).flat_map(|all| &all.calls);
    let most = calls.max_by_key(|calls| costs.time(calls)).map_or("", |calls| &calls.component);
    Check::count("on_top", most == CHATTY, format!("the longest time has {most}"))
}
