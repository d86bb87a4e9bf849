//! A disk volume: its label, its table of contents (VTOC), and the data sets in it.
//!
//! ```text
//! cylinder 0 track 0 R3: VOL1, serial, place of the VTOC
//! VTOC: F4 describes itself | F1 a data set ──> F3 its extents from the fourth on
//! partitioned data set: directory blocks (key 8, data 256), an end, then members' blocks, each member with its end
//! ```
//!
//! Invariant: only tracks of a data set's own extents are read for it, and at most those in use.
//! Not here: the storage form of tracks (`image`); PDSE, whose pages have no public layout; VSAM.

use super::assemble::Builder;
use super::bytes::{be16, be24, flag, part};
use super::directory::{BLOCK, Ttr};
use super::ebcdic::CodePage;
use super::image::{self, Image, TRACK_SPACE};
use super::library::{Block, Device, Extent, Label, Library, Organisation, RecordFormat};
use super::place::TRACKS_MOST;
use super::source::{Records, Shared, Stretch};
use super::track::{self, records};
use serde::Serialize;
use std::collections::HashSet;
use std::sync::Arc;

/// Faults of a volume or one of its data sets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Cylinder 0 track 0 has no VOL1.
    #[error("the volume has no label VOL1")]
    NoLabel,
    /// The VTOC is not at the place in the label.
    #[error("no VTOC begins at cylinder {cylinder} head {head} record {record}")]
    NoContents {
        /// Cylinder.
        cylinder: u32,
        /// Head.
        head: u32,
        /// Record.
        record: u8,
    },
    /// A track that could not be read.
    #[error(transparent)]
    Image(#[from] image::Fault),
    /// A track whose records have no end.
    #[error("track {track} of the volume: {fault}")]
    Track {
        /// Its number.
        track: u32,
        /// The fault.
        fault: track::Fault,
    },
    /// An extent outside of the volume.
    #[error("extent {number} of {name} runs from track {from} to {to}, the volume has {tracks}")]
    Extent {
        /// The data set.
        name: String,
        /// The number of the extent, from 0.
        number: usize,
        /// First track.
        from: u64,
        /// Last track.
        to: u64,
        /// Tracks of the volume.
        tracks: u32,
    },
    /// An F3 that is missing, part of a circle, or beyond the most that a data set can have.
    #[error("the further extents of {name} are not at the places in its label")]
    Chain {
        /// The data set.
        name: String,
    },
    /// More tracks than a PDS may have; further ones are not read.
    #[error("{name} has more than the {TRACKS_MOST} tracks of a PDS")]
    Large {
        /// The data set.
        name: String,
    },
    /// A data set whose layout is not public.
    #[error("{name} is a PDSE, whose pages have no public layout")]
    Extended {
        /// The data set.
        name: String,
    },
}

/// A data set of a volume.
#[derive(Clone, Debug, Serialize)]
pub struct DataSet {
    /// Its name.
    pub name: String,
    /// DSORG: 0x0200 partitioned, 0x4000 sequential.
    pub organisation: u16,
    /// Whether it is a PDSE.
    pub extended: bool,
    /// RECFM.
    pub record_format: RecordFormat,
    /// LRECL.
    pub record_length: u32,
    /// BLKSIZE.
    pub block_size: u32,
    /// Last block in use.
    pub last: Ttr,
    /// Extents.
    pub extents: Vec<Extent>,
}

impl DataSet {
    /// Whether it is partitioned.
    #[must_use]
    pub fn is_partitioned(&self) -> bool {
        self.organisation & 0x0200 != 0
    }
}

/// A volume, as far as it could be read.
pub struct Volume {
    /// Its serial.
    pub serial: String,
    /// Data sets in the order of their names.
    pub data_sets: Vec<DataSet>,
    /// Its faults.
    pub faults: Vec<Fault>,
    image: Arc<Image>,
}

/// F3 labels of one data set: each has 13 extents, and no data set has more than 123.
const CHAIN_MOST: usize = 16;
/// The most data sets listed for a volume.
const DATA_SETS_MOST: usize = 100_000;
/// The most faults kept for one volume, or for one data set.
const FAULTS_MOST: usize = 100;
/// `VOL1`.
const VOL1: [u8; 4] = [0xE5, 0xD6, 0xD3, 0xF1];

/// A place on the volume.
type Place = (u32, u8);

impl Volume {
    /// Reads label and table of contents.
    ///
    /// # Errors
    /// If there is no label or no VTOC, or they cannot be read.
    pub fn open(image: Image, page: CodePage) -> Result<Volume, Fault> {
        let image = Arc::new(image);
        let first = image.track(0)?;
        let (found, _) = records(&first);
        let label = found.iter().find(|record| record.number == 3).ok_or(Fault::NoLabel)?;
        let data = &first[label.data()..][..label.length];
        if part(data, 0, 4) != Some(&VOL1) {
            return Err(Fault::NoLabel);
        }
        let serial = page.field(part(data, 4, 6).unwrap_or(&[]));
        let mut volume = Volume { serial, data_sets: Vec::new(), faults: Vec::new(), image };
        let (cylinder, head) = volume.address(data, 0x0B).unwrap_or((0, 0));
        let nowhere = Fault::NoContents { cylinder, head, record: flag(data, 0x0F) };
        let place = (volume.number(cylinder, head), flag(data, 0x0F));
        volume.contents(place, page, nowhere)?;
        Ok(volume)
    }

    /// Cylinder and head in the four bytes from `at`.
    fn address(&self, bytes: &[u8], at: usize) -> Option<(u32, u32)> {
        let (cc, hh) = (u32::from(be16(bytes, at)?), u32::from(be16(bytes, at + 2)?));
        Some(if self.image.heads <= 15 { (cc | (hh >> 4) << 16, hh & 15) } else { (cc, hh) })
    }

    fn number(&self, cylinder: u32, head: u32) -> u32 {
        cylinder.saturating_mul(self.image.heads).saturating_add(head)
    }

    /// An extent of ten bytes: type, sequence, first and last track.
    fn extent(&self, bytes: &[u8], at: usize) -> Option<Extent> {
        if flag(bytes, at) == 0 {
            return None;
        }
        let (from, to) = (self.address(bytes, at + 2)?, self.address(bytes, at + 6)?);
        let (first, last) = (self.number(from.0, from.1), self.number(to.0, to.1));
        Some(Extent { from, to, tracks: last.saturating_sub(first).saturating_add(1) })
    }

    fn contents(&mut self, place: Place, page: CodePage, nowhere: Fault) -> Result<(), Fault> {
        let first = self.image.track(place.0).map_err(|_| nowhere.clone())?;
        let (found, _) = records(&first);
        let own = found.iter().find(|one| one.number == place.1 && one.key_length + one.length == 140);
        let bytes = &first[own.ok_or(nowhere.clone())?.key..];
        let extent =
            (flag(bytes, 0x2C) == 0xF4).then(|| self.extent(bytes, 0x69)).flatten().ok_or(nowhere)?;
        let from = self.number(extent.from.0, extent.from.1);
        // Every label of the table: its place and its 140 bytes. A table is as long as the volume at most.
        let (mut heads, mut labels) = (Vec::new(), std::collections::HashMap::new());
        let (mut next, end) = (from, from.saturating_add(extent.tracks));
        while next < end {
            // A track that is not stored has no labels.
            let stored = self.image.next_stored(next);
            if stored.as_ref().is_ok_and(|number| *number >= end) {
                break;
            }
            let (number, track) = match stored.and_then(|number| Ok((number, self.image.track(number)?))) {
                Ok(stored) => stored,
                Err(fault) => {
                    self.faults.push(fault.into());
                    break;
                }
            };
            next = number.saturating_add(1);
            let (found, fault) = records(&track);
            self.faults.extend(fault.map(|fault| Fault::Track { track: number, fault }));
            for record in found.iter().filter(|one| one.key_length == 44 && one.length == 96) {
                let label = track[record.key..][..140].to_vec();
                match label[0x2C] {
                    0xF1 | 0xF8 if heads.len() < DATA_SETS_MOST => heads.push(label),
                    0xF3 if labels.len() < DATA_SETS_MOST => {
                        labels.insert((number, record.number), label);
                    }
                    _ => {}
                }
            }
            if self.faults.len() > FAULTS_MOST {
                break;
            }
        }
        for label in heads {
            let set = self.data_set(&label, &labels, page);
            self.data_sets.push(set);
        }
        self.data_sets.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(())
    }

    fn data_set(
        &mut self,
        label: &[u8],
        further: &std::collections::HashMap<Place, Vec<u8>>,
        page: CodePage,
    ) -> DataSet {
        let name = page.field(&label[..44]);
        let half = |at| be16(label, at).unwrap_or(0);
        let mut extents: Vec<Extent> =
            [0x69, 0x73, 0x7D].into_iter().map_while(|at| self.extent(label, at)).collect();
        let (mut pointer, mut seen) = (label[0x87..0x8C].to_vec(), HashSet::new());
        while pointer != [0; 5] {
            let place =
                self.address(&pointer, 0).map(|(cylinder, head)| (self.number(cylinder, head), pointer[4]));
            let next = place
                .filter(|place| seen.len() < CHAIN_MOST && seen.insert(*place))
                .and_then(|place| further.get(&place));
            let Some(next) = next else {
                self.faults.push(Fault::Chain { name: name.clone() });
                break;
            };
            let places = (0..4).map(|index| 4 + 10 * index).chain((0..9).map(|index| 0x2D + 10 * index));
            extents.extend(places.map_while(|at| self.extent(next, at)));
            pointer = next[0x87..0x8C].to_vec();
        }
        DataSet {
            name,
            organisation: half(0x52),
            extended: label[0x4E] & 0x08 != 0,
            record_format: RecordFormat(label[0x54]),
            record_length: half(0x58).into(),
            block_size: half(0x56).into(),
            last: Ttr(be24(label, 0x62).unwrap_or(0)),
            extents,
        }
    }

    /// The volume as the source of blocks.
    #[must_use]
    pub fn source(&self) -> Shared {
        self.image.clone()
    }

    /// Its image.
    #[must_use]
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Every record of a data set in order: number of its track on the volume, its place in the data set, the record.
    fn walk(
        &self,
        set: &DataSet,
        mut see: impl FnMut(u32, Ttr, &track::Record, &[u8]) -> bool,
    ) -> Vec<Fault> {
        let (mut faults, mut relative, mut stored) = (Vec::new(), 0_u32, true);
        for (number, extent) in set.extents.iter().enumerate() {
            let from = self.number(extent.from.0, extent.from.1);
            let to = u64::from(from) + u64::from(extent.tracks);
            if to > u64::from(self.image.tracks) || self.number(extent.to.0, extent.to.1) < from {
                let (name, tracks) = (set.name.clone(), self.image.tracks);
                let to = self.number(extent.to.0, extent.to.1).into();
                faults.push(Fault::Extent { name, number, from: from.into(), to, tracks });
                break;
            }
            for track in from..to as u32 {
                // An unclosed label shows nothing in use: then everything is read.
                if set.last != Ttr(0) && relative > set.last.track() {
                    return faults;
                }
                if set.is_partitioned() && relative >= TRACKS_MOST {
                    let name = set.name.clone();
                    faults.push(Fault::Large { name });
                    return faults;
                }
                let null = self.image.null_format(track);
                if let Ok(Some(format)) = null {
                    // A track with only an end is not stored either. Only the first of several can end something.
                    let end = track::Record { number: 1, key: 0, key_length: 0, length: 0 };
                    if stored && format == 0 {
                        see(track, Ttr::at(relative, 1), &end, &[]);
                    }
                    if !set.is_partitioned() {
                        return faults;
                    }
                    (stored, relative) = (false, relative + 1);
                    continue;
                }
                stored = true;
                match null.and_then(|_| self.image.track(track)) {
                    Ok(bytes) => {
                        let (found, fault) = records(&bytes);
                        faults.extend(fault.map(|fault| Fault::Track { track, fault }));
                        for record in &found {
                            if !see(track, Ttr::at(relative, record.number), record, &bytes) {
                                return faults;
                            }
                        }
                    }
                    Err(fault) => faults.push(fault.into()),
                }
                if faults.len() > FAULTS_MOST {
                    return faults;
                }
                relative += 1;
            }
        }
        faults
    }

    /// A partitioned data set as a library.
    ///
    /// # Errors
    /// If it is a PDSE; the faults of the rest are the second value.
    pub fn library(&self, set: &DataSet, page: CodePage) -> Result<(Library, Vec<Fault>), Fault> {
        if set.extended {
            return Err(Fault::Extended { name: set.name.clone() });
        }
        let (mut builder, mut directory) = (Builder::default(), true);
        let faults = self.walk(set, |track, ttr, record, bytes| {
            let at = u64::from(track) * TRACK_SPACE + record.data() as u64;
            if directory {
                if record.key_length == 8 && record.length == BLOCK {
                    // Blocks after the last used one are empty: they are not counted.
                    if !builder.directory_ended() {
                        builder.directory(at, &bytes[record.data()..][..BLOCK]);
                    }
                    return true;
                }
                directory = false;
                if record.length == 0 {
                    return true;
                }
            }
            match record.length {
                0 => builder.end(ttr),
                // At most 65,535: a length on a track has two bytes.
                length => builder.block(Block { at, length: length as u32, ttr }),
            }
            true
        });
        let label = Label {
            name: Some(set.name.clone()),
            organisation: Organisation::Pds,
            programs: set.record_format.undefined(),
            record_format: set.record_format,
            record_length: set.record_length,
            block_size: set.block_size,
            device: Device { heads: self.image.heads, track_length: capacity(self.image.device) },
            extents: set.extents.clone(),
            header_length: None,
        };
        Ok((builder.finish(label, self.source(), page), faults))
    }

    /// The blocks of a sequential data set, up to its end.
    #[must_use]
    pub fn sequential(&self, set: &DataSet) -> (Records, Vec<Fault>) {
        let mut stretches = Vec::new();
        let faults = self.walk(set, |track, _, record, _| {
            let at = u64::from(track) * TRACK_SPACE + record.data() as u64;
            if record.length > 0 {
                stretches.push(Stretch { at, length: record.length as u32 });
            }
            record.length > 0
        });
        (Records { source: self.source(), stretches: stretches.into() }, faults)
    }
}

/// Devices: the byte in an image's header, the name, bytes of a track; 0 if no public source is known.
const DEVICES: &[(u8, &str, u32)] = &[
    (0x05, "2305", 0),
    (0x11, "2311", 0),
    (0x14, "2314", 7_294),
    (0x30, "3330", 13_165),
    (0x40, "3340", 0),
    (0x45, "9345", 0),
    (0x50, "3350", 19_254),
    (0x75, "3375", 36_000),
    (0x80, "3380", 47_968),
    (0x90, "3390", 58_786),
];

/// Capacity of a track in bytes by the type of the device; 0 if it is not known.
fn capacity(device: u8) -> u32 {
    DEVICES.iter().find(|(byte, ..)| *byte == device).map_or(0, |(.., capacity)| *capacity)
}

/// The name of a device by its type; the type in hexadecimal if it is not known.
#[must_use]
pub fn device_name(device: u8) -> String {
    let known = DEVICES.iter().find(|(byte, ..)| *byte == device);
    known.map_or_else(|| format!("type {device:02X}"), |(_, name, _)| (*name).to_owned())
}
