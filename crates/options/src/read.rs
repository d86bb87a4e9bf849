//! Converts the text of one sub-option to a value, or gives the reason why it cannot.
//!
//! Invariant: sizes are rounded here, so the stored value is the value in force: 31-bit forms up to a multiple of 8 bytes,
//! 64-bit forms to one of 1M.
//! Not here: the kinds of values (`value`), and the handling of an invalid one (`apply`).

use crate::lists::{LARGEST_LIST, LEAST_LIST, LIST_UNIT};
use crate::value::{
    AUTO_WORD, FILL_CLEAR, FILL_WORDS, Kind, LARGEST_CELL, LARGEST_SIZE, SWITCH_WORDS, Value, Word,
};

/// The reason why a text is no value of a kind. Offsets are bytes within the text that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Not one of the keywords.
    NotAWord,
    /// Not a size or number.
    NotANumber,
    /// An invalid character in the middle of a number.
    BadDigit {
        /// Its offset.
        at: usize,
    },
    /// A letter O for 0, or l or I for 1: with the digit, the whole would be correct.
    LetterForDigit {
        /// The offset of the letter.
        at: usize,
        /// The intended digit.
        digit: u8,
    },
    /// Negative, which only STACK allows.
    Negative,
    /// Outside the limits.
    OutOfRange {
        /// The largest value accepted.
        most: u64,
    },
    /// Not NONE, two hexadecimal digits or a quoted character.
    NotAFill,
    /// Below the smallest value accepted.
    TooSmall {
        /// That value.
        least: u64,
    },
    /// A size of AVL that is not above the one before it.
    NotAscending {
        /// The one before it.
        before: u64,
    },
    /// A class of AVL without any size.
    NoSize,
    /// A name of a class that is too long, or has control characters.
    NotAClass,
    /// Not CPUS with numbers of processors.
    NotProcessors,
    /// Not the word with names of files.
    NotFiles,
    /// A pattern of WORKFILE that is empty, or has control characters.
    NotAPattern,
    /// An empty file name, a control character in it, or a `%` without a meaning.
    NotAFileName,
}

/// Reads `text`, which has no surrounding blanks, as a value of `kind`.
/// `below` is the value of the layer below: `(,2)` keeps its cell size.
pub(crate) fn read(kind: Kind, text: &[u8], below: Value) -> Result<Value, Flaw> {
    match kind {
        Kind::Size { unit, least, most, auto, negative } => {
            if auto && find_word(AUTO_WORD, text).is_some() {
                return Ok(Value::Auto);
            }
            let (minus, bytes) = size(text)?;
            let bytes = round_up(bytes, unit).filter(|bytes| *bytes <= most);
            let bytes = bytes.ok_or(Flaw::OutOfRange { most })?;
            match (minus, negative) {
                (true, true) if bytes > 0 => Ok(Value::AllBut(bytes)),
                (true, false) => Err(Flaw::Negative),
                _ => Ok(Value::Bytes(bytes.max(least))),
            }
        }
        Kind::Kilobytes { most } => {
            let bytes = match size(text)? {
                (true, _) => return Err(Flaw::Negative),
                (false, number) if text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'+') => {
                    number.checked_mul(1 << 10)
                }
                (false, bytes) => round_up(bytes, 1 << 10),
            };
            let bytes = bytes.filter(|bytes| *bytes <= most);
            bytes.map(Value::Bytes).ok_or(Flaw::OutOfRange { most: most >> 10 })
        }
        Kind::Number { most } => Ok(Value::Number(number(text, most)?)),
        Kind::Words(words) => find_word(words, text).map(Value::Word).ok_or(Flaw::NotAWord),
        Kind::Switch => find_word(SWITCH_WORDS, text).map(Value::Word).ok_or(Flaw::NotAWord),
        Kind::Fill { clear } => fill(text, clear),
        Kind::Cell => cell(text, below),
        Kind::File => {
            // SYSOUT is Language Environment's default; ddnames have no meaning here.
            let auto = find_word(AUTO_WORD, text).is_some() || text.eq_ignore_ascii_case(b"SYSOUT");
            if auto { Ok(Value::Auto) } else { file(text) }
        }
        Kind::Free => Ok(Value::Text),
        Kind::Files(word) => files(word, text),
        Kind::Processors => processors(text),
        Kind::Named { word, inner, alone } => {
            if alone != Value::Unset && text.eq_ignore_ascii_case(word.as_bytes()) {
                return Ok(alone);
            }
            let value = in_parentheses(word, text).ok_or(Flaw::NotAWord)?;
            let before = text.len() - text.trim_ascii_end().len() + 1 + value.len();
            read(*inner, value.trim_ascii(), below)
                .map_err(|flaw| moved(flaw, text.len() - before + blanks(value)))
        }
        // A set is read part by part (`apply`), and so are work files.
        Kind::Lists => Err(Flaw::NoSize),
        Kind::WorkFiles => Err(Flaw::NotAPattern),
    }
}

/// The index of the keyword that `text` spells or abbreviates, ignoring case.
pub(crate) fn find_word(words: &[Word], text: &[u8]) -> Option<u8> {
    let found = words.iter().position(|word| abbreviates(text, word.name, word.least));
    found.and_then(|index| u8::try_from(index).ok())
}

/// Whether `text` is `name`, or a prefix of it with at least `least` letters.
pub(crate) fn abbreviates(text: &[u8], name: &str, least: u8) -> bool {
    text.len() >= least as usize
        && text.len() <= name.len()
        && text.eq_ignore_ascii_case(&name.as_bytes()[..text.len()])
}

/// Reads `n`, `nK`, `nM` or `nG`, with an optional sign; returns whether it is negative, and the number of bytes.
/// Invariant: never more than `LARGEST_SIZE` without an error, so that rounding cannot overflow.
fn size(text: &[u8]) -> Result<(bool, u64), Flaw> {
    let (sign, digits) = match text.first() {
        Some(b'-' | b'+') => text.split_at(1),
        _ => text.split_at(0),
    };
    let (digits, shift) = match digits.last() {
        Some(b'k' | b'K') => (&digits[..digits.len() - 1], 10),
        Some(b'm' | b'M') => (&digits[..digits.len() - 1], 20),
        Some(b'g' | b'G') => (&digits[..digits.len() - 1], 30),
        _ => (digits, 0),
    };
    let count = decimal(digits).map_err(|flaw| moved(behind_unit(digits, flaw), sign.len()))?;
    let bytes = count.checked_mul(1 << shift).filter(|bytes| *bytes <= LARGEST_SIZE);
    Ok((sign == b"-", bytes.ok_or(Flaw::OutOfRange { most: LARGEST_SIZE })?))
}

fn number(text: &[u8], most: u64) -> Result<u64, Flaw> {
    if text.first() == Some(&b'-') && decimal(&text[1..]).is_ok() {
        return Err(Flaw::TooSmall { least: 0 });
    }
    let number = decimal(text)?;
    if number <= most { Ok(number) } else { Err(Flaw::OutOfRange { most }) }
}

/// Digits only. A number that is too large returns the largest one: the caller's limit is always below it.
fn decimal(digits: &[u8]) -> Result<u64, Flaw> {
    let mut number = 0_u64;
    for (at, &byte) in digits.iter().enumerate() {
        if !byte.is_ascii_digit() {
            return Err(misspelt(digits, at));
        }
        number = number.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
    }
    if digits.is_empty() { Err(Flaw::NotANumber) } else { Ok(number) }
}

/// The reason why `digits`, whose first bad byte is at `at`, are no number.
fn misspelt(digits: &[u8], at: usize) -> Flaw {
    let meant = |byte: u8| match byte {
        b'O' | b'o' => Some(b'0'),
        b'l' | b'I' => Some(b'1'),
        _ => None,
    };
    let any_digit = digits.iter().any(u8::is_ascii_digit);
    if any_digit && digits.iter().all(|&byte| byte.is_ascii_digit() || meant(byte).is_some()) {
        let digit = meant(digits[at]).unwrap_or(b'0');
        return Flaw::LetterForDigit { at, digit };
    }
    if at == 0 { Flaw::NotANumber } else { Flaw::BadDigit { at } }
}

/// In 64MB and 64MiB, the fault is after the M.
fn behind_unit(digits: &[u8], flaw: Flaw) -> Flaw {
    match flaw {
        Flaw::BadDigit { at }
            if at + 1 < digits.len() && matches!(digits[at], b'k' | b'K' | b'm' | b'M' | b'g' | b'G') =>
        {
            Flaw::BadDigit { at: at + 1 }
        }
        other => other,
    }
}

fn moved(flaw: Flaw, by: usize) -> Flaw {
    match flaw {
        Flaw::BadDigit { at } => Flaw::BadDigit { at: at + by },
        Flaw::LetterForDigit { at, digit } => Flaw::LetterForDigit { at: at + by, digit },
        other => other,
    }
}

/// `bytes` rounded up to a multiple of `unit`, a power of two.
fn round_up(bytes: u64, unit: u64) -> Option<u64> {
    bytes.checked_add(unit - 1).map(|sum| sum & !(unit - 1))
}

fn fill(text: &[u8], clear: bool) -> Result<Value, Flaw> {
    match find_word(FILL_WORDS, text).map(Value::Word) {
        Some(FILL_CLEAR) if !clear => return Err(Flaw::NotAFill),
        Some(word) => return Ok(word),
        None => {}
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    match *text {
        [high, low] => match (digit(high), digit(low)) {
            (Some(high), Some(low)) => Ok(Value::Byte(high << 4 | low)),
            _ => Err(Flaw::NotAFill),
        },
        [open @ (b'\'' | b'"'), byte, close] if open == close => Ok(Value::Byte(byte)),
        // A quote within quotes is doubled.
        [open @ (b'\'' | b'"'), a, b, close] if open == close && a == open && b == open => {
            Ok(Value::Byte(open))
        }
        _ => Err(Flaw::NotAFill),
    }
}

/// `size`, or `(size,pools)`; either may be omitted.
fn cell(text: &[u8], below: Value) -> Result<Value, Flaw> {
    let (below_size, below_pools) = match below {
        Value::Cell { size, pools } => (size, pools),
        _ => (0, 0),
    };
    let Some(inner) = text.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")")) else {
        return Ok(Value::Cell { size: cell_size(text)?, pools: 0 });
    };
    let comma = inner.iter().position(|&byte| byte == b',').unwrap_or(inner.len());
    let left = inner[..comma].trim_ascii();
    let right = inner.get(comma + 1..).unwrap_or_default().trim_ascii();
    let size = if left.is_empty() {
        below_size
    } else {
        let from = 1 + inner.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        cell_size(left).map_err(|flaw| moved(flaw, from))?
    };
    let pools = if right.is_empty() {
        below_pools
    } else {
        let after = inner.get(comma + 1..).unwrap_or_default();
        let from = 2 + comma + after.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        number(right, 255).map_err(|flaw| moved(flaw, from))?.try_into().unwrap_or(u16::MAX)
    };
    Ok(Value::Cell { size, pools })
}

fn cell_size(text: &[u8]) -> Result<u32, Flaw> {
    let most = LARGEST_CELL;
    let (minus, bytes) = size(text)?;
    let bytes = round_up(bytes, 8).filter(|bytes| *bytes <= most && !minus);
    bytes.and_then(|bytes| u32::try_from(bytes).ok()).ok_or(Flaw::OutOfRange { most })
}

fn file(text: &[u8]) -> Result<Value, Flaw> {
    let mut bytes = unquoted(text).peekable();
    if bytes.peek().is_none() {
        return Err(Flaw::NotAFileName);
    }
    while let Some(byte) = bytes.next() {
        let stands_for_something = byte != b'%' || matches!(bytes.next(), Some(b'%' | b'p' | b'e' | b'h'));
        if byte.is_ascii_control() || !stands_for_something {
            return Err(Flaw::NotAFileName);
        }
    }
    Ok(Value::Text)
}

/// Reads a size of AVL; returns it, rounded up, and whether it was rounded.
pub(crate) fn list_size(text: &[u8]) -> Result<(u64, bool), Flaw> {
    let kind = Kind::Size { unit: LIST_UNIT, least: 0, most: LARGEST_LIST, auto: false, negative: false };
    match read(kind, text, Value::Unset)? {
        Value::Bytes(bytes) if bytes >= LEAST_LIST => {
            Ok((bytes, size(text).is_ok_and(|(_, given)| given != bytes)))
        }
        _ => Err(Flaw::TooSmall { least: LEAST_LIST }),
    }
}

/// The bytes between the parentheses of `WORD(file,file)`; None if the text is not of this form.
fn names_of<'t>(word: &str, text: &'t [u8]) -> Option<&'t [u8]> {
    in_parentheses(word, text).map(<[u8]>::trim_ascii)
}

/// The bytes between the parentheses behind a word; None if the text is not of this form.
fn in_parentheses<'t>(word: &str, text: &'t [u8]) -> Option<&'t [u8]> {
    let (first, rest) = text.split_at_checked(word.len())?;
    let rest = rest.trim_ascii_start().strip_prefix(b"(")?.strip_suffix(b")")?;
    first.eq_ignore_ascii_case(word.as_bytes()).then_some(rest)
}

/// Blanks at the beginning of a text.
fn blanks(text: &[u8]) -> usize {
    text.len() - text.trim_ascii_start().len()
}

/// Whether a text says by its first word that it is a value of this kind.
pub(crate) fn is_named(kind: Kind, text: &[u8]) -> bool {
    match kind {
        Kind::Files(word) => names_of(word, text).is_some(),
        Kind::Processors => names_of("CPUS", text).is_some(),
        Kind::Named { word, alone, .. } => {
            in_parentheses(word, text).is_some()
                || (alone != Value::Unset && text.eq_ignore_ascii_case(word.as_bytes()))
        }
        _ => false,
    }
}

/// Names of files without their folders, or of folders with `/` at their ends; a name may end with `*`.
fn files(word: &str, text: &[u8]) -> Result<Value, Flaw> {
    let names = names_of(word, text).ok_or(Flaw::NotFiles)?;
    let is_plain =
        |byte: &u8| !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"()'\"=*/".contains(byte);
    let is_name = |name: &[u8]| {
        let name = name.trim_ascii();
        let stem = name.strip_suffix(b"*").or(name.strip_suffix(b"/")).unwrap_or(name);
        !stem.is_empty() && stem.iter().all(is_plain)
    };
    let are_names = names.is_empty() || names.split(|&byte| byte == b',').all(is_name);
    if are_names { Ok(Value::Text) } else { Err(Flaw::NotFiles) }
}

/// Numbers of processors below 1,024, and ranges of them.
fn processors(text: &[u8]) -> Result<Value, Flaw> {
    let list = names_of("CPUS", text).ok_or(Flaw::NotProcessors)?;
    let number = |text: &[u8]| {
        let digits = text.trim_ascii();
        let is_short = (1..=4).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
        if !is_short {
            return None;
        }
        let value = digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
        Some(value).filter(|value| *value < 1_024)
    };
    let is_part = |part: &[u8]| match part.iter().position(|&byte| byte == b'-') {
        None => number(part).is_some(),
        Some(at) => {
            let (first, last) = (number(&part[..at]), number(&part[at + 1..]));
            first.zip(last).is_some_and(|(first, last)| first <= last)
        }
    };
    if list.is_empty() || list.split(|&byte| byte == b',').all(is_part) {
        Ok(Value::Text)
    } else {
        Err(Flaw::NotProcessors)
    }
}

/// The bytes that are stored of a sub-option that is a text.
pub(crate) fn stored(kind: Kind, text: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let names = match kind {
        Kind::Files(word) => names_of(word, text),
        Kind::Processors => names_of("CPUS", text),
        _ => None,
    };
    let are_names = names.is_some();
    unquoted(names.unwrap_or(text)).filter(move |byte| !are_names || !byte.is_ascii_whitespace())
}

/// The bytes of `text` without its quotes, if it has them; a doubled quote within means one.
pub(crate) fn unquoted(text: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let quote = match text {
        [open @ (b'\'' | b'"'), .., close] if open == close => Some(*open),
        _ => None,
    };
    let inner = if quote.is_some() { &text[1..text.len() - 1] } else { text };
    let mut second = false;
    inner.iter().copied().filter(move |&byte| {
        second = Some(byte) == quote && !second;
        Some(byte) != quote || second
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{FILL_NONE, M};

    const SIZE31: Kind = Kind::Size { unit: 8, least: 0, most: LARGEST_SIZE, auto: true, negative: false };
    const SIZE64: Kind = Kind::Size { unit: M, least: M, most: LARGEST_SIZE, auto: false, negative: false };
    const STACK: Kind = Kind::Size { unit: 8, least: 0, most: LARGEST_SIZE, auto: false, negative: true };

    fn check(kind: Kind, text: &str, expect: Result<Value, Flaw>) {
        assert_eq!(read(kind, text.as_bytes(), Value::Unset), expect, "{text}");
    }

    #[test]
    fn sizes_are_read_and_rounded() {
        check(SIZE31, "0", Ok(Value::Bytes(0)));
        check(SIZE31, "1", Ok(Value::Bytes(8)));
        check(SIZE31, "8", Ok(Value::Bytes(8)));
        check(SIZE31, "4081", Ok(Value::Bytes(4088)));
        check(SIZE31, "32k", Ok(Value::Bytes(32768)));
        check(SIZE31, "+2M", Ok(Value::Bytes(2 << 20)));
        check(SIZE31, "3G", Ok(Value::Bytes(3 << 30)));
        check(SIZE31, "auto", Ok(Value::Auto));
        check(SIZE64, "1", Ok(Value::Bytes(M)));
        check(SIZE64, "0", Ok(Value::Bytes(M)));
        check(SIZE64, "1025K", Ok(Value::Bytes(2 * M)));
        check(STACK, "-4K", Ok(Value::AllBut(4096)));
        check(STACK, "-0", Ok(Value::Bytes(0)));
        check(SIZE31, "131072G", Ok(Value::Bytes(LARGEST_SIZE)));
    }

    #[test]
    fn plain_sizes_of_caches_are_kilobytes() {
        const CACHE: Kind = Kind::Kilobytes { most: 64 << 20 };
        check(CACHE, "300", Ok(Value::Bytes(300 << 10)));
        check(CACHE, "300K", Ok(Value::Bytes(300 << 10)));
        check(CACHE, "1m", Ok(Value::Bytes(1 << 20)));
        check(CACHE, "0", Ok(Value::Bytes(0)));
        check(CACHE, "65537", Err(Flaw::OutOfRange { most: 65536 }));
        check(CACHE, "-1", Err(Flaw::Negative));
        check(CACHE, "99999999999999999999", Err(Flaw::OutOfRange { most: LARGEST_SIZE }));
    }

    #[test]
    fn bad_sizes_say_what_and_where() {
        let most = LARGEST_SIZE;
        check(SIZE31, "-1", Err(Flaw::Negative));
        check(SIZE31, "-0", Err(Flaw::Negative));
        check(SIZE31, "131073G", Err(Flaw::OutOfRange { most }));
        check(SIZE31, "99999999999999999999999999", Err(Flaw::OutOfRange { most }));
        check(SIZE31, "140737488355321", Ok(Value::Bytes(LARGEST_SIZE)));
        check(SIZE31, "140737488355329", Err(Flaw::OutOfRange { most }));
        check(SIZE31, "K", Err(Flaw::NotANumber));
        check(SIZE31, "", Err(Flaw::NotANumber));
        check(SIZE31, "big", Err(Flaw::NotANumber));
        check(SIZE31, "12x4K", Err(Flaw::BadDigit { at: 2 }));
        check(SIZE31, "64MB", Err(Flaw::BadDigit { at: 3 }));
        check(SIZE31, "64MiB", Err(Flaw::BadDigit { at: 3 }));
        check(SIZE31, "64MK", Err(Flaw::BadDigit { at: 2 }));
        check(SIZE31, "1OM", Err(Flaw::LetterForDigit { at: 1, digit: b'0' }));
        check(SIZE31, "+l6K", Err(Flaw::LetterForDigit { at: 1, digit: b'1' }));
        check(SIZE64, "AUTO", Err(Flaw::NotANumber));
    }

    #[test]
    fn fills_are_words_digits_or_a_quoted_character() {
        let any = Kind::Fill { clear: true };
        check(any, "none", Ok(FILL_NONE));
        check(any, "CLEAR", Ok(FILL_CLEAR));
        check(Kind::Fill { clear: false }, "CLEAR", Err(Flaw::NotAFill));
        check(any, "fE", Ok(Value::Byte(0xFE)));
        check(any, "'A'", Ok(Value::Byte(b'A')));
        check(any, "''''", Ok(Value::Byte(b'\'')));
        check(any, "\"'\"", Ok(Value::Byte(b'\'')));
        check(any, "0", Err(Flaw::NotAFill));
        check(any, "G0", Err(Flaw::NotAFill));
        check(any, "'AB'", Err(Flaw::NotAFill));
    }

    #[test]
    fn cells_have_a_plain_and_a_paired_form() {
        check(Kind::Cell, "9", Ok(Value::Cell { size: 16, pools: 0 }));
        check(Kind::Cell, "(32, 2)", Ok(Value::Cell { size: 32, pools: 2 }));
        check(Kind::Cell, "64K", Ok(Value::Cell { size: 65536, pools: 0 }));
        check(Kind::Cell, "65537", Err(Flaw::OutOfRange { most: LARGEST_CELL }));
        check(Kind::Cell, "(8, 2x)", Err(Flaw::BadDigit { at: 5 }));
        let below = Value::Cell { size: 24, pools: 3 };
        assert_eq!(read(Kind::Cell, b"(,2)", below), Ok(Value::Cell { size: 24, pools: 2 }));
        assert_eq!(read(Kind::Cell, b"(40)", below), Ok(Value::Cell { size: 40, pools: 3 }));
    }

    #[test]
    fn file_names_may_be_quoted() {
        check(Kind::File, "/tmp/%e.%p.%h%%", Ok(Value::Text));
        check(Kind::File, "auto", Ok(Value::Auto));
        check(Kind::File, "sysout", Ok(Value::Auto));
        check(Kind::File, "'auto'", Ok(Value::Text));
        check(Kind::File, "''", Err(Flaw::NotAFileName));
        check(Kind::File, "a%q", Err(Flaw::NotAFileName));
        check(Kind::File, "a%", Err(Flaw::NotAFileName));
        assert!(unquoted(b"'it''s'").eq(*b"it's"));
        assert!(unquoted(b"it's").eq(*b"it's"));
        assert!(unquoted(b"''''").eq(*b"'"));
    }
}
