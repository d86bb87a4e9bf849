//! The header, a track's header, and records: encoding to and decoding from the file.
//!
//! ```text
//! track image:  header 32 | record | record | ... | FF
//! record:       count 16 | key | data | up to a multiple of 8
//! count:        R 1 | key length 1 | kind 1 | 0 | data length 4 | sum 8
//! ```
//!
//! Invariant: decode(encode(x)) == x; the sum of a record covers the front of its count, key and data, and is seeded with
//! the library's identity and the record's place.

use crate::attribute::PAGE;
use crate::binder::{LARGEST_BLOCK_SIZE, Place, SMALLEST_BLOCK_SIZE};
use crate::bytes::{put, take, u8_at, u16_at, u32_at, u64_at};
use crate::name::Name;
use crate::read::{Fault, PDS_BEGINS, PDSE_BEGINS, VERSION};
use crate::sum::Sum;
use crate::symbol::Symbol;
use crate::track::{Device, TRACK_IMAGE};

/// Bytes of the header.
pub const HEADER: usize = PAGE;
/// Offset of the header's sum.
const SUM: usize = PAGE - 8;
/// Maximum number of tracks of a PDS.
pub const MOST_TRACKS: u32 = 65_535;

/// The content of the header page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// A random number, drawn when the library is created. Every change keeps it; a copy gets a new one.
    pub identity: u64,
    /// Rises with each change; a reader that keeps a directory compares it.
    pub generation: u64,
    /// Number of the device whose tracks these are: 0x3390.
    pub device: u16,
    /// The block size of its label, a multiple of 8.
    pub block_size: u32,
    /// Tracks in the file.
    pub tracks: u32,
    /// Directory blocks at the front, and those of them in use.
    pub directory_blocks: u32,
    /// See `directory_blocks`.
    pub directory_used: u32,
    /// Members, without aliases.
    pub members: u32,
    /// Aliases.
    pub aliases: u32,
    /// The last record; the rest of its track is free.
    pub last: Place,
    /// Units in use on the last track.
    pub last_used: u32,
    /// Bytes in use of the last track's image.
    pub last_bytes: u32,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970.
    pub modified: u64,
}

impl Header {
    /// Encodes the header for the file.
    #[must_use]
    pub fn encode(&self) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        put(&mut page, 0, &PDS_BEGINS);
        put(&mut page, 7, &[VERSION]);
        put(&mut page, 8, &self.identity.to_le_bytes());
        put(&mut page, 16, &self.generation.to_le_bytes());
        put(&mut page, 24, &u32::from(self.device).to_le_bytes());
        put(&mut page, 28, &self.block_size.to_le_bytes());
        put(&mut page, 32, &self.tracks.to_le_bytes());
        put(&mut page, 36, &self.directory_blocks.to_le_bytes());
        put(&mut page, 40, &self.directory_used.to_le_bytes());
        put(&mut page, 44, &self.members.to_le_bytes());
        put(&mut page, 48, &self.aliases.to_le_bytes());
        put(&mut page, 52, &self.last.track.to_le_bytes());
        put(&mut page, 56, &[self.last.record]);
        put(&mut page, 60, &self.last_used.to_le_bytes());
        put(&mut page, 64, &self.last_bytes.to_le_bytes());
        put(&mut page, 72, &self.created.to_le_bytes());
        put(&mut page, 80, &self.modified.to_le_bytes());
        let sum = crate::sum::sum(0, &page[..SUM]);
        put(&mut page, SUM, &sum.to_le_bytes());
        page
    }

    /// Decodes a header from the file.
    ///
    /// # Errors
    /// Another file, another version, damage, or figures that no PDS has.
    pub fn decode(page: &[u8; PAGE]) -> Result<Header, Fault> {
        match (take::<7>(page, 0), u8_at(page, 7)) {
            (PDS_BEGINS, VERSION) => {}
            (PDS_BEGINS, version) => return Err(Fault::Version(version)),
            (PDSE_BEGINS, _) => return Err(Fault::OtherOrganisation),
            _ => return Err(Fault::NotALibrary),
        }
        if u64_at(page, SUM) != crate::sum::sum(0, &page[..SUM]) {
            return Err(Fault::DamagedHeader);
        }
        let header = Header {
            identity: u64_at(page, 8),
            generation: u64_at(page, 16),
            device: u16_at(page, 24),
            block_size: u32_at(page, 28),
            tracks: u32_at(page, 32),
            directory_blocks: u32_at(page, 36),
            directory_used: u32_at(page, 40),
            members: u32_at(page, 44),
            aliases: u32_at(page, 48),
            last: Place { track: u32_at(page, 52), record: u8_at(page, 56) },
            last_used: u32_at(page, 60),
            last_bytes: u32_at(page, 64),
            created: u64_at(page, 72),
            modified: u64_at(page, 80),
        };
        let device = Device::of_code(header.device).ok_or(Fault::DamagedHeader)?;
        let directory_tracks = header.directory_blocks.div_ceil(device.blocks_per_track(256, 8).max(1));
        let is_sound = (SMALLEST_BLOCK_SIZE..=LARGEST_BLOCK_SIZE).contains(&header.block_size)
            && header.directory_used <= header.directory_blocks
            && directory_tracks <= header.tracks
            && header.tracks <= MOST_TRACKS
            && header.last.track < header.tracks
            && header.last_used <= device.capacity
            && header.last_bytes as usize <= TRACK_IMAGE;
        if is_sound { Ok(header) } else { Err(Fault::DamagedHeader) }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &'static Device {
        // `decode` accepts only known numbers, and writers take theirs from the table.
        Device::of_code(self.device).unwrap_or(&crate::track::DEVICES[0])
    }
}

/// The file offset of a track's image.
#[must_use]
pub const fn track_offset(track: u32) -> u64 {
    HEADER as u64 + track as u64 * TRACK_IMAGE as u64
}

/// Bytes of a track's header.
pub const TRACK_HEADER: usize = 32;
const TRACK_MAGIC: [u8; 4] = *b"TRK1";

/// The header of a track's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackHeader {
    /// Its number.
    pub track: u32,
    /// Records on it.
    pub records: u8,
    /// Units of the device in use.
    pub used: u32,
    /// Bytes of the image in use.
    pub bytes: u32,
}

impl TrackHeader {
    /// Encodes the track's header for the file.
    #[must_use]
    pub fn encode(&self, identity: u64) -> [u8; TRACK_HEADER] {
        let mut header = [0; TRACK_HEADER];
        put(&mut header, 0, &TRACK_MAGIC);
        put(&mut header, 4, &self.track.to_le_bytes());
        put(&mut header, 8, &[self.records]);
        put(&mut header, 12, &self.used.to_le_bytes());
        put(&mut header, 16, &self.bytes.to_le_bytes());
        let sum = crate::sum::sum(identity, &header[..24]);
        put(&mut header, 24, &sum.to_le_bytes());
        header
    }

    /// Decodes a track's header from the file.
    ///
    /// # Errors
    /// A header that is damaged or belongs to another track.
    pub fn decode(header: &[u8; TRACK_HEADER], identity: u64, track: u32) -> Result<TrackHeader, Fault> {
        let is_sound = take::<4>(header, 0) == TRACK_MAGIC
            && u32_at(header, 4) == track
            && u64_at(header, 24) == crate::sum::sum(identity, &header[..24]);
        if !is_sound {
            return Err(Fault::DamagedMember { track, record: 0 });
        }
        Ok(TrackHeader {
            track,
            records: u8_at(header, 8),
            used: u32_at(header, 12),
            bytes: u32_at(header, 16),
        })
    }
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A block of the directory.
    Directory,
    /// The end of the directory.
    EndOfDirectory,
    /// The first record of a member: [`Identification`].
    Identification,
    /// The control record before a text block: [`Control`].
    Control,
    /// A block of text.
    Text,
    /// The end of a member.
    EndOfMember,
}

impl Kind {
    const ALL: [Kind; 6] = [
        Kind::Directory,
        Kind::EndOfDirectory,
        Kind::Identification,
        Kind::Control,
        Kind::Text,
        Kind::EndOfMember,
    ];

    fn code(self) -> u8 {
        self as u8 + 1
    }

    fn of(code: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

/// The count field before key and data of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Number on the track, from 1.
    pub record: u8,
    /// Bytes of the key: 0 or 8.
    pub key: u8,
    /// Its kind.
    pub kind: Kind,
    /// Bytes of the data.
    pub data: u32,
    /// The sum of the whole record.
    pub sum: u64,
}

impl Count {
    /// Bytes of a count.
    pub const LENGTH: usize = 16;

    /// Decodes a count from the track. None at the end of the track; an error for anything else.
    #[must_use]
    pub fn decode(bytes: &[u8; Count::LENGTH]) -> Option<Result<Count, ()>> {
        if bytes[0] == 0xFF {
            return None;
        }
        let count = Kind::of(bytes[2]).filter(|_| bytes[0] > 0 && bytes[3] == 0).map(|kind| Count {
            record: bytes[0],
            key: bytes[1],
            kind,
            data: u32_at(bytes, 4),
            sum: u64_at(bytes, 8),
        });
        Some(count.filter(|count| count.data as usize <= TRACK_IMAGE).ok_or(()))
    }

    /// The sum over the front of the count, a key and the data.
    #[must_use]
    pub fn sum_of(&self, identity: u64, track: u32, key: &[u8], data: &[u8]) -> u64 {
        let mut sum = Sum::new(identity ^ (u64::from(track) << 8 | u64::from(self.record)));
        sum.add(&self.front());
        sum.add(key);
        sum.add(data);
        sum.finish()
    }

    fn front(&self) -> [u8; 8] {
        let mut front = [self.record, self.key, self.kind.code(), 0, 0, 0, 0, 0];
        front[4..].copy_from_slice(&self.data.to_le_bytes());
        front
    }

    /// Bytes of the whole record in a track's image.
    #[must_use]
    pub const fn stride(&self) -> usize {
        (Count::LENGTH + self.key as usize + self.data as usize).next_multiple_of(8)
    }
}

/// A record that was read: its count, and the start of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its count.
    pub count: Count,
    /// Offset of the next record in the image.
    pub next: usize,
}

/// Writes a record into a track's image at `at`, marks the end of the track after it, and returns the offset of the next
/// record; None if the image is full.
pub fn put_record(
    image: &mut [u8],
    at: usize,
    identity: u64,
    place: Place,
    kind: Kind,
    key: &[u8],
    data: &[u8],
) -> Option<usize> {
    let mut count = Count {
        record: place.record,
        key: u8::try_from(key.len()).ok()?,
        kind,
        data: u32::try_from(data.len()).ok()?,
        sum: 0,
    };
    count.sum = count.sum_of(identity, place.track, key, data);
    let next = at.checked_add(count.stride())?;
    // One byte stays reserved for the end mark after the last record.
    if next >= image.len() {
        return None;
    }
    put(image, at, &count.front());
    put(image, at + 8, &count.sum.to_le_bytes());
    put(image, at + Count::LENGTH, key);
    put(image, at + Count::LENGTH + key.len(), data);
    put(image, next, &[0xFF]);
    Some(next)
}

/// Bytes of a control record's data.
pub const CONTROL: usize = 40;

/// The control record before a block of text, with the fields of a load module's control record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// No more text follows the block that this record announces.
    pub is_last: bool,
    /// Byte of the member at which the text begins.
    pub origin: u64,
    /// Bytes of the text.
    pub length: u32,
    /// The member that it belongs to.
    pub member: Name,
}

impl Control {
    /// Encodes the control record for the track.
    #[must_use]
    pub fn encode(&self) -> [u8; CONTROL] {
        let mut control = [0; CONTROL];
        control[0] = if self.is_last { 0x0D } else { 0x01 };
        put(&mut control, 8, &self.origin.to_le_bytes());
        put(&mut control, 16, &self.length.to_le_bytes());
        put(&mut control, 24, &self.member.padded().unwrap_or([b' '; 8]));
        control
    }

    /// Decodes a control record from the track; None for anything else.
    #[must_use]
    pub fn decode(control: &[u8; CONTROL]) -> Option<Control> {
        let is_last = match control[0] {
            0x0D => true,
            0x01 => false,
            _ => return None,
        };
        let member = Name::from_padded(&take(control, 24)).ok()?;
        Some(Control { is_last, origin: u64_at(control, 8), length: u32_at(control, 16), member })
    }
}

/// A member's description of itself, in its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identification {
    /// Its name when it was written.
    pub member: Name,
    /// Bytes.
    pub size: u64,
    /// The sum of all its bytes, with seed 0.
    pub sum: u64,
    /// Bytes from the front that are the program in storage.
    pub loadable: u64,
    /// Seconds since 1970.
    pub modified: u64,
    /// Blocks of text.
    pub texts: u32,
    /// The function at its entry point; empty if none.
    pub symbol: Symbol,
}

impl Identification {
    /// Maximum length of an encoded one in bytes.
    pub const LONGEST: usize = 56 + Symbol::LONGEST;

    /// Encodes it for the track; also returns its length in bytes.
    #[must_use]
    pub fn encode(&self) -> ([u8; Identification::LONGEST], usize) {
        let mut record = [0; Identification::LONGEST];
        put(&mut record, 0, &self.member.padded().unwrap_or([b' '; 8]));
        put(&mut record, 8, &self.size.to_le_bytes());
        put(&mut record, 16, &self.sum.to_le_bytes());
        put(&mut record, 24, &self.loadable.to_le_bytes());
        put(&mut record, 32, &self.modified.to_le_bytes());
        put(&mut record, 40, &self.texts.to_le_bytes());
        put(&mut record, 48, &[self.symbol.as_bytes().len() as u8]);
        put(&mut record, 56, self.symbol.as_bytes());
        (record, 56 + self.symbol.as_bytes().len())
    }

    /// Decodes it from the track; None for anything else.
    #[must_use]
    pub fn decode(record: &[u8]) -> Option<Identification> {
        let symbol = record.get(56..56 + usize::from(u8_at(record, 48)))?;
        Some(Identification {
            member: Name::from_padded(&take(record, 0)).ok()?,
            size: u64_at(record, 8),
            sum: u64_at(record, 16),
            loadable: u64_at(record, 24),
            modified: u64_at(record, 32),
            texts: u32_at(record, 40),
            symbol: Symbol::new(symbol)?,
        })
    }
}
