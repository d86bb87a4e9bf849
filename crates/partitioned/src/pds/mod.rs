//! A PDS: a data set on the tracks of a disk, in a file.
//!
//! ```text
//! byte 0       header page
//!      4096    track 0   57,344 bytes: what a 3390's track holds, and our checksums
//!     61440    track 1   ...
//!
//! tracks:  | directory block ... directory block | end | member | member | (gas) | member | ...
//! member:  | identification | control | text | control | text | ... | end of member |
//!                             \______ on one track _____/
//! ```
//!
//! Blocks and their order are those of a load library. Each text block has a control record in front that gives its length;
//! short blocks fill the tracks ([`crate::binder`]). The directory gives the length of the first text block, so a member of
//! one block is read without a control record. A track begins on a page, and a whole track has 14 pages: both can be read
//! past the page cache.
//!
//! A new PDS is written whole and renamed into place. A reader's open file never changes, and readers need no lock.
//!
//! Invariant: TTRs of a member ascend, its control records name it, and its texts are exactly as long as its entry says;
//! anything else is a [`Fault`].
//! Not here: making one (`underbar-store`).

mod directory;
mod layout;
mod member;

pub use directory::{Alias, DIRECTORY_BLOCK, Entries, Entry, directory_track_blocks, put_entry};
pub use layout::{
    CONTROL, Control, Count, HEADER, Header, Identification, Kind, Record, TRACK_HEADER, TrackHeader,
    put_record, track_offset,
};
pub use member::{Text, Texts};

use crate::attribute::PAGE;
use crate::count::Counts;
use crate::name::Name;
use crate::read::{Fault, ReadAt, fill, first_page};

/// An open PDS.
#[derive(Clone, Debug)]
pub struct Pds<R> {
    read: R,
    header: Header,
}

impl<R: ReadAt> Pds<R> {
    /// Opens the PDS in the bytes.
    ///
    /// # Errors
    /// Bytes that are no PDS, or whose header is damaged. Everything else is checked on use.
    pub fn open(read: R) -> Result<Pds<R>, Fault> {
        let mut page = [0; PAGE];
        first_page(&read, &mut page)?;
        let header = Header::decode(&page)?;
        Ok(Pds { read, header })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The source of its bytes.
    #[must_use]
    pub fn reader(&self) -> &R {
        &self.read
    }

    /// Searches the directory sequentially for a member or alias (BLDL), and counts the blocks searched.
    ///
    /// # Errors
    /// A directory that cannot be read, or is damaged up to the block in which the name belongs.
    pub fn find(&self, name: &Name, counts: &mut Counts) -> Result<Option<Entry>, Fault> {
        directory::find(self, name, counts)
    }

    /// All entries, in the order of their names.
    #[must_use]
    pub fn entries(&self) -> Entries<'_, R> {
        Entries::new(self)
    }

    /// The blocks of text of a member, in order.
    #[must_use]
    pub fn texts(&self, entry: &Entry) -> Texts<'_, R> {
        Texts::new(self, entry)
    }

    /// Reads the next record of a member's text into the front of `into`.
    ///
    /// # Errors
    /// The errors of [`Texts::next_text`]; a buffer that is too short; a damaged block.
    pub fn read_text(&self, text: &Text, into: &mut [u8]) -> Result<(), Fault> {
        let needed = text.length;
        let into = into.get_mut(..needed as usize).ok_or(Fault::ShortBuffer { needed })?;
        fill(&self.read, text.offset, into)?;
        text.check(into)
    }

    /// The member's description of itself, from its first record.
    ///
    /// # Errors
    /// A member that is damaged there, or that does not match the entry.
    pub fn identification(&self, entry: &Entry) -> Result<Identification, Fault> {
        member::identification(self, entry)
    }

    /// Reads the record at an offset of a track's image, with its key and data, and checks its sum. None at the end of the
    /// track. For callers that read whole tracks: verify, compress, COPYMOD.
    ///
    /// # Errors
    /// A record that is damaged, or longer than the buffer.
    pub fn record(&self, track: u32, at: usize, into: &mut [u8]) -> Result<Option<Record>, Fault> {
        member::record(self, track, at, into)
    }
}
