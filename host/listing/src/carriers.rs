//! Option texts in data sets, sources, members, scripts and job control.
//!
//! | carrier | begins | ends |
//! |---|---|---|
//! | CEEOPTS | `//CEEOPTS DD *`, or a line that is an option | `/*`, `//`, an empty line |
//! | CEEUOPT | the word CEEXOPT; `#pragma runopts(`, PLIXOPT | a line without continuation; the parenthesis or quote |
//! | CEEPRMxx | CEEDOPT(, CEECOPT(, CELQDOPT(, CEEROPT(, CELQROPT( | the closed parenthesis |
//! | `_CEE_RUNOPTS` | `_CEE_RUNOPTS=` | the end of its value, over as many lines as its quotes |
//! | PARM | PARM= | the end of its value, before or after the slash |
//!
//! Invariant: a text ends where its carrier ends it; a line that cannot continue the text is not part of it.
//! Not here: how the lines of a text become options (`option_text`), PARM over several statements (`parm`).

use underbar_options::{Problem, Severity, check};

use crate::launchers;
use crate::lines::Line;
use crate::model::{Carrier, Doubt, Doubtful, Evidence, Item, OptionText, Side, StepParm, Unread};
use crate::option_text::{Follows, Open, Piece};
use crate::options::option_at;
use crate::statement::in_stream;
use crate::texts::{Shell, columns, in_source, is_bare, is_misspelt, macro_line, shell_value, variable};
use crate::words::{evidence, find, has};

/// The most lines and bytes of one text.
const LINES: usize = 400;
const BYTES: usize = 32 << 10;
const GROUPS: [(&str, Carrier); 5] = [
    ("ceedopt(", Carrier::Ceeprm),
    ("ceecopt(", Carrier::Ceecopt),
    ("celqdopt(", Carrier::Ceeprm),
    ("ceeropt(", Carrier::Ceeprm),
    ("celqropt(", Carrier::Ceeprm),
];
/// The options of a member that select programs for the region's options, in small letters: not options themselves.
const REGION: [&str; 6] = [
    "ceeropt(all)",
    "ceeropt(compat)",
    "ceeropt(none)",
    "celqropt(all)",
    "celqropt(compat)",
    "celqropt(none)",
];

/// The state between lines.
#[derive(Default)]
pub(crate) struct Carriers {
    open: Option<Open>,
}

impl Carriers {
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a line is one of the macro CEEXOPT, its first or a later one.
    pub(crate) fn is_macro(&self, text: &[u8]) -> bool {
        self.open.as_ref().is_some_and(|open| open.carrier == Carrier::Ceeuopt) || has(text, "ceexopt")
    }

    /// Reads a line; true if it is part of an option text.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        if self.open.is_some() && self.goes_on(line, out) {
            return true;
        }
        let text = line.text;
        if let Some(value) = variable(text) {
            let (value, shell) = shell_value(value, None);
            let open = self.open.insert(Open::new(Carrier::CeeRunopts, line));
            open.push(line, value);
            self.shell(shell, line, out);
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
        if let Some((carrier, group)) = GROUPS
            .iter()
            // CEEROPT(ALL), CELQROPT(NONE): these select the programs that take the region's options,
            // and are no options themselves.
            .filter(|_| !REGION.iter().any(|word| has(text, word)))
            .find_map(|(group, carrier)| Some((*carrier, find(text, group.as_bytes())? + group.len())))
        {
            let open = self.open.insert(Open::new(carrier, line));
            open.nesting.depth = 1;
            if open.member(line, &text[group..]) {
                self.close(true, out);
            }
            return true;
        }
        if let Some((options, closed)) = in_source(text) {
            let mut open = Open::new(Carrier::Ceeuopt, line);
            // In C the whole may be in quotes.
            let plain = options.trim_ascii();
            let plain =
                plain.strip_prefix(b"\"").and_then(|plain| plain.strip_suffix(b"\"")).unwrap_or(options);
            open.push(line, plain.to_vec());
            open.hand_over(closed && line.whole, out);
            return true;
        }
        if let Some(stream) = in_stream(text, "CEEOPTS") {
            self.open.insert(Open::new(Carrier::Ceeopts, line)).stream = Some(stream);
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
                    // Meant as operands, but not operands: skipped with the lines that continue them.
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
            Carrier::Ceeprm | Carrier::Ceecopt => {
                if open.member(line, text) {
                    self.close(true, out);
                }
                true
            }
            Carrier::CeeRunopts => {
                let (value, shell) = shell_value(text, open.quote);
                let first = value.trim_ascii_start();
                if !(first.is_empty() || option_at(first) == Some(0) || open.unclosed()) {
                    self.close(false, out);
                    return false;
                }
                open.push(line, value);
                self.shell(shell, line, out);
                true
            }
            _ => {
                if open.stream.as_mut().is_some_and(|stream| stream.goes_on(text)) {
                    return true;
                }
                let of_data = open.stream.as_ref().is_some_and(|stream| stream.ends(text));
                let ends = of_data || text.is_empty() || text.starts_with(b"//") || text.starts_with(b"/*");
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

    /// A line of a report comes: a text that merely looked like options ends here. `row`: the line is a row of an options report,
    /// so that a text on the first line of the input may be the end of another option: HEAP(...) of ANYHEAP(...).
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

    /// The part of a shell's line that is still open.
    fn shell(&mut self, shell: Shell, line: Line<'_>, out: &mut dyn FnMut(Item)) {
        match (shell, &mut self.open) {
            (Shell::Quoted(quote), Some(open)) if line.whole => open.quote = Some(quote),
            (shell, _) => self.close(shell == Shell::Closed || shell == Shell::AtEnd && line.whole, out),
        }
    }

    fn close(&mut self, closed: bool, out: &mut dyn FnMut(Item)) {
        if let Some(open) = self.open.take() {
            open.hand_over(closed, out);
        }
    }
}

/// Options in PARM of a step, before or after the slash:
/// the side with options, or with text meant as options; then the program's own arguments.
pub(crate) fn parm(
    program: Option<String>,
    first: Evidence,
    pieces: Vec<Piece>,
    whole: bool,
    out: &mut dyn FnMut(Item),
) {
    let value: Vec<u8> = pieces.iter().flat_map(|piece| piece.text.iter().copied()).collect();
    let value = &value[..];
    // Arguments may have slashes, too: options end at the first one, or, for COBOL under CBLOPTS(ON), begin after the last.
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
            // A text that begins with a word and its parenthesis, where the name is known, or nearly so.
            let word = side.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(0);
            let opens = word > 0 && side[word] == b'(';
            let known = option_at(side).is_some();
            let meant = opens && (known || (behind && nearly));
            ((warnings == 0 && known) || meant).then_some((warnings == 0, side))
        })
        .collect();
    if let Some(launcher) = program.as_ref().filter(|program| launchers::place_behind(program).is_some()) {
        let has_options = value.split(|byte| *byte == b'/').any(|side| option_at(side).is_some());
        if has_options {
            let why = format!("PARM belongs to {launcher}, which starts other programs: not read");
            out(Item::Unread(Unread { evidence: first, why }));
        }
        return;
    }
    if options.iter().any(|(clean, _)| *clean) {
        options.retain(|(clean, _)| *clean);
    }
    let (arguments, side) = match options[..] {
        [(_, one)] => arguments(value, Some(one)),
        _ => arguments(value, None),
    };
    let arguments = String::from_utf8_lossy(arguments).into_owned();
    let own = StepParm { program, arguments, side, evidence: first.clone() };
    if let [(_, one)] = options[..] {
        let from = one.as_ptr() as usize - value.as_ptr() as usize;
        let mut open = Open::of(Carrier::Parm, first);
        let mut start = 0;
        for piece in pieces {
            let length = piece.text.len();
            let cut = |at: usize| at.saturating_sub(start).min(length);
            let (begin, end) = (cut(from), cut(from + one.len()));
            if begin < end {
                open.parts.push(piece.part(begin, end));
            }
            start += length;
        }
        open.hand_over(whole, out);
    }
    if whole {
        out(Item::Parm(own));
    }
}

/// The program's own part of PARM, and the side of the slash for options, whether there are any or not.
fn arguments<'t>(value: &'t [u8], options: Option<&[u8]>) -> (&'t [u8], Side) {
    let slash = |byte: &u8| *byte == b'/';
    let (Some(first), Some(last)) = (value.iter().position(slash), value.iter().rposition(slash)) else {
        return (if options.is_some() { b"" } else { value }, Side::Unknown);
    };
    match options {
        Some(one) if one.as_ptr() == value.as_ptr() => (&value[first + 1..], Side::First),
        Some(_) => (&value[..last], Side::Last),
        None if first == 0 => (&value[1..], Side::First),
        None if first + 1 == value.len() => (&value[..first], Side::Last),
        None => (value, Side::Unknown),
    }
}
