//! Names and texts from others in a safe form: they cannot control a terminal, turn the direction of a line, or begin a new line
//!
//! ```text
//! name of a file, a program, a member ── shown ──┐
//! own words ────────────────────────────────────┴─> text ── text ──> terminal or file
//!                                       values ──> JSON ── json ──> the same
//! ```
//!
//! Replacements of characters: `\n`, `\t`, `\x1b` for a control character, `\u{202e}` for an invisible one that
//! changes the direction of others, `\xff` for a byte that is not UTF-8.
//!
//! Invariant: the result has no control character but the line feeds and tabs of [`text`], and no character that changes the
//! direction of others. Everything else is unchanged, including backslashes, so a name of printable characters stays as it is.
//! [`text`] comes last and cannot tell where a line feed is from. So names pass [`Shown::shown`] first.
//! With the feature `door`: the only way in which a command prints ([`door`]), and the progress of its work ([`progress`]).
//! Not here: quoting for a shell.
#![forbid(unsafe_code)]

#[cfg(feature = "door")]
pub mod door;
#[cfg(feature = "door")]
pub mod progress;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

/// Does a terminal obey this character, or is it invisible and moves others?
#[must_use]
pub fn is_hostile(character: char) -> bool {
    character.is_control() || is_unseen(character)
}

/// Marks, embeddings, overrides and isolates of direction, and the line separators that are not line feeds.
fn is_unseen(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name from others, for output.
pub trait Shown {
    /// Its form for people.
    fn shown(&self) -> impl fmt::Display;
}

/// Bytes that may not be text.
struct Bytes<'a>(&'a [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_some() {
            // Padded as a whole.
            return f.pad(&Bytes(self.0).to_string());
        }
        for chunk in self.0.utf8_chunks() {
            write(chunk.valid(), f, |_| false)?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

impl Shown for [u8] {
    fn shown(&self) -> impl fmt::Display {
        Bytes(self)
    }
}

/// The same for types with bytes.
macro_rules! shown {
    ($($kind:ty, $self:ident => $bytes:expr;)*) => {
        $(impl Shown for $kind {
            fn shown(&$self) -> impl fmt::Display {
                Bytes($bytes)
            }
        })*
    };
}
shown! {
    str, self => self.as_bytes();
    String, self => self.as_bytes();
    OsStr, self => self.as_encoded_bytes();
    OsString, self => self.as_encoded_bytes();
    Path, self => self.as_os_str().as_encoded_bytes();
    PathBuf, self => self.as_os_str().as_encoded_bytes();
}

/// A text of several lines for output: all characters except its line feeds and tabs in the form of names.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    passed(text, |character| matches!(character, '\n' | '\t'))
}

/// A text of one line: in the form of names.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    passed(text, |_| false)
}

/// A text with underbar's colours, which are the only sequences that stay: `ESC [ digits ; digits m`.
#[must_use]
pub fn coloured(text: &str) -> String {
    with_sequences(text, |last, codes| last == 'm' && is_numbers(codes))
}

/// A picture on a terminal. The sequences that stay are colours, moves (`H`), erasures (`J`, `K`), and the modes of a picture: the other
/// screen (`?1049`), the cursor (`?25`), and all changes at once (`?2026`).
#[must_use]
pub fn screen(text: &str) -> String {
    with_sequences(text, |last, codes| match last {
        'm' | 'H' | 'J' | 'K' => is_numbers(codes),
        'h' | 'l' => matches!(codes, "?1049" | "?25" | "?2026"),
        _ => false,
    })
}

fn is_numbers(codes: &str) -> bool {
    codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')
}

/// A text of which only those sequences stay whose last character and numbers are allowed.
fn with_sequences(text: &str, is_allowed: impl Fn(char, &str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split('\u{1b}');
    out += &self::text(pieces.next().unwrap_or_default());
    for piece in pieces {
        let sequence = piece.strip_prefix('[').and_then(|rest| {
            let end = rest.find(|character: char| character.is_ascii_alphabetic())?;
            let last = char::from(rest.as_bytes()[end]);
            Some((last, &rest[..end], &rest[end + 1..]))
        });
        match sequence.filter(|(last, codes, _)| is_allowed(*last, codes)) {
            Some((last, codes, rest)) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\u{1b}[{codes}{last}{}", self::text(rest));
            }
            None => {
                out += "\\x1b";
                out += &self::text(piece);
            }
        }
    }
    out
}

/// JSON for output, with escapes of JSON: the characters in question occur in strings only.
#[must_use]
pub fn json(json: &str) -> Cow<'_, str> {
    let is_left = |character: char| !is_hostile(character) || matches!(character, '\n' | '\t' | '\r');
    if json.chars().all(is_left) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_left(character) {
            out.push(character);
        } else {
            // All of them are one unit of UTF-16. Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        }
    }
    Cow::Owned(out)
}

/// JSON for a page that shows its strings unchanged: the characters in question have the form of names.
#[must_use]
pub fn json_of_page(json: &str) -> Cow<'_, str> {
    match passed(json, |character| matches!(character, '\n' | '\t' | '\r')) {
        Cow::Borrowed(json) => Cow::Borrowed(json),
        Cow::Owned(_) => {
            let mut out = String::with_capacity(json.len() + 16);
            for character in json.chars() {
                let mut room = [0; 4];
                let one: &str = character.encode_utf8(&mut room);
                match passed(one, |character| matches!(character, '\n' | '\t' | '\r')) {
                    // It is in a string, where a backslash is written twice.
                    Cow::Owned(shown) => out += &shown.replace('\\', "\\\\"),
                    Cow::Borrowed(one) => out += one,
                }
            }
            Cow::Owned(out)
        }
    }
}

fn passed(text: &str, keep: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    if !text.chars().any(|character| is_hostile(character) && !keep(character)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    // Writing to a string cannot fail.
    let _ = write(text, &mut out, keep);
    Cow::Owned(out)
}

fn write(text: &str, out: &mut impl fmt::Write, keep: impl Fn(char) -> bool) -> fmt::Result {
    let mut from = 0;
    for (at, character) in text.char_indices().filter(|&(_, character)| is_hostile(character)) {
        if keep(character) {
            continue;
        }
        out.write_str(&text[from..at])?;
        from = at + character.len_utf8();
        match character {
            '\n' => out.write_str("\\n"),
            '\t' => out.write_str("\\t"),
            '\r' => out.write_str("\\r"),
            _ if character.is_ascii() => write!(out, "\\x{:02x}", u32::from(character)),
            _ => write!(out, "\\u{{{:x}}}", u32::from(character)),
        }?;
    }
    out.write_str(&text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_of_a_page_turns_nothing_round() {
        assert_eq!(json_of_page("{\n\"a\": \"b\u{202e}c\u{85}\"}"), "{\n\"a\": \"b\\\\u{202e}c\\\\u{85}\"}");
        assert!(matches!(json_of_page("\"\u{e4} \\u202e\""), Cow::Borrowed(_)));
    }
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn nothing_in_a_name_steers_a_terminal() {
        for (name, expect) in [
            (&b"plain \\ name \xc3\xa9 \xe2\x82\xac"[..], "plain \\ name \u{e9} \u{20ac}"),
            (b"a\nunderbar: error: b\tc\rd", r"a\nunderbar: error: b\tc\rd"),
            (b"\x1b[2J\x1b]0;title\x07\x7f\x00", r"\x1b[2J\x1b]0;title\x07\x7f\x00"),
            (
                "\u{85}\u{9b}31m\u{202e}fdp\u{2066}\u{200f}\u{61c}\u{2029}".as_bytes(),
                r"\u{85}\u{9b}31m\u{202e}fdp\u{2066}\u{200f}\u{61c}\u{2029}",
            ),
            (b"\xff\xc3(", r"\xff\xc3("),
            (b"", ""),
        ] {
            assert_eq!(name.shown().to_string(), expect);
            assert_eq!(Path::new(OsStr::from_bytes(name)).shown().to_string(), expect);
        }
        assert_eq!(format!("{:>6}|{:<6}|", "\x07".shown(), "a".shown()), "  \\x07|a     |");
    }

    #[test]
    fn texts_keep_their_lines_and_json_its_meaning() {
        assert!(matches!(text("a\n\tb \u{e9}"), Cow::Borrowed(_)));
        assert_eq!(text("a\r\n\x1b[1m\u{202e}"), "a\\r\n\\x1b[1m\\u{202e}");
        assert_eq!(
            coloured("a\x1b[1;31mb\x1b[0m\nc\x1b[2Jd\x1b\x07\x1b[m"),
            "a\x1b[1;31mb\x1b[0m\nc\\x1b[2Jd\\x1b\\x07\x1b[m"
        );
        assert!(matches!(json("{\n  \"a\": \"\u{e9}\"\n}"), Cow::Borrowed(_)));
        assert_eq!(json("\"\u{7f}\u{9b}\u{202e}\u{2028}\""), r#""\u007f\u009b\u202e\u2028""#);
    }
}
