//! The text of a condition.
//!
//! ```text
//! COND=(1,3,CH,EQ,C'ABC',AND,(21,4,PD,GT,0,OR,30,1,BI,EQ,X'FF'))      AND binds closer than OR
//! COND=(1,3,EQ,C'ABC'),FORMAT=CH        COND=ALL        COND=NONE
//! ```
//!
//! Invariant: a condition is read as DFSORT reads it, or is an error.
//! Not here: the decision on a record (`condition`).

use crate::condition::{Condition, Operand, Operator};
use crate::field::Kind;
use crate::parser::{Parser, Read, is_kind, kind_of};
use crate::words::Word;

/// The most parentheses within each other.
const DEEPEST: usize = 64;

/// Reads what follows `COND=`.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(parser: &mut Parser<'_>) -> Read<Condition> {
    if parser.take("ALL") {
        return Ok(Condition::All(Vec::new()));
    }
    if parser.take("NONE") {
        return Ok(Condition::Any(Vec::new()));
    }
    let common = parser.format_behind()?;
    parser.expect("(")?;
    let condition = Conditions { parser, common }.alternatives(0)?;
    parser.expect(")")?;
    if common.is_some() {
        // It was read before.
        parser.skip(4);
    }
    Ok(condition)
}

struct Conditions<'p, 'a> {
    parser: &'p mut Parser<'a>,
    /// The kind of fields without one.
    common: Option<Kind>,
}

impl<'a> Conditions<'_, 'a> {
    fn alternatives(&mut self, depth: usize) -> Read<Condition> {
        let mut all = vec![self.conjunction(depth)?];
        while self.take_after_comma(&["OR", "|"]) {
            self.parser.expect(",")?;
            all.push(self.conjunction(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::Any(all) })
    }

    fn conjunction(&mut self, depth: usize) -> Read<Condition> {
        let mut all = vec![self.comparison(depth)?];
        while self.take_after_comma(&["AND", "&"]) {
            self.parser.expect(",")?;
            all.push(self.comparison(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::All(all) })
    }

    fn take_after_comma(&mut self, words: &[&str]) -> bool {
        let follows = |text: &str| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        let is_it = self.parser.peek(0) == Some(",") && self.parser.peek(1).is_some_and(follows);
        if is_it {
            self.parser.skip(2);
        }
        is_it
    }

    fn comparison(&mut self, depth: usize) -> Read<Condition> {
        let first = self.parser.needed("a position")?;
        if first.text == "(" {
            if depth == DEEPEST {
                return Err(first.wrong(format!("more than {DEEPEST} parentheses within each other")));
            }
            let condition = self.alternatives(depth + 1)?;
            self.parser.expect(")")?;
            return Ok(condition);
        }
        let length = self.parser.after_comma("a length")?;
        let word = self.parser.after_comma("a kind of field or a comparison")?;
        let (kind, word) = match self.common {
            Some(common) if !is_kind(word.text) => (common, word),
            _ => (kind_of(word)?, self.parser.after_comma("a comparison")?),
        };
        let field = self.parser.field(first, length, kind)?;
        let operator = Operator::named(&word.text.to_ascii_uppercase()).ok_or_else(|| {
            word.wrong(format!(
                "{} is not a comparison; comparisons are EQ, NE, GT, GE, LT and LE",
                word.text
            ))
        })?;
        let operand = self.operand(kind)?;
        Ok(Condition::Compare { field, operator, operand })
    }

    fn operand(&mut self, kind: Kind) -> Read<Operand> {
        let word = self.parser.after_comma("a constant or a field")?;
        let is_text = matches!(kind, Kind::Ch | Kind::Bi);
        match constant(word.text) {
            Some(('C', text)) if is_text => Ok(Operand::Bytes(text.replace("''", "'").into_bytes())),
            Some(('X', text)) if is_text => hexadecimal(text)
                .map(Operand::Bytes)
                .ok_or_else(|| word.wrong(format!("{text} is not a hexadecimal number of whole bytes"))),
            Some(('C' | 'X', _)) => {
                Err(word.wrong(format!("a {kind} field is compared with a number or a field")))
            }
            Some((name, _)) => {
                Err(word.wrong(format!("{name}'...' is not a constant; constants are C'...' and X'...'")))
            }
            // A field has two numbers.
            None if self.parser.peek(0) == Some(",") && self.parser.is_at_number(1) => self.other_field(word),
            None => {
                let number = word.text.strip_prefix('+').unwrap_or(word.text).parse::<i128>();
                let number = number.map_err(|_| {
                    word.wrong(format!("{} is not a number, a constant or a field", word.text))
                })?;
                if kind == Kind::Ch {
                    return Err(word.wrong("a CH field is compared with C'...', X'...' or a field"));
                }
                Ok(Operand::Number(number))
            }
        }
    }

    fn other_field(&mut self, position: Word<'a>) -> Read<Operand> {
        let length = self.parser.after_comma("a length")?;
        let kind = match self.common {
            Some(common) if !self.parser.peek(1).is_some_and(is_kind) => common,
            _ => kind_of(self.parser.after_comma("a kind of field")?)?,
        };
        Ok(Operand::Field(self.parser.field(position, length, kind)?))
    }
}

/// The letter and the text of a constant such as `C'ABC'`.
fn constant(text: &str) -> Option<(char, &str)> {
    let letter = text.chars().next()?;
    let inner = text[letter.len_utf8()..].strip_prefix('\'')?.strip_suffix('\'')?;
    Some((letter.to_ascii_uppercase(), inner))
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()).collect()
}
