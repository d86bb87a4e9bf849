//! The page of heap rows that belongs to this process's slot.
//!
//! ```text
//! first heap created ─> page of the ledger file, or a private one ─> guard (wiped in a child by fork) ─> rows
//! child by fork      ─> a page of its own, with what lives in its parent's
//! ```
//!
//! Invariant: a process that creates no heap has no page. A child never writes to its parent's: until it has a page of its
//! own, nothing is counted.
//! Not here: the assignment of rows (`heap::account`), mapping the file (`attach`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use underbar_ledger::{Heaps, RowState};

use super::guard;

/// SAFETY: a page is made of atomics only, for which zero is a value.
static PRIVATE: Heaps = unsafe { core::mem::zeroed() };

/// What a child has from the fork that is under way. The parent's page may have changed by the time that the child reads it.
/// Written by the thread that forks, under the locks of the heap; relaxed: read by that thread's copy in the child.
/// SAFETY: as above.
static AT_FORK: Heaps = unsafe { core::mem::zeroed() };
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Before a fork, in the parent: keeps its rows for the child.
pub(super) fn keep() {
    if let Some(page) = page() {
        AT_FORK.inherit(page);
        IS_KEPT.store(true, Ordering::Relaxed);
    }
}

/// After it, in the parent.
pub(super) fn keep_no_more() {
    IS_KEPT.store(false, Ordering::Relaxed);
}

/// The page in use, in a word that no fork wipes: a child finds its parent's rows by it. Null: there is none.
static LAST: AtomicPtr<Heaps> = AtomicPtr::new(null_mut());

/// The page. None if this process has created no heap.
#[inline]
pub(crate) fn page() -> Option<&'static Heaps> {
    // SAFETY: null, the private page, or one that stays mapped.
    unsafe { guard().heaps.load(Ordering::Relaxed).as_ref() }
}

/// Maps the page that belongs to this process's slot; None if it has no slot, or no page can be had.
pub(super) type Map = fn() -> Option<&'static Heaps>;

/// The page, made if there is none yet. Called by the thread that has the lock of the list of heaps.
pub(super) fn page_or_new(map: Map) -> &'static Heaps {
    // A child whose fork was not announced has its own page from then on, and its parent's rows.
    super::slot();
    page().unwrap_or_else(|| {
        let page = map().unwrap_or(&PRIVATE);
        page.wipe();
        set(page);
        page
    })
}

/// A heap got a row: the host may look at the page.
pub(crate) fn told(page: &Heaps) {
    if !core::ptr::eq(page, &raw const PRIVATE) {
        super::slot().heaps.fetch_add(1, Ordering::Release);
    }
}

fn set(page: &'static Heaps) {
    let page = core::ptr::from_ref(page).cast_mut();
    LAST.store(page, Ordering::Relaxed);
    guard().heaps.store(page, Ordering::Relaxed);
}

/// In a child by fork that has a slot of its own: takes over its part of its parent's heaps.
pub(super) fn in_child(map: Map) {
    // SAFETY: null, the private page, or one that stays mapped.
    let Some(parent) = (unsafe { LAST.load(Ordering::Relaxed).as_ref() }) else { return };
    let page = map().unwrap_or(&PRIVATE);
    // The child's own copy of the private page has all of it.
    let is_kept = IS_KEPT.swap(false, Ordering::Relaxed);
    if !core::ptr::eq(page, parent) {
        page.inherit(if is_kept { &AT_FORK } else { parent });
    }
    set(page);
    let live = page.rows.iter().filter(|row| row.get().is_some_and(|(_, state)| state == RowState::Live));
    live.for_each(|_| told(page));
}
