//! Single lines of option texts: their columns, and what they look like.
//!
//! Not here: which lines make a text (`carriers`).

use crate::options::named;
use crate::words::find;

/// Options at whose name a bare line is taken for an option text.
const BARE: [&str; 20] = [
    "ALL31",
    "ANYHEAP",
    "BELOWHEAP",
    "HEAP",
    "HEAP64",
    "HEAPCHK",
    "HEAPPOOLS",
    "HEAPPOOLS64",
    "HEAPZONES",
    "IOHEAP64",
    "LIBHEAP64",
    "LIBSTACK",
    "RPTOPTS",
    "RPTSTG",
    "STACK",
    "STACK64",
    "STORAGE",
    "THREADHEAP",
    "THREADSTACK",
    "THREADSTACK64",
];

/// Behind the parenthesis that closes the first one, which opens the text.
pub(crate) fn closed_at(text: &[u8]) -> usize {
    if text.first() != Some(&b'(') {
        return 0;
    }
    let mut depth = 0;
    text.iter()
        .position(|byte| {
            depth += match byte {
                b'(' => 1,
                b')' => -1,
                _ => 0,
            };
            depth == 0
        })
        .map_or(text.len(), |at| at + 1)
}

/// Columns 1 to 72, as fixed records have them: filled up, so that nothing runs together.
pub(crate) fn columns(text: &[u8]) -> Vec<u8> {
    let text = text.get(..72).unwrap_or(text);
    let mut kept = text.to_vec();
    if !text.ends_with(b",") && !text.ends_with(b"(") {
        kept.push(b' ');
    }
    kept
}

/// What a line of a macro holds from a column on, without the mark of continuation in column 72, and whether it has one.
pub(crate) fn macro_line(text: &[u8], from: usize) -> (Vec<u8>, bool) {
    if text.len() >= 72 && text[71] != b' ' {
        return (text[from.min(71)..71].trim_ascii().to_vec(), true);
    }
    let body = text[from.min(text.len())..].trim_ascii();
    match body.split_last() {
        Some((b'X' | b'x', rest)) if rest.ends_with(b" ") => (rest.trim_ascii().to_vec(), true),
        _ => (body.to_vec(), false),
    }
}

/// The variable without its last letter, set or used.
pub(crate) fn is_misspelt(text: &[u8]) -> bool {
    const NAME: &[u8] = b"_cee_runopt";
    let Some(at) = find(text, NAME) else { return false };
    let next = text.get(at + NAME.len());
    let used = text[..at].ends_with(b"$") || text[..at].ends_with(b"${");
    next == Some(&b'=') || (used && !next.is_some_and(u8::is_ascii_alphanumeric))
}

/// Whether a line is nothing but options, by its first word.
pub(crate) fn is_bare(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    text.get(end) == Some(&b'(')
        && end >= 4
        && named(&text[..end]).is_some_and(|(name, _)| BARE.contains(&name))
        && text[end..].iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}
