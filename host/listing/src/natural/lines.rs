//! The kind of a line: a macro with its operands, parameters only, or a continuation.
//!
//! Invariant: a line with any other text is none of these,
//! except for the prefix of a job log and the sequence number at the end of a source line.

use crate::words::split;

use super::parameters::{self, pieces};

const MACROS: [&str; 4] = ["NTPRM", "NTZIIP", "NTSORT", "NTSYS"];

/// A line of a source: the text before column 72, and whether a mark there continues it.
pub(super) fn source(text: &str) -> (&str, bool) {
    match text.get(71..72) {
        Some(mark) => (text.get(..71).unwrap_or(text), mark != " "),
        None => (text, false),
    }
}

/// A line without the number in its columns 73 to 80.
pub(super) fn unnumbered(text: &str) -> &str {
    match text.get(..72).zip(text.get(72..)) {
        Some((before, number))
            if number.trim().len() == 8 && number.trim().bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            before
        }
        _ => text,
    }
}

/// The macro in a line, after at most a label, and its operands.
pub(super) fn macro_of(text: &str) -> Option<(&'static str, &str)> {
    let first = text.split_whitespace().next()?;
    let labelled =
        !text.starts_with(char::is_whitespace) && !MACROS.iter().any(|name| first.eq_ignore_ascii_case(name));
    let rest = if labelled { text[first.len()..].trim_start() } else { text.trim_start() };
    let word = rest.split_whitespace().next()?;
    let name = MACROS.iter().find(|name| word.eq_ignore_ascii_case(name))?;
    let operands = rest[word.len()..].trim_start();
    let head = operands.split([',', ' ']).next()?;
    let state = ["ON", "OFF", "AUTO"].iter().any(|state| head.eq_ignore_ascii_case(state));
    let fits = head.contains('=') || state || (*name == "NTSYS" && operands.contains('\''));
    fits.then_some((*name, operands))
}

/// A word that a job log, or a page, puts before a line.
pub(super) fn is_of_the_log(word: &[u8]) -> bool {
    let digits = word.iter().any(u8::is_ascii_digit) && !word.contains(&b'=');
    (digits && word.len() <= 11) || matches!(word, [b'-' | b'+'])
}

/// The part of a line that is a text of parameters and nothing else.
pub(super) fn bare(text: &str) -> Option<&str> {
    let text = unnumbered(text);
    let first = text.split_whitespace().find(|word| word.contains('='))?;
    let at = first.as_ptr() as usize - text.as_ptr() as usize;
    if !split(&text.as_bytes()[..at]).all(is_of_the_log) || text.contains("==") {
        return None;
    }
    let body = text[at..].trim();
    // A control character may directly precede the text.
    let body = body.trim_start_matches(['0', '1', '-', '+']);
    let pieces = pieces(body);
    let named = pieces.iter().all(|piece| piece.name.is_some() && !piece.value.is_empty());
    let known = |name: &str| parameters::find(name).is_some();
    let names = || pieces.iter().filter_map(|piece| piece.name.as_deref());
    (named && (names().any(is_natural) || names().all(known))).then_some(body)
}

/// Whether a line can continue a bare text.
pub(super) fn more_of(text: &str) -> Option<&str> {
    let body = unnumbered(text).trim().trim_start_matches(['0', '1', '-', '+']);
    is_more(body).then_some(body)
}

pub(super) fn is_more(text: &str) -> bool {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    // The mark of continuation.
    words.pop_if(|word| matches!(*word, "*" | "X" | "x" | "+"));
    !words.is_empty() && words.iter().all(|word| word.contains(['=', '(', ')', ',', '\'']))
}

pub(super) fn goes_on(text: &str) -> bool {
    text.trim_end().ends_with(',') || pieces(text).last().is_some_and(|piece| !piece.closed)
}

pub(super) fn is_natural(name: &str) -> bool {
    parameters::find(name).is_some_and(|entry| entry.telling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_begins_the_line_whatever_a_blank_is() {
        let name = MACROS[0];
        for (line, is_macro) in [
            (format!("LABEL {name} A=1"), true),
            (format!("  {name} A=1"), true),
            (format!("{name} A=1"), true),
            // A blank that is neither a space nor a tabulator is not part of a label, nor is half a character.
            (format!("\u{b}\u{fffd} {name} A=1"), false),
            (format!("\u{b}{name} A=1"), true),
        ] {
            assert_eq!(macro_of(&line), is_macro.then_some((name, "A=1")), "{line:?}");
        }
    }
}
