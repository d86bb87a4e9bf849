//! Applying a text to the settings: what is valid takes effect, the rest is reported, nothing stops.
//!
//! ```text
//! Items --option--> find_option --> sub-option by sub-option: read a value, store it, record its source
//!       --section-> does it name this program? if not, skip to the next one
//!       --flaw----> diagnostic
//! ```
//!
//! An omitted or invalid sub-option keeps the value of the layer below.
//! Not here: how a text is split (`grammar`), how values are read (`read`).

use crate::diagnostic::{Diagnostic, Problem, Severity};
use crate::entry::{Effect, Entry, SubOption};
use crate::grammar::{Item, Items, Span, sub_options, uncommented, within_parentheses};
use crate::lists::{LONGEST_CLASS, ListSizes};
use crate::nearest::nearest;
use crate::program::{ProgramName, Section};
use crate::read::{self, Flaw};
use crate::search::find_option;
use crate::settings::{Base, Settings};
use crate::table::OPTIONS;
use crate::value::{Kind, SWITCH_OFF, SWITCH_ON, Value};
use crate::where_set::WhereSet;

impl Settings {
    /// Applies `text` to these settings.
    ///
    /// Sections for programs other than `program` are skipped unread. `source` is recorded for every option that the text
    /// refers to, even if nothing changes, but not for options of which nothing is valid. Never fails: invalid parts are passed
    /// to `on_diagnostic` and leave the value of the layer below. Allocates nothing.
    pub fn apply<'t>(
        &mut self,
        text: &'t [u8],
        program: &ProgramName<'_>,
        source: WhereSet,
        on_diagnostic: &mut dyn FnMut(Diagnostic<'t>),
    ) {
        Applier { settings: self, text, source, on_diagnostic, warnings: 0 }.run(Some(program));
    }
}

/// Examines the whole of `text`, including the sections of all programs, and changes nothing. Returns whether any part of it
/// was valid as an option.
pub fn check<'t>(text: &'t [u8], on_diagnostic: &mut dyn FnMut(Diagnostic<'t>)) -> bool {
    let mut settings = Settings::new(Base::Underbar);
    let source = WhereSet::CommandLine;
    Applier { settings: &mut settings, text, source, on_diagnostic, warnings: 0 }.run(None);
    (0..OPTIONS.len()).any(|option| settings.where_set(option) == source)
}

struct Applier<'s, 't, 'd> {
    settings: &'s mut Settings,
    text: &'t [u8],
    source: WhereSet,
    on_diagnostic: &'d mut dyn FnMut(Diagnostic<'t>),
    /// The number of reports, without notes.
    warnings: usize,
}

impl Applier<'_, '_, '_> {
    /// Without a program, every section applies.
    fn run(&mut self, program: Option<&ProgramName<'_>>) {
        let mut ours = true;
        for item in Items::new(self.text) {
            match item {
                Item::Section { name, whole } => {
                    let section = program.copied().unwrap_or_default().section(name.of(self.text));
                    ours = section == Section::Matches || program.is_none();
                    if section == Section::IsForNobody {
                        ours = false;
                        self.report(whole, Problem::SectionForNobody);
                    }
                }
                Item::Flaw { span, flaw } => {
                    // The program of an unclosed section is unknown, so the section applies to none.
                    let unclosed = flaw == crate::SyntaxFlaw::UnclosedSection;
                    if ours || unclosed {
                        self.report(span, Problem::Syntax(flaw));
                    }
                    ours &= !unclosed;
                }
                Item::Option { name, body } if ours => self.option(name, body),
                Item::Option { .. } => {}
            }
        }
    }

    fn report(&mut self, span: Span, problem: Problem) {
        let diagnostic = Diagnostic { text: self.text, span, problem };
        self.warnings += usize::from(diagnostic.severity() == Severity::Warning);
        (self.on_diagnostic)(diagnostic);
    }

    fn option(&mut self, name: Span, body: Option<Span>) {
        let word = name.of(self.text);
        let (option, negative) = match (find_option(word), without_no(word).and_then(find_option)) {
            (Some(option), _) => (option, false),
            (None, Some(option)) => (option, true),
            (None, None) => {
                let names = OPTIONS.iter().map(|entry| entry.name);
                let nearest = nearest(word, names.clone()).or_else(|| nearest(without_no(word)?, names));
                return self.report(name, Problem::UnknownOption { nearest });
            }
        };
        let entry = &OPTIONS[option];
        if negative && !entry.has_negative() {
            return self.report(name, Problem::NoNegativeForm { entry });
        }
        match entry.effect {
            Effect::Honoured => {}
            Effect::Partly(what) => self.report(name, Problem::Partly { entry, what: what.text() }),
            Effect::AcceptedNoEffect(why) => {
                let why = why.text();
                self.report(name, Problem::NoEffect { entry, sub_option: None, why });
            }
        }
        let warnings = self.warnings;
        let body = body.map(|body| self.without_attribute(body));
        if entry.has_negative() {
            self.switch(option, negative, body);
        } else if let Some(body) = body {
            self.sub_options(option, body);
        } else if entry.written()[0].kind != Kind::Free {
            self.report(name, Problem::NothingGiven { entry });
        }
        if self.warnings == warnings {
            self.settings.refer(option, self.source);
        }
    }

    /// NAME, NONAME, NAME(values), NONAME(values); and NAME(ON), NAME(OFF) as in CEEXOPT.
    fn switch(&mut self, option: usize, negative: bool, body: Option<Span>) {
        let mut on = !negative;
        if let Some(body) = body {
            match read::read(Kind::Switch, body.trimmed(self.text).of(self.text), Value::Unset) {
                Ok(value) => on = (value == SWITCH_ON) != negative,
                Err(_) => self.sub_options(option, body),
            }
        }
        self.settings.set(option, 0, if on { SWITCH_ON } else { SWITCH_OFF }, self.source);
    }

    /// The body within the form ((...),OVR) of a region's defaults. Nested forms are unwrapped, too, so a text that is kept as
    /// written never looks like this form.
    fn without_attribute(&mut self, mut body: Span) -> Span {
        loop {
            let mut parts = sub_options(self.text, body);
            let (Some(first), second, None) = (parts.next(), parts.next(), parts.next()) else {
                return body;
            };
            let Some(inner) = within_parentheses(self.text, first) else {
                return body;
            };
            if let Some(attribute) = second {
                let word = attribute.of(self.text);
                if word.eq_ignore_ascii_case(b"NONOVR") {
                    self.report(attribute, Problem::NonOverridable);
                } else if !word.eq_ignore_ascii_case(b"OVR") {
                    return body;
                }
            }
            body = inner;
        }
    }

    fn sub_options(&mut self, option: usize, body: Span) {
        let entry = &OPTIONS[option];
        let first = entry.sub_options.len() - entry.written().len();
        if entry.written()[0].kind == Kind::Free {
            let body = body.trimmed(self.text);
            if body.start == body.end {
                return;
            }
            let bytes = uncommented(self.text, body).map(|byte| match byte {
                blank if blank.is_ascii_whitespace() => b' ',
                control if control.is_ascii_control() => b'?',
                other => other,
            });
            if !self.settings.set_text(option, first, bytes, self.source) {
                self.report(body, Problem::NoRoom { entry });
            }
            return;
        }
        if entry.written()[0].kind == Kind::Lists {
            return self.class_sizes(entry, body);
        }
        if entry.written()[0].kind == Kind::WorkFiles {
            return self.work_files(option, body);
        }
        let mut next = first;
        for span in sub_options(self.text, body) {
            // A word with parentheses says which sub-option it is.
            let is_it = |sub: &SubOption| read::is_named(sub.kind, span.of(self.text));
            if let Some(position) = entry.sub_options.iter().position(is_it) {
                self.sub_option(option, position, span);
                continue;
            }
            let position = next;
            next += 1;
            if position >= entry.sub_options.len() {
                return self.report(span, Problem::TooManySubOptions { entry });
            }
            if span.start == span.end {
                continue;
            }
            if matches!(entry.sub_options[position].kind, Kind::Named { .. }) {
                return self.report(span, Problem::TooManySubOptions { entry });
            }
            self.sub_option(option, position, span);
        }
    }

    /// WORKFILE: `pattern,read,write`; or `(pattern,read,write),...,read,write`, the form that reports write: work files and what the sizes of
    /// others are.
    fn work_files(&mut self, option: usize, body: Span) {
        let first = sub_options(self.text, body).next().unwrap_or(body).of(self.text);
        if !first.is_empty() && !first.starts_with(b"(") {
            return self.work_file(option, body);
        }
        let mut next = 1;
        for (at, span) in sub_options(self.text, body).enumerate() {
            if at == 0 && span.start == span.end {
                continue;
            }
            if let Some(inner) = within_parentheses(self.text, span) {
                self.work_file(option, inner);
                continue;
            }
            if next >= OPTIONS[option].sub_options.len() {
                return self.report(span, Problem::TooManySubOptions { entry: &OPTIONS[option] });
            }
            if span.start < span.end {
                self.sub_option(option, next, span);
            }
            next += 1;
        }
    }

    /// One work file. Nothing of it is taken if a part is not valid.
    fn work_file(&mut self, option: usize, body: Span) {
        let entry = &OPTIONS[option];
        let mut parts = sub_options(self.text, body);
        let pattern = parts.next().unwrap_or(body);
        let bytes = pattern.of(self.text);
        let is_one = read::unquoted(bytes).next().is_some() && !bytes.iter().any(u8::is_ascii_control);
        if !is_one {
            let (sub_option, flaw) = (&entry.sub_options[0], Flaw::NotAPattern);
            return self.report(pattern, Problem::BadValue { entry, sub_option, flaw, nearest: None });
        }
        let mut sizes = [None; 2];
        for (at, span) in parts.enumerate() {
            let (Some(size), Some(sub_option)) = (sizes.get_mut(at), entry.sub_options.get(at + 1)) else {
                return self.report(span, Problem::TooManySubOptions { entry });
            };
            if span.start == span.end {
                continue;
            }
            match read::read(sub_option.kind, span.of(self.text), Value::Unset) {
                Ok(Value::Bytes(bytes)) => *size = Some(bytes),
                Ok(_) => {}
                Err(flaw) => {
                    let problem = Problem::BadValue { entry, sub_option, flaw, nearest: None };
                    return self.report(flawed_part(span, flaw), problem);
                }
            }
        }
        if !self.settings.add_work_file(option, bytes, sizes, self.source) {
            self.report(pattern, Problem::NoRoom { entry });
        }
    }

    /// AVL: the name of a class, and sizes. A set replaces the one before as a whole, so that it is taken as a whole, or not at all.
    fn class_sizes(&mut self, entry: &'static Entry, body: Span) {
        let trimmed = body.trimmed(self.text);
        if trimmed.start == trimmed.end {
            return;
        }
        let sub_option = &entry.sub_options[0];
        let bad = |flaw| Problem::BadValue { entry, sub_option, flaw, nearest: None };
        let mut parts = sub_options(self.text, body);
        let class = parts.next().unwrap_or(trimmed);
        let mut name = [0; LONGEST_CLASS];
        let bytes = read::unquoted(class.of(self.text));
        let length = bytes.clone().take(LONGEST_CLASS + 1).count();
        name.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        let Some(name) = name.get(..length).filter(|name| !name.iter().any(u8::is_ascii_control)) else {
            return self.report(class, bad(Flaw::NotAClass));
        };
        let mut sizes = ListSizes::NONE;
        for span in parts.filter(|span| span.start < span.end) {
            let (bytes, is_rounded) = match read::list_size(span.of(self.text)) {
                Ok((bytes, _)) if bytes <= sizes.last() => {
                    return self.report(span, bad(Flaw::NotAscending { before: sizes.last() }));
                }
                Ok(read) => read,
                Err(flaw) => return self.report(flawed_part(span, flaw), bad(flaw)),
            };
            if !sizes.add(bytes) {
                self.report(span, Problem::TooManySubOptions { entry });
                break;
            }
            if is_rounded {
                self.report(span, Problem::Rounded { entry, to: bytes });
            }
        }
        if sizes == ListSizes::NONE {
            return self.report(class, bad(Flaw::NoSize));
        }
        if !self.settings.set_sizes(name, sizes, self.source) {
            self.report(class, Problem::NoRoom { entry });
        }
    }

    fn sub_option(&mut self, option: usize, position: usize, span: Span) {
        let entry = &OPTIONS[option];
        let sub_option = &entry.sub_options[position];
        let text = span.of(self.text);
        let value = match read::read(sub_option.kind, text, self.settings.value(option, position)) {
            Ok(value) => value,
            Err(flaw) => {
                let problem =
                    Problem::BadValue { entry, sub_option, flaw, nearest: meant(entry, position, text) };
                return self.report(flawed_part(span, flaw), problem);
            }
        };
        if value == Value::Text {
            if !self.settings.set_text(option, position, read::stored(sub_option.kind, text), self.source) {
                return self.report(span, Problem::NoRoom { entry });
            }
        } else {
            self.settings.set(option, position, value, self.source);
        }
        if let Effect::AcceptedNoEffect(why) = sub_option.effect
            && value != sub_option.underbar
        {
            let why = why.text();
            self.report(span, Problem::NoEffect { entry, sub_option: Some(sub_option), why });
        }
    }
}

fn without_no(word: &[u8]) -> Option<&[u8]> {
    let (prefix, rest) = word.split_at_checked(2)?;
    prefix.eq_ignore_ascii_case(b"NO").then_some(rest)
}

/// The part of an invalid value to point at: a single character if one is at fault.
fn flawed_part(span: Span, flaw: Flaw) -> Span {
    match flaw {
        Flaw::BadDigit { at } | Flaw::LetterForDigit { at, .. } => {
            Span { start: span.start + at, end: span.start + at + 1 }
        }
        _ => span,
    }
}

/// The keyword that was probably intended.
fn meant(entry: &'static Entry, position: usize, text: &[u8]) -> Option<&'static str> {
    match entry.sub_options[position].kind {
        Kind::Words(words) => nearest(text, words.iter().map(|word| word.name)),
        Kind::Fill { clear: true } => nearest(text, ["NONE", "CLEAR"].into_iter()),
        Kind::Fill { clear: false } => nearest(text, ["NONE"].into_iter()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::heap::{Disposition, Size};
    use std::string::{String, ToString};
    use std::vec::Vec;

    const ANY: ProgramName<'_> = ProgramName { name: b"", started_as: b"", build_id: b"" };

    fn apply(settings: &mut Settings, text: &str, source: WhereSet) -> Vec<String> {
        let mut found = Vec::new();
        settings.apply(text.as_bytes(), &ANY, source, &mut |diagnostic| found.push(diagnostic.to_string()));
        found
    }

    #[test]
    fn layers_and_omitted_sub_options() {
        let mut settings = Settings::new(Base::LanguageEnvironment);
        assert!(apply(&mut settings, "HEAP(64M,16M,,FREE)", WhereSet::UserFile).is_empty());
        assert!(apply(&mut settings, "h(,4M) RPTSTG(OFF)", WhereSet::CommandLine).is_empty());
        let heap = settings.heap();
        assert_eq!(heap.init, Size::Bytes(64 << 20));
        assert_eq!(heap.increment, Size::Bytes(4 << 20));
        assert_eq!(heap.disposition, Disposition::Free);
        let option = find_option(b"HEAP").unwrap();
        assert_eq!(settings.where_set(option), WhereSet::CommandLine);
        assert_eq!(settings.where_sub_option_set(option, 0), WhereSet::UserFile);
        assert_eq!(settings.where_sub_option_set(option, 1), WhereSet::CommandLine);
        assert_eq!(settings.where_sub_option_set(option, 2), WhereSet::LanguageEnvironmentDefault);
        let reference = find_option(b"RPTSTG").unwrap();
        assert_eq!(settings.where_set(reference), WhereSet::CommandLine, "even if nothing changed");
    }

    #[test]
    fn a_text_of_which_nothing_is_understood_is_none() {
        for (text, is_understood) in
            [("", false), ("HEPA(1M),HEAP(-1)", false), ("HEAP(-1,1M)", true), ("[sort]\nRPTSTG(ON)", true)]
        {
            assert_eq!(check(text.as_bytes(), &mut |_| ()), is_understood, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_was_not_set_there() {
        let option = find_option(b"HEAP").unwrap();
        for (text, set) in [
            ("HEAP(-1)", WhereSet::UnderbarDefault),
            ("HEAP(x,y)", WhereSet::UnderbarDefault),
            ("HEAP", WhereSet::UnderbarDefault),
            ("HEAP()", WhereSet::CommandLine),
            ("HEAP(-1,1M)", WhereSet::CommandLine),
            ("HEAP(1M,-1)", WhereSet::CommandLine),
        ] {
            let mut settings = Settings::new(Base::Underbar);
            apply(&mut settings, text, WhereSet::CommandLine);
            assert_eq!(settings.where_set(option), set, "{text}");
        }
    }

    #[test]
    fn negatives_and_switches() {
        let option = find_option(b"AIXBLD").unwrap();
        for (text, negative) in [
            ("NOAIXBLD", true),
            ("AIXBLD", false),
            ("noaix", true),
            ("AIXBLD=(OFF)", true),
            ("AIXBLD=((ON),OVR)", false),
        ] {
            let mut settings = Settings::default();
            assert_eq!(apply(&mut settings, text, WhereSet::CommandLine).len(), 1, "{text}: no effect, only");
            assert_eq!(settings.is_negative(option), negative, "{text}");
        }
        let test = find_option(b"TEST").unwrap();
        let mut settings = Settings::default();
        apply(&mut settings, "NOTEST(ALL,\"*\",\n\tPROMPT)", WhereSet::CommandLine);
        assert!(settings.is_negative(test));
        assert_eq!(settings.text(test, 1), b"ALL,\"*\",  PROMPT");
    }

    #[test]
    fn what_is_kept_as_written_never_looks_like_the_form_with_ovr() {
        for (text, kept) in [
            ("TRAP((ON,SPIE),OVR)", "ON,SPIE"),
            ("TRAP(((A)),NONOVR)", "A"),
            ("TRAP((A)())", "(A)()"),
            ("TRAP((A),B)", "(A),B"),
            ("TRAP(())", ""),
        ] {
            let mut settings = Settings::default();
            apply(&mut settings, text, WhereSet::CommandLine);
            assert_eq!(settings.text(find_option(b"TRAP").unwrap(), 0), kept.as_bytes(), "{text}");
        }
    }

    #[test]
    fn sections_are_for_their_programs() {
        let text = b"HEAP(1M) [cc1] HEAP(2M) nonsense [ld]HEAP(3M)\n[*] RPTSTG(ON) [ld HEAP(9M)\nHEAP(8M)";
        let mut spans = Vec::new();
        let mut settings = Settings::default();
        let program = ProgramName { name: b"ld", started_as: b"", build_id: b"" };
        settings.apply(text, &program, WhereSet::UserFile, &mut |diagnostic| spans.push(diagnostic.word()));
        assert_eq!(settings.heap().init, Size::Bytes(3 << 20));
        assert!(settings.report_storage());
        assert_eq!(spans, [&b"[ld HEAP(9M)"[..]]);
        let mut all = Vec::new();
        check(text, &mut |diagnostic| all.push(diagnostic.word()));
        assert_eq!(all, [&b"nonsense"[..], b"[ld HEAP(9M)"]);
    }

    #[test]
    fn a_flawed_value_leaves_the_one_below() {
        let mut settings = Settings::default();
        apply(&mut settings, "HEAP(1M,2M,,KEEP)", WhereSet::UserFile);
        let found = apply(&mut settings, "HEAP(-1,4M,,KEEEP,,,7)", WhereSet::CommandLine);
        assert_eq!(found.len(), 3, "{found:?}");
        let heap = settings.heap();
        assert_eq!(heap.init, Size::Bytes(1 << 20));
        assert_eq!(heap.increment, Size::Bytes(4 << 20));
        assert_eq!(heap.disposition, Disposition::Keep);
    }

    #[test]
    fn a_text_that_does_not_fit_is_left_out() {
        let mut settings = Settings::default();
        apply(&mut settings, "MSGFILE(/tmp/report)", WhereSet::UserFile);
        let long = std::format!("MSGFILE({})", "x".repeat(crate::TEXT_ROOM));
        assert_eq!(apply(&mut settings, &long, WhereSet::CommandLine).len(), 1);
        assert_eq!(settings.message_file().map(|file| file.0), Some(&b"/tmp/report"[..]));
    }
}
