//! A message about an option text: the fault, its place, and the remedy.
//!
//! ```text
//! column 6: 1OM: the letter O stands where the digit 0 belongs; HEAP's init keeps the value it had
//! HEAP(1OM,32K)
//!       ^
//! ```
//!
//! The fault is always in the text: nothing here stops a program.
//! Not here: the words of the messages (`message`), colours and the name of the text's file; the command adds them.

use core::fmt::{self, Write};

use crate::display::Shown;
use crate::entry::{Entry, SubOption};
use crate::grammar::{Span, SyntaxFlaw};
use crate::read::Flaw;

/// A message about a place in an option text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diagnostic<'t> {
    /// The whole text.
    pub text: &'t [u8],
    /// The place of the fault.
    pub span: Span,
    /// The fault.
    pub problem: Problem,
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The text is malformed.
    Syntax(SyntaxFlaw),
    /// No option has this name.
    UnknownOption {
        /// The option that was probably intended.
        nearest: Option<&'static str>,
    },
    /// NONAME for an option that has no such form.
    NoNegativeForm {
        /// The option.
        entry: &'static Entry,
    },
    /// An option without sub-options, which sets nothing.
    NothingGiven {
        /// The option.
        entry: &'static Entry,
    },
    /// More sub-options than the option has.
    TooManySubOptions {
        /// The option.
        entry: &'static Entry,
    },
    /// An invalid sub-option.
    BadValue {
        /// The option.
        entry: &'static Entry,
        /// Its sub-option.
        sub_option: &'static SubOption,
        /// The reason why it is invalid.
        flaw: Flaw,
        /// The keyword that was probably intended.
        nearest: Option<&'static str>,
    },
    /// A text that is too long for the remaining room, or one class too many.
    NoRoom {
        /// The option.
        entry: &'static Entry,
    },
    /// A size that is no multiple of the unit, and was rounded up.
    Rounded {
        /// The option.
        entry: &'static Entry,
        /// The size that is in force.
        to: u64,
    },
    /// A section that names no program.
    SectionForNobody,
    /// NONOVR, which is accepted and does nothing.
    NonOverridable,
    /// Accepted, with no effect on Linux.
    NoEffect {
        /// The option.
        entry: &'static Entry,
        /// The sub-option, if only that has no effect.
        sub_option: Option<&'static SubOption>,
        /// The reason.
        why: &'static str,
    },
    /// Accepted, with less effect on Linux than on z/OS.
    Partly {
        /// The option.
        entry: &'static Entry,
        /// The missing part.
        what: &'static str,
    },
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The text is correct, but has less effect here than on z/OS, or another size.
    Note,
    /// Part of the text was ignored.
    Warning,
}

impl<'t> Diagnostic<'t> {
    /// Its severity.
    pub fn severity(&self) -> Severity {
        match self.problem {
            Problem::NonOverridable
            | Problem::NoEffect { .. }
            | Problem::Partly { .. }
            | Problem::Rounded { .. } => Severity::Note,
            _ => Severity::Warning,
        }
    }

    /// The number of Language Environment's message for the same case, if it has one.
    pub fn message_number(&self) -> Option<&'static str> {
        match self.problem {
            Problem::UnknownOption { .. } | Problem::NoNegativeForm { .. } => Some("CEE3611I"),
            Problem::BadValue { flaw: Flaw::BadDigit { .. } | Flaw::LetterForDigit { .. }, .. } => {
                Some("CEE3614I")
            }
            _ => None,
        }
    }

    /// The words at fault.
    pub fn word(&self) -> &'t [u8] {
        self.text.get(self.span.start..self.span.end).unwrap_or_default()
    }

    /// The line and the column of the first character at fault, both from 1; columns count characters.
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = self.text.get(..self.span.start).unwrap_or_default();
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        (line, 1 + characters(&before[start..]))
    }

    /// Writes the line of the text with carets under the fault. A long line is shown in part.
    pub fn write_excerpt(&self, out: &mut dyn Write) -> fmt::Result {
        /// Bytes shown before and after the fault.
        const AROUND: usize = 60;
        let length = self.text.len();
        let place = self.span.start.min(length);
        let line_start = self.text[..place].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line_end =
            self.text[place..].iter().position(|&byte| byte == b'\n').map_or(length, |at| place + at);
        let from = character_start(self.text, line_start.max(place.saturating_sub(AROUND)));
        let to = character_start(self.text, line_end.min(place + AROUND));
        let (before, behind) = (from > line_start, to < line_end);
        let line = self.text[from..to].trim_ascii_end();
        let mark = |more: bool| if more { "..." } else { "" };
        writeln!(out, "{}{}{}", mark(before), Shown(line), mark(behind))?;
        let left = characters(&self.text[from..place]) + mark(before).len();
        let blamed = characters(&self.text[place..self.span.end.clamp(place, to.max(place))]).max(1);
        writeln!(out, "{:left$}{:^<blamed$}", "", "")
    }
}

/// How many characters the bytes are shown as: all bytes except continuation bytes of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum()
}

/// `at`, or the start of the character that contains it.
pub(crate) fn character_start(text: &[u8], at: usize) -> usize {
    let continues = |at: usize| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|&at| !continues(at)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::{String, ToString};

    /// The first diagnostic for `text`: its message, then its excerpt.
    fn first(text: &str) -> String {
        let mut found = None;
        crate::check(text.as_bytes(), &mut |diagnostic| {
            if found.is_none() {
                let mut all = diagnostic.to_string() + "\n";
                diagnostic.write_excerpt(&mut all).unwrap();
                found = Some(all);
            }
        });
        found.unwrap_or_default()
    }

    fn check(text: &str, expect: &str) {
        assert_eq!(first(text), expect);
    }

    #[test]
    fn they_say_what_where_and_what_to_do() {
        check(
            "RPTSTG(ON),HEPA(1M)",
            "column 12: HEPA is no run-time option and was left out; did you mean HEAP?\n\
             RPTSTG(ON),HEPA(1M)\n\
             \x20          ^^^^\n",
        );
        check(
            "# mine\nHEAP(1OM,32K)\n",
            "line 2, column 7: the letter O stands where the digit 0 belongs; init of HEAP keeps the value it had\n\
             HEAP(1OM,32K)\n\
             \x20     ^\n",
        );
        check(
            "HEAP(-1)",
            "column 6: -1: only STACK's init may be negative; write n, nK, nM, nG or AUTO; \
             init of HEAP keeps the value it had\n\
             HEAP(-1)\n\
             \x20    ^^\n",
        );
        check(
            "HEAP(1M,1M,,KEPE)",
            "column 13: KEPE: did you mean KEEP? KEEP|FREE|AUTO of HEAP keeps the value it had\n\
             HEAP(1M,1M,,KEPE)\n\
             \x20           ^^^^\n",
        );
        check(
            "  HEAP(1M",
            "column 7: this parenthesis is not closed, so that its option was left out; \
             put ) behind its last sub-option\n\
             \x20 HEAP(1M\n\
             \x20     ^\n",
        );
        check(
            "RPTSTG",
            "column 1: RPTSTG without sub-options sets nothing; write RPTSTG(OFF|ON)\nRPTSTG\n^^^^^^\n",
        );
        check(
            "NORPTSTG",
            "column 1: NORPTSTG: RPTSTG has no form with NO; write RPTSTG(OFF|ON)\nNORPTSTG\n^^^^^^^^\n",
        );
        check(
            "ALL31(ON)",
            "column 1: ALL31 is accepted and has no effect: Linux programs have no addressing modes\n\
             ALL31(ON)\n^^^^^\n",
        );
        check(
            "HEAP(,,BELOW)",
            "column 8: BELOW (ANYWHERE|BELOW of HEAP) is accepted and has no effect: \
             Linux has no 16M line; storage may be anywhere\n\
             HEAP(,,BELOW)\n\
             \x20      ^^^^^\n",
        );
        check(
            "RPTSTG(ON,OFF)",
            "column 11: OFF is one too many: RPTSTG has 1 sub-option; it and what follows were left out; \
             count the commas\n\
             RPTSTG(ON,OFF)\n\
             \x20         ^^^\n",
        );
    }

    #[test]
    fn excerpts_count_characters_and_show_part_of_a_long_line() {
        check(
            "MSGFILE('caf\u{e9}') HEPA(1)",
            "column 17: HEPA is no run-time option and was left out; did you mean HEAP?\n\
             MSGFILE('caf\u{e9}') HEPA(1)\n\
             \x20               ^^^^\n",
        );
        let long = "RPTSTG(ON) ".repeat(20) + "WHATISTHIS" + &" RPTSTG(ON)".repeat(20);
        let text = first(&long);
        let mut lines = text.lines().skip(1);
        let (line, carets) = (lines.next().unwrap(), lines.next().unwrap());
        assert!(line.starts_with("...") && line.ends_with("...") && line.len() < 130, "{line}");
        assert_eq!(line.find("WHATISTHIS"), carets.find('^'), "{text}");
        assert_eq!(carets.trim(), "^^^^^^^^^^");
    }

    #[test]
    fn severities_and_message_numbers() {
        let of = |text: &str| {
            let mut found = None;
            crate::check(text.as_bytes(), &mut |diagnostic| {
                found = found.or(Some((diagnostic.severity(), diagnostic.message_number())));
            });
            found
        };
        assert_eq!(of("HEAP(1M)"), None);
        assert_eq!(of("HEAPX(1M)"), Some((Severity::Warning, Some("CEE3611I"))));
        assert_eq!(of("HEAP(1x2)"), Some((Severity::Warning, Some("CEE3614I"))));
        assert_eq!(of("STACK(1M)"), Some((Severity::Note, None)));
        assert_eq!(of("ALL31((OFF),NONOVR)"), Some((Severity::Note, None)));
        assert_eq!(of("[build-id:12] HEAP(1M)"), Some((Severity::Warning, None)));
    }
}
