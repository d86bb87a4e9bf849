//! The key of a record, and a part of it that fits into a word.
//!
//! ```text
//! key     0123 4567 89ab cdef ...
//! prefix  0123 4567 89ab              12 bytes: most comparisons need no more
//! ```
//!
//! Invariant: prefixes are ordered as their keys, where they differ.
//! Not here: parts of keys by the kinds of fields (`field`).

use crate::field::{BadField, Kind, Short};
use crate::statement::Order;

/// Bytes of a prefix.
pub const PREFIX: usize = 12;

/// How keys are made.
#[derive(Clone, Debug)]
pub struct Keys {
    order: Vec<Order>,
    short: Short,
    /// One field of bytes, ascending: the key is in the record.
    plain: Option<(usize, usize)>,
    bytes: usize,
}

impl Keys {
    /// Keys for an order of fields.
    #[must_use]
    pub fn new(order: &[Order], short: Short) -> Keys {
        let plain = match order {
            [Order { field, is_descending: false }] if matches!(field.kind, Kind::Ch | Kind::Bi) => {
                Some((field.at as usize, (field.at + field.length) as usize))
            }
            _ => None,
        };
        let bytes = order.iter().map(|order| order.field.key_bytes()).sum();
        Keys { order: order.to_vec(), short, plain, bytes }
    }

    /// Does a prefix hold a whole key?
    #[must_use]
    pub fn are_short(&self) -> bool {
        self.bytes <= PREFIX
    }

    /// Is there nothing to sort by?
    #[must_use]
    pub fn are_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The key of a record: bytes of the record, or of `room`.
    ///
    /// # Errors
    /// The record has no such field, or it is no number.
    #[inline]
    pub fn key<'a>(&self, record: &'a [u8], room: &'a mut Vec<u8>) -> Result<&'a [u8], BadField> {
        if let Some((from, to)) = self.plain
            && let Some(key) = record.get(from..to)
        {
            return Ok(key);
        }
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

    #[test]
    fn a_key_has_all_fields_in_their_order() {
        let field = |at, length, kind| Field { at, length, kind };
        let order = [
            Order { field: field(2, 2, Kind::Ch), is_descending: true },
            Order { field: field(0, 1, Kind::Fi), is_descending: false },
        ];
        let keys = Keys::new(&order, Short::Refused);
        let mut room = Vec::new();
        assert_eq!(keys.key(b"\x01xAB", &mut room), Ok(&[!b'A', !b'B', 0x81][..]));
        assert!(keys.are_short() && !keys.are_empty());
        let plain = Keys::new(&[Order { field: field(1, 20, Kind::Bi), is_descending: false }], Short::Padded);
        assert!(!plain.are_short());
        let record = [7; 30];
        assert_eq!(plain.key(&record, &mut room).map(<[u8]>::as_ptr), Ok(record[1..].as_ptr()), "nothing is copied");
        assert_eq!(plain.key(&record[..3], &mut room).map(|key| (key[1], key[2], key.len())), Ok((7, 0, 20)));
    }

    #[test]
    fn prefixes_are_ordered_as_keys() {
        let keys: [&[u8]; 5] = [b"", b"a", b"ab", b"abcdefghijkl", b"b"];
        assert!(keys.map(prefix).is_sorted_by(|one, other| one < other));
        assert_eq!(prefix(b"abcdefghijkl"), prefix(b"abcdefghijklm"));
        assert_eq!(prefix(b"zzzzzzzzzzzzzzzz") as u32, 0, "the lower bits are free");
    }
}
