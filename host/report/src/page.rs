//! Lines of text for a terminal: their pieces, their width, their colours.
//!
//! Invariant: no line is wider than [`COLUMNS`], counted before colours are added; text that
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
            let piece = clip(if at == last { piece.trim_end() } else { piece }, room);
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
        Tone::Suggestion => AnsiColor::Green.on_default().bold(),
        Tone::Warning => AnsiColor::Yellow.on_default(),
    }
}

/// A word as a POSIX shell takes it. None if it holds control characters.
#[must_use]
pub fn quoted(word: &str) -> Option<String> {
    if word.chars().any(char::is_control) {
        return None;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Some(word.to_owned());
    }
    Some(format!("'{}'", word.replace('\'', r"'\''")))
}

/// Without control characters, which could steer the terminal.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
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
        let check =
            |word: &str, expected: Option<&str>| assert_eq!(quoted(word).as_deref(), expected, "{word}");
        check("./a-b_c.d/e:f=g", Some("./a-b_c.d/e:f=g"));
        check("", Some("''"));
        check("a b", Some("'a b'"));
        check("it's", Some(r"'it'\''s'"));
        check("$(rm)", Some("'$(rm)'"));
        check("a\nb", None);
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
