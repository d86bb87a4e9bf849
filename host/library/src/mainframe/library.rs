//! A library, whatever carried it: members, and where their blocks lie.
//!
//! ```text
//! directory:  name ── TTR ──┐                 several names may lead to one place
//! blocks:     [..][..][..] end [..][..] end   in the order of the data set; a member runs from its TTR to the next end
//! ```
//!
//! Invariant: a member's blocks are `blocks[range]`, all of them within the source; names that lead nowhere have an empty
//! range and a fault that names them. No block is read before somebody asks for it.
//! Not here: how a carrier is laid out (`unload`, `disk`).

use super::directory::{self, Name, Ttr};
use super::ebcdic::CodePage;
use super::entry::{self, Details};
use super::source::{ReadError, Records, Shared, Stretch, take};
use serde::{Serialize, Serializer};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

/// How a library is organised.
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

    /// Whether all records are as long (F).
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

/// One extent, on the device that the library lay on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// First cylinder and head.
    pub from: (u32, u32),
    /// Last cylinder and head.
    pub to: (u32, u32),
    /// Tracks.
    pub tracks: u32,
}

/// The device that a library lay on, as its carrier says.
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
    /// Where its data lies in the library's source.
    pub at: u64,
    /// Bytes of data.
    pub length: u32,
    /// Its place; of a PDSE the member's token, which all its pages share.
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
    /// Whether the directory says that it is an alias.
    pub alias: bool,
    /// Of an alias: the member it belongs to, by its data, or else by its place.
    pub alias_of: Option<String>,
    /// Where it begins.
    pub ttr: Ttr,
    /// What its user data says.
    pub details: Details,
    /// User data as stored, and how many TTRs it begins with.
    #[serde(skip)]
    pub user_data: Vec<u8>,
    /// Number of TTRs in the user data.
    #[serde(skip)]
    pub user_ttrs: u8,
    /// Its blocks among the library's.
    #[serde(skip)]
    pub range: Range<usize>,
    /// How many blocks.
    pub blocks: usize,
    /// Bytes in them.
    pub bytes: u64,
}

/// What is wrong with a library; the guilty is the library itself, and the offset one of its carrier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A directory block that does not hold what it says.
    #[error("directory block {number} at {at}: {fault}")]
    Directory {
        /// Which, from 1.
        number: u32,
        /// Where its data lies.
        at: u64,
        /// What is wrong.
        fault: directory::Fault,
    },
    /// The directory does not end with the highest name.
    #[error("the directory does not end")]
    Unended,
    /// Names that do not ascend: the search by key would not find them.
    #[error("{name} stands behind {before} in the directory")]
    Order {
        /// The name that is too low.
        name: String,
        /// The name before it.
        before: String,
    },
    /// A TTR at which no block lies.
    #[error("{name} is said to begin at {ttr}, where nothing begins")]
    Nowhere {
        /// The member.
        name: String,
        /// Where it points.
        ttr: Ttr,
    },
    /// A member whose blocks are not followed by an end: the data was cut.
    #[error("{name} has no end")]
    Endless {
        /// The member.
        name: String,
    },
    /// An alias of a name that the directory does not have.
    #[error("{name} is an alias of {of}, which is not there")]
    Orphan {
        /// The alias.
        name: String,
        /// What it names.
        of: String,
    },
    /// More names than any library can have.
    #[error("more than {most} names")]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// Sections of user data that flags promise and the length denies.
    #[error("the user data of {name} lacks {}", sections.join(", "))]
    UserData {
        /// The member.
        name: String,
        /// Which.
        sections: Vec<&'static str>,
    },
}

/// Names that a library may have: a PDSE has at most 522,236, and a PDS cannot have more than fit on 65,535 tracks.
pub const MEMBERS_MOST: usize = 1_000_000;
/// Faults that are kept of one library.
const FAULTS_MOST: usize = 100;

/// A library, as far as it could be read.
#[derive(Clone, Serialize)]
pub struct Library {
    /// Name of the data set, where the carrier tells it.
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
    /// Where it lay.
    pub device: Device,
    /// Extents there.
    pub extents: Vec<Extent>,
    /// Bytes of COPYR1, 52 or 56, where it came in an unload.
    pub header_length: Option<u32>,
    /// Blocks of its directory that are in use.
    pub directory_blocks: u32,
    /// Every name, in the directory's order.
    pub members: Vec<Member>,
    /// Blocks of all members in the order of the data set, those that no name leads to too.
    #[serde(skip)]
    pub blocks: Vec<Block>,
    /// Records that the carrier has beside members' blocks: attributes of a PDSE's members.
    #[serde(skip)]
    pub attributes: Vec<Block>,
    /// Where members end: places of the records that say so.
    #[serde(skip)]
    pub ends: Vec<Ttr>,
    /// What is wrong.
    #[serde(skip)]
    pub faults: Vec<Fault>,
    #[serde(skip)]
    source: Shared,
}

impl fmt::Debug for Library {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts();
        write!(to, "{:?} {:?}: {counts:?}, {:?}", self.organisation, self.name, self.faults)
    }
}

/// Sums over a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Names.
    pub entries: usize,
    /// Those that are no aliases.
    pub primaries: usize,
    /// Those that are.
    pub aliases: usize,
    /// Blocks with data that the carrier brought, attribute records too.
    pub data_blocks: usize,
    /// Bytes in blocks that a name leads to, each block once.
    pub live_bytes: u64,
    /// Tracks on which such blocks lie.
    pub tracks: usize,
    /// The last of them.
    pub last_track: u32,
}

impl Library {
    /// Sums.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let aliases = self.members.iter().filter(|member| member.alias).count();
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

    /// The ranges of blocks that names lead to, joined where they overlap, ascending.
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

    /// A member's blocks: where they lie and how long they are.
    #[must_use]
    pub fn blocks_of(&self, member: &Member) -> &[Block] {
        self.blocks.get(member.range.clone()).unwrap_or(&[])
    }

    /// The data of one block.
    ///
    /// # Errors
    /// Where it cannot be read, or what it is stored in does not inflate.
    pub fn read(&self, block: &Block) -> Result<Vec<u8>, ReadError> {
        take(&*self.source, block.at, u64::from(block.length))
    }

    /// The first bytes of a block, at most so many.
    ///
    /// # Errors
    /// As `read`.
    pub fn head(&self, block: &Block, most: u64) -> Result<Vec<u8>, ReadError> {
        take(&*self.source, block.at, u64::from(block.length).min(most))
    }

    /// A member's blocks one after the other, each read when it is asked for.
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
        Records { source: self.source.clone(), stretches }
    }
}

/// What a carrier says of the whole library.
pub(crate) struct Label {
    pub name: Option<String>,
    pub organisation: Organisation,
    pub programs: bool,
    pub record_format: RecordFormat,
    pub record_length: u32,
    pub block_size: u32,
    pub device: Device,
    pub extents: Vec<Extent>,
    pub header_length: Option<u32>,
}

/// Collects what a carrier brings, in its order, and makes the library of it.
#[derive(Default)]
pub(crate) struct Builder {
    directory_blocks: u32,
    directory_ended: bool,
    entries: Vec<directory::Entry>,
    blocks: Vec<Block>,
    attributes: Vec<Block>,
    /// The first block or end at each place.
    starts: HashMap<Ttr, Start>,
    ends: Vec<Ttr>,
    /// Numbers of blocks before each end, ascending.
    ended: Vec<usize>,
    faults: Vec<Fault>,
}

#[derive(Clone, Copy)]
enum Start {
    Block(usize),
    End(usize),
}

impl Builder {
    /// The data of a directory block, which lies at this offset. Those behind the last one are counted, not read.
    pub fn directory(&mut self, at: u64, bytes: &[u8]) {
        self.directory_blocks += 1;
        if self.directory_ended {
            return;
        }
        let block = directory::read(bytes);
        self.directory_ended = block.last;
        if let Some(fault) = block.fault {
            self.fault(Fault::Directory { number: self.directory_blocks, at, fault });
        }
        if self.entries.len() + block.entries.len() > MEMBERS_MOST {
            self.directory_ended = true;
            self.fault(Fault::TooMany { most: MEMBERS_MOST });
        } else {
            self.entries.extend(block.entries);
        }
    }

    /// Whether the highest name was seen.
    pub fn directory_ended(&self) -> bool {
        self.directory_ended
    }

    pub fn block(&mut self, block: Block) {
        self.starts.entry(block.ttr).or_insert(Start::Block(self.blocks.len()));
        self.blocks.push(block);
    }

    pub fn attribute(&mut self, block: Block) {
        self.attributes.push(block);
    }

    pub fn end(&mut self, ttr: Ttr) {
        self.starts.entry(ttr).or_insert(Start::End(self.blocks.len()));
        self.ends.push(ttr);
        self.ended.push(self.blocks.len());
    }

    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MOST {
            self.faults.push(fault);
        }
    }

    pub fn finish(mut self, label: Label, source: Shared, page: CodePage) -> Library {
        if !self.directory_ended {
            self.fault(Fault::Unended);
        }
        let entries = std::mem::take(&mut self.entries);
        for pair in entries.windows(2) {
            if pair[1].name <= pair[0].name {
                self.fault(Fault::Order { name: pair[1].name.text(page), before: pair[0].name.text(page) });
            }
        }
        // Bytes before each block: many names may lead to one long member, so no name walks over its blocks.
        let mut before = vec![0_u64];
        before.extend(self.blocks.iter().scan(0, |sum, block| {
            *sum += u64::from(block.length);
            Some(*sum)
        }));
        let mut members: Vec<Member> = Vec::with_capacity(entries.len());
        for entry in entries {
            members.push(self.member(entry, &label, &before, page));
        }
        self.relate(&mut members);
        Library {
            name: label.name,
            organisation: label.organisation,
            programs: label.programs,
            record_format: label.record_format,
            record_length: label.record_length,
            block_size: label.block_size,
            device: label.device,
            extents: label.extents,
            header_length: label.header_length,
            directory_blocks: self.directory_blocks,
            members,
            blocks: self.blocks,
            attributes: self.attributes,
            ends: self.ends,
            faults: self.faults,
            source,
        }
    }

    fn member(&mut self, entry: directory::Entry, label: &Label, before: &[u64], page: CodePage) -> Member {
        let name = entry.name.text(page);
        let range = match self.starts.get(&entry.ttr) {
            Some(Start::Block(start)) => {
                let start = *start;
                let after = self.ended.partition_point(|end| *end <= start);
                let end = self.ended.get(after).copied().unwrap_or_else(|| {
                    self.fault(Fault::Endless { name: name.clone() });
                    self.blocks.len()
                });
                start..end
            }
            Some(Start::End(at)) => *at..*at,
            None => {
                self.fault(Fault::Nowhere { name: name.clone(), ttr: entry.ttr });
                0..0
            }
        };
        let details = entry::read(&entry.user_data, entry.alias, label.record_format.undefined(), page);
        if let Details::Program(program) = &details
            && !program.missing.is_empty()
        {
            self.fault(Fault::UserData { name: name.clone(), sections: program.missing.clone() });
        }
        Member {
            name,
            raw: entry.name,
            alias: entry.alias,
            alias_of: None,
            ttr: entry.ttr,
            details,
            blocks: range.len(),
            bytes: before[range.end] - before[range.start],
            range,
            user_data: entry.user_data,
            user_ttrs: entry.ttrs,
        }
    }

    /// Finds the member of each alias: by its data where it is there, else by the place that both share.
    fn relate(&mut self, members: &mut [Member]) {
        let mut at_place: HashMap<Ttr, usize> = HashMap::new();
        let mut names: HashSet<&str> = HashSet::new();
        for (index, member) in members.iter().enumerate().filter(|(_, member)| !member.alias) {
            at_place.entry(member.ttr).or_insert(index);
            names.insert(&member.name);
        }
        let of = |member: &Member| -> Option<String> {
            let by_data = match &member.details {
                Details::Program(program) => program.alias.as_ref().map(|alias| alias.member.clone()),
                _ => None,
            };
            by_data.or_else(|| at_place.get(&member.ttr).map(|index| members[*index].name.clone()))
        };
        let found: Vec<Option<String>> =
            members.iter().map(|member| if member.alias { of(member) } else { None }).collect();
        let mut orphans = Vec::new();
        for (member, of) in members.iter().zip(&found).filter(|(member, _)| member.alias) {
            let there = of.as_deref().is_some_and(|of| names.contains(of));
            if !there {
                let of = of.clone().unwrap_or_else(|| "a member at another place".to_owned());
                orphans.push(Fault::Orphan { name: member.name.clone(), of });
            }
        }
        orphans.into_iter().for_each(|fault| self.fault(fault));
        for (member, of) in members.iter_mut().zip(found) {
            member.alias_of = of;
        }
    }
}
