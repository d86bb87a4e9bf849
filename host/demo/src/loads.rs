//! The common parts of demos of LOADs: arms, columns, and checks of figures.
//!
//! Invariant: four figures are never mixed: channel programs (by the article's count, and by that of MVS 3.8's fetch),
//! blocks, tracks, reads of the device. Each has a column, and none is computed from another.

use std::collections::BTreeMap;
use underbar_shown::Shown;

use underbar_report::units::{bytes, count, nanoseconds};

use super::document::Row;
use super::measure::{Arm, Figured, Rounds};
use super::output::{Check, Column, Table};
use super::plain;

/// The smallest number of rounds with an interval.
pub const RUNS: usize = 6;
/// The block sizes that the article compares.
pub const BLOCK_SIZES: [u32; 3] = [6_144, 23_440, 32_760];

/// The figures that a program printed about itself.
pub type Said = BTreeMap<String, u64>;

/// An arm that does LOAD and DELETE of a program this many times; see `programs::loads` for the ways.
pub fn loads(name: &str, library: &str, member: &str, way: &str, times: u64) -> Arm {
    let times = times.to_string();
    plain(name, &["loads", "--library", library, "--member", member, "--way", way, "--times", &times])
}

/// A table of LOADs.
pub fn table(title: String, rounds: &Rounds, document: &[Row]) -> Table {
    Table {
        document: document.to_vec(),
        ..Table::new(
            title,
            rounds.figured().into_iter().filter(|arm| !arm.said.contains_key("refused")).collect(),
            vec![
                vec![BY_ARTICLE, BY_FETCH, BLOCKS, TRACKS, DIRECTORY_BLOCKS, DIRECTORY_TRACKS],
                vec![LOADS, READS, FROM_DEVICE, CPU_EACH, ELAPSED_EACH, EXCP_IN_ALL, ELAPSED_IN_ALL],
            ],
        )
    }
}

/// The share of one LOAD in a figure; None unless it divides evenly among the LOADs.
pub fn each(arm: &Figured, figure: &str) -> Option<u64> {
    let (figure, loads) = (*arm.said.get(figure)?, *arm.said.get("loads")?);
    figure.is_multiple_of(loads.max(1)).then(|| figure / loads.max(1))
}

/// The same for every arm; None unless it is known for all of them.
pub fn all_of(arms: &[Figured], figure: &str) -> Option<Vec<u64>> {
    arms.iter().map(|arm| each(arm, figure)).collect()
}

/// Elapsed time of a LOAD, in nanoseconds.
pub fn elapsed_each(said: &Said) -> Option<f64> {
    Some(*said.get("elapsed_ns")? as f64 / (*said.get("loads")?).max(1) as f64)
}

/// The check that no run left a program to the system's loader.
pub fn nothing_fell_back(rounds: &[&Rounds]) -> Check {
    let of = |rounds: &&Rounds| rounds.said_is(|said| said.get("fallbacks").is_none_or(|count| *count == 0));
    let (own, all) = rounds.iter().map(of).fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
    Check::count(
        "own_loader",
        own == all,
        format!("in {own} of {all} runs no program was left to the system's loader"),
    )
}

/// CPU time of a LOAD, in nanoseconds; compared if nothing waits for a device.
pub fn cpu_each(said: &Said) -> Option<f64> {
    Some(*said.get("cpu_ns")? as f64 / (*said.get("loads")?).max(1) as f64)
}

/// A check of time by two arms' names; None if one of them did not run.
pub fn at_most(
    name: &'static str,
    what: &str,
    (rounds, time): (&Rounds, fn(&Said) -> Option<f64>),
    arms: [&str; 2],
    limit: f64,
) -> Option<Check> {
    let (arm, to) = (rounds.place(arms[0])?, rounds.place(arms[1])?);
    let what = format!("{what}, {} to {}", arms[0], arms[1]);
    Some(Check::at_most(name, &what, rounds.said_ratio(arm, to, time), limit))
}

/// A check of counts, with the figures in words.
pub fn counted(name: &'static str, what: &str, figures: Option<Vec<u64>>, so: fn(&[u64]) -> bool) -> Check {
    let passed = figures.as_ref().is_some_and(|figures| !figures.is_empty() && so(figures));
    let shown = figures.map_or_else(
        || "not known".to_owned(),
        |figures| figures.iter().map(|figure| count(*figure)).collect::<Vec<_>>().join(", "),
    );
    Check::count(name, passed, format!("{what}: {shown}"))
}

/// Are all equal?
pub fn equal(figures: &[u64]) -> bool {
    figures.windows(2).all(|pair| pair[0] == pair[1])
}

/// Is each less than the one before?
pub fn falling(figures: &[u64]) -> bool {
    figures.windows(2).all(|pair| pair[0] > pair[1])
}

/// The note on the meaning of the columns.
pub fn note() -> String {
    "Figures are those of one LOAD, but for the last two columns. EXCP (article): one for the search of the directory, one \
     for each block of text, one for each control block that had to be read. EXCP (MVS fetch): one for the search, one for \
     the module. Blocks and tracks of the member; of a PDSE, pages, and groups of twelve. Device reads: requests past the \
     page cache; through it, none where the kernel says that the device gave nothing. None of these is made from another, \
     and no time is made from any. One LOAD goes before those that are counted."
        .to_owned()
}

/// Says that the file system refuses reads past the page cache.
pub fn refused(rounds: &Rounds, folder: &std::path::Path) -> Option<String> {
    let (refused, _) = rounds.said_is(|said| said.contains_key("refused"));
    (refused > 0).then(|| {
        format!(
            "{}: its file system cannot be read past the page cache (O_DIRECT), so those rows are missing; set TMPDIR to a \
             folder on a disk.",
            folder.shown()
        )
    })
}

/// A figure for one LOAD, as text: with two decimals if the figure does not divide evenly among the LOADs.
fn shown(figure: Option<&u64>, loads: Option<u64>) -> Option<String> {
    let (figure, loads) = (*figure?, loads?.max(1));
    if figure.is_multiple_of(loads) {
        return Some(count(figure / loads));
    }
    Some(format!("{:.2}", figure as f64 / loads as f64))
}

fn ours(arm: &Figured, figure: &str) -> Option<String> {
    shown(arm.said.get(figure), arm.said.get("loads").copied())
}

fn time(figure: Option<u64>, loads: Option<u64>) -> Option<String> {
    Some(nanoseconds(figure? / loads?.max(1)))
}

const BY_ARTICLE: Column = Column::new(
    "EXCP (article)",
    |_, arm| ours(arm, "programs_by_article"),
    |row| shown(row.excp.as_ref(), row.loads),
);
const BY_FETCH: Column = Column::new("EXCP (MVS fetch)", |_, arm| ours(arm, "programs_by_fetch"), |_| None);
const BLOCKS: Column = Column::new("blocks", |_, arm| ours(arm, "blocks"), |_| None);
const TRACKS: Column = Column::new("tracks", |_, arm| ours(arm, "tracks"), |_| None);
const DIRECTORY_BLOCKS: Column =
    Column::new("directory blocks", |_, arm| ours(arm, "directory_blocks"), |_| None);
const DIRECTORY_TRACKS: Column =
    Column::new("directory tracks", |_, arm| ours(arm, "directory_tracks"), |_| None);
const LOADS: Column =
    Column::new("LOADs", |_, arm| arm.said.get("loads").copied().map(count), |row| row.loads.map(count));
const READS: Column = Column::new("device reads", |_, arm| ours(arm, "device_reads"), |_| None);
const FROM_DEVICE: Column = Column::new(
    "from the device",
    |_, arm| Some(bytes(*arm.said.get("device_bytes")? / (*arm.said.get("loads")?).max(1))),
    |_| None,
);
const CPU_EACH: Column = Column::new(
    "CPU",
    |_, arm| time(arm.said.get("cpu_ns").copied(), arm.said.get("loads").copied()),
    |row| time(row.cpu_ns, row.loads),
);
const ELAPSED_EACH: Column = Column::new(
    "elapsed",
    |_, arm| time(arm.said.get("elapsed_ns").copied(), arm.said.get("loads").copied()),
    |row| time(row.elapsed_ns, row.loads),
);
const EXCP_IN_ALL: Column = Column::new(
    "EXCP in all",
    |_, arm| arm.said.get("programs_by_article").copied().map(count),
    |row| row.excp.map(count),
);
const ELAPSED_IN_ALL: Column = Column::new(
    "elapsed in all",
    |_, arm| arm.said.get("elapsed_ns").copied().map(nanoseconds),
    |row| row.elapsed_ns.map(nanoseconds),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_one_load() {
        assert_eq!(shown(Some(&10_006), Some(5_000)).as_deref(), Some("2.00"));
        assert_eq!(shown(Some(&1_646_000), Some(1_000)).as_deref(), Some("1,646"));
        assert_eq!(shown(None, Some(5)), None);
        assert!(equal(&[3, 3, 3]) && !equal(&[3, 3, 4]) && falling(&[3, 2]) && !falling(&[3, 3]));
        assert_eq!(counted("x", "y", None, equal).text, "y: not known");
    }
}
