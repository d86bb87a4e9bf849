//! Buffers of files that are written: what they hold is in memory shared with a supervisor, which holds a duplicate of the descriptor and
//! writes the rest when the process has ended, whatever ended it.
//!
//! ```text
//! write(fd, line) ──> bytes behind the others in the buffer, then the length                    (append)
//! flush           ──> place of the file ─> start; FLUSHING; write; length 0, next generation    (settle)
//! the process dies at any point ──> the supervisor does `settle` with its own descriptor
//! ```
//!
//! The kernel keeps one place for all duplicates of a descriptor, and moves it by what `write` wrote, in the same call. So this place
//! says how far a flush came: with FLUSHING set, what is between `start` and the place is written, and the rest is not. Writing at a stored
//! offset (`pwrite`) would also do, but it would overwrite what others wrote by the same description, such as `(a; b) > file`, and leave
//! the place wrong for those who write after the process.
//!
//! | module | holds |
//! |---|---|
//! | [`buffer`] | the words of a buffer, and its two operations |
//! | [`message`] | what a process tells its supervisor |
//! | [`pattern`] | which files an option names |
//!
//! Invariant: bytes are in the file or in the buffer, never in both and never in neither; in the order of the writes.
//! Not here: which calls flush (`runtime::file_cache`), the supervisor (`host/launch`), and the mapping of the memory.
#![no_std]
#![forbid(unsafe_code)]

pub mod buffer;
pub mod message;
pub mod pattern;
