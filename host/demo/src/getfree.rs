//! `demo getfree`: 50,000 random gets, then all freed: with segments of 32K, of 100M, and under other options and allocators.

use underbar_ledger::Key;
use underbar_report::units::{count, counted};

use super::document::GETFREE;
use super::measure::{Arm, Figured, Machine, Problem, Rounds, Server, shown};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Parameters, arm, order, peers, plain};
use crate::programs::storage::{LARGEST, PIECES, requested};

/// The smallest number of rounds with an interval is six; two more narrow it.
const RUNS: usize = 8;
const SMALL: &str = "HEAP(32K,32K)";
const LARGE: &str = "HEAP(100M,100M)";
const DEFAULT: &str = "default";
const PLAIN: &str = "plain";
const SMALL_BYTES: u64 = 32 << 10;
const LARGE_BYTES: u64 = 100 << 20;
const PAGE: u64 = 4096;
/// The range of segments of 32K: no packing needs fewer than its start, and size classes alone need at most its end.
const SEGMENTS: std::ops::RangeInclusive<u64> = 25_001..=34_500;
/// The most requests that any Rust program makes before and after its own.
const OF_THE_START: u64 = 64;
/// The most that the default may cost as a multiple of tuned, and tuned as a multiple of the best peer.
const LIMIT: f64 = 1.10;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = format!("{} gets of 1 to {} bytes, then all freed", count(PIECES as u64), count(LARGEST));
    let mut output = Output::new("getfree", &title, parameters, runs);
    let machine = Machine::new(parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    let mut order = order(parameters);
    let (total, peak) = requested(parameters.seed, false);
    for (write, words) in
        [("first", "the first byte of each piece is written"), ("all", "all bytes are written")]
    {
        progress.part(words);
        let rounds = machine.rounds(arms(parameters.seed, write), runs, &mut order, &mut progress)?;
        let table = Table {
            title: format!("{words}; {} bytes requested", count(total)),
            requested_bytes: Some(total),
            requested_peak_bytes: Some(peak),
            arms: rounds.figured(),
            document: GETFREE.to_vec(),
            blocks: vec![
                vec![
                    Column::SEGMENTS,
                    Column::FROM_KERNEL,
                    Column::USED,
                    Column::LOST,
                    Column::STACK,
                    Column::GETS,
                    Column::FREES,
                ],
                vec![Column::CPU, Column::ELAPSED, Column::FAULTS, Column::PEAK, Column::EXCP],
            ],
            remarks: vec![(
                SMALL.to_owned(),
                "the cost of that many kernel requests on this machine".to_owned(),
            )],
        };
        if write == "first" {
            output.checks = counts(&table.arms);
        }
        output.checks.extend(ratios(&rounds, write));
        output.tables.push(table);
    }
    output.notes = notes(&output.tables[0]);
    Ok(output)
}

fn arms(seed: u64, write: &str) -> Vec<Arm> {
    let seed = seed.to_string();
    let program = ["getfree", "--seed", &seed, "--write", write];
    let mut arms = vec![
        arm(SMALL, "HEAP(32K,32K,ANYWHERE,KEEP)", &program),
        arm(LARGE, "HEAP(100M,100M,ANYWHERE,KEEP)", &program),
        arm(DEFAULT, "", &program),
        plain(PLAIN, &program),
    ];
    for (name, path) in peers::installed() {
        arms.push(Arm { name: name.to_owned(), server: Server::Peer(path), program: super::words(&program) });
    }
    arms
}

fn counts(arms: &[Figured]) -> Vec<Check> {
    let find = |name: &str| arms.iter().find(|arm| arm.name == name);
    let (Some(small), Some(large)) = (find(SMALL), find(LARGE)) else { return Vec::new() };
    let get = |arm: &Figured, key| arm.counter(key).unwrap_or(0);
    let mut checks = Vec::new();

    let segments = get(small, Key::HeapSegmentsAllocated);
    checks.push(Check::count(
        "segments_32k",
        SEGMENTS.contains(&segments),
        format!(
            "{SMALL}: {} segments, between {} (nothing can pack tighter) and {} (size classes alone)",
            count(segments),
            count(*SEGMENTS.start()),
            count(*SEGMENTS.end())
        ),
    ));
    let given = get(small, Key::HeapSegmentBytesTotal);
    let oversize = get(small, Key::HeapOversizeSegments);
    checks.push(Check::count(
        "segments_times_size_32k",
        given == segments * SMALL_BYTES + oversize * PAGE,
        format!(
            "{SMALL}: {} x {} bytes, and a page more for each of the {} that hold a piece as large as a segment, \
             is what the kernel gave: {}",
            count(segments),
            count(SMALL_BYTES),
            count(oversize),
            count(given)
        ),
    ));
    let segments = get(large, Key::HeapSegmentsAllocated);
    let used = get(large, Key::HeapUsedPeak);
    checks.push(Check::count(
        "segments_100m",
        segments == 8 || (segments == 9 && used > 7 * LARGE_BYTES),
        match segments {
            9 => format!(
                "{LARGE}: 9 segments, because {} bytes in use, with what is lost at the ends of eight, are more \
                 than eight hold",
                count(used)
            ),
            _ => format!("{LARGE}: {} (8, or 9 with the reason)", counted(segments, "segment", "segments")),
        },
    ));
    let given = get(large, Key::HeapSegmentBytesTotal);
    checks.push(Check::count(
        "segments_times_size_100m",
        given == segments * LARGE_BYTES,
        format!(
            "{LARGE}: {segments} x {} bytes is what the kernel gave: {}",
            count(LARGE_BYTES),
            count(given)
        ),
    ));
    let pieces = PIECES as u64;
    let ours: Vec<&Figured> = arms.iter().filter(|arm| arm.counters.is_some()).collect();
    let more = ours.iter().map(|arm| get(arm, Key::HeapGets).wrapping_sub(pieces)).max().unwrap_or(0);
    let all_freed =
        ours.iter().all(|arm| (pieces..=get(arm, Key::HeapGets)).contains(&get(arm, Key::HeapFrees)));
    checks.push(Check::count(
        "gets_and_frees",
        more <= OF_THE_START && all_freed,
        format!(
            "{} gets and frees of the program, and {more} gets of its start (arguments, and the like)",
            count(pieces)
        ),
    ));
    checks.push(Check::count(
        "repeats",
        small.repeats && large.repeats,
        format!("{SMALL} and {LARGE}: every run counted the same segments and bytes"),
    ));
    checks
}

fn ratios(rounds: &Rounds, write: &str) -> Vec<Check> {
    let (Some(default), Some(tuned), Some(best)) =
        (rounds.place(DEFAULT), rounds.place(LARGE), rounds.best_peer())
    else {
        return Vec::new();
    };
    let (names, words) = match write {
        "first" => (["default_to_tuned", "tuned_to_best_peer"], "first byte"),
        _ => (["default_to_tuned_all", "tuned_to_best_peer_all"], "all bytes"),
    };
    vec![
        Check::at_most(
            names[0],
            &format!("CPU of {DEFAULT} to {LARGE}, {words}"),
            rounds.cpu_ratio(default, tuned),
            LIMIT,
        ),
        Check::at_most(
            names[1],
            &format!("CPU of {LARGE} to {}, the best of those without underbar, {words}", rounds.name(best)),
            rounds.cpu_ratio(tuned, best),
            LIMIT,
        ),
    ]
}

fn notes(table: &Table) -> Vec<String> {
    let cpu = |name: &str| table.arms.iter().find(|arm| arm.name == name).map_or(0, |arm| arm.cpu_ns);
    let times = cpu(SMALL) as f64 / cpu(LARGE).max(1) as f64;
    let mut notes = vec![
        format!(
            "The document's two runs differ 129 times in CPU time, because its heap searched 27,949 segments for \
             room. No heap here searches segments, so that is not reproduced: {SMALL} to {LARGE} is {times:.1} \
             times here, the cost of that many kernel requests on this machine."
        ),
        "From the kernel: bytes of all segments together. Lost to packing: what of them the program did not ask \
         for. Storage of other allocators is not counted. The document's program had a generator of its own, so \
         its sizes are not these; EXCP counts I/O requests on z/OS, of which this program makes none."
            .to_owned(),
    ];
    let peers: Vec<String> = table
        .arms
        .iter()
        .filter_map(|arm| Some(format!("{} is {}", arm.name, shown(arm.preload.as_ref()?))))
        .collect();
    notes.push(if peers.is_empty() {
        "No other allocator (jemalloc, tcmalloc, mimalloc, snmalloc, rpmalloc) is installed here; plain is the C \
         library's."
            .to_owned()
    } else {
        format!("plain is the C library's allocator; {}, preloaded as installed here.", peers.join(", "))
    });
    notes
}
