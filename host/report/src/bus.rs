//! The BUS report: buffers of print and work files in the layout of Natural's buffer usage statistics (`--report bus`).
//!
//! ```text
//!  12:50:28               ***** NATURAL BUS UTILITY *****              2026-11-20
//!
//!  User ENDL               - Buffer Usage Statistics -            OpSYS Linux
//!
//!   No. Name    Type    Size      Used   Perc.  MaxUsed   Perc.  MaxSize   Perc.
//!  ------------------------------------------------------------------------------
//!    1  WCACHEO   V   135168         0    0.0    135133  100.0
//!  ------------------------------------------------------------------------------
//!  ThrdSize   Total   135168         0    0.0    135133  100.0
//!       0K  (in KB)     132K        0K             132K
//!  ------------------------------------------------------------------------------
//!  * WCACHEO, 1 file: 10,000 calls of 1.27 MiB became 11; 10 x full, 1 x close
//!  *   WORKFILE size 132 KB; suggested 16 KB: at most one of 100 calls finds it full
//! ```
//!
//! Lines below each buffer name bytes that the kernel refused, and files that were left alone.
//!
//! User is the program, ThrdSize the size that THSIZE sets (0K: none). MaxUsed of the total is the sum of its rows, which may be more
//! than was in use at one time. MaxSize is blank, as buffers do not grow. Lines that begin with `*` are no part of Natural's layout.
//!
//! Invariant: our own reader of listings finds the same figures (`host/listing/tests/bus.rs`).
//! Not here: the figures ([`crate::buffers`]).

use std::fmt::Write as _;

use crate::buffers::{Buffer, FULL, Suggestion};
use crate::le;
use crate::model::{Process, Report};
use crate::page::clean;
use crate::units::{bytes, count, counted, parse_size};

/// Columns of a rule.
const RULE: usize = 78;

/// The reports of all processes that have buffers.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for process in report.processes.iter().filter(|process| !process.buffers.is_empty()) {
        // Shells start many that print to a pipe: a line for each is enough.
        if report.processes.len() > 1 && process.buffers.iter().all(|buffer| buffer.files == 0) {
            let _ = writeln!(text, "* {}, process {}", clean(process.name()), process.process);
            notes(&mut text, process);
        } else {
            one(&mut text, report, process);
        }
    }
    if text.is_empty() {
        text.push_str("* No process had a buffer for print or work files (WORKFILE, PRINT).\n");
    }
    text
}

fn one(text: &mut String, report: &Report, process: &Process) {
    let (date, time) = le::day_and_time(report);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "* {}, process {}", clean(process.name()), process.process);
    let _ = writeln!(text, " {time:<22} ***** NATURAL BUS UTILITY ***** {date:>23}\n");
    let _ = writeln!(text, " User {:<18} - Buffer Usage Statistics - {:>21}\n", user(process), "OpSYS Linux");
    let _ = writeln!(
        text,
        "  No. Name    Type    Size      Used   Perc.  MaxUsed   Perc.  MaxSize   Perc.\n {:-<RULE$}",
        ""
    );
    let mut total = [0_u64; 3];
    for (number, buffer) in (1..).zip(process.buffers.iter().filter(|buffer| buffer.files > 0)) {
        let sizes = [buffer.size, buffer.used, buffer.max_used];
        total = [0, 1, 2].map(|at| total[at].saturating_add(sizes[at]));
        let name = clean(&buffer.name);
        let _ = writeln!(text, " {number:>3}  {name:<8}  V {}", figures(sizes));
    }
    let _ = writeln!(text, " {:-<RULE$}\n ThrdSize   Total {}", "", figures(total));
    let thread = report.sub_options("THSIZE").and_then(|values| parse_size(values.first()?)).unwrap_or(0);
    let [size, used, max_used] = total.map(|bytes| format!("{}K", bytes.div_ceil(1 << 10)));
    let thread = format!("{}K", thread.div_ceil(1 << 10));
    let _ = writeln!(text, " {thread:>8}  (in KB) {size:>7} {used:>9} {max_used:>16}");
    let _ = writeln!(text, " {:-<RULE$}", "");
    notes(text, process);
}

/// Underbar's own lines about a process.
fn notes(text: &mut String, process: &Process) {
    for buffer in &process.buffers {
        if buffer.files > 0 {
            let _ = writeln!(text, "* {}", served(buffer));
            let _ = writeln!(text, "*   {}", suggested(buffer));
        } else {
            let _ = writeln!(text, "* {}: not used. Last file: {}", clean(&buffer.name), clean(&buffer.file));
        }
        for line in left_alone(buffer) {
            let _ = writeln!(text, "*   {line}");
        }
    }
    text.push('\n');
}

/// Size, use and largest use, with their shares of the size.
fn figures([size, used, max_used]: [u64; 3]) -> String {
    format!("{size:>8} {used:>9} {:>6} {max_used:>9} {:>6}", share(used, size), share(max_used, size))
}

/// A share with one decimal, rounded down, so that 100.0 means all.
fn share(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// The program in the place of the user: letters and digits.
fn user(process: &Process) -> String {
    let name: String = process.name().chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    if name.is_empty() { "PROGRAM".to_owned() } else { name.to_ascii_uppercase() }
}

/// What it served, and its flushes, the most frequent reason first.
fn served(buffer: &Buffer) -> String {
    let mut flushes: Vec<(&String, u64)> =
        buffer.flushes.iter().map(|(reason, count)| (reason, *count)).filter(|it| it.1 > 0).collect();
    flushes.sort_by_key(|&(reason, count)| (std::cmp::Reverse(count), reason));
    let reasons: Vec<String> = flushes
        .into_iter()
        .map(|(reason, flushes)| format!("{} x {}", count(flushes), clean(reason)))
        .collect();
    let reasons = if reasons.is_empty() { "never flushed".to_owned() } else { reasons.join(", ") };
    format!(
        "{}, {}: {} of {} became {}; {reasons}",
        clean(&buffer.name),
        counted(buffer.files, "file", "files"),
        counted(buffer.calls, "call", "calls"),
        bytes(buffer.bytes),
        count(buffer.passed_on)
    )
}

/// What went past it, and what was lost, each a line.
fn left_alone(buffer: &Buffer) -> Vec<String> {
    let mut lines = Vec::new();
    if buffer.not_written > 0 {
        lines.push(format!(
            "NOT WRITTEN: {} (error {}); the program was told. Last file: {}",
            bytes(buffer.not_written),
            buffer.error,
            clean(&buffer.file)
        ));
    }
    if buffer.large > 0 {
        lines.push(format!("{} larger than the buffer, passed on", counted(buffer.large, "call", "calls")));
    }
    for (reason, files) in &buffer.plain {
        lines.push(format!("{} plain: {}", counted(*files, "file", "files"), clean(reason)));
    }
    lines
}

fn suggested(buffer: &Buffer) -> String {
    let now = format!("size {} KB", buffer.size.div_ceil(1 << 10));
    let full = buffer.flushed(FULL);
    match buffer.suggestion() {
        Suggestion::Unknown => format!("{now}: not used"),
        Suggestion::Size(size) if size >= buffer.size && full == 0 => {
            format!("{now} is enough: it was never full")
        }
        Suggestion::Size(size) => {
            format!("{now}; suggested {} KB: at most one of 100 calls finds it full", size >> 10)
        }
        Suggestion::Bounded(size, most) => format!(
            "{now}; suggested {} KB: a larger one cannot help, at most {} come between forced flushes (99 of 100 bytes)",
            size >> 10,
            bytes(most)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn rows_shares_and_reasons() {
        let mut report = sample::getfree();
        report.processes[0].buffers = sample::buffers();
        let text = render(&report);
        for line in [
            "   1  PCACHE    V   135168        32    0.0    135133   99.9\n",
            " ThrdSize   Total   749568        64    0.0    749001   99.9\n",
            "       0K  (in KB)    732K        1K             732K\n",
            "* PCACHE, 1 file: 10,000 calls of 1.27 MiB became 11; 10 x full, 1 x close\n",
            "*   size 132 KB; suggested 16 KB: at most one of 100 calls finds it full\n",
            "*   size 300 KB; suggested 1 KB: a larger one cannot help, at most 256 B come between forced flushes (99 of 100 bytes)\n",
            "*   NOT WRITTEN: 133 B (error 28); the program was told. Last file: /tmp/wcacheo\n",
            "*   3 calls larger than the buffer, passed on\n",
            "*   2 files plain: opened for appending\n",
            "*   size 300 KB is enough: it was never full\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(render(&sample::getfree()).starts_with("* No process had a buffer"));
    }

    #[test]
    fn a_process_of_several_that_has_no_buffer_gets_no_table() {
        let mut report = sample::getfree();
        let mut other = report.processes[0].clone();
        report.processes[0].buffers = sample::buffers();
        other.buffers = sample::buffers();
        other.buffers.truncate(1);
        other.buffers[0].files = 0;
        report.processes.push(other);
        let text = render(&report);
        assert_eq!(text.matches("Buffer Usage Statistics").count(), 1, "{text}");
        assert_eq!(text.matches("* PCACHE: not used. Last file: ").count(), 1, "{text}");
    }

    #[test]
    fn the_user_is_a_word_of_the_layout() {
        let mut report = sample::getfree();
        report.processes[0].program = "/bin/a-very_long.name".to_owned();
        assert_eq!(user(&report.processes[0]), "AVERYLON");
        report.processes[0].program = "/bin/---".to_owned();
        assert_eq!(user(&report.processes[0]), "PROGRAM");
    }
}
