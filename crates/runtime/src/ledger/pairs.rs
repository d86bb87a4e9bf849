//! The pages of ECBs by name-value pairs that belong to this process's slot.
//!
//! ```text
//! first pair    ─> pages of the ledger file, or private ones ─> guard (wiped in a child by fork)
//! child by fork ─> pages of its own, with the same pairs in the same rows
//! ```
//!
//! Invariant: a process whose ECBs have no pairs has no pages. A child never writes to its parent's: until it has pages of its own,
//! nothing is counted. An ECB that is alive in both knows its pairs by the numbers of their rows, so these are the same in both.
//! Not here: which ECB has which pair (`heap::ecb::pairs`), mapping the file (`attach`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use underbar_ledger::Pairs;

use super::guard;

/// SAFETY: the pages are made of atomics only, for which zero is a value.
static PRIVATE: Pairs = unsafe { core::mem::zeroed() };

/// The pages in use, in a word that no fork wipes: a child finds its parent's by it. Null: there are none. Written under the lock of the
/// classes, and by a child's only thread; relaxed, as it is read by the same.
static LAST: AtomicPtr<Pairs> = AtomicPtr::new(null_mut());

/// The pages; None if there are none.
#[inline]
pub(crate) fn pages() -> Option<&'static Pairs> {
    if cfg!(feature = "no-accounts") {
        return None;
    }
    // SAFETY: null, the private pages, or some that stay mapped. Acquire: they are wiped.
    unsafe { guard().pairs.load(Ordering::Acquire).as_ref() }
}

/// Maps the pages that belong to this process's slot; None if it has no slot, or none can be had.
pub(super) type Map = fn() -> Option<&'static Pairs>;

/// The pages, made if there are none. Called by the thread that has the lock of the classes.
pub(super) fn pages_or_new(map: Map) -> &'static Pairs {
    // A child whose fork was not announced has its own pages from then on.
    super::slot();
    pages().unwrap_or_else(|| {
        let pages = map().unwrap_or(&PRIVATE);
        pages.wipe();
        set(pages);
        pages
    })
}

/// Uses the pages; the host may look at them.
fn set(pages: &'static Pairs) {
    let to = core::ptr::from_ref(pages).cast_mut();
    LAST.store(to, Ordering::Relaxed);
    guard().pairs.store(to, Ordering::Release);
    if !core::ptr::eq(pages, &raw const PRIVATE) {
        super::slot().pairs.store(1, Ordering::Release);
    }
}

/// In a child by fork that has a slot of its own: takes over its parent's pairs.
pub(super) fn in_child(map: Map) {
    // SAFETY: null, the private pages, or some that stay mapped.
    let Some(parent) = (unsafe { LAST.load(Ordering::Relaxed).as_ref() }) else { return };
    let pages = map().unwrap_or(&PRIVATE);
    // The child's own copy of the private pages has all of it.
    if !core::ptr::eq(pages, parent) {
        pages.inherit(parent);
    }
    set(pages);
}
