//! `demo thread-storage`: buffers that come and go at each call of a program, plain, under underbar's default, and under THSIZE.
//!
//! The document: "THSIZE: one GETMAIN serves all buffers", without figures. The program is in C (`programs/churn.c`): at each of 2,000 calls
//! it gets twenty buffers of 200,000 bytes to 3.81 MB, writes a page of each, and frees them in the reverse order. The C library's heap
//! grows and shrinks with them. A second table is for buffers that come back after pauses.
//! Not here: what THSIZE does (`runtime::heap::space`).

use underbar_ledger::Key;
use underbar_report::units::{count, nanoseconds, size};

use super::measure::{Arm, Figured, Machine, Problem, Server};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::{NEEDS_C, Workshop};
use super::{Parameters, order};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
const CALLS: u64 = 2_000;
const SOURCE: &str = include_str!("programs/churn.c");
const PLAIN: &str = "plain";
const DEFAULT: &str = "default";
/// Calls with a pause after each, in milliseconds: longer than the default keeps unused pages.
const PAUSED_CALLS: u64 = 4;
const PAUSE: u64 = 400;
/// Page faults that the calls after the first one may have under THSIZE.
const MOST_FAULTS: u64 = 100;
/// All buffers of a call together, and what is lost between them.
const RESERVED: &str = "THSIZE(64M)";
/// Calls of the kernel for storage, at most.
const MOST_BY_DEFAULT: u64 = 200;
const MOST_RESERVED: u64 = 50;

const KERNEL: Column = Column::new("kernel calls", |_, arm| kernel_calls(arm).map(count), |_| None);
const CPU: Column = Column::new("CPU", |_, arm| arm.said.get("cpu_ns").copied().map(nanoseconds), |_| None);
const LATER: Column =
    Column::new("faults after the first call", |_, arm| arm.said.get("faults").copied().map(count), |_| None);
const OF_A_BUFFER: Column = Column::new(
    "CPU of a buffer",
    |_, arm| Some(nanoseconds(arm.said.get("cpu_ns")? / (CALLS * 20))),
    |_| None,
);
const REACHED: Column = Column::new(
    "thread size reached",
    |_, arm| {
        arm.counter(Key::ThreadStorageReached)
            .filter(|&reached| reached > 0)
            .map(underbar_report::units::bytes)
    },
    |_| None,
);

/// Calls of the kernel for storage: those that moved the program's break, or all that underbar made.
fn kernel_calls(arm: &Figured) -> Option<u64> {
    let breaks = *arm.said.get("breaks")?;
    let of = |key| arm.counter(key).unwrap_or(0);
    let ours = [
        Key::HeapSegmentsAllocated,
        Key::HeapSegmentsFreed,
        Key::HeapPurges,
        Key::AnyHeapSegmentsAllocated,
        Key::AnyHeapSegmentsFreed,
    ];
    Some(breaks + ours.into_iter().map(of).sum::<u64>())
}

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "buffers that come and go: one reservation for all";
    let mut output = Output::new("thread-storage", title, parameters, runs);
    let workshop = Workshop::new("thread-storage")?;
    let program = workshop.compiled("churn", SOURCE, &[], NEEDS_C)?;
    let machine = Machine::of_program(&program, parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("calls");
    let rounds = machine.rounds(arms(CALLS, 0), runs, &mut order(parameters), &mut progress)?;
    progress.part("pauses");
    let paused = machine.rounds(arms(PAUSED_CALLS, PAUSE), runs, &mut order(parameters), &mut progress)?;
    let (arms, paused_arms) = (rounds.figured(), paused.figured());
    let (right, all) =
        rounds.said_is(|said| said.get("calls") == Some(&CALLS) && said.get("sum") == Some(&3_040));
    output.checks.push(Check::count(
        "all_buffers",
        right == all,
        format!("in {right} of {all} runs the program read back what it wrote"),
    ));
    let place = |name: &str| rounds.place(name).unwrap_or(0);
    for (name, arm, most) in
        [("calls_by_default", DEFAULT, MOST_BY_DEFAULT), ("calls_reserved", RESERVED, MOST_RESERVED)]
    {
        let calls = arms.get(place(arm)).and_then(kernel_calls).unwrap_or(u64::MAX);
        let text =
            format!("{arm}: {} calls of the kernel for storage (at most {})", count(calls), count(most));
        output.checks.push(Check::count(name, calls <= most, text));
    }
    let outside = arms.get(place(RESERVED)).and_then(|arm| arm.counter(Key::ThreadStorageOutside));
    output.checks.push(Check::count(
        "all_inside",
        outside == Some(0),
        format!("{RESERVED}: {} segments besides the reservation", count(outside.unwrap_or(u64::MAX))),
    ));
    let later =
        paused_arms.iter().find(|arm| arm.name == RESERVED).and_then(|arm| arm.said.get("faults").copied());
    output.checks.push(Check::count(
        "pages_stay",
        later.is_some_and(|later| later <= MOST_FAULTS),
        format!(
            "{RESERVED}, with pauses: {} page faults after the first call (at most {MOST_FAULTS})",
            count(later.unwrap_or(u64::MAX))
        ),
    ));
    let cpu = |arm, to| {
        rounds.said_ratio(place(arm), place(to), |said| said.get("cpu_ns").map(|time| *time as f64))
    };
    output.checks.push(Check::at_most(
        "default_time",
        "CPU time under underbar's default to that of the plain program",
        cpu(DEFAULT, PLAIN),
        0.5,
    ));
    output.checks.push(Check::at_most(
        "reserved_time",
        "CPU time under THSIZE(64M) to that under underbar's default",
        cpu(RESERVED, DEFAULT),
        1.05,
    ));
    output.checks.push(Check::at_most(
        "paused_time",
        "with pauses: CPU time under THSIZE(64M) to that under underbar's default",
        paused.said_ratio(paused.place(RESERVED).unwrap_or(0), paused.place(DEFAULT).unwrap_or(0), |said| {
            said.get("cpu_ns").map(|time| *time as f64)
        }),
        0.5,
    ));
    output.notes = notes(&arms, cpu(RESERVED, DEFAULT).ok().map(|interval| interval.high));
    output.tables.push(Table::new(
        format!("{} calls, each with 20 buffers of 200,000 bytes to 3.81 MB", count(CALLS)),
        arms,
        vec![
            vec![KERNEL, Column::FAULTS, Column::OWN_ELAPSED, CPU, OF_A_BUFFER],
            vec![Column::PEAK, REACHED],
        ],
    ));
    output.tables.push(Table::new(
        format!("{PAUSED_CALLS} calls that write all of each buffer, with a pause of {PAUSE} ms after each"),
        paused_arms,
        vec![vec![LATER, Column::OWN_ELAPSED, CPU, Column::PEAK]],
    ));
    Ok(output)
}

/// What THSIZE is for: `most`, the end of the interval of its time to the default's.
fn notes(arms: &[Figured], most: Option<f64>) -> Vec<String> {
    let cpu =
        |name: &str| arms.iter().find(|arm| arm.name == name).and_then(|arm| arm.said.get("cpu_ns").copied());
    let mut notes = vec![format!(
        "The document's GETMAINs are calls for single buffers. underbar's default keeps the pages of freed buffers for a quarter of a second, \
         so this program needs no THSIZE: it is for programs whose buffers come back after longer pauses, and for those that must not wait for \
         page faults. It keeps at most {} resident.",
        size(64 << 20)
    )];
    if let (Some(plain), Some(default)) = (cpu(PLAIN), cpu(DEFAULT)) {
        let saved = plain.saturating_sub(default) as f64 / (CALLS * 20) as f64 / 1_000.0;
        notes.push(format!(
            "The default saves {saved:.2} us of CPU time for each buffer against the C library's heap."
        ));
    }
    if most.is_some_and(|most| most > 0.99) {
        notes.push("THSIZE against the default, without pauses: not worth it here (below 1 %).".to_owned());
    }
    notes
}

fn arms(calls: u64, pause: u64) -> Vec<Arm> {
    let (times, pause) = (calls.to_string(), pause.to_string());
    let arm =
        |name: &str, server| Arm { name: name.to_owned(), server, program: super::words(&[&times, &pause]) };
    vec![
        arm(PLAIN, Server::Plain),
        arm(DEFAULT, Server::Underbar(String::new())),
        arm(RESERVED, Server::Underbar(RESERVED.to_owned())),
    ]
}
