//! Directory blocks of partitioned data sets: 256 bytes become entries.
//!
//! ```text
//! used 2 | { name 8 | TTR 3 | C 1 | user data 0..62 } ... | unused
//! C: 80 alias, 60 number of TTRs in the user data, 1F its length in halfwords
//! the name of 8 x FF ends the directory
//! ```
//!
//! Invariant: an entry that is returned is within the used bytes of its block.
//! Not here: the meaning of user data (`entry`), the places of members (`library`).

use super::bytes::{be16, be24, part};
use super::ebcdic::CodePage;
use serde::{Serialize, Serializer};
use std::fmt;

/// Bytes of a directory block.
pub const BLOCK: usize = 256;
/// The name that ends a directory, and the key of its last used block.
pub const LAST: [u8; 8] = [0xFF; 8];

/// The place of a block: track of the data set from 0, record on the track from 1. In a PDSE it is only a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttr(pub u32);

impl Ttr {
    /// Track and record.
    #[must_use]
    pub fn at(track: u32, record: u8) -> Ttr {
        Ttr(track << 8 | u32::from(record))
    }

    /// The track, from 0.
    #[must_use]
    pub fn track(self) -> u32 {
        self.0 >> 8
    }

    /// The record on the track, from 1.
    #[must_use]
    pub fn record(self) -> u8 {
        self.0 as u8
    }
}

impl fmt::Display for Ttr {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:06x}", self.0)
    }
}

impl Serialize for Ttr {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// A member's name as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub [u8; 8]);

impl Name {
    /// The name as text, without its blanks.
    #[must_use]
    pub fn text(&self, page: CodePage) -> String {
        page.field(&self.0)
    }

    /// The name as a file name: characters that could leave a folder, or hide the file, become `_`.
    ///
    /// Two names may become one: writers of files refuse to overwrite them.
    #[must_use]
    pub fn file_name(&self, page: CodePage) -> String {
        let text: String = self
            .text(page)
            .chars()
            .map(|one| if one == '/' || one == '\0' || one.is_control() { '_' } else { one })
            .collect();
        match text.strip_prefix(['.', '-']) {
            Some(rest) => format!("_{rest}"),
            None if text.is_empty() => "_".to_owned(),
            None => text,
        }
    }

    /// A name of at most eight characters.
    #[must_use]
    pub fn from_text(text: &str, page: CodePage) -> Option<Name> {
        let bytes = page.filled(text, 8)?;
        Some(Name(bytes.try_into().ok()?)).filter(|_| !text.is_empty())
    }
}

/// One entry, its user data as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name.
    pub name: Name,
    /// First block of the member.
    pub ttr: Ttr,
    /// Whether it is an alias.
    pub alias: bool,
    /// Number of TTRs in the user data, 0 to 3.
    pub ttrs: u8,
    /// User data, at most 62 bytes.
    pub user_data: Vec<u8>,
}

/// A fault in a directory block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The used bytes are fewer than their own field, or more than the block.
    #[error("its length field is {used}, but it has {there} bytes")]
    Used {
        /// Its value.
        used: u16,
        /// Bytes of the block.
        there: usize,
    },
    /// An entry does not end within the used bytes.
    #[error("the entry at {at} does not end within the {used} bytes used")]
    Entry {
        /// Where it begins in the block.
        at: usize,
        /// Used bytes.
        used: u16,
    },
}

/// A directory block, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its entries, without the one that ends the directory.
    pub entries: Vec<Entry>,
    /// Whether the directory ends in this block.
    pub last: bool,
    /// The fault in the rest.
    pub fault: Option<Fault>,
}

/// Reads a directory block.
#[must_use]
pub fn read(bytes: &[u8]) -> Block {
    let used = be16(bytes, 0).unwrap_or(0);
    let mut block = Block::default();
    if usize::from(used) < 2 || usize::from(used) > bytes.len() {
        block.fault = Some(Fault::Used { used, there: bytes.len() });
        return block;
    }
    let (bytes, mut at) = (&bytes[..usize::from(used)], 2);
    while at < bytes.len() {
        let Some((entry, next)) = entry(bytes, at) else {
            // The entry that ends the directory is sometimes cut after its name.
            block.last = part(bytes, at, 8) == Some(&LAST);
            block.fault = (!block.last).then_some(Fault::Entry { at, used });
            break;
        };
        if entry.name.0 == LAST {
            block.last = true;
            break;
        }
        block.entries.push(entry);
        at = next;
    }
    block
}

fn entry(bytes: &[u8], at: usize) -> Option<(Entry, usize)> {
    let name = Name(part(bytes, at, 8)?.try_into().ok()?);
    let (ttr, c) = (Ttr(be24(bytes, at + 8)?), *bytes.get(at + 11)?);
    let length = usize::from(c & 0x1F) * 2;
    let user_data = part(bytes, at + 12, length)?.to_vec();
    Some((Entry { name, ttr, alias: c & 0x80 != 0, ttrs: c >> 5 & 3, user_data }, at + 12 + length))
}

impl Entry {
    /// Appends the entry's bytes; user data of odd length gets a zero, bytes after the first 62 are left out.
    pub fn write(&self, to: &mut Vec<u8>) {
        let length = self.user_data.len().min(62);
        let halfwords = length.div_ceil(2);
        to.extend(self.name.0);
        to.extend(&self.ttr.0.to_be_bytes()[1..]);
        // At most 31, which fits five bits.
        to.push(u8::from(self.alias) << 7 | (self.ttrs & 3) << 5 | halfwords as u8);
        to.extend(&self.user_data[..length]);
        to.extend(&[0][..length % 2]);
    }
}

/// Writes a whole directory: blocks with their keys, in which the entries ascend. The last entry ends the directory.
#[must_use]
pub fn write(entries: &[Entry]) -> Vec<([u8; 8], Vec<u8>)> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| entry.name);
    let end = Entry { name: Name(LAST), ttr: Ttr(0), alias: false, ttrs: 0, user_data: Vec::new() };
    let (mut blocks, mut body, mut key) = (Vec::new(), Vec::new(), LAST);
    for entry in sorted.into_iter().chain([&end]) {
        let mut bytes = Vec::new();
        entry.write(&mut bytes);
        if 2 + body.len() + bytes.len() > BLOCK {
            blocks.push((key, filled(&body)));
            body.clear();
        }
        body.extend(bytes);
        key = entry.name.0;
    }
    blocks.push((LAST, filled(&body)));
    blocks
}

fn filled(body: &[u8]) -> Vec<u8> {
    // At most 254 bytes: the caller begins another block before.
    let mut block = ((body.len() + 2) as u16).to_be_bytes().to_vec();
    block.extend(body);
    block.resize(BLOCK, 0);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize) -> Entry {
        let name = Name::from_text(&format!("M{number:05}"), CodePage::US).unwrap();
        let user_data = vec![number as u8; number % 32 * 2];
        Entry { name, ttr: Ttr::at(number as u32, 3), alias: number.is_multiple_of(3), ttrs: 1, user_data }
    }

    #[test]
    fn directories_come_back_as_they_were_written() {
        for count in [0, 1, 7, 500] {
            let entries: Vec<Entry> = (0..count).map(entry).collect();
            let mut reversed = entries.clone();
            reversed.reverse();
            let blocks = write(&reversed);
            let mut found = Vec::new();
            for (index, (key, bytes)) in blocks.iter().enumerate() {
                assert_eq!(bytes.len(), BLOCK);
                let block = read(bytes);
                assert_eq!(block.fault, None);
                assert_eq!(block.last, index + 1 == blocks.len());
                let highest = block.entries.last().map_or(LAST, |entry| entry.name.0);
                assert_eq!(*key, if block.last { LAST } else { highest });
                found.extend(block.entries);
            }
            assert_eq!(found, entries);
        }
    }

    #[test]
    fn no_cut_and_no_flipped_bit_gives_an_entry_beyond_the_block() {
        let (_, whole) = write(&(0..9).map(entry).collect::<Vec<_>>()).remove(0);
        for end in 0..whole.len() {
            let block = read(&whole[..end]);
            assert!(block.fault.is_some() || be16(&whole, 0) <= Some(end as u16), "{end}");
        }
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let block = read(&bytes);
            assert!(block.entries.len() <= 21);
        }
    }

    #[test]
    fn absurd_lengths_are_named() {
        assert_eq!(read(&[]).fault, Some(Fault::Used { used: 0, there: 0 }));
        assert_eq!(read(&[1, 1, 0]).fault, Some(Fault::Used { used: 257, there: 3 }));
        let mut bytes = vec![0, 14];
        bytes.extend([0xC1; 8]);
        bytes.extend([0, 0, 1, 0x1F]);
        assert_eq!(read(&bytes).fault, Some(Fault::Entry { at: 2, used: 14 }));
    }

    #[test]
    fn names_of_files_stay_in_their_folder() {
        let check = |text: &str| Name::from_text(text, CodePage::US).unwrap().file_name(CodePage::US);
        assert_eq!(
            ["PGM$#@", "../X", "A/B", "..", ".", "-rf"].map(check),
            ["PGM$#@", "_._X", "A_B", "_.", "_", "_rf"]
        );
        assert_eq!(Name([0x40; 8]).file_name(CodePage::US), "_");
        assert_eq!(Name([0; 8]).file_name(CodePage::US), "_");
    }

    #[test]
    fn a_place_is_written_as_six_digits() {
        assert_eq!(Ttr::at(12, 6).to_string(), "000c06");
        assert_eq!((Ttr(0x010203).track(), Ttr(0x010203).record()), (0x0102, 3));
        assert_eq!(Name::from_text("", CodePage::US), None);
        assert_eq!(Name::from_text("TOOLONGNAME", CodePage::US), None);
    }
}
