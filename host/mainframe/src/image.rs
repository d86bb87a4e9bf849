//! Disk images of emulators: CKD and CCKD files as tracks, in any storage form.
//!
//! ```text
//! header 512 │ plain:      track 0 | track 1 | ...                  all of one size
//!            │ compressed: header 512 | L1 table ──> L2 table ──> track, inflated when read
//! ```
//!
//! A track is read as its home address, then its records. A *null track*, which a compressed image does not store, is made up
//! as the emulator does. In the image's own source, track n begins at n x 65,536: so a block has an offset as in other sources.
//!
//! Invariant: no track that is returned has more bytes than the header's track size.
//! Not here: records on tracks (`track`), the volume's table of contents (`volume`); shadow files, and images in several files.

use super::bytes::{flag, le16, le32, le64};
use super::inflate::{self, Method, inflate};
use super::source::{ReadError, Shared, Source, some, take};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Faults of a disk image; offsets are bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No header of an emulated disk.
    #[error("does not begin with the header of a CKD disk image")]
    NotDisk,
    /// A shadow file holds only what changed; without its base it cannot be read.
    #[error("is a shadow file ({id}), which is not read: give its base image, or merge them first")]
    Shadow {
        /// The identifier in its header.
        id: String,
    },
    /// One of several files of an image.
    #[error("is file {number} of an image in several files, which is not read")]
    Several {
        /// Its number.
        number: u8,
    },
    /// A header field with an impossible value.
    #[error("the header has an impossible value for {what}: {says}")]
    Header {
        /// Which field.
        what: &'static str,
        /// Its value.
        says: u64,
    },
    /// Written on a machine with the other order of bytes.
    #[error("is a compressed image in big-endian order, which is not read")]
    BigEndian,
    /// A track outside of the file: the file is cut, or a table is wrong.
    #[error("track {track} should be at {at}: {error}")]
    Track {
        /// Its number on the volume.
        track: u32,
        /// Its stated place.
        at: u64,
        /// The reason.
        error: ReadError,
    },
    /// A track that does not inflate.
    #[error("track {track} at {at} does not inflate: {fault}")]
    Inflate {
        /// Its number.
        track: u32,
        /// Where it is stored.
        at: u64,
        /// The reason.
        fault: inflate::Fault,
    },
    /// A track whose stored address is that of another.
    #[error("at {at}, where track {track} should be, is cylinder {cylinder} head {head}")]
    Address {
        /// The track that was looked for.
        track: u32,
        /// Where it is stored.
        at: u64,
        /// The cylinder found.
        cylinder: u16,
        /// The head found.
        head: u16,
    },
    /// No such track.
    #[error("track {track} is requested, but the disk has {tracks} tracks")]
    Beyond {
        /// The track.
        track: u32,
        /// The number of tracks.
        tracks: u32,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The storage form of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All tracks, all of one size.
    Plain,
    /// Compressed tracks by tables of 32-bit offsets.
    Compressed,
    /// The same with 64-bit offsets.
    Compressed64,
}

/// The distance of tracks in the image's own source: more than any track has.
pub const TRACK_SPACE: u64 = 1 << 16;

/// A disk image.
pub struct Image {
    /// Its storage form.
    pub form: Form,
    /// Type of the device: 0x90 is a 3390.
    pub device: u8,
    /// Tracks in a cylinder.
    pub heads: u32,
    /// Bytes of a track in the file.
    pub track_size: u32,
    /// Tracks of the volume.
    pub tracks: u32,
    /// The emulator opened it for writing, and did not close it.
    pub open: bool,
    source: Shared,
    /// Of compressed images: offset of the L2 table of each 256 tracks.
    tables: Vec<u64>,
    null_format: u8,
    /// The tracks read last, with the number of each.
    held: Mutex<Vec<(u32, Arc<Vec<u8>>)>>,
    /// The L2 table read last.
    table: Mutex<Table>,
}

/// The place of an L2 table, and its bytes.
type Table = (u64, Vec<u8>);

enum Entry {
    /// Not stored: the format of the null track.
    Null(u8),
    /// Offset and length.
    Stored(u64, u16),
}

/// Tracks that are kept inflated.
const HELD: usize = 16;
const HEADER: u64 = 512;
/// Cylinders of the largest volume there is, an EAV.
const CYLINDERS_MOST: u64 = 1_182_006;

/// Whether these first bytes are the header of a disk image, or of a shadow file.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    let Some(id) = bytes.get(..8) else { return false };
    matches!(id, b"CKD_P370" | b"CKD_P064" | b"CKD_C370" | b"CKD_C064" | b"CKD_S370" | b"CKD_S064")
}

impl Image {
    /// Reads the headers and the first table.
    ///
    /// # Errors
    /// If it is no image, its kind is not read, or its headers have impossible values.
    pub fn open(source: &Shared) -> Result<Image, Fault> {
        let head = some(&**source, 0, 2 * HEADER)?;
        if !begins(&head) || head.len() < HEADER as usize {
            return Err(Fault::NotDisk);
        }
        let form = match &head[..8] {
            b"CKD_P370" | b"CKD_P064" => Form::Plain,
            b"CKD_C370" => Form::Compressed,
            b"CKD_C064" => Form::Compressed64,
            id => return Err(Fault::Shadow { id: String::from_utf8_lossy(id).into_owned() }),
        };
        let (heads, track_size) = (le32(&head, 8).unwrap_or(0), le32(&head, 12).unwrap_or(0));
        if heads == 0 || heads > 256 {
            return Err(Fault::Header { what: "heads", says: heads.into() });
        }
        if track_size < 16 || u64::from(track_size) > TRACK_SPACE {
            return Err(Fault::Header { what: "track size", says: track_size.into() });
        }
        // If a first file states its highest cylinder, further files follow.
        if head[17] > 1 || form == Form::Plain && head[17] == 1 && le16(&head, 18) != Some(0) {
            return Err(Fault::Several { number: head[17] });
        }
        let mut image = Image {
            form,
            device: head[16],
            heads,
            track_size,
            tracks: 0,
            open: false,
            source: source.clone(),
            tables: Vec::new(),
            null_format: 0,
            held: Mutex::new(Vec::new()),
            table: Mutex::new((0, Vec::new())),
        };
        if form == Form::Plain {
            let tracks = (source.length() - HEADER) / u64::from(track_size);
            image.tracks = u32::try_from(tracks)
                .ok()
                .filter(|tracks| u64::from(*tracks) <= CYLINDERS_MOST * u64::from(heads))
                .ok_or(Fault::Header { what: "tracks", says: tracks })?;
        } else {
            image.tables(head.get(HEADER as usize..).unwrap_or(&[]))?;
        }
        Ok(image)
    }

    fn tables(&mut self, head: &[u8]) -> Result<(), Fault> {
        let wide = self.form == Form::Compressed64;
        let options = flag(head, 3);
        if options & 0x02 != 0 {
            return Err(Fault::BigEndian);
        }
        self.open = options & 0x80 != 0;
        let field = |at, what| le32(head, at).ok_or(Fault::Header { what, says: 0 });
        let (first, second) = (field(4, "L1 entries")?, field(8, "L2 entries")?);
        let cylinders = field(if wide { 12 } else { 40 }, "cylinders")?;
        self.null_format = flag(head, if wide { 72 } else { 44 });
        if second != 256 {
            return Err(Fault::Header { what: "L2 entries", says: second.into() });
        }
        if u64::from(cylinders) > CYLINDERS_MOST {
            return Err(Fault::Header { what: "cylinders", says: cylinders.into() });
        }
        let tracks = u64::from(cylinders) * u64::from(self.heads);
        if u64::from(first) < tracks.div_ceil(256) {
            return Err(Fault::Header { what: "L1 entries", says: first.into() });
        }
        // At most 256 heads by a million cylinders.
        self.tracks = u32::try_from(tracks).map_err(|_| Fault::Header { what: "tracks", says: tracks })?;
        let count = tracks.div_ceil(256);
        let entry = if wide { 8 } else { 4 };
        let table = take(&*self.source, 2 * HEADER, count * entry)?;
        self.tables = (0..count as usize)
            .map(|index| {
                if wide {
                    le64(&table, 8 * index).unwrap_or(0)
                } else {
                    match le32(&table, 4 * index) {
                        Some(u32::MAX) => u64::MAX,
                        other => other.unwrap_or(0).into(),
                    }
                }
            })
            .collect();
        Ok(())
    }

    /// The bytes of a track: home address and records, as far as they are stored.
    ///
    /// # Errors
    /// If there is no such track, or it cannot be read or inflated.
    pub fn track(&self, number: u32) -> Result<Arc<Vec<u8>>, Fault> {
        if number >= self.tracks {
            return Err(Fault::Beyond { track: number, tracks: self.tracks });
        }
        // Entries are replaced whole, so a thread that panicked while it held the lock left whole ones.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = held.iter().position(|(known, _)| *known == number) {
            let entry = held.remove(index);
            held.push(entry);
            return Ok(held[held.len() - 1].1.clone());
        }
        let bytes =
            Arc::new(if self.form == Form::Plain { self.plain(number) } else { self.stored(number) }?);
        if held.len() == HELD {
            held.remove(0);
        }
        held.push((number, bytes.clone()));
        Ok(bytes)
    }

    fn plain(&self, number: u32) -> Result<Vec<u8>, Fault> {
        let at = HEADER + u64::from(number) * u64::from(self.track_size);
        take(&*self.source, at, self.track_size.into()).map_err(|error| Fault::Track {
            track: number,
            at,
            error,
        })
    }

    /// Of a track that is not stored, its format: 0 has an end-of-file record, 1 nothing, 2 blocks of zeros.
    ///
    /// # Errors
    /// If its entry cannot be read.
    pub fn null_format(&self, track: u32) -> Result<Option<u8>, Fault> {
        match self.form {
            Form::Plain => Ok(None),
            _ => self.entry(track).map(|entry| match entry {
                Entry::Null(format) => Some(format),
                Entry::Stored(..) => None,
            }),
        }
    }

    /// The first stored track from this one on (in a plain image this one);
    /// otherwise the number of tracks, or this one if it is larger.
    ///
    /// A compressed image can mark 256 tracks as not stored in four bytes: searches on tracks use this.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn next_stored(&self, from: u32) -> Result<u32, Fault> {
        let mut track = from;
        while self.form != Form::Plain && track < self.tracks {
            let end = (track / 256 + 1).saturating_mul(256).min(self.tracks);
            if let Some(table) = self.table(track)? {
                let stored = |track: &u32| matches!(self.entry_of(&table.1, *track), Entry::Stored(..));
                if let Some(stored) = (track..end).find(stored) {
                    return Ok(stored);
                }
            }
            track = end;
        }
        Ok(track)
    }

    /// The place of a track in a compressed image.
    fn entry(&self, track: u32) -> Result<Entry, Fault> {
        let table = self.table(track)?;
        Ok(table.map_or(Entry::Null(self.null_format), |table| self.entry_of(&table.1, track)))
    }

    /// The L2 table of a track, and its place; None if there is none.
    fn table(&self, track: u32) -> Result<Option<MutexGuard<'_, Table>>, Fault> {
        let table = self.tables.get(track as usize / 256).copied().unwrap_or(0);
        if table == 0 || table == u64::MAX {
            return Ok(None);
        }
        // The last table that was read: tracks are mostly asked for in order.
        let mut held = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if held.0 != table {
            let length = 256 * self.entry_size() as u64;
            let bytes = take(&*self.source, table, length).map_err(|error| Fault::Track {
                track,
                at: table,
                error,
            })?;
            *held = (table, bytes);
        }
        Ok(Some(held))
    }

    /// Bytes of an entry of an L2 table.
    fn entry_size(&self) -> usize {
        if self.form == Form::Compressed64 { 16 } else { 8 }
    }

    /// A track's entry in its L2 table.
    fn entry_of(&self, table: &[u8], track: u32) -> Entry {
        let wide = self.form == Form::Compressed64;
        let entry = self.entry_size() * (track as usize % 256);
        let (at, length) = if wide {
            (le64(table, entry).unwrap_or(0), le16(table, entry + 8).unwrap_or(0))
        } else {
            (u64::from(le32(table, entry).unwrap_or(0)), le16(table, entry + 4).unwrap_or(0))
        };
        if at == 0 || at == u64::MAX || length <= 5 || !wide && at == u64::from(u32::MAX) {
            return Entry::Null(match length {
                0 if self.null_format == 2 => 2,
                0..=2 => length as u8,
                _ => self.null_format,
            });
        }
        Entry::Stored(at, length)
    }

    fn stored(&self, track: u32) -> Result<Vec<u8>, Fault> {
        let (at, length) = match self.entry(track)? {
            Entry::Null(format) => return Ok(self.null(track, format)),
            Entry::Stored(at, length) => (at, length),
        };
        let stored =
            take(&*self.source, at, length.into()).map_err(|error| Fault::Track { track, at, error })?;
        // More than 5 bytes, as `entry` has seen: the home address, then the records.
        let (home, packed) = stored.split_at(5);
        let (cylinder, head) =
            (u16::from_be_bytes([home[1], home[2]]), u16::from_be_bytes([home[3], home[4]]));
        // The upper 12 bits of a head belong to the cylinder if a cylinder has at most 15 heads. The comparison limits the
        // number of tracks that may be the same few bytes of the file.
        let bits = if self.heads <= 15 { 15 } else { 0xFFFF };
        let here = u32::from(cylinder) == (track / self.heads) & 0xFFFF
            && u32::from(head) & bits == (track % self.heads) & bits;
        if !here {
            return Err(Fault::Address { track, at, cylinder, head });
        }
        let method = match home[0] & 3 {
            0 => Method::Plain,
            1 => Method::Zlib,
            2 => Method::Bzip2,
            other => return Err(Fault::Header { what: "compression", says: other.into() }),
        };
        let most = self.track_size as usize - 5;
        let records = inflate(method, packed, most).map_err(|fault| Fault::Inflate { track, at, fault })?;
        let mut whole = vec![0];
        whole.extend(&home[1..]);
        whole.extend(records);
        Ok(whole)
    }

    /// A track that is not stored: home address, R0, and by its format an end-of-file record, nothing, or 12 blocks of zeros.
    fn null(&self, track: u32, format: u8) -> Vec<u8> {
        let (cylinder, head) =
            (((track / self.heads) as u16).to_be_bytes(), ((track % self.heads) as u16).to_be_bytes());
        let address = [cylinder[0], cylinder[1], head[0], head[1]];
        let mut bytes = vec![0];
        bytes.extend(address);
        let mut record = |number: u8, length: u16| {
            bytes.extend(address);
            bytes.extend([number, 0]);
            bytes.extend(length.to_be_bytes());
            bytes.resize(bytes.len() + usize::from(length), 0);
        };
        record(0, 8);
        match format {
            0 => record(1, 0),
            2 if self.track_size >= 50_000 => (1..=12).for_each(|number| record(number, 4096)),
            _ => {}
        }
        bytes.extend([0xFF; 8]);
        bytes
    }
}

impl Source for Image {
    fn length(&self) -> u64 {
        u64::from(self.tracks) * TRACK_SPACE
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ReadError> {
        let (number, skip) = (at / TRACK_SPACE, (at % TRACK_SPACE) as usize);
        let wanted = into.len() as u64;
        let track = u32::try_from(number)
            .map_err(|_| ReadError::Beyond { at, wanted, length: self.length() })
            .and_then(|number| {
                self.track(number).map_err(|fault| match fault {
                    Fault::Track { error, .. } | Fault::Read(error) => error,
                    Fault::Beyond { .. } => ReadError::Beyond { at, wanted, length: self.length() },
                    other => ReadError::Packed { at, message: other.to_string() },
                })
            })?;
        let there = skip.checked_add(into.len()).and_then(|end| track.get(skip..end));
        let beyond = ReadError::Beyond { at: skip as u64, wanted, length: track.len() as u64 };
        into.copy_from_slice(there.ok_or(beyond)?);
        Ok(())
    }
}
