//! A thread's tally: what it has counted and not yet published.
//!
//! Invariant: published + tally == what the thread's lists and extents were last seen to have done.
//! Not here: when something is counted (`thread`).

use underbar_ledger::Key;

use super::extent::Extent;
use super::space::heartbeat_if_due;
use crate::{coverage, ledger};

/// Figures are published when this many requests have gathered in a thread, or this many bytes, or this part of what is
/// in use (a 64th, as a power of two): where requests are large, 64 KiB are a few of them.
const TALLY_REQUESTS: i64 = 1023;
const TALLY_BYTES: i64 = 64 * 1024;
const TALLY_PART_BITS: u32 = 6;
/// Built without accounts, to see what they cost: nothing is counted.
const COUNTS: bool = !cfg!(feature = "no-accounts");
/// After this many requests a program is busy enough that its memory may have grown elsewhere.
const LOOK_REQUESTS: u32 = 1 << 18;

/// What a thread has counted and not yet published: an addition to shared memory for every list of cells would
/// cost more than the cells.
#[derive(Clone, Copy)]
pub struct Tally {
    /// How many more requests, gets and frees together, may gather. Counted down to below 0, as the sign of a difference is
    /// known without another instruction.
    until_full: i64,
    /// Those of them that were gets; the others are cells that came back, which are counted more often.
    gets: i64,
    /// How many bytes less may be in use before that is published; below 0 it is due. What `bytes` says, and `due` more.
    until_shrunk: i64,
    /// The most that `until_shrunk` was since something was published, cells that wait in bins included.
    most: i64,
    /// Until something is published: the most bytes in use, exactly, when a look was taken; how many waited in bins then,
    /// and how many do at the end. A program that has used little gave most of it back before it ends.
    seen: i64,
    waited: i64,
    left: i64,
    is_first: bool,
    /// So many bytes less are to be published, and as many more.
    due: i64,
    /// Where `until_shrunk` is as large, and never was larger, there is something to be done: as many bytes more as are due
    /// are to be published, or, until something is published, any are worth a look at the bins.
    grown_at: i64,
    /// Requests and cells published since memory was last asked for, and how many are to be.
    since_look: u32,
    look_at: u32,
}

impl Tally {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self {
            until_full: TALLY_REQUESTS,
            gets: 0,
            until_shrunk: TALLY_BYTES,
            most: TALLY_BYTES,
            seen: 0,
            waited: 0,
            left: 0,
            is_first: true,
            due: TALLY_BYTES,
            grown_at: TALLY_BYTES,
            since_look: 0,
            look_at: LOOK_REQUESTS,
        }
    }

    /// Counts cells that were got. Whether enough requests have gathered to be published.
    #[inline]
    pub fn got(&mut self, cells: u32) -> bool {
        if !COUNTS {
            return false;
        }
        self.gets += i64::from(cells);
        self.until_full -= i64::from(cells);
        self.until_full < 0
    }

    /// Counts cells that came back, and their bytes.
    #[inline]
    pub fn came_back(&mut self, cells: u64, bytes: i64) {
        self.until_full -= cells as i64;
        self.until_shrunk -= bytes;
    }

    /// Change of the bytes in use.
    fn bytes(&self) -> i64 {
        self.until_shrunk - self.due
    }

    /// Cells of an extent that went into a bin, so many having been out before. Whether more is out than ever, and so much
    /// that [`Self::wants_look`] or [`Self::is_grown`]: as a rule not, and nothing else is to be asked.
    #[inline]
    pub fn handed(&mut self, cells: u32, extent: &mut Extent, out_before: u32) -> bool {
        if !COUNTS {
            return false;
        }
        // Those among them that had come back were out when frees were last counted.
        let back = i64::from(extent.settled.saturating_sub(out_before));
        let more = i64::from(cells) - back;
        extent.settled = extent.settled.wrapping_add(more as u32);
        self.until_full -= back;
        self.until_shrunk += more * i64::from(extent.cell_bytes);
        if self.until_shrunk <= self.most {
            return false;
        }
        self.most = self.until_shrunk;
        self.most >= self.grown_at
    }

    /// Whether a look at the bins is worth it: nothing was published yet, and more is out than ever.
    pub fn wants_look(&self) -> bool {
        self.is_first && self.until_shrunk == self.most
    }

    /// Whether so many bytes went out that they are to be published.
    pub fn is_grown(&self) -> bool {
        self.bytes() >= self.due
    }

    /// Takes note of what is in use exactly, when so many bytes wait in bins.
    pub fn look(&mut self, waiting: i64) {
        self.seen = self.seen.max(self.bytes() - waiting);
        self.waited = waiting;
    }

    /// Takes back cells that were in a bin and were not got.
    pub fn unhanded(&mut self, cells: u32, extent: &Extent) {
        let bytes = i64::from(cells) * i64::from(extent.cell_bytes);
        self.until_shrunk -= bytes;
        self.most -= bytes;
        self.left += bytes;
    }

    /// Counts what came back to an extent since it was last looked at.
    pub fn settle(&mut self, extent: &mut Extent) {
        let out = extent.out();
        // What waited in the inbox may have been counted before it is put away.
        if COUNTS && extent.settled > out {
            self.settle_to(extent, out);
        }
    }

    /// Counts what came back to an extent of which so many cells are out, and publishes what is due: bytes come and go much
    /// faster than requests where these are large.
    #[inline(always)]
    pub fn settle_and_publish(&mut self, extent: &mut Extent, out: u32) {
        if COUNTS && extent.settled > out {
            let back = extent.settled - out;
            extent.settled = out;
            let bytes = i64::from(back) * i64::from(extent.cell_bytes);
            // Each sign right after its difference; the rest is left to whoever publishes.
            self.until_full -= i64::from(back);
            if self.until_full < 0 {
                return self.publish_with(bytes);
            }
            self.until_shrunk -= bytes;
            if self.until_shrunk < 0 {
                self.publish_bytes();
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn publish_with(&mut self, bytes_back: i64) {
        self.until_shrunk -= bytes_back;
        self.publish();
    }

    /// Counts what came back to an extent that has all its cells back. What is due then is published when the next one is
    /// counted: it is more than what was gathered by no more than one step, so much of any extent is not known.
    #[inline(always)]
    pub fn settle_all_back(&mut self, extent: &mut Extent) {
        if COUNTS {
            self.settle_to(extent, 0);
        }
    }

    #[inline(always)]
    fn settle_to(&mut self, extent: &mut Extent, out: u32) {
        let back = extent.settled - out;
        extent.settled = out;
        self.came_back(u64::from(back), i64::from(back) * i64::from(extent.cell_bytes));
    }

    /// Adds to the ledger what went out beyond what came back; not as long as nothing was published, when less is in use
    /// than a list of cells that waits in a bin would add to it.
    pub fn publish_growth(&mut self) {
        if COUNTS && self.bytes() > 0 && !self.is_first {
            self.publish_bytes();
        }
    }

    /// Adds all of it to the ledger.
    #[cold]
    #[inline(never)]
    pub fn publish(&mut self) {
        let requests = TALLY_REQUESTS - self.until_full;
        ledger::add(Key::HeapGets, self.gets as u64);
        ledger::add(Key::HeapFrees, (requests - self.gets) as u64);
        self.since_look = self.since_look.saturating_add(requests as u32);
        (self.until_full, self.gets) = (TALLY_REQUESTS, 0);
        self.publish_bytes();
        heartbeat_if_due();
        if self.since_look >= self.look_at {
            self.since_look = 0;
            self.look_at = self.look_at.saturating_mul(2);
            coverage::look_if_grown();
        } else {
            coverage::look_if_due();
        }
    }

    /// Adds the bytes to the ledger. What was in use at most comes first, then what is in use now.
    #[cold]
    #[inline(never)]
    pub fn publish_bytes(&mut self) {
        let (bytes, mut most) = (self.bytes(), self.most - self.due);
        if self.is_first {
            most = self.most_at_first(most);
        }
        if most > bytes && most > 0 {
            ledger::use_bytes(most);
            self.published(ledger::use_bytes(bytes - most));
        } else {
            self.published(ledger::use_bytes(bytes));
        }
    }

    /// The most that was in use before anything was published, by the looks that were taken.
    #[cold]
    fn most_at_first(&self, most: i64) -> i64 {
        if self.seen == 0 {
            return most;
        }
        // What waited at the last look and does not at the end was got after it, and may have been in use at one time with
        // all the rest.
        most.min(self.seen + (self.waited - self.left).max(0))
    }

    /// The ledger says now that so many bytes are in use.
    #[inline]
    fn published(&mut self, used: i64) {
        self.due = (used >> TALLY_PART_BITS).max(TALLY_BYTES);
        // No change since.
        (self.until_shrunk, self.most, self.grown_at) = (self.due, self.due, 2 * self.due);
        (self.left, self.is_first) = (0, false);
    }
}
