//! The head of an ECB's storage below 2 GiB: its pieces, and its free buffers.
//!
//! Invariant: read and written under the lock of the control block; it is in the first piece, and ends with it.
//! Not here: requests (`low`).

use core::ptr::null_mut;

use super::area::{Area, LOW_HEAD};
use super::lists::LISTS;
use super::piece::Piece;

/// At the beginning of the first piece, behind its marks.
pub struct Head {
    /// The newest piece, and what is not handed out of it.
    pub areas: *mut Area,
    pub at: usize,
    pub end: usize,
    /// Bytes handed out of all pieces.
    pub handed: usize,
    /// Free buffers.
    pub lists: [*mut Piece; LISTS],
}

const _: () = assert!(size_of::<Head>() <= LOW_HEAD);

impl Head {
    /// With one piece.
    pub const fn new(areas: *mut Area, at: usize, end: usize) -> Self {
        Self { areas, at, end, handed: 0, lists: [null_mut(); LISTS] }
    }

    /// In a forked child, after a thread that is gone was in the middle of something: what is free is not used.
    pub fn lose(&mut self) {
        self.at = self.end;
        self.lists = [null_mut(); LISTS];
    }
}
