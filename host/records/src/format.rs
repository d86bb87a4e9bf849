//! The form of a file's records: where each record begins and ends.
//!
//! ```text
//! fixed      | 80 bytes | 80 bytes | 80 bytes |
//! variable   | RDW | data | RDW | data |       RDW: its own length and that of the data in two bytes, the high one first; two of zero
//! undefined  | n bytes | n bytes | rest |      a record is a block; only the last block of a file may be shorter
//! lines      data \n data \n data \n           the last newline may be missing
//! ```
//!
//! Invariant: boundaries depend on the bytes before a record and on its descriptor word or newline, never on its data.
//! Not here: buffers (`blocks`), and fields of records (`field`).

use std::fmt;
use std::str::FromStr;

/// The most bytes of a record, whatever its form.
pub const LONGEST: u32 = 1 << 24;
/// The most bytes that a record descriptor word can express, itself included.
pub const LONGEST_VARIABLE: u32 = 0xffff;
/// Bytes of a record descriptor word.
pub const RDW: usize = 4;

/// The form of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Each record has this many bytes.
    Fixed(u32),
    /// A record descriptor word precedes each record. Word and data have at most this many bytes.
    Variable(u32),
    /// Each record is a block of this many bytes; the last one may be shorter.
    Undefined(u32),
    /// A newline follows each record.
    Lines,
}

/// The data of a record in a block of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Offset of the first byte.
    pub at: u32,
    /// Number of bytes.
    pub length: u32,
}

/// Why bytes are not records of a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// The file ends within a record.
    #[error("the file ends after {has} of the {needs} bytes of a record")]
    Cut {
        /// Bytes that are there.
        has: usize,
        /// Bytes of the record.
        needs: usize,
    },
    /// A descriptor word states less than its own length.
    #[error("its descriptor word states {0} bytes, fewer than the 4 of the word itself")]
    Descriptor(u32),
    /// A descriptor word of a segment.
    #[error("its descriptor word marks a segment of a spanned record, which is not supported")]
    Segment,
    /// A record is longer than declared.
    #[error("it has {has} bytes or more, and at most {most} are allowed")]
    Long {
        /// Bytes of the record that were seen.
        has: usize,
        /// Bytes that are allowed.
        most: u32,
    },
}

impl Format {
    /// Finds the whole records of a block, appends them to `pieces`, and returns the number of bytes that they take. The bytes after them
    /// begin a record that continues in the next block. At the end of a file, such a rest is a record of lines and blocks, and an
    /// error otherwise.
    ///
    /// # Errors
    /// The bytes are not records of this form. `pieces` has the records before the bad one.
    pub fn split(self, bytes: &[u8], is_end: bool, pieces: &mut Vec<Piece>) -> Result<usize, Malformed> {
        match self {
            Self::Fixed(length) => split_fixed(bytes, length, is_end, pieces),
            Self::Undefined(length) => Ok(split_undefined(bytes, length, is_end, pieces)),
            Self::Variable(most) => split_variable(bytes, most, is_end, pieces),
            Self::Lines => Ok(split_lines(bytes, is_end, pieces)),
        }
    }

    /// Bytes of a record in a file that are not data.
    #[must_use]
    pub fn overhead(self) -> usize {
        match self {
            Self::Fixed(_) | Self::Undefined(_) => 0,
            Self::Variable(_) => RDW,
            Self::Lines => 1,
        }
    }

    /// The most bytes of data of a record.
    #[must_use]
    pub fn longest(self) -> u32 {
        match self {
            Self::Fixed(length) | Self::Undefined(length) => length,
            Self::Variable(most) => most - RDW as u32,
            Self::Lines => LONGEST,
        }
    }

    /// Appends a record in the form of a file. The data must come from a file of this form, or have been checked against
    /// [`Self::longest`].
    #[inline]
    pub fn append(self, data: &[u8], to: &mut Vec<u8>) {
        if let Self::Variable(_) = self {
            let length = u16::try_from(data.len() + RDW).unwrap_or(u16::MAX);
            to.extend_from_slice(&length.to_be_bytes());
            to.extend_from_slice(&[0, 0]);
        }
        to.extend_from_slice(data);
        if self == Self::Lines {
            to.push(b'\n');
        }
    }
}

fn split_fixed(bytes: &[u8], length: u32, is_end: bool, pieces: &mut Vec<Piece>) -> Result<usize, Malformed> {
    let size = length as usize;
    let count = bytes.len() / size;
    pieces.extend((0..count).map(|number| Piece { at: (number * size) as u32, length }));
    let rest = bytes.len() - count * size;
    if is_end && rest > 0 {
        return Err(Malformed::Cut { has: rest, needs: size });
    }
    Ok(count * size)
}

fn split_undefined(bytes: &[u8], length: u32, is_end: bool, pieces: &mut Vec<Piece>) -> usize {
    let size = length as usize;
    let count = bytes.len() / size;
    pieces.extend((0..count).map(|number| Piece { at: (number * size) as u32, length }));
    let rest = bytes.len() - count * size;
    if is_end && rest > 0 {
        pieces.push(Piece { at: (count * size) as u32, length: rest as u32 });
        return bytes.len();
    }
    count * size
}

fn split_variable(
    bytes: &[u8],
    most: u32,
    is_end: bool,
    pieces: &mut Vec<Piece>,
) -> Result<usize, Malformed> {
    let mut at = 0;
    while let Some(&[high, low, segment, _]) = bytes[at..].first_chunk::<RDW>() {
        let length = u32::from(u16::from_be_bytes([high, low]));
        if segment != 0 {
            return Err(Malformed::Segment);
        }
        if length < RDW as u32 {
            return Err(Malformed::Descriptor(length));
        }
        if length > most {
            return Err(Malformed::Long { has: length as usize, most });
        }
        let end = at + length as usize;
        if end > bytes.len() {
            break;
        }
        pieces.push(Piece { at: (at + RDW) as u32, length: length - RDW as u32 });
        at = end;
    }
    if is_end && at < bytes.len() {
        let needs =
            bytes[at..].first_chunk().map_or(RDW, |two: &[u8; 2]| usize::from(u16::from_be_bytes(*two)));
        return Err(Malformed::Cut { has: bytes.len() - at, needs });
    }
    Ok(at)
}

fn split_lines(bytes: &[u8], is_end: bool, pieces: &mut Vec<Piece>) -> usize {
    let mut at = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        pieces.push(Piece { at: at as u32, length: (end - at) as u32 });
        at = end + 1;
    }
    if is_end && at < bytes.len() {
        pieces.push(Piece { at: at as u32, length: (bytes.len() - at) as u32 });
        at = bytes.len();
    }
    at
}

/// A text that names no form of records.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{0:?} is not a form of records; forms are F(80) for 80 bytes each, V or V(84) for record descriptor words, U(32760) for blocks, \
     LINES"
)]
pub struct NoFormat(String);

impl FromStr for Format {
    type Err = NoFormat;

    /// Reads `F(80)` or `FB(80)`, `V`, `VB` or `V(84)`, `U(32760)`, `LINES`, in either case.
    fn from_str(text: &str) -> Result<Self, NoFormat> {
        let wrong = || NoFormat(text.to_owned());
        let upper = text.to_ascii_uppercase();
        let (name, length) = match upper.split_once('(') {
            None => (upper.as_str(), None),
            Some((name, rest)) => {
                let digits = rest.strip_suffix(')').ok_or_else(wrong)?;
                let length = digits.parse().ok().filter(|length| (1..=LONGEST).contains(length));
                (name, Some(length.ok_or_else(wrong)?))
            }
        };
        match (name, length) {
            ("F" | "FB", Some(length)) => Ok(Self::Fixed(length)),
            ("U", Some(length)) => Ok(Self::Undefined(length)),
            ("V" | "VB", None) => Ok(Self::Variable(LONGEST_VARIABLE)),
            ("V" | "VB", Some(most)) if (RDW as u32..=LONGEST_VARIABLE).contains(&most) => {
                Ok(Self::Variable(most))
            }
            ("LINES" | "LINE" | "L", None) => Ok(Self::Lines),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(length) => write!(f, "F({length})"),
            Self::Variable(LONGEST_VARIABLE) => f.write_str("V"),
            Self::Variable(most) => write!(f, "V({most})"),
            Self::Undefined(length) => write!(f, "U({length})"),
            Self::Lines => f.write_str("LINES"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(format: Format, bytes: &[u8], is_end: bool) -> Result<(Vec<&[u8]>, usize), Malformed> {
        let mut pieces = Vec::new();
        let taken = format.split(bytes, is_end, &mut pieces)?;
        let of = |piece: &Piece| &bytes[piece.at as usize..(piece.at + piece.length) as usize];
        Ok((pieces.iter().map(of).collect(), taken))
    }

    #[test]
    fn records_are_found_in_each_form() {
        let fixed = Format::Fixed(3);
        assert_eq!(data(fixed, b"abcdefg", false), Ok((vec![&b"abc"[..], b"def"], 6)));
        assert_eq!(data(fixed, b"abcdefg", true), Err(Malformed::Cut { has: 1, needs: 3 }));
        assert_eq!(data(fixed, b"", true), Ok((vec![], 0)));
        let blocks = Format::Undefined(4);
        assert_eq!(data(blocks, b"abcdef", false), Ok((vec![&b"abcd"[..]], 4)));
        assert_eq!(data(blocks, b"abcdef", true), Ok((vec![&b"abcd"[..], b"ef"], 6)));
        let lines = Format::Lines;
        assert_eq!(data(lines, b"a\n\nbc", false), Ok((vec![&b"a"[..], b""], 3)));
        assert_eq!(data(lines, b"a\n\nbc", true), Ok((vec![&b"a"[..], b"", b"bc"], 5)));
        let variable = Format::Variable(LONGEST_VARIABLE);
        let bytes = b"\0\x06\0\0ab\0\x04\0\0\0\x07\0\0xyz";
        assert_eq!(data(variable, bytes, true), Ok((vec![&b"ab"[..], b"", b"xyz"], 17)));
        assert_eq!(data(variable, &bytes[..16], false), Ok((vec![&b"ab"[..], b""], 10)));
        assert_eq!(data(variable, &bytes[..16], true), Err(Malformed::Cut { has: 6, needs: 7 }));
        assert_eq!(data(variable, &bytes[..11], true), Err(Malformed::Cut { has: 1, needs: 4 }));
        assert_eq!(data(variable, b"\0\x03\0\0", false), Err(Malformed::Descriptor(3)));
        assert_eq!(data(variable, b"\0\x08\x01\0abcd", false), Err(Malformed::Segment));
        assert_eq!(
            data(Format::Variable(7), b"\0\x08\0\0abcd", true),
            Err(Malformed::Long { has: 8, most: 7 })
        );
    }

    #[test]
    fn appended_records_are_found() {
        for format in [Format::Fixed(5), Format::Variable(9), Format::Undefined(5), Format::Lines] {
            let mut bytes = Vec::new();
            for _ in 0..3 {
                format.append(b"hello", &mut bytes);
            }
            assert_eq!(bytes.len(), 3 * (5 + format.overhead()));
            assert_eq!(data(format, &bytes, true), Ok((vec![&b"hello"[..]; 3], bytes.len())));
        }
    }

    #[test]
    fn a_form_is_read_as_it_is_displayed() {
        for format in [
            Format::Fixed(80),
            Format::Variable(84),
            Format::Variable(LONGEST_VARIABLE),
            Format::Undefined(32_760),
            Format::Lines,
        ] {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!("fb(100)".parse(), Ok(Format::Fixed(100)));
        for wrong in ["", "F", "F()", "F(0)", "F(16777217)", "V(3)", "V(65536)", "F(80", "X(3)", "LINES(3)"] {
            assert!(wrong.parse::<Format>().is_err(), "{wrong}");
        }
    }
}
