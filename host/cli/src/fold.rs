//! Answers in words on a terminal: lines that are too wide continue in their last column.
//!
//! ```text
//! ok       samples        `underbar profile` works, in user mode;
//!                         kernel.perf_event_paranoid is 2
//! ```
//!
//! Invariant: only blanks become line feeds and blanks. A word that is wider than the terminal stays whole. Colours have no
//! width.
//! Not here: the report, which has its own tables (`underbar_report::page`), and output for programs: without a terminal,
//! each line stays one.

use std::borrow::Cow;

/// Terminals are treated as no narrower and no wider than this.
const NARROWEST: usize = 60;
const WIDEST: usize = 160;

/// The text with no line wider than a terminal with this many columns; None: unchanged.
pub fn folded(text: &str, columns: Option<u16>) -> Cow<'_, str> {
    let Some(columns) = columns else { return Cow::Borrowed(text) };
    let columns = usize::from(columns).clamp(NARROWEST, WIDEST);
    if text.lines().all(|line| width(line) <= columns) {
        return Cow::Borrowed(text);
    }
    let mut all = String::new();
    for line in text.split_inclusive('\n') {
        fold(&mut all, line, columns);
    }
    Cow::Owned(all)
}

fn fold(all: &mut String, line: &str, columns: usize) {
    if width(line.trim_end_matches('\n')) <= columns {
        all.push_str(line);
        return;
    }
    let margin = margin(line, columns);
    let (front, rest) = line.split_at(seen(line).nth(margin).map_or(line.len(), |(at, _)| at));
    all.push_str(front);
    let mut column = margin;
    for (number, word) in rest.trim_end_matches('\n').split(' ').enumerate() {
        let length = width(word);
        if number > 0 && column + 1 + length > columns {
            all.push('\n');
            all.extend(std::iter::repeat_n(' ', margin));
            column = margin;
        } else if number > 0 {
            all.push(' ');
            column += 1;
        }
        all.push_str(word);
        column += length;
    }
    if line.ends_with('\n') {
        all.push('\n');
    }
}

/// Where the last column of a line begins: after two blanks or more, in its first half.
fn margin(line: &str, columns: usize) -> usize {
    let (mut margin, mut blanks) = (0, 0);
    for (at, (_, character)) in seen(line).enumerate().take(columns / 2) {
        if character == ' ' {
            blanks += 1;
            continue;
        }
        if blanks >= 2 {
            margin = at;
        }
        blanks = 0;
    }
    margin
}

fn width(text: &str) -> usize {
    seen(text).count()
}

/// The characters that take a column, and their places: all but those of colours, from an escape to its `m`.
fn seen(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut is_colour = false;
    text.char_indices().filter(move |(_, character)| {
        let is_seen = !is_colour && *character != '\x1b';
        is_colour = !is_seen && *character != 'm';
        is_seen
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_below_their_last_column() {
        let line = "ok       samples        `underbar profile` works, in user mode; kernel.perf_event_paranoid is 2\n";
        let text = format!("short\n{line}");
        assert_eq!(
            folded(&text, Some(60)),
            "short\nok       samples        `underbar profile` works, in user\n\
             \x20                       mode; kernel.perf_event_paranoid is\n\
             \x20                       2\n"
        );
        assert_eq!(folded(&text, None), text);
        assert_eq!(folded(&text, Some(200)), text);
        let coloured = format!("  \x1b[1mrun\x1b[0m  {}", "word ".repeat(11));
        assert_eq!(folded(&coloured, Some(62)), coloured, "62 columns and a blank");
        let folded_twice = folded(&coloured, Some(60)).into_owned();
        assert!(folded_twice.ends_with("word\n       word "), "{folded_twice:?}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let long = format!("{} {}\n  label  {}", "w".repeat(200), "word ".repeat(90), "a bc ".repeat(70));
        for columns in [1, 60, 61, 80, 159, 160, 999] {
            let folded = folded(&long, Some(columns));
            assert_eq!(words(&folded), words(&long));
            let width = usize::from(columns).clamp(60, 160);
            let wide = folded.lines().filter(|line| line.trim_end().chars().count() > width);
            assert!(wide.eq(["w".repeat(200)]), "{columns}: {folded}");
        }
    }
}
