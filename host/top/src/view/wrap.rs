//! Lines of a page on a screen that is too narrow for them.
//!
//! ```text
//! heap      1 GiB in use, at most 2 GiB, in 3 GiB ▁▂▃▄      heap      1 GiB in use, at most
//!                                                     ─>              2 GiB, in 3 GiB
//! ```
//!
//! Invariant: a line that fits stays as it is; of one that does not, only the picture is lost.
//! Not here: what the lines say ([`super::paint`], [`crate::details`]).

use crate::cells::cells;
use crate::details::Line;
use crate::screen::Style;

/// The cells before the rest of a line whose first text is longer than a label.
const INDENT: usize = 4;
/// The most cells of a label: the rest of its line stands below its text.
const LABEL: usize = 14;
/// A narrower screen has no room for words beside a label.
const NARROWEST: usize = 24;

/// The lines, each in as many rows of that width as it needs.
pub fn wrapped(lines: &[Line], width: usize) -> Vec<Line> {
    let lines = lines.iter().map(without_blanks);
    let rows_of =
        |line: Line| if width < NARROWEST || fits(&line, width) { vec![line] } else { broken(&line, width) };
    lines.flat_map(rows_of).collect()
}

/// The line without the blanks at its end.
fn without_blanks(line: &Line) -> Line {
    let mut line = line.clone();
    while let Some((_, text)) = line.last_mut() {
        text.truncate(text.trim_end().len());
        if !text.is_empty() {
            break;
        }
        line.pop();
    }
    line
}

fn fits(line: &Line, width: usize) -> bool {
    line.iter().map(|(_, text)| cells(text)).sum::<usize>() <= width
}

/// The rows of a line: texts as they fit, and words of a text that is longer than a row.
fn broken(line: &Line, width: usize) -> Vec<Line> {
    let Some(((style, first), others)) = line.split_first() else { return vec![Line::new()] };
    let label = cells(first);
    let indent = if label <= LABEL { label } else { INDENT };
    let mut rows = vec![vec![(*style, if label <= LABEL { first.clone() } else { squeezed(first) })]];
    let mut used = rows[0].iter().map(|(_, text)| cells(text)).sum::<usize>();
    let pieces = others.iter().filter(|(style, _)| *style != Style::Accent);
    for (style, text) in pieces.map(|(style, text)| (*style, squeezed(text))) {
        // A text that is longer than what is left of the row begins in a row of its own.
        let mut is_new = used > indent && used + 1 + cells(&text) > width;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            if is_new || used > indent && used + 1 + cells(word) > width {
                rows.push(vec![(Style::Plain, " ".repeat(indent))]);
                (used, is_new) = (indent, false);
            }
            let blank = if used > indent { " " } else { "" };
            used += blank.len() + cells(word);
            if let Some(row) = rows.last_mut() {
                row.push((style, format!("{blank}{word}")));
            }
        }
    }
    rows
}

/// The text without the blanks that make columns; those before its first word stay.
fn squeezed(text: &str) -> String {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let before = text.len() - text.trim_start_matches(' ').len();
    " ".repeat(before) + &words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(line: Line, width: usize) -> Vec<String> {
        let rows = wrapped(&[line], width);
        rows.into_iter().map(|row| row.into_iter().map(|(_, text)| text).collect()).collect()
    }

    fn line(first: &str, then: &str) -> Line {
        vec![
            (Style::Dim, first.to_owned()),
            (Style::Plain, then.to_owned()),
            (Style::Accent, "####".to_owned()),
        ]
    }

    #[test]
    fn a_line_that_fits_stays() {
        assert_eq!(rows(line("heap      ", "1 GiB "), 39), ["heap      1 GiB ####"]);
        assert_eq!(rows(Line::new(), 39), [""]);
    }

    #[test]
    fn words_stand_below_the_text_of_a_label() {
        let found = rows(line("heap      ", "1 GiB in use, at most 2 GiB, in 3 GiB       "), 39);
        assert_eq!(found, ["heap      1 GiB in use, at most 2 GiB,", "          in 3 GiB"]);
    }

    #[test]
    fn a_figure_that_does_not_fit_beside_a_name_gets_a_row() {
        let name = format!("  {:<28} ", "the shared pool");
        let found = rows(line(&name, "   1.50 MiB in use             123 requests"), 39);
        assert_eq!(found, ["  the shared pool", "    1.50 MiB in use 123 requests"]);
        assert_eq!(rows(line(&name, "   1.50 MiB"), 39), ["  the shared pool 1.50 MiB"]);
    }

    #[test]
    fn no_word_is_lost_at_any_width() {
        let words =
            "a bb ccc dddd eeeee ffffff ggggggg hhhhhhhh iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii j";
        for width in 0..90 {
            let found = rows(line("label     ", words), width).join(" ");
            let found: Vec<&str> = found.split_whitespace().filter(|word| *word != "label").collect();
            let found: Vec<&str> = found.into_iter().map(|word| word.trim_end_matches('#')).collect();
            assert_eq!(found, words.split(' ').collect::<Vec<_>>(), "{width}");
        }
    }
}
