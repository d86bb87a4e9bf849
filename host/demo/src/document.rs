//! The figures that the documents print, and their origin.
//!
//! The storage figures are from the talk "Look What I Found Under The Bar!" (session 12341), whose storage report is dated
//! 02/07/11 and comes from Language Environment V01 R12.00 on z/OS. The lock figures are from "Simple Lock Performance
//! Improvements" (TPF Users Group, 2023), on z/TPF before and after APAR PJ46800. The TLS figures are from "ECB Heap Performance
//! Enhancements (PJ47265)" (TPF Users Group, 2025). Those for multi-fetch, sorts, print and work files are from Software AG's page on tuning Natural for the zIIP. No figure here is a measurement of this
//! project.
//!
//! Not here: the figures for load libraries (`article`).

use serde::Serialize;

/// The source of the storage figures, for the line above them.
const SOURCE: &str = "the document (z/OS, Language Environment V1R12, 2011)";

/// The source of the lock figures.
const LOCK_SOURCE: &str = "the document (z/TPF, 10 I-streams, 2023)";

/// The source of the TLS figures.
const TLS_SOURCE: &str = "the document (z/TPF shared SSL, 2025)";

/// The source of the figures for multi-fetch and sorts.
const ZIIP_SOURCE: &str = "the document (Natural on z/OS with a zIIP)";

/// One run of the document.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// The document, and the system of the run.
    pub source: &'static str,
    /// The options, as the document names them.
    pub name: &'static str,
    /// Number of segments allocated.
    pub segments_allocated: Option<u64>,
    /// Number of segments freed.
    pub segments_freed: Option<u64>,
    /// Bytes of all segments, as its note says.
    pub segment_bytes: Option<u64>,
    /// Total heap storage used.
    pub used: Option<u64>,
    /// Largest stack used by any thread.
    pub stack: Option<u64>,
    /// Successful Get Heap requests.
    pub gets: Option<u64>,
    /// Successful Free Heap requests.
    pub frees: Option<u64>,
    /// CPU time.
    pub cpu_ns: Option<u64>,
    /// Elapsed time.
    pub elapsed_ns: Option<u64>,
    /// I/O requests.
    pub excp: Option<u64>,
    /// Records appended to the log in a second.
    pub records_per_second: Option<u64>,
    /// CPU time in percent of all processors.
    pub cpu_percent: Option<u64>,
    /// The number of LOADs that the other figures cover.
    pub loads: Option<u64>,
    /// Tracks that a library occupies.
    pub tracks: Option<u64>,
    /// Bytes of storage that are left for a program.
    pub left: Option<u64>,
    /// Messages in a second.
    pub messages_per_second: Option<u64>,
    /// The mean time of a message.
    pub message_ns: Option<u64>,
    /// Shares of libraries in tenths of a percent: those with large block sizes, those with small ones.
    pub per_mille: Option<[u64; 2]>,
}

/// A row without figures.
pub const EMPTY: Row = Row {
    source: SOURCE,
    name: "",
    segments_allocated: None,
    segments_freed: None,
    segment_bytes: None,
    used: None,
    stack: None,
    gets: None,
    frees: None,
    cpu_ns: None,
    elapsed_ns: None,
    excp: None,
    records_per_second: None,
    cpu_percent: None,
    loads: None,
    tracks: None,
    left: None,
    messages_per_second: None,
    message_ns: None,
    per_mille: None,
};

/// Hundredths of a second, as job logs print them.
pub const fn hundredths(count: u64) -> Option<u64> {
    Some(count * 10_000_000)
}

/// 50,000 gets, then all freed.
pub const GETFREE: [Row; 2] = [
    Row {
        name: "HEAP(32K,32K)",
        segments_allocated: Some(27_949),
        segment_bytes: Some(915_832_832),
        used: Some(819_229_056),
        stack: Some(204_184),
        gets: Some(50_002),
        frees: Some(50_000),
        cpu_ns: hundredths(1544),
        elapsed_ns: hundredths(1802),
        excp: Some(505),
        ..EMPTY
    },
    Row {
        name: "HEAP(100M,100M)",
        segments_allocated: Some(8),
        segment_bytes: Some(838_860_800),
        used: Some(818_334_944),
        stack: Some(200_944),
        gets: Some(50_002),
        frees: Some(50_000),
        cpu_ns: hundredths(12),
        elapsed_ns: hundredths(145),
        excp: Some(501),
        ..EMPTY
    },
];

/// 50,000 gets, 20,000 freed, 20,000 more got, all freed.
pub const KEEPFREE: [Row; 3] = [
    Row {
        name: "HEAP(32K,32K) FREE",
        segments_allocated: Some(39_122),
        segments_freed: Some(39_120),
        used: Some(819_982_896),
        gets: Some(70_002),
        frees: Some(69_999),
        cpu_ns: hundredths(2579),
        elapsed_ns: hundredths(6234),
        excp: Some(474),
        ..EMPTY
    },
    Row {
        name: "HEAP(32K,32K) KEEP",
        segments_allocated: Some(27_952),
        segments_freed: Some(0),
        used: Some(819_983_152),
        gets: Some(70_002),
        frees: Some(70_000),
        cpu_ns: hundredths(2234),
        elapsed_ns: hundredths(2485),
        excp: Some(469),
        ..EMPTY
    },
    Row {
        name: "HEAP(100M,100M)",
        segments_allocated: Some(8),
        used: Some(819_088_944),
        gets: Some(70_002),
        frees: Some(69_999),
        cpu_ns: hundredths(15),
        elapsed_ns: hundredths(104),
        excp: Some(496),
        ..EMPTY
    },
];

/// A small program, before and after its sizes were set to its use.
pub const SIMPLE: [Row; 2] = [
    Row { name: "STACK(128K,128K) HEAP(32K,32K)", stack: Some(4_792), used: Some(3_328), ..EMPTY },
    Row { name: "STACK(8K,4K) HEAP(4K,4K)", stack: Some(4_792), used: Some(3_328), ..EMPTY },
];

/// A program that makes many calls.
pub const DSA: [Row; 3] = [
    Row { name: "STORAGE(,,NONE)", cpu_ns: hundredths(56), ..EMPTY },
    Row { name: "STORAGE(,,00)", cpu_ns: hundredths(215), ..EMPTY },
    Row { name: "STORAGE(,,CLEAR)", cpu_ns: hundredths(57), ..EMPTY },
];

/// Storage that is left for the innermost of so many programs.
const fn left(name: &'static str, kilobytes: u64) -> Row {
    Row { name, left: Some(kilobytes << 10), ..EMPTY }
}

/// Programs in each other: each LINK makes an enclave, each dynamic CALL only loads a program.
pub const ENCLAVES: [Row; 6] = [
    left("LINK, 1 deep", 21_568),
    left("LINK, 5 deep", 20_576),
    left("LINK, 10 deep", 19_808),
    left("CALL, 1 deep", 21_728),
    left("CALL, 5 deep", 21_664),
    left("CALL, 10 deep", 21_600),
];

/// 100 tasks, each 10 syslog() calls a second: "about 200" at "over 98 %", and 1,000 at 4 %.
pub const LOCK: [Row; 2] = [
    Row {
        source: LOCK_SOURCE,
        name: "before PJ46800",
        records_per_second: Some(200),
        cpu_percent: Some(98),
        ..EMPTY
    },
    Row {
        source: LOCK_SOURCE,
        name: "with PJ46800",
        records_per_second: Some(1_000),
        cpu_percent: Some(4),
        ..EMPTY
    },
];

/// Messages over TLS: 14,772 a second and 0.068 ms, then 16,603 and 0.060 ms.
pub const TLS: [Row; 2] = [
    Row {
        source: TLS_SOURCE,
        name: "baseline",
        messages_per_second: Some(14_772),
        message_ns: Some(68_000),
        ..EMPTY
    },
    Row {
        source: TLS_SOURCE,
        name: "with PJ47265",
        messages_per_second: Some(16_603),
        message_ns: Some(60_000),
        ..EMPTY
    },
];

/// 100,000 records of a database: single calls, then multi-fetch with factor 8.
pub const MULTIFETCH: [Row; 2] = [
    Row { source: ZIIP_SOURCE, name: "single", excp: Some(100_000), cpu_ns: Some(5_389_000_000), ..EMPTY },
    Row { source: ZIIP_SOURCE, name: "multi-fetch", excp: Some(12_500), cpu_ns: Some(958_000_000), ..EMPTY },
];

/// "Tuning Natural for the zIIP": a SORT of 1,145 records.
pub const SORT: [Row; 2] = [
    Row { source: ZIIP_SOURCE, name: "external sort", excp: Some(3_435), cpu_ns: Some(155_000_000), ..EMPTY },
    Row {
        source: ZIIP_SOURCE,
        name: "SORT=(WRKSIZE=1000,EXT=OFF)",
        excp: Some(1_148),
        cpu_ns: Some(70_000_000),
        ..EMPTY
    },
];

/// 10,000 lines of 132 characters into a print file, without and with a cache for it.
pub const PRINT: [Row; 2] = [
    Row {
        source: ZIIP_SOURCE,
        name: "no print cache",
        excp: Some(10_003),
        cpu_ns: Some(386_000_000),
        ..EMPTY
    },
    Row { source: ZIIP_SOURCE, name: "print cache", excp: Some(10), cpu_ns: Some(68_000_000), ..EMPTY },
];

/// 10,000 records read from a work file, without and with a cache for it.
pub const WORKFILE: [Row; 2] = [
    Row {
        source: ZIIP_SOURCE,
        name: "no read cache",
        excp: Some(10_478),
        cpu_ns: Some(641_000_000),
        ..EMPTY
    },
    Row { source: ZIIP_SOURCE, name: "read cache", excp: Some(5), cpu_ns: Some(305_000_000), ..EMPTY },
];

/// One line of a profile: displacement, instruction, and number of samples.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sampled {
    /// Displacement in the program.
    pub displacement: u32,
    /// The instruction.
    pub instruction: &'static str,
    /// How many samples fell on it.
    pub count: u64,
}

const fn sampled(displacement: u32, instruction: &'static str, count: u64) -> Sampled {
    Sampled { displacement, instruction, count }
}

/// An instruction profile of the lock's own program.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Profile {
    /// The document, and the system of the run.
    pub source: &'static str,
    /// Before or after.
    pub name: &'static str,
    /// The program.
    pub program: &'static str,
    /// CPU time in percent of all processors.
    pub cpu_percent: u64,
    /// Its lines.
    pub samples: &'static [Sampled],
}

/// The same workload before and after.
pub const PROFILES: [Profile; 2] = [
    Profile {
        source: LOCK_SOURCE,
        name: "before PJ46800",
        program: "slockc.goff",
        cpu_percent: 99,
        samples: &[
            sampled(0x09c, "CSG", 208),
            sampled(0x1a6, "TMLL", 206),
            sampled(0x1ae, "NILL", 57),
            sampled(0x1be, "CSG", 7_943),
            sampled(0x1c4, "BRC", 67),
            sampled(0x2d4, "CSG", 237),
        ],
    },
    Profile {
        source: LOCK_SOURCE,
        name: "with PJ46800",
        program: "slockc.goff",
        cpu_percent: 8,
        samples: &[
            sampled(0x090, "ICMH", 4),
            sampled(0x0f8, "LGHI", 2),
            sampled(0x14c, "CGHSI", 149),
            sampled(0x156, "TM", 37),
            sampled(0x15e, "BRCTG", 54),
        ],
    },
];
