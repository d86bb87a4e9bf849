//! A thread's tally: what it has counted and not yet published.
//!
//! Invariant: published + tally == what the thread's lists and extents were last seen to have done.
//! Not here: when something is counted (`thread`).

use underbar_ledger::Key;

use super::extent::Extent;
use super::space::heartbeat_if_parked;
use crate::{coverage, ledger};

/// Figures are published when this many requests have gathered in a thread, or this many bytes, or this part of what is
/// in use: where requests are large, 64 KiB are a few of them.
const TALLY_REQUESTS: i64 = 1023;
const TALLY_BYTES: i64 = 64 * 1024;
const TALLY_PART: i64 = 64;
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
    /// Change of the bytes in use.
    pub bytes: i64,
    /// The most that `bytes` was since it was published, cells that wait in bins included.
    most: i64,
    /// Until something is published: the most bytes in use, exactly, when a look was taken; how many waited in bins then,
    /// and how many do at the end. A program that has used little gave most of it back before it ends.
    seen: i64,
    waited: i64,
    left: i64,
    is_first: bool,
    /// So many bytes less are to be published, and as many more: negative.
    due_bytes: i64,
    /// At so many bytes, if it never were more, there is something to be done: as many as are due, or, until something is
    /// published, none, for a look at the bins.
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
            bytes: 0,
            most: 0,
            seen: 0,
            waited: 0,
            left: 0,
            is_first: true,
            due_bytes: -TALLY_BYTES,
            grown_at: 0,
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

    /// Counts cells that came back.
    #[inline]
    pub fn came_back(&mut self, cells: u64) {
        self.until_full -= cells as i64;
    }

    /// Cells that went into a bin. Whether more is out than ever, and so much that [`Self::wants_look`] or
    /// [`Self::is_grown`]: as a rule not, and nothing else is to be asked.
    #[inline]
    pub fn handed(&mut self, cells: u32, extent: &mut Extent) -> bool {
        if !COUNTS {
            return false;
        }
        // Those among them that had come back were out when frees were last counted.
        let back = extent.settled.saturating_sub(extent.out());
        let more = cells.wrapping_sub(back);
        extent.settled = extent.settled.wrapping_add(more);
        self.came_back(u64::from(back));
        self.bytes += i64::from(more as i32) * i64::from(extent.cell_bytes);
        if self.bytes <= self.most {
            return false;
        }
        self.most = self.bytes;
        self.bytes >= self.grown_at
    }

    /// Whether a look at the bins is worth it: nothing was published yet, and more is out than ever.
    pub fn wants_look(&self) -> bool {
        self.is_first && self.bytes == self.most
    }

    /// Whether so many bytes went out that they are to be published.
    pub fn is_grown(&self) -> bool {
        self.bytes >= -self.due_bytes
    }

    /// Takes note of what is in use exactly, when so many bytes wait in bins.
    pub fn look(&mut self, waiting: i64) {
        self.seen = self.seen.max(self.bytes - waiting);
        self.waited = waiting;
    }

    /// Takes back cells that were in a bin and were not got.
    pub fn unhanded(&mut self, cells: u32, extent: &Extent) {
        let bytes = i64::from(cells) * i64::from(extent.cell_bytes);
        self.bytes -= bytes;
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

    /// Counts what came back to an extent of which so many cells are out, and publishes what is due.
    #[inline(always)]
    pub fn settle_and_publish(&mut self, extent: &mut Extent, out: u32) {
        if COUNTS && extent.settled > out {
            self.settle_to(extent, out);
            self.publish_shrunk();
        }
    }

    /// Counts what came back to an extent that has all its cells back; publishes nothing.
    #[inline(always)]
    pub fn settle_all_back(&mut self, extent: &mut Extent) {
        if COUNTS {
            self.settle_to(extent, 0);
        }
    }

    /// Publishes what is due where cells came back: bytes come and go much faster than requests where these are large. As a
    /// caller's last act it costs two branches.
    #[inline(always)]
    pub fn publish_shrunk(&mut self) {
        // Two calls: whether to make one for both would be found out by more instructions.
        if COUNTS && self.until_full < 0 {
            self.publish();
        } else if COUNTS && self.bytes <= self.due_bytes {
            self.publish_bytes();
        }
    }

    #[inline(always)]
    fn settle_to(&mut self, extent: &mut Extent, out: u32) {
        let back = extent.settled - out;
        extent.settled = out;
        self.bytes -= i64::from(back) * i64::from(extent.cell_bytes);
        self.came_back(u64::from(back));
    }

    /// Adds to the ledger what went out beyond what came back; not as long as nothing was published, when less is in use
    /// than a list of cells that waits in a bin would add to it.
    pub fn publish_growth(&mut self) {
        if COUNTS && self.bytes > 0 && !self.is_first {
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
        heartbeat_if_parked();
        if self.since_look >= self.look_at {
            self.since_look = 0;
            self.look_at = self.look_at.saturating_mul(2);
            coverage::look_if_grown();
        }
    }

    /// Adds the bytes to the ledger. What was in use at most comes first, then what is in use now.
    #[cold]
    #[inline(never)]
    pub fn publish_bytes(&mut self) {
        // What waited at the last look and does not at the end was got after it, and may have been in use at one time with
        // all the rest.
        let most = if self.is_first && self.seen > 0 {
            self.most.min(self.seen + (self.waited - self.left).max(0))
        } else {
            self.most
        };
        let top = most.max(self.bytes);
        let change = self.bytes - top;
        // One call of the two, as a rule.
        let mut used = if top != 0 || change == 0 { ledger::use_bytes(top) } else { 0 };
        if change != 0 {
            used = ledger::use_bytes(change);
        }
        self.grown_at = (used / TALLY_PART).max(TALLY_BYTES);
        self.due_bytes = -self.grown_at;
        (self.bytes, self.most, self.left, self.is_first) = (0, 0, 0, false);
    }
}
