//! A thread's tally: what it has counted and not yet published.
//!
//! ```text
//! got, when a list of cells is used up; back, when an eighth of an extent is ──> bytes ──> a new maximum? ──> a look: exact
//! ```
//!
//! Cells that came back are noticed late, so that what is counted may be more than is in use. A new maximum is believed after a
//! look at all bins and extents of the thread. How much larger it is to be for that, and how many requests are to come
//! after a look in vain, bounds what looks cost. While a look finds nothing that came back unnoticed, as in a program that only
//! grows, glances at the newest extents of each size take its place for the next eighth.
//!
//! Invariant: published + tally == what the thread's lists and extents were last seen to have done.
//! Not here: when something is counted (`thread`).

use underbar_ledger::Key;

use super::extent::Extent;
use super::object;
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

/// So many bytes more than were ever known to be in use are worth a look, where less than 16 KiB are; so many more are believed.
const LEAST_STEP: i64 = 1024;
const LEAST_BELIEVED: i64 = 2048;
/// A look is taken at each new maximum by a sixteenth where little is known to be in use; by a 64th above; by a 32nd where the
/// extents to be looked at are very many.
const LITTLE: i64 = 3 << 20;
const MUCH: i64 = 256 << 20;
/// After a look that found no new maximum there is none before so many requests, at first; twice as many after the next one, and
/// fewer again after one that found one. As many more for each so many extents that are looked at.
const AFTER_VAIN: u64 = 32;
const MOST_AFTER_VAIN: u64 = 4096;
const EXTENTS_BITS: u32 = 6;
/// After a look that found less than this part of a step to have come back unnoticed (a power of two), glances are enough until
/// that part more is in use.
const CALM_BITS: u32 = 2;
const CALM_FOR_BITS: u32 = 3;
/// A request for an element takes as long as that many of cells.
const REQUESTS_OF_ELEMENT: u64 = 16;

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
    /// The most that `until_shrunk` was since something was published.
    most: i64,
    /// So many bytes less are to be published, and as many more.
    due: i64,
    /// Where `until_shrunk` is as large, and never was larger, there is something to be done: as many bytes more as are due
    /// are to be published, or more are in use than ever were known to be.
    grown_at: i64,
    /// The last look in vain was taken where so many bytes were counted. Without two steps more there is none before so many
    /// requests; after the next, so many.
    doubted: i64,
    doubted_until: u64,
    after_vain: u64,
    /// Below so many bytes a glance is enough: the last look found all frees noticed.
    calm_below: i64,
    /// Requests that were published, and for elements.
    requests: u64,
    /// Requests and cells published since memory was last asked for, and how many are to be.
    since_look: u32,
    look_at: u32,
}

/// By so much is a new maximum of so many bytes to be larger for a look.
fn step(bytes: i64) -> i64 {
    match bytes {
        MUCH.. => bytes >> 5,
        LITTLE.. => bytes >> 6,
        _ => bytes >> 4,
    }
}

/// How many bytes are taken for in use without a look, where so many are counted.
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

    /// Counts cells of so many bytes that were got. Whether enough requests have gathered to be published.
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

    /// Cells of an extent went into a bin, so many having been out before. Whether more is in use than ever since something
    /// was published, and so much that there is something to be done: as a rule not.
    #[inline]
    pub fn handed(&mut self, cells: u32, extent: &mut Extent, out_before: u32) -> bool {
        if !COUNTS {
            return false;
        }
        // Those that had come back were out when frees were last counted.
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

    /// Whether so many bytes went out that they are to be published.
    pub fn is_grown(&self) -> bool {
        self.bytes() >= self.due
    }

    /// How many bytes are to be counted before a look is worth it.
    fn worth_a_look() -> i64 {
        let known = ledger::known_use();
        known + step(known).max(LEAST_STEP)
    }

    /// Whether a look is worth it, when so many bytes more than are counted are in use.
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

    /// Whether a glance is enough where a look is wanted, when so many bytes more than are counted are in use.
    pub fn is_calm(&self, more: i64) -> bool {
        ledger::used() + self.bytes() + more < self.calm_below
    }

    /// A glance found that nothing came back, when so many bytes more were about to be used: what is counted is believed, and
    /// published.
    pub fn glanced(&mut self, more: i64) {
        self.note_most();
        self.publish();
        let used = ledger::used() + more;
        ledger::know_use(used);
        self.set_grown_at(used);
    }

    /// All was counted, at so many extents, when so many bytes more were about to be used: publishes it. So many bytes had been
    /// counted before, and so many came back unnoticed.
    pub fn looked(&mut self, before: i64, back: i64, extents: u32, more: i64) {
        self.most = self.until_shrunk;
        let unnoticed = before - self.bytes();
        let (worth, known) = (Self::worth_a_look(), ledger::known_use());
        // Requests, too: a program that is killed soon has no other occasion.
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

    /// What is counted now was in use at one time, as far as is known.
    pub fn note_most(&mut self) {
        self.most = self.most.max(self.until_shrunk);
    }

    /// What is in use of cells so far.
    pub fn counted(&self) -> i64 {
        self.bytes()
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

    /// Adds to the ledger what went out beyond what came back.
    pub fn publish_growth(&mut self) {
        if COUNTS && self.bytes() > 0 {
            self.publish_bytes();
        }
    }

    /// Adds all of it to the ledger, exactly counted.
    pub fn publish_settled(&mut self) {
        self.publish();
        ledger::know_use(ledger::used());
    }

    /// Adds all of it to the ledger.
    #[cold]
    #[inline(never)]
    pub fn publish(&mut self) {
        let requests = TALLY_REQUESTS - self.until_full;
        ledger::add(Key::HeapGets, self.gets as u64);
        ledger::add(Key::HeapFrees, (requests - self.gets) as u64);
        self.since_look = self.since_look.saturating_add(requests as u32);
        self.requests = self.requests.wrapping_add(requests as u64);
        (self.until_full, self.gets) = (TALLY_REQUESTS, 0);
        self.publish_bytes();
        object::heartbeat_if_due();
        if self.since_look >= self.look_at {
            self.since_look = 0;
            self.look_at = self.look_at.saturating_mul(2);
            coverage::look_if_grown();
        } else {
            coverage::look_if_due();
        }
    }

    /// Adds the bytes to the ledger, and says how many were in use at most: of what nobody has looked at no more than is
    /// believed.
    #[cold]
    #[inline(never)]
    pub fn publish_bytes(&mut self) {
        let (bytes, most) = (self.bytes(), self.most - self.due);
        let used = ledger::change_use(bytes);
        let top = used - bytes + most.max(bytes);
        ledger::raise_use(top.min(believed()));
        self.published(used);
    }

    /// The ledger says now that so many bytes are in use.
    #[inline]
    fn published(&mut self, used: i64) {
        self.due = (used >> TALLY_PART_BITS).max(TALLY_BYTES);
        // No change since.
        (self.until_shrunk, self.most) = (self.due, self.due);
        self.set_grown_at(used);
    }

    /// An element was got or given back: so many bytes are in use by the ledger.
    pub fn elements_used(&mut self, used: i64) {
        self.requests = self.requests.wrapping_add(REQUESTS_OF_ELEMENT);
        self.set_grown_at(used);
    }

    /// So many bytes are in use by the ledger.
    fn set_grown_at(&mut self, used: i64) {
        // After a look in vain more may be counted than is known, without a look being due: then no smaller steps than a 64th.
        let is_doubted = self.all_requests() < self.doubted_until;
        let least = if is_doubted { (ledger::known_use() >> TALLY_PART_BITS).clamp(1, self.due) } else { 1 };
        self.grown_at = self.due + (Self::worth_a_look() - used).clamp(least, self.due);
    }
}
