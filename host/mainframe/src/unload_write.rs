//! Writes the unload of a PDS in the form of IEBCOPY, so that RECEIVE, IEBCOPY and emulators can load it.
//!
//! ```text
//! COPYR1 52 | COPYR2 276 | directory blocks, end | member's blocks.., end | next member's .., end | ...
//! ```
//!
//! Members get places on 3390 tracks in the given order, and pointers to them in load modules' user data are updated. A
//! record ends with each member: a member that is packed after another's end is lost at reload (IEB183I).
//!
//! Invariant: `unload` reads the output back with the same names, user data and blocks.
//! Not here: the transmission around it (`xmit`), unloads of PDSE.

use super::directory::{self, Entry, Name, Ttr};
use super::entry::Details;
use super::library::{Library, Organisation, RecordFormat};
use super::place::{Placer, TRACK_LENGTH, TRACKS_MOST};
use super::source::ReadError;
use std::collections::HashMap;
use underbar_partitioned::track::D3390;

/// A library cannot be written as an unload.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Pages of a PDSE are not blocks of a PDS.
    #[error("the library is a PDSE, whose pages are not blocks of a PDS")]
    Pdse,
    /// A block that no unload, or no track, can hold.
    #[error("block {block} of {name} has {length} bytes; from 1 to 32,760 can be written")]
    Block {
        /// The member.
        name: String,
        /// The number of the block, from 0.
        block: usize,
        /// Its length.
        length: u32,
    },
    /// More tracks than a PDS may have.
    #[error("the library needs {tracks} tracks, a PDS has at most {TRACKS_MOST}")]
    TooLarge {
        /// Tracks needed.
        tracks: u32,
    },
    /// Two entries with one name.
    #[error("the name {name} occurs twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// Overlapping members: written one by one they are many times the library's size.
    #[error("its members overlap: together they are more than twice the {live} bytes of the library")]
    Overlap {
        /// Bytes in the library.
        live: u64,
    },
    /// A block with another length than in the placement.
    #[error("block {block} of {name} has {there} bytes instead of {said}")]
    Changed {
        /// The member.
        name: String,
        /// The number of the block, from 0.
        block: usize,
        /// Bytes read.
        there: usize,
        /// Bytes in the placement.
        said: u32,
    },
    /// The library's bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The unload could not be written.
    #[error(transparent)]
    Write(#[from] std::io::Error),
}

/// A name to write, of a member or an alias.
#[derive(Clone, Debug, Default)]
pub struct Title {
    /// The name.
    pub name: Name,
    /// Its user data.
    pub user_data: Vec<u8>,
    /// TTRs that the user data begins with.
    pub ttrs: u8,
}

/// A member to write: its blocks' lengths; their bytes are requested when they are written.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// Its name.
    pub title: Title,
    /// Other names of it.
    pub aliases: Vec<Title>,
    /// Length of each block.
    pub blocks: Vec<u32>,
    /// For a load module: the block of TTRT.
    pub text: Option<usize>,
    /// For a load module: the block of TTRN.
    pub notes: Option<usize>,
    /// For an overlay module: the places in its note list, each with its old block.
    pub noted: HashMap<Ttr, usize>,
}

/// A library to write.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// RECFM.
    pub record_format: RecordFormat,
    /// LRECL.
    pub record_length: u16,
    /// BLKSIZE.
    pub block_size: u16,
    /// Members in the order of their places.
    pub members: Vec<Member>,
}

impl Outgoing {
    /// A library that was read, its members in the order of their places. The second value has, for each of them, its
    /// blocks in the library: [`write()`] requests them.
    ///
    /// # Errors
    /// `Pdse` if it is one; `Overlap` if its members overlap, as in a sound library they do not.
    pub fn of(library: &Library) -> Result<(Outgoing, Vec<std::ops::Range<usize>>), Fault> {
        if library.label.organisation == Organisation::Pdse {
            return Err(Fault::Pdse);
        }
        let mut places: HashMap<Ttr, usize> = HashMap::new();
        let (mut members, mut ranges) = (Vec::new(), Vec::new());
        let mut sorted: Vec<_> = library.members.iter().collect();
        let live = library.counts().live_bytes;
        let mut bytes = 0_u64;
        // At each place the member comes before its aliases.
        sorted.sort_by_key(|member| (member.range.start, member.alias, member.raw));
        for member in sorted {
            let title =
                Title { name: member.raw, user_data: member.user_data.clone(), ttrs: member.user_ttrs };
            if let Some(at) = places.get(&member.ttr).filter(|_| member.alias) {
                let owner: &mut Member = &mut members[*at];
                owner.aliases.push(title);
                continue;
            }
            bytes = bytes.saturating_add(member.bytes);
            if bytes > live.saturating_mul(2) {
                return Err(Fault::Overlap { live });
            }
            let blocks = library.blocks_of(member);
            let lies = |ttr: Ttr| blocks.iter().position(|block| block.ttr == ttr);
            let mut outgoing = Member {
                title,
                blocks: blocks.iter().map(|block| block.length).collect(),
                ..Member::default()
            };
            if let Details::Program(program) = &member.details {
                (outgoing.text, outgoing.notes) = (lies(program.text), lies(program.notes));
                if program.note_entries > 0 {
                    outgoing.noted = blocks.iter().enumerate().map(|(at, block)| (block.ttr, at)).collect();
                }
            }
            places.entry(member.ttr).or_insert(members.len());
            members.push(outgoing);
            ranges.push(member.range.clone());
        }
        let narrow = |value: u32| u16::try_from(value).unwrap_or(u16::MAX);
        let outgoing = Outgoing {
            record_format: library.label.record_format,
            record_length: narrow(library.label.record_length),
            block_size: narrow(library.label.block_size).max(8),
            members,
        };
        Ok((outgoing, ranges))
    }

    /// LRECL and BLKSIZE of the unload.
    #[must_use]
    pub fn container(&self) -> (u32, u32) {
        let longest = self.members.iter().flat_map(|member| &member.blocks).copied().max().unwrap_or(0);
        let length = (16 + longest.max(self.block_size.into())).max(280);
        (length, (length + 4).min(32_760))
    }
}

/// The places of everything.
pub struct Layout {
    /// The directory, with the final pointers in its entries.
    pub directory: Vec<([u8; 8], Vec<u8>)>,
    /// For each member: places of its blocks, then that of its end.
    pub places: Vec<Vec<Ttr>>,
    /// Tracks in use.
    pub tracks: u32,
    /// The last block.
    pub last: Ttr,
}

/// Gives every block a place.
///
/// # Errors
/// If a block is too long, a name is there twice, or the whole is too large for a PDS.
pub fn place(outgoing: &Outgoing, text: impl Fn(&Name) -> String) -> Result<Layout, Fault> {
    let mut placer = Placer::default();
    // The directory's length does not depend on the pointers in it.
    for _ in directory::write(&entries(outgoing, &[])) {
        placer.put(8, 256);
    }
    placer.put(0, 0);
    let (mut places, mut last) = (Vec::new(), Ttr(0));
    for member in &outgoing.members {
        let mut own = Vec::new();
        for (block, length) in member.blocks.iter().enumerate() {
            if !(1..=32_760).contains(length) || !D3390.fits(0, *length, 0) {
                return Err(Fault::Block { name: text(&member.title.name), block, length: *length });
            }
            own.push(placer.put(0, *length));
        }
        last = placer.put(0, 0);
        own.push(last);
        places.push(own);
    }
    if placer.tracks() > TRACKS_MOST {
        return Err(Fault::TooLarge { tracks: placer.tracks() });
    }
    let entries = entries(outgoing, &places);
    let mut names: Vec<Name> = entries.iter().map(|entry| entry.name).collect();
    names.sort();
    if let Some(twice) = names.windows(2).find(|two| two[0] == two[1]) {
        return Err(Fault::Twice { name: text(&twice[0]) });
    }
    Ok(Layout { directory: directory::write(&entries), places, tracks: placer.tracks(), last })
}

/// Directory entries with pointers to these places; zero while there are none.
fn entries(outgoing: &Outgoing, places: &[Vec<Ttr>]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (index, member) in outgoing.members.iter().enumerate() {
        let own = places.get(index).map_or(&[][..], Vec::as_slice);
        let titles = member.aliases.iter().map(|title| (title, true));
        for (title, alias) in [(&member.title, false)].into_iter().chain(titles) {
            let mut user_data = title.user_data.clone();
            for (at, block) in [(0, member.text), (4, member.notes)] {
                if let (Some(ttr), Some(field)) =
                    (block.and_then(|block| own.get(block)), user_data.get_mut(at..at + 3))
                {
                    field.copy_from_slice(&ttr.0.to_be_bytes()[1..]);
                }
            }
            let ttr = own.first().copied().unwrap_or_default();
            entries.push(Entry { name: title.name, ttr, alias, ttrs: title.ttrs, user_data });
        }
    }
    entries
}

/// Tracks of a cylinder.
const HEADS: u32 = D3390.heads as u32;

/// The stated place of the library: the first track of cylinder 1.
const FIRST_CYLINDER: u32 = 1;

/// Writes the logical records, each by a call of `sink`; `read` returns the bytes of a member's block, by its numbers.
///
/// # Errors
/// Errors of `place`, `read` and `sink`; `Changed` if a block has another length than in the placement.
pub fn write(
    outgoing: &Outgoing,
    text: impl Fn(&Name) -> String,
    mut read: impl FnMut(usize, usize) -> Result<Vec<u8>, ReadError>,
    mut sink: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> Result<(), Fault> {
    let layout = place(outgoing, &text)?;
    sink(&copyr1(outgoing, &layout))?;
    sink(&copyr2(&layout))?;
    let most = outgoing.container().0 as usize - 4;
    let mut record = Vec::new();
    for (key, block) in &layout.directory {
        if record.len() + 276 > most {
            sink(&record)?;
            record.clear();
        }
        record.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1, 0]);
        record.extend(key);
        record.extend(block);
    }
    if record.len() + 12 > most {
        sink(&record)?;
        record.clear();
    }
    record.extend([0; 12]);
    sink(&record)?;
    for (index, (member, places)) in outgoing.members.iter().zip(&layout.places).enumerate() {
        record.clear();
        for (block, length) in member.blocks.iter().enumerate() {
            let mut bytes = read(index, block)?;
            if bytes.len() != *length as usize {
                let (name, there) = (text(&member.title.name), bytes.len());
                return Err(Fault::Changed { name, block, there, said: *length });
            }
            if member.notes == Some(block) {
                renote(&mut bytes, member, places);
            }
            if record.len() + 12 + bytes.len() > most && !record.is_empty() {
                sink(&record)?;
                record.clear();
            }
            group(&mut record, places[block], &bytes);
        }
        // A member's places are one more than its blocks: the last is that of its end.
        group(&mut record, places[member.blocks.len()], &[]);
        sink(&record)?;
    }
    Ok(())
}

/// Puts the new places into the note list of an overlay module: entries of TTR and a zero.
fn renote(bytes: &mut [u8], member: &Member, places: &[Ttr]) {
    for entry in bytes.chunks_exact_mut(4) {
        let old = Ttr(u32::from_be_bytes([0, entry[0], entry[1], entry[2]]));
        if let Some(new) = member.noted.get(&old).and_then(|block| places.get(*block)) {
            entry[..3].copy_from_slice(&new.0.to_be_bytes()[1..]);
        }
    }
}

/// Header and data of one block; without data the end of a member.
fn group(record: &mut Vec<u8>, place: Ttr, bytes: &[u8]) {
    let track = FIRST_CYLINDER * HEADS + place.track();
    record.extend([0; 4]);
    // At most 65,535 tracks after the first cylinder: a cylinder has 16 bits.
    record.extend(((track / HEADS) as u16).to_be_bytes());
    record.extend(((track % HEADS) as u16).to_be_bytes());
    record.extend([place.record(), 0]);
    // At most 32,760, as `place` has checked.
    record.extend((bytes.len() as u16).to_be_bytes());
    record.extend(bytes);
}

fn copyr1(outgoing: &Outgoing, layout: &Layout) -> Vec<u8> {
    let mut bytes = vec![0, 0xCA, 0x6D, 0x0F, 0x02, 0x00];
    bytes.extend(outgoing.block_size.to_be_bytes());
    bytes.extend(outgoing.record_length.to_be_bytes());
    bytes.extend([outgoing.record_format.0, 0, 0, 0]);
    // At most 32,760.
    bytes.extend((outgoing.container().1 as u16).to_be_bytes());
    // A 3390: UCB type, largest block, cylinders of a 3390-1, heads, track.
    bytes.extend([0x30, 0x30, 0x20, 0x0F, 0, 0, 0x7F, 0xF8, 0x04, 0x59, 0, HEADS as u8]);
    bytes.extend((TRACK_LENGTH as u16).to_be_bytes());
    bytes.extend([0, 0, 0, 1]);
    bytes.resize(49, 0);
    bytes.extend(&layout.last.0.to_be_bytes()[1..]);
    bytes
}

fn copyr2(layout: &Layout) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 0xFF, 0, 0, 0, 0x8F, 0, 0, 0, 0x04, 0, 0, 0];
    let last = FIRST_CYLINDER * HEADS + layout.tracks - 1;
    bytes.extend([0x58, 0, 0, 0, 0, 0]);
    for half in [FIRST_CYLINDER, 0, last / HEADS, last % HEADS, layout.tracks] {
        // At most 65,535 tracks.
        bytes.extend((half as u16).to_be_bytes());
    }
    bytes.resize(276, 0);
    bytes
}
