//! The bytes of the few sub-options that are texts: one small store within the settings.
//!
//! ```text
//! bytes: [slot][length][text ...] [slot][length][text ...] ... used
//!         2     2       length
//! ```
//!
//! Invariant: `bytes[..used]` is a sequence of whole entries, no two of one slot.
//! A store instead of a field for each, because a file name may be long, most other texts are absent,
//! and the settings are copied and must not allocate.

/// Maximum size of all texts together in bytes, including their headers of four bytes.
pub const TEXT_ROOM: usize = 2048;

const HEADER: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Texts {
    bytes: [u8; TEXT_ROOM],
    used: usize,
}

impl Texts {
    pub(crate) const EMPTY: Self = Self { bytes: [0; TEXT_ROOM], used: 0 };

    /// The text of `slot`; empty if it has none.
    pub(crate) fn get(&self, slot: usize) -> &[u8] {
        self.find(slot).map_or(&[], |(at, length)| &self.bytes[at + HEADER..at + HEADER + length])
    }

    /// Replaces the text of `slot`. False, without any change, if there is no room.
    pub(crate) fn put(&mut self, slot: usize, text: impl Iterator<Item = u8> + Clone) -> bool {
        let old = self.find(slot).map_or(0, |(_, length)| HEADER + length);
        // Counted only up to the room, so a long text costs no more than a short one.
        let length = text.clone().take(TEXT_ROOM).count();
        let (Ok(slot_number), Ok(length_number)) = (u16::try_from(slot), u16::try_from(length)) else {
            return false;
        };
        if self.used - old + HEADER + length > TEXT_ROOM {
            return false;
        }
        if let Some((at, length)) = self.find(slot) {
            let next = at + HEADER + length;
            self.bytes.copy_within(next..self.used, at);
            self.used -= next - at;
        }
        let entry = &mut self.bytes[self.used..self.used + HEADER + length];
        entry[..2].copy_from_slice(&slot_number.to_le_bytes());
        entry[2..4].copy_from_slice(&length_number.to_le_bytes());
        entry[HEADER..].iter_mut().zip(text).for_each(|(to, from)| *to = from);
        self.used += HEADER + length;
        true
    }

    /// The offset of the entry of `slot`, and the length of its text.
    fn find(&self, slot: usize) -> Option<(usize, usize)> {
        let mut at = 0;
        while at + HEADER <= self.used {
            let number = |from: usize| u16::from_le_bytes([self.bytes[from], self.bytes[from + 1]]);
            let length = usize::from(number(at + 2));
            if usize::from(number(at)) == slot {
                return Some((at, length));
            }
            at += HEADER + length;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(texts: &mut Texts, slot: usize, text: &str) -> bool {
        texts.put(slot, text.bytes())
    }

    #[test]
    fn texts_are_replaced_in_any_order() {
        let mut texts = Texts::EMPTY;
        assert_eq!(texts.get(7), b"");
        assert!(put(&mut texts, 7, "first"));
        assert!(put(&mut texts, 300, "second"));
        assert!(put(&mut texts, 7, "a longer one"));
        assert!(put(&mut texts, 300, ""));
        assert_eq!(texts.get(7), b"a longer one");
        assert_eq!(texts.get(300), b"");
        assert_eq!(texts.used, 2 * HEADER + 12);
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut texts = Texts::EMPTY;
        assert!(put(&mut texts, 1, "kept"));
        assert!(!texts.put(1, core::iter::repeat(b'x')));
        assert!(!texts.put(2, core::iter::repeat_n(b'x', TEXT_ROOM - 2 * HEADER - 3)));
        assert!(texts.put(2, core::iter::repeat_n(b'x', TEXT_ROOM - 2 * HEADER - 4)));
        assert_eq!(texts.get(1), b"kept");
        assert!(texts.put(2, core::iter::repeat_n(b'y', TEXT_ROOM - 2 * HEADER - 4)), "its own room counts");
    }
}
