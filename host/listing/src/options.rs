//! Options reports (RPTOPTS), and the options of a CEEDUMP.
//!
//! ```text
//! Options Report for Enclave <name> <date>         PARMLIB(CEEPRM00)  OVR  HEAP64(0000000000000512,...
//! <where set>           NAME(values)               ... wrapped over lines, until the parentheses are closed
//! ```
//!
//! Invariant: a row has a known source, or a column OVR, and closed parentheses; a wrapped row has all its
//! values. Other lines between rows are skipped; a text that looks like a row but is none is a doubt.
//! Not here: the meaning of values (`underbar_options`). A COBOL options report that follows ends this one.

use underbar_options::{OPTIONS, WhereSet, find_option};

use crate::lines::Line;
use crate::model::{Doubt, Doubtful, Item, OptionRow, OptionsReport};
use crate::words::{Nesting, evidence, find, has, name_and_rest, sub_options, tidy};

const HEADING: &str = "options report for enclave";
/// This many lines without a row end the report.
const QUIET: u64 = 60;
/// The most lines of a wrapped row.
const WRAPPED: u64 = 8;
const SOURCES: [&str; 10] = [
    "IBM-supplied default",
    "PARMLIB(",
    "SETCEE command",
    "DD:CEEOPTS",
    "Programmer default",
    "Default setting",
    "Invocation command",
    "Installation default",
    "Region default",
    "Assembler user exit",
];
/// Sources that consist of a name alone: with more text next to it, as in `_CEE_RUNOPTS="HEAP(`, the line is not a row.
const NAMES: [&str; 7] = ["_CEE_RUNOPTS", "CEEUOPT", "CEEROPT", "CEEDOPT", "CEECOPT", "CELQUOPT", "CELQROPT"];
const OWN: [WhereSet; 9] = [
    WhereSet::UnderbarDefault,
    WhereSet::LanguageEnvironmentDefault,
    WhereSet::SystemFile,
    WhereSet::UserFile,
    WhereSet::ProgramFile,
    WhereSet::Environment,
    WhereSet::OptionsFile,
    WhereSet::CommandLine,
    WhereSet::Tune,
];

/// The state between lines.
#[derive(Default)]
pub(crate) struct Options {
    open: Option<OptionsReport>,
    /// A row whose parentheses are not closed yet: its first line, and its text so far.
    wrapped: Option<(u64, Vec<u8>)>,
}

impl Options {
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads a line; true if it is part of a report.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        if let Some(at) = find(line.text, HEADING.as_bytes()) {
            self.finish(out);
            let enclave = Some(name_and_rest(&line.text[at + HEADING.len()..]).0);
            self.open = Some(OptionsReport {
                enclave,
                lines: (line.number, line.number),
                ..OptionsReport::default()
            });
            return true;
        }
        if self.open.is_some() && has(line.text, "run-time options report") {
            self.finish(out);
            return false;
        }
        if let Some((first, mut text)) = self.wrapped.take() {
            if starts_row(line.text).is_none() && line.number < first + WRAPPED {
                text.extend_from_slice(line.text.trim_ascii_start());
                self.take(first, text, line);
                return true;
            }
            self.unclosed(first);
        }
        if let Some((source, _)) = starts_row(line.text) {
            let by_dump = source.ends_with(" OVR") || source.ends_with(" NONOVR");
            // Without heading: a CEEDUMP, the operator's display, or a report that is cut at its beginning.
            if self.open.is_none() {
                self.open = Some(OptionsReport {
                    dump: by_dump,
                    lines: (line.number, line.number),
                    ..OptionsReport::default()
                });
            }
            self.take(line.number, line.text.to_vec(), line);
            return true;
        }
        if self.open.as_ref().is_some_and(|open| line.number > open.lines.1 + QUIET) {
            self.finish(out);
        }
        false
    }

    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Item)) {
        if let Some((first, _)) = self.wrapped.take() {
            self.unclosed(first);
        }
        if let Some(report) = self.open.take() {
            out(Item::Options(report));
        }
    }

    fn take(&mut self, first: u64, text: Vec<u8>, line: Line<'_>) {
        let Some(open) = &mut self.open else { return };
        open.lines.1 = line.number;
        let Some((source, at)) = starts_row(&text) else { return };
        // A row without one of its lines has too few sub-options.
        let is_whole = |name: &str, values: &str| {
            let options = OPTIONS.iter().find(|entry| entry.name == name);
            let count = options.map_or(1, |entry| entry.sub_options.len());
            line.number == first || count < 2 || sub_options(values).len() == count
        };
        match row(&text[at..]) {
            Some((name, _, values)) if !is_whole(&name, &values) => {
                let words = format!("{name} is wrapped, and has too few values: not read");
                open.doubts.push(Doubt { kind: Doubtful::Cut, line: first, words });
            }
            Some((name, negative, values)) => {
                let (source, overridable) = match source.rsplit_once(' ') {
                    Some((source, "OVR")) => (source.trim_end().to_owned(), Some(true)),
                    Some((source, "NONOVR")) => (source.trim_end().to_owned(), Some(false)),
                    _ => (source, None),
                };
                let values = if overridable.is_some() { in_units(&name, &values) } else { values };
                if open.rows.len() < 4 * OPTIONS.len() {
                    open.rows.push(OptionRow {
                        source,
                        overridable,
                        name,
                        negative,
                        values,
                        evidence: evidence(first, &text),
                    });
                }
            }
            None if line.whole && text.len() < 4096 => self.wrapped = Some((first, text)),
            None => self.unclosed(first),
        }
    }

    fn unclosed(&mut self, line: u64) {
        let Some(open) = &mut self.open else { return };
        let words = "an option whose parentheses are not closed: not read".to_owned();
        open.doubts.push(Doubt { kind: Doubtful::CutLine, line, words });
    }
}

/// Values of a dump without the zeros that fill them up; sizes above the bar are numbers of megabytes, of 16 digits.
fn in_units(name: &str, values: &str) -> String {
    // A byte is two digits, whose zeros are significant.
    const FILLED: usize = 4;
    let is_above = name.ends_with("64") && name != "HEAPPOOLS64";
    let is_number = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit());
    let written = |value: &str| match value.trim_start_matches('0') {
        _ if value.len() < FILLED || !is_number(value) => value.to_owned(),
        "" => "0".to_owned(),
        size if is_above && value.len() == 16 => format!("{size}M"),
        size => size.to_owned(),
    };
    sub_options(values).into_iter().map(written).collect::<Vec<_>>().join(",")
}

/// The source of a row, and the start of its option.
fn starts_row(text: &[u8]) -> Option<(String, usize)> {
    let at = option_at(text)?;
    let source = tidy(&text[..at]);
    let plain = source.trim_start_matches(|c: char| "01+-".contains(c)).trim_start();
    let begins = |with: &str| plain.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    let is_name = NAMES.iter().any(|name| plain.eq_ignore_ascii_case(name));
    let known =
        is_name || SOURCES.iter().any(|known| begins(known)) || OWN.iter().any(|own| begins(own.label()));
    let by_dump = plain.ends_with(" OVR") || plain.ends_with(" NONOVR");
    (known || by_dump).then(|| (plain.to_owned(), at))
}

/// The start of an option: a name of the table before a parenthesis, or as the last word with NO before it.
pub(crate) fn option_at(text: &[u8]) -> Option<usize> {
    for (at, _) in text.iter().enumerate().filter(|(_, byte)| **byte == b'(') {
        let start = text[..at].iter().rposition(|byte| !byte.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
        let free = start == 0 || matches!(text[start - 1], b' ' | b'\t' | b',' | b'"' | b'\'' | b'(' | b'/');
        if free && named(&text[start..at]).is_some() {
            return Some(start);
        }
    }
    let start = text.iter().rposition(|&byte| byte == b' ').map_or(0, |at| at + 1);
    named(&text[start..]).filter(|(_, negative)| *negative).map(|_| start)
}

/// The option of that name, and whether it has the prefix NO.
pub(crate) fn named(word: &[u8]) -> Option<(&'static str, bool)> {
    if let Some(option) = find_option(word) {
        return Some((OPTIONS[option].name, false));
    }
    let rest = word.get(..2).filter(|no| no.eq_ignore_ascii_case(b"no")).map(|_| &word[2..])?;
    find_option(rest)
        .map(|option| &OPTIONS[option])
        .filter(|entry| entry.has_negative())
        .map(|entry| (entry.name, true))
}

/// `NAME(values)` from the start of a text, up to the closed parenthesis. None if it is not closed.
pub(crate) fn row(text: &[u8]) -> Option<(String, bool, String)> {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (name, negative) = named(&text[..end])?;
    let mut values = String::new();
    if text.get(end) != Some(&b'(') {
        return negative.then(|| (name.to_owned(), negative, values));
    }
    let mut nesting = Nesting::default();
    for &byte in &text[end..] {
        if nesting.take(byte) {
            return Some((name.to_owned(), negative, values[1..].to_owned()));
        }
        if nesting.is_quoted() || !byte.is_ascii_whitespace() {
            values.push(if byte.is_ascii() { char::from(byte) } else { '?' });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::in_units;

    #[test]
    fn zeros_that_fill_values_of_a_dump_are_taken_off() {
        let check =
            |name: &str, values: &str, expect: &str| assert_eq!(in_units(name, values), expect, "{name}");
        check(
            "HEAP",
            "0000065536,0000032768,ANYWHERE,KEEP,0000008192,0000004096",
            "65536,32768,ANYWHERE,KEEP,8192,4096",
        );
        check("STORAGE", "NONE,NONE,00,0000000000", "NONE,NONE,00,0");
        check("MSGFILE", "SYSOUT,FBA,00121,00000,NOENQ", "SYSOUT,FBA,121,0,NOENQ");
        check("HEAP64", "0000000000000512,0000000000000001,KEEP,0000032768", "512M,1M,KEEP,32768");
        check("HEAPPOOLS64", "OFF,0000000008,0000004000", "OFF,8,4000");
    }
}
