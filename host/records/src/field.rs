//! Fields of records, and their normalised keys.
//!
//! ```text
//! CH, BI   the bytes
//! FI       the bytes, with the first bit inverted          -2 < -1 < 0 < 1
//! PD, ZD   sign | digits                                   of a negative number the digits are inverted
//! ```
//!
//! Keys compare as bytes, whatever their fields are. A descending field has all bytes of its key inverted (`key`).
//!
//! Invariant: keys have the order of the values. Equal values have equal keys even if their bytes differ: +0 and -0, signs C and F.
//! Not here: the words of a statement (`statement`), and the sort (`sort`).

use std::fmt;

/// The type of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Characters: bytes without a sign.
    Ch,
    /// Binary without a sign, the high byte first.
    Bi,
    /// Binary with a sign, the high byte first.
    Fi,
    /// Packed decimal: two digits a byte; the last half byte is the sign.
    Pd,
    /// Zoned decimal: a digit in the low half of each byte; the high half of the last one is the sign.
    Zd,
    /// All bytes from a position to the end of the record, of any length. No statement names it; it is for lines.
    Rest,
}

impl Kind {
    /// The kinds that statements name, with the most bytes of such a field.
    pub const ALL: [(&str, Kind, u32); 5] = [
        ("CH", Kind::Ch, 4092),
        ("BI", Kind::Bi, 4092),
        ("FI", Kind::Fi, 256),
        ("PD", Kind::Pd, 32),
        ("ZD", Kind::Zd, 32),
    ];

    /// The kind of that name, in upper case.
    #[must_use]
    pub fn named(name: &str) -> Option<Kind> {
        Self::ALL.into_iter().find(|kind| kind.0 == name).map(|kind| kind.1)
    }

    /// The most bytes of such a field.
    #[must_use]
    pub fn longest(self) -> u32 {
        Self::ALL.into_iter().find(|kind| kind.1 == self).map_or(0, |kind| kind.2)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.into_iter().find(|kind| kind.1 == *self).map_or("the rest", |kind| kind.0))
    }
}

/// A field of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Offset in the data of a record: the first byte is 0.
    pub at: u32,
    /// Number of bytes, at least 1; ignored for [`Kind::Rest`].
    pub length: u32,
    /// The type.
    pub kind: Kind,
}

/// A field to sort by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The field.
    pub field: Field,
    /// The largest value comes first.
    pub is_descending: bool,
}

/// What is wrong with a field of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadField {
    /// The record ends before the field does.
    #[error("it has {has} bytes, but the {} field at byte {} needs {}", .field.kind, .field.at + 1, .field.at + .field.length)]
    Short {
        /// The field.
        field: Field,
        /// Bytes of the record.
        has: usize,
    },
    /// A half byte is neither a digit nor a sign.
    #[error("byte {} of the {} field at byte {} is X'{value:02X}', not valid {}", .byte + 1, .field.kind, .field.at + 1, .field.kind)]
    Digit {
        /// The field.
        field: Field,
        /// The byte in the field, from 0 on.
        byte: usize,
        /// Its value.
        value: u8,
    },
}

/// The treatment of records that end before a field does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Short {
    /// It is an error.
    #[default]
    Refused,
    /// CH and BI are padded with zero bytes. A number sorts before all others, and is 0 in a comparison.
    Padded,
}

impl Field {
    /// Whether the two have a byte in common.
    pub(crate) fn overlaps(self, other: Field) -> bool {
        let end = |field: Field| match field.kind {
            Kind::Rest => u32::MAX,
            _ => field.at.saturating_add(field.length),
        };
        self.at < end(other) && other.at < end(self)
    }

    /// The bytes of the field in a record. The inner error has the bytes of a shorter record, if that is allowed.
    fn bytes<'a>(&self, record: &'a [u8], short: Short) -> Result<Result<&'a [u8], &'a [u8]>, BadField> {
        let from = self.at as usize;
        if self.kind == Kind::Rest {
            return Ok(Ok(record.get(from..).unwrap_or(&[])));
        }
        match record.get(from..from + self.length as usize) {
            Some(bytes) => Ok(Ok(bytes)),
            None if short == Short::Padded => Ok(Err(record.get(from..).unwrap_or(&[]))),
            None => Err(BadField::Short { field: *self, has: record.len() }),
        }
    }

    /// The bytes of the field; fewer if the record is shorter and that is allowed.
    ///
    /// # Errors
    /// [`BadField::Short`].
    pub fn text<'a>(&self, record: &'a [u8], short: Short) -> Result<&'a [u8], BadField> {
        Ok(self.bytes(record, short)?.unwrap_or_else(|there| there))
    }

    /// Bytes of its part of a key; None if they depend on the record.
    #[must_use]
    pub fn key_bytes(&self) -> Option<usize> {
        match self.kind {
            Kind::Ch | Kind::Bi | Kind::Fi => Some(self.length as usize),
            Kind::Pd | Kind::Zd => Some(self.length as usize + 1),
            Kind::Rest => None,
        }
    }

    /// Appends its part of a record's key.
    ///
    /// # Errors
    /// The record has no such field, or the field is not a number.
    pub fn append_key(&self, record: &[u8], short: Short, key: &mut Vec<u8>) -> Result<(), BadField> {
        let bytes = match self.bytes(record, short)? {
            Ok(bytes) => bytes,
            Err(bytes) => {
                let to = key.len() + self.key_bytes().unwrap_or(0);
                if matches!(self.kind, Kind::Ch | Kind::Bi) {
                    key.extend_from_slice(bytes);
                }
                key.resize(to, 0);
                return Ok(());
            }
        };
        match self.kind {
            Kind::Ch | Kind::Bi => key.extend_from_slice(bytes),
            Kind::Fi => {
                let from = key.len();
                key.extend_from_slice(bytes);
                key[from] ^= 0x80;
            }
            Kind::Pd | Kind::Zd => self.append_decimal(bytes, key)?,
            Kind::Rest => append_rest(bytes, key),
        }
        Ok(())
    }

    fn append_decimal(&self, bytes: &[u8], key: &mut Vec<u8>) -> Result<(), BadField> {
        let from = key.len();
        key.push(1);
        let mut seen = 0;
        let is_negative = self.decimal(bytes, |digits| {
            seen |= digits;
            key.push(digits);
        })?;
        if is_negative && seen != 0 {
            key[from] = 0;
            key[from + 1..].iter_mut().for_each(|digits| *digits = !*digits);
        }
        Ok(())
    }

    /// Checks a decimal field, and hands its bytes to `take`, without sign and zones. Returns whether the sign is negative.
    #[inline]
    fn decimal(&self, bytes: &[u8], mut take: impl FnMut(u8)) -> Result<bool, BadField> {
        let last = bytes.len() - 1;
        let mut is_negative = None;
        for (byte, &value) in bytes.iter().enumerate() {
            let (digits, sign) = match (self.kind, byte == last) {
                (Kind::Pd, true) => (value & 0xf0, Some(value & 0x0f)),
                (Kind::Pd, false) => (value, None),
                (_, is_last) => (value & 0x0f, is_last.then_some(value >> 4)),
            };
            is_negative = sign.and_then(|sign| self.is_negative(sign));
            if digits & 0x0f > 9 || digits >> 4 > 9 || sign.is_some() && is_negative.is_none() {
                return Err(BadField::Digit { field: *self, byte, value });
            }
            take(digits);
        }
        Ok(is_negative == Some(true))
    }

    /// Whether a half byte is the sign of a negative number; None: it is not a sign.
    fn is_negative(&self, sign: u8) -> Option<bool> {
        match (self.kind, sign) {
            (_, 0xb | 0xd) => Some(true),
            (_, 0xa | 0xc | 0xe | 0xf) => Some(false),
            // Zoned decimal in ASCII: the last byte is 30 to 39, or 70 to 79 if the number is negative.
            (Kind::Zd, 3) => Some(false),
            (Kind::Zd, 7) => Some(true),
            _ => None,
        }
    }

    /// The value of the field. None: it is outside the range of `i128`.
    ///
    /// # Errors
    /// Those of [`Self::append_key`].
    pub fn number(&self, record: &[u8], short: Short) -> Result<Option<i128>, BadField> {
        let Ok(bytes) = self.bytes(record, short)? else { return Ok(Some(0)) };
        match self.kind {
            Kind::Ch | Kind::Bi | Kind::Fi | Kind::Rest => {
                let is_signed = self.kind == Kind::Fi;
                let bytes = significant(bytes, is_signed);
                if bytes.len() > 15 + usize::from(is_signed) {
                    return Ok(None);
                }
                let start = if is_signed && bytes[0] & 0x80 != 0 { -1 } else { 0 };
                Ok(Some(bytes.iter().fold(start, |sum: i128, &byte| sum << 8 | i128::from(byte))))
            }
            Kind::Pd | Kind::Zd => {
                let mut sum = Some(0_i128);
                let mut add = |digit: u8| {
                    sum = sum.and_then(|sum| sum.checked_mul(10)?.checked_add(i128::from(digit)));
                };
                let mut left = bytes.len();
                let is_negative = self.decimal(bytes, |digits| {
                    left -= 1;
                    if self.kind == Kind::Pd {
                        add(digits >> 4);
                    }
                    if self.kind == Kind::Zd || left > 0 {
                        add(digits & 0x0f);
                    }
                })?;
                Ok(sum.map(|sum| if is_negative { -sum } else { sum }))
            }
        }
    }

    /// Writes a number into the field of a record. Returns false, and changes nothing, if it does not fit.
    pub fn set_number(&self, record: &mut [u8], value: i128) -> bool {
        let Some(bytes) = record.get_mut(self.at as usize..(self.at + self.length) as usize) else {
            return false;
        };
        match self.kind {
            Kind::Ch | Kind::Bi | Kind::Fi | Kind::Rest => set_binary(bytes, value, self.kind == Kind::Fi),
            Kind::Pd => set_packed(bytes, value),
            Kind::Zd => set_zoned(bytes, value),
        }
    }
}

/// A binary number without leading bytes that say nothing, if it has more than an `i128`.
fn significant(mut bytes: &[u8], is_signed: bool) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && rest.len() > 14
        && *first == if is_signed && rest[0] & 0x80 != 0 { 0xff } else { 0 }
    {
        bytes = rest;
    }
    bytes
}

/// Bytes of any length, so that a shorter text is before a longer one that begins with it: 0 is followed by 255, and the end is two
/// of 0.
fn append_rest(bytes: &[u8], key: &mut Vec<u8>) {
    for &byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(0xff);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

fn set_binary(bytes: &mut [u8], value: i128, is_signed: bool) -> bool {
    let bits = 8 * bytes.len() as u32 - u32::from(is_signed);
    let fits = if value < 0 {
        is_signed && (bits >= 127 || value >= -(1 << bits))
    } else {
        bits >= 127 || value >> bits == 0
    };
    if fits {
        for (place, byte) in bytes.iter_mut().rev().enumerate() {
            *byte = if place < 16 {
                (value >> (8 * place)) as u8
            } else if value < 0 {
                0xff
            } else {
                0
            };
        }
    }
    fits
}

/// The decimal digits of a number, the last one first.
fn digits(value: i128) -> impl Iterator<Item = u8> {
    let mut rest = value.unsigned_abs();
    std::iter::from_fn(move || {
        let digit = (rest % 10) as u8;
        rest /= 10;
        Some(digit)
    })
}

fn fits_decimal(value: i128, count: usize) -> bool {
    count >= 39 || value.unsigned_abs() < 10_u128.pow(count as u32)
}

fn set_packed(bytes: &mut [u8], value: i128) -> bool {
    let fits = fits_decimal(value, 2 * bytes.len() - 1);
    if fits {
        let mut digits = digits(value);
        let sign = if value < 0 { 0x0d } else { 0x0c };
        for (place, byte) in bytes.iter_mut().rev().enumerate() {
            let low = if place == 0 { sign } else { digits.next().unwrap_or(0) };
            *byte = digits.next().unwrap_or(0) << 4 | low;
        }
    }
    fits
}

fn set_zoned(bytes: &mut [u8], value: i128) -> bool {
    let fits = fits_decimal(value, bytes.len());
    if fits {
        // The zone is that of the bytes that were there: ASCII or EBCDIC.
        let last = bytes.len() - 1;
        let is_ascii = matches!(bytes[last] >> 4, 3 | 7);
        let (zone, negative) = if is_ascii { (0x30, 0x70) } else { (0xf0, 0xd0) };
        for (byte, digit) in bytes.iter_mut().rev().zip(digits(value)) {
            *byte = zone | digit;
        }
        let positive = if is_ascii { 0x30 } else { 0xc0 };
        bytes[last] = (bytes[last] & 0x0f) | if value < 0 { negative } else { positive };
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: Kind, bytes: &[u8]) -> Result<Vec<u8>, BadField> {
        let field = Field { at: 0, length: bytes.len() as u32, kind };
        let mut key = Vec::new();
        field.append_key(bytes, Short::Refused, &mut key)?;
        assert_eq!(Some(key.len()), field.key_bytes());
        Ok(key)
    }

    /// A number in a field of each kind that has a sign.
    fn written(kind: Kind, length: u32, value: i128) -> Option<Vec<u8>> {
        let mut record = vec![0xf0; length as usize];
        Field { at: 0, length, kind }.set_number(&mut record, value).then_some(record)
    }

    #[test]
    fn keys_are_in_the_order_of_the_values() {
        let values = [
            i128::from(i64::MIN),
            -100_000,
            -256,
            -255,
            -10,
            -1,
            0,
            1,
            9,
            10,
            255,
            256,
            100_000,
            i128::from(i64::MAX),
        ];
        for kind in [Kind::Fi, Kind::Pd, Kind::Zd] {
            let length = if kind == Kind::Fi { 8 } else { 20 };
            let keys: Vec<_> = values
                .iter()
                .map(|&value| {
                    let record = written(kind, length, value).expect("room");
                    let field = Field { at: 0, length, kind };
                    assert_eq!(field.number(&record, Short::Refused), Ok(Some(value)), "{kind} {record:x?}");
                    key(kind, &record).expect("a number")
                })
                .collect();
            assert!(keys.is_sorted_by(|one, other| one < other), "{kind}: {keys:x?}");
        }
    }

    #[test]
    fn numbers_that_are_written_otherwise_are_equal() {
        let packed = |bytes: &[u8]| key(Kind::Pd, bytes).expect("a number");
        assert_eq!(packed(&[0x12, 0x3c]), packed(&[0x12, 0x3f]));
        assert_eq!(packed(&[0x00, 0x0c]), packed(&[0x00, 0x0d]), "no zero is negative");
        assert_eq!(packed(&[0x12, 0x3d]), packed(&[0x12, 0x3b]));
        let zoned = |bytes: &[u8]| key(Kind::Zd, bytes).expect("a number");
        assert_eq!(zoned(b"123"), zoned(&[0xf1, 0xf2, 0xc3]), "ASCII and EBCDIC");
        assert_eq!(zoned(b"12s"), zoned(&[0xf1, 0xf2, 0xd3]));
    }

    #[test]
    fn what_is_no_number_is_told_by_its_byte() {
        let byte = |kind, bytes: &[u8]| match key(kind, bytes) {
            Err(BadField::Digit { byte, value, .. }) => {
                assert_eq!(value, bytes[byte]);
                Some(byte)
            }
            _ => None,
        };
        assert_eq!(byte(Kind::Pd, &[0x12, 0xa4, 0x5c]), Some(1));
        assert_eq!(byte(Kind::Pd, &[0x12, 0x34]), Some(1), "4 is no sign");
        assert_eq!(byte(Kind::Pd, &[0, 0]), Some(1), "neither is 0");
        assert_eq!(byte(Kind::Zd, &[0xf1, 0xfa, 0xc1]), Some(1));
        assert_eq!(byte(Kind::Zd, b"1 3"), None, "the zone of a digit says nothing");
        let field = Field { at: 2, length: 4, kind: Kind::Ch };
        let mut key = Vec::new();
        let short = field.append_key(b"abcd", Short::Refused, &mut key);
        assert_eq!(
            short.map_err(|bad| bad.to_string()),
            Err("it has 4 bytes, but the CH field at byte 3 needs 6".to_owned())
        );
        field.append_key(b"abcd", Short::Padded, &mut key).expect("padded");
        assert_eq!(key, b"cd\0\0");
    }

    #[test]
    fn numbers_fit_or_are_refused() {
        assert_eq!(written(Kind::Bi, 1, 255), Some(vec![255]));
        assert_eq!((written(Kind::Bi, 1, 256), written(Kind::Bi, 1, -1)), (None, None));
        assert_eq!(written(Kind::Fi, 1, -128), Some(vec![0x80]));
        assert_eq!((written(Kind::Fi, 1, 128), written(Kind::Fi, 1, -129)), (None, None));
        assert_eq!(written(Kind::Fi, 20, -2).map(|bytes| (bytes[0], bytes[19])), Some((0xff, 0xfe)));
        assert_eq!((written(Kind::Pd, 2, 999), written(Kind::Pd, 2, 1000)), (Some(vec![0x99, 0x9c]), None));
        assert_eq!((written(Kind::Zd, 2, -99), written(Kind::Zd, 2, 100)), (Some(vec![0xf9, 0xd9]), None));
    }

    #[test]
    fn texts_of_any_length_have_keys_in_their_order() {
        let texts: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\0a", b"a", b"a\0", b"a\0\xff", b"ab"];
        let key = |text: &[u8]| {
            let mut key = Vec::new();
            let field = Field { at: 1, length: 1, kind: Kind::Rest };
            field.append_key(&[b"x", text].concat(), Short::Refused, &mut key).expect("a text");
            key
        };
        let keys = texts.map(key);
        assert!(keys.is_sorted_by(|one, other| one < other), "{keys:x?}");
        let inverted = keys.map(|key| key.iter().map(|byte| !byte).collect::<Vec<u8>>());
        assert!(inverted.is_sorted_by(|one, other| one > other), "descending: {inverted:x?}");
    }

    #[test]
    fn numbers_beyond_the_range_are_none() {
        let field = Field { at: 0, length: 32, kind: Kind::Pd };
        let mut record = [0x99; 32];
        record[31] = 0x9c;
        assert_eq!(field.number(&record, Short::Refused), Ok(None));
        assert_eq!(Field { length: 16, kind: Kind::Bi, ..field }.number(&record, Short::Refused), Ok(None));
        let all = Field { length: 16, kind: Kind::Fi, ..field }.number(&[0xff; 16], Short::Refused);
        assert_eq!(all, Ok(Some(-1)));
        for (kind, first, expect) in [(Kind::Bi, 0, 7), (Kind::Fi, 0, 7), (Kind::Fi, 0xff, -249)] {
            let mut long = [first; 40];
            long[39] = 7;
            let field = Field { at: 0, length: 40, kind };
            assert_eq!(field.number(&long, Short::Refused), Ok(Some(expect)), "{kind}");
        }
    }
}
