//! A CEEOPTS data set as it comes from z/OS: records of 80 columns, with their numbers in the last eight.
//!
//! ```text
//! 1......................72 73....80      '*' in column 1: a comment, even inside an option (as everywhere, `grammar`)
//! text                      number        a word that fills its record continues in the next, without a blank
//! ```
//!
//! Records are lines or, if the file has no line ends, 80 bytes each, as a binary transfer leaves them.
//! Invariant: lines keep their numbers and columns, except for the rest of a word, which moves to the line where it began.
//! Diagnostics therefore point at the places that people see.
//! Not here: data sets without numbers. They are option texts already, except for words that fill their record.

/// Columns of text in a record.
const TEXT: usize = 72;
/// Columns of a record.
const RECORD: usize = 80;

/// Turns a CEEOPTS data set with numbers into an option text, in place; false, without any change, if it is none: records
/// that are longer than their text must end with a number of eight digits at column 80, and there must be one.
pub fn take_off_numbers(data_set: &mut [u8]) -> bool {
    let has_lines = data_set.contains(&b'\n');
    if !is_numbered(data_set, has_lines) {
        return false;
    }
    let mut start = 0;
    // If a word fills the last text record: the offset at which the next one continues.
    let mut goes_on = None;
    while start < data_set.len() {
        let (length, next) = record(&data_set[start..], has_lines);
        let (end, next) = (start + length.min(TEXT), start + next);
        data_set[(start + length).min(end)..start + length].fill(b' ');
        if !has_lines && length == RECORD {
            data_set[next - 1] = b'\n';
        }
        if data_set[start] != b'*' {
            let first = match goes_on {
                Some(at) if end > start && !data_set[start].is_ascii_whitespace() => {
                    // The line ends and comments between them move after this record's text.
                    data_set[at..end].rotate_right(end - start);
                    at
                }
                _ => start,
            };
            let last = first + (end - start);
            let is_full = end - start == TEXT && !data_set[last - 1].is_ascii_whitespace();
            goes_on = is_full.then_some(last);
        }
        start = next;
    }
    true
}

fn is_numbered(data_set: &[u8], has_lines: bool) -> bool {
    let mut rest = data_set;
    let mut is_numbered = false;
    while !rest.is_empty() {
        let (length, next) = record(rest, has_lines);
        if length > TEXT {
            if length != RECORD || !rest[TEXT..RECORD].iter().all(u8::is_ascii_digit) {
                return false;
            }
            is_numbered = true;
        }
        rest = &rest[next..];
    }
    is_numbered
}

/// Length of the record at the beginning of a text that is not empty, and the offset of the next one.
fn record(text: &[u8], has_lines: bool) -> (usize, usize) {
    if !has_lines {
        let length = text.len().min(RECORD);
        return (length, length);
    }
    let length = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    let line = &text[..length];
    (line.strip_suffix(b"\r").unwrap_or(line).len(), (length + 1).min(text.len()))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Disposition, HugePages, ProgramName, Settings, Size, WhereSet};
    use std::string::String;
    use std::{format, vec};

    fn settings(text: &[u8]) -> (Settings, usize) {
        let (mut settings, mut warnings) = (Settings::default(), 0);
        settings.apply(text, &ProgramName::default(), WhereSet::UserFile, &mut |diagnostic| {
            warnings += usize::from(diagnostic.severity() == crate::Severity::Warning);
        });
        (settings, warnings)
    }

    fn record(text: &str, number: u32) -> String {
        format!("{text:<72}{number:08}")
    }

    #[test]
    fn numbers_are_no_options_and_comments_stand_within_an_option() {
        let lines = [
            record("* a comment", 10),
            record("RPTSTG(ON),HEAP(2M,", 20),
            record("* a comment within an option: HEAP(9M)", 30),
            record("3M", 40),
            record(",,KEEP)", 50),
        ];
        for data_set in [lines.join("\n"), lines.join("\r\n") + "\r\n", lines.concat()] {
            let mut text = data_set.clone().into_bytes();
            assert!(take_off_numbers(&mut text));
            let (settings, warnings) = settings(&text);
            assert_eq!(warnings, 0, "{data_set:?}");
            assert!(settings.report_storage());
            let heap = settings.heap();
            assert_eq!(heap.init, Size::Bytes(2 << 20));
            assert_eq!(heap.increment, Size::Bytes(3 << 20));
            assert_eq!(heap.disposition, Disposition::Keep);
        }
    }

    #[test]
    fn a_word_that_fills_its_record_goes_on_in_the_next() {
        let records = [
            format!("{:>72}12345678", "RPTS"),
            record("* between", 1),
            record("TG(ON)", 2),
            record("HUGEPAGES(ON)", 3),
        ];
        for data_set in [records.join("\n"), records.join("\r\n"), records.concat()] {
            let mut text = data_set.into_bytes();
            assert!(take_off_numbers(&mut text));
            let text = String::from_utf8(text).expect("text");
            let lines: vec::Vec<&str> = text.lines().map(str::trim).collect();
            assert_eq!(lines, ["RPTSTG(ON)", "* between", "", "HUGEPAGES(ON)"]);
            let (settings, warnings) = settings(text.as_bytes());
            assert_eq!(warnings, 0);
            assert!(settings.report_storage() && settings.huge_pages() == HugePages::On);
        }
    }

    #[test]
    fn a_word_may_fill_more_than_a_record() {
        let name = "x".repeat(150);
        let (first, rest) = name.split_at(72);
        let (second, third) = rest.split_at(72);
        let mut text = [record(first, 1), record(second, 2), record(third, 3), record("HEAP(1M)", 4)]
            .concat()
            .into_bytes();
        assert!(take_off_numbers(&mut text));
        let text = String::from_utf8(text).expect("text");
        let lines: vec::Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines, [&name, "", "", "HEAP(1M)"]);
    }

    #[test]
    fn what_is_no_data_set_with_numbers_stays_as_it_is() {
        let long = format!("{}\n", "HEAP(1M),".repeat(20));
        let near = format!("{:<72}1234567\n", "HEAP(1M)");
        let further = format!("{:<73}12345678\n", "HEAP(1M)");
        for text in ["", "\n", "HEAP(1M)", "HEAP(1M)\nRPTSTG(ON)\n", &long, &near, &further, &"1".repeat(79)]
        {
            let mut bytes = text.as_bytes().to_vec();
            assert!(!take_off_numbers(&mut bytes), "{text:?}");
            assert_eq!(bytes, text.as_bytes());
        }
    }
}
