//! Lines of text for a terminal: their pieces, their width, their colours.
//!
//! Invariant: no line but a command to copy is wider than [`COLUMNS`], counted before colours are added; text that
//! comes from the program passes through `clean` first, so that it cannot steer the terminal.
//! Not here: what the lines say ([`crate::summary`]).

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

/// The most columns of a line.
pub const COLUMNS: usize = 100;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Label,
    Suggestion,
    /// A command to copy: the only piece that may go beyond the last column, since it could not be typed without its end.
    Command,
    Warning,
}

/// One line: pieces of text with their tone.
pub(crate) struct Line(pub(crate) Vec<(Tone, String)>);

/// What a label takes of a line.
pub(crate) const LABEL_COLUMNS: usize = 12;

pub(crate) fn labelled(label: &str, text: String) -> Line {
    Line(vec![(Tone::Label, format!("  {label:<10}")), (Tone::Plain, text)])
}

pub(crate) fn warning(label: &str, text: String) -> Line {
    Line(vec![(Tone::Label, format!("  {label:<10}")), (Tone::Warning, text)])
}

pub(crate) fn paint(lines: &[Line], colour: bool) -> String {
    let mut text = String::new();
    for Line(pieces) in lines {
        let mut room = COLUMNS;
        let written =
            pieces.iter().rposition(|(_, piece)| !piece.trim_end().is_empty()).map_or(0, |at| at + 1);
        let last = written.saturating_sub(1);
        for (at, (tone, piece)) in pieces[..written].iter().enumerate() {
            let piece = if at == last { piece.trim_end() } else { piece };
            let piece = &*underbar_shown::line(piece);
            let piece = if *tone == Tone::Command { piece.to_owned() } else { clip(piece, room) };
            room = room.saturating_sub(piece.chars().count());
            let style = if colour { style(*tone) } else { Style::new() };
            let _ = write!(text, "{style}{piece}{style:#}");
        }
        text.push('\n');
    }
    text
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Label => Style::new().bold(),
        Tone::Suggestion | Tone::Command => AnsiColor::Green.on_default().bold(),
        Tone::Warning => AnsiColor::Yellow.on_default(),
    }
}

/// A word as a POSIX shell takes it, on one line and without control characters: for these it has `$'\n'`, since 2024; the
/// shells in use had it long before.
#[must_use]
pub fn quoted(word: &str) -> String {
    if word.chars().any(char::is_control) {
        let mut text = "$'".to_owned();
        for c in word.chars() {
            match c {
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\\' | '\'' => text.extend(['\\', c]),
                // By its bytes, three octal digits each: no digit behind it can be taken for a part of it.
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

/// Without characters that could steer the terminal.
pub(crate) fn clean(text: &str) -> String {
    underbar_shown::line(text).into_owned()
}

/// Cut to a width at its front, three dots for what is missing: what names have in common is there (`x86_64-linux-gnu-as`).
pub(crate) fn clip_front(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    format!("...{}", text.chars().skip(length - width.saturating_sub(3)).collect::<String>())
}

/// Cut to a width in its middle: a name begins with whose it is, and ends with where in it and the line.
pub(crate) fn clip_middle(text: &str, width: usize) -> String {
    let front = width / 4;
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let before: String = text.chars().take(front).collect();
    before + &clip_front(text, width - front)
}

/// Cut to a width, three dots for what is missing.
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
        let line = |pieces: &[&str]| paint(&[Line(pieces.iter().map(|text| piece(text)).collect())], false);
        assert_eq!(line(&["ab  ", ""]), "ab\n");
        assert_eq!(line(&["ab  ", "c "]), "ab  c\n");
        assert_eq!(line(&[&"x".repeat(99), "yz"]).len(), 101);
        assert_eq!(line(&[&"\u{e9}".repeat(200)]).chars().count(), 101);
        assert_eq!(line(&[]), "\n");
        assert_eq!(clip("abcdef", 5), "ab...");
    }
}
