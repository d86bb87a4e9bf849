//! Relocations: the changes to a program's words.
//!
//! ```text
//! RELA   { place, kind and symbol, addend }            24 bytes each
//! RELR   even word: an address, to which the bias is added; odd word: 63 bits for the 63 words after it
//! ```
//!
//! Invariant: the values read here are unchecked; `image::relocate` compares each address with the segments.

use super::Table;

/// The kinds of relocations; the numbers of x86-64.
#[allow(missing_docs, reason = "each is named as in the processor supplement")]
pub mod kind {
    pub const NONE: u32 = 0;
    pub const ABSOLUTE_64: u32 = 1;
    pub const COPY: u32 = 5;
    pub const GLOB_DAT: u32 = 6;
    pub const JUMP_SLOT: u32 = 7;
    pub const RELATIVE: u32 = 8;
    pub const DTPMOD64: u32 = 16;
    pub const DTPOFF64: u32 = 17;
    pub const TPOFF64: u32 = 18;
    pub const TLSDESC: u32 = 36;
    pub const IRELATIVE: u32 = 37;
}

/// One with an addend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The address that is changed.
    pub place: u64,
    /// The kind, see [`kind`].
    pub kind: u32,
    /// The symbol; 0: none.
    pub symbol: u32,
    /// The addend.
    pub addend: u64,
}

impl Relocation {
    /// The relocation with this number in its table.
    #[inline]
    #[must_use]
    pub fn read(table: &Table<'_>, number: usize) -> Option<Relocation> {
        let [place, info, addend] = table.read::<[u64; 3]>(number.checked_mul(24)?)?;
        Some(Relocation { place, kind: info as u32, symbol: (info >> 32) as u32, addend })
    }
}

/// The addresses of a compressed table, in order.
#[derive(Clone, Debug)]
pub struct Relr<'a> {
    table: Table<'a>,
    at: usize,
    /// The word after those already returned.
    next: u64,
    /// Bits of the current odd word that were not examined yet, and the address of the word of the lowest one.
    bits: u64,
    place: u64,
}

impl<'a> Relr<'a> {
    /// From the beginning.
    #[must_use]
    pub fn new(table: Table<'a>) -> Self {
        Self { table, at: 0, next: 0, bits: 0, place: 0 }
    }
}

impl Iterator for Relr<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            if self.bits != 0 {
                let skip = self.bits.trailing_zeros();
                let place = self.place.wrapping_add(u64::from(skip) * 8);
                self.bits = self.bits.checked_shr(skip + 1).unwrap_or(0);
                self.place = place.wrapping_add(8);
                return Some(place);
            }
            let word = self.table.read::<u64>(self.at)?;
            self.at += 8;
            if word & 1 == 0 {
                self.next = word.wrapping_add(8);
                return Some(word);
            }
            (self.bits, self.place) = (word >> 1, self.next);
            self.next = self.next.wrapping_add(63 * 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn compressed_words_tell_all_places() {
        let words = [0x1000_u64, 0b1011, u64::MAX, 0x9000];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let places: Vec<u64> = Relr::new(Table::of(&bytes)).collect();
        let mut expected = std::vec![0x1000, 0x1008, 0x1018];
        let second = 0x1008 + 63 * 8;
        expected.extend((0..63).map(|word| second + word * 8));
        expected.push(0x9000);
        assert_eq!(places, expected);
    }
}
