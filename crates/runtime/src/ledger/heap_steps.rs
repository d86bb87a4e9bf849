//! The pages of requests of heaps by steps of 8 bytes that belong to this process's slot.
//!
//! ```text
//! RPTSTG(ON), a row gets a heap ─> its page of the ledger file ─> guard (wiped in a child by fork)
//! child by fork                 ─> pages of its own, with nothing counted
//! ```
//!
//! Invariant: without RPTSTG(ON), in a process with its default heap only, and without a ledger there are no pages. A child never writes to
//! its parent's.
//! Not here: when requests are counted (`heap::pools`), mapping the file (`attach`), the rows of heaps (`heaps`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use underbar_ledger::HeapSteps;
use underbar_ledger::heap_steps::ROWS;

use super::{guard, pools};

/// The place of the row that heaps without one of their own share.
const OTHERS: usize = ROWS - 1;

/// The pages in use, in words that no fork wipes: a child learns by them which rows have one. Null: the row has none. Written under the
/// lock of the list of heaps, and by a child's only thread; relaxed, as they are read by the same.
static LAST: [AtomicPtr<HeapSteps>; ROWS] = [const { AtomicPtr::new(null_mut()) }; ROWS];

/// The page of a row; None if there is none.
#[inline]
pub(crate) fn page(row: usize) -> Option<&'static HeapSteps> {
    // SAFETY: null, or a page that stays mapped.
    unsafe { guard().heap_steps.get(row)?.load(Ordering::Relaxed).as_ref() }
}

/// Maps the page of a row that belongs to this process's slot; None if it has no slot, or none can be had.
pub(super) type Map = fn(usize) -> Option<&'static HeapSteps>;

/// A row has a heap of another kind or name than before: what was counted there goes to the others. Called by the thread that has the
/// lock of the list of heaps.
pub(super) fn begin(map: Map, row: usize) {
    if pools::pages().is_none_or(|pages| pages.head.counts_steps.load(Ordering::Relaxed) == 0) {
        return;
    }
    match page(row) {
        Some(_) if row == OTHERS => {}
        Some(used) => {
            if let Some(others) = page(OTHERS).or_else(|| make(map, OTHERS)) {
                others.fold(used);
            }
            used.wipe();
        }
        None => {
            make(map, row);
        }
    }
}

fn make(map: Map, row: usize) -> Option<&'static HeapSteps> {
    let page = map(row)?;
    // The slot may have been another process's.
    page.wipe();
    let to = core::ptr::from_ref(page).cast_mut();
    LAST[row].store(to, Ordering::Relaxed);
    guard().heap_steps[row].store(to, Ordering::Relaxed);
    Some(page)
}

/// In a child by fork that has a slot of its own: pages of its own.
pub(super) fn in_child(map: Map) {
    for (row, last) in LAST.iter().enumerate() {
        if !last.load(Ordering::Relaxed).is_null() && make(map, row).is_none() {
            last.store(null_mut(), Ordering::Relaxed);
            guard().heap_steps[row].store(null_mut(), Ordering::Relaxed);
        }
    }
}
