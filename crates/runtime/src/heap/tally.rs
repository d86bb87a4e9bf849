//! A thread's tally: figures that it has counted and not yet published.
//!
//! ```text
//! got, when a list of cells is used up; back, when a step of an extent is ──> bytes ──> a new maximum? ──> a look: exact
//! ```
//!
//! Returned cells are noticed late, so the count may exceed the bytes in use. A new maximum is believed after a look at all bins
//! and extents of the thread. Two limits bound the cost of looks: how much larger the maximum must be, and how many requests must
//! follow a look in vain. While looks find nothing that came back unnoticed, as in a program that only grows, glances at the
//! newest extents of each size replace them for the next eighth.
//!
//! What all threads together have not published may be about as much as one thread alone may have: the more threads and heaps there
//! are, the less each tally keeps.
//!
//! Invariant: published + tally == the counts of the thread's lists and extents when they were last looked at.
//! Not here: when figures are counted (`thread`).

use core::sync::atomic::{AtomicU32, Ordering};

use underbar_ledger::Key;

use super::extent::Extent;
use super::{OurSegments, object};
use crate::{coverage, ledger};

/// A thread publishes its figures after this many requests, this many bytes, or this part of the bytes in use (a 64th, as a power
/// of two): with large requests, 64 KiB are only a few of them. Of several tallies, each is published after its part of that, but
/// not below the fourth constant.
const TALLY_REQUESTS: i64 = 1023;
const TALLY_BYTES: i64 = 64 * 1024;
const TALLY_PART_BITS: u32 = 6;
const LEAST_TALLY_BYTES: i64 = 1024;
/// Built without accounts, to measure their cost: nothing is counted.
const COUNTS: bool = !cfg!(feature = "no-accounts");
/// After this many requests a program is busy enough that its memory may have grown elsewhere.
const LOOK_REQUESTS: u32 = 1 << 18;

/// A look needs this many bytes above the known maximum, if that is below 16 KiB; an increase up to the second constant is
/// believed without a look.
const LEAST_STEP: i64 = 1024;
const LEAST_BELIEVED: i64 = 2048;
/// A look needs a maximum that is larger by a sixteenth while little is known to be in use, by a 64th above that, and by a 32nd if
/// there are very many extents to look at.
const LITTLE: i64 = 3 << 20;
const MUCH: i64 = 256 << 20;
/// A look that found no new maximum delays the next one by this many requests at first. Each further look in vain doubles the
/// delay; a look that found one halves it. The delay also grows with the number of extents to look at.
const AFTER_VAIN: u64 = 32;
const MOST_AFTER_VAIN: u64 = 4096;
const EXTENTS_BITS: u32 = 6;
/// After a look, glances are enough if less than this part of a step (a power of two) had come back unnoticed, until that part
/// more is in use.
const CALM_BITS: u32 = 2;
const CALM_FOR_BITS: u32 = 3;
/// A request for an element takes as long as this many requests for cells.
const REQUESTS_OF_ELEMENT: u64 = 16;

/// Figures that a thread has counted and not yet published: adding to shared memory for every list of cells would cost more than
/// the cells.
#[derive(Clone, Copy)]
pub struct Tally {
    /// How many more requests, gets and frees together, may gather. Counted down to below 0, since the sign of a difference needs
    /// no extra instruction.
    until_full: i64,
    /// How many of those requests were gets; the others are returned cells, which are counted more often.
    gets: i64,
    /// How many bytes less may be in use before that is published; below 0 it is due. Equals `bytes` plus `due`.
    until_shrunk: i64,
    /// The maximum of `until_shrunk` since figures were last published.
    most: i64,
    /// A change by this many bytes, up or down, is published.
    due: i64,
    /// When `until_shrunk` reaches a new maximum of at least this value, there is work: `due` more bytes must be published, or
    /// more is in use than was ever known to be.
    grown_at: i64,
    /// Bytes counted at the last look in vain. Until usage exceeds that by two steps, the next look waits for the request number
    /// `doubted_until`; after another look in vain, for `after_vain` requests.
    doubted: i64,
    doubted_until: u64,
    after_vain: u64,
    /// Below this many bytes a glance is enough: the last look found all frees noticed.
    calm_below: i64,
    /// Requests that were published, and requests for elements.
    requests: u64,
    /// Requests and cells published since memory was last looked at, and how many trigger the next look.
    since_look: u32,
    look_at: u32,
}

/// Requests, returned cells and bytes that are not in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// Gets.
    pub gets: i64,
    /// Cells that came back.
    pub frees: i64,
    /// Bytes of the gets, less those of the cells.
    pub bytes: i64,
}

/// Tallies in use: one for each thread and heap. Relaxed: a thread that sees an old number publishes somewhat earlier or later.
static TALLIES: AtomicU32 = AtomicU32::new(0);

/// A thread gets its part of a heap.
pub fn one_more() {
    TALLIES.fetch_add(1, Ordering::Relaxed);
}

/// A thread, or a heap with a thread's part, has ended.
pub fn one_less() {
    TALLIES.fetch_sub(1, Ordering::Relaxed);
}

/// In a forked child: those of other threads are gone.
pub fn there_are(tallies: u32) {
    TALLIES.store(tallies, Ordering::Relaxed);
}

/// How many bytes a thread may keep to itself, with `used` bytes in use.
fn due(used: i64) -> i64 {
    // Their number as a power of two: the next larger one.
    let bits = u32::BITS - TALLIES.load(Ordering::Relaxed).saturating_sub(1).leading_zeros();
    ((used >> TALLY_PART_BITS).max(TALLY_BYTES) >> bits.min(63)).max(LEAST_TALLY_BYTES)
}

/// How much larger than `bytes` a new maximum must be for a look.
fn step(bytes: i64) -> i64 {
    match bytes {
        MUCH.. => bytes >> 5,
        LITTLE.. => bytes >> 6,
        _ => bytes >> 4,
    }
}

/// How many bytes in use are believed without a look.
pub fn believed() -> i64 {
    let known = ledger::known_use();
    known + step(known).max(LEAST_BELIEVED)
}

impl Tally {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self {
            until_full: TALLY_REQUESTS,
            gets: 0,
            until_shrunk: TALLY_BYTES,
            most: TALLY_BYTES,
            due: TALLY_BYTES,
            grown_at: TALLY_BYTES + LEAST_STEP,
            doubted: 0,
            doubted_until: 0,
            after_vain: AFTER_VAIN,
            calm_below: 0,
            requests: 0,
            since_look: 0,
            look_at: LOOK_REQUESTS,
        }
    }

    /// The thread begins: it may keep as much to itself as other threads do now. What it has counted is published.
    pub fn begin(&mut self) {
        if COUNTS {
            self.publish_bytes();
        }
    }

    /// Counts cells that were got, of `cell_bytes` each. True if enough requests have gathered to publish.
    #[inline]
    pub fn got(&mut self, cells: u32, cell_bytes: u32) -> bool {
        if !COUNTS {
            return false;
        }
        self.gets += i64::from(cells);
        self.until_shrunk += i64::from(cells) * i64::from(cell_bytes);
        self.until_full -= i64::from(cells);
        self.until_full < 0
    }

    /// Takes back a cell for which there was no room.
    pub fn not_got(&mut self, cell_bytes: u32) {
        if COUNTS {
            self.gets -= 1;
            self.until_full += 1;
            self.until_shrunk -= i64::from(cell_bytes);
        }
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

    /// Cells of an extent went into a bin; `out_before` were out before. True if the maximum since figures were last published has
    /// risen so far that there is work; usually false.
    #[inline]
    pub fn handed(&mut self, cells: u32, extent: &mut Extent, out_before: u32) -> bool {
        if !COUNTS {
            return false;
        }
        // Cells that have come back were out when frees were last counted.
        let back = i64::from(extent.settled.saturating_sub(out_before));
        extent.settled = extent.settled.wrapping_add(cells.wrapping_sub(back as u32));
        self.until_full -= back;
        self.until_shrunk -= back * i64::from(extent.cell_bytes);
        if self.until_shrunk <= self.most {
            return false;
        }
        self.most = self.until_shrunk;
        self.most >= self.grown_at
    }

    /// Have enough bytes gone out to publish them?
    pub fn is_grown(&self) -> bool {
        self.bytes() >= self.due
    }

    /// How many bytes must be counted before a look is worth it.
    fn worth_a_look() -> i64 {
        let known = ledger::known_use();
        known + step(known).max(LEAST_STEP)
    }

    /// Is a look worth it, with `more` bytes in use beyond those counted?
    pub fn wants_look(&self, more: i64) -> bool {
        if !COUNTS {
            return false;
        }
        let used = ledger::used() + self.bytes() + more;
        used > Self::worth_a_look()
            && (self.all_requests() >= self.doubted_until || used > self.doubted + 2 * step(self.doubted))
    }

    fn all_requests(&self) -> u64 {
        self.requests.wrapping_add((TALLY_REQUESTS - self.until_full) as u64)
    }

    /// Is a glance enough instead of a look, with `more` bytes in use beyond those counted?
    pub fn is_calm(&self, more: i64) -> bool {
        ledger::used() + self.bytes() + more < self.calm_below
    }

    /// A glance found that nothing came back, with `more` bytes about to be used: believes what is counted, and publishes it.
    pub fn glanced(&mut self, more: i64) {
        self.note_most();
        self.publish();
        let used = ledger::used() + more;
        ledger::know_use(used);
        self.set_grown_at(used);
    }

    /// A look counted everything, in `extents` extents, with `more` bytes about to be used: publishes it. `before` bytes had been
    /// counted before the look, and `back` came back unnoticed.
    pub fn looked(&mut self, before: i64, back: i64, extents: u32, more: i64) {
        self.most = self.until_shrunk;
        let unnoticed = before - self.bytes();
        let (worth, known) = (Self::worth_a_look(), ledger::known_use());
        // Requests, too: if the program is killed soon, there is no later occasion.
        self.publish();
        let used = ledger::used() + more;
        ledger::know_use(used);
        let is_calm = back <= (step(used).max(LEAST_STEP) >> CALM_BITS);
        self.calm_below = if is_calm { used + (used >> CALM_FOR_BITS) } else { 0 };
        if used < known + (worth - known) / 2 {
            self.doubted = used + unnoticed.max(0);
            self.doubted_until =
                self.all_requests() + self.after_vain * u64::from(1 + (extents >> EXTENTS_BITS));
            self.after_vain = (2 * self.after_vain).min(MOST_AFTER_VAIN);
        } else {
            self.after_vain = (self.after_vain / 2).max(AFTER_VAIN);
        }
        self.set_grown_at(used);
    }

    /// As far as is known, everything counted now was in use at the same time.
    pub fn note_most(&mut self) {
        self.most = self.most.max(self.until_shrunk);
    }

    /// Bytes of cells in use so far.
    pub fn counted(&self) -> i64 {
        self.bytes()
    }

    /// Counts returned cells of an extent since it was last looked at.
    pub fn settle(&mut self, extent: &mut Extent) {
        let out = extent.out();
        // Cells that waited in the inbox may have been counted before they are put away.
        if COUNTS && extent.settled > out {
            self.settle_to(extent, out);
        }
    }

    /// Counts returned cells of an extent with `out` cells out, and publishes what is due. Bytes change much faster than
    /// requests if requests are large.
    #[inline(always)]
    pub fn settle_and_publish(&mut self, extent: &mut Extent, out: u32) {
        if COUNTS && extent.settled > out {
            let back = extent.settled - out;
            extent.settled = out;
            let bytes = i64::from(back) * i64::from(extent.cell_bytes);
            // Each sign test directly follows its subtraction; the publishing functions do the rest.
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

    /// Counts returned cells of an extent that has all its cells back. The next count publishes what is then due: it exceeds the
    /// limit by at most one step, and as much of any extent is unknown anyway.
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

    /// Adds to the ledger the bytes that went out in excess of those that came back.
    pub fn publish_growth(&mut self) {
        if COUNTS && self.bytes() > 0 {
            self.publish_bytes();
        }
    }

    /// Adds all figures to the ledger, as an exact count.
    pub fn publish_settled(&mut self) {
        self.publish();
        ledger::know_use(ledger::used());
    }

    /// What was counted and not published.
    pub fn unpublished(&self) -> Unsettled {
        Unsettled {
            gets: self.gets,
            frees: TALLY_REQUESTS - self.until_full - self.gets,
            bytes: self.bytes(),
        }
    }

    /// In a forked child: so much of what is counted, or will be, is its parent's.
    pub fn owe(&mut self, parents: Unsettled) {
        if COUNTS {
            self.gets -= parents.gets;
            self.until_full += parents.gets + parents.frees;
            self.until_shrunk -= parents.bytes;
        }
    }

    /// Adds all figures to the ledger. Those below zero stay: a forked child owes them.
    #[cold]
    #[inline(never)]
    pub fn publish(&mut self) {
        let requests = TALLY_REQUESTS - self.until_full;
        let (gets, frees) = (self.gets.max(0), (requests - self.gets).max(0));
        ledger::add(Key::HeapGets, gets as u64);
        ledger::add(Key::HeapFrees, frees as u64);
        let requests = gets + frees;
        self.since_look = self.since_look.saturating_add(requests as u32);
        self.requests = self.requests.wrapping_add(requests as u64);
        (self.until_full, self.gets) = (self.until_full + requests, self.gets - gets);
        self.publish_bytes();
        object::heartbeat_if_due();
        if self.since_look >= self.look_at {
            self.since_look = 0;
            self.look_at = self.look_at.saturating_mul(2);
            coverage::look_if_grown::<OurSegments>();
        } else {
            coverage::look_if_due::<OurSegments>();
        }
    }

    /// Adds the bytes to the ledger, and raises the peak: without a look, to no more than is believed.
    #[cold]
    #[inline(never)]
    pub fn publish_bytes(&mut self) {
        let (bytes, most) = (self.bytes(), self.most - self.due);
        let used = ledger::change_use(bytes);
        let top = used - bytes + most.max(bytes);
        ledger::raise_use(top.min(believed()));
        self.published(used);
    }

    /// The ledger now has `used` bytes in use.
    #[inline]
    fn published(&mut self, used: i64) {
        self.due = due(used);
        // No change since.
        (self.until_shrunk, self.most) = (self.due, self.due);
        self.set_grown_at(used);
    }

    /// An element was got or given back: the ledger has `used` bytes in use.
    pub fn elements_used(&mut self, used: i64) {
        self.requests = self.requests.wrapping_add(REQUESTS_OF_ELEMENT);
        self.set_grown_at(used);
    }

    /// Sets `grown_at`, with `used` bytes in use by the ledger.
    fn set_grown_at(&mut self, used: i64) {
        // After a look in vain more may be counted than is known, without a look being due: then steps are at least a 64th.
        let is_doubted = self.all_requests() < self.doubted_until;
        let least = if is_doubted { (ledger::known_use() >> TALLY_PART_BITS).clamp(1, self.due) } else { 1 };
        self.grown_at = self.due + (Self::worth_a_look() - used).clamp(least, self.due);
    }
}
