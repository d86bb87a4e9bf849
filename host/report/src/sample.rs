//! Reports that the tests of this crate share: `getfree` untuned, a compiler's tree, and a
//! program whose memory is elsewhere.

use underbar_ledger::Key;

use crate::figures::Figures;
use crate::model::{End, Host, OptionInForce, Options, Owner, Process, Report, Run, SCHEMA, State, Tree};
use crate::steps::Steps;

fn process(number: u32, program: &str, figures: &[(Key, u64)]) -> Process {
    let mut counters = Figures::zero();
    for &(key, figure) in figures {
        counters.set(key, figure);
    }
    Process {
        program: program.to_owned(),
        arguments: vec![program.rsplit('/').next().unwrap_or(program).to_owned()],
        process: number,
        parent: 1,
        processes: 1,
        state: State::Ended,
        started_ns: 0,
        ended_ns: Some(1_000_000_000),
        option_errors: 0,
        counters,
        owners: Vec::new(),
    }
}

fn report(program: &str, arguments: &[&str], processes: Vec<Process>) -> Report {
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        underbar: "0.1.0".to_owned(),
        host: Host {
            kernel: "Linux 6.1.0".to_owned(),
            cores: 2,
            page_bytes: 4096,
            memory_limit_bytes: Some(16 << 30),
            thread_stack_bytes: Some(8 << 20),
            utc_offset_seconds: 0,
        },
        run: Run {
            program: program.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            process: processes.first().map_or(0, |process| process.process),
            // 2026-11-20 10:15:07 UTC
            started_unix_ns: 1_795_169_707_000_000_000,
            end: Some(End::Exit(0)),
        },
        steps: Some(Steps {
            elapsed_ns: 1_450_000_000,
            user_ns: 1_200_000_000,
            system_ns: 120_000_000,
            peak_resident_bytes: 905 << 20,
            minor_faults: 221_344,
            major_faults: 0,
            voluntary_switches: 12,
            involuntary_switches: 34,
            read_calls: Some(56),
            write_calls: Some(7),
        }),
        options: Options::default(),
        tree: Tree::default(),
        processes,
    };
    for process in &report.processes {
        report.tree.counters.fold(&process.counters);
        report.tree.processes += process.processes;
    }
    report.tree.programs = report.programs().len() as u64;
    report
}

/// The documents' first experiment, untuned.
pub fn getfree() -> Report {
    let mut report = report(
        "./getfree",
        &["--seed", "7"],
        vec![process(
            4711,
            "/home/user/getfree",
            &[
                (Key::HeapGets, 50_002),
                (Key::HeapFrees, 50_000),
                (Key::HeapUsedPeak, 819_229_056),
                (Key::HeapSegmentsAllocated, 27_949),
                (Key::HeapSegmentBytesPeak, 915_832_832),
                (Key::HeapSegmentBytesTotal, 915_832_832),
                (Key::HeapInitialSize, 32_768),
                (Key::HeapIncrementSize, 32_768),
                (Key::HeapOwnBytes, 1_048_576),
                (Key::ThreadsStarted, 1),
                (Key::ThreadsPeak, 1),
                (Key::StackLargest, 204_800),
                (Key::StackMain, 204_800),
                (Key::StackConcurrent, 204_800),
                (Key::CoverageAnonymous, 920_000_000),
                (Key::CoverageHeap, 915_832_832),
            ],
        )],
    );
    report.options = Options {
        text: "HEAP(32K,32K),STACK(128K,128K)".to_owned(),
        in_force: vec![
            OptionInForce {
                option: "HEAP(32768,32768,ANYWHERE,KEEP,8192,4096)".to_owned(),
                where_set: "Invocation command".to_owned(),
            },
            OptionInForce {
                option: "STACK(131072,131072,ANYWHERE,KEEP,524288,131072)".to_owned(),
                where_set: "Invocation command".to_owned(),
            },
        ],
        ..Options::default()
    };
    report
}

/// `g++ -c`: a driver with a small heap, a compiler with a large one, an assembler.
pub fn tree() -> Report {
    let compiler = [
        (Key::HeapGets, 36_000),
        (Key::HeapFrees, 30_000),
        (Key::HeapUsedPeak, 210 << 20),
        (Key::HeapSegmentsAllocated, 12),
        (Key::HeapSegmentBytesPeak, 224 << 20),
        (Key::ThreadsPeak, 1),
        (Key::StackLargest, 90 << 10),
        (Key::CoverageAnonymous, 300 << 20),
        (Key::CoverageHeap, 224 << 20),
    ];
    let mut compilers = process(12, "/usr/libexec/cc1plus", &compiler);
    compilers.processes = 3;
    compilers.state = State::Folded;
    compilers.owners = vec![
        Owner { name: "[stack]".to_owned(), bytes: 1 << 20, peak_bytes: 1 << 20 },
        Owner { name: "libgmp.so.10".to_owned(), bytes: 40 << 20, peak_bytes: 40 << 20 },
    ];
    let mut assemblers = process(13, "/usr/bin/as", &[(Key::HeapGets, 900), (Key::HeapUsedPeak, 3 << 20)]);
    assemblers.processes = 3;
    assemblers.state = State::Folded;
    let driver = process(
        11,
        "/usr/bin/g++",
        &[(Key::HeapGets, 700), (Key::HeapUsedPeak, 1 << 20), (Key::NotFollowedStatic, 2)],
    );
    report("g++", &["-c", "it's.cc"], vec![driver, compilers, assemblers])
}

/// A program whose memory is its own business.
pub fn low_coverage() -> Report {
    let mut virtual_machine = process(
        21,
        "/usr/bin/java",
        &[
            (Key::HeapGets, 1_000),
            (Key::HeapUsedPeak, 20 << 20),
            (Key::CoverageAnonymous, 800 << 20),
            (Key::CoverageHeap, 24 << 20),
        ],
    );
    virtual_machine.owners =
        vec![Owner { name: "libjvm.so".to_owned(), bytes: 700 << 20, peak_bytes: 720 << 20 }];
    let mut report = report("java", &["Main"], vec![virtual_machine]);
    report.run.end = Some(End::Signal(9));
    report
}
