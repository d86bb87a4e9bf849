//! The figures that the article on load libraries prints: "Load Library Performance" (LongEx Mainframe Quarterly, August
//! 2019), on z/OS 2.3, without LLA and VLF.
//!
//! The text of the article runs its columns together; these are the readings that fit each other. For two PDSE programs two
//! readings fit (5,006 or 25,006; 30,000 or 300,000), so neither is given here. No figure here is a measurement of this project.

use super::document::{EMPTY, Row, hundredths};

const SOURCE: &str = "the document (z/OS 2.3, 2019; no LLA, no VLF)";

const fn row(name: &'static str, loads: u64, cpu: u64, excp: u64, seconds: u64) -> Row {
    Row {
        source: SOURCE,
        name,
        loads: Some(loads),
        cpu_ns: hundredths(cpu),
        excp: Some(excp),
        elapsed_ns: Some(seconds * 1_000_000_000),
        ..EMPTY
    }
}

/// ARCCTL, 4 MB.
pub const LARGE: [Row; 3] = [
    row("PDS 6,144", 1_000, 465, 1_646_000, 243),
    row("PDS 23,440", 1_000, 269, 504_000, 145),
    row("PDS 32,760", 1_000, 261, 426_000, 133),
];

/// IEFBR14, 8 bytes.
pub const TINY: [Row; 3] = [
    row("PDS 6,144", 5_000, 13, 10_006, 3),
    row("PDS 23,440", 5_000, 13, 10_006, 3),
    row("PDS 32,760", 5_000, 13, 10_006, 3),
];

/// ARCCTL, in both organisations.
pub const LARGE_PDSE: [Row; 3] = [
    row("PDS 32,760", 1_000, 261, 426_000, 133),
    row("PDSE", 1_000, 32, 100_000, 4),
    row("PDSE, PRIME", 1_000, 326, 1_285_000, 31),
];

const fn without_excp(name: &'static str, cpu: u64) -> Row {
    Row { source: SOURCE, name, loads: Some(5_000), cpu_ns: hundredths(cpu), ..EMPTY }
}

/// CSQLINK, 424 bytes, and CSQUDMSG, 264 KB, in PDSEs with PRIME: the same at every block size.
pub const PDSE_BLOCK_SIZES: [Row; 6] = [
    without_excp("424 bytes, 6,144", 42),
    without_excp("424 bytes, 23,440", 42),
    without_excp("424 bytes, 32,760", 42),
    without_excp("264 KB, 6,144", 132),
    without_excp("264 KB, 23,440", 132),
    without_excp("264 KB, 32,760", 132),
];

/// IEFBR14 among many members.
pub const DIRECTORY: [Row; 4] = [
    row("PDS, 2 members", 5_000, 13, 10_006, 3),
    row("PDS, 4,200 members", 5_000, 14, 10_006, 9),
    row("PDSE, 2 members", 5_000, 32, 25_006, 1),
    row("PDSE, 4,200 members", 5_000, 32, 25_012, 2),
];

/// ARCCTL among many members of a PDS.
pub const DIRECTORY_LARGE: [Row; 2] =
    [row("PDS, 2 members", 1_000, 261, 426_000, 133), row("PDS, 4,200 members", 1_000, 307, 502_000, 209)];

const fn tracks(name: &'static str, tracks: u64) -> Row {
    Row { source: "the document (SYS1.LINKLIB of z/OS 2.3)", name, tracks: Some(tracks), ..EMPTY }
}

/// SYS1.LINKLIB, copied.
pub const TRACKS: [Row; 3] = [tracks("6,144", 2_895), tracks("23,440", 2_640), tracks("32,760", 2_620)];

/// Load libraries of one site: "almost 80 %" have 32,000 or more, 7 % 8K or less.
pub const SURVEY: [Row; 1] = [Row {
    source: "the document (one site, 2019)",
    name: "load libraries",
    per_mille: Some([800, 70]),
    ..EMPTY
}];
