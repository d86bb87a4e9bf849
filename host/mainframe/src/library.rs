//! A library of any carrier: members, and the places of their blocks.
//!
//! ```text
//! directory:  name ── TTR ──┐                 several names may point to one place
//! blocks:     [..][..][..] end [..][..] end   in the order of the data set; a member runs from its TTR to the next end
//! ```
//!
//! Invariant: a member's blocks are `blocks[range]`, all of them within the source; names that point to no block have an empty
//! range and a fault that names them. A block is read only on request.
//! Not here: assembly from the parts of a carrier (`assemble`), the layout of a carrier (`unload`, `volume`).

use super::directory::{self, Name, Ttr};
use super::entry::Details;
use super::source::{ReadError, Records, Shared, Stretch, take};
use serde::{Serialize, Serializer};
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// The organisation of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Organisation {
    /// Partitioned: directory blocks and member blocks on tracks.
    Pds,
    /// Partitioned extended: pages.
    Pdse,
}

/// RECFM of a label: U, F, V with B, S, A, M.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordFormat(pub u8);

impl RecordFormat {
    /// Whether records have no length of their own (U): programs.
    #[must_use]
    pub fn undefined(self) -> bool {
        self.0 & 0xC0 == 0xC0
    }

    /// Whether all records have the same length (F).
    #[must_use]
    pub fn fixed(self) -> bool {
        self.0 & 0xC0 == 0x80
    }

    /// Whether records carry their length (V).
    #[must_use]
    pub fn variable(self) -> bool {
        self.0 & 0xC0 == 0x40
    }
}

impl fmt::Display for RecordFormat {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = ["?", "V", "F", "U"][usize::from(self.0 >> 6)];
        to.write_str(kind)?;
        for (mask, letter) in [(0x10, "B"), (0x08, "S"), (0x04, "A"), (0x02, "M")] {
            if self.0 & mask != 0 {
                to.write_str(letter)?;
            }
        }
        Ok(())
    }
}

impl Serialize for RecordFormat {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// One extent, on the library's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// First cylinder and head.
    pub from: (u32, u32),
    /// Last cylinder and head.
    pub to: (u32, u32),
    /// Tracks.
    pub tracks: u32,
}

/// The library's device, according to its carrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Tracks in a cylinder.
    pub heads: u32,
    /// Capacity of a track in bytes: 58,786 is a 3390.
    pub track_length: u32,
}

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The place of its data in the library's source.
    pub at: u64,
    /// Bytes of data.
    pub length: u32,
    /// Its place; in a PDSE the member's token, which all its pages share.
    pub ttr: Ttr,
}

/// One name in the directory.
#[derive(Clone, Debug, Serialize)]
pub struct Member {
    /// Name, by the code page of the options.
    pub name: String,
    /// The name as stored.
    #[serde(skip)]
    pub raw: Name,
    /// Whether the directory marks it as an alias.
    pub alias: bool,
    /// For an alias: the member whose blocks it shares. None for the first alias of blocks without a member: a directory
    /// that lost the member still finds its program by that name, so the name counts as the member.
    pub alias_of: Option<String>,
    /// Its start.
    pub ttr: Ttr,
    /// The content of its user data.
    pub details: Details,
    /// User data as stored, and the number of TTRs at its beginning.
    #[serde(skip)]
    pub user_data: Vec<u8>,
    /// Number of TTRs in the user data.
    #[serde(skip)]
    pub user_ttrs: u8,
    /// The range of its blocks in the library.
    #[serde(skip)]
    pub range: Range<usize>,
    /// The number of blocks.
    pub blocks: usize,
    /// Bytes in them.
    pub bytes: u64,
    /// The fault of its blocks: no start, or no end. Then the member is incomplete.
    #[serde(skip)]
    pub damage: Option<Fault>,
}

/// Faults of a library; offsets are those of its carrier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A fault in a directory block.
    #[error("directory block {number} at {at}: {fault}")]
    Directory {
        /// Its number, from 1.
        number: u32,
        /// The place of its data.
        at: u64,
        /// The fault.
        fault: directory::Fault,
    },
    /// The directory does not end with the highest name.
    #[error("the directory does not end")]
    Unended,
    /// Names that do not ascend: the search by key would not find them.
    #[error("{name} comes after {before} in the directory")]
    Order {
        /// The name that is too low.
        name: String,
        /// The name before it.
        before: String,
    },
    /// A TTR without a block.
    #[error("{name} points to {ttr}, where nothing begins")]
    Nowhere {
        /// The member.
        name: String,
        /// The place it points to.
        ttr: Ttr,
    },
    /// A member whose blocks are not followed by an end: the data was cut.
    #[error("{name} has no end")]
    Endless {
        /// The member.
        name: String,
    },
    /// An alias of a name that is not in the directory, or has other blocks.
    #[error("{name} is an alias, and {of} is not in the library: its blocks are listed as member {first}")]
    Orphan {
        /// The alias.
        name: String,
        /// The name it refers to.
        of: String,
        /// The first alias of its blocks.
        first: String,
    },
    /// More names than any library can have.
    #[error("more than {most} names")]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// Sections of user data whose flags are set, but which do not fit the length.
    #[error("the user data of {name} lacks {}", sections.join(", "))]
    UserData {
        /// The member.
        name: String,
        /// The sections.
        sections: Vec<&'static str>,
    },
}

/// Names that a library may have: a PDSE has at most 522,236, and a PDS cannot have more than fit on 65,535 tracks.
pub const MEMBERS_MOST: usize = 1_000_000;

/// The carrier's data about a library as a whole.
#[derive(Clone, Debug, Serialize)]
pub struct Label {
    /// Name of the data set, if the carrier has it.
    pub name: Option<String>,
    /// Its organisation.
    pub organisation: Organisation,
    /// Whether it holds programs.
    pub programs: bool,
    /// RECFM.
    pub record_format: RecordFormat,
    /// LRECL.
    pub record_length: u32,
    /// BLKSIZE of its label.
    pub block_size: u32,
    /// Its device.
    pub device: Device,
    /// Extents there.
    pub extents: Vec<Extent>,
    /// Bytes of COPYR1, 52 or 56, if it came in an unload.
    pub header_length: Option<u32>,
}

/// A library, as far as it could be read.
#[derive(Clone, Serialize)]
pub struct Library {
    /// The carrier's data about it.
    #[serde(flatten)]
    pub label: Label,
    /// Blocks of its directory that are in use.
    pub directory_blocks: u32,
    /// Every name, in the directory's order.
    pub members: Vec<Member>,
    /// Blocks of all members in the order of the data set, also those without a name.
    #[serde(skip)]
    pub blocks: Vec<Block>,
    /// Records in the carrier besides members' blocks: attributes of a PDSE's members.
    #[serde(skip)]
    pub attributes: Vec<Block>,
    /// The ends of members: places of the records that mark them.
    #[serde(skip)]
    pub ends: Vec<Ttr>,
    /// Its faults.
    #[serde(skip)]
    pub faults: Vec<Fault>,
    /// The source of the blocks.
    #[serde(skip)]
    pub(super) source: Shared,
}

impl fmt::Debug for Library {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts();
        write!(to, "{:?} {:?}: {counts:?}, {:?}", self.label.organisation, self.label.name, self.faults)
    }
}

/// Sums over a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Names.
    pub entries: usize,
    /// Members.
    pub primaries: usize,
    /// Aliases.
    pub aliases: usize,
    /// Blocks with data from the carrier, also attribute records.
    pub data_blocks: usize,
    /// Bytes in blocks with a name, each block once.
    pub live_bytes: u64,
    /// Tracks with such blocks.
    pub tracks: usize,
    /// The last of them.
    pub last_track: u32,
}

impl Library {
    /// Sums.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let aliases = self.members.iter().filter(|member| member.alias_of.is_some()).count();
        let (mut live_bytes, mut tracks) = (0, HashSet::new());
        for range in self.live() {
            for block in &self.blocks[range] {
                live_bytes += u64::from(block.length);
                tracks.insert(block.ttr.track());
            }
        }
        Counts {
            entries: self.members.len(),
            primaries: self.members.len() - aliases,
            aliases,
            data_blocks: self.blocks.len() + self.attributes.len(),
            live_bytes,
            tracks: tracks.len(),
            last_track: tracks.into_iter().max().unwrap_or(0),
        }
    }

    /// The ranges of blocks with names, joined where they overlap, ascending.
    fn live(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = self.members.iter().map(|member| member.range.clone()).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
    }

    /// The member of this name, as the directory search would find it.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// A member's blocks: their places and lengths.
    #[must_use]
    pub fn blocks_of(&self, member: &Member) -> &[Block] {
        self.blocks.get(member.range.clone()).unwrap_or(&[])
    }

    /// The data of one block.
    ///
    /// # Errors
    /// If it cannot be read, or its storage form does not inflate.
    pub fn read(&self, block: &Block) -> Result<Vec<u8>, ReadError> {
        take(&*self.source, block.at, u64::from(block.length))
    }

    /// The first bytes of a block, at most this many.
    ///
    /// # Errors
    /// As `read`.
    pub fn head(&self, block: &Block, most: u64) -> Result<Vec<u8>, ReadError> {
        take(&*self.source, block.at, u64::from(block.length).min(most))
    }

    /// A member's blocks one after the other, each read on request.
    pub fn read_member<'a>(
        &'a self,
        member: &Member,
    ) -> impl Iterator<Item = Result<Vec<u8>, ReadError>> + use<'a> {
        self.blocks.get(member.range.clone()).unwrap_or(&[]).iter().map(|block| self.read(block))
    }

    /// A member's blocks as records of the library's source, which copies nothing.
    #[must_use]
    pub fn records(&self, member: &Member) -> Records {
        let stretches = self.blocks_of(member).iter();
        let stretches = stretches.map(|block| Stretch { at: block.at, length: block.length }).collect();
        Records { source: self.source.clone(), stretches: Vec::into(stretches) }
    }
}
