//! The texts of the messages: each gives the fault, its consequence, and the correct form.
//!
//! The accepted values come from the kinds and names of the table, so messages and table cannot disagree.

use core::fmt::{self, Display};

use crate::diagnostic::{Diagnostic, Problem, character_start};
use crate::display::Shown;
use crate::entry::Entry;
use crate::grammar::{LONGEST_OPTION, SyntaxFlaw};
use crate::lists::{AVAILABLE_LISTS, CLASSES_WITH_SIZES, LEAST_LIST, LIST_UNIT, LONGEST_CLASS};
use crate::read::Flaw;
use crate::texts::TEXT_ROOM;
use crate::value::Kind;

impl Display for Diagnostic<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_and_column();
        if self.text.trim_ascii_end().contains(&b'\n') {
            write!(out, "line {line}, ")?;
        }
        write!(out, "column {column}: ")?;
        let word = Excerpt(self.word());
        match self.problem {
            Problem::Syntax(flaw) => write_syntax(flaw, &word, out),
            Problem::UnknownOption { nearest: Some(name) } => {
                write!(out, "{word} is no run-time option and was left out; did you mean {name}?")
            }
            Problem::UnknownOption { nearest: None } => {
                write!(
                    out,
                    "{word} is no run-time option and was left out; `underbar explain` lists them all"
                )
            }
            Problem::NoNegativeForm { entry } => {
                write!(out, "{word}: {} has no form with NO; write {}", entry.name, Syntax(entry))
            }
            Problem::NothingGiven { entry } => {
                write!(out, "{word} without sub-options sets nothing; write {}", Syntax(entry))
            }
            Problem::TooManySubOptions { entry } if entry.written()[0].kind == Kind::Lists => {
                write!(out, "{word} is one too many: a class has at most {AVAILABLE_LISTS} sizes; ")?;
                out.write_str("it and what follows were left out")
            }
            Problem::TooManySubOptions { entry } => {
                let most = entry.written().len();
                let plural = if most == 1 { "" } else { "s" };
                write!(out, "{word} is one too many: {} has {most} sub-option{plural}; ", entry.name)?;
                out.write_str("it and what follows were left out; count the commas")
            }
            Problem::BadValue { entry, flaw: Flaw::NoSize, .. } => {
                let class = if self.word().is_empty() { "AVL" } else { "the class" };
                write!(out, "{class} {word} has no size; write {}; this AVL was left out", Syntax(entry))
            }
            Problem::BadValue { sub_option, flaw, .. } if sub_option.kind == Kind::Lists => {
                write_flaw(flaw, None, sub_option.kind, &word, out)?;
                out.write_str("; this AVL was left out")
            }
            Problem::BadValue { entry, sub_option, flaw, nearest } => {
                write_flaw(flaw, nearest, sub_option.kind, &word, out)?;
                // A question has its mark already.
                let mark = if nearest.is_some() { "" } else { ";" };
                write!(out, "{mark} {} of {} keeps the value it had", sub_option.name, entry.name)
            }
            Problem::NoRoom { entry } if entry.written()[0].kind == Kind::Lists => {
                write!(out, "{word} was left out: {CLASSES_WITH_SIZES} classes have sizes already; ")?;
                out.write_str("set those of the others by AVL without a class")
            }
            Problem::Rounded { entry, to } => {
                write!(
                    out,
                    "{word} is rounded up to {to}: sizes of {} are multiples of {LIST_UNIT}",
                    entry.name
                )
            }
            Problem::NoRoom { entry } => {
                write!(out, "{} was left out: all texts together may have {TEXT_ROOM} bytes; ", entry.name)?;
                out.write_str("shorten it")
            }
            Problem::SectionForNobody => {
                write!(out, "{word} names no program, so that what it holds was left out; ")?;
                out.write_str("write [program], [build-id:HEX] with at least 8 digits, or [*]")
            }
            Problem::NonOverridable => {
                out.write_str("NONOVR is accepted and has no effect: each layer may override those below; ")?;
                out.write_str("nothing needs to be done")
            }
            Problem::NoEffect { entry, sub_option: None, why } => {
                write!(out, "{} is accepted and has no effect: {why}", entry.name)
            }
            Problem::NoEffect { entry, sub_option: Some(sub), why } => {
                write!(out, "{word} ({} of {}) is accepted and has no effect: {why}", sub.name, entry.name)
            }
            Problem::Partly { entry, what } => write!(out, "{} {what}", entry.name),
        }
    }
}

fn write_syntax(flaw: SyntaxFlaw, word: &Excerpt<'_>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match flaw {
        SyntaxFlaw::StrayCharacter => {
            write!(out, "{word} does not belong here and was skipped; write options as NAME(value,value) ")?;
            out.write_str("with blanks or commas between them")
        }
        SyntaxFlaw::StrayParenthesis => {
            out.write_str("this parenthesis closes nothing and was skipped; take it away")
        }
        SyntaxFlaw::UnclosedParenthesis => {
            out.write_str("this parenthesis is not closed, so that its option was left out; ")?;
            out.write_str("put ) behind its last sub-option")
        }
        SyntaxFlaw::TooLong => {
            write!(
                out,
                "this parenthesis is not closed within {LONGEST_OPTION} characters, so that its option was left out; "
            )?;
            out.write_str("shorten what it holds, or put ) behind its last sub-option")
        }
        SyntaxFlaw::UnclosedQuote => {
            out.write_str(
                "this quote is not closed, so that its option was left out; close it, and double ",
            )?;
            out.write_str("quotes within it")
        }
        SyntaxFlaw::ValueWithoutParentheses => {
            write!(out, "{word} was left out: values belong in parentheses; write NAME(value)")
        }
        SyntaxFlaw::UnclosedSection => {
            write!(
                out,
                "{word} lacks its closing bracket, so that what follows was left out; write [program]"
            )
        }
    }
}

fn write_flaw(
    flaw: Flaw,
    nearest: Option<&str>,
    kind: Kind,
    word: &Excerpt<'_>,
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match flaw {
        Flaw::NotAWord => match nearest {
            Some(name) => write!(out, "{word}: did you mean {name}?"),
            None => write!(out, "{word} is none of its keywords; write {}", Accepted(kind)),
        },
        Flaw::NotAFill => match nearest {
            Some(name) => write!(out, "{word}: did you mean {name}?"),
            None => write!(out, "{word} is no fill; write {}", Accepted(kind)),
        },
        Flaw::NotANumber => write!(out, "{word} is no number; write {}", Accepted(kind)),
        Flaw::BadDigit { .. } => {
            write!(out, "{word} does not belong in a number; write {}", Accepted(kind))
        }
        Flaw::LetterForDigit { digit, .. } => {
            write!(out, "the letter {word} stands where the digit {} belongs", char::from(digit))
        }
        Flaw::Negative => write!(out, "{word}: only STACK's init may be negative; write {}", Accepted(kind)),
        Flaw::OutOfRange { most } => write!(out, "{word} is out of range; the largest is {most}"),
        Flaw::TooSmall { least } => write!(out, "{word} is out of range; the smallest is {least}"),
        Flaw::NotAscending { before } => write!(out, "{word} is not above {before}, the size before it"),
        Flaw::NoSize => write!(out, "{word} has no size"),
        Flaw::NotAClass => {
            write!(
                out,
                "{word} is no name of a class; write at most {LONGEST_CLASS} bytes without control characters"
            )
        }
        Flaw::NotFiles => {
            write!(out, "{word} names no libraries; write {}, without folders and blanks", Accepted(kind))
        }
        Flaw::NotAPattern => {
            write!(out, "{word} is no pattern of file names; write a name, or a pattern with *, ? or [a-z]")
        }
        Flaw::NotProcessors => write!(out, "{word} is no list of processors; write {}", Accepted(kind)),
        Flaw::NotAFileName => {
            write!(out, "{word} is no file name; write a path, with %p, %e, %h or %% as its only uses of %")
        }
    }
}

/// A word of the text, cut if it is long.
struct Excerpt<'a>(&'a [u8]);

impl Display for Excerpt<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 40;
        if self.0.len() <= LONGEST {
            return write!(out, "{}", Shown(self.0));
        }
        write!(out, "{}...", Shown(&self.0[..character_start(self.0, LONGEST)]))
    }
}

/// The values that a kind accepts, in words.
pub(crate) struct Accepted(pub Kind);

impl Display for Accepted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Size { auto: true, .. } => out.write_str("n, nK, nM, nG or AUTO"),
            Kind::Size { .. } => out.write_str("n, nK, nM or nG"),
            Kind::Number { most } if most < u64::from(u32::MAX) => write!(out, "a number from 0 to {most}"),
            Kind::Number { .. } => out.write_str("a number"),
            Kind::Words(words) => {
                for (index, word) in words.iter().enumerate() {
                    let last = index + 1 == words.len();
                    let between = if index == 0 {
                        ""
                    } else if last {
                        " or "
                    } else {
                        ", "
                    };
                    write!(out, "{between}{}", word.name)?;
                }
                Ok(())
            }
            Kind::Fill { clear: false } => out.write_str("NONE, two hexadecimal digits or 'c'"),
            Kind::Fill { clear: true } => out.write_str("NONE, CLEAR, two hexadecimal digits or 'c'"),
            Kind::Cell => out.write_str("a multiple of 8 up to 65536, or (size,pools)"),
            Kind::File => out.write_str("AUTO or a file name"),
            Kind::Kilobytes { most } => write!(out, "a number of KiB from 0 to {}", most >> 10),
            Kind::WorkFiles => out.write_str("a file name, or a pattern with *, ? or [a-z]"),
            Kind::Processors => out.write_str("CPUS(0,2-5)"),
            Kind::Files(word) => write!(out, "{word}(libssl,libfoo*)"),
            Kind::Named { word, inner, .. } => write!(out, "{word}({})", Accepted(*inner)),
            Kind::Lists => write!(
                out,
                "a class or nothing, and up to {AVAILABLE_LISTS} ascending multiples of {LIST_UNIT} from {LEAST_LIST} to 64K"
            ),
            Kind::Free => out.write_str("anything"),
            Kind::Switch => out.write_str("ON or OFF"),
        }
    }
}

/// The syntax of an option: `RPTSTG(OFF|ON)`.
pub(crate) struct Syntax(pub &'static Entry);

impl Display for Syntax {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}(", self.0.name)?;
        // Twelve pairs of pools tell no more than three.
        const SHOWN: usize = 9;
        for (index, sub) in self.0.written().iter().take(SHOWN).enumerate() {
            write!(out, "{}{}", if index > 0 { "," } else { "" }, sub.name)?;
        }
        out.write_str(if self.0.written().len() > SHOWN { ",...)" } else { ")" })
    }
}
