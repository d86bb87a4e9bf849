//! The course of a run as small pictures: a line of the summary, and a section of the view with every figure.
//!
//! ```text
//!   over time ▁▂▃▅▇█▇▅▃ heap, at most 12.3 MiB; ▃▄▅▆▇████ resident, at most 20.1 MiB; 36 looks in 3.60 s
//!   over time _.:-=+*#@ ...                                                                   where there are no block characters
//! ```
//!
//! A picture has a character for each part of the time, with the highest value of that part. All begin at zero.
//!
//! Not here: the figures ([`crate::over_time`]).

use crate::model::Report;
use crate::over_time::{Column, Course, TABLE};
use crate::page::{LABEL_COLUMNS, Line, Page, Tone, clean, clip_front, labelled};
use crate::units::{counted, figure, nanoseconds};

/// Characters of a picture in the summary.
const SHORT: usize = 16;
/// The same in a section.
const LONG: usize = 32;
/// Heights, from zero to the highest.
const BLOCKS: [char; 9] =
    [' ', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
const LETTERS: [char; 9] = ['_', '.', ':', '-', '=', '+', '*', '#', '@'];

/// The line of the summary; None without looks.
pub(crate) fn line(report: &Report, page: Page<'_>) -> Option<Line> {
    let over = report.over_time.as_ref()?;
    let course = &over.all;
    let end = *course.at_ns.last()?;
    let room = page.columns.saturating_sub(LABEL_COLUMNS);
    let tail = format!("; {} in {}", counted(over.looks, "look", "looks"), nanoseconds(end));
    let mut text = String::new();
    for entry in &TABLE[..2] {
        let column = (entry.column)(course);
        let Some(highest) = column.highest() else { continue };
        let picture = picture(course, column, SHORT, page.pictures);
        let words = format!("{picture} {}, at most {}", entry.label, figure(entry.unit, highest));
        let separator = if text.is_empty() { "" } else { "; " };
        if text.is_empty() || text.chars().count() + words.chars().count() + 2 <= room {
            text += separator;
            text += &words;
        }
    }
    if text.chars().count() + tail.chars().count() <= room {
        text += &tail;
    }
    Some(labelled("over time", text))
}

/// The section of the view with every figure: a line for each figure of all processes, and for the heap of each process.
pub(crate) fn section(report: &Report, page: Page<'_>) -> Vec<Line> {
    let Some(over) = &report.over_time else { return Vec::new() };
    let left = match over.left_out {
        0 => String::new(),
        left => format!("; {} not followed over time", counted(left, "short process", "short processes")),
    };
    let head = format!(
        "Over time: {}, every {}{left}",
        counted(over.looks, "look", "looks"),
        nanoseconds(over.every_ns)
    );
    let mut lines = vec![Line(vec![(Tone::Label, head)])];
    let row = |label: &str, course: &Course, column: &Column, unit| {
        let highest = column.highest()?;
        let last = column.last.iter().rev().flatten().next().copied().unwrap_or(0);
        let (highest, last) = (figure(unit, highest), figure(unit, last));
        let picture = picture(course, column, LONG, page.pictures);
        let text = format!("{picture}  at most {highest:>8}, last {last:>8}");
        Some(Line(vec![
            (Tone::Label, format!("  {:<26}", clip_front(&clean(label), 26))),
            (Tone::Plain, text),
        ]))
    };
    lines.extend(
        TABLE.iter().filter_map(|entry| row(entry.label, &over.all, (entry.column)(&over.all), entry.unit)),
    );
    let entry = &TABLE[0];
    lines.extend(over.processes.iter().filter(|_| over.processes.len() > 1).filter_map(|one| {
        let label = format!("{} {}", one.program, one.process);
        row(&label, &one.course, (entry.column)(&one.course), entry.unit)
    }));
    lines
}

/// A picture of a column: a character for each part of the time.
fn picture(course: &Course, column: &Column, width: usize, blocks: bool) -> String {
    let heights = if blocks { BLOCKS } else { LETTERS };
    let (Some(&end), Some(most)) = (course.at_ns.last(), column.highest()) else { return String::new() };
    // The highest value of each part; a part without a look has that of the part before it.
    let mut parts: Vec<Option<u64>> = vec![None; width.min(course.points())];
    let count = parts.len() as u64;
    for (at, value) in course.at_ns.iter().zip(&column.high) {
        let part =
            u128::from(at.saturating_sub(1)).saturating_mul(u128::from(count)) / u128::from(end.max(1));
        let part = usize::try_from(part).unwrap_or(0).min(parts.len() - 1);
        parts[part] = parts[part].max(*value);
    }
    let mut before = 0;
    let mut text = String::new();
    for part in parts {
        before = part.unwrap_or(before);
        let height = (u128::from(before) * 8).div_ceil(u128::from(most.max(1)));
        text.push(heights[usize::try_from(height).unwrap_or(0).min(8)]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course_recorder::{Counted, Recorder, Seen};
    use crate::page::paint;
    use crate::sample;
    use underbar_ledger::Key;

    fn report() -> Report {
        let mut recorder = Recorder::new(100_000_000);
        for look in 1..=32_u64 {
            let heap = look.min(33 - look) << 20;
            let counters = Counted::of(|key| if key == Key::HeapUsed { heap } else { 0 });
            let resident = Some(look << 20);
            let one =
                Seen { program: "/bin/a".to_owned(), process: 7, counters, resident, ..Seen::default() };
            recorder.look(look * 100_000_000, vec![one]);
        }
        let mut report = sample::getfree();
        report.over_time = Some(recorder.finish(&sample::report(Vec::new())));
        report
    }

    fn lines(pictures: bool, columns: usize) -> String {
        let page = Page { pictures, columns, ..Page::of_terminal(None, false) };
        line(&report(), page).map(|line| paint(&[line], page, 1)).unwrap_or_default()
    }

    #[test]
    fn the_course_is_a_picture_in_blocks_or_in_letters() {
        let blocks = "\u{2581}\u{2582}\u{2583}\u{2584}\u{2585}\u{2586}\u{2587}\u{2588}\u{2588}\u{2587}\u{2586}\u{2585}\u{2584}\u{2583}\u{2582}\u{2581}";
        assert!(lines(true, 100).starts_with(&format!("  over time {blocks} heap in use, at most 16 MiB; ")));
        assert_eq!(
            lines(false, 120),
            "  over time .:-=+*#@@#*+=-:. heap in use, at most 16 MiB; ..::--==++**##@@ resident, at most 32 MiB; 32 looks in 3.20 s\n"
        );
        assert_eq!(lines(false, 60), "  over time .:-=+*#@@#*+=-:. heap in use, at most 16 MiB\n");
    }

    #[test]
    fn every_figure_has_a_row() {
        let page = Page::of_terminal(None, false);
        let text = paint(&section(&report(), page), page, usize::MAX);
        assert!(text.starts_with("Over time: 32 looks, every 100 ms\n"), "{text}");
        assert!(text.contains("at most   32 MiB, last   32 MiB"), "{text}");
    }

    #[test]
    fn no_line_without_looks() {
        assert!(line(&sample::getfree(), Page::of_terminal(None, false)).is_none());
        assert!(section(&sample::getfree(), Page::of_terminal(None, false)).is_empty());
    }
}
