//! `demo thread-storage`: buffers that come and go at each call of a program, plain, under underbar's default, and under THSIZE.
//!
//! The document: "THSIZE: one GETMAIN serves all buffers", without figures. The program is in C (`programs/churn.c`): at each of 2,000 calls
//! it gets twenty buffers of 200,000 bytes to 3.81 MB, writes a page of each, and frees them in the reverse order. The C library's heap
//! grows and shrinks with them.
//! Not here: what THSIZE does (`runtime::heap::space`).

use underbar_ledger::Key;
use underbar_report::units::{count, nanoseconds, size};

use super::measure::{Arm, Figured, Machine, Problem, Server};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::Workshop;
use super::{Parameters, order};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
const CALLS: u64 = 2_000;
const SOURCE: &str = include_str!("programs/churn.c");
const PLAIN: &str = "plain";
const DEFAULT: &str = "default";
/// All buffers of a call together, and what is lost between them.
const RESERVED: &str = "THSIZE(64M)";
/// Calls of the kernel for storage, at most.
const MOST_BY_DEFAULT: u64 = 200;
const MOST_RESERVED: u64 = 50;

const KERNEL: Column = Column::new("kernel calls", |_, arm| kernel_calls(arm).map(count), |_| None);
const ELAPSED: Column =
    Column::new("elapsed", |_, arm| arm.said.get("elapsed_ns").copied().map(nanoseconds), |_| None);
const CPU: Column = Column::new("CPU", |_, arm| arm.said.get("cpu_ns").copied().map(nanoseconds), |_| None);
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
    let program = workshop.compiled(
        "churn",
        SOURCE,
        &[],
        "the demo compiles a program of C (apt-get install gcc libc6-dev)",
    )?;
    let machine = Machine::of_program(&program, parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("calls");
    let rounds = machine.rounds(arms(), runs, &mut order(parameters), &mut progress)?;
    let arms = rounds.figured();
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
    output.notes = notes(&arms, cpu(RESERVED, DEFAULT).ok().map(|interval| interval.high));
    output.tables.push(Table {
        title: format!("{} calls, each with 20 buffers of 200,000 bytes to 3.81 MB", count(CALLS)),
        requested_bytes: None,
        requested_peak_bytes: None,
        arms,
        document: Vec::new(),
        blocks: vec![vec![KERNEL, Column::FAULTS, ELAPSED, CPU, OF_A_BUFFER], vec![Column::PEAK, REACHED]],
        remarks: Vec::new(),
    });
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
        notes.push("THSIZE against the default: not worth it here (below 1 %).".to_owned());
    }
    notes
}

fn arms() -> Vec<Arm> {
    let times = CALLS.to_string();
    let arm = |name: &str, server| Arm { name: name.to_owned(), server, program: super::words(&[&times]) };
    vec![
        arm(PLAIN, Server::Plain),
        arm(DEFAULT, Server::Underbar(String::new())),
        arm(RESERVED, Server::Underbar(RESERVED.to_owned())),
    ]
}
