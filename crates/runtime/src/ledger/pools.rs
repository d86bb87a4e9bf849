//! The pages of heap pools, and of requests by steps of 8 bytes, that belong to this process's slot.
//!
//! ```text
//! first thread with cells ─> pages of the ledger file, or private ones ─> guard (wiped in a child by fork)
//! child by fork           ─> pages of its own, with the cells that are in use in its parent
//! ```
//!
//! Invariant: a process without HEAPPOOLS and RPTSTG(ON) has no pages. A child never writes to its parent's: until it has
//! pages of its own, nothing is counted.
//! Not here: when cells are counted (`heap::pools`), mapping the file (`attach`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use underbar_ledger::Pools;
use underbar_ledger::pools::ROWS;

use super::guard;

/// SAFETY: the pages are made of atomics only, for which zero is a value.
static PRIVATE: Pools = unsafe { core::mem::zeroed() };

/// The pages in use, in a word that no fork wipes: a child finds its parent's by it. Null: there are none.
static LAST: AtomicPtr<Pools> = AtomicPtr::new(null_mut());

/// The pages; None if there are none.
#[inline]
pub(crate) fn pages() -> Option<&'static Pools> {
    // SAFETY: null, the private pages, or some that stay mapped.
    unsafe { guard().pools.load(Ordering::Relaxed).as_ref() }
}

/// The cells in use of each pool at the fork that is under way, as `heaps` keeps rows. Written by the thread that forks, under the
/// locks of the heap; relaxed: read by that thread's copy in the child.
static AT_FORK: [AtomicU64; ROWS] = [const { AtomicU64::new(0) }; ROWS];
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Before a fork, in the parent: keeps the cells in use for the child.
pub(super) fn keep() {
    if let Some(pages) = pages() {
        for (kept, row) in AT_FORK.iter().zip(&pages.rows) {
            kept.store(row.used.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        IS_KEPT.store(true, Ordering::Relaxed);
    }
}

/// After it, in the parent.
pub(super) fn keep_no_more() {
    IS_KEPT.store(false, Ordering::Relaxed);
}

/// Maps the pages that belong to this process's slot; None if it has no slot, or none can be had.
pub(super) type Map = fn() -> Option<&'static Pools>;

/// Makes the pages, unless there are some; `fill_in` writes what is known of the pools, and returns how many have a row. Called by
/// the thread that has the lock of the default heap's threads.
pub(super) fn make(map: Map, fill_in: impl FnOnce(&Pools) -> u64) {
    // A child whose fork was not announced has its own pages from then on.
    super::slot();
    if pages().is_none() {
        let pages = map().unwrap_or(&PRIVATE);
        pages.wipe();
        let rows = fill_in(pages);
        set(pages, rows + 1);
    }
}

/// Uses the pages; the host may look at them.
fn set(pages: &'static Pools, word: u64) {
    let to = core::ptr::from_ref(pages).cast_mut();
    LAST.store(to, Ordering::Relaxed);
    guard().pools.store(to, Ordering::Relaxed);
    if !core::ptr::eq(pages, &raw const PRIVATE) {
        super::slot().pools.store(word, Ordering::Release);
    }
}

/// In a child by fork that has a slot of its own: takes over its part of its parent's pools.
pub(super) fn in_child(map: Map) {
    // SAFETY: null, the private pages, or some that stay mapped.
    let Some(parent) = (unsafe { LAST.load(Ordering::Relaxed).as_ref() }) else { return };
    let pages = map().unwrap_or(&PRIVATE);
    // The child's own copy of the private pages has all of it.
    let is_kept = IS_KEPT.swap(false, Ordering::Relaxed);
    if !core::ptr::eq(pages, parent) {
        pages.inherit(parent, is_kept.then_some(&AT_FORK));
    }
    let rows = pages.rows.iter().filter(|row| row.cell.load(Ordering::Relaxed) != 0).count();
    set(pages, rows as u64 + 1);
}
