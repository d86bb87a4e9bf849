//! The pages of classes of ECBs that belong to this process's slot.
//!
//! ```text
//! class made    ─> page of the ledger file, or a private one ─> guard (wiped in a child by fork)
//! child by fork ─> a page of its own for each, with the ECBs that are alive in it
//! ```
//!
//! Invariant: a process that makes no class has no page. A child never writes to its parent's: until it has pages of its own,
//! nothing is counted.
//! Not here: what is counted, and when (`heap::ecb`), mapping the file (`attach`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use underbar_ledger::Classes;
use underbar_ledger::classes::{ClassRow, ROWS};

use super::guard;

/// SAFETY: the pages are made of atomics only, for which zero is a value.
static PRIVATE: Classes = unsafe { core::mem::zeroed() };

/// The pages in use, in words that no fork wipes: a child finds its parent's by them. Null: the class has none. Written under the
/// lock of the classes, and by a child's only thread; relaxed, as they are read by the same.
static LAST: [AtomicPtr<ClassRow>; ROWS] = [const { AtomicPtr::new(null_mut()) }; ROWS];

/// The ECBs of each class that are alive at the fork that is under way. Written by the thread that forks, under the locks of the
/// heap; relaxed: read by that thread's copy in the child.
static ALIVE: [AtomicU64; ROWS] = [const { AtomicU64::new(0) }; ROWS];
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// The page of a class; None if there is none.
#[inline]
pub(crate) fn row(class: usize) -> Option<&'static ClassRow> {
    if cfg!(feature = "no-accounts") {
        return None;
    }
    // SAFETY: null, a private page, or one that stays mapped.
    unsafe { guard().classes.get(class)?.load(Ordering::Relaxed).as_ref() }
}

/// Before a fork, in the parent: so many ECBs of a class are alive.
pub(crate) fn keep(class: usize, alive: u64) {
    if let Some(kept) = ALIVE.get(class) {
        kept.store(alive, Ordering::Relaxed);
        IS_KEPT.store(true, Ordering::Relaxed);
    }
}

/// After it, in the parent.
pub(super) fn keep_no_more() {
    IS_KEPT.store(false, Ordering::Relaxed);
}

/// Maps the page of a class that belongs to this process's slot; None if it has no slot, or none can be had.
pub(super) type Map = fn(usize) -> Option<&'static ClassRow>;

/// Makes the page of a class; `fill_in` describes it. Called by the thread that has the lock of the classes.
pub(super) fn make(map: Map, class: usize, fill_in: impl FnOnce(&ClassRow)) {
    // A child whose fork was not announced has its own pages from then on.
    super::slot();
    let Some(own) = PRIVATE.0.get(class) else { return };
    let page = map(class).unwrap_or(own);
    fill_in(page);
    set(page, class);
}

/// Uses the page; the host may look at it.
fn set(page: &'static ClassRow, class: usize) {
    let to = core::ptr::from_ref(page).cast_mut();
    LAST[class].store(to, Ordering::Relaxed);
    guard().classes[class].store(to, Ordering::Relaxed);
    if !core::ptr::eq(page, &raw const PRIVATE.0[class]) {
        // If an earlier one got no page, the host sees none behind it.
        let (made, more) = (class as u64, class as u64 + 1);
        let _ = super::slot().classes.compare_exchange(made, more, Ordering::Release, Ordering::Relaxed);
    }
}

/// In a child by fork that has a slot of its own: takes over its part of its parent's classes.
pub(super) fn in_child(map: Map) {
    let is_kept = IS_KEPT.swap(false, Ordering::Relaxed);
    for (class, last) in LAST.iter().enumerate() {
        // SAFETY: null, a private page, or one that stays mapped.
        let Some(parent) = (unsafe { last.load(Ordering::Relaxed).as_ref() }) else { continue };
        let page = map(class).unwrap_or(&PRIVATE.0[class]);
        // The child's own copy of a private page has all of it.
        if !core::ptr::eq(page, parent) {
            let alive = if is_kept { ALIVE[class].load(Ordering::Relaxed) } else { parent.alive() };
            page.inherit(parent, alive);
        }
        set(page, class);
    }
}
