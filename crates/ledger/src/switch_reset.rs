//! Counts of switches from which on a report counts: the host's note behind the tables of a process, made while the process runs.
//!
//! ```text
//! word 0   process, packed      0: no note. Written last, and only by the host
//!      1   rows
//!      2   row, calls, bytes     row: function 63..48 | row of the module 47..32 | descriptor and 1 31..0, as `Entry::first`
//!      5   row, calls, bytes     ...
//! ```
//!
//! The process counts on as before: its tables belong to its threads, and what they hold only grows. So a reset costs it nothing, and is
//! exact for each thread: the report takes off what was there.
//!
//! Invariant: any bytes give rows. A note of another process is none.
//! Not here: the sums (`view`), the file (`launch`), and what is taken off where (`report`).

use crate::layout::Identity;
use crate::switches::{NOTED_BYTES as BYTES, Switches};

/// Where it is in the pages of a process's switches.
pub const OFFSET: usize = core::mem::offset_of!(Switches, noted);
/// The most rows of a note.
pub const MOST: usize = (BYTES - 16) / ROW;
const ROW: usize = 24;

/// The function of rows that hold a figure of the process: its row is that of [`Figure`].
pub const OF_FIGURE: usize = 0xfff0;
/// The function of rows that hold a class of runs of eligible components: its row is the class.
pub const OF_RUNS: usize = 0xfff1;

/// A figure of the process, besides its switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Figure {
    /// CPU time of eligible components.
    Eligible = 0,
    /// That of others.
    Ineligible = 1,
    /// Runs of eligible components.
    Runs = 2,
    /// Acquisitions of mutexes that had to wait.
    Waits = 3,
    /// The kernel's count of read calls since the program began, by the file of its first thread.
    ReadsOfThread = 4,
    /// Likewise of write calls.
    WritesOfThread = 5,
    /// Those by the file of the process.
    ReadsOfProcess = 6,
    /// Likewise of write calls.
    WritesOfProcess = 7,
}

/// The sum of all sites of a module that have one function, and had the same descriptor at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The function's number, or [`SAMPLED`](crate::switches::SAMPLED): then `first` is the row of the caller.
    pub function: usize,
    /// The row of the module; [`NO_ROW`](crate::switches::NO_ROW): none.
    pub row: usize,
    /// The descriptor and 1, with its flags; 0: none.
    pub first: u32,
    /// Calls so far.
    pub count: u64,
    /// Bytes so far.
    pub bytes: u64,
}

/// The note of a process. None if there are more than [`MOST`] rows.
pub fn note(process: Identity, rows: impl Iterator<Item = Noted>) -> Option<[u8; BYTES]> {
    let mut page = [0; BYTES];
    let mut count = 0_u64;
    let mut put = |at: usize, word: u64| {
        page.get_mut(at..at + 8)?.copy_from_slice(&word.to_le_bytes());
        Some(())
    };
    for row in rows {
        let at = 16 + usize::try_from(count).ok()?.checked_mul(ROW)?;
        let key = (row.function as u64) << 48 | (row.row as u64 & 0xffff) << 32 | u64::from(row.first);
        for (word, value) in [key, row.count, row.bytes].into_iter().enumerate() {
            put(at + 8 * word, value)?;
        }
        count += 1;
    }
    put(0, process.packed())?;
    put(8, count)?;
    Some(page)
}

/// The rows of a process's note; none if there is no note of it.
pub fn rows(page: &[u8], process: Identity) -> impl Iterator<Item = Noted> + use<'_> {
    let word = |at: usize| {
        page.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    };
    let count = if word(0) == process.packed() { usize::try_from(word(8)).unwrap_or(0).min(MOST) } else { 0 };
    (0..count).map(move |row| {
        let at = 16 + row * ROW;
        let key = word(at);
        Noted {
            function: (key >> 48) as usize,
            row: (key >> 32 & 0xffff) as usize,
            first: key as u32,
            count: word(at + 8),
            bytes: word(at + 16),
        }
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    const ME: Identity = Identity { namespace: 7, number: 4711 };

    #[test]
    fn what_is_noted_is_read_again_by_its_process_only() {
        let row = |function, first| Noted { function, row: 3, first, count: 10, bytes: 1 << 40 };
        let all: Vec<Noted> = (0..MOST).map(|at| row(at, u32::MAX - at as u32)).collect();
        let page = note(ME, all.iter().copied()).expect("room");
        assert_eq!(rows(&page, ME).collect::<Vec<_>>(), all);
        assert_eq!(rows(&page, Identity { number: 4712, ..ME }).count(), 0);
        assert_eq!(note(ME, all.iter().copied().chain([row(1, 1)])), None, "no room");
    }

    #[test]
    fn any_bytes_give_rows() {
        assert_eq!(rows(&[], ME).count(), 0);
        let mut page = note(ME, core::iter::empty()).expect("room");
        page[8..16].fill(0xff);
        assert_eq!(rows(&page, ME).count(), MOST);
        assert_eq!(rows(&page[..20], ME).map(|row| row.count).sum::<u64>(), 0);
    }
}
