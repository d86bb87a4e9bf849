//! The results of a demo: tables, checks and sentences, as text and as JSON.
//!
//! A table's rows are arms, with the document's rows below them; its columns are figures. An unknown figure
//! is a dash, and null in JSON.

use std::fmt::Write as _;

use serde::Serialize;
use underbar_ledger::Key;
use underbar_report::model::Host;
use underbar_report::units::{bytes, count, nanoseconds};
use underbar_verdict::interval::{Interval, TooFewPairs};

use super::Parameters;
use super::document::{Profile, Row};
use super::measure::Figured;
use underbar_runner::host;

/// Name and version of the JSON schema of demos.
const SCHEMA: &str = "underbar.demo/1";

/// The results of a demo.
#[derive(Serialize)]
pub struct Output {
    schema: &'static str,
    underbar: &'static str,
    demo: &'static str,
    title: String,
    seed: u64,
    runs: usize,
    host: Host,
    /// Texts at the top: reports of single runs.
    pub pages: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Instruction profiles of the document.
    #[serde(skip_serializing_if = "<[Profile]>::is_empty")]
    pub profiles: &'static [Profile],
    /// Instruction profiles of this run, in the form of `underbar profile --json`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiled: Vec<underbar_profile::Profile>,
    /// The checks.
    pub checks: Vec<Check>,
    /// Sentences.
    pub notes: Vec<String>,
}

/// One table.
#[derive(Serialize)]
pub struct Table {
    /// The line above it.
    pub title: String,
    /// Bytes that the program asks for in all; null if the demo does not count them.
    pub requested_bytes: Option<u64>,
    /// The most that it holds at one time.
    pub requested_peak_bytes: Option<u64>,
    /// A row for each arm.
    pub arms: Vec<Figured>,
    /// The document's rows.
    pub document: Vec<Row>,
    /// Columns, in blocks. The document's rows follow each block that has one of their figures.
    #[serde(skip)]
    pub blocks: Vec<Vec<Column>>,
    /// Words after an arm's row in the last block.
    #[serde(skip)]
    pub remarks: Vec<(String, String)>,
}

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column {
    heading: &'static str,
    ours: fn(&Table, &Figured) -> Option<String>,
    theirs: fn(&Row) -> Option<String>,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Result {
    /// The condition holds.
    Pass,
    /// It does not hold.
    Fail,
    /// The runs do not decide it.
    Undecided,
}

/// A condition that must hold, or is expected to.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Its name, in JSON.
    pub name: &'static str,
    /// Is it a count? If not, it is a ratio of times, and no failure of the demo.
    pub is_count: bool,
    /// The result.
    pub result: Result,
    /// The condition in words, with the figures.
    pub text: String,
    /// The ratio of times, with its interval.
    pub ratio: Option<Interval>,
}

impl Check {
    /// A check of counts.
    pub fn count(name: &'static str, passed: bool, text: String) -> Check {
        let result = if passed { Result::Pass } else { Result::Fail };
        Check { name, is_count: true, result, text, ratio: None }
    }

    /// A ratio of CPU times that should be at most `limit`: passed or failed only if the whole interval is on one side.
    pub fn at_most(
        name: &'static str,
        what: &str,
        ratio: std::result::Result<Interval, TooFewPairs>,
        limit: f64,
    ) -> Check {
        Check::ratio(name, what, ratio, &format!("at most {limit:.2}"), |interval| {
            (interval.high <= limit, interval.low > limit)
        })
    }

    /// A ratio of CPU times that should be above 1.
    pub fn more(name: &'static str, what: &str, ratio: std::result::Result<Interval, TooFewPairs>) -> Check {
        Check::ratio(name, what, ratio, "above 1", |interval| {
            (interval.is_above_one(), interval.is_below_one())
        })
    }

    fn ratio(
        name: &'static str,
        what: &str,
        ratio: std::result::Result<Interval, TooFewPairs>,
        wanted: &str,
        judge: impl Fn(&Interval) -> (bool, bool),
    ) -> Check {
        let (result, shown) = match &ratio {
            Ok(interval) => {
                let result = match judge(interval) {
                    (true, _) => Result::Pass,
                    (_, true) => Result::Fail,
                    _ => Result::Undecided,
                };
                (result, format!("{interval}, {} pairs", interval.pairs))
            }
            Err(few) => (Result::Undecided, format!("no interval: {few}")),
        };
        let text = format!("{what}: {shown} ({wanted})");
        Check { name, is_count: false, result, text, ratio: ratio.ok() }
    }
}

impl Output {
    /// No results yet.
    pub fn new(demo: &'static str, title: &str, parameters: &Parameters, runs: usize) -> Output {
        Output {
            schema: SCHEMA,
            underbar: env!("CARGO_PKG_VERSION"),
            demo,
            title: title.to_owned(),
            seed: parameters.seed,
            runs,
            host: host(underbar_runner::now()),
            pages: Vec::new(),
            tables: Vec::new(),
            profiles: &[],
            profiled: Vec::new(),
            checks: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Did every check of a count pass?
    pub fn counts_are_right(&self) -> bool {
        self.checks.iter().all(|check| !check.is_count || check.result == Result::Pass)
    }

    /// As one line of JSON.
    pub fn json(&self) -> String {
        // Plain structs with string keys: writing them into memory cannot fail.
        let mut text = serde_json::to_string(self).expect("figures are plain data");
        text.push('\n');
        text
    }

    /// As a page.
    pub fn text(&self) -> String {
        let turns = match self.runs {
            1 => "one run of each".to_owned(),
            runs => format!("{runs} runs of each in turns, medians"),
        };
        let mut text = format!(
            "underbar demo {}: {}\nseed {}, {turns}; {}, {} processors\n",
            self.demo, self.title, self.seed, self.host.kernel, self.host.cores
        );
        for page in &self.pages {
            text += &format!("\n{}\n", page.trim_end());
        }
        for table in &self.tables {
            table.write(&mut text);
        }
        if !self.checks.is_empty() {
            text.push('\n');
        }
        for check in &self.checks {
            let word = match check.result {
                Result::Pass => "pass",
                Result::Fail => "FAIL",
                Result::Undecided => "undecided",
            };
            text += &wrapped(&format!("{word:<9}  "), &check.text);
        }
        for note in &self.notes {
            text += &format!("\n{}", wrapped("", note));
        }
        text
    }
}

impl Table {
    /// A table of a demo that does not count requests, without rows of the document.
    pub fn new(title: String, arms: Vec<Figured>, blocks: Vec<Vec<Column>>) -> Table {
        let (document, remarks) = (Vec::new(), Vec::new());
        Table { title, requested_bytes: None, requested_peak_bytes: None, arms, document, blocks, remarks }
    }

    fn write(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{}", self.title);
        for (at, block) in self.blocks.iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            let is_last = at + 1 == self.blocks.len();
            self.write_block(block, is_last, text);
        }
    }

    fn write_block(&self, columns: &[Column], remarks: bool, text: &mut String) {
        let dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        let heads: Vec<String> = columns.iter().map(|column| column.heading.to_owned()).collect();
        let ours: Vec<(&str, Vec<String>)> = self
            .arms
            .iter()
            .map(|arm| {
                (arm.name.as_str(), columns.iter().map(|column| dash((column.ours)(self, arm))).collect())
            })
            .collect();
        let theirs: Vec<(&str, Vec<String>)> = self
            .document
            .iter()
            .map(|row| (row.name, columns.iter().map(|column| dash((column.theirs)(row))).collect()))
            .collect();
        let theirs_known = theirs.iter().any(|(_, cells)| cells.iter().any(|cell| cell != "-"));
        let all = || ours.iter().chain(theirs.iter());
        let width =
            |at: usize| all().map(|(_, cells)| cells[at].len()).chain([heads[at].len()]).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns.len()).map(width).collect();
        let first = all().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |name: &str, cells: &[String], remark: &str| {
            let mut line = format!("  {name:<first$}");
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(line, "  {cell:>width$}");
            }
            format!("{line}{}{remark}\n", if remark.is_empty() { "" } else { "   " })
        };
        *text += &line("", &heads, "");
        for (name, cells) in &ours {
            let remark = self.remarks.iter().find(|(of, _)| remarks && of == name);
            *text += &line(name, cells, remark.map_or("", |(_, remark)| remark));
        }
        if let Some(row) = self.document.first().filter(|_| theirs_known) {
            let _ = writeln!(text, "  {}", row.source);
            for (name, cells) in &theirs {
                *text += &line(name, cells, "");
            }
        }
    }
}

/// Columns that several demos have.
impl Column {
    /// A new column.
    pub const fn new(
        heading: &'static str,
        ours: fn(&Table, &Figured) -> Option<String>,
        theirs: fn(&Row) -> Option<String>,
    ) -> Column {
        Column { heading, ours, theirs }
    }

    /// Segments got.
    pub const SEGMENTS: Column = Column::new(
        "segments",
        |_, arm| arm.counter(Key::HeapSegmentsAllocated).map(count),
        |row| row.segments_allocated.map(count),
    );
    /// Segments released.
    pub const FREED: Column = Column::new(
        "freed",
        |_, arm| arm.counter(Key::HeapSegmentsFreed).map(count),
        |row| row.segments_freed.map(count),
    );
    /// Bytes obtained from the kernel in all.
    pub const FROM_KERNEL: Column = Column::new(
        "from the kernel",
        |_, arm| arm.counter(Key::HeapSegmentBytesTotal).map(count),
        |row| row.segment_bytes.map(count),
    );
    /// The most bytes from the kernel at one time.
    pub const AT_ONE_TIME: Column =
        Column::new("most at a time", |_, arm| arm.counter(Key::HeapSegmentBytesPeak).map(count), |_| None);
    /// Heap storage used.
    pub const USED: Column = Column::new(
        "heap used",
        |_, arm| arm.counter(Key::HeapUsedPeak).map(count),
        |row| row.used.map(count),
    );
    /// Bytes of the segments beyond the program's requests.
    pub const LOST: Column = Column::new(
        "lost to packing",
        |table, arm| {
            let held = arm.counter(Key::HeapSegmentBytesPeak)?;
            Some(count(held.saturating_sub(table.requested_peak_bytes?)))
        },
        |_| None,
    );
    /// Largest stack used by any thread, if it was measured.
    pub const STACK: Column = Column::new(
        "stack used",
        |_, arm| arm.counter(Key::StackLargest).filter(|&bytes| bytes > 0).map(count),
        |row| row.stack.map(count),
    );
    /// Requests served.
    pub const GETS: Column =
        Column::new("gets", |_, arm| arm.counter(Key::HeapGets).map(count), |row| row.gets.map(count));
    /// Pieces freed.
    pub const FREES: Column =
        Column::new("frees", |_, arm| arm.counter(Key::HeapFrees).map(count), |row| row.frees.map(count));
    /// CPU time.
    pub const CPU: Column =
        Column::new("CPU", |_, arm| Some(nanoseconds(arm.cpu_ns)), |row| row.cpu_ns.map(nanoseconds));
    /// Elapsed time.
    pub const ELAPSED: Column = Column::new(
        "elapsed",
        |_, arm| Some(nanoseconds(arm.steps.elapsed_ns)),
        |row| row.elapsed_ns.map(nanoseconds),
    );
    /// Elapsed time by the program's own clock.
    pub const OWN_ELAPSED: Column = Column::new(
        "elapsed",
        |_, arm| arm.said.get("elapsed_ns").copied().map(nanoseconds),
        |row| row.elapsed_ns.map(nanoseconds),
    );
    /// Writes by the program's own count.
    pub const OWN_WRITES: Column =
        Column::new("writes", |_, arm| arm.said.get("writes").copied().map(count), |row| row.excp.map(count));
    /// Page faults.
    pub const FAULTS: Column = Column::new("page faults", |_, arm| Some(count(arm.faults())), |_| None);
    /// The largest resident set.
    pub const PEAK: Column =
        Column::new("peak RSS", |_, arm| Some(bytes(arm.steps.peak_resident_bytes)), |_| None);
    /// The growth of resident memory that remains after the last free.
    pub const KEPT: Column = Column::new("RSS kept", |_, arm| arm.kept_resident().map(bytes), |_| None);
    /// I/O requests of the document.
    pub const EXCP: Column = Column::new("EXCP", |_, _| None, |row| row.excp.map(count));
}

/// A paragraph of at most 100 columns; lines after the first are indented like the text of the first.
fn wrapped(start: &str, text: &str) -> String {
    let mut result = start.to_owned();
    let mut column = start.len();
    for (at, word) in text.split(' ').enumerate() {
        let width = word.chars().count();
        if at > 0 && column + 1 + width > 100 {
            result += &format!("\n{:indent$}", "", indent = start.len());
            column = start.len();
        } else if at > 0 {
            result.push(' ');
            column += 1;
        }
        result += word;
        column += width;
    }
    result.push('\n');
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_and_indented() {
        let text = wrapped("pass  ", &"word ".repeat(40));
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("      word") || line.trim().is_empty()));
    }

    #[test]
    fn a_ratio_passes_only_where_the_whole_interval_does() {
        let interval = |low, high| Ok(Interval { ratio: 1.0, low, high, confidence: 0.95, pairs: 8 });
        let result = |ratio| Check::at_most("x", "x", ratio, 1.10).result;
        assert_eq!(result(interval(0.9, 1.05)), Result::Pass);
        assert_eq!(result(interval(1.0, 1.2)), Result::Undecided);
        assert_eq!(result(interval(1.15, 1.2)), Result::Fail);
        assert_eq!(result(Err(TooFewPairs { have: 2, need: 6 })), Result::Undecided);
    }
}
