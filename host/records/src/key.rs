//! Keys of records, and the part of a key that fits into a word.
//!
//! ```text
//! key     0123 4567 89ab cdef ...
//! prefix  0123 4567 89ab              12 bytes: most comparisons need no more
//! ```
//!
//! A single ascending field of bytes is its own key, read where it is. All other keys are made.
//!
//! Invariant: if two prefixes differ, their keys differ in the same direction.
//! Not here: the part of a key that one field has (`field`).

use crate::field::{BadField, Kind, Order, Short};

/// Bytes of a prefix.
pub const PREFIX: usize = 12;

/// The way to make keys.
#[derive(Clone, Debug)]
pub struct Keys {
    order: Vec<Order>,
    short: Short,
    /// The key is these bytes of the record: first byte, and the byte after the last one (none: to the end of the record).
    in_record: Option<(usize, Option<usize>)>,
    /// Bytes of every key; None: they depend on the record.
    bytes: Option<usize>,
}

impl Keys {
    /// Keys for these fields.
    #[must_use]
    pub fn new(order: &[Order], short: Short) -> Keys {
        let in_record = match order {
            [Order { field, is_descending: false }] => match field.kind {
                Kind::Ch | Kind::Bi => {
                    Some((field.at as usize, Some(field.at as usize + field.length as usize)))
                }
                Kind::Rest => Some((field.at as usize, None)),
                Kind::Fi | Kind::Pd | Kind::Zd => None,
            },
            _ => None,
        };
        let bytes = order.iter().map(|order| order.field.key_bytes()).sum();
        Keys { order: order.to_vec(), short, in_record, bytes }
    }

    /// Does a prefix hold the whole key?
    #[inline]
    #[must_use]
    pub fn are_short(&self) -> bool {
        self.bytes.is_some_and(|bytes| bytes <= PREFIX)
    }

    /// Are the keys bytes of their records?
    #[must_use]
    pub fn are_in_records(&self) -> bool {
        self.in_record.is_some()
    }

    /// Is there no field to sort by?
    #[must_use]
    pub fn are_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The key of a record: bytes of the record, or of `room`.
    ///
    /// # Errors
    /// The record has no such field, or the field is not a number.
    #[inline]
    pub fn key<'a>(&self, record: &'a [u8], room: &'a mut Vec<u8>) -> Result<&'a [u8], BadField> {
        match self.in_record {
            Some((from, Some(to))) if to <= record.len() => Ok(&record[from..to]),
            Some((from, None)) => Ok(record.get(from..).unwrap_or(&[])),
            _ => self.made(record, room),
        }
    }

    /// The key of a record that was read before, if keys are bytes of their records.
    #[inline]
    #[must_use]
    pub fn in_record<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        let (from, to) = self.in_record.unwrap_or_default();
        let to = to.unwrap_or(record.len()).min(record.len());
        record.get(from..to).unwrap_or(&[])
    }

    fn made<'a>(&self, record: &[u8], room: &'a mut Vec<u8>) -> Result<&'a [u8], BadField> {
        room.clear();
        for order in &self.order {
            let from = room.len();
            order.field.append_key(record, self.short, room)?;
            if order.is_descending {
                room[from..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        Ok(room)
    }

    /// The prefix of a record's key, in the upper 96 bits.
    ///
    /// # Errors
    /// Those of [`Self::key`].
    #[inline]
    pub fn prefix(&self, record: &[u8], room: &mut Vec<u8>) -> Result<u128, BadField> {
        // One load instead of a copy of as many bytes as the key has.
        if let Some((from, Some(to))) = self.in_record
            && to <= record.len()
            && let Some(bytes) = record.get(from..).and_then(|bytes| bytes.first_chunk())
        {
            let unused = 8 * (16 - (to - from).min(PREFIX));
            return Ok(u128::from_be_bytes(*bytes) >> unused << unused);
        }
        Ok(prefix(self.key(record, room)?))
    }
}

/// The first bytes of a key as a number, in its upper 96 bits.
#[inline]
#[must_use]
pub fn prefix(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let length = key.len().min(PREFIX);
    bytes[..length].copy_from_slice(&key[..length]);
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    fn ascending(at: u32, length: u32, kind: Kind) -> Order {
        Order { field: Field { at, length, kind }, is_descending: false }
    }

    #[test]
    fn a_key_has_all_fields_in_their_order() {
        let order = [Order { is_descending: true, ..ascending(2, 2, Kind::Ch) }, ascending(0, 1, Kind::Fi)];
        let keys = Keys::new(&order, Short::Refused);
        let mut room = Vec::new();
        assert_eq!(keys.key(b"\x01xAB", &mut room), Ok(&[!b'A', !b'B', 0x81][..]));
        assert!(keys.are_short() && !keys.are_empty() && !keys.are_in_records());
        let plain = Keys::new(&[ascending(1, 20, Kind::Bi)], Short::Padded);
        assert!(!plain.are_short() && plain.are_in_records());
        let record = [7; 30];
        assert_eq!(
            plain.key(&record, &mut room).map(<[u8]>::as_ptr),
            Ok(record[1..].as_ptr()),
            "nothing is copied"
        );
        assert_eq!(plain.key(&record[..3], &mut room).map(|key| (key[1], key[2], key.len())), Ok((7, 0, 20)));
        let rest = Keys::new(&[ascending(2, 1, Kind::Rest)], Short::Padded);
        assert_eq!(rest.key(b"abcd", &mut room), Ok(&b"cd"[..]));
        assert_eq!(rest.key(b"a", &mut room), Ok(&b""[..]));
    }

    #[test]
    fn prefixes_have_the_order_of_keys() {
        let keys: [&[u8]; 5] = [b"", b"a", b"ab", b"abcdefghijkl", b"b"];
        assert!(keys.map(prefix).is_sorted_by(|one, other| one < other));
        assert_eq!(prefix(b"abcdefghijkl"), prefix(b"abcdefghijklm"));
        assert_eq!(prefix(b"zzzzzzzzzzzzzzzz") as u32, 0, "the lower bits are free");
    }

    #[test]
    fn both_ways_to_a_prefix_agree() {
        let record: Vec<u8> = (1..=40).collect();
        let mut room = Vec::new();
        for length in 1..=20 {
            let keys = Keys::new(&[ascending(3, length, Kind::Ch)], Short::Padded);
            for end in 0..record.len() {
                let key = keys.key(&record[..end], &mut room).map(prefix);
                assert_eq!(keys.prefix(&record[..end], &mut room), key, "{length} {end}");
            }
        }
    }
}
