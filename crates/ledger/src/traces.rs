//! Trace tables of ECBs of a process: the last requests of each thread, behind all slots and classes of the file.
//!
//! ```text
//! modules | table of the 1st thread | of the 2nd | ... | of the 15th            a page each, made under ECB(TRACE(n))
//!
//! table  thread, requests so far, limit | entry | entry | ...                   request r is in entry r % limit
//! ```
//!
//! A table has one writer, so a request shares no cache line with another thread. A process that traces nothing has no such pages.
//!
//! Invariant: `requests` is stored last, with Release: an entry that it covers is whole, except for the oldest one while its place is
//! written again.
//! Not here: when a request is noted (`runtime`), and its display (`report`).

use core::sync::atomic::{AtomicU64, Ordering};

use crate::layout::TRACES_BYTES;
use crate::text::Text;

/// Entries of a table.
pub const ENTRIES: usize = 127;
/// Tables of a process. A thread takes over that of one that has ended; those for which there is none are counted.
pub const TABLES: usize = 15;
/// Modules of a process that callers are named by. Callers in others are plain addresses.
pub const MODULES: usize = 128;

/// What a request did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Traced {
    /// A buffer was got.
    Got = 1,
    /// A buffer was freed.
    Freed = 2,
    /// A buffer was got by realloc, which frees the old one.
    Resized = 3,
}

/// Bits of an entry's first word that are the [`Traced`]: addresses of buffers are multiples of 16.
pub const TRACED: u64 = 15;
/// The place of the module's number in the word of the caller. Number 0: the rest is a plain address.
pub const MODULE_SHIFT: u32 = 48;

/// One request. Written by the thread of its table, relaxed.
#[repr(C)]
pub struct Entry {
    /// The buffer's address and the [`Traced`].
    pub buffer: AtomicU64,
    /// Bytes that were asked for; of a freed buffer its usable bytes.
    pub bytes: AtomicU64,
    /// The caller: 1 and the place of its module, and the address in it.
    pub caller: AtomicU64,
    /// The ECB's number; 0: the buffer is of another one than the thread is in.
    pub ecb: AtomicU64,
}

/// The requests of one thread.
#[repr(C, align(4096))]
pub struct Table {
    /// The kernel's number of the thread that has it, or had it last; 0: none has. Written by that thread, relaxed.
    pub thread: AtomicU64,
    /// Requests so far. Stored by that thread (Release).
    pub requests: AtomicU64,
    /// Entries in use. Written once.
    pub limit: AtomicU64,
    /// Of the first table: threads that found none free. Any thread adds, relaxed.
    pub without: AtomicU64,
    /// The entries.
    pub entries: [Entry; ENTRIES],
}

/// All tables of a process, with the names of modules.
#[repr(C, align(4096))]
pub struct Traces {
    /// File names of modules; the first ones filled. A thread that finds its module missing adds it: two threads may add the same one.
    pub modules: [Text<4>; MODULES],
    /// The tables.
    pub tables: [Table; TABLES],
}

const _: () = assert!(size_of::<Table>() == 4096 && size_of::<Traces>() == TRACES_BYTES);

impl Table {
    /// Notes a request. `at` is its number: for a table of one thread what `requests` holds.
    pub fn note(&self, at: u64, kind: Traced, buffer: u64, bytes: u64, caller: u64, ecb: u64) {
        let relaxed = Ordering::Relaxed;
        let limit = self.limit.load(relaxed).clamp(1, ENTRIES as u64);
        let entry = &self.entries[(at % limit) as usize];
        entry.buffer.store(buffer & !TRACED | kind as u64, relaxed);
        entry.bytes.store(bytes, relaxed);
        entry.caller.store(caller, relaxed);
        entry.ecb.store(ecb, relaxed);
    }
}
