//! An option text in progress: its lines one by one, then its options and its errors.
//!
//! Invariant: each option keeps the line on which it begins; a complaint of the option check is a doubt, with the
//! line's column if it is known. An option that is not closed is not taken.
//! Not here: the lines of a text (`carriers`, `parm`).

use underbar_options::{Problem, Severity, check};

use crate::lines::Line;
use crate::model::{Carrier, Doubt, Doubtful, Evidence, IN, Item, OptionRow, OptionText, Unread};
use crate::options::{named, row};
use crate::statement::InStream;
use crate::texts::closed_at;
use crate::words::{Nesting, evidence, find, tidy};

/// Names among the run-time options of C's `#pragma runopts` and of old texts that mean nothing here.
const OTHERS: [&str; 9] =
    ["ARGPARSE", "EXECOPS", "LIBRARY", "NONIPTSTACK", "PLIST", "REDIR", "RTLS", "TARGET", "VERSION"];
/// The most characters of a line that are kept for display.
const WIDE: usize = 400;
/// An option is no longer than this, so that many open options cost no more than one.
const LONGEST: usize = 4096;
const TOO_LONG: &str = "an option that is not closed within 4096 bytes: not read";

pub(crate) struct Open {
    pub(crate) carrier: Carrier,
    /// Begun by a line that merely looks like options.
    pub(crate) bare: bool,
    pub(crate) first: Evidence,
    pub(crate) parts: Vec<Piece>,
    /// The error in the order of the lines.
    pub(crate) doubts: Vec<Doubt>,
    pub(crate) follows: Follows,
    pub(crate) bytes: usize,
    pub(crate) nesting: Nesting,
    /// The end of the data after a DD statement.
    pub(crate) stream: Option<InStream>,
    /// The mark of a shell's string that is open.
    pub(crate) quote: Option<u8>,
}

/// The part of a line in a text.
pub(crate) struct Piece {
    line: u64,
    pub(crate) text: Vec<u8>,
    /// The line as in the input, and the column in it at which the piece begins.
    whole: Vec<u8>,
    at: usize,
}

impl Piece {
    /// The part of a line from a column on.
    pub(crate) fn new(line: Line<'_>, text: Vec<u8>, at: usize) -> Self {
        Self { line: line.number, text, whole: line.text.get(..WIDE).unwrap_or(line.text).to_vec(), at }
    }

    pub(crate) fn part(self, from: usize, to: usize) -> Self {
        Self { text: self.text[from..to].to_vec(), at: self.at + from, ..self }
    }
}

/// The kind of the next line of a macro.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// Operands.
    Operands,
    /// Remarks: no comma ended the operands before it.
    Remarks,
    /// Another statement: no mark in column 72 continued the one before it.
    Statement,
}

impl Open {
    pub(crate) fn new(carrier: Carrier, line: Line<'_>) -> Self {
        Self::of(carrier, evidence(line.number, line.text))
    }

    pub(crate) fn of(carrier: Carrier, first: Evidence) -> Self {
        let (parts, doubts, follows) = (Vec::new(), Vec::new(), Follows::Operands);
        let (bytes, nesting, stream, quote) = (0, Nesting::default(), None, None);
        Self { carrier, bare: false, first, parts, doubts, follows, bytes, nesting, stream, quote }
    }

    pub(crate) fn push(&mut self, line: Line<'_>, text: Vec<u8>) {
        self.bytes += text.len();
        // The line is without the blanks that fill up a record.
        let shown = text.trim_ascii();
        let start = shown.get(..shown.len().min(16)).unwrap_or_default();
        let at = line.text.windows(start.len().max(1)).position(|here| here == start).unwrap_or(0);
        let before = text.len() - text.trim_ascii_start().len();
        self.parts.push(Piece::new(line, text, at.saturating_sub(before)));
    }

    /// The kind of the line after this one of a macro: "A comma must end each option except for the final option."
    pub(crate) fn follows(&mut self, line: Line<'_>, body: &[u8], more: bool) {
        let mut quoted = false;
        let end = body.iter().position(|byte| {
            quoted ^= *byte == b'\'';
            *byte == b' ' && !quoted
        });
        let operands = &body[..end.unwrap_or(body.len())];
        // A string may go on up to column 71.
        let full = line.text.len() >= 72 && line.text[70] != b' ';
        self.follows = match (operands.last(), more) {
            (Some(b','), false) => {
                let words =
                    "ends in a comma, and no mark in column 72 continues it: the next options are not set";
                self.doubt(line, words);
                Follows::Statement
            }
            (Some(last), true) if *last != b',' && !full => Follows::Remarks,
            _ => Follows::Operands,
        };
    }

    pub(crate) fn doubt(&mut self, line: Line<'_>, words: &str) {
        let column = 1 + line.text.iter().position(|byte| *byte != b' ').unwrap_or(0);
        let words = format!("column {column}: {words}{IN}{}", tidy(line.text));
        if self.doubts.len() < 50 {
            self.doubts.push(Doubt { kind: Doubtful::NotANumber, line: line.number, words });
        }
    }

    /// Takes a line of a member; true at the closed parenthesis.
    pub(crate) fn member(&mut self, line: Line<'_>, text: &[u8]) -> bool {
        let mut kept = Vec::new();
        let mut rest = text;
        let mut closed = false;
        self.nesting.unquote();
        while let Some((&byte, behind)) = rest.split_first() {
            if rest.starts_with(b"/*") && !self.nesting.is_quoted() {
                // Its star does not close it.
                let inner = &rest[2..];
                rest = find(inner, b"*/").map_or(&[], |at| &inner[at + 2..]);
                continue;
            }
            rest = behind;
            if self.nesting.take(byte) {
                closed = true;
                break;
            }
            kept.push(byte);
        }
        self.push(line, kept);
        closed
    }

    pub(crate) fn unclosed(&self) -> bool {
        let mut nesting = Nesting::default();
        for piece in &self.parts {
            nesting.unquote();
            piece.text.iter().for_each(|byte| _ = nesting.take(*byte));
        }
        nesting.depth > 0
            || self.parts.last().is_some_and(|piece| piece.text.trim_ascii_end().ends_with(b","))
    }

    /// A message about the text, with the column of the line as in the input, and the line.
    fn words(piece: Option<&Piece>, from: usize, message: &str, byte: Option<u8>) -> String {
        let plain = match message.split_once(": ") {
            Some((at, plain)) if at.starts_with("column ") => plain,
            _ => message,
        };
        let plain: String = plain.chars().take(200).collect();
        let Some(piece) = piece else { return plain };
        let column = piece.at + from;
        let line = tidy(&piece.whole);
        match piece.whole.get(column) {
            known if known.is_some() && known.copied() == byte => {
                format!("column {}: {plain}{IN}{line}", column + 1)
            }
            _ => format!("{plain}{IN}{line}"),
        }
    }

    /// Whether a bare line consists of options only, with digits: no sentence has this form.
    fn has_form(&self) -> bool {
        let bytes = || self.parts.iter().flat_map(|piece| piece.text.trim_ascii());
        let plain = bytes().all(|byte| byte.is_ascii_alphanumeric() || b"(),".contains(byte));
        plain && !self.unclosed() && bytes().any(u8::is_ascii_digit)
    }

    pub(crate) fn hand_over(mut self, closed: bool, out: &mut dyn FnMut(Item)) {
        let (mut text, mut starts) = (Vec::new(), Vec::new());
        for (at, piece) in self.parts.iter().enumerate() {
            starts.push((text.len(), piece.line, at));
            text.extend_from_slice(&piece.text);
        }
        let line_at = |at: usize| {
            starts.iter().rev().find(|start| start.0 <= at).map_or(self.first.line, |start| start.1)
        };
        let mut doubts = std::mem::take(&mut self.doubts);
        check(&text, &mut |diagnostic| {
            let name = text.get(diagnostic.span.start..diagnostic.span.end).unwrap_or_default();
            let unknown = matches!(diagnostic.problem, Problem::UnknownOption { .. });
            if unknown && is_of_others(name) {
                return;
            }
            if diagnostic.severity() == Severity::Warning && doubts.len() < 50 {
                let place = starts.iter().rev().find(|start| start.0 <= diagnostic.span.start);
                let (piece, from) = place
                    .map_or((None, 0), |start| (self.parts.get(start.2), diagnostic.span.start - start.0));
                let byte = text.get(diagnostic.span.start).copied();
                let words = Self::words(piece, from, &diagnostic.to_string(), byte);
                let kind = Doubtful::NotANumber;
                doubts.push(Doubt { kind, line: line_at(diagnostic.span.start), words });
            }
        });
        if self.bare && !doubts.is_empty() && !self.has_form() {
            let words = doubts[0].words.split(IN).next().unwrap_or_default();
            let why = format!("looks like run-time options, and is not: {words}");
            out(Item::Unread(Unread { evidence: self.first, why }));
            return;
        }
        let mut rows = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let start = at;
            at += 1;
            if !text[start].is_ascii_alphabetic() || (start > 0 && text[start - 1].is_ascii_alphanumeric()) {
                continue;
            }
            let end = start
                + text[start..]
                    .iter()
                    .position(|byte| !byte.is_ascii_alphanumeric())
                    .unwrap_or(text.len() - start);
            if named(&text[start..end]).is_none() {
                at = end.max(at);
                continue;
            }
            let mut plain = text[start..end].to_vec();
            let equals = usize::from(text.get(end) == Some(&b'='));
            let tail = &text[end + equals..];
            let tail = tail.get(..LONGEST).unwrap_or(tail);
            plain.extend_from_slice(tail);
            let Some((name, negative, values)) = row(&plain) else {
                let is_long = tail.len() == LONGEST && tail.starts_with(b"(");
                if is_long && !doubts.iter().any(is_too_long) {
                    let (kind, line) = (Doubtful::Cut, line_at(start));
                    doubts.push(Doubt { kind, line, words: TOO_LONG.to_owned() });
                }
                at = end;
                continue;
            };
            // An option with NO has no parentheses.
            let length = closed_at(tail).unwrap_or(0);
            let line = line_at(start);
            let shown = &text[start..(end + equals + length).min(text.len())];
            at = (end + equals + length).max(at);
            // ((values),OVR) of a member or a macro.
            let inner = crate::words::sub_options(&values);
            let (values, overridable) = match inner[..] {
                [nested, word] if nested.starts_with('(') && nested.ends_with(')') => {
                    let is = |name: &str| word.eq_ignore_ascii_case(name).then_some(name == "OVR");
                    match is("OVR").or_else(|| is("NONOVR")) {
                        Some(ovr) => (nested[1..nested.len() - 1].to_owned(), Some(ovr)),
                        None => (values, None),
                    }
                }
                _ => (values, None),
            };
            rows.push(OptionRow {
                source: String::new(),
                overridable,
                name,
                negative,
                values,
                evidence: evidence(line, shown),
            });
        }
        if !closed {
            let last =
                self.parts.last().map_or_else(String::new, |piece| format!("{IN}{}", tidy(&piece.whole)));
            let words = format!("the option text is not closed{last}");
            doubts.push(Doubt {
                kind: Doubtful::Cut,
                line: self.parts.last().map_or(self.first.line, |part| part.line),
                words,
            });
        }
        out(Item::Text(OptionText { carrier: self.carrier, rows, evidence: self.first, doubts }));
    }
}

fn is_too_long(doubt: &Doubt) -> bool {
    doubt.words == TOO_LONG
}

fn is_of_others(name: &[u8]) -> bool {
    let plain = name.get(..2).filter(|no| no.eq_ignore_ascii_case(b"no")).map_or(name, |_| &name[2..]);
    OTHERS.iter().any(|other| [name, plain].iter().any(|name| name.eq_ignore_ascii_case(other.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options of all texts.
    fn check(text: &str, expect: &[&str]) {
        let mut got = Vec::new();
        for item in crate::read(text.as_bytes()) {
            let Item::Text(text) = item else { continue };
            for OptionRow { name, values, overridable, .. } in text.rows {
                let over = overridable.map_or("", |over| if over { " OVR" } else { " NONOVR" });
                got.push(format!("{name}({values}){over}"));
            }
        }
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn options_end_at_their_own_parenthesis() {
        check("//CEEOPTS DD *\nENVAR('A=('),HEAP(1M)\n/*\n", &["ENVAR('A=(')", "HEAP(1M)"]);
        check(
            "//CEEOPTS DD *\nENVAR('A=)HEAP(1M)'),STACK(64K)\n/*\n",
            &["ENVAR('A=)HEAP(1M)')", "STACK(64K)"],
        );
        check("//CEEOPTS DD *\nHEAP(1M STACK(64K)\n/*\n", &["STACK(64K)"]);
    }

    #[test]
    fn members_have_comments_and_say_what_may_be_overridden() {
        check("CEEDOPT(/*/ HEAP(1M), */ STACK(64K))\n", &["STACK(64K)"]);
        check("CEEDOPT(/**/HEAP(1M),/* A */STACK(64K))\n", &["HEAP(1M)", "STACK(64K)"]);
        check("CEEDOPT(ENVAR('A=)'),\n  STACK(64K))\n", &["ENVAR('A=)')", "STACK(64K)"]);
        check("CEEDOPT(ENVAR('A=/*'),\n  STACK(64K))\n", &["ENVAR('A=/*')", "STACK(64K)"]);
        // An apostrophe that no other follows in its line is no quote in the next.
        check("CEEDOPT(HEAP(1M), DON'T\n  STACK(64K))\n", &["HEAP(1M)", "STACK(64K)"]);
        let over = ["HEAP(1M) NONOVR", "STACK(64K) OVR", "ANYHEAP(1M) NONOVR"];
        check("CEEDOPT(HEAP((1M),NonOvr),STACK((64K),ovr),ANYHEAP((1M),NONOVR))\n", &over);
    }

    #[test]
    fn an_option_that_is_too_long_is_named_and_many_that_are_not_closed_are_none() {
        let long = format!("export _CEE_RUNOPTS=\"ENVAR('{}') STACK(64K)\"\n", "A".repeat(LONGEST));
        check(&long, &["STACK(64K)"]);
        let said = |text: &str| {
            let items = crate::read(text.as_bytes());
            items.iter().any(|item| matches!(item, Item::Text(text) if text.doubts.iter().any(is_too_long)))
        };
        assert!(said(&long));
        let fits = format!("export _CEE_RUNOPTS=\"ENVAR('{}') STACK(64K)\"\n", "A".repeat(4000));
        check(&fits, &[&format!("ENVAR('{}')", "A".repeat(4000)), "STACK(64K)"]);
        assert!(!said(&fits));
        let open = "HEAP(".repeat(6000);
        check(&format!("export _CEE_RUNOPTS=\"{open}\"\n"), &[]);
        check(&format!("export _CEE_RUNOPTS=\"{open}STACK(64K)\"\n"), &["STACK(64K)"]);
    }
}
