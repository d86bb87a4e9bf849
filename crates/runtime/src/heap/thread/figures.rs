//! Figures that a thread has counted and not yet published: of the process in a tally, of a heap with a row separately.
//!
//! ```text
//! got, came back ─┬─> tally: the process's figures                       in every heap
//!                 ├─> apart: this heap's, until 1,024 requests or 64 KiB    in a heap with a row
//!                 └─> the pool's                                            in a heap with pools
//! ```
//!
//! Invariant: row + apart == the counts of the thread's lists and extents in that heap when they were last looked at.
//! Cost: in the default heap one test for each list of cells.
//! Not here: when something is counted (the parent), how the process's figures are published (`tally`).

use core::ops::{Deref, DerefMut};

use underbar_ledger::Key;

use super::super::account::Account;
use super::super::extent::Extent;
use super::super::pools;
use super::super::tally::Tally;

/// Figures are added to the row after this many requests, or bytes.
const REQUESTS: u64 = 1023;
const BYTES: i64 = 64 * 1024;

/// A thread's figures in a heap.
pub struct Figures {
    tally: Tally,
    /// None in the default heap.
    account: Option<&'static Account>,
    gets: u64,
    frees: u64,
    bytes: i64,
    /// In a heap with pools, which has no row: the number by which the thread has a pool of each size.
    pool: Option<u32>,
}

impl Deref for Figures {
    type Target = Tally;
    fn deref(&self) -> &Tally {
        &self.tally
    }
}

impl DerefMut for Figures {
    fn deref_mut(&mut self) -> &mut Tally {
        &mut self.tally
    }
}

/// As the tally's methods of the same names.
impl Figures {
    /// Nothing counted, in a heap with this row.
    pub const fn new(account: Option<&'static Account>) -> Self {
        Self { tally: Tally::new(), account, gets: 0, frees: 0, bytes: 0, pool: None }
    }

    /// Nothing counted, in the default heap with pools, whose account has no row.
    pub const fn pooled(account: &'static Account, pool: u32) -> Self {
        Self { pool: Some(pool), ..Self::new(Some(account)) }
    }

    /// The number by which the thread has a pool of each size, in a heap with pools.
    #[inline]
    pub fn pool(&self) -> Option<u32> {
        self.pool
    }

    #[inline]
    pub fn got(&mut self, cells: u32, cell_bytes: u32) -> bool {
        if self.account.is_some() {
            self.apart(i64::from(cells), 0, cell_bytes);
        }
        self.tally.got(cells, cell_bytes)
    }

    /// As `got`, for the process alone: [`Self::filled`] or [`Self::not_got`] follows.
    #[inline]
    pub fn got_in_all(&mut self, cells: u32, cell_bytes: u32) -> bool {
        self.tally.got(cells, cell_bytes)
    }

    /// Does this heap have a row?
    #[inline]
    pub fn is_apart(&self) -> bool {
        self.account.is_some()
    }

    /// `got` cells were got, and a list of an extent's cells goes out, of which `out_before` were out before: for this heap alone.
    #[cold]
    #[inline(never)]
    pub fn filled(&mut self, got: u32, extent: &Extent, out_before: u32) {
        self.apart(i64::from(got), extent.settled.saturating_sub(out_before), extent.cell_bytes);
    }

    /// There was no room for the last of the cells that were got.
    pub fn not_got(&mut self, got: u32, cell_bytes: u32) {
        if self.account.is_some() {
            self.apart(i64::from(got), 0, cell_bytes);
        }
        self.tally.not_got(cell_bytes);
    }

    #[inline]
    pub fn came_back(&mut self, cells: u32, cell_bytes: u32) {
        if self.account.is_some() {
            self.apart(0, cells, cell_bytes);
        }
        self.tally.came_back(u64::from(cells), i64::from(cells) * i64::from(cell_bytes));
    }

    pub fn settle(&mut self, extent: &mut Extent) {
        if self.account.is_some() {
            self.back(extent, extent.out());
        }
        self.tally.settle(extent);
    }

    #[inline(always)]
    pub fn settle_and_publish(&mut self, extent: &mut Extent, out: u32) {
        if self.account.is_some() {
            return self.settle_apart(extent, out);
        }
        self.tally.settle_and_publish(extent, out);
    }

    /// The path with a row, as a separate function, so that the usual path keeps nothing across the call.
    #[cold]
    #[inline(never)]
    fn settle_apart(&mut self, extent: &mut Extent, out: u32) {
        self.back(extent, out);
        self.tally.settle_and_publish(extent, out);
    }

    #[inline(always)]
    pub fn settle_all_back(&mut self, extent: &mut Extent) {
        if self.account.is_some() {
            self.back(extent, 0);
        }
        self.tally.settle_all_back(extent);
    }

    pub fn publish(&mut self) {
        self.tally.publish();
        self.tell();
    }

    #[inline]
    pub fn publish_growth(&mut self) {
        self.tally.publish_growth();
        self.tell();
    }

    pub fn publish_settled(&mut self) {
        self.tally.publish_settled();
        self.tell();
    }

    pub fn looked(&mut self, before: i64, back: i64, extents: u32, more: i64) {
        self.tally.looked(before, back, extents, more);
        self.tell();
    }

    pub fn glanced(&mut self, more: i64) {
        self.tally.glanced(more);
        self.tell();
    }

    /// `out` of an extent's cells are out now.
    #[cold]
    #[inline(never)]
    fn back(&mut self, extent: &Extent, out: u32) {
        self.apart(0, extent.settled.saturating_sub(out), extent.cell_bytes);
    }

    fn apart(&mut self, got: i64, back: u32, cell_bytes: u32) {
        if cfg!(feature = "no-accounts") {
            return;
        }
        if let Some(pool) = self.pool {
            return pools::use_cells(pool, cell_bytes, got - i64::from(back));
        }
        self.gets = self.gets.wrapping_add_signed(got);
        self.frees += u64::from(back);
        self.bytes += (got - i64::from(back)) * i64::from(cell_bytes);
        // A thread's heap is small, and its peak is asked for.
        let is_small = self.account.is_some_and(Account::is_of_thread);
        if is_small || self.gets.wrapping_add(self.frees) > REQUESTS || self.bytes.abs() > BYTES {
            self.tell();
        }
    }

    /// Adds the figures to the heap's row, if it has one.
    #[inline(always)]
    fn tell(&mut self) {
        if let Some(account) = self.account {
            self.tell_row(account);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_row(&mut self, account: &Account) {
        account.add(Key::HeapGets, core::mem::take(&mut self.gets));
        account.add(Key::HeapFrees, core::mem::take(&mut self.frees));
        account.change(Key::HeapUsed, Key::HeapUsedPeak, core::mem::take(&mut self.bytes));
    }
}
