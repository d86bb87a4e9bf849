//! Lines of text for a terminal: their pieces, their width, their colours.
//!
//! ```text
//! Line ── label, text ── wider than the page? wrapped at its words, as long as there are lines to spare; then cut
//! ```
//!
//! Invariant: no line but a command to copy is wider than [`Page::columns`], counted before colours are added. Text from the
//! program passes through `clean` first, so it cannot control the terminal.
//! Not here: what the lines say ([`crate::summary`]), and how wide a terminal is.

use std::fmt::Write as _;
use std::iter;

use anstyle::{AnsiColor, Style};

/// The most columns of a line that does not go to a terminal.
pub const COLUMNS: usize = 100;
/// On a terminal, lines are as wide as the terminal, within these limits.
const NARROWEST: usize = 40;
/// The first width that is not narrow.
const NARROW: usize = 60;
const WIDEST: usize = 160;

/// The output that lines are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// The most columns of a line.
    pub columns: usize,
    /// Are there colours?
    pub colour: bool,
    /// Can it show block characters? True on terminals with Unicode.
    pub pictures: bool,
    /// The name that `underbar report` needs to print this report again in another form: empty for the last run. None if the
    /// report is not kept.
    pub kept: Option<&'a str>,
}

impl Page<'_> {
    /// Is there no room for a second column of a table, and for a sentence on one line?
    pub(crate) fn is_narrow(&self) -> bool {
        self.columns < NARROW
    }

    /// For a terminal with this many columns, or for other output (None). Without pictures, and of a report that is not kept.
    #[must_use]
    pub fn of_terminal(columns: Option<u16>, colour: bool) -> Page<'static> {
        let columns = columns.map_or(COLUMNS, |columns| usize::from(columns).clamp(NARROWEST, WIDEST));
        Page { columns, colour, pictures: false, kept: None }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Label,
    Suggestion,
    /// A command to copy: the only piece that may go beyond the last column, since it cannot be typed without its end.
    Command,
    Warning,
}

/// One line: pieces of text with their tone.
pub(crate) struct Line(pub(crate) Vec<(Tone, String)>);

/// Columns of a label.
pub(crate) const LABEL_COLUMNS: usize = 12;

/// Beside a label in fewer columns no sentence can be read.
const LEAST_BESIDE: usize = 16;
/// Columns before words that are below their label.
const BELOW: usize = 4;

/// Columns of the second column of a table: fewer on a narrow page, and none on a very narrow one.
pub(crate) fn set_columns(page: Page<'_>) -> usize {
    if page.is_narrow() { 0 } else { page.columns.saturating_sub(66).clamp(22, 34) }
}

pub(crate) fn labelled(label: &str, text: String) -> Line {
    Line(vec![(Tone::Label, format!("  {label:<10}")), (Tone::Plain, text)])
}

pub(crate) fn warning(label: &str, text: String) -> Line {
    Line(vec![(Tone::Label, format!("  {label:<10}")), (Tone::Warning, text)])
}

/// At most `most` lines of text, unless `lines` are more.
pub(crate) fn paint(lines: &[Line], page: Page<'_>, most: usize) -> String {
    let mut text = String::new();
    let mut spare = most.saturating_sub(lines.len());
    for line in lines {
        let parts = line.wrapped(page.columns, spare);
        spare -= parts.len().saturating_sub(1);
        if parts.is_empty() {
            write_line(&mut text, line, page);
        }
        for part in &parts {
            write_line(&mut text, part, page);
        }
    }
    text
}

fn write_line(text: &mut String, Line(pieces): &Line, page: Page<'_>) {
    let mut room = page.columns;
    let written = pieces.iter().rposition(|(_, piece)| !piece.trim_end().is_empty()).map_or(0, |at| at + 1);
    let last = written.saturating_sub(1);
    for (at, (tone, piece)) in pieces[..written].iter().enumerate() {
        let piece = if at == last { piece.trim_end() } else { piece };
        let piece = &*underbar_shown::line(piece);
        let piece = if *tone == Tone::Command { piece.to_owned() } else { clip(piece, room) };
        room = room.saturating_sub(piece.chars().count());
        let style = if page.colour { style(*tone) } else { Style::new() };
        let _ = write!(text, "{style}{piece}{style:#}");
    }
    text.push('\n');
}

impl Line {
    /// Its text, with a line feed.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).chain(["\n"]).collect()
    }

    /// Breaks a label with a text that is too wide at its words, into at most `spare` more lines. Where the room beside the label is too small
    /// for the words, they are below it. Empty if the text fits, or if the line has another form.
    fn wrapped(&self, columns: usize, spare: usize) -> Vec<Line> {
        let [(Tone::Label, label), (tone @ (Tone::Plain | Tone::Warning), words)] = self.0.as_slice() else {
            return Vec::new();
        };
        let beside = columns.saturating_sub(label.chars().count());
        let longest = pieces(words).map(|(piece, _)| piece.chars().count()).max().unwrap_or(0);
        let is_below = spare > 0 && (beside < LEAST_BESIDE || longest > beside) && longest + BELOW <= columns;
        let mut parts = broken(words, beside);
        if parts.len() == 1 && !(is_below && longest > beside) {
            return Vec::new();
        }
        let (mut labels, mut indent) = (vec![label.clone()], " ".repeat(columns - beside));
        if is_below {
            let words: Vec<&str> = words.split_whitespace().collect();
            parts = broken(&words.join(" "), columns - BELOW);
            indent = " ".repeat(BELOW);
            if label.trim().is_empty() {
                labels.clear();
            } else {
                parts.insert(0, String::new());
            }
        }
        // The rest stays on the last line, where it is cut.
        while parts.len() > spare + 1 {
            let over = parts.pop().unwrap_or_default();
            if let Some(last) = parts.last_mut() {
                *last = format!("{last} {over}");
            }
        }
        let labels = labels.into_iter().chain(iter::repeat(indent));
        let line = |(label, words)| Line(vec![(Tone::Label, label), (*tone, words)]);
        labels.zip(parts).map(line).collect()
    }
}

/// The pieces of a text that are not broken, and whether a space is before each: words, and the sub-options of an option.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split(' ').flat_map(|word| {
        // Digits have commas, too.
        let is_option = word.contains('(');
        let of_option = word.split_inclusive(',').filter(move |_| is_option);
        let whole = iter::once(word).filter(move |_| !is_option);
        of_option.chain(whole).enumerate().map(|(at, piece)| (piece, at == 0))
    })
}

/// A text in parts of at most this many characters, broken between its pieces; a longer piece is a part by itself.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut column = 0;
    for (piece, is_word) in pieces(text) {
        let length = piece.chars().count() + usize::from(is_word);
        match parts.last_mut() {
            Some(part) if column + length <= width => {
                part.push_str(if is_word { " " } else { "" });
                part.push_str(piece);
                column += length;
            }
            _ => {
                parts.push(piece.to_owned());
                column = piece.chars().count();
            }
        }
    }
    parts
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Label => Style::new().bold(),
        Tone::Suggestion | Tone::Command => AnsiColor::Green.on_default().bold(),
        Tone::Warning => AnsiColor::Yellow.on_default(),
    }
}

/// A word as a POSIX shell reads it, on one line and without control characters. For these it uses `$'\n'`, which POSIX has
/// since 2024 and shells had long before.
#[must_use]
pub fn quoted(word: &str) -> String {
    if word.chars().any(char::is_control) {
        let mut text = "$'".to_owned();
        for c in word.chars() {
            match c {
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\\' | '\'' => text.extend(['\\', c]),
                // Its bytes, as three octal digits each: no digit after it can be read as part of it.
                c if c.is_control() => {
                    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(text, "\\{byte:03o}");
                    }
                }
                c => text.push(c),
            }
        }
        text.push('\'');
        return text;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Replaces characters that could control the terminal.
pub(crate) fn clean(text: &str) -> String {
    underbar_shown::line(text).into_owned()
}

/// Cut to a width at its front, with three dots for the missing part: names often have the same front (`x86_64-linux-gnu-as`).
pub(crate) fn clip_front(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    format!("...{}", text.chars().skip(length - width.saturating_sub(3)).collect::<String>())
}

/// Cut to a width in its middle: a name begins with its module, and ends with its place there and the line.
pub(crate) fn clip_middle(text: &str, width: usize) -> String {
    let front = width / 4;
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let before: String = text.chars().take(front).collect();
    before + &clip_front(text, width - front)
}

/// Cut to a width, with three dots for the missing part.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{kept}{}", &"..."[..width.min(3)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_loses_one_part() {
        let place = "std::thread::_State_impl<std::thread::_Invoker>::_M_run()+0x5a (blame) blame.cc:42";
        assert_eq!(clip(place, 20), "std::thread::_Sta...");
        assert_eq!(clip_front(place, 20), "...lame) blame.cc:42");
        assert_eq!(clip_middle(place, 44), "std::thread...run()+0x5a (blame) blame.cc:42");
        assert_eq!(clip_middle("short", 44), "short");
    }

    #[test]
    fn words_are_quoted_as_a_shell_needs_them() {
        for (word, expected) in [
            ("./a-b_c.d/e:f=g", "./a-b_c.d/e:f=g"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("a\nit's\t\\", r"$'a\nit\'s\t\\'"),
            ("\u{1b}[2J\u{85}7", r"$'\033[2J\302\2057'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn lines_are_cut_and_trimmed() {
        let piece = |text: &str| (Tone::Plain, text.to_owned());
        let page = Page::of_terminal(None, false);
        let line = |pieces: &[&str]| paint(&[Line(pieces.iter().map(|text| piece(text)).collect())], page, 1);
        assert_eq!(line(&["ab  ", ""]), "ab\n");
        assert_eq!(line(&["ab  ", "c "]), "ab  c\n");
        assert_eq!(line(&[&"x".repeat(99), "yz"]).len(), 101);
        assert_eq!(line(&[&"\u{e9}".repeat(200)]).chars().count(), 101);
        assert_eq!(line(&[]), "\n");
        assert_eq!(clip("abcdef", 5), "ab...");
    }

    #[test]
    fn lines_are_as_wide_as_the_terminal() {
        let columns = |terminal| Page::of_terminal(terminal, false).columns;
        assert_eq!([None, Some(7), Some(80), Some(500)].map(columns), [100, 40, 80, 160]);
        let words = "word ".repeat(60);
        let painted = |columns, most| {
            let line = labelled("why", words.trim_end().to_owned());
            let text = paint(&[line], Page { columns, ..Page::of_terminal(None, false) }, most);
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        for columns in [40, 60, 100, 160] {
            let lines = painted(columns, 20);
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{lines:?}");
            assert_eq!(lines.concat().matches("word").count(), 60, "nothing is lost");
            assert!(lines.iter().skip(1).all(|line| line.starts_with("            word")), "{lines:?}");
        }
        let few = painted(100, 2);
        assert!(few.len() == 2 && few[1].ends_with("..."), "{few:?}");
        assert_eq!(painted(100, 0).len(), 1);
    }

    #[test]
    fn words_without_room_beside_their_label_are_below_it() {
        let page = Page { columns: 40, ..Page::of_terminal(None, false) };
        let line = |label: &str, words: &str| {
            paint(&[Line(vec![(Tone::Label, label.to_owned()), (Tone::Plain, words.to_owned())])], page, 9)
        };
        let key = "  steps.peak_resident_bytes ";
        let below = "  steps.peak_resident_bytes\n    1,450,000,000 1.35 GiB Peak resident\n    storage\n";
        assert_eq!(line(key, "   1,450,000,000 1.35 GiB  Peak resident storage"), below);
        assert_eq!(line(key, "7 waits"), "  steps.peak_resident_bytes 7 waits\n");
        let word = "/usr/lib/a-library-of-30-bytes";
        assert_eq!(line("  options   ", word), format!("  options\n    {word}\n"));
        assert_eq!(line("            ", word), format!("    {word}\n"));
        let option = "HEAP(AUTO,AUTO,ANYWHERE,AUTO,8), default";
        let broken = "  options   HEAP(AUTO,AUTO,ANYWHERE,\n            AUTO,8), default\n";
        assert_eq!(line("  options   ", option), broken);
        // It fits nowhere.
        assert_eq!(line("  options   ", &"x".repeat(60)), format!("  options   {}...\n", "x".repeat(25)));
    }
}
