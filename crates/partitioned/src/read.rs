//! Reading a library: the one request to the owner of its bytes, and the faults that its bytes can have.
//!
//! Invariant: a fault names the faulty part: the read, the file as a whole, its directory, or one member.

use core::fmt;

/// Bytes at offsets of a library: a file, a mapping, a slice.
///
/// Implementations may be shared between threads. An open library never asks for bytes beyond the length that its header or
/// superblock states.
pub trait ReadAt {
    /// Fills `into` from `offset` on.
    ///
    /// # Errors
    /// [`Unread::End`] if the file has fewer bytes.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), Unread>;
}

/// The reason why bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The file is too short.
    End,
    /// The system refused, with this number of `errno.h`.
    System(i32),
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), Unread> {
        let from = usize::try_from(offset).map_err(|_| Unread::End)?;
        let end = from.checked_add(into.len()).ok_or(Unread::End)?;
        into.copy_from_slice(self.get(from..end).ok_or(Unread::End)?);
        Ok(())
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), Unread> {
        (**self).read_at(offset, into)
    }
}

/// A fault of a library, and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The file is something else.
    NotALibrary,
    /// A library, but of the other organisation.
    OtherOrganisation,
    /// Made by a later version of this program: its number.
    Version(u8),
    /// The file ends before byte `offset` + `length`, although its header covers that byte.
    Cut {
        /// Where reading began.
        offset: u64,
        /// Bytes that were asked for.
        length: u64,
    },
    /// The system could not read here.
    Unreadable {
        /// Where reading began.
        offset: u64,
        /// The number of `errno.h`.
        errno: i32,
    },
    /// The header or both superblocks have wrong sums or contradict themselves.
    DamagedHeader,
    /// A directory block of a PDS, or a tree page of a PDSE, has a wrong sum or belongs elsewhere.
    DamagedDirectory {
        /// Number of the block or page.
        block: u32,
    },
    /// A block or a page of a member has a wrong sum.
    DamagedMember {
        /// Track or page.
        track: u32,
        /// Record on the track; 0 for a page.
        record: u8,
    },
    /// A member's parts contradict each other: its length, its blocks, its pages.
    Contradiction(&'static str),
    /// The caller's buffer is shorter than a block.
    ShortBuffer {
        /// Bytes that the block has.
        needed: u32,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotALibrary => write!(f, "this is no program library"),
            Fault::OtherOrganisation => write!(f, "the library has the other organisation"),
            Fault::Version(version) => {
                write!(f, "the library is of version {version}, made by a later program")
            }
            Fault::Cut { offset, length } => {
                write!(f, "the library is cut: it ends before byte {}", offset.saturating_add(*length))
            }
            Fault::Unreadable { offset, errno } => {
                write!(f, "the system cannot read byte {offset} of the library (errno {errno})")
            }
            Fault::DamagedHeader => write!(f, "the library's header is damaged"),
            Fault::DamagedDirectory { block } => write!(f, "block {block} of the directory is damaged"),
            Fault::DamagedMember { track, record: 0 } => write!(f, "page {track} of the member is damaged"),
            Fault::DamagedMember { track, record } => {
                write!(f, "record {record} on track {track} of the member is damaged")
            }
            Fault::Contradiction(what) => write!(f, "the library contradicts itself: {what}"),
            Fault::ShortBuffer { needed } => write!(f, "a block has {needed} bytes, more than the buffer"),
        }
    }
}

impl core::error::Error for Fault {}

/// Reads, and turns a failure into a fault of the library.
pub(crate) fn fill<R: ReadAt + ?Sized>(read: &R, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
    read.read_at(offset, into).map_err(|error| match error {
        Unread::End => Fault::Cut { offset, length: into.len() as u64 },
        Unread::System(errno) => Fault::Unreadable { offset, errno },
    })
}

/// The first page of a library. A file shorter than that is not a library, unless it begins like one.
pub(crate) fn first_page<R: ReadAt + ?Sized>(read: &R, page: &mut [u8]) -> Result<(), Fault> {
    fill(read, 0, page).map_err(|fault| {
        let mut begins = [0; 7];
        let is_ours = fill(read, 0, &mut begins).is_ok() && (begins == PDS_BEGINS || begins == PDSE_BEGINS);
        if matches!(fault, Fault::Cut { .. }) && !is_ours { Fault::NotALibrary } else { fault }
    })
}

/// The first bytes of a PDS; the version follows.
pub const PDS_BEGINS: [u8; 7] = *b"UNDPDS\r";
/// The first bytes of a PDSE; the version follows.
pub const PDSE_BEGINS: [u8; 7] = *b"UNDPSE\r";
/// The version that is written, and the only one so far.
pub(crate) const VERSION: u8 = 1;
