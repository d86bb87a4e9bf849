//! Small functions on text: search without regard to case, closing up blanks, sub-options, text that programs put around a line.

use crate::evidence::Evidence;

/// The start of `needle` (in small letters) in `text`, without regard to case.
pub(crate) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    let (first, rest) = needle.split_first()?;
    let last = text.len().checked_sub(needle.len())?;
    (0..=last).find(|&at| {
        text[at].to_ascii_lowercase() == *first && text[at + 1..at + needle.len()].eq_ignore_ascii_case(rest)
    })
}

/// Whether `needle` occurs.
pub(crate) fn has(text: &[u8], needle: &str) -> bool {
    find(text, needle.as_bytes()).is_some()
}

/// The text with blanks closed up, at most 120 characters.
pub(crate) fn tidy(text: &[u8]) -> String {
    let mut tidy = String::new();
    let decoded = String::from_utf8_lossy(&text[..text.len().min(2000)]);
    for word in decoded.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !tidy.is_empty() {
            tidy.push(' ');
        }
        tidy.push_str(word);
    }
    if let Some((at, _)) = tidy.char_indices().nth(120) {
        tidy.truncate(at);
    }
    tidy
}

/// The evidence of a line.
pub(crate) fn evidence(line: u64, text: &[u8]) -> Evidence {
    Evidence { line, text: tidy(text) }
}

/// The number of open parentheses in a text, without those in quotes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Nesting {
    pub(crate) depth: i32,
    quote: Option<u8>,
}

impl Nesting {
    /// Takes the next byte; true if no parenthesis is open after it.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        match (byte, self.quote) {
            (b'\'' | b'"', None) => self.quote = Some(byte),
            (_, Some(open)) if byte == open => self.quote = None,
            (b'(', None) => self.depth += 1,
            (b')', None) => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }

    pub(crate) fn is_quoted(self) -> bool {
        self.quote.is_some()
    }

    /// A line ends, and with it a quote: an unclosed quote was an apostrophe.
    pub(crate) fn unquote(&mut self) {
        self.quote = None;
    }
}

/// The sub-options between commas outside of inner parentheses and quotes.
pub(crate) fn sub_options(values: &str) -> Vec<&str> {
    let (mut all, mut from, mut depth, mut quoted) = (Vec::new(), 0, 0_u32, false);
    for (at, c) in values.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                all.push(&values[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(&values[from..]);
    all
}

/// A line without the sequence number in the last eight of 80 columns, after a control character or without one,
/// and without the line number that an editor shows before it.
///
/// Only a number that begins with a zero, as no value does; `storage` knows more about its lines.
pub(crate) fn without_number(text: &[u8]) -> &[u8] {
    let is_number = |number: &[u8]| number.starts_with(b"0") && number.iter().all(u8::is_ascii_digit);
    let controlled = text.len() == 81 && matches!(text[0], b' ' | b'0' | b'1' | b'-' | b'+');
    let text = match text.split_at_checked(text.len().saturating_sub(8)) {
        Some((before, number))
            if (text.len() == 80 || controlled)
                && is_number(number)
                && !before.last().is_some_and(u8::is_ascii_digit) =>
        {
            before.trim_ascii_end()
        }
        _ => text,
    };
    let shown = [6, 8].into_iter().find(|length| {
        text.get(..*length).is_some_and(is_number) && text.get(*length).is_none_or(|next| *next == b' ')
    });
    shown.map_or(text, |length| text.get(length + 1..).unwrap_or_default())
}

/// The content of a line that is a JSON string and nothing else: some programs print the lines of a job's output so.
pub(crate) fn unquoted(text: &[u8]) -> &[u8] {
    let inner = text.trim_ascii_start().strip_prefix(b"\"");
    let inner = inner.and_then(|inner| inner.strip_suffix(b",").unwrap_or(inner).strip_suffix(b"\""));
    // A content with a quote or a backslash would have to be decoded.
    inner.filter(|inner| !inner.iter().any(|byte| b"\"\\".contains(byte))).unwrap_or(text).trim_ascii_end()
}

/// The words between blanks.
pub(crate) fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| byte.is_ascii_whitespace() || *byte == 0).filter(|word| !word.is_empty())
}

/// The last word; empty if there is none. Found from the end; a word longer than all known ones is cut to its end.
pub(crate) fn last(text: &[u8]) -> &[u8] {
    const LONGEST: usize = 256;
    let end = &text[text.len().saturating_sub(LONGEST)..];
    end.rsplit(|byte| byte.is_ascii_whitespace() || *byte == 0)
        .find(|word| !word.is_empty())
        .unwrap_or_default()
}

/// The name of the enclave after a heading's words, empty if there is none, and the words after it: a date and a time.
pub(crate) fn name_and_rest(behind: &[u8]) -> (String, Vec<&[u8]>) {
    let mut words: Vec<&[u8]> = split(behind).collect();
    let is_number = |word: &[u8]| word.first().is_some_and(u8::is_ascii_digit);
    // 11/20/26, 2026-11-20, 20.11.2026; in 20 Nov 2026 the year is third.
    let is_date = words.first().is_some_and(|first| {
        is_number(first)
            && (first.iter().any(|byte| b"/-.:".contains(byte))
                || words.get(2).is_some_and(|third| is_number(third) && third.len() == 4))
    });
    let name = if is_date || words.is_empty() { &[][..] } else { words.remove(0) };
    (String::from_utf8_lossy(name).chars().take(64).collect(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_that_of_all_words() {
        for text in ["", "  ", "one", " one two ", "one\0two\0", "one\ttwo\n"] {
            assert_eq!(last(text.as_bytes()), split(text.as_bytes()).last().unwrap_or_default(), "{text:?}");
        }
        assert_eq!(last(&[b'a'; 1000]).len(), 256, "the end of a word of no listing");
    }

    #[test]
    fn texts_of_json_are_lines() {
        let check = |text: &str, expect: &str| {
            assert_eq!(String::from_utf8_lossy(unquoted(text.as_bytes())), expect, "{text}");
        };
        check("        \"    HEAP statistics:   \",", "    HEAP statistics:");
        check("\"      Initial size:    4096\"", "      Initial size:    4096");
        for other in ["\"a\" \"b\"", "\"one\\n\"", "say \"one\"", "\"", "ENVAR(\"A\")", ""] {
            check(other, other);
        }
    }

    #[test]
    fn numbers_of_records_are_no_part_of_a_line() {
        let check = |text: &str, expect: &str| {
            let got = without_number(text.as_bytes());
            assert_eq!(String::from_utf8_lossy(got), expect, "{text}");
        };
        check(&format!("{:<72}00010000", "HEAP(4M)"), "HEAP(4M)");
        check(&format!("1{:<72}00010000", "HEAP(4M)"), "1HEAP(4M)");
        check("000100  HEAP(4M)", " HEAP(4M)");
        check("00000100 HEAP(4M)", "HEAP(4M)");
        check("000100", "");
        check(&format!("{:<71}X00010000", " CEEXOPT HEAP=(4M),"), &format!("{:<71}X", " CEEXOPT HEAP=(4M),"));
        for other in [
            format!("{:<72}12345678", "REQUESTS"),
            format!("{:<71}100010000", "REQUESTS"),
            format!("{:<70}00010000", "REQUESTS"),
            "0001000".to_owned(),
            "000100STACK".to_owned(),
            "262144 bytes".to_owned(),
        ] {
            check(&other, &other);
        }
    }
}
