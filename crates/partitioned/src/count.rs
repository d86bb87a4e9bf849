//! The cost of a search and a load, in counts that are never mixed and never converted to time.
//!
//! | count | is |
//! |---|---|
//! | channel programs, by the article's count | one for the search of a directory, one for each block of text, one for each control block that had to be read |
//! | channel programs, by MVS 3.8's fetch | one for the search, one for the module, whose program goes on from block to block |
//! blocks, tracks | the blocks transferred, and the tracks (of a PDSE: groups of twelve pages) that hold them
//! directory blocks, tracks | the same for the search alone
//!
//! Invariant: reading with or without the page cache changes no count. Reads of the real device are a separate count, which
//! only the system keeps (`/proc/self/io`).

use core::ops::AddAssign;

/// The counts of one or more searches and loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Channel programs by the article's count.
    pub programs_by_article: u64,
    /// Channel programs by the count of MVS 3.8's fetch.
    pub programs_by_fetch: u64,
    /// Blocks (of a PDSE: pages) of members.
    pub blocks: u64,
    /// Tracks of members.
    pub tracks: u64,
    /// Directory blocks (of a PDSE: pages of the tree) searched.
    pub directory_blocks: u64,
    /// Tracks of the directory searched.
    pub directory_tracks: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.programs_by_article += more.programs_by_article;
        self.programs_by_fetch += more.programs_by_fetch;
        self.blocks += more.blocks;
        self.tracks += more.tracks;
        self.directory_blocks += more.directory_blocks;
        self.directory_tracks += more.directory_tracks;
    }
}
