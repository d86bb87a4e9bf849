//! A heap's account: its row in the ledger, in addition to the figures of the process.
//!
//! ```text
//! heap.add(key, n) ─┬─> slot: the process's figure, of all heaps together
//!                       └─> row of the heap: the default one has none; its figures are the remainder
//! ```
//!
//! Invariant: every figure of a row is also added to the slot. A heap has a row from its creation to its end. The choice of the
//! row changes only under the lock of the registry, while no thread is inside.
//! Not here: the rows (`underbar_ledger::heaps`), and figures that threads have counted but not published (`thread::figures`).

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::heaps::{HeapRow, ROWS};
use underbar_ledger::{HeapKind, Key};

use super::object::Heap;
use crate::ledger;

/// No row.
const NONE: usize = usize::MAX;

/// The row of a heap: its number, [`ROWS`] for the shared row `others`, or [`NONE`].
pub struct Account(AtomicUsize);

impl Account {
    /// The account of a heap without a row.
    pub const fn new() -> Self {
        Self(AtomicUsize::new(NONE))
    }

    /// The heap begins. Under the lock of the registry, before any thread is inside.
    pub fn begin(&self, kind: HeapKind, name: &[u8]) {
        if cfg!(feature = "no-accounts") {
            return;
        }
        let page = ledger::heaps::page_or_new();
        let place = page.take(kind, name).unwrap_or_else(|| {
            page.open_others();
            ROWS
        });
        self.0.store(place, Ordering::Relaxed);
        ledger::heaps::told(page);
    }

    /// The heap has ended, and all its figures are counted. Under the lock of the registry.
    pub fn end(&self) {
        if let Some(page) = ledger::heaps::page()
            && let Some(row) = page.rows.get(self.0.load(Ordering::Relaxed))
        {
            row.end();
        }
        self.0.store(NONE, Ordering::Relaxed);
    }

    /// The row; None for the default heap, and in a child that has no accounts of its own yet.
    #[cfg(test)]
    pub fn row(&self) -> Option<&'static HeapRow> {
        let place = self.0.load(Ordering::Relaxed);
        if place == NONE { None } else { row_at(place) }
    }

    /// Adds to a counter of the row.
    #[inline(always)]
    pub fn add(&self, key: Key, amount: u64) {
        let place = self.0.load(Ordering::Relaxed);
        if place != NONE {
            add_at(place, key, amount);
        }
    }

    /// Raises a peak of the row.
    #[inline(always)]
    pub fn raise(&self, key: Key, value: u64) {
        let place = self.0.load(Ordering::Relaxed);
        if place != NONE {
            raise_at(place, key, value);
        }
    }

    /// Adds to, or takes from, the bytes of `now`; `peak` is their maximum.
    #[inline(always)]
    pub fn change(&self, now: Key, peak: Key, change: i64) {
        let place = self.0.load(Ordering::Relaxed);
        if place != NONE {
            change_at(place, now, peak, change);
        }
    }
}

fn row_at(place: usize) -> Option<&'static HeapRow> {
    let page = ledger::heaps::page()?;
    Some(page.rows.get(place).unwrap_or(&page.others))
}

// The code for heaps with a row is separate, so that the default heap costs one test and nothing more.

#[cold]
#[inline(never)]
fn add_at(place: usize, key: Key, amount: u64) {
    if let Some(cell) = row_at(place).and_then(|row| row.cell(key)) {
        cell.fetch_add(amount, Ordering::Relaxed);
    }
}

#[cold]
#[inline(never)]
fn raise_at(place: usize, key: Key, value: u64) {
    if let Some(cell) = row_at(place).and_then(|row| row.cell(key)) {
        raise(cell, value);
    }
}

#[cold]
#[inline(never)]
fn change_at(place: usize, now: Key, peak: Key, change: i64) {
    if let Some(row) = row_at(place)
        && let (Some(now), Some(peak)) = (row.cell(now), row.cell(peak))
    {
        let all = now.fetch_add(change as u64, Ordering::Relaxed).wrapping_add(change as u64);
        if change > 0 && all as i64 > 0 {
            raise(peak, all);
        }
    }
}

fn raise(cell: &AtomicU64, value: u64) {
    if cell.load(Ordering::Relaxed) < value {
        cell.fetch_max(value, Ordering::Relaxed);
    }
}

impl Heap {
    /// Adds to a counter, of the process and of this heap.
    #[inline]
    pub fn add(&self, key: Key, amount: u64) {
        ledger::add(key, amount);
        self.account.add(key, amount);
    }

    /// Raises a peak, of the process and of this heap.
    #[inline]
    pub fn raise(&self, key: Key, value: u64) {
        ledger::raise(key, value);
        self.account.raise(key, value);
    }
}
