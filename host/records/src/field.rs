//! Fields of records, and keys of them that compare byte by byte.
//!
//! ```text
//! CH, BI   the bytes                                      descending: each byte of the key turned over
//! FI       the first bit turned over                      -2 < -1 < 0 < 1
//! PD, ZD   sign | digits                                  negative: digits turned over
//! ```
//!
//! So records are compared by one comparison of bytes, whatever their fields are.
//!
//! Invariant: of two records the key that is less belongs to the one that comes first; equal keys to records whose fields are equal,
//! also where they are written otherwise (+0 and -0, signs C and F).
//! Not here: the words of a statement (`statement`), and the sort (`sort`).

use std::fmt;

/// How the bytes of a field are read.
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
}

impl Kind {
    /// The kinds, with the most bytes of a field.
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
        f.write_str(Self::ALL.into_iter().find(|kind| kind.1 == *self).map_or("", |kind| kind.0))
    }
}

/// A field: where it is in a record, and how it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The first byte of the data is 0.
    pub at: u32,
    /// Bytes.
    pub length: u32,
    /// How they are read.
    pub kind: Kind,
}

/// What is wrong with a field of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadField {
    /// The record ends before the field does.
    #[error("it has {has} bytes, and the field at {}, {} bytes of {}, ends behind them", .field.at + 1, .field.length, .field.kind)]
    Short {
        /// The field.
        field: Field,
        /// Bytes of the record.
        has: usize,
    },
    /// A half byte is no digit, or no sign.
    #[error("byte {} of the field at {} is no digit or sign of {}", .byte + 1, .field.at + 1, .field.kind)]
    Digit {
        /// The field.
        field: Field,
        /// The byte in the field.
        byte: usize,
    },
}

/// What records that end within a field have there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Short {
    /// It is an error.
    #[default]
    Refused,
    /// Zero bytes, and of a number nothing: before all others.
    Padded,
}

impl Field {
    /// The bytes of the field in a record. Err: those that are there, as the record ends before, if that is allowed.
    fn bytes<'a>(&self, record: &'a [u8], short: Short) -> Result<Result<&'a [u8], &'a [u8]>, BadField> {
        let (from, to) = (self.at as usize, (self.at + self.length) as usize);
        match record.get(from..to) {
            Some(bytes) => Ok(Ok(bytes)),
            None if short == Short::Padded => Ok(Err(record.get(from..).unwrap_or(&[]))),
            None => Err(BadField::Short { field: *self, has: record.len() }),
        }
    }

    /// The bytes of the field; those that are there, if the record may end before.
    ///
    /// # Errors
    /// The record ends before the field does, and may not.
    pub fn text<'a>(&self, record: &'a [u8], short: Short) -> Result<&'a [u8], BadField> {
        // A byte that lacks is less than a blank.
        Ok(self.bytes(record, short)?.unwrap_or_else(|there| there))
    }

    /// Bytes of its part of a key.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.length as usize + usize::from(matches!(self.kind, Kind::Pd | Kind::Zd))
    }

    /// Appends its part of a record's key.
    ///
    /// # Errors
    /// The record has no such field, or it is no number.
    pub fn append_key(&self, record: &[u8], short: Short, key: &mut Vec<u8>) -> Result<(), BadField> {
        let to = key.len() + self.key_bytes();
        let bytes = match self.bytes(record, short)? {
            Ok(bytes) => bytes,
            Err(bytes) => {
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
        }
        Ok(())
    }

    fn append_decimal(&self, bytes: &[u8], key: &mut Vec<u8>) -> Result<(), BadField> {
        let from = key.len();
        key.push(1);
        let mut is_zero = true;
        let last = bytes.len() - 1;
        for (byte, &value) in bytes.iter().enumerate() {
            let (digits, sign) = match (self.kind, byte == last) {
                (Kind::Pd, true) => (value & 0xf0, Some(value & 0x0f)),
                (Kind::Pd, false) => (value, None),
                (_, is_last) => ((value & 0x0f), is_last.then_some(value >> 4)),
            };
            if digits & 0x0f > 9 || digits >> 4 > 9 {
                return Err(BadField::Digit { field: *self, byte });
            }
            is_zero &= digits == 0;
            key.push(digits);
            if let Some(sign) = sign
                && self.is_negative(sign).ok_or(BadField::Digit { field: *self, byte })?
                && !is_zero
            {
                key[from] = 0;
                key[from + 1..].iter_mut().for_each(|digits| *digits = !*digits);
            }
        }
        Ok(())
    }

    /// Whether a half byte is the sign of a negative number; None: it is no sign.
    fn is_negative(&self, sign: u8) -> Option<bool> {
        match (self.kind, sign) {
            (_, 0xb | 0xd) => Some(true),
            (_, 0xa | 0xc | 0xe | 0xf) => Some(false),
            // Zoned decimal in ASCII: digits are 30 to 39, and the last one of a negative number 70 to 79.
            (Kind::Zd, 3) => Some(false),
            (Kind::Zd, 7) => Some(true),
            _ => None,
        }
    }

    /// Its value as a number. None: it has more than 38 digits or 16 bytes.
    ///
    /// # Errors
    /// As [`Self::append_key`].
    pub fn number(&self, record: &[u8], short: Short) -> Result<Option<i128>, BadField> {
        let Ok(bytes) = self.bytes(record, short)? else { return Ok(Some(0)) };
        match self.kind {
            Kind::Ch | Kind::Bi | Kind::Fi => {
                if bytes.len() > 15 && !(self.kind == Kind::Fi && bytes.len() == 16) {
                    return Ok(None);
                }
                let negative = self.kind == Kind::Fi && bytes[0] & 0x80 != 0;
                let start = if negative { -1 } else { 0 };
                Ok(Some(bytes.iter().fold(start, |sum: i128, &byte| sum << 8 | i128::from(byte))))
            }
            Kind::Pd | Kind::Zd => {
                let mut key = Vec::new();
                self.append_decimal(bytes, &mut key)?;
                let negative = key[0] == 0;
                let digits = key[1..].iter().map(|&byte| if negative { !byte } else { byte });
                let mut sum: i128 = 0;
                for (at, byte) in digits.enumerate() {
                    let halves = match self.kind {
                        Kind::Pd if at == bytes.len() - 1 => vec![byte >> 4],
                        Kind::Pd => vec![byte >> 4, byte & 0x0f],
                        _ => vec![byte],
                    };
                    for digit in halves {
                        let next = sum.checked_mul(10).and_then(|sum| sum.checked_add(i128::from(digit)));
                        let Some(next) = next else { return Ok(None) };
                        sum = next;
                    }
                }
                Ok(Some(if negative { -sum } else { sum }))
            }
        }
    }

    /// Writes a number into the field of a record. False, with nothing done, if it does not fit.
    pub fn set_number(&self, record: &mut [u8], value: i128) -> bool {
        let Some(bytes) = record.get_mut(self.at as usize..(self.at + self.length) as usize) else {
            return false;
        };
        match self.kind {
            Kind::Ch | Kind::Bi | Kind::Fi => set_binary(bytes, value, self.kind == Kind::Fi),
            Kind::Pd => set_packed(bytes, value),
            Kind::Zd => set_zoned(bytes, value),
        }
    }
}

fn set_binary(bytes: &mut [u8], value: i128, is_signed: bool) -> bool {
    let bits = 8 * bytes.len() as u32 - u32::from(is_signed);
    let fits = if value < 0 { is_signed && (bits >= 127 || value >= -(1 << bits)) } else { bits >= 127 || value >> bits == 0 };
    if fits {
        for (place, byte) in bytes.iter_mut().rev().enumerate() {
            *byte = if place < 16 { (value >> (8 * place)) as u8 } else if value < 0 { 0xff } else { 0 };
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
        assert_eq!(key.len(), field.key_bytes());
        Ok(key)
    }

    /// A number in a field of each kind that has a sign.
    fn written(kind: Kind, length: u32, value: i128) -> Option<Vec<u8>> {
        let mut record = vec![0xf0; length as usize];
        Field { at: 0, length, kind }.set_number(&mut record, value).then_some(record)
    }

    #[test]
    fn keys_are_in_the_order_of_the_values() {
        let values = [i128::from(i64::MIN), -100_000, -256, -255, -10, -1, 0, 1, 9, 10, 255, 256, 100_000, i128::from(i64::MAX)];
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
            Err(BadField::Digit { byte, .. }) => Some(byte),
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
        assert_eq!(short.map_err(|bad| bad.to_string()), Err("it has 4 bytes, and the field at 3, 4 bytes of CH, ends behind them".to_owned()));
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
}
