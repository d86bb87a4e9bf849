//! One row of a table of frequencies.
//!
//! ```text
//! [control] [>] class limit [KB]  count  percent%  [|****]
//! ```
//!
//! Invariant: a row counts only with its percent sign: the text before it is whole, wherever the line was cut.
//! A number that blanks may have split is not taken.

use crate::number::{Word, word};
use crate::words::split;

/// No count is larger: the sum over many reports still fits a number.
pub(crate) const MOST_COUNTED: u64 = 1 << 40;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Something else.
    Other,
    /// An unreadable row, and the reason.
    Damaged(&'static str),
    /// A row.
    Row(Row),
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Upper limit of the class, in bytes.
    pub limit: u64,
    /// All that is above the limit.
    pub over: bool,
    /// Whether the limit is printed in KB.
    pub kb: bool,
    /// The count.
    pub count: u64,
    /// Hundredths of a percent.
    pub percent: u64,
    /// Length of the bar; None where there is none.
    pub bar: Option<u64>,
}

const SPLIT: &str = "numbers precede the class, so that its beginning is unclear";

/// Classifies a line.
pub(crate) fn row(text: &[u8]) -> Read {
    let bar_at = text.iter().position(|byte| *byte == b'|').unwrap_or(text.len());
    let bar =
        (bar_at < text.len()).then(|| text[bar_at..].iter().filter(|byte| **byte == b'*').count() as u64);
    let left = without_control(&text[..bar_at]);
    let mut words: Vec<&[u8]> = split(left).take(12).collect();
    let Some(last) = words.pop() else { return Read::Other };
    let Some(percent) = last.strip_suffix(b"%") else {
        words.push(last);
        let is_row = words.len() <= 4 && words.len() >= 2 && words.iter().all(|word| is_figure(word));
        return if is_row {
            Read::Damaged("its percentage is missing or damaged: the line may be cut")
        } else {
            Read::Other
        };
    };
    let Some(count) = words.pop().filter(|word| is_figure(word)) else { return Read::Other };
    let mut kb = false;
    if words.last().is_some_and(|word| word.eq_ignore_ascii_case(b"KB")) {
        words.pop();
        kb = true;
    }
    let Some(class) = words.pop() else { return Read::Other };
    let mut over = class.starts_with(b">");
    let mut class = class.strip_prefix(b">").unwrap_or(class);
    if words.last().is_some_and(|word| *word == b">") {
        words.pop();
        over = true;
    }
    if let Some((number, unit)) = class.split_at_checked(class.len().saturating_sub(2))
        && unit.eq_ignore_ascii_case(b"KB")
    {
        (class, kb) = (number, true);
    }
    if words.iter().any(|word| !is_prefix(word)) {
        return Read::Damaged(SPLIT);
    }
    let (Some(limit), Some(count)) = (plain(class), plain(count)) else {
        return Read::Damaged("its value is not a number");
    };
    let Some(percent) = hundredths(percent) else {
        return Read::Damaged("its percentage is not a number");
    };
    match limit.checked_mul(if kb { 1 << 10 } else { 1 }) {
        Some(limit) if limit <= 1 << 47 && count <= MOST_COUNTED => {
            Read::Row(Row { limit, over, kb, count, percent, bar })
        }
        _ => Read::Damaged("a figure that cannot be"),
    }
}

/// A number without unit and without leading zeros, which are the remains of a split number.
pub(crate) fn plain(text: &[u8]) -> Option<u64> {
    let well = text.last().is_some_and(u8::is_ascii_digit) && (text.len() == 1 || text[0] != b'0');
    match word(text) {
        Word::Number(value) if well => Some(value),
        _ => None,
    }
}

/// `12.34` as 1234, up to 100.00.
fn hundredths(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = text.split_at_checked(text.iter().position(|byte| *byte == b'.')?)?;
    let fraction = &fraction[1..];
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if whole.is_empty() || whole.len() > 3 || fraction.len() != 2 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let number = |part: &[u8]| part.iter().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    Some(number(whole) * 100 + number(fraction)).filter(|value| *value <= 10_000)
}

/// Without the control character of a print file.
///
/// A 1 before a blank could be the remains of a number with a blank in it; a 1 before three blanks is not.
pub(crate) fn without_control(text: &[u8]) -> &[u8] {
    match text {
        [b'0' | b'-' | b'+', b' ', rest @ ..] | [b'1', b' ', b' ', b' ', rest @ ..] => rest,
        _ => text,
    }
}

/// The prefix of a log before a line: a time, the name of a job.
pub(crate) fn is_prefix(word: &[u8]) -> bool {
    is_time(word) || (word.len() >= 3 && word[0].is_ascii_alphabetic())
}

/// `14.22.00`, `14:22:00`.
pub(crate) fn is_time(word: &[u8]) -> bool {
    word.len() >= 5 && word.iter().filter(|byte| matches!(byte, b':' | b'.')).count() >= 2
}

/// A number, or the remains of one.
fn is_figure(text: &[u8]) -> bool {
    let text = text.strip_prefix(b">").unwrap_or(text);
    let text = text.strip_suffix(b"KB").or(text.strip_suffix(b"kb")).unwrap_or(text);
    text.is_empty() || (!is_prefix(text) && word(text) != Word::Other) || hundredths(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<(u64, bool, u64, u64)>) {
        let got = match row(text.as_bytes()) {
            Read::Row(row) => Some((row.limit, row.over, row.count, row.percent)),
            _ => None,
        };
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn rows_of_both_reports() {
        check("          128        7112       88.90%", Some((128, false, 7112, 8890)));
        check("128\t7112\t88.90%\t\t", Some((128, false, 7112, 8890)));
        check("  > 64KB   2   8.00%   |**", Some((64 << 10, true, 2, 800)));
        check(">64kb 2 8.00% |**", Some((64 << 10, true, 2, 800)));
        check("  16 KB   2   8.00%   |**", Some((16 << 10, false, 2, 800)));
        check("0KB 5 45.00% |*****", Some((0, false, 5, 4500)));
        check("0        1,024   1,000,000  10.00%", Some((1024, false, 1_000_000, 1000)));
        check("10.15.07 JOB01234   512  6  0.10%", Some((512, false, 6, 10)));
    }

    #[test]
    fn damage_is_no_row() {
        for text in [
            "1 024 5 0.01%",
            "12 8 7112 88.90%",
            "128 71 12 88.90%",
            "128 7112 88.9",
            "128 7112",
            "128 7l12 88.90%",
            "128 $\\cap$ 0.00%",
            "128 O O.OO%",
            "128 0 0.O0%",
            "l 128 7112 88.90%",
            "128 7112 188.90%",
            "128 7112 8.890%",
            "12.8 7112 88.90%",
            "-128 7112 88.90%",
            "128 2000000000000 88.90%",
            "99999999999999999999 1 0.01%",
        ] {
            check(text, None);
            assert!(matches!(row(text.as_bytes()), Read::Damaged(_)), "{text}");
        }
        for text in ["", "0", "PAGE 7", "1 PAYROLL 100%", "LIMIT OBSERVED OF TOTAL", "100%", "CPU 98%"] {
            assert_eq!(row(text.as_bytes()), Read::Other, "{text}");
        }
    }
}
