//! Parameters of Natural and Adabas in job control, parameter files, sources of the parameter module.
//!
//! | begins | ends |
//! |---|---|
//! | PARM= of a step, or on a line of its own | its closing quote or parenthesis |
//! | `//CMPRMIN DD *` | `/*`, `//` |
//! | NTPRM, NTZIIP, NTSORT, NTSYS | operands without a comma at their end |
//! | ADARUN | the end of the line |
//! | a line of NAME=value only | closed parentheses, no comma at the end |
//!
//! Invariant: prose that mentions a parameter is not taken;
//! other lines within a text, such as page headings, do not become part of it.
//! Not here: the parameters and their allowed values (`parameters`).

use std::collections::HashMap;

use crate::lines::Line;
use crate::model::{Doubt, Doubtful, Evidence};
use crate::statement::{self, InStream};
use crate::words::{evidence, find, split};

use super::lines::{bare, goes_on, is_more, is_natural, is_of_the_log, macro_of, more_of, source};
use super::parameters::{self, Taken, pieces};
use crate::model::natural::{Natural, ParameterCarrier, ParameterText, doubt};

/// The most lines and bytes of one text.
const LINES: usize = 200;
const BYTES: usize = 16 << 10;
/// The most foreign lines within a text.
const BETWEEN: usize = 4;

/// The state between lines.
#[derive(Default)]
pub(crate) struct Texts {
    open: Option<Open>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// PARM= whose quote is not closed yet.
    Parm,
    /// The lines after a DD statement.
    File,
    /// A macro; the text before and after its operands that makes a parameter of them.
    Macro(&'static str, &'static str),
    Bare,
}

struct Open {
    form: Form,
    carrier: ParameterCarrier,
    first: Evidence,
    parts: Vec<(u64, String)>,
    skipped: usize,
    /// PARM: whether a quote is open, and how many parentheses.
    in_quotes: bool,
    depth: i32,
    /// The end of the data after a DD statement.
    stream: Option<InStream>,
}

impl Texts {
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads a line; true if it is part of a text.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Natural)) -> bool {
        if self.open.is_some() && self.goes_on(line, out) {
            return true;
        }
        let text = String::from_utf8_lossy(line.text);
        if let Some(statement) = statement::statement(line.text) {
            return self.statement(line, &String::from_utf8_lossy(statement), out);
        }
        if text.starts_with('*') || text.trim_start().starts_with("/*") {
            return false;
        }
        let (source, marked) = source(&text);
        if let Some((name, operands)) = macro_of(source) {
            let form = match name {
                "NTZIIP" => Form::Macro("ZIIP=(", ")"),
                "NTSORT" => Form::Macro("SORT=(", ")"),
                _ => Form::Macro("", ""),
            };
            let carrier = if name == "NTSYS" { ParameterCarrier::Set } else { ParameterCarrier::Module };
            let mut open = Open::new(form, carrier, line);
            let more = open.operands(line.number, operands) || marked;
            self.open = Some(open);
            if !more {
                self.close(line.whole, out);
            }
            return true;
        }
        if let Some(at) = find(line.text, b"adarun ") {
            let alone = split(&line.text[..at]).all(is_of_the_log);
            let text = text.get(at + 7..).unwrap_or_default().trim();
            let operands = text.split(' ').next().unwrap_or_default();
            if alone && pieces(operands).first().is_some_and(|piece| piece.name.is_some()) {
                let mut open = Open::new(Form::Bare, ParameterCarrier::Adarun, line);
                open.parts.push((line.number, operands.to_owned()));
                self.open = Some(open);
                self.close(line.whole, out);
                return true;
            }
        }
        if let Some(value) = lone_parm(&text) {
            let mut open = Open::new(Form::Parm, ParameterCarrier::Dynamic, line);
            let closed = open.quoted(line.number, value);
            let inside = open.text();
            let pieces = pieces(&inside);
            let names = || pieces.iter().map(|piece| piece.name.as_deref().unwrap_or_default());
            // As for a line without PARM: only Natural's parameters make a text of it.
            if names().any(is_natural) || names().all(|name| parameters::find(name).is_some()) {
                self.open = Some(open);
                self.close(closed && line.whole, out);
                return true;
            }
            return false;
        }
        let Some(body) = bare(&text) else { return false };
        let mut open = Open::new(Form::Bare, ParameterCarrier::Dynamic, line);
        open.parts.push((line.number, body.to_owned()));
        let more = goes_on(body) && line.whole;
        self.open = Some(open);
        if !more {
            self.close(line.whole, out);
        }
        true
    }

    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Natural)) {
        // An incomplete text has none.
        let whole = self.open.as_ref().is_some_and(|open| open.form == Form::File);
        self.close(whole, out);
    }

    /// PARM of a step, or the statement before a file of parameters.
    fn statement(&mut self, line: Line<'_>, statement: &str, out: &mut dyn FnMut(Natural)) -> bool {
        if let Some(stream) = statement::in_stream(statement.as_bytes(), "CMPRMIN") {
            let open = self.open.insert(Open::new(Form::File, ParameterCarrier::Dynamic, line));
            open.stream = Some(stream);
            return true;
        }
        let Some(at) = find(statement.as_bytes(), b"parm=") else { return false };
        let value = &statement[at + 5..];
        let mut open = Open::new(Form::Parm, ParameterCarrier::Dynamic, line);
        let closed = open.quoted(line.number, value);
        if !pieces(&open.text()).iter().any(|piece| piece.name.as_deref().is_some_and(is_natural)) {
            return false;
        }
        self.open = Some(open);
        if closed || !line.whole {
            self.close(closed, out);
        }
        true
    }

    fn goes_on(&mut self, line: Line<'_>, out: &mut dyn FnMut(Natural)) -> bool {
        let Some(open) = &mut self.open else { return false };
        let bytes: usize = open.parts.iter().map(|part| part.1.len()).sum();
        if open.parts.len() > LINES || bytes > BYTES {
            self.close(false, out);
            return false;
        }
        let text = String::from_utf8_lossy(line.text).into_owned();
        let statement = statement::statement(line.text);
        match open.form {
            Form::File => {
                if open.stream.as_mut().is_some_and(|stream| stream.goes_on(line.text)) {
                    return true;
                }
                let of_data = open.stream.as_ref().is_some_and(|stream| stream.ends(line.text));
                if of_data || text.starts_with("/*") || statement.is_some() {
                    self.close(true, out);
                    return statement.is_none();
                }
                let body = text.split("/*").next().unwrap_or_default();
                open.parts.push((line.number, format!("{body} ")));
                if !line.whole {
                    self.close(false, out);
                }
                true
            }
            Form::Parm => {
                let Some(statement) = statement else {
                    return self.between(out);
                };
                let body = String::from_utf8_lossy(statement).into_owned();
                let body = body.trim_start_matches(['/', 'X']).trim_start();
                let closed = open.quoted(line.number, body);
                if closed || !line.whole {
                    self.close(closed, out);
                }
                true
            }
            Form::Macro(..) => {
                if text.starts_with('*') {
                    return true;
                }
                let (source, marked) = source(&text);
                // A full line may end within a value.
                let within = open.parts.last().is_some_and(|(_, part)| !part.ends_with(','));
                if !source.starts_with([' ', '\t']) || !(within || is_more(source.trim_start())) {
                    return self.between(out);
                }
                let more = open.operands(line.number, source.trim_start()) || marked;
                if !more || !line.whole {
                    self.close(line.whole, out);
                }
                true
            }
            Form::Bare => {
                let Some(body) = more_of(&text) else { return self.between(out) };
                open.parts.push((line.number, body.to_owned()));
                let more = goes_on(&open.text());
                if !more || !line.whole {
                    self.close(line.whole, out);
                }
                true
            }
        }
    }

    /// A foreign line: a few of them may be within a text.
    fn between(&mut self, out: &mut dyn FnMut(Natural)) -> bool {
        if let Some(open) = &mut self.open {
            open.skipped += 1;
            if open.skipped > BETWEEN {
                self.close(false, out);
            }
        }
        false
    }

    fn close(&mut self, whole: bool, out: &mut dyn FnMut(Natural)) {
        let Some(open) = self.open.take() else { return };
        let (text, lines) = open.joined(whole);
        let line_at = |at: usize| {
            lines.iter().rev().find(|(start, _)| *start <= at).map_or(open.first.line, |(_, line)| *line)
        };
        let mut doubts: Vec<Doubt> = Vec::new();
        let Taken { rows, refused } = parameters::take(&text, whole, &line_at, &mut doubts);
        if !whole {
            let line = open.parts.last().map_or(open.first.line, |part| part.0);
            let words = format!("{} that are not closed or cut", open.carrier.words());
            doubt(&mut doubts, Doubtful::Cut, line, words);
        }
        let mut first: HashMap<&str, &str> = HashMap::new();
        let twice = rows.iter().find(|row| {
            open.carrier != ParameterCarrier::Dynamic
                && *first.entry(row.name).or_insert(&row.value) != row.value
        });
        if let Some(row) = twice {
            let words = format!("{} is set twice, to different values", row.name);
            doubt(&mut doubts, Doubtful::Contradiction, row.evidence.line, words);
        }
        if rows.is_empty() && doubts.iter().all(|doubt| doubt.kind == Doubtful::Cut) {
            return;
        }
        out(Natural::Parameters(ParameterText {
            carrier: open.carrier,
            rows,
            refused,
            evidence: open.first,
            doubts,
        }));
    }
}

/// The text after PARM= on a line of its own, in quotes or parentheses.
fn lone_parm(text: &str) -> Option<&str> {
    let at = find(text.as_bytes(), b"parm=")?;
    let value = text.get(at + 5..)?;
    let alone = split(text.as_bytes().get(..at)?).all(is_of_the_log);
    (alone && value.starts_with(['\'', '('])).then_some(value)
}

impl Open {
    fn new(form: Form, carrier: ParameterCarrier, line: Line<'_>) -> Self {
        let first = evidence(line.number, line.text);
        Self { form, carrier, first, parts: Vec::new(), skipped: 0, in_quotes: false, depth: 0, stream: None }
    }

    fn text(&self) -> String {
        self.parts.iter().map(|part| part.1.as_str()).collect()
    }

    /// The whole text, and the start of each line in it. Cut text stays open.
    fn joined(&self, whole: bool) -> (String, Vec<(usize, u64)>) {
        let (before, behind) = match self.form {
            Form::Macro(before, behind) => (before, if whole { behind } else { "" }),
            _ => ("", ""),
        };
        let (mut text, mut lines) = (before.to_owned(), Vec::new());
        for (line, part) in &self.parts {
            lines.push((text.len(), *line));
            text += part;
        }
        (text + behind, lines)
    }

    /// Takes the text in quotes or parentheses up to their end; true if they close, or if there are none.
    fn quoted(&mut self, line: u64, value: &str) -> bool {
        if self.parts.is_empty() && !value.starts_with(['\'', '(']) {
            let word: String = value.chars().take_while(|c| !matches!(c, ' ' | ',')).collect();
            self.parts.push((line, word));
            return true;
        }
        let mut kept = String::new();
        let mut closed = false;
        for c in value.chars() {
            match c {
                '\'' => self.in_quotes = !self.in_quotes,
                '(' if !self.in_quotes => self.depth += 1,
                ')' if !self.in_quotes => self.depth -= 1,
                ' ' if !self.in_quotes => break,
                _ => kept.push(c),
            }
            if !self.in_quotes && self.depth == 0 {
                closed = true;
                break;
            }
        }
        self.parts.push((line, kept));
        closed
    }

    /// Takes the operands of a macro from one line; true if more follow.
    fn operands(&mut self, line: u64, text: &str) -> bool {
        let mut quoted = false;
        let end = text
            .char_indices()
            .find(|(_, c)| {
                quoted ^= *c == '\'';
                *c == ' ' && !quoted
            })
            .map_or(text.len(), |(at, _)| at);
        let operands = &text[..end];
        let plain = match self.carrier {
            // The set's name, then strings of parameters.
            ParameterCarrier::Set => operands.split('\'').skip(1).step_by(2).collect(),
            _ => operands.to_owned(),
        };
        self.parts.push((line, plain));
        operands.ends_with(',')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<ParameterText> {
        let (mut texts, mut all) = (Texts::default(), Vec::new());
        let mut out = |found| match found {
            Natural::Parameters(text) => all.push(text),
            other => panic!("{other:?}"),
        };
        for (number, text) in (1..).zip(text.lines()) {
            texts.line(Line { number, text: text.as_bytes(), whole: true }, &mut out);
        }
        texts.finish(&mut out);
        all
    }

    fn check(text: &str, carrier: ParameterCarrier, rows: &[(&str, &str, u64)]) -> Vec<String> {
        let all = read(text);
        assert_eq!(all.len(), 1, "{text}\n{all:#?}");
        assert_eq!(all[0].carrier, carrier, "{text}");
        let got: Vec<(&str, &str, u64)> =
            all[0].rows.iter().map(|row| (row.name, row.value.as_str(), row.evidence.line)).collect();
        assert_eq!(got, rows, "{text}\n{all:#?}");
        all[0].doubts.iter().map(|doubt| doubt.words.clone()).collect()
    }

    #[test]
    fn every_carrier() {
        use ParameterCarrier::{Adarun, Dynamic, Module, Set};
        check("THSIZE=3000,MT=0\n", Dynamic, &[("THSIZE", "3000", 1), ("MT", "0", 1)]);
        check("10.15.07 JOB01234  MT=0\n", Dynamic, &[("MT", "0", 1)]);
        check("SORT=(WRKSIZE=40,\n  EXT=ON)\nTHE END\n", Dynamic, &[("SORT", "(WRKSIZE=40,EXT=ON)", 1)]);
        check(
            "//N EXEC PGM=NATB,PARM='IM=D,THSIZE=3000',REGION=8M\n",
            Dynamic,
            &[("IM", "D", 1), ("THSIZE", "3000", 1)],
        );
        check(
            "//N EXEC PGM=NATB,\n//  PARM=('THSIZE=3000','ZIIP=(ON,PWCSIZE=(64,32,64))')\n",
            Dynamic,
            &[("THSIZE", "3000", 2), ("ZIIP", "(ON,PWCSIZE=(64,32,64))", 2)],
        );
        check(
            "//N EXEC PGM=NATB,PARM='THSIZE=3000,\n//             MT=7'\n",
            Dynamic,
            &[("THSIZE", "3000", 1), ("MT", "7", 2)],
        );
        check(
            "//CMPRMIN DD *\nMT=9 /* seconds\nTHSIZE=3000\n/*\n",
            Dynamic,
            &[("MT", "9", 2), ("THSIZE", "3000", 3)],
        );
        check(
            "NATP     NTPRM MT=9,                                            *\n               THSIZE=3000\n         END\n",
            Module,
            &[("MT", "9", 1), ("THSIZE", "3000", 2)],
        );
        check("         NTZIIP ON,PWCSIZE=(64,32,64)\n", Module, &[("ZIIP", "(ON,PWCSIZE=(64,32,64))", 1)]);
        check("  NTSORT EXT=ON\n", Module, &[("SORT", "(EXT=ON)", 1)]);
        check(
            "  NTSYS BATCH,'THSIZE=3000,MT=0', *\n        ',MAINPR=2'\n",
            Set,
            &[("THSIZE", "3000", 1), ("MT", "0", 1), ("MAINPR", "2", 2)],
        );
        check(
            "ADARUN PROG=USER,PREFETCH=YES,PREFSBL=9000\n",
            Adarun,
            &[("PROG", "USER", 1), ("PREFETCH", "YES", 1), ("PREFSBL", "9000", 1)],
        );
    }

    #[test]
    fn columns_of_sources_are_heeded() {
        use ParameterCarrier::{Dynamic, Module};
        let full = format!("{:<71}X", format!("         NTPRM {},", "LS=132,".repeat(7) + "MT=9"));
        let text = format!("{full}\n               THSIZE=3000\n");
        check(&text, Module, &[("MT", "9", 1), ("THSIZE", "3000", 2)]);
        let tight = format!("{:<15}{}", "         NTPRM ", "LS=132,".repeat(7) + "THSIZE=");
        let text = format!("{tight}X\n               3000\n");
        assert_eq!(tight.len(), 71);
        check(&text, Module, &[("THSIZE", "3000", 1)]);
        let text = format!("{:<72}00010000\n{:<72}00020000\n", "SORT=(EXT=ON,", "  WRKSIZE=40)");
        check(&text, Dynamic, &[("SORT", "(EXT=ON,WRKSIZE=40)", 1)]);
    }

    #[test]
    fn parm_may_stand_on_a_line_of_its_own() {
        for text in ["PARM='MT=60,THSIZE=0'\n", "10.15.07 JOB01234  PARM=('MT=60','THSIZE=0')\n"] {
            check(text, ParameterCarrier::Dynamic, &[("MT", "60", 1), ("THSIZE", "0", 1)]);
        }
        let doubts = check("PARM='MT=60,THSIZE=0\n", ParameterCarrier::Dynamic, &[("MT", "60", 1)]);
        assert_eq!(doubts.len(), 2, "{doubts:?}");
    }

    #[test]
    fn prose_and_other_programs_are_passed_over() {
        for text in [
            "PARM='HEAP(1M)/'\n",
            "PARM='RUN,17'\n",
            "The default is MT=60 for all sessions.\n",
            "ADARUN is a program.\n",
            "corresponds to the NTZIIP macro in the parameter module\n",
            "//S EXEC PGM=OTHER,PARM='SORT=A'\n",
            "MT=5,DSN=A.B\n",
            "A=B\n",
            "==== MT=5 ====\n",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    #[test]
    fn what_stands_between_lines_is_left_out() {
        let doubts = check(
            "THSIZE=3000,SORT=(WRKSIZE=40,\n1PAGE 7  MY SHOP\n  EXT=ON)\n",
            ParameterCarrier::Dynamic,
            &[("THSIZE", "3000", 1), ("SORT", "(WRKSIZE=40,EXT=ON)", 1)],
        );
        assert_eq!(doubts, [""; 0]);
        let doubts =
            check("THSIZE=3000,SORT=(WRKSIZE=40,\n", ParameterCarrier::Dynamic, &[("THSIZE", "3000", 1)]);
        assert_eq!(doubts.len(), 2, "{doubts:?}");
    }
}
