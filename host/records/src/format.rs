//! The form of a file's records: where each one begins and ends.
//!
//! ```text
//! fixed      | 80 bytes | 80 bytes | 80 bytes |
//! variable   | RDW | ... | RDW | ........ |          RDW: two bytes of length, itself included, the high one first; two of zero
//! undefined  | a block of at most n bytes | ... |    a record is a block; in a file all blocks but the last are n bytes long
//! lines      ......\n ....\n .........\n             the last newline may be missing
//! ```
//!
//! Invariant: records are found from the first byte on; nothing in a record is looked at.
//! Not here: buffers (`blocks`), and fields of records (`field`).

use std::fmt;
use std::str::FromStr;

/// The longest record.
pub const LONGEST: u32 = 1 << 24;
/// Bytes of a record descriptor word.
pub const RDW: usize = 4;

/// The form of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// So many bytes each.
    Fixed(u32),
    /// A record descriptor word before each.
    Variable,
    /// Blocks of at most so many bytes.
    Undefined(u32),
    /// A newline after each.
    Lines,
}

/// A record in a block of bytes: where its data begin, and how many bytes they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Its first byte of data.
    pub at: u32,
    /// Bytes of data.
    pub length: u32,
}

/// Why bytes are no records of a form.
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
    /// A descriptor word says less than its own length.
    #[error("a record descriptor word says {0} bytes, less than its own 4")]
    Descriptor(u32),
    /// A descriptor word of a segment: a spanned record.
    #[error("a record descriptor word is of a segment of a spanned record, which is not supported")]
    Segment,
}

impl Format {
    /// Finds the records of a block, which are appended to `pieces`. Returns how many bytes they take: what follows is the beginning of
    /// a record whose rest is not there. At the end of a file it is an error, but for lines and blocks.
    ///
    /// # Errors
    /// The bytes are no records of this form.
    pub fn split(self, bytes: &[u8], is_end: bool, pieces: &mut Vec<Piece>) -> Result<usize, Malformed> {
        match self {
            Self::Fixed(length) => split_fixed(bytes, length, is_end, pieces),
            Self::Undefined(length) => Ok(split_undefined(bytes, length, is_end, pieces)),
            Self::Variable => split_variable(bytes, is_end, pieces),
            Self::Lines => Ok(split_lines(bytes, is_end, pieces)),
        }
    }

    /// Bytes before and after the data of a record, in a file.
    #[must_use]
    pub fn overhead(self) -> usize {
        match self {
            Self::Fixed(_) | Self::Undefined(_) => 0,
            Self::Variable => RDW,
            Self::Lines => 1,
        }
    }

    /// Appends a record as a file has it. Data that are longer than the form allows are cut by the caller.
    pub fn append(self, data: &[u8], to: &mut Vec<u8>) {
        if self == Self::Variable {
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

fn split_fixed(
    bytes: &[u8],
    length: u32,
    is_end: bool,
    pieces: &mut Vec<Piece>,
) -> Result<usize, Malformed> {
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

fn split_variable(bytes: &[u8], is_end: bool, pieces: &mut Vec<Piece>) -> Result<usize, Malformed> {
    let mut at = 0;
    while let Some(&[high, low, segment, _]) = bytes[at..].first_chunk::<RDW>() {
        let length = u32::from(u16::from_be_bytes([high, low]));
        if segment != 0 {
            return Err(Malformed::Segment);
        }
        if length < RDW as u32 {
            return Err(Malformed::Descriptor(length));
        }
        let end = at + length as usize;
        if end > bytes.len() {
            break;
        }
        pieces.push(Piece { at: (at + RDW) as u32, length: length - RDW as u32 });
        at = end;
    }
    if is_end && at < bytes.len() {
        let needs = bytes[at..].first_chunk().map_or(RDW, |two: &[u8; 2]| usize::from(u16::from_be_bytes(*two)));
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

/// A text is no form of records.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is no form of records: F(80) for 80 bytes each, V for record descriptor words, U(32760) for blocks, LINES")]
pub struct NoFormat(String);

impl FromStr for Format {
    type Err = NoFormat;

    /// `F(80)` or `FB(80)`, `V` or `VB`, `U(32760)`, `LINES`, in either case.
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
            ("V" | "VB", None) => Ok(Self::Variable),
            ("LINES" | "LINE" | "L", None) => Ok(Self::Lines),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(length) => write!(f, "F({length})"),
            Self::Variable => f.write_str("V"),
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
        let variable = Format::Variable;
        let bytes = b"\0\x06\0\0ab\0\x04\0\0\0\x07\0\0xyz";
        assert_eq!(data(variable, bytes, true), Ok((vec![&b"ab"[..], b"", b"xyz"], 17)));
        assert_eq!(data(variable, &bytes[..16], false), Ok((vec![&b"ab"[..], b""], 10)));
        assert_eq!(data(variable, &bytes[..16], true), Err(Malformed::Cut { has: 6, needs: 7 }));
        assert_eq!(data(variable, &bytes[..11], true), Err(Malformed::Cut { has: 1, needs: 4 }));
        assert_eq!(data(variable, b"\0\x03\0\0", false), Err(Malformed::Descriptor(3)));
        assert_eq!(data(variable, b"\0\x08\x01\0abcd", false), Err(Malformed::Segment));
    }

    #[test]
    fn what_is_appended_is_found() {
        for format in [Format::Fixed(5), Format::Variable, Format::Undefined(5), Format::Lines] {
            let mut bytes = Vec::new();
            for _ in 0..3 {
                format.append(b"hello", &mut bytes);
            }
            assert_eq!(bytes.len(), 3 * (5 + format.overhead()));
            assert_eq!(data(format, &bytes, true), Ok((vec![&b"hello"[..]; 3], bytes.len())));
        }
    }

    #[test]
    fn a_form_is_read_as_it_is_written() {
        for format in [Format::Fixed(80), Format::Variable, Format::Undefined(32_760), Format::Lines] {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!("fb(100)".parse(), Ok(Format::Fixed(100)));
        for wrong in ["", "F", "F()", "F(0)", "F(16777217)", "V(80)", "F(80", "X(3)", "LINES(3)"] {
            assert!(wrong.parse::<Format>().is_err(), "{wrong}");
        }
    }
}
