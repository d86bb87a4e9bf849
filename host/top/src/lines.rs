//! A look as lines of text: for a pipe, or a terminal on which nothing is to move.
//!
//! ```text
//! PROCESS PROGRAM       HEAP  RESIDENT    CPU  ...  COMMAND
//!    4711 server     512 MiB   640 MiB 34.0 %       server --port 80
//! ```
//!
//! Invariant: one line for each process; on a terminal none is wider than it. Names have passed [`plain`].

use crate::cells::{cells, fitted, plain};
use crate::columns::{COLUMNS, Column, Field};
use crate::glyphs::Glyphs;
use crate::layout::{GAP, widths};
use crate::look::{Look, Row};

/// The columns of a table that do not move, without the user if all are of this one.
#[must_use]
pub fn still(with_user: bool) -> Vec<&'static Column> {
    COLUMNS
        .iter()
        .filter(|column| column.field != Field::Trend && (with_user || column.field != Field::User))
        .collect()
}

/// The rows by a field, in the order that it asks for.
#[must_use]
pub fn sorted(look: &Look, by: Field, is_upwards: bool) -> Vec<&Row> {
    let mut rows: Vec<&Row> = look.processes.iter().collect();
    rows.sort_by(|a, b| by.compare(a, b));
    if is_upwards {
        rows.reverse();
    }
    rows
}

/// The table.
#[must_use]
pub fn render(look: &Look, by: Field, with_user: bool, limit: Option<usize>, glyphs: Glyphs) -> String {
    let columns = still(with_user);
    let rows = sorted(look, by, false);
    let texts: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            columns
                .iter()
                .map(|column| plain(&column.field.text(row, look.at_ns), glyphs.is_unicode))
                .collect()
        })
        .collect();
    let heads: Vec<String> = columns.iter().map(|column| column.head.to_owned()).collect();
    let are_figures: Vec<bool> = columns.iter().map(|column| column.is_figure).collect();
    let needs: Vec<_> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let longest = texts.iter().map(|texts| cells(&texts[at])).max().unwrap_or(0);
            let mut need = column.need(longest);
            // Without a terminal nothing is cut.
            need.most = if limit.is_none() { need.most.max(longest) } else { need.most };
            need
        })
        .collect();
    let widths = widths(&needs, limit);
    std::iter::once(&heads).chain(&texts).map(|texts| line(texts, &widths, &are_figures, glyphs)).collect()
}

/// One line of a table.
pub(crate) fn line(
    texts: &[String],
    widths: &[Option<usize>],
    are_figures: &[bool],
    glyphs: Glyphs,
) -> String {
    let mut line = String::new();
    for ((text, width), is_figure) in texts.iter().zip(widths).zip(are_figures) {
        let Some(width) = width else { continue };
        if !line.is_empty() {
            line += &" ".repeat(GAP);
        }
        line += &fitted(text, *width, *is_figure, glyphs.more);
    }
    let mut line = line.trim_end().to_owned();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glyphs::{ASCII, BLOCKS};

    fn look() -> Look {
        let row = |process, program: &str, heap| Row {
            process,
            program: program.to_owned(),
            heap_used_bytes: heap,
            resident_bytes: Some(heap * 2),
            requests_per_s: Some(12_345),
            cpu_per_mille: Some(340),
            command: vec![program.to_owned(), "--port".to_owned(), "80".to_owned()],
            began_ns: 5_000_000_000,
            ..Row::default()
        };
        let processes = vec![row(7, "small", 1 << 20), row(4_194_303, "server\u{1b}[2J\n漢", 512 << 20)];
        Look { at_ns: 308_000_000_000, processes, ..Look::default() }
    }

    #[test]
    fn a_pipe_gets_all_and_a_terminal_what_it_has_room_for() {
        let text = render(&look(), Field::Heap, false, None, BLOCKS);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(
            lines[0],
            "PROCESS PROGRAM                HEAP  RESIDENT   REQ/S     CPU WAITS/S SWITCH/S  SINCE OPTIONS COMMAND"
        );
        assert_eq!(
            lines[1],
            "4194303 server\\x1b[2J\\n漢   512 MiB     1 GiB   12.3K  34.0 %       -        -   5m03         \
             server\\x1b[2J\\n漢 --port 80"
        );
        for (limit, has) in [(80, "SWITCH/S"), (40, "CPU"), (20, "PROGRAM"), (7, "PROCESS")] {
            let text = render(&look(), Field::Heap, false, Some(limit), ASCII);
            assert!(text.lines().all(|line| cells(line) <= limit), "{limit}: {text}");
            assert!(text.contains(has) && text.is_ascii(), "{limit}: {text}");
        }
    }

    #[test]
    fn an_empty_look_has_a_heading() {
        assert_eq!(render(&Look::default(), Field::Heap, true, Some(80), ASCII).lines().count(), 1);
    }
}
