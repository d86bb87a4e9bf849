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
//! Blocks and their order are those of a load library: each text block has a control record in front, which says how long
//! it is; short blocks fill the tracks ([`crate::binder`]). The directory tells the first text block's length, so that a
//! member of one block is read without a control record. A track begins on a page, and a whole one is 14 pages: either can
//! be read past the page cache.
//!
//! A PDS is made whole and renamed into place; so a reader's open file never changes, and readers need no lock.
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
    /// Opens what the bytes hold.
    ///
    /// # Errors
    /// Bytes that are no PDS, or whose header is damaged. The rest is looked at when it is asked for.
    pub fn open(read: R) -> Result<Pds<R>, Fault> {
        let mut page = [0; PAGE];
        first_page(&read, &mut page)?;
        let header = Header::decode(&page)?;
        Ok(Pds { read, header })
    }

    /// What the header says.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the bytes are read.
    #[must_use]
    pub fn reader(&self) -> &R {
        &self.read
    }

    /// Searches the directory in sequence for a member or alias (BLDL), and counts what was searched.
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

    /// The blocks of text of a member, first to last.
    #[must_use]
    pub fn texts(&self, entry: &Entry) -> Texts<'_, R> {
        Texts::new(self, entry)
    }

    /// Reads the next record of a member's text into the front of `into`.
    ///
    /// # Errors
    /// What [`Texts::next_text`] says; a short buffer; a block that is damaged.
    pub fn read_text(&self, text: &Text, into: &mut [u8]) -> Result<(), Fault> {
        let needed = text.length;
        let into = into.get_mut(..needed as usize).ok_or(Fault::ShortBuffer { needed })?;
        fill(&self.read, text.offset, into)?;
        text.check(into)
    }

    /// What a member says about itself in its first record.
    ///
    /// # Errors
    /// A member that is damaged there, or that is another than the entry says.
    pub fn identification(&self, entry: &Entry) -> Result<Identification, Fault> {
        member::identification(self, entry)
    }

    /// Reads the record that begins at a byte of a track's image, with its key and data, and checks its sum. None at the
    /// end of the track. For those who look at tracks as they are: verify, compress, COPYMOD.
    ///
    /// # Errors
    /// A record that is damaged, or longer than the buffer.
    pub fn record(&self, track: u32, at: usize, into: &mut [u8]) -> Result<Option<Record>, Fault> {
        member::record(self, track, at, into)
    }
}
