//! The site area: sampled requests of one process with their call stacks, in a file next to the ledger.
//!
//! ```text
//! header | text: executable mappings, as /proc/PID/maps has them | rules of callers | ring of words
//!                                                                                     head: words reserved so far, moved by the process
//!                                                                                     tail: words read so far, moved by the host
//!
//! record   mark | time | address | size | mean | thread, flags | stack's number | in use | most | frames, or registers and stack   a request
//!          mark | time | address | most                                                                                             a free
//! ```
//!
//! A stack has a number, a hash of it. A record of a stack that was written a short while before has only the number. A stack with the number
//! 0 is not referred to.
//!
//! `in use` is the heap's own count of the bytes in use, the request included, and `most` is the largest that it ever was. Both are without
//! what a child has from its parent. So a reader knows when most was in use, whatever the samples say. The end of a process is the free of
//! address 0.
//!
//! Invariant: between tail and head no word is overwritten; a record that finds no room is counted. A record is whole when its mark has
//! [`DONE`] and the place for which it was written.
//! Not here: the ring's steps and the file (`runtime::sites`), reading it (`host/sites`), and the rules (`site_rules`).

use core::sync::atomic::{AtomicU32, AtomicU64};

pub use crate::samples::{Line, namespace};
use crate::site_rules::TABLE_BYTES;

/// The first eight bytes of every site area.
pub const MAGIC: u64 = u64::from_le_bytes(*b"UNDERSIT");
/// Changes when a structure in this file changes.
pub const VERSION: u32 = 3;
/// Offset of the text of the mappings.
pub const TEXT_OFFSET: usize = 4096;
/// Room for that text.
pub const TEXT_ROOM: usize = 60 * 1024;
/// Offset of the rules of callers: words that the host writes while the process reads them.
pub const RULES_OFFSET: usize = TEXT_OFFSET + TEXT_ROOM;
/// Offset of the ring.
pub const RING_OFFSET: usize = RULES_OFFSET + TABLE_BYTES;
/// Words of the ring: a power of two.
pub const RING_WORDS: usize = 1 << 17;
/// Bytes of the area.
pub const AREA_BYTES: usize = RING_OFFSET + RING_WORDS * 8;

/// Frames of a record, at most.
pub const MOST_FRAMES: usize = 256;
/// Words of a copied stack, at most.
pub const MOST_STACK: usize = 8192;
/// Words of a record of a request before its frames, registers or nothing.
pub const GOT_WORDS: usize = 9;
/// Words of a record of a free.
pub const FREED_WORDS: usize = 4;
/// Registers before a copied stack: rip, rsp, rbp, rbx, r12 to r15.
pub const REGISTERS: usize = 8;
/// Words of the longest record.
pub const MOST_WORDS: usize = GOT_WORDS + REGISTERS + MOST_STACK;

/// Stacks that a process refers to by their numbers, at most.
pub const KNOWN_STACKS: usize = 1024;

/// The place among [`KNOWN_STACKS`] of a stack's number. A stack takes the place of the one before it.
#[must_use]
pub const fn place_of(number: u64) -> usize {
    (number >> 32) as usize % KNOWN_STACKS
}

/// Kinds of records: a request with its frames; with registers and stack; with the number of a stack that is known. A free.
pub const FRAMES: u64 = 1;
/// See [`FRAMES`].
pub const RAW: u64 = 2;
/// See [`FRAMES`].
pub const KNOWN: u64 = 3;
/// See [`FRAMES`].
pub const FREED: u64 = 4;

/// In the word with the thread: the walk ended at the thread's first frame.
pub const WHOLE: u64 = 1 << 32;

/// The owner of an area, and its fill level.
#[repr(C, align(64))]
pub struct Header {
    /// [`MAGIC`]; written last, with Release.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// The process's number.
    pub process: AtomicU32,
    /// When the area was made, nanoseconds of CLOCK_BOOTTIME.
    pub made_ns: AtomicU64,
    /// The process namespace in which `process` is its number; 0: not known.
    pub namespace: AtomicU64,
    /// Bytes of the text; text once written stays. Moved with Release by the process.
    pub text_bytes: AtomicU32,
    /// 1 if the text found no room.
    pub text_cut: AtomicU32,
    /// The mean distance that is in force now. Threads of the process write it, relaxed.
    pub mean: AtomicU64,
    /// Nanoseconds that samples took. Threads of the process add, relaxed.
    pub spent_ns: AtomicU64,
    /// Records of requests that found no room. Threads of the process add, relaxed.
    pub lost: AtomicU64,
    /// Records of frees that found no room.
    pub lost_frees: AtomicU64,
    /// Words ever reserved. Moved by the process's threads, by compare-and-swap.
    pub head: Line,
    /// Words ever read. Moved by the host, after it has read them.
    pub tail: Line,
}

const _: () = assert!(size_of::<Header>() <= TEXT_OFFSET && MOST_WORDS < RING_WORDS / 8);

const DONE: u64 = 1 << 7;
const KIND: u64 = DONE - 1;
const LENGTH_SHIFT: u32 = 8;
const PLACE_SHIFT: u32 = 24;
const PLACE: u64 = u64::MAX >> PLACE_SHIFT;

/// A mark: the kind of the record, whether it is whole, its words, and its place in the sequence of all words.
#[must_use]
pub const fn mark(place: u64, kind: u64, words: usize, is_done: bool) -> u64 {
    (place & PLACE) << PLACE_SHIFT
        | (words as u64 & 0xffff) << LENGTH_SHIFT
        | if is_done { DONE } else { 0 }
        | kind & KIND
}

/// What a mark tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The record's kind.
    pub kind: u64,
    /// Its words, the mark included.
    pub words: usize,
    /// All of it is there.
    pub is_done: bool,
}

/// Reads the mark of the record at a place; None if none was written there yet.
#[must_use]
pub const fn read_mark(word: u64, place: u64) -> Option<Mark> {
    let words = (word >> LENGTH_SHIFT & 0xffff) as usize;
    if word >> PLACE_SHIFT != place & PLACE || words == 0 || words > MOST_WORDS {
        return None;
    }
    Some(Mark { kind: word & KIND, words, is_done: word & DONE != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_at_its_own_place_only() {
        for place in [0, 7, 1 << 17, u64::from(u32::MAX), PLACE] {
            for (words, is_done) in [(1, false), (MOST_WORDS, true)] {
                let word = mark(place, RAW, words, is_done);
                assert_eq!(read_mark(word, place), Some(Mark { kind: RAW, words, is_done }));
                assert_eq!(read_mark(word, place + RING_WORDS as u64), None, "of the round before");
            }
        }
        assert_eq!(read_mark(0, 0), None);
        assert_eq!(read_mark(mark(3, FREED, MOST_WORDS + 1, true), 3), None);
    }
}
