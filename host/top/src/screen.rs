//! The screen: cells that are drawn anew for each picture, of which only those are written that have changed.
//!
//! ```text
//! clear ── put, put, ... ── changes ──> "move, style, characters" for each run of changed cells ── door ──> terminal
//! ```
//!
//! Invariant: a cell holds one character that has passed `plain`, so nothing in it steers; what the terminal shows after the changes is
//! what was put. A character of two cells is written with both, and never cut.
//! Not here: the picture ([`crate::view`]), the mode of the terminal ([`crate::terminal`]).

use std::fmt::Write as _;

use crate::cells::width;

/// How a cell is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As usual.
    #[default]
    Plain,
    /// Strong.
    Bold,
    /// Weak: labels, what is less important.
    Dim,
    /// A heading line.
    Head,
    /// The chosen row.
    Chosen,
    /// A figure that a row is sorted by, or a picture.
    Accent,
    /// What is new, or good.
    Fresh,
    /// What waits, or has ended.
    Warm,
}

impl Style {
    /// Select Graphic Rendition: with colours, and without.
    fn codes(self, colours: bool) -> &'static str {
        match (self, colours) {
            (Style::Plain, _) => "0",
            (Style::Bold, _) => "0;1",
            (Style::Dim, true) => "0;90",
            (Style::Dim, false) => "0;2",
            (Style::Head, _) | (Style::Chosen, false) => "0;7",
            (Style::Chosen, true) => "0;1;97;44",
            (Style::Accent, true) => "0;36",
            (Style::Fresh, true) => "0;32",
            (Style::Warm, true) => "0;33",
            (Style::Accent | Style::Fresh | Style::Warm, false) => "0;1",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    /// A zero: the second cell of the character before it.
    character: char,
    style: Style,
}

const BLANK: Cell = Cell { character: ' ', style: Style::Plain };

/// The cells of a terminal.
pub struct Screen {
    columns: usize,
    rows: usize,
    drawn: Vec<Cell>,
    /// What the terminal shows; None: not known.
    shown: Option<Vec<Cell>>,
    colours: bool,
}

impl Screen {
    /// A screen of that size; nothing is known of what the terminal shows.
    #[must_use]
    pub fn new(columns: usize, rows: usize, colours: bool) -> Screen {
        Screen { columns, rows, drawn: vec![BLANK; columns * rows], shown: None, colours }
    }

    /// Columns and rows.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    /// Another size: all is written anew.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        if (columns, rows) != (self.columns, self.rows) {
            *self = Screen::new(columns, rows, self.colours);
        }
    }

    /// Forgets what the terminal shows, since others have written there.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Begins a new picture: all blank.
    pub fn clear(&mut self) {
        self.drawn.fill(BLANK);
    }

    /// Puts a text that has passed `plain`(crate::cells::plain) into a row, from a column on, as far as there is room. Returns the column
    /// behind it.
    pub fn put(&mut self, row: usize, column: usize, style: Style, text: &str) -> usize {
        let mut at = column;
        if row >= self.rows {
            return at;
        }
        for character in text.chars() {
            let wide = width(character);
            if wide == 0 || underbar_shown::is_hostile(character) {
                continue;
            }
            if at + wide > self.columns {
                break;
            }
            let first = row * self.columns + at;
            self.drawn[first] = Cell { character, style };
            if wide == 2 {
                self.drawn[first + 1] = Cell { character: '\0', style };
            }
            at += wide;
        }
        at
    }

    /// Shows a whole row in a style, whatever is in it.
    pub fn paint_row(&mut self, row: usize, style: Style) {
        if row < self.rows {
            let cells = &mut self.drawn[row * self.columns..][..self.columns];
            cells.iter_mut().for_each(|cell| cell.style = style);
        }
    }

    /// What to write so that the terminal shows the picture; empty if it does already.
    pub fn changes(&mut self) -> String {
        let mut out = String::new();
        let mut style = None;
        if self.shown.is_none() {
            out += "\x1b[0m\x1b[2J";
        }
        let blank = vec![BLANK; self.columns * self.rows];
        let shown = self.shown.as_ref().unwrap_or(&blank);
        for row in 0..self.rows {
            let line = row * self.columns..(row + 1) * self.columns;
            let (new, old) = (&self.drawn[line.clone()], &shown[line]);
            let mut column = 0;
            while column < self.columns {
                if new[column] == old[column] {
                    column += 1;
                    continue;
                }
                // From the first cell of a character on.
                while column > 0 && new[column].character == '\0' {
                    column -= 1;
                }
                // Writing to a string cannot fail.
                let _ = write!(out, "\x1b[{};{}H", row + 1, column + 1);
                while column < self.columns
                    && (new[column] != old[column]
                        || new[column].character == '\0'
                        || new
                            .get(column + 1)
                            .is_some_and(|next| next.character == '\0' && *next != old[column + 1]))
                {
                    if style != Some(new[column].style) {
                        let _ = write!(out, "\x1b[{}m", new[column].style.codes(self.colours));
                        style = Some(new[column].style);
                    }
                    if new[column].character != '\0' {
                        out.push(new[column].character);
                    }
                    column += 1;
                }
            }
        }
        if style.is_some_and(|style| style != Style::Plain) {
            out += "\x1b[0m";
        }
        self.shown = Some(self.drawn.clone());
        out
    }

    /// The picture as lines, for tests and for eyes.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = self.drawn.chunks(self.columns.max(1)).map(|line| {
            let line: String =
                line.iter().map(|cell| cell.character).filter(|character| *character != '\0').collect();
            line.trim_end().to_owned() + "\n"
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_changed_is_written() {
        let mut screen = Screen::new(10, 2, true);
        screen.put(0, 2, Style::Accent, "abc");
        assert_eq!(screen.changes(), "\x1b[0m\x1b[2J\x1b[1;3H\x1b[0;36mabc\x1b[0m");
        assert_eq!(screen.changes(), "");
        screen.clear();
        screen.put(0, 2, Style::Accent, "abd");
        screen.put(1, 0, Style::Plain, "x");
        assert_eq!(screen.changes(), "\x1b[1;5H\x1b[0;36md\x1b[2;1H\x1b[0mx");
        screen.forget();
        assert!(screen.changes().starts_with("\x1b[0m\x1b[2J"));
        screen.resize(3, 1);
        screen.put(0, 1, Style::Plain, "long");
        assert_eq!((screen.text().as_str(), screen.size()), (" lo\n", (3, 1)));
        assert_eq!(screen.put(7, 0, Style::Plain, "outside"), 0);
    }

    #[test]
    fn a_wide_character_is_written_whole_or_not_at_all() {
        let mut screen = Screen::new(4, 1, false);
        assert_eq!(screen.put(0, 0, Style::Plain, "漢字x"), 4);
        assert!(screen.changes().ends_with("\x1b[1;1H\x1b[0m漢字"));
        screen.clear();
        screen.put(0, 1, Style::Plain, "漢");
        // The first cell is blank again, and the other half of what was there goes with it.
        assert_eq!(screen.changes(), "\x1b[1;1H\x1b[0m 漢 ");
        screen.clear();
        assert_eq!(screen.put(0, 3, Style::Plain, "漢"), 3, "it has no room");
        assert_eq!(screen.changes(), "\x1b[1;2H\x1b[0m  ");
    }

    #[test]
    fn nothing_in_a_text_steers() {
        let mut screen = Screen::new(20, 1, true);
        screen.put(0, 0, Style::Plain, "a\x1b[2Jb\nc\u{202e}d\u{9b}");
        assert_eq!(screen.text(), "a[2Jbcd\n");
    }
}
