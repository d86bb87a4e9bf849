//! A heap's account: its row in the ledger, in addition to the figures of the process.
//!
//! ```text
//! heap.add(key, n) ─┬─> slot: the process's figure, of all heaps together
//!                   ├─> row of the heap: the default one has none; its figures are the remainder
//!                   └─> slot: the figure of all additional heaps together, of one that the program created
//! ```
//!
//! Invariant: every figure of a row is also added to the slot. A heap has a row from its creation to its end. The choice of the
//! row changes only under the lock of the registry, while no thread is inside.
//! Not here: the rows (`underbar_ledger::heaps`), and figures that threads have counted but not published (`thread::figures`). `counting` adds to a row and the slot.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::heaps::{HeapRow, ROWS};
use underbar_ledger::{HeapKind, Key};

use crate::ledger;

/// No row.
const NONE: usize = usize::MAX;

/// The counters of all additional heaps together: of which counter of a heap they are the part.
static ADDITIONAL: [(Key, Key); 4] = [
    (Key::HeapGets, Key::AdditionalGets),
    (Key::HeapFrees, Key::AdditionalFrees),
    (Key::HeapSegmentsAllocated, Key::AdditionalSegmentsAllocated),
    (Key::HeapSegmentsFreed, Key::AdditionalSegmentsFreed),
];

/// The accounts of a heap. Written under the lock of the registry while no thread is inside; relaxed.
pub struct Account {
    /// The number of its row, [`ROWS`] for the shared row `others`, or [`NONE`].
    place: AtomicUsize,
    /// Whether the program created it.
    is_additional: AtomicBool,
    /// Whether it is the heap of a thread (THREADHEAP). All of them have one row.
    is_of_thread: AtomicBool,
    /// Bytes in use, if it is. Any thread adds; relaxed.
    own: AtomicU64,
}

/// How many heaps of threads there are. Under the lock of the registry.
static OF_THREADS: AtomicUsize = AtomicUsize::new(0);

impl Account {
    /// The account of a heap without a row.
    pub const fn new() -> Self {
        Self {
            place: AtomicUsize::new(NONE),
            is_additional: AtomicBool::new(false),
            is_of_thread: AtomicBool::new(false),
            own: AtomicU64::new(0),
        }
    }

    /// The heap begins. Under the lock of the registry, before any thread is inside.
    pub fn begin(&self, kind: HeapKind, name: &[u8]) {
        if cfg!(feature = "no-accounts") {
            return;
        }
        let page = ledger::page_of_heaps();
        let place = page.take(kind, name).unwrap_or_else(|| {
            page.open_others();
            ROWS
        });
        let word = page.rows.get(place).map(|row| row.word.load(Ordering::Relaxed));
        if word.is_none_or(|word| HeapRow::heaps_of(word) == 1) {
            ledger::begin_heap_steps(place);
        }
        self.place.store(place, Ordering::Relaxed);
        self.is_additional.store(kind == HeapKind::Additional, Ordering::Relaxed);
        self.is_of_thread.store(kind == HeapKind::Thread, Ordering::Relaxed);
        self.own.store(0, Ordering::Relaxed);
        OF_THREADS.fetch_add(usize::from(kind == HeapKind::Thread), Ordering::Relaxed);
        ledger::heaps::told(page);
        if kind == HeapKind::Additional {
            ledger::add(Key::AdditionalCreates, 1);
        }
    }

    /// The heap has ended, and all its figures are counted. Under the lock of the registry.
    pub fn end(&self) {
        // The row of threads' heaps ends with the last of them.
        let is_of_thread = self.is_of_thread.swap(false, Ordering::Relaxed);
        let is_last = !is_of_thread || OF_THREADS.fetch_sub(1, Ordering::Relaxed) == 1;
        if is_last
            && let Some(page) = ledger::heaps::page()
            && let Some(row) = page.rows.get(self.place.load(Ordering::Relaxed))
        {
            row.end();
        }
        if self.is_additional.swap(false, Ordering::Relaxed) {
            ledger::add(Key::AdditionalDiscards, 1);
        }
        self.place.store(NONE, Ordering::Relaxed);
    }

    /// Whether it is that of a thread's heap.
    pub fn is_of_thread(&self) -> bool {
        self.is_of_thread.load(Ordering::Relaxed)
    }

    /// The row; None for the default heap, and in a child that has no accounts of its own yet.
    pub fn row(&self) -> Option<&'static HeapRow> {
        let place = self.place.load(Ordering::Relaxed);
        if place == NONE { None } else { row_at(place) }
    }

    /// Counts a request of this step in the row (RPTSTG).
    pub fn count_step(&self, step: usize) {
        if let Some(page) = ledger::heap_steps::page(self.place.load(Ordering::Relaxed)) {
            page.0[step].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Adds to a counter of the row.
    #[inline(always)]
    pub fn add(&self, key: Key, amount: u64) {
        let place = self.place.load(Ordering::Relaxed);
        if place != NONE {
            self.add_at(place, key, amount);
        }
    }

    /// Raises a peak of the row.
    #[inline(always)]
    pub fn raise(&self, key: Key, value: u64) {
        let place = self.place.load(Ordering::Relaxed);
        if place != NONE {
            raise_at(place, key, value);
        }
    }

    /// Adds to, or takes from, the bytes of `now`; `peak` is their maximum.
    #[inline(always)]
    pub fn change(&self, now: Key, peak: Key, change: i64) {
        let place = self.place.load(Ordering::Relaxed);
        if place != NONE {
            self.change_at(place, now, peak, change);
        }
    }
}

// The code for heaps with a row is separate, so that the default heap costs one test and nothing more.
impl Account {
    #[cold]
    #[inline(never)]
    fn add_at(&self, place: usize, key: Key, amount: u64) {
        if let Some(cell) = row_at(place).and_then(|row| row.cell(key)) {
            cell.fetch_add(amount, Ordering::Relaxed);
        }
        if self.is_additional.load(Ordering::Relaxed)
            && let Some((_, together)) = ADDITIONAL.iter().find(|(of, _)| *of == key)
        {
            ledger::add(*together, amount);
        }
    }

    #[cold]
    #[inline(never)]
    fn change_at(&self, place: usize, now: Key, peak: Key, change: i64) {
        if let Some(row) = row_at(place)
            && let (Some(now), Some(peak)) = (row.cell(now), row.cell(peak))
        {
            change_cells(now, peak, change);
        }
        if now == Key::HeapUsed && self.is_additional.load(Ordering::Relaxed) {
            let slot = ledger::slot();
            change_cells(slot.cell(Key::AdditionalUsed), slot.cell(Key::AdditionalUsedPeak), change);
        }
        if now == Key::HeapUsed && self.is_of_thread() {
            change_cells(&self.own, ledger::slot().cell(Key::ThreadHeapLargest), change);
        }
    }
}

fn row_at(place: usize) -> Option<&'static HeapRow> {
    let page = ledger::heaps::page()?;
    Some(page.rows.get(place).unwrap_or(&page.others))
}

#[cold]
#[inline(never)]
fn raise_at(place: usize, key: Key, value: u64) {
    if let Some(cell) = row_at(place).and_then(|row| row.cell(key)) {
        raise(cell, value);
    }
}

fn change_cells(now: &AtomicU64, peak: &AtomicU64, change: i64) {
    let all = now.fetch_add(change as u64, Ordering::Relaxed).wrapping_add(change as u64);
    if change > 0 && all as i64 > 0 {
        raise(peak, all);
    }
}

fn raise(cell: &AtomicU64, value: u64) {
    if cell.load(Ordering::Relaxed) < value {
        cell.fetch_max(value, Ordering::Relaxed);
    }
}
