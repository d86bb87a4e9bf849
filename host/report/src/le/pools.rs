//! HEAPPOOLS in the storage report: statistics and summary, for a process with pools.
//!
//! ```text
//!     HEAPPOOLS Statistics:                                column 5
//!       Pool p size: ssss Get requests:          <value>   column 7, value ends in column 64
//!       Successful Get Heap requests: xxxx-yyyy  <value>   under RPTSTG(ON): each range with requests of the pools above
//!       Requests greater than the largest cell size: ...
//!     HEAPPOOLS Summary:
//!       Specified Element   Extent   Cells Per  Extents    Maximum      Cells In
//!       Cell Size Size      Percent  Extent     Allocated  Cells Used   Use
//!       Suggested Percentages for current Cell Sizes:
//!         HEAPP(ON,...)
//!       Suggested Cell Sizes:
//!         HEAPP(ON,...)
//! ```
//!
//! Names of columns and formulas are documented: cells per extent are the initial size of HEAP times the percentage, divided by
//! the element, at least 4. The spacing is not documented: each number is under its heading. On z/OS an element is its cell and
//! 8 bytes; here it is the cell rounded up to its alignment. HEAPPOOLS64 has no percentages, and counts of cells are suggested.
//!
//! Not here: the figures ([`crate::pools`]), and the choice of sizes (`underbar_model::cells`).

use std::fmt::Write as _;

use super::{VALUE_ENDS, line};
use crate::model::Process;
use crate::pools::{Pool, Pools};

/// A column of the summary: its width, its heading in two lines, and its figure.
struct Column(usize, [&'static str; 2], fn(&Pool) -> Option<u64>);

const COLUMNS: [Column; 7] = [
    Column(10, ["Specified", "Cell Size"], |pool| Some(pool.cell)),
    Column(10, ["Element", "Size"], |pool| Some(pool.element)),
    Column(9, ["Extent", "Percent"], |pool| pool.percent),
    Column(11, ["Cells Per", "Extent"], |pool| Some(pool.cells_per_extent)),
    Column(11, ["Extents", "Allocated"], |pool| Some(pool.extents)),
    Column(13, ["Maximum", "Cells Used"], |pool| Some(pool.used_peak)),
    Column(8, ["Cells In", "Use"], |pool| Some(pool.used)),
];

/// Both sections.
pub(super) fn write(text: &mut String, process: &Process, pools: &Pools) {
    let (name, short) =
        if pools.initial_size.is_some() { ("HEAPPOOLS", "HEAPP") } else { ("HEAPPOOLS64", "HP64") };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "    {name} Statistics:");
    statistics(text, process, pools);
    line(text, 6, "Requests greater than the largest cell size", pools.larger_requests);
    let _ = writeln!(text, "    {name} Summary:");
    summary(text, pools);
    suggestions(text, process, pools, short);
}

fn statistics(text: &mut String, process: &Process, pools: &Pools) {
    let mut below = 0;
    for (at, same) in pools.each.chunk_by(|one, other| one.cell == other.cell).enumerate() {
        for (one, pool) in same.iter().enumerate() {
            let number =
                if same.len() == 1 { format!("{}", at + 1) } else { format!("{}.{}", at + 1, one + 1) };
            line(text, 6, &format!("Pool {number:<6} size: {:>5} Get requests", pool.cell), pool.gets);
        }
        let Some(pool) = same.first() else { continue };
        if let Some(ranges) = process.ranges_of_pools() {
            for (from, to, requests) in ranges.between(below, pool.element) {
                let label = format!("Successful Get Heap requests: {from:>5}-{to:<5}");
                let width = VALUE_ENDS.saturating_sub(6 + label.len() + 1);
                let _ = writeln!(text, "      {label} {requests:>width$}");
            }
        }
        below = below.max(pool.element);
    }
}

fn summary(text: &mut String, pools: &Pools) {
    let columns = || COLUMNS.iter().filter(|column| pools.each.iter().all(|pool| column.2(pool).is_some()));
    for at in [0, 1] {
        let cells: String =
            columns().map(|Column(width, heading, _)| format!("{:<width$}", heading[at])).collect();
        let _ = writeln!(text, "      {}", cells.trim_end());
    }
    let _ = writeln!(text, "      {}", "-".repeat(columns().map(|column| column.0).sum()));
    for pool in &pools.each {
        let mut row = String::new();
        for Column(width, heading, figure) in columns() {
            let under = heading[0].len().max(heading[1].len());
            let figure = figure(pool).unwrap_or(0);
            // At least one blank, even if a figure is too long for its column.
            let _ = write!(row, "{:<width$}", format!("{figure:>under$} "), width = *width);
        }
        let _ = writeln!(text, "      {}", row.trim_end());
    }
}

fn suggestions(text: &mut String, process: &Process, pools: &Pools, short: &str) {
    let sizes: Vec<Pool> = pools.by_size().collect();
    let share = |pool: &Pool| match pools.initial_size {
        Some(initial) => pool.model().percent_of(initial),
        None => pool.used_peak.max(1),
    };
    let shares: Vec<(u64, Option<u64>)> = sizes.iter().map(|pool| (pool.cell, Some(share(pool)))).collect();
    let what = if pools.initial_size.is_some() { "Percentages" } else { "Cell Counts" };
    let _ = writeln!(text, "      Suggested {what} for current Cell Sizes:");
    let _ = writeln!(text, "        {}", option(short, &shares));
    let chosen = process.ranges_of_pools().and_then(|ranges| pools.suggested_sizes(ranges));
    if let Some(chosen) = chosen {
        let chosen: Vec<(u64, Option<u64>)> = chosen.into_iter().map(|cell| (cell, None)).collect();
        let _ = writeln!(text, "      Suggested Cell Sizes:");
        let _ = writeln!(text, "        {}", option(short, &chosen));
    }
}

/// The option text for pairs of sizes and shares; a size of 0 after fewer than twelve, or else the default ones stay in force.
fn option(short: &str, pairs: &[(u64, Option<u64>)]) -> String {
    let mut text = format!("{short}(ON");
    for (cell, share) in pairs {
        let share = share.map_or(String::new(), |share| share.to_string());
        let _ = write!(text, ",{cell},{share}");
    }
    let end = if pairs.len() < underbar_model::cells::MOST { ",0)" } else { ")" };
    text + end
}

/// The notes on these sections.
pub(super) fn notes(process: &Process, pools: &Pools) -> Vec<String> {
    let mut notes = vec![
        "HEAPPOOLS: a cell takes its size rounded up to 16 bytes (ALIGN: to cache lines), without control bytes. Each thread has \
         extents of its own. Maximum cells used is exact within a list of cells of each thread and an eighth of each extent."
            .to_owned(),
    ];
    if process.ranges.is_none() {
        notes.push(
            "HEAPPOOLS: requests are counted by ranges of 8 bytes, and cell sizes suggested, under RPTSTG(ON).".to_owned(),
        );
    }
    if process.counters.get(underbar_ledger::Key::HeapInitialSize) == 0
        && let Some(initial) = pools.initial_size
    {
        notes.push(format!("HEAPPOOLS: HEAP is AUTO, so percentages are of {initial} bytes."));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pools::Ranges;
    use crate::sample;

    /// Pools of two sizes, the smaller one twice.
    fn pools(percent: Option<u64>) -> Pools {
        let pool = |cell, element, cells_per_extent, gets, used_peak| Pool {
            cell,
            element,
            percent,
            cells_per_extent,
            gets,
            extents: 2,
            used_peak,
            used: 1,
        };
        Pools {
            initial_size: percent.map(|_| 32_768),
            larger_requests: 3,
            each: vec![
                pool(24, 32, 204, 9_000, 170),
                pool(24, 32, 204, 8_000, 160),
                pool(136, 144, 45, 50, 9),
            ],
        }
    }

    fn shown(pools: &Pools, ranges: Option<Ranges>) -> String {
        let mut process = sample::getfree().processes.remove(0);
        process.ranges = ranges;
        let mut text = String::new();
        write(&mut text, &process, pools);
        text
    }

    #[test]
    fn two_sizes_one_of_them_in_two_pools() {
        let ranges = Ranges([(8, 16_900), (32, 100), (136, 50), (4_096, 3)].into_iter().collect());
        assert_eq!(
            shown(&pools(Some(20)), Some(ranges)),
            "    HEAPPOOLS Statistics:
      Pool 1.1    size:    24 Get requests:                 9000
      Pool 1.2    size:    24 Get requests:                 8000
      Successful Get Heap requests:     1-8                16900
      Successful Get Heap requests:    25-32                 100
      Pool 2      size:   136 Get requests:                   50
      Successful Get Heap requests:   129-136                 50
      Requests greater than the largest cell size:             3
    HEAPPOOLS Summary:
      Specified Element   Extent   Cells Per  Extents    Maximum      Cells In
      Cell Size Size      Percent  Extent     Allocated  Cells Used   Use
      ------------------------------------------------------------------------
             24      32        20        204          2         170          1
             24      32        20        204          2         160          1
            136     144        20         45          2           9          1
      Suggested Percentages for current Cell Sizes:
        HEAPP(ON,24,33,136,4,0)
      Suggested Cell Sizes:
        HEAPP(ON,16,,32,,144,,4096,,0)
"
        );
    }

    #[test]
    fn counts_of_cells_have_no_percentages() {
        let text = shown(&pools(None), None);
        assert!(text.starts_with("    HEAPPOOLS64 Statistics:\n") && !text.contains("Percent"), "{text}");
        assert!(text.contains("        HP64(ON,24,330,136,9,0)\n") && !text.contains("Suggested Cell Sizes"));
    }

    #[test]
    fn figures_too_long_for_their_columns_keep_a_blank() {
        let mut large = pools(Some(20));
        for pool in &mut large.each {
            (pool.used_peak, pool.used, pool.extents) = (u64::MAX, u64::MAX, u64::MAX);
        }
        let text = shown(&large, None);
        let wide = format!("{} {} {}\n", u64::MAX, u64::MAX, u64::MAX);
        assert!(text.contains(&wide), "{text}");
    }
}
