//! The trace tables of ECBs that belong to this process's slot.
//!
//! ```text
//! first request noted ─> pages of the ledger file, or private ones ─> guard (wiped in a child by fork)
//! child by fork       ─> pages of its own, empty
//! ```
//!
//! Invariant: a process that notes no request has no such pages. A child never writes to its parent's: until it has pages of its own,
//! nothing is noted.
//! Not here: what is noted, and by whom (`heap::ecb::traced`), mapping the file (`attach`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::Traces;
use underbar_sys::lock::Lock;

use super::guard;

/// Maps the tables that belong to this process's slot; None if it has no slot, or none can be had.
pub(super) type Map = fn() -> Option<&'static Traces>;

/// SAFETY: the pages are made of atomics only, for which zero is a value.
static PRIVATE: Traces = unsafe { core::mem::zeroed() };
/// Whether there are some, in a word that no fork wipes. Written under its lock, and by a child's only thread.
static IS_MADE: Lock<bool> = Lock::new(false);

/// The tables, made if there are none yet. None in a child that has none yet.
pub(super) fn get(map: Map) -> Option<&'static Traces> {
    // SAFETY: null, the private pages, or pages that stay mapped.
    let there = unsafe { guard().traces.load(Ordering::Relaxed).as_ref() };
    if there.is_some() { there } else { make(map) }
}

#[cold]
fn make(map: Map) -> Option<&'static Traces> {
    // A child whose fork was not announced has its own pages from then on.
    super::slot();
    let mut is_made = IS_MADE.try_lock()?;
    if *is_made {
        // SAFETY: as above.
        return unsafe { guard().traces.load(Ordering::Relaxed).as_ref() };
    }
    *is_made = true;
    Some(set(map))
}

/// Maps pages and uses them; the host may look at them.
fn set(map: Map) -> &'static Traces {
    let mapped = map();
    let pages = mapped.unwrap_or(&PRIVATE);
    guard().traces.store(core::ptr::from_ref(pages).cast_mut(), Ordering::Relaxed);
    if mapped.is_some() {
        super::slot().traces.store(1, Ordering::Release);
    }
    pages
}

/// In a child by fork that has a slot of its own.
pub(super) fn in_child(map: Map) {
    guard().traces.store(null_mut(), Ordering::Relaxed);
    // If the fork came in the middle, another thread made them, and is gone.
    if IS_MADE.try_lock().is_none_or(|is_made| *is_made) {
        set(map);
    }
}
