//! The directory of a PDS: blocks of 256 bytes, each with its highest name as the key, searched from the first block.
//!
//! ```text
//! block: key 8 | used 2 (big-endian) | entry | entry | ... |
//! entry: NAME 8 | TTR 3 | C 1 | user data
//! user data of a member, 24:  TTRT 3 | fetch 1 | place of the first text on its track / 8 2 | attributes 2 |
//!                             storage 4 | length of the first text 2 | entry point 4 | size 4 | 0 2
//!           of an alias, 36:  the same | entry point of the member 4 | its name 8
//! ```
//!
//! An entry takes 36 bytes, as a load module's does: seven in a block, 4,200 members in 600 blocks on 14 tracks.
//!
//! Invariant: entries ascend within and across blocks, the last key and the last name are eight X'FF', no entry spans blocks.

use super::Pds;
use super::layout::{Count, Kind, TRACK_HEADER, track_offset};
use crate::attribute::{Attributes, FetchOptions};
use crate::binder::Place;
use crate::bytes::{put, take, u8_at, u16_at, u32_at};
use crate::count::Counts;
use crate::name::Name;
use crate::read::{Fault, ReadAt, fill};
use crate::track::Device;

/// Bytes of a directory block's data.
pub const DIRECTORY_BLOCK: usize = 256;
/// Bytes of a directory block in a track's image: count, key, data.
const STRIDE: usize = Count::LENGTH + 8 + DIRECTORY_BLOCK;
/// Blocks that are read at a time: nearly a page.
const GROUP: usize = 14;
/// The key of the last block, and the name of the last entry.
const HIGHEST: [u8; 8] = [0xFF; 8];
const MEMBER_DATA: usize = 24;
const ALIAS_DATA: usize = 36;
const ALIAS: u8 = 0x80;
const ONE_TTR: u8 = 0x20;
/// No entry point.
const NONE: u32 = u32::MAX;

/// Directory blocks on a track.
#[must_use]
pub fn directory_track_blocks(device: &Device) -> u32 {
    device.blocks_per_track(DIRECTORY_BLOCK as u32, 8).max(1)
}

/// An entry of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The member's or the alias's name.
    pub name: Name,
    /// Its first record (TTR).
    pub first: Place,
    /// Its first text block (TTRT); 0 if it is empty.
    pub text: Place,
    /// Offset of that block in its track's image.
    pub text_at: u32,
    /// Bytes of that block.
    pub text_length: u16,
    /// Its attributes.
    pub attributes: Attributes,
    /// How it asks to be fetched.
    pub fetch: FetchOptions,
    /// Bytes of storage that the program takes.
    pub storage: u32,
    /// Address of the entry point of this name, in the file's own addresses.
    pub entry_point: Option<u32>,
    /// Bytes of the member.
    pub size: u32,
    /// For an alias: its member.
    pub alias: Option<Alias>,
}

/// An alias's reference to its member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The member's name.
    pub of: Name,
    /// The member's entry point.
    pub entry_point: Option<u32>,
}

impl Entry {
    /// The name of the member, also if this entry is an alias.
    #[must_use]
    pub fn member(&self) -> Name {
        self.alias.map_or(self.name, |alias| alias.of)
    }

    fn decode(bytes: &[u8]) -> Option<(Entry, usize)> {
        let name = Name::from_padded(&take(bytes, 0)).ok()?;
        let code = u8_at(bytes, 11);
        let length = usize::from(code & 0x1F) * 2;
        let is_alias = code & ALIAS != 0;
        if code & 0x60 != ONE_TTR || length != if is_alias { ALIAS_DATA } else { MEMBER_DATA } {
            return None;
        }
        let data = bytes.get(12..12 + length)?;
        let alias = if is_alias {
            Some(Alias {
                of: Name::from_padded(&take(data, 28)).ok()?,
                entry_point: address(u32_at(data, 24)),
            })
        } else {
            None
        };
        let entry = Entry {
            name,
            first: place(take(bytes, 8)),
            text: place(take(data, 0)),
            text_at: u32::from(u16_at(data, 4)) * 8,
            text_length: u16_at(data, 12),
            attributes: Attributes(u16_at(data, 6)),
            fetch: FetchOptions::from_code(u8_at(data, 3))?,
            storage: u32_at(data, 8),
            entry_point: address(u32_at(data, 14)),
            size: u32_at(data, 18),
            alias,
        };
        Some((entry, 12 + length))
    }

    fn encode(&self) -> ([u8; 12 + ALIAS_DATA], usize) {
        let mut bytes = [0; 12 + ALIAS_DATA];
        let length = if self.alias.is_some() { ALIAS_DATA } else { MEMBER_DATA };
        put(&mut bytes, 0, &self.name.padded().unwrap_or([b' '; 8]));
        put(&mut bytes, 8, &ttr(self.first));
        bytes[11] = ONE_TTR | (length / 2) as u8 | if self.alias.is_some() { ALIAS } else { 0 };
        put(&mut bytes, 12, &ttr(self.text));
        bytes[15] = self.fetch.code();
        put(&mut bytes, 16, &((self.text_at / 8) as u16).to_le_bytes());
        put(&mut bytes, 18, &self.attributes.0.to_le_bytes());
        put(&mut bytes, 20, &self.storage.to_le_bytes());
        put(&mut bytes, 24, &self.text_length.to_le_bytes());
        put(&mut bytes, 26, &self.entry_point.unwrap_or(NONE).to_le_bytes());
        put(&mut bytes, 30, &self.size.to_le_bytes());
        if let Some(alias) = self.alias {
            put(&mut bytes, 36, &alias.entry_point.unwrap_or(NONE).to_le_bytes());
            put(&mut bytes, 40, &alias.of.padded().unwrap_or([b' '; 8]));
        }
        (bytes, 12 + length)
    }
}

fn address(field: u32) -> Option<u32> {
    (field != NONE).then_some(field)
}

fn place(ttr: [u8; 3]) -> Place {
    Place { track: u32::from(u16::from_be_bytes([ttr[0], ttr[1]])), record: ttr[2] }
}

fn ttr(place: Place) -> [u8; 3] {
    let [high, low] = (place.track as u16).to_be_bytes();
    [high, low, place.record]
}

/// Appends an entry to a directory block and makes its name the key; None means the last entry of all. Returns false and
/// leaves the block unchanged if it is full. A new block is all zero.
pub fn put_entry(key: &mut [u8; 8], block: &mut [u8; DIRECTORY_BLOCK], entry: Option<&Entry>) -> bool {
    let (bytes, length) = match entry {
        Some(entry) => entry.encode(),
        None => {
            let mut bytes = [0; 12 + ALIAS_DATA];
            bytes[..8].copy_from_slice(&HIGHEST);
            (bytes, 12)
        }
    };
    let used = usize::from(u16::from_be_bytes([block[0], block[1]])).max(2);
    let Some(room) = block.get_mut(used..used + length) else { return false };
    room.copy_from_slice(&bytes[..length]);
    key.copy_from_slice(&bytes[..8]);
    block[..2].copy_from_slice(&((used + length) as u16).to_be_bytes());
    true
}

pub(super) fn find<R: ReadAt>(
    pds: &Pds<R>,
    name: &Name,
    counts: &mut Counts,
) -> Result<Option<Entry>, Fault> {
    let Some(wanted) = name.padded() else { return Ok(None) };
    let mut blocks = Blocks::new(pds);
    counts.programs_by_article += 1;
    counts.programs_by_fetch += 1;
    let mut found = None;
    while blocks.next()? {
        if blocks.key() >= wanted {
            let mut entries = InBlock::new(blocks.data(), blocks.number() - 1)?;
            while let Some(entry) = entries.next()? {
                if entry.name == *name {
                    found = Some(entry);
                }
            }
            break;
        }
    }
    let searched = blocks.number();
    counts.directory_blocks += u64::from(searched);
    counts.directory_tracks += u64::from(searched.div_ceil(directory_track_blocks(pds.header.device())));
    Ok(found)
}

/// The entries of a directory, in the order of their names.
#[derive(Debug)]
pub struct Entries<'a, R> {
    blocks: Blocks<'a, R>,
    at: usize,
    /// The previous name, which the next one must follow.
    before: Option<Name>,
    is_over: bool,
}

impl<'a, R: ReadAt> Entries<'a, R> {
    pub(super) fn new(pds: &'a Pds<R>) -> Entries<'a, R> {
        // No block yet: the iterator starts with its data used up.
        Entries { blocks: Blocks::new(pds), at: DIRECTORY_BLOCK, before: None, is_over: false }
    }

    fn step(&mut self) -> Result<Option<Entry>, Fault> {
        loop {
            if self.at == DIRECTORY_BLOCK {
                if !self.blocks.next()? {
                    return Ok(None);
                }
                self.at = 2;
            }
            let mut entries = InBlock::at(self.blocks.data(), self.blocks.number() - 1, self.at)?;
            let next = entries.next()?;
            self.at = entries.at;
            match next {
                Some(entry) if self.before.is_some_and(|before| before >= entry.name) => {
                    return Err(Fault::DamagedDirectory { block: self.blocks.number() - 1 });
                }
                Some(entry) => {
                    self.before = Some(entry.name);
                    return Ok(Some(entry));
                }
                None => self.at = DIRECTORY_BLOCK,
            }
        }
    }
}

impl<R: ReadAt> Iterator for Entries<'_, R> {
    type Item = Result<Entry, Fault>;

    fn next(&mut self) -> Option<Result<Entry, Fault>> {
        if self.is_over {
            return None;
        }
        let next = self.step().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// The blocks in use, in sequence, each with its sum checked.
#[derive(Debug)]
struct Blocks<'a, R> {
    pds: &'a Pds<R>,
    group: [u8; GROUP * STRIDE],
    /// Blocks handed out. The last one is at `at` in the group, which holds the blocks up to number `until`.
    handed: u32,
    until: u32,
    at: usize,
}

impl<'a, R: ReadAt> Blocks<'a, R> {
    fn new(pds: &'a Pds<R>) -> Blocks<'a, R> {
        Blocks { pds, group: [0; GROUP * STRIDE], handed: 0, until: 0, at: 0 }
    }

    /// Goes to the next block; false after the last.
    fn next(&mut self) -> Result<bool, Fault> {
        let header = &self.pds.header;
        let number = self.handed;
        if number >= header.directory_used {
            return Ok(false);
        }
        let on_a_track = directory_track_blocks(header.device());
        let (track, index) = (number / on_a_track, number % on_a_track);
        if number >= self.until {
            let blocks = (GROUP as u32).min(on_a_track - index).min(header.directory_used - number);
            let offset = track_offset(track) + (TRACK_HEADER + index as usize * STRIDE) as u64;
            fill(&self.pds.read, offset, &mut self.group[..blocks as usize * STRIDE])?;
            self.until = number + blocks;
            self.at = 0;
        } else {
            self.at += STRIDE;
        }
        self.handed += 1;
        let record = &self.group[self.at..self.at + STRIDE];
        let is_sound = Count::decode(&take(record, 0)).and_then(Result::ok).is_some_and(|count| {
            count.kind == Kind::Directory
                && u32::from(count.record) == index + 1
                && (count.key, count.data as usize) == (8, DIRECTORY_BLOCK)
                && count.sum == count.sum_of(header.identity, track, &record[16..24], &record[24..])
        });
        if is_sound { Ok(true) } else { Err(Fault::DamagedDirectory { block: number }) }
    }

    /// Blocks handed out.
    fn number(&self) -> u32 {
        self.handed
    }

    fn key(&self) -> [u8; 8] {
        take(&self.group, self.at + Count::LENGTH)
    }

    fn data(&self) -> &[u8] {
        let from = self.at + Count::LENGTH + 8;
        self.group.get(from..from + DIRECTORY_BLOCK).unwrap_or(&[])
    }
}

/// The entries of one block.
struct InBlock<'a> {
    used: &'a [u8],
    block: u32,
    at: usize,
}

impl<'a> InBlock<'a> {
    fn new(data: &'a [u8], block: u32) -> Result<InBlock<'a>, Fault> {
        InBlock::at(data, block, 2)
    }

    fn at(data: &'a [u8], block: u32, at: usize) -> Result<InBlock<'a>, Fault> {
        let used = usize::from(u16::from_be_bytes(take(data, 0)));
        let used = data.get(..used).ok_or(Fault::DamagedDirectory { block })?;
        Ok(InBlock { used, block, at })
    }

    fn next(&mut self) -> Result<Option<Entry>, Fault> {
        let rest = self.used.get(self.at..).unwrap_or(&[]);
        if rest.is_empty() || rest.starts_with(&HIGHEST) {
            return Ok(None);
        }
        let (entry, length) = Entry::decode(rest).ok_or(Fault::DamagedDirectory { block: self.block })?;
        self.at += length;
        Ok(Some(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry {
        Entry {
            name: Name::new(name.as_bytes()).expect("a name"),
            first: Place { track: 65_000, record: 86 },
            text: Place { track: 65_001, record: 2 },
            text_at: 57_336,
            text_length: 32_760,
            attributes: Attributes::PROGRAM.with(Attributes::ONE_BLOCK),
            fetch: FetchOptions::Pack,
            storage: 123_456_789,
            entry_point: Some(0x1139),
            size: u32::MAX,
            alias: None,
        }
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let plain = entry("MEMBER");
        let alias = Alias { of: plain.name, entry_point: None };
        let other = Entry { alias: Some(alias), entry_point: None, ..entry("OTHER") };
        for (entry, length) in [(plain, 36), (other, 48)] {
            let (bytes, written) = entry.encode();
            assert_eq!(written, length);
            assert_eq!(Entry::decode(&bytes), Some((entry, length)));
            assert_eq!(Entry::decode(&bytes[..length - 1]), None, "cut");
        }
    }

    #[test]
    fn seven_members_fill_a_block() {
        let (mut key, mut block) = ([0; 8], [0; DIRECTORY_BLOCK]);
        for name in ["A", "B", "C", "D", "E", "F", "G"] {
            assert!(put_entry(&mut key, &mut block, Some(&entry(name))));
        }
        let before = block;
        assert!(!put_entry(&mut key, &mut block, Some(&entry("H"))));
        assert!(!put_entry(&mut key, &mut block, None));
        assert_eq!((key, block), (*b"G       ", before));
        let mut entries = InBlock::new(&block, 0).expect("sound");
        let mut names = std::vec::Vec::new();
        while let Some(entry) = entries.next().expect("sound") {
            names.push(std::format!("{}", entry.name));
        }
        assert_eq!(names.concat(), "ABCDEFG");
    }
}
