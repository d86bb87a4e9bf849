//! The Language Environment's storage report, 31-bit layout, to the column.
//!
//! ```text
//! Storage Report for Enclave <name> <date> <time>          column 1
//! underbar Vvv Rrr.mm                                      column 1
//!
//!     <AREA> statistics:                                   column 5
//!       <label>:                               <value>     column 7, value ends in column 64
//! ```
//!
//! One report for each process, since a process is what an enclave is here. Labels come from the
//! ledger's table where it has them. What Linux has no counterpart for is 0, as the layout wants
//! a number there, and a note after the report says so; in JSON it is null.
//!
//! Not here: heap pools (no such counters yet), and reading such reports.

use std::fmt::Write as _;

use underbar_ledger::Key;

use crate::model::{Process, Report, State};
use crate::units::parse_size;

/// Where a figure of the layout comes from.
#[derive(Clone, Copy)]
enum Source {
    /// A counter.
    Counter(Key),
    /// A sub-option that is a size, by its place; 0 where the option is AUTO or not known.
    SubOption(&'static str, usize),
    /// Nothing on Linux corresponds to it.
    Absent,
}

use Source::{Absent, Counter, SubOption};

/// One line: its label, taken from a counter of that label where there is one, and its figure.
struct Row(Label, Source);

enum Label {
    Of(Key),
    Words(&'static str),
}

struct Section {
    title: &'static str,
    rows: &'static [Row],
}

macro_rules! stack_rows {
    ($option:literal, $initial:literal, $largest:expr, $concurrent:expr) => {
        &[
            Row(Label::Of(Key::HeapInitialSize), SubOption($option, $initial)),
            Row(Label::Of(Key::HeapIncrementSize), SubOption($option, $initial + 1)),
            Row(Label::Of(Key::StackConcurrent), $concurrent),
            Row(Label::Of(Key::StackLargest), $largest),
            Row(Label::Of(Key::HeapSegmentsAllocated), Absent),
            Row(Label::Of(Key::HeapSegmentsFreed), Absent),
        ]
    };
}

macro_rules! heap_rows {
    ($initial:expr, $increment:expr, $total:expr, $gets:expr, $frees:expr, $allocated:expr, $freed:expr) => {
        &[
            Row(Label::Of(Key::HeapInitialSize), $initial),
            Row(Label::Of(Key::HeapIncrementSize), $increment),
            Row(Label::Of(Key::HeapUsedPeak), $total),
            Row(Label::Of(Key::HeapGets), $gets),
            Row(Label::Of(Key::HeapFrees), $frees),
            Row(Label::Of(Key::HeapSegmentsAllocated), $allocated),
            Row(Label::Of(Key::HeapSegmentsFreed), $freed),
        ]
    };
}

static SECTIONS: [Section; 9] = [
    Section {
        title: "STACK",
        rows: stack_rows!("STACK", 0, Counter(Key::StackLargest), Counter(Key::StackConcurrent)),
    },
    Section { title: "THREADSTACK", rows: stack_rows!("THREADSTACK", 1, Absent, Absent) },
    Section { title: "LIBSTACK", rows: stack_rows!("LIBSTACK", 0, Absent, Absent) },
    Section {
        title: "THREADHEAP",
        rows: &[
            Row(Label::Of(Key::HeapInitialSize), SubOption("THREADHEAP", 0)),
            Row(Label::Of(Key::HeapIncrementSize), SubOption("THREADHEAP", 1)),
            Row(Label::Of(Key::StackConcurrent), Absent),
            Row(Label::Of(Key::StackLargest), Absent),
            Row(Label::Of(Key::HeapGets), Absent),
            Row(Label::Of(Key::HeapFrees), Absent),
            Row(Label::Of(Key::HeapSegmentsAllocated), Absent),
            Row(Label::Of(Key::HeapSegmentsFreed), Absent),
        ],
    },
    Section {
        title: "HEAP",
        rows: heap_rows!(
            Counter(Key::HeapInitialSize),
            Counter(Key::HeapIncrementSize),
            Counter(Key::HeapUsedPeak),
            Counter(Key::HeapGets),
            Counter(Key::HeapFrees),
            Counter(Key::HeapSegmentsAllocated),
            Counter(Key::HeapSegmentsFreed)
        ),
    },
    Section {
        title: "HEAP24",
        rows: heap_rows!(SubOption("HEAP", 4), SubOption("HEAP", 5), Absent, Absent, Absent, Absent, Absent),
    },
    Section {
        title: "ANYHEAP",
        rows: heap_rows!(
            SubOption("ANYHEAP", 0),
            SubOption("ANYHEAP", 1),
            Counter(Key::HeapOwnBytes),
            Absent,
            Absent,
            Absent,
            Absent
        ),
    },
    Section {
        title: "BELOWHEAP",
        rows: heap_rows!(
            SubOption("BELOWHEAP", 0),
            SubOption("BELOWHEAP", 1),
            Absent,
            Absent,
            Absent,
            Absent,
            Absent
        ),
    },
    Section {
        title: "Additional Heap",
        rows: &[
            Row(Label::Words("Successful Create Heap requests"), Absent),
            Row(Label::Words("Successful Discard Heap requests"), Absent),
            Row(Label::Words("Total heap storage used"), Absent),
            Row(Label::Of(Key::HeapGets), Absent),
            Row(Label::Of(Key::HeapFrees), Absent),
            Row(Label::Of(Key::HeapSegmentsAllocated), Absent),
            Row(Label::Of(Key::HeapSegmentsFreed), Absent),
        ],
    },
];

/// Column in which values end, counted from 1.
const VALUE_ENDS: usize = 64;

/// The storage reports of all processes of a report, in the order in which they started.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for process in &report.processes {
        if !text.is_empty() {
            text.push('\n');
        }
        one(&mut text, report, process);
    }
    text
}

/// The date and time of the run's start, as headings have it: `11/20/26 10:15:07 AM`.
#[must_use]
pub fn date(report: &Report) -> String {
    date_after(report, 0)
}

fn date_after(report: &Report, nanoseconds: u64) -> String {
    let seconds = report.run.started_unix_ns.saturating_add(nanoseconds) / 1_000_000_000;
    let local = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_add(report.host.utc_offset_seconds);
    date_and_time(local)
}

fn one(text: &mut String, report: &Report, process: &Process) {
    let name: String = process.name().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "Storage Report for Enclave {name} {}", date_after(report, process.started_ns));
    let _ = writeln!(text, "underbar {}\n", level(&report.underbar));
    for section in &SECTIONS {
        let _ = writeln!(text, "    {} statistics:", section.title);
        for Row(label, source) in section.rows {
            let label = match label {
                Label::Of(key) => key.entry().label,
                Label::Words(words) => words,
            };
            line(text, 6, label, figure(report, process, *source));
        }
    }
    line(text, 4, Key::ThreadsPeak.entry().label, process.counters.get(Key::ThreadsPeak));
    text.push_str("End of Storage Report\n\n");
    for note in notes(report, process) {
        wrap(text, &note);
    }
}

fn line(text: &mut String, indent: usize, label: &str, figure: u64) {
    let value = figure.to_string();
    let room = VALUE_ENDS.saturating_sub(indent + label.len() + 1);
    // At least one blank, even where a figure is too long for its column.
    let _ = writeln!(text, "{:indent$}{label}: {value:>width$}", "", width = room.saturating_sub(1));
}

fn figure(report: &Report, process: &Process, source: Source) -> u64 {
    match source {
        Counter(key) => process.counters.get(key),
        SubOption(option, place) => report
            .sub_options(option)
            .and_then(|values| values.get(place).and_then(|value| parse_size(value)))
            .unwrap_or(0),
        Absent => 0,
    }
}

/// What a reader must know about this report's zeros.
fn notes(report: &Report, process: &Process) -> Vec<String> {
    let mut notes = Vec::new();
    if process.state == State::Folded || process.processes > 1 {
        notes.push(format!(
            "These are {} ended processes of one program: requests and segments are their sums, sizes the largest of any.",
            process.processes
        ));
    }
    if process.state == State::Killed {
        notes.push(
            "The process was killed before it could settle its counts: gets and frees may lack the last few of each thread."
                .to_owned(),
        );
    }
    let counters = &process.counters;
    if counters.get(Key::HeapInitialSize) == 0 || counters.get(Key::HeapIncrementSize) == 0 {
        notes.push("HEAP: a size of 0 is AUTO; increments grow with the heap.".to_owned());
    }
    notes.push(
        "STACK holds all threads, to the page, as last looked at. Stacks are not underbar's: they are one mapping each and have no segments, so these are 0 (null in JSON)."
            .to_owned(),
    );
    if report.sub_options("THREADSTACK").is_some_and(|values| values.first() == Some(&"ON")) {
        notes.push("THREADSTACK: use by threads is counted under STACK.".to_owned());
    }
    notes.push("ANYHEAP shows underbar's own storage, for the tables of its heap.".to_owned());
    notes.push(
        "LIBSTACK, THREADHEAP, HEAP24, BELOWHEAP and Additional Heap have no counterpart on Linux: sizes are those of the options, all else is 0."
            .to_owned(),
    );
    notes
}

/// A note, wrapped at 72 columns behind an asterisk.
fn wrap(text: &mut String, note: &str) {
    let mut column = 1;
    text.push('*');
    for word in note.split(' ') {
        if column + 1 + word.len() > 72 {
            text.push_str("\n ");
            column = 1;
        }
        text.push(' ');
        text.push_str(word);
        column += 1 + word.len();
    }
    text.push('\n');
}

/// The version in the form `V00 R01.00`.
fn level(version: &str) -> String {
    let mut parts = version.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().unwrap_or(0)
    });
    let mut next = || parts.next().unwrap_or(0);
    format!("V{:02} R{:02}.{:02}", next(), next(), next())
}

/// Seconds since 1970 as `11/20/26 10:15:07 AM`. The calendar is Howard Hinnant's `civil_from_days`.
fn date_and_time(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let hour = second / 3_600;
    let half = if hour < 12 { "AM" } else { "PM" };
    let hour = if hour % 12 == 0 { 12 } else { hour % 12 };
    format!(
        "{month:02}/{day:02}/{:02} {hour:02}:{:02}:{:02} {half}",
        year.rem_euclid(100),
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const GETFREE: &str = "\
Storage Report for Enclave getfree 11/20/26 10:15:07 AM
underbar V00 R01.00

    STACK statistics:
      Initial size:                                       131072
      Increment size:                                     131072
      Maximum used by all concurrent threads:             204800
      Largest used by any thread:                         204800
      Number of segments allocated:                            0
      Number of segments freed:                                0
    THREADSTACK statistics:
      Initial size:                                            0
      Increment size:                                          0
      Maximum used by all concurrent threads:                  0
      Largest used by any thread:                              0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    LIBSTACK statistics:
      Initial size:                                            0
      Increment size:                                          0
      Maximum used by all concurrent threads:                  0
      Largest used by any thread:                              0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    THREADHEAP statistics:
      Initial size:                                            0
      Increment size:                                          0
      Maximum used by all concurrent threads:                  0
      Largest used by any thread:                              0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    HEAP statistics:
      Initial size:                                        32768
      Increment size:                                      32768
      Total heap storage used (sugg. initial size):    819229056
      Successful Get Heap requests:                        50002
      Successful Free Heap requests:                       50000
      Number of segments allocated:                        27949
      Number of segments freed:                                0
    HEAP24 statistics:
      Initial size:                                         8192
      Increment size:                                       4096
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    ANYHEAP statistics:
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):      1048576
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    BELOWHEAP statistics:
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    Additional Heap statistics:
      Successful Create Heap requests:                         0
      Successful Discard Heap requests:                        0
      Total heap storage used:                                 0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    Largest number of threads concurrently active:             1
End of Storage Report

* STACK holds all threads, to the page, as last looked at. Stacks are
  not underbar's: they are one mapping each and have no segments, so
  these are 0 (null in JSON).
* ANYHEAP shows underbar's own storage, for the tables of its heap.
* LIBSTACK, THREADHEAP, HEAP24, BELOWHEAP and Additional Heap have no
  counterpart on Linux: sizes are those of the options, all else is 0.
";

    #[test]
    fn getfree_byte_for_byte() {
        assert_eq!(render(&sample::getfree()), GETFREE);
    }

    #[test]
    fn every_value_ends_in_column_64() {
        let text = render(&sample::getfree());
        let valued = text.lines().filter(|line| line.starts_with("    ") && line.contains(": "));
        let lengths: Vec<_> = valued.map(str::len).collect();
        assert_eq!(lengths.len(), 6 * 3 + 8 + 7 * 5 + 1);
        assert!(lengths.iter().all(|&length| length == VALUE_ENDS));
    }

    #[test]
    fn a_figure_too_long_for_its_column_keeps_a_blank() {
        let mut report = sample::getfree();
        report.processes[0].counters.set(Key::HeapUsedPeak, u64::MAX);
        let text = render(&report);
        assert!(text.contains("(sugg. initial size): 18446744073709551615\n"));
    }

    #[test]
    fn one_report_for_each_process_with_its_own_notes() {
        let text = render(&sample::tree());
        assert_eq!(text.matches("Storage Report for Enclave ").count(), 3);
        assert_eq!(text.matches("End of Storage Report\n").count(), 3);
        assert_eq!(text.matches("* These are 3 ended processes").count(), 2);
        assert!(text.contains("* HEAP: a size of 0 is AUTO"));
    }

    #[test]
    fn dates_follow_the_calendar() {
        let check = |seconds, text: &str| assert_eq!(date_and_time(seconds), text);
        check(0, "01/01/70 12:00:00 AM");
        check(951_827_696, "02/29/00 12:34:56 PM");
        check(1_795_169_707, "11/20/26 10:15:07 AM");
        check(4_107_542_399, "02/28/00 11:59:59 PM");
        check(4_107_542_400, "03/01/00 12:00:00 AM");
        check(-1, "12/31/69 11:59:59 PM");
    }

    #[test]
    fn the_level_is_the_version() {
        assert_eq!(
            [level("0.1.0"), level("1.12.3-rc1"), level("x")],
            ["V00 R01.00", "V01 R12.03", "V00 R00.00"]
        );
    }
}
