//! Reports that tests share, in this crate and in those that read reports: `getfree` untuned, a compiler's tree, a program with
//! most memory outside the heap; and parts for other reports.
//!
//! Not in releases: only tests have it (and the feature `sample`, for the tests of other crates).

use underbar_ledger::Key;

use crate::buffers::Buffer;
use crate::ecb_pairs::{EcbPair, PairList};
use crate::ecbs::{EcbClass, EcbList, Rows};
use crate::figures::Figures;
use crate::model::{End, Host, OptionInForce, Options, Owner, Process, Report, Run, SCHEMA, State, Tree};
use crate::pools::{Pool, Pools};
use crate::sizes::{Sizes, fold};
use crate::steps::Steps;

fn process(number: u32, program: &str, figures: &[(Key, u64)]) -> Process {
    let mut counters = Figures::zero();
    for &(key, figure) in figures {
        counters.set(key, figure);
    }
    Process {
        program: program.to_owned(),
        started_as: None,
        arguments: vec![program.rsplit('/').next().unwrap_or(program).to_owned()],
        process: number,
        parent: 1,
        processes: 1,
        state: State::Ended,
        started_ns: 0,
        ended_ns: Some(1_000_000_000),
        option_errors: 0,
        heading: String::new(),
        counters,
        sizes: None,
        pools: None,
        ranges: None,
        ecbs: Vec::new(),
        ecb_traces: Vec::new(),
        ecb_threads_without_trace: 0,
        switches: None,
        buffers: Vec::new(),
        heaps: Vec::new(),
        none: Vec::new(),
        owners: Vec::new(),
        allocator: None,
        locks: None,
        fault: None,
    }
}

/// Buffers: of a print file, of work files that were flushed after each line, and of one that was read.
#[must_use]
pub fn buffers() -> Vec<Buffer> {
    let of = |name: &str, size, max_used, used, calls, bytes, flushes: &[(&str, u64)]| Buffer {
        name: name.to_owned(),
        size,
        used,
        max_used,
        files: 1,
        calls,
        bytes,
        passed_on: flushes.iter().map(|(_, count)| count).sum(),
        flushes: flushes.iter().map(|&(reason, count)| (reason.to_owned(), count)).collect(),
        between_p99: None,
        file: format!("/tmp/{}", name.to_lowercase()),
        ..Buffer::default()
    };
    vec![
        of("PCACHE", 132 << 10, 135_133, 32, 10_000, 1_330_000, &[("full", 10), ("close", 1)]),
        Buffer {
            between_p99: Some(256),
            plain: [("opened for appending".to_owned(), 2)].into(),
            large: 3,
            not_written: 133,
            error: 28,
            ..of("WCACHEO", 300 << 10, 306_948, 32, 8_000, 1_064_000, &[("sync", 8_000), ("full", 0)])
        },
        of("WCACHE01", 300 << 10, 306_920, 0, 100, 306_920, &[("close", 1)]),
    ]
}

/// A class of ECBs: 100 ended, four of which needed more than their area of 32 KiB; most of its requests have 33 to 48 bytes.
#[must_use]
pub fn ecbs() -> EcbClass {
    let list = |list, got, freed, shared, carved| EcbList { list, got, freed, shared, carved };
    EcbClass {
        name: "SSL".to_owned(),
        sizes: vec![32, 64, 128, 256, 512],
        area: 32_768,
        created: 102,
        ended: 100,
        with_buffer: 95,
        expanded_tags: 3,
        with_frame: 4,
        frames: 5,
        high_water: 1_400_000,
        counted: 10,
        counted_one_in: 10,
        low: 32_768,
        with_low: 0,
        low_high_water: 0,
        low_got: 0,
        low_freed: 0,
        low_uses: Rows::default(),
        sharing: 0,
        lists: vec![
            list(Some(1), 300, 200, 10, 40),
            list(Some(2), 9_600, 9_000, 200, 500),
            list(Some(3), 0, 0, 0, 0),
            list(Some(4), 70, 0, 0, 70),
            list(Some(5), 0, 0, 0, 0),
            list(None, 50, 20, 0, 50),
        ],
        uses: Rows {
            up_to: [(0, 5), (4_096, 60), (8_192, 25), (12_288, 6), (40_960, 2), (53_248, 1)]
                .into_iter()
                .collect(),
            above: Some((516_096, 1)),
        },
        requests: Rows {
            up_to: [(16, 10), (32, 20), (48, 900), (64, 60), (208, 7), (8_192, 5)].into_iter().collect(),
            above: None,
        },
        pairs: vec![
            pair(Some(("TRANSACTION", "PAY")), [30, 29, 1, 1, 2, 1_400_000, 819_200], [6_000, 5_500]),
            pair(Some(("TRANSACTION", "LOG, and more")), [60, 59, 0, 0, 0, 8_192, 230_400], [3_600, 3_500]),
            pair(None, [10, 7, 2, 3, 3, 90_000, 4_480], [70, 0]),
        ],
    }
}

/// The same class, seven of whose ECBs had storage below 2 GiB.
#[must_use]
pub fn ecbs_with_low() -> EcbClass {
    EcbClass {
        with_low: 7,
        low_high_water: 40_960,
        low_got: 70,
        low_freed: 14,
        low_uses: Rows { up_to: [(4_096, 5), (20_480, 1), (40_960, 1)].into_iter().collect(), above: None },
        ..ecbs()
    }
}

/// ECBs with a pair, whose buffers are all of the second list.
fn pair(of: Option<(&str, &str)>, sums: [u64; 7], of_list: [u64; 2]) -> EcbPair {
    let [ecbs, with_buffer, expanded_tags, with_frame, frames, high_water, bytes] = sums;
    let (name, value) = of.map(|(name, value)| (name.to_owned(), value.to_owned())).unzip();
    let figure = |number: u64, figure: u64| if number == 2 { figure } else { 0 };
    let list = |number: u64| PairList {
        list: (number < 6).then_some(number),
        got: figure(number, of_list[0]),
        freed: figure(number, of_list[1]),
    };
    let lists = (1..=6).map(list).collect();
    let late = 0;
    EcbPair {
        name,
        value,
        ecbs,
        with_buffer,
        expanded_tags,
        with_frame,
        frames,
        high_water,
        bytes,
        late,
        lists,
    }
}

/// Pools of two sizes, of which the first one needed more than its extents.
#[must_use]
pub fn pools() -> Pools {
    let pool = |cell, element, cells_per_extent, gets, extents, used_peak| Pool {
        cell,
        element,
        percent: Some(10),
        cells_per_extent,
        gets,
        extents,
        used_peak,
        used: 0,
    };
    Pools {
        initial_size: Some(32_768),
        larger_requests: 2,
        each: vec![pool(8, 16, 204, 5_000, 5, 900), pool(128, 128, 25, 40, 1, 20)],
    }
}

fn run(program: &str, arguments: &[&str], processes: Vec<Process>) -> Report {
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        underbar: "0.1.0".to_owned(),
        host: Host {
            name: None,
            kernel: "Linux 6.1.0".to_owned(),
            cores: 2,
            page_bytes: 4096,
            memory_limit_bytes: Some(16 << 30),
            thread_stack_bytes: Some(8 << 20),
            utc_offset_seconds: 0,
            switch_costs: None,
        },
        run: Run {
            program: program.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            process: processes.first().map_or(0, |process| process.process),
            // 2026-11-20 10:15:07 UTC
            started_unix_ns: 1_795_169_707_000_000_000,
            end: Some(End::Exit(0)),
            later: None,
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
            read_bytes: Some(70_000),
            written_bytes: Some(900),
            kernel_entries: None,
        }),
        options: Options::default(),
        tree: Tree::default(),
        processes,
        over_time: None,
        sites: None,
    };
    for process in &report.processes {
        report.tree.counters.fold(&process.counters);
        fold(&mut report.tree.sizes, process.sizes.as_ref());
        report.tree.processes += process.processes;
    }
    report.tree.programs = report.programs().len() as u64;
    report
}

/// Requests by size.
#[must_use]
pub fn sizes(rows: &[(u64, u64)]) -> Sizes {
    let mut sizes = Sizes::none();
    rows.iter().for_each(|&(size, requests)| sizes.add(size, requests));
    sizes
}

/// A report whose run has these counters.
#[cfg(test)]
pub(crate) fn with(counters: &[(Key, u64)]) -> Report {
    let mut report = getfree();
    counters.iter().for_each(|&(key, value)| report.tree.counters.set(key, value));
    report
}

/// The documents' first experiment, untuned.
#[must_use]
pub fn getfree() -> Report {
    let mut getfree = process(
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
    );
    getfree.sizes = Some(sizes(&[(32, 1_500), (64, 4_500), (1024, 2), (4096, 5_000), (20_480, 39_000)]));
    let mut report = run("./getfree", &["--seed", "7"], vec![getfree]);
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
#[must_use]
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
    run("g++", &["-c", "it's.cc"], vec![driver, compilers, assemblers])
}

/// A program that does not use this heap for its memory.
#[must_use]
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
    let mut report = run("java", &["Main"], vec![virtual_machine]);
    report.run.end = Some(End::Signal(9));
    report
}

/// A process that ran for a second: the most that its heap used and held, its number of segments, and its initial size and
/// increment (0, 0 is AUTO).
#[must_use]
pub fn heap(program: &str, used: u64, segments: u64, held: u64, sizes: (u64, u64)) -> Process {
    process(
        1,
        program,
        &[
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
        ],
    )
}

/// A server that once needed a gigabyte, and holds it.
#[must_use]
pub fn server() -> Process {
    let mut process = heap("/bin/server", 900 << 20, 12, 1 << 30, (1 << 20, 64 << 20));
    process.counters.set(Key::HeapUsed, 20 << 20);
    process.counters.set(Key::HeapSegmentBytes, 1 << 30);
    process.state = State::Running;
    process.ended_ns = None;
    process
}

/// A report of those processes, which took a second, on a machine with 64 GiB.
#[must_use]
pub fn report(processes: Vec<Process>) -> Report {
    let mut report = run("g++", &["-c", "x.cc"], processes);
    report.host.memory_limit_bytes = Some(64 << 30);
    report.steps = Some(Steps { elapsed_ns: 1_000_000_000, ..Steps::default() });
    report
}

/// Sets the options in force.
pub fn in_force(report: &mut Report, option: &str) {
    report.options.in_force =
        vec![OptionInForce { option: option.to_owned(), where_set: "Invocation command".to_owned() }];
}
