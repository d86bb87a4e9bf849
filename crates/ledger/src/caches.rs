//! Caches of files, under PRINT and WORKFILE: a row for each buffer of the process, as a report of buffers needs them.
//!
//! ```text
//! row 0: PCACHE, printed output | row 1: WCACHEO, work files that are written | rows 2..: WCACHEnn, a work file that is read each
//! ```
//!
//! WCACHEO has the sums of all files that are written; the last row has those of all files that are read beyond the others.
//!
//! Invariant: a row of which [`CacheRow::files`] is 0 was never used. [`Slot::caches`] is 0 until the pages are set up.
//! Not here: the buffers themselves (`underbar_filecache`), and the display (`report`).
//!
//! [`Slot::caches`]: crate::Slot::caches

use core::sync::atomic::{AtomicU64, Ordering};

use crate::layout::not_below_zero;
use crate::text::Text;

/// Rows of a process.
pub const ROWS: usize = 16;
/// The row of printed output.
pub const PRINT: usize = 0;
/// The row of work files that are written.
pub const WRITE: usize = 1;
/// The first row of a work file that is read.
pub const READ: usize = 2;
/// Bytes of the name of a file.
pub const NAME: usize = 64;

/// Why a buffer was emptied. The numbers are the places in [`CacheRow::flushes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Flush {
    /// There was no room for the next write. For a file that is read: the buffer was used up.
    Full = 0,
    /// The file was closed.
    Close = 1,
    /// The program synchronised it: fsync and its kin.
    Sync = 2,
    /// The program went to another place of the file.
    Seek = 3,
    /// The process made a child.
    Fork = 4,
    /// The process executed a program.
    Exec = 5,
    /// The program reads from a terminal or a pipe.
    Input = 6,
    /// The process ended.
    Exit = 7,
    /// The program looked at the file: fstat, stat, or a read of it.
    Look = 8,
    /// A call that names a file by its path: open, rename, unlink.
    Path = 9,
    /// The program changed the file by other means: truncate, pwrite, dprintf.
    Change = 10,
    /// The file is cached no more.
    Plain = 11,
}

/// Number of reasons.
pub const FLUSHES: usize = 12;
/// All of them, by their places, with their names in reports.
pub const ALL_FLUSHES: [(Flush, &str); FLUSHES] = [
    (Flush::Full, "full"),
    (Flush::Close, "close"),
    (Flush::Sync, "sync"),
    (Flush::Seek, "seek"),
    (Flush::Fork, "fork"),
    (Flush::Exec, "exec"),
    (Flush::Input, "input"),
    (Flush::Exit, "exit"),
    (Flush::Look, "look"),
    (Flush::Path, "path"),
    (Flush::Change, "change"),
    (Flush::Plain, "plain"),
];

/// Why a file that the options name is not cached, or not any more. The numbers are the places in [`CacheRow::plain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Plain {
    /// No command supervises the process, so that bytes could be lost.
    NoParent = 0,
    /// It is no regular file, or one of the kernel's own.
    Special = 1,
    /// It is opened for appending.
    Append = 2,
    /// It is opened to be written at once: `O_SYNC`, `O_DSYNC`, `O_DIRECT`.
    Synchronous = 3,
    /// The size of files is limited, and the limit must strike at the right write.
    Limit = 4,
    /// The process has another descriptor for the file.
    Shared = 5,
    /// The process made a child that has the descriptor, too.
    Fork = 6,
    /// The descriptor was duplicated, or sent.
    Duplicated = 7,
    /// It was locked, or its descriptor got other attributes.
    Locked = 8,
    /// It was mapped.
    Mapped = 9,
    /// The kernel copied to it or from it: sendfile, splice, or asynchronous requests.
    Transfer = 10,
    /// Its place or its file was not the one expected: somebody else used it.
    Moved = 11,
    /// A system call that the program made itself, of a kind that is not followed.
    SystemCall = 12,
    /// There was no room for a further buffer.
    Room = 13,
    /// It is read here and there, so that most of what a buffer reads ahead is not used.
    Random = 14,
    /// The command that supervises the process ended before it.
    Left = 15,
    /// Other processes of the run write it in turn, or a program got it that is not followed.
    Others = 16,
}

/// Number of reasons.
pub const PLAINS: usize = 17;
/// All of them, by their places, with their names in reports.
pub const ALL_PLAINS: [(Plain, &str); PLAINS] = [
    (Plain::NoParent, "no underbar run supervises it"),
    (Plain::Special, "no regular file"),
    (Plain::Append, "opened for appending"),
    (Plain::Synchronous, "opened to be written at once"),
    (Plain::Limit, "file size limited"),
    (Plain::Shared, "another descriptor"),
    (Plain::Fork, "a child has it, too"),
    (Plain::Duplicated, "duplicated or sent"),
    (Plain::Locked, "locked, or other attributes"),
    (Plain::Mapped, "mapped"),
    (Plain::Transfer, "copied by the kernel"),
    (Plain::Moved, "used by somebody else"),
    (Plain::SystemCall, "a system call of its own"),
    (Plain::Room, "no room for a buffer"),
    (Plain::Random, "read here and there"),
    (Plain::Left, "underbar run ended first"),
    (Plain::Others, "other processes write it"),
];

/// Powers of two in [`CacheRow::forced`].
pub const POWERS: usize = 28;

/// One buffer, or all of a kind. Any thread of the process adds, relaxed, under the lock of the caches; the host reads.
#[repr(C, align(1024))]
pub struct CacheRow {
    /// Bytes of the buffer; of WCACHEO: of one file's.
    pub size: AtomicU64,
    /// Bytes in it now. What is left here by a process that was killed, its supervisor wrote.
    pub used: AtomicU64,
    /// The most bytes that were in it.
    pub most: AtomicU64,
    /// Files that it has served.
    pub files: AtomicU64,
    /// Calls of the program, and of the C library's streams, that it took.
    pub calls: AtomicU64,
    /// Bytes of those calls.
    pub bytes: AtomicU64,
    /// Calls of the kernel that wrote, or read, in their place.
    pub kernel_calls: AtomicU64,
    /// Bytes of those.
    pub kernel_bytes: AtomicU64,
    /// Calls that were too large for it and went to the kernel as they are.
    pub large: AtomicU64,
    /// Bytes that the kernel refused: the program was told by a later call.
    pub not_written: AtomicU64,
    /// The number of the last error of that kind.
    pub error: AtomicU64,
    /// See [`Flush`].
    pub flushes: [AtomicU64; FLUSHES],
    /// Files by [`Plain`].
    pub plain: [AtomicU64; PLAINS],
    /// How often so many bytes were between two flushes that were not [`Flush::Full`]: by powers of two, the least that is as large.
    pub forced: [AtomicU64; POWERS],
    /// The last file that it served, or that was left alone; the end of its path.
    pub name: Text<8>,
}

/// All buffers of a process.
#[repr(C, align(4096))]
pub struct Caches {
    /// The rows.
    pub rows: [CacheRow; ROWS],
}

const _: () = assert!(size_of::<Caches>() == crate::layout::CACHES_BYTES);
const _: () = assert!(ALL_FLUSHES[FLUSHES - 1].0 as usize == FLUSHES - 1);
const _: () = assert!(ALL_PLAINS[PLAINS - 1].0 as usize == PLAINS - 1);

fn get(word: &AtomicU64) -> u64 {
    not_below_zero(word.load(Ordering::Relaxed))
}

/// The place in [`CacheRow::forced`] of so many bytes.
#[must_use]
pub const fn power(bytes: u64) -> usize {
    let power = if bytes <= 1 { 0 } else { (u64::BITS - (bytes - 1).leading_zeros()) as usize };
    if power < POWERS { power } else { POWERS - 1 }
}

impl CacheRow {
    fn sums(&self) -> impl Iterator<Item = &AtomicU64> {
        [
            &self.used,
            &self.files,
            &self.calls,
            &self.bytes,
            &self.kernel_calls,
            &self.kernel_bytes,
            &self.large,
            &self.not_written,
        ]
        .into_iter()
        .chain(&self.flushes)
        .chain(&self.plain)
        .chain(&self.forced)
    }

    fn marks(&self) -> [&AtomicU64; 3] {
        [&self.size, &self.most, &self.error]
    }

    /// Whether anything was counted.
    #[must_use]
    pub fn is_used(&self) -> bool {
        get(&self.files) > 0 || self.plain.iter().any(|count| get(count) > 0)
    }

    fn wipe(&self) {
        self.sums().chain(self.marks()).for_each(|word| word.store(0, Ordering::Relaxed));
        self.name.store(b"");
    }

    /// Adds the figures of another process.
    fn fold(&self, other: &Self) {
        if !other.is_used() {
            return;
        }
        for (mine, theirs) in self.sums().zip(other.sums()) {
            mine.store(get(mine).saturating_add(get(theirs)), Ordering::Relaxed);
        }
        for (mine, theirs) in self.marks().into_iter().zip(other.marks()) {
            mine.store(get(mine).max(get(theirs)), Ordering::Relaxed);
        }
        self.name.copy(&other.name);
    }
}

impl Caches {
    /// Makes all figures 0.
    pub fn wipe(&self) {
        self.rows.iter().for_each(CacheRow::wipe);
    }

    /// Adds the rows of another process. Only the process that folds calls this.
    pub fn fold(&self, other: &Self) {
        self.rows.iter().zip(&other.rows).for_each(|(mine, theirs)| mine.fold(theirs));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    fn new() -> Box<Caches> {
        let word = || AtomicU64::new(0);
        Box::new(Caches {
            rows: core::array::from_fn(|_| CacheRow {
                size: word(),
                used: word(),
                most: word(),
                files: word(),
                calls: word(),
                bytes: word(),
                kernel_calls: word(),
                kernel_bytes: word(),
                large: word(),
                not_written: word(),
                error: word(),
                flushes: core::array::from_fn(|_| word()),
                plain: core::array::from_fn(|_| word()),
                forced: core::array::from_fn(|_| word()),
                name: Text(core::array::from_fn(|_| word())),
            }),
        })
    }

    #[test]
    fn sums_are_added_and_sizes_compared() {
        let (sum, other) = (new(), new());
        for (caches, calls, size) in [(&sum, 3, 50), (&other, 4, 40)] {
            let row = &caches.rows[WRITE];
            row.files.store(1, Ordering::Relaxed);
            row.calls.store(calls, Ordering::Relaxed);
            row.size.store(size, Ordering::Relaxed);
            row.flushes[Flush::Close as usize].store(1, Ordering::Relaxed);
        }
        other.rows[WRITE].name.store(b"out");
        sum.fold(&other);
        let row = &sum.rows[WRITE];
        let figures = [&row.files, &row.calls, &row.size, &row.flushes[1]].map(get);
        assert_eq!((figures, row.name.is(b"out")), ([2, 7, 50, 2], true));
        assert!(row.is_used() && !sum.rows[PRINT].is_used());
        sum.wipe();
        assert!(!row.is_used() && get(&row.size) == 0);
    }

    #[test]
    fn powers_are_the_least_that_hold_the_bytes() {
        for (bytes, expect) in
            [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (4097, 13), (1 << 27, 27), (u64::MAX, 27)]
        {
            assert_eq!(power(bytes), expect, "{bytes}");
        }
    }
}
