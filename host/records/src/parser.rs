//! The parser's small parts: words, signs, numbers, fields.
//!
//! Invariant: every error has the line of the word at fault.
//! Not here: statements (`statement`) and conditions (`condition_text`).

use crate::field::{Field, Kind};
use crate::format::{Format, LONGEST, RDW};
use crate::words::{Word, Wrong, words};

/// The result of reading a part.
pub type Read<T> = Result<T, Wrong>;

/// Reads words one after another.
pub struct Parser<'a> {
    words: Vec<Word<'a>>,
    at: usize,
    format: Format,
}

impl<'a> Parser<'a> {
    /// A parser of this text, for records of this form.
    ///
    /// # Errors
    /// The text cannot be divided into words.
    pub fn new(text: &'a str, format: Format) -> Read<Parser<'a>> {
        Ok(Parser { words: words(text)?, at: 0, format })
    }

    /// The next word, which may be the end of a statement; None at the end of the text.
    pub fn next(&mut self) -> Option<Word<'a>> {
        let word = self.words.get(self.at).copied();
        self.at += usize::from(word.is_some());
        word
    }

    /// Passes over words that were looked at before.
    pub fn skip(&mut self, words: usize) {
        self.at = (self.at + words).min(self.words.len());
    }

    /// The text of a word further on; 0 is the next one.
    pub fn peek(&self, further: usize) -> Option<&'a str> {
        self.words.get(self.at + further).map(|word| word.text)
    }

    /// The next word of the statement.
    pub fn needed(&mut self, what: &str) -> Read<Word<'a>> {
        match self.next() {
            Some(word) if !word.is_end() => Ok(word),
            end => {
                self.at -= usize::from(end.is_some());
                let line = end.or(self.words.last().copied()).map_or(1, |word| word.line);
                Err(Wrong { line, what: format!("the statement ends where {what} is needed") })
            }
        }
    }

    /// Takes the next word if it is this one.
    pub fn take(&mut self, text: &str) -> bool {
        let is_it = self.words.get(self.at).is_some_and(|word| word.is(text));
        self.at += usize::from(is_it);
        is_it
    }

    /// Takes the next word, which must be this one.
    pub fn expect(&mut self, text: &str) -> Read<()> {
        let word = self.needed(text)?;
        if word.is(text) { Ok(()) } else { Err(word.wrong(format!("{} where {text} is needed", word.text))) }
    }

    /// A comma, and the word after it.
    pub fn after_comma(&mut self, what: &str) -> Read<Word<'a>> {
        self.expect(",")?;
        self.needed(what)
    }

    /// An equals sign, and the word after it.
    pub fn value(&mut self, what: &str) -> Read<Word<'a>> {
        self.expect("=")?;
        self.needed(what)
    }

    /// An equals sign and a number.
    pub fn number(&mut self) -> Read<u64> {
        let word = self.value("a number")?;
        unsigned(word.text).ok_or_else(|| word.wrong(format!("{} is not a number", word.text)))
    }

    /// Is the next word a number?
    pub fn is_at_number(&self, further: usize) -> bool {
        self.peek(further).is_some_and(|text| unsigned(text).is_some())
    }

    /// A field at a position, from 1 on. For variable records the descriptor word counts, as in DFSORT.
    pub fn field(&self, position: Word<'_>, length: Word<'_>, kind: Kind) -> Read<Field> {
        let number = |word: Word<'_>| {
            let number = unsigned(word.text).filter(|number| (1..=u64::from(LONGEST)).contains(number));
            let number = number.and_then(|number| u32::try_from(number).ok());
            number.ok_or_else(|| word.wrong(format!("{} is not a position or a length", word.text)))
        };
        let (at, bytes) = (number(position)?, number(length)?);
        if bytes > kind.longest() {
            return Err(length.wrong(format!("a {kind} field has at most {} bytes", kind.longest())));
        }
        let before = if let Format::Variable(_) = self.format { RDW as u32 } else { 0 };
        let Some(at) = (at - 1).checked_sub(before) else {
            let what = "the first four bytes of a variable record are its descriptor word; data begin at 5";
            return Err(position.wrong(what));
        };
        let longest = self.format.longest();
        if at + bytes > longest {
            let what = format!(
                "the field ends at byte {}, but records have {} bytes",
                at + bytes + before,
                longest + before
            );
            return Err(position.wrong(what));
        }
        Ok(Field { at, length: bytes, kind })
    }

    /// The kind in `FORMAT=kind` behind the list that begins here, if it is there. Nothing is taken.
    pub fn format_behind(&self) -> Read<Option<Kind>> {
        let mut depth = 0_usize;
        for (at, word) in self.words.iter().enumerate().skip(self.at) {
            match word.text {
                "" => break,
                "(" => depth += 1,
                ")" if depth == 1 => {
                    let [comma, name, equals] = [1, 2, 3].map(|further| self.words.get(at + further));
                    let is = |word: Option<&Word<'_>>, text| word.is_some_and(|word| word.is(text));
                    if is(comma, ",") && is(name, "FORMAT") && is(equals, "=") {
                        return self.words.get(at + 4).map(|word| kind_of(*word)).transpose();
                    }
                    break;
                }
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// Digits only: no sign.
pub fn unsigned(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The kind of a field by its name.
pub fn kind_of(word: Word<'_>) -> Read<Kind> {
    Kind::named(&word.text.to_ascii_uppercase()).ok_or_else(|| {
        word.wrong(format!("{} is not a kind of field; kinds are CH, BI, FI, PD and ZD", word.text))
    })
}

/// Is this the name of a kind?
pub fn is_kind(text: &str) -> bool {
    Kind::named(&text.to_ascii_uppercase()).is_some()
}
