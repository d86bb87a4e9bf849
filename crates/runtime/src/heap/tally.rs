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
const TALLY_REQUESTS: u32 = 1024;
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
    /// Requests served, and cells that came back.
    pub gets: u32,
    /// See `gets`.
    pub frees: u32,
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
    /// Bytes to gather.
    due_bytes: i64,
    /// Requests and cells published since memory was last asked for, and how many are to be.
    since_look: u32,
    look_at: u32,
}

impl Tally {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self {
            gets: 0,
            frees: 0,
            bytes: 0,
            most: 0,
            seen: 0,
            waited: 0,
            left: 0,
            is_first: true,
            due_bytes: TALLY_BYTES,
            since_look: 0,
            look_at: LOOK_REQUESTS,
        }
    }

    /// Cells that went into a bin. Whether more is out than ever, and so much that [`Self::wants_look`] or
    /// [`Self::is_grown`]: as a rule not, and nothing else is to be asked.
    #[inline]
    pub fn handed(&mut self, cells: u32, extent: &Extent) -> bool {
        if !COUNTS {
            return false;
        }
        self.bytes += i64::from(cells) * i64::from(extent.cell_bytes);
        if self.bytes < self.most {
            return false;
        }
        self.most = self.bytes;
        self.is_first || self.is_grown()
    }

    /// Whether a look at the bins is worth it: nothing was published yet, and more is out than ever.
    pub fn wants_look(&self) -> bool {
        self.is_first && self.bytes == self.most
    }

    /// Whether so many bytes went out that they are to be published.
    pub fn is_grown(&self) -> bool {
        self.bytes >= self.due_bytes
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
        if !COUNTS {
            return;
        }
        let out = extent.out();
        // What waited in the inbox may have been counted before it is put away.
        if extent.settled > out {
            let back = extent.settled - out;
            extent.settled = out;
            self.frees += back;
            self.bytes -= i64::from(back) * i64::from(extent.cell_bytes);
        }
    }

    /// Whether enough requests have gathered to be published.
    pub fn is_full(&self) -> bool {
        COUNTS && self.gets + self.frees >= TALLY_REQUESTS
    }

    /// Whether enough has gathered to be published, where cells came back.
    pub fn is_due(&self) -> bool {
        COUNTS && (self.is_full() || self.bytes <= -self.due_bytes)
    }

    /// Adds what is due to the ledger: bytes come and go much faster than requests where these are large.
    #[cold]
    pub fn publish_due(&mut self) {
        if self.is_full() {
            self.publish();
        } else {
            self.publish_bytes();
        }
    }

    /// Adds to the ledger what went out beyond what came back; not as long as nothing was published, when less is in use
    /// than a list of cells that waits in a bin would add to it.
    pub fn publish_growth(&mut self) {
        if COUNTS && self.bytes > 0 && !self.is_first {
            self.publish_bytes();
        }
    }

    /// Adds all of it to the ledger.
    pub fn publish(&mut self) {
        ledger::add(Key::HeapGets, u64::from(self.gets));
        ledger::add(Key::HeapFrees, u64::from(self.frees));
        self.since_look = self.since_look.saturating_add(self.gets + self.frees);
        (self.gets, self.frees) = (0, 0);
        self.publish_bytes();
        heartbeat_if_parked();
        if self.since_look >= self.look_at {
            self.since_look = 0;
            self.look_at = self.look_at.saturating_mul(2);
            coverage::look_if_grown();
        }
    }

    /// What was in use at most comes first, then what is in use now.
    fn publish_bytes(&mut self) {
        // What waited at the last look and does not at the end was got after it, and may have been in use at one time with
        // all the rest.
        let most = if self.is_first && self.seen > 0 {
            self.most.min(self.seen + (self.waited - self.left).max(0))
        } else {
            self.most
        };
        let above = (most - self.bytes).max(0);
        let mut used = ledger::use_bytes(self.bytes + above);
        if above > 0 {
            used = ledger::use_bytes(-above);
        }
        self.due_bytes = (used / TALLY_PART).max(TALLY_BYTES);
        (self.bytes, self.most, self.left, self.is_first) = (0, 0, 0, false);
    }
}
