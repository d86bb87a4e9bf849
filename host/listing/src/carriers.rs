//! Option texts as they stand in data sets, sources, members, scripts and job control.
//!
//! | carrier | begins | ends |
//! |---|---|---|
//! | CEEOPTS | `//CEEOPTS DD *`, or a line that is an option | `/*`, `//`, an empty line |
//! | CEEUOPT | the word CEEXOPT | a line without continuation |
//! | CEEPRMxx | CEEDOPT(, CEECOPT(, CELQDOPT(, CEEROPT(, CELQROPT( | the closed parenthesis |
//! | `_CEE_RUNOPTS` | `_CEE_RUNOPTS=` | the end of its value |
//! | PARM | PARM= | the end of its value, before or behind the slash |
//!
//! Invariant: each option keeps the line on which it begins; what the check of options complains about is a doubt.
//! An option that is not closed is not taken.

use underbar_options::{Problem, Severity, check};

use crate::lines::Line;
use crate::model::{Carrier, Doubt, Doubtful, Evidence, Item, OptionRow, OptionText, Unread};
use crate::options::{named, row};
use crate::texts::{closed_at, columns, is_bare, is_misspelt, macro_line, shell_value, variable};
use crate::words::{evidence, find, has, tidy};

/// So many lines and bytes are taken for one text.
const LINES: usize = 400;
const BYTES: usize = 32 << 10;
const GROUPS: [&str; 5] = ["ceedopt(", "ceecopt(", "celqdopt(", "ceeropt(", "celqropt("];
/// What a member says about the region's options, in small letters and without options.
const REGION: [&str; 6] = [
    "ceeropt(all)",
    "ceeropt(compat)",
    "ceeropt(none)",
    "celqropt(all)",
    "celqropt(compat)",
    "celqropt(none)",
];
/// Names that stand among run-time options in C's `#pragma runopts` and in old texts, and are none that says anything here.
const OTHERS: [&str; 9] =
    ["ARGPARSE", "EXECOPS", "LIBRARY", "NONIPTSTACK", "PLIST", "REDIR", "RTLS", "TARGET", "VERSION"];
/// So much of a line is kept to be shown.
const WIDE: usize = 400;
/// Stands between a message and the line that it is about.
pub(crate) const IN: &str = "; in: ";

/// The state between lines.
#[derive(Default)]
pub(crate) struct Carriers {
    open: Option<Open>,
}

struct Open {
    carrier: Carrier,
    /// Begun by a line that merely looks like options.
    bare: bool,
    first: Evidence,
    parts: Vec<Piece>,
    /// What is wrong with how the lines follow one another.
    doubts: Vec<Doubt>,
    follows: Follows,
    bytes: usize,
    depth: i32,
}

/// What a line has in a text.
struct Piece {
    line: u64,
    text: Vec<u8>,
    /// The line as it stands in the input, and where in it the piece begins.
    whole: Vec<u8>,
    at: usize,
}

/// What the next line of a macro is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// Operands.
    Operands,
    /// Remarks: no comma ended the operands before it.
    Remarks,
    /// Another statement: no mark in column 72 continued the one before it.
    Statement,
}

impl Carriers {
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a line is one of the macro CEEXOPT, its first or a later one.
    pub(crate) fn is_macro(&self, text: &[u8]) -> bool {
        self.open.as_ref().is_some_and(|open| open.carrier == Carrier::Ceeuopt) || has(text, "ceexopt")
    }

    /// Looks at a line; true if it is part of an option text.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        if self.open.is_some() && self.goes_on(line, out) {
            return true;
        }
        let text = line.text;
        if let Some(value) = variable(text) {
            let (value, closed) = shell_value(value, line.whole);
            let mut open = Open::new(Carrier::CeeRunopts, line);
            open.push(line, value);
            open.hand_over(closed, out);
            return true;
        }
        if is_misspelt(text) {
            let words = "_CEE_RUNOPT is no name that is looked at: the variable is _CEE_RUNOPTS".to_owned();
            let doubts = vec![Doubt { kind: Doubtful::NotANumber, line: line.number, words }];
            let evidence = evidence(line.number, text);
            out(Item::Text(OptionText { carrier: Carrier::CeeRunopts, rows: Vec::new(), evidence, doubts }));
            return true;
        }
        if let Some(at) = find(text, b"ceexopt")
            && !text.starts_with(b"*")
        {
            let open = self.open.insert(Open::new(Carrier::Ceeuopt, line));
            let (body, more) = macro_line(text, at + 7);
            open.follows(line, &body, more);
            open.push(line, body);
            if !more && open.follows != Follows::Statement {
                self.close(line.whole, out);
            }
            return true;
        }
        if let Some(group) = GROUPS
            .iter()
            // CEEROPT(ALL), CELQROPT(NONE): which programs take the region's options, and no option itself.
            .filter(|_| !REGION.iter().any(|word| has(text, word)))
            .find_map(|group| find(text, group.as_bytes()).map(|at| at + group.len()))
        {
            let open = self.open.insert(Open::new(Carrier::Ceeprm, line));
            open.depth = 1;
            if open.member(line, &text[group..]) {
                self.close(true, out);
            }
            return true;
        }
        if text.starts_with(b"//")
            && has(text, "ceeopts")
            && has(text, " dd ")
            && text.trim_ascii_end().ends_with(b"*")
        {
            self.open = Some(Open::new(Carrier::Ceeopts, line));
            return true;
        }
        if is_bare(text) {
            let open = self.open.insert(Open::new(Carrier::Ceeopts, line));
            open.bare = true;
            open.push(line, columns(text));
            if !line.whole {
                self.close(false, out);
            }
            return true;
        }
        false
    }

    fn goes_on(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        let Some(open) = &mut self.open else { return false };
        let text = line.text;
        if open.parts.len() > LINES || open.bytes > BYTES {
            self.close(false, out);
            return false;
        }
        match open.carrier {
            Carrier::Ceeuopt => {
                let (body, more) = macro_line(text, 0);
                if open.follows == Follows::Statement {
                    // Meant as operands, and none: passed over with those that follow it.
                    let meant = text.starts_with(b"          ") && body.contains(&b'=');
                    if !meant {
                        self.close(true, out);
                    }
                    return meant;
                }
                if text.starts_with(b"*") {
                    return true;
                }
                if open.follows == Follows::Remarks {
                    let words = "a remark, of which nothing is set: the line before does not end in a comma";
                    open.doubt(line, words);
                } else {
                    open.follows(line, &body, more);
                    open.push(line, body);
                }
                if !more && open.follows != Follows::Statement {
                    self.close(line.whole, out);
                }
                true
            }
            Carrier::Ceeprm => {
                if open.member(line, text) {
                    self.close(true, out);
                }
                true
            }
            _ => {
                let ends = text.is_empty() || text.starts_with(b"//") || text.starts_with(b"/*");
                let open_text = open.unclosed();
                let fits = text.starts_with(b"*")
                    || open_text
                    || is_bare(text)
                    || text.starts_with(b",")
                    || !open.bare;
                if ends || !fits {
                    self.close(true, out);
                    return ends && !text.starts_with(b"//");
                }
                if !text.starts_with(b"*") {
                    open.push(line, columns(text));
                }
                if !line.whole {
                    self.close(false, out);
                }
                true
            }
        }
    }

    /// A line of a report comes: what merely looked like options ends here. `row`: it is one of an options report, so that
    /// a text on the first line of the input may be the end of another one, HEAP(...) of ANYHEAP(...).
    pub(crate) fn interrupted(&mut self, row: bool, out: &mut dyn FnMut(Item)) {
        let Some(open) = self.open.take_if(|open| open.bare) else { return };
        if row && open.first.line == 1 {
            let why = "may be the rest of a row of an options report: not read".to_owned();
            out(Item::Unread(Unread { evidence: open.first, why }));
        } else {
            open.hand_over(true, out);
        }
    }

    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Item)) {
        let whole = self
            .open
            .as_ref()
            .is_some_and(|open| open.carrier == Carrier::Ceeopts || open.follows == Follows::Statement);
        self.close(whole, out);
    }

    fn close(&mut self, closed: bool, out: &mut dyn FnMut(Item)) {
        if let Some(open) = self.open.take() {
            open.hand_over(closed, out);
        }
    }
}

/// Options in PARM of a step, before or behind the slash: whichever are options, or were meant as such.
pub(crate) fn parm(line: Line<'_>, value: &[u8], out: &mut dyn FnMut(Item)) {
    // Arguments, too, may have slashes: options end at the first one, or, of COBOL under CBLOPTS(ON), begin at the last.
    let slash = |byte: &u8| *byte == b'/';
    let sides: Vec<&[u8]> = match (value.iter().position(slash), value.iter().rposition(slash)) {
        (Some(first), Some(last)) => vec![&value[..first], &value[last + 1..]],
        _ => vec![value],
    };
    let behind = value.starts_with(b"/");
    let mut options: Vec<(bool, &[u8])> = sides
        .into_iter()
        .filter_map(|side| {
            let (mut warnings, mut nearly) = (0, false);
            check(side, &mut |diagnostic| {
                warnings += usize::from(diagnostic.severity() == Severity::Warning);
                nearly |= matches!(diagnostic.problem, Problem::UnknownOption { nearest: Some(_) });
            });
            // What begins with a word and its parenthesis, and has a name that is known, or nearly one.
            let word = side.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(0);
            let opens = word > 0 && side[word] == b'(';
            let known = crate::options::option_at(side).is_some();
            let meant = opens && (known || (behind && nearly));
            ((warnings == 0 && known) || meant).then_some((warnings == 0, side))
        })
        .collect();
    if options.iter().any(|(clean, _)| *clean) {
        options.retain(|(clean, _)| *clean);
    }
    if let [(_, one)] = options[..] {
        let mut open = Open::new(Carrier::Parm, line);
        open.push(line, one.to_vec());
        open.hand_over(line.whole, out);
    }
}

fn is_of_others(name: &[u8]) -> bool {
    let plain = name.get(..2).filter(|no| no.eq_ignore_ascii_case(b"no")).map_or(name, |_| &name[2..]);
    OTHERS.iter().any(|other| [name, plain].iter().any(|name| name.eq_ignore_ascii_case(other.as_bytes())))
}

impl Open {
    fn new(carrier: Carrier, line: Line<'_>) -> Self {
        let first = evidence(line.number, line.text);
        let (parts, doubts, follows) = (Vec::new(), Vec::new(), Follows::Operands);
        Self { carrier, bare: false, first, parts, doubts, follows, bytes: 0, depth: 0 }
    }

    fn push(&mut self, line: Line<'_>, text: Vec<u8>) {
        self.bytes += text.len();
        let whole = line.text.get(..WIDE).unwrap_or(line.text).to_vec();
        // Blanks that fill up a record do not stand in the line.
        let shown = text.trim_ascii();
        let start = shown.get(..shown.len().min(16)).unwrap_or_default();
        let at = whole.windows(start.len().max(1)).position(|here| here == start).unwrap_or(0);
        let before = text.len() - text.trim_ascii_start().len();
        self.parts.push(Piece { line: line.number, text, whole, at: at.saturating_sub(before) });
    }

    /// What the line behind this one of a macro is: "A comma must end each option except for the final option."
    fn follows(&mut self, line: Line<'_>, body: &[u8], more: bool) {
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
                let words = "ends in a comma, and no mark in column 72 continues it: what follows is not set";
                self.doubt(line, words);
                Follows::Statement
            }
            (Some(last), true) if *last != b',' && !full => Follows::Remarks,
            _ => Follows::Operands,
        };
    }

    fn doubt(&mut self, line: Line<'_>, words: &str) {
        let column = 1 + line.text.iter().position(|byte| *byte != b' ').unwrap_or(0);
        let words = format!("column {column}: {words}{IN}{}", tidy(line.text));
        if self.doubts.len() < 50 {
            self.doubts.push(Doubt { kind: Doubtful::NotANumber, line: line.number, words });
        }
    }

    /// Takes a line of a member; true at the closed parenthesis.
    fn member(&mut self, line: Line<'_>, text: &[u8]) -> bool {
        let mut kept = Vec::new();
        let mut rest = text;
        let mut closed = false;
        while let Some((&byte, behind)) = rest.split_first() {
            if rest.starts_with(b"/*") {
                rest = find(rest, b"*/").map_or(&[], |at| &rest[at + 2..]);
                continue;
            }
            rest = behind;
            match byte {
                b'(' => self.depth += 1,
                b')' => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 {
                closed = true;
                break;
            }
            kept.push(byte);
        }
        self.push(line, kept);
        closed
    }

    fn unclosed(&self) -> bool {
        let depth = |text: &[u8]| {
            text.iter()
                .map(|byte| match byte {
                    b'(' => 1,
                    b')' => -1,
                    _ => 0,
                })
                .sum::<i32>()
        };
        let all: i32 = self.parts.iter().map(|piece| depth(&piece.text)).sum();
        all > 0 || self.parts.last().is_some_and(|piece| piece.text.trim_ascii_end().ends_with(b","))
    }

    /// A message about the text, with the column of the line as it stands in the input, and the line.
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

    /// Whether a bare line has the form of options throughout, with digits: no sentence is written so.
    fn has_form(&self) -> bool {
        let bytes = || self.parts.iter().flat_map(|piece| piece.text.trim_ascii());
        let plain = bytes().all(|byte| byte.is_ascii_alphanumeric() || b"(),".contains(byte));
        plain && !self.unclosed() && bytes().any(u8::is_ascii_digit)
    }

    fn hand_over(mut self, closed: bool, out: &mut dyn FnMut(Item)) {
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
            plain.extend_from_slice(&text[end + equals..]);
            let Some((name, negative, values)) = row(&plain) else {
                at = end;
                continue;
            };
            let length = closed_at(&text[end + equals..]);
            let line = line_at(start);
            let shown = &text[start..(end + equals + length).min(text.len())];
            at = (end + equals + length).max(at);
            // ((values),OVR) of a member or a macro.
            let inner = crate::words::sub_options(&values);
            let (values, overridable) = match inner[..] {
                [nested, "OVR" | "NONOVR"] if nested.starts_with('(') && nested.ends_with(')') => {
                    (nested[1..nested.len() - 1].to_owned(), Some(inner[1] == "OVR"))
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
            let words = "the option text is not closed".to_owned();
            doubts.push(Doubt {
                kind: Doubtful::Cut,
                line: self.parts.last().map_or(self.first.line, |part| part.line),
                words,
            });
        }
        out(Item::Text(OptionText { carrier: self.carrier, rows, evidence: self.first, doubts }));
    }
}
