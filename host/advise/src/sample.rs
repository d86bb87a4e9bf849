//! Reports that the tests of this crate build their cases on.

use underbar_ledger::Key;
use underbar_report::model::SCHEMA;
use underbar_report::{End, Figures, Host, OptionInForce, Options, Process, Report, Run, State, Steps, Tree};

/// A process that ran for a second: what its heap used and held at most, in how many segments,
/// with which initial size and increment (0, 0 is AUTO).
pub fn heap(program: &str, used: u64, segments: u64, held: u64, sizes: (u64, u64)) -> Process {
    let mut counters = Figures::zero();
    for (key, figure) in [
        (Key::HeapUsedPeak, used),
        (Key::HeapSegmentsAllocated, segments),
        (Key::HeapSegmentBytesPeak, held),
        (Key::HeapSegmentBytesTotal, held),
        (Key::HeapSegmentBytes, held),
        (Key::HeapInitialSize, sizes.0),
        (Key::HeapIncrementSize, sizes.1),
        (Key::ThreadsStarted, 1),
        (Key::ThreadsPeak, 1),
        (Key::CoverageAnonymous, held),
        (Key::CoverageHeap, held),
    ] {
        counters.set(key, figure);
    }
    Process {
        program: program.to_owned(),
        arguments: Vec::new(),
        process: 1,
        parent: 0,
        processes: 1,
        state: State::Ended,
        started_ns: 0,
        ended_ns: Some(1_000_000_000),
        option_errors: 0,
        counters,
        owners: Vec::new(),
    }
}

/// A report of those processes.
pub fn report(processes: Vec<Process>) -> Report {
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        underbar: "0.1.0".to_owned(),
        host: Host {
            kernel: "Linux 6.1.0".to_owned(),
            cores: 2,
            page_bytes: 4096,
            memory_limit_bytes: Some(64 << 30),
            thread_stack_bytes: Some(8 << 20),
            utc_offset_seconds: 0,
        },
        run: Run {
            program: "g++".to_owned(),
            arguments: vec!["-c".to_owned(), "x.cc".to_owned()],
            process: 1,
            started_unix_ns: 0,
            end: Some(End::Exit(0)),
        },
        steps: Some(Steps { elapsed_ns: 1_000_000_000, ..Steps::default() }),
        options: Options::default(),
        tree: Tree { processes: processes.len() as u64, programs: 0, ..Tree::default() },
        processes,
    };
    report.tree.programs = report.programs().len() as u64;
    report
}

/// Sets what is in force.
pub fn in_force(report: &mut Report, option: &str) {
    report.options.in_force =
        vec![OptionInForce { option: option.to_owned(), where_set: "Invocation command".to_owned() }];
}

/// A server that once needed a gigabyte, and holds it.
pub fn server() -> Process {
    let mut process = heap("/bin/server", 900 << 20, 12, 1 << 30, (1 << 20, 64 << 20));
    process.counters.set(Key::HeapUsed, 20 << 20);
    process.counters.set(Key::HeapSegmentBytes, 1 << 30);
    process.state = State::Running;
    process.ended_ns = None;
    process
}
