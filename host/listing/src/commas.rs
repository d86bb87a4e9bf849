//! Lines of a table of values that commas, semicolons or tabs separate, as a spreadsheet writes them, in the form of a listing.
//!
//! ```text
//! "Initial size:","131072"         ->  Initial size: 131072
//! Initial size;131072;;            ->  Initial size: 131072
//! Initial size<tab>131072          ->  Initial size: 131072          also cells of a table in HTML
//! "STACK statistics:",             ->  STACK statistics:
//! 32,1210,3.04%                    ->  32 1210 3.04%          a row of numbers whose last is a share
//! ```
//!
//! Invariant: only lines of these forms are changed. A number with commas between its groups is one number.
//! Not here: which labels there are (`sections`).

use crate::number::{Word, word};
use crate::sections::{LABELS, SECTIONS};

/// No line of such a table has more fields of interest.
const FIELDS: usize = 16;
const THREADS: &str = "Largest number of threads concurrently active";

/// The line in the form of a listing; None if it has none of these forms.
pub(crate) fn plain(text: &[u8]) -> Option<Vec<u8>> {
    let Some(by) = text.iter().copied().find(|byte| matches!(byte, b',' | b';' | b'\t')) else {
        return title(text.trim_ascii()).map(|title| [title, b":"].concat());
    };
    let first = text.trim_ascii_start().first()?;
    if !(first.is_ascii_alphanumeric() || *first == b'"') {
        return None;
    }
    let mut fields = fields(text, by)?;
    let all = fields.len();
    if by == b'\t' {
        // Several of them fill a column.
        fields.retain(|field| !field.is_empty());
    }
    while fields.last().is_some_and(|field| field.is_empty()) {
        fields.pop();
    }
    let is_label = |name: &[u8]| {
        let is = |label: &str| name.eq_ignore_ascii_case(label.as_bytes());
        is(THREADS) || LABELS.iter().any(|(label, _)| is(label))
    };
    match &fields[..] {
        [one] if all > 1 => title(one.strip_suffix(b":").unwrap_or(one)).map(|title| [title, b":"].concat()),
        [label, value] if matches!(word(value), Word::Number(_)) => {
            let name = label.strip_suffix(b":").unwrap_or(label).trim_ascii();
            is_label(name).then(|| [name, b": ", value].concat())
        }
        [numbers @ .., last] if numbers.len() >= 2 && last.ends_with(b"%") => {
            let is_number = |field: &&[u8]| matches!(word(field), Word::Number(_));
            numbers.iter().all(is_number).then(|| fields.join(&b' '))
        }
        _ => None,
    }
}

/// The heading of a section, which a table has without its colon.
fn title(text: &[u8]) -> Option<&[u8]> {
    const WORD: &[u8] = b" statistics";
    let (name, word) = text.split_at_checked(text.len().checked_sub(WORD.len())?)?;
    let is_known = || SECTIONS.iter().any(|row| name.eq_ignore_ascii_case(row.title.as_bytes()));
    (word.eq_ignore_ascii_case(WORD) && is_known()).then_some(text)
}

/// The fields of a line, without the quotes around them; None if quotes are not closed, or there are too many fields.
fn fields(text: &[u8], by: u8) -> Option<Vec<&[u8]>> {
    let mut fields = Vec::new();
    let mut rest = text;
    let blank = |byte: &u8| byte.is_ascii_whitespace() && *byte != by;
    let start = |text: &[u8]| text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    loop {
        let field = &rest[start(rest)..];
        let end = match field.strip_prefix(b"\"") {
            Some(inner) => {
                let close = inner.iter().position(|byte| *byte == b'"')?;
                fields.push(inner[..close].trim_ascii());
                rest = &inner[close + 1..];
                rest = &rest[start(rest)..];
                if !(rest.is_empty() || rest[0] == by) {
                    return None;
                }
                0
            }
            None => {
                let end = rest.iter().position(|byte| *byte == by).unwrap_or(rest.len());
                fields.push(rest[..end].trim_ascii());
                end
            }
        };
        if fields.len() > FIELDS {
            return None;
        }
        match rest.get(end..)? {
            [] => return Some(fields),
            [_, more @ ..] => rest = more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn rows_of_a_table_are_lines_of_a_listing() {
        let check = |text: &str, expect: Option<&str>| {
            let got = plain(text.as_bytes()).map(|line| String::from_utf8_lossy(&line).into_owned());
            assert_eq!(got.as_deref(), expect, "{text}");
        };
        check("\"Initial size:\",\"131072\"", Some("Initial size: 131072"));
        check("Initial size;131072;;", Some("Initial size: 131072"));
        check("Initial size:,\"1,187,336\"", Some("Initial size: 1,187,336"));
        check("\"STACK statistics:\",", Some("STACK statistics:"));
        check("STACK statistics,,", Some("STACK statistics:"));
        check("STACK statistics", Some("STACK statistics:"));
        check("Initial size\t131072", Some("Initial size: 131072"));
        check("\tInitial size:\t\t1,187,336\t", Some("Initial size: 1,187,336"));
        check("\"Initial size\"\t\"131072\"", Some("Initial size: 131072"));
        check("STACK statistics\t", Some("STACK statistics:"));
        check("32\t1210\t3.04%", Some("32 1210 3.04%"));
        check("32,1210,3.04%", Some("32 1210 3.04%"));
        check("64;\"30,417\";76.38%", Some("64 30,417 76.38%"));
        for other in [
            "",
            ",",
            "Initial size: 131072",
            "Total heap storage used (sugg. initial size):      1,187,336",
            "Initial size,1,187,336",
            "HEAP(32768,32768,ANYWHERE,KEEP,8192,4096)",
            "\"Initial size,131072",
            "\"Initial size\"x,131072",
            "//GO EXEC PGM=PAY,REGION=64M",
            "a sentence, and its statistics",
            "other statistics",
            "statistics",
            "STACK statistics:",
        ] {
            check(other, None);
        }
        check(&"\",".repeat(40), None);
    }
}
