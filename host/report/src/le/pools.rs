//! HEAPPOOLS in the storage report: statistics and summary, if HEAPPOOLS is set.
//!
//! ```text
//!     HEAPPOOLS Statistics:                                column 5
//!       Pool p size: ssss Get requests:          <value>   column 7, value ends in column 64
//!       Requests greater than the largest cell size: ...
//!     HEAPPOOLS Summary:
//!       Specified Element   Extent   Cells Per  Extents    Maximum      Cells In
//!       Cell Size Size      Percent  Extent     Allocated  Cells Used   Use
//! ```
//!
//! Names of columns and formulas are documented: an element is its cell and 8 bytes; cells per extent are the initial size of
//! HEAP times the percentage, divided by the element, at least 4. The spacing is not documented: each number is under its
//! heading. Figures that are not counted are 0. For the same reason no percentages and no cell sizes are suggested: made of
//! zeros they would be wrong.
//!
//! Not here: the meaning of the option text (`underbar_options`); this module reads the options in force from the report.

use std::fmt::Write as _;

use underbar_ledger::Key;
use underbar_options::{OPTIONS, Value};

use super::line;
use crate::model::{Process, Report};
use crate::units::parse_size;

/// Keys of figures that are 0 in the statistics; those of the summary are with its columns.
const GETS: &str = "heappools.gets";
const LARGE: &str = "heappools.large_gets";

const NAME: &str = "HEAPPOOLS";
/// Bytes of an element in addition to its cell.
const ELEMENT: u64 = 8;
/// The least number of cells of an extent.
const LEAST_CELLS: u64 = 4;

/// A column of the summary: its width, its heading in two lines, and the key of its figure if that is not counted.
struct Column(usize, [&'static str; 2], Option<&'static str>);

const COLUMNS: [Column; 7] = [
    Column(10, ["Specified", "Cell Size"], None),
    Column(10, ["Element", "Size"], None),
    Column(9, ["Extent", "Percent"], None),
    Column(11, ["Cells Per", "Extent"], None),
    Column(11, ["Extents", "Allocated"], Some("heappools.extents_allocated")),
    Column(13, ["Maximum", "Cells Used"], Some("heappools.cells_used_peak")),
    Column(8, ["Cells In", "Use"], Some("heappools.cells_used")),
];

/// The pools of one cell size.
#[derive(Debug, PartialEq, Eq)]
struct Pool {
    cell: u64,
    /// How many pools have this size.
    pools: u64,
    percent: u64,
}

/// Is HEAPPOOLS set to ON or ALIGN?
pub(super) fn are_set(report: &Report) -> bool {
    report.sub_options(NAME).is_some_and(|values| {
        values.first().is_some_and(|word| ["ON", "ALIGN"].iter().any(|on| word.eq_ignore_ascii_case(on)))
    })
}

/// Both sections.
pub(super) fn write(text: &mut String, report: &Report, process: &Process) {
    let all = pools(&report.sub_options(NAME).unwrap_or_default());
    let initial = process.counters.get(Key::HeapInitialSize);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "    {NAME} Statistics:");
    for (at, pool) in all.iter().enumerate() {
        for one in 1..=pool.pools {
            let number = if pool.pools == 1 { format!("{}", at + 1) } else { format!("{}.{one}", at + 1) };
            let label = format!("Pool {number:<6} size: {:>5} {}", pool.cell, words(GETS));
            line(text, 6, &label, 0);
        }
    }
    line(text, 6, words(LARGE), 0);
    let _ = writeln!(text, "    {NAME} Summary:");
    for at in [0, 1] {
        let cells: String =
            COLUMNS.iter().map(|Column(width, heading, _)| format!("{:<width$}", heading[at])).collect();
        let _ = writeln!(text, "      {}", cells.trim_end());
    }
    let _ = writeln!(text, "      {}", "-".repeat(COLUMNS.iter().map(|column| column.0).sum()));
    for pool in &all {
        let element = pool.cell.saturating_add(ELEMENT);
        // Without an initial size, a percentage of it is not possible.
        let cells = if initial == 0 {
            0
        } else {
            (initial.saturating_mul(pool.percent) / 100 / element).max(LEAST_CELLS)
        };
        let mut row = String::new();
        let mut known = [pool.cell, element, pool.percent, cells].into_iter();
        for Column(width, heading, absent) in &COLUMNS {
            let figure = if absent.is_some() { 0 } else { known.next().unwrap_or(0) };
            let under = heading[0].len().max(heading[1].len());
            let _ = write!(row, "{:<width$}", format!("{figure:>under$}"));
        }
        let _ = writeln!(text, "      {}", row.trim_end());
    }
}

fn words(key: &str) -> &'static str {
    crate::absent::find(key).map_or("", |absent| absent.label.text())
}

/// The pools that the sub-options set. Omitted pools have the documented defaults. A size of 0 ends the list.
fn pools(set: &[&str]) -> Vec<Pool> {
    let documented =
        OPTIONS.iter().find(|entry| entry.name == NAME).map_or(&[][..], |entry| entry.sub_options);
    let mut all = Vec::new();
    for at in (1..documented.len().saturating_sub(1)).step_by(2) {
        let word = |at: usize| set.get(at).copied().filter(|word| !word.is_empty());
        let (cell, pools) = match word(at) {
            Some(word) => cell_and_pools(word),
            None => match documented[at].language_environment {
                Value::Cell { size, .. } => (u64::from(size), 1),
                _ => (0, 1),
            },
        };
        let percent = match (word(at + 1), documented[at + 1].language_environment) {
            (Some(word), _) => parse_size(word).unwrap_or(0),
            (None, Value::Number(number)) => number,
            (None, _) => 0,
        };
        if cell == 0 {
            break;
        }
        all.push(Pool { cell, pools, percent });
    }
    all
}

/// `32` or `(32,4)`.
fn cell_and_pools(word: &str) -> (u64, u64) {
    let inner = word.trim_start_matches('(').trim_end_matches(')');
    let (cell, pools) = inner.split_once(',').unwrap_or((inner, "1"));
    (parse_size(cell.trim()).unwrap_or(0), parse_size(pools.trim()).unwrap_or(1).clamp(1, 255))
}

/// The note on these sections.
pub(super) const NOTE: &str = "HEAPPOOLS has no effect here: small requests are always served from cells, whose sizes need \
no tuning. Cells, elements, percentages and cells per extent are those that the option means; requests, extents and \
cells used are not counted by pool and are 0 (null in JSON), so no percentages and no cell sizes are suggested.";

/// Keys of figures that are 0 in these sections.
#[cfg(test)]
pub(super) fn absent() -> impl Iterator<Item = &'static str> {
    [GETS, LARGE].into_iter().chain(COLUMNS.iter().filter_map(|column| column.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn headings_are_the_labels() {
        for Column(_, heading, absent) in &COLUMNS {
            let label = absent.map_or(heading.join(" "), |key| words(key).to_owned());
            assert_eq!(heading.join(" "), label);
        }
    }

    fn shown(option: &str) -> String {
        let mut report = sample::getfree();
        report.options.in_force[1].option = option.to_owned();
        if !are_set(&report) {
            return String::new();
        }
        let mut text = String::new();
        write(&mut text, &report, &report.processes[0]);
        text
    }

    #[test]
    fn a_cell_of_all_there_is_leaves_no_remainder_to_divide_by() {
        for size in [u64::MAX - 7, u64::MAX] {
            assert!(shown(&format!("HEAPPOOLS(ON,{size},10)")).contains("Pool 1 "), "{size}");
        }
    }

    #[test]
    fn two_sizes_one_of_them_in_several_pools() {
        assert_eq!(
            shown("HEAPPOOLS(ON,(16,2),20,32,,0)"),
            "    HEAPPOOLS Statistics:
      Pool 1.1    size:    16 Get requests:                    0
      Pool 1.2    size:    16 Get requests:                    0
      Pool 2      size:    32 Get requests:                    0
      Requests greater than the largest cell size:             0
    HEAPPOOLS Summary:
      Specified Element   Extent   Cells Per  Extents    Maximum      Cells In
      Cell Size Size      Percent  Extent     Allocated  Cells Used   Use
      ------------------------------------------------------------------------
             16      24        20        273          0           0          0
             32      40        10         81          0           0          0
"
        );
    }

    #[test]
    fn what_is_left_out_is_as_documented() {
        let all = pools(&["ON"]);
        assert_eq!(
            all.iter().map(|pool| (pool.cell, pool.percent)).collect::<Vec<_>>(),
            [(8, 10), (32, 10), (128, 10), (256, 10), (1024, 10), (2048, 10)]
        );
        // IBM's own dump: 1 % of 32768 in elements of 16 bytes.
        assert!(shown("HEAPPOOLS(ALIGN,8,1,0)").contains("\n              8      16         1         20 "));
        assert!(shown("HEAPPOOLS(ON,2048,1,0)").contains("\n           2048    2056         1          4 "));
    }

    #[test]
    fn only_where_it_is_set() {
        for option in ["HEAPPOOLS(OFF)", "HEAPPOOLS(OFF,8,10)", "STACK(4K)"] {
            assert_eq!(shown(option), "", "{option}");
        }
    }
}
