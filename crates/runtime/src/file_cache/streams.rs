//! The tables of the C library's streams get our entries, on top of those that SWITCHES put there.
//!
//! Invariant: words change only from the address of an entry, or of its counting stub, to ours.
//! Not here: what the entries do (`calls`), and why these tables (`switch::tables`).

use core::sync::atomic::Ordering;

use super::calls::{REAL_STREAM, STREAMS, stream};
use crate::switch::tables;

/// Puts them there. False if the tables are not those that are known.
pub(super) fn bind() -> bool {
    let is_there = |place: usize, was: usize| {
        REAL_STREAM[place].store(was, Ordering::Relaxed);
        stream(place)
    };
    tables::replace(&is_there) == STREAMS as u64
}
