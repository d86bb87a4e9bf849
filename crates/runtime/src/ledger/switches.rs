//! The pages of switches that belong to this process's slot.
//!
//! ```text
//! SWITCHES(ON), at the start ─> first pages of the ledger file ─> guard (wiped in a child by fork)
//! a thread's first call      ─> the pages of a table
//! child by fork              ─> pages of its own, when it first counts
//! ```
//!
//! Invariant: without a slot there are no pages, and nothing is counted. A child never gets its parent's.
//! Not here: what is counted (`switch`), mapping the file (`attach`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use underbar_ledger::Switches;
use underbar_ledger::switches::{CALLED, Called, Fixed, Table};
use underbar_sys::lock::Lock;
use underbar_sys::syscall::getpid;

use super::guard;
use crate::sandbox;

/// Maps the room of all pages that belong to this process's slot, of which the first ones are allocated; None if it has no slot, or none
/// can be had.
pub(super) type Map = fn() -> Option<*const Switches>;
/// Allocates the pages of a table. False if that is impossible.
pub(super) type Allocate = fn(usize) -> bool;

/// Held by the thread that makes pages: a word that no fork wipes, so that it knows whether it was tried in this process. The number of the
/// process that tried; 0: none.
static TRIED: Lock<i32> = Lock::new(0);

/// Functions that were bound in this process, or in its parents. Written at the start; relaxed, as nothing depends on it.
static BOUND: AtomicU64 = AtomicU64::new(0);

/// So many functions are bound.
pub(super) fn bound(functions: u64) {
    BOUND.store(functions, Ordering::Relaxed);
    let pages = there();
    if !pages.is_null() {
        // SAFETY: mapped for ever, and the first pages are allocated.
        unsafe { &(*pages).fixed.head }.functions_bound.store(functions, Ordering::Relaxed);
    }
}

/// Whether functions are bound, so that switches are counted.
pub(super) fn is_bound() -> bool {
    BOUND.load(Ordering::Relaxed) > 0
}

/// A function that is called in a child by fork, which has its parent's tables no longer. Written once; relaxed, as the code was there
/// before.
static WHEN_GONE: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Has `then` called in each child by fork that finds a slot of its own.
pub(super) fn when_gone(then: fn()) {
    WHEN_GONE.store(then as *mut (), Ordering::Relaxed);
}

fn there() -> *const Switches {
    guard().switches.load(Ordering::Acquire)
}

/// All pages, also those that are not allocated.
pub(super) fn whole() -> Option<&'static Switches> {
    // SAFETY: mapped for ever; made of atomics. The pages that are not allocated are read by nobody.
    unsafe { there().as_ref() }
}

/// The first pages, made if there are none yet. None if there can be none.
#[inline]
pub(super) fn get(map: Map) -> Option<&'static Fixed> {
    let pages = match there() {
        pages if pages.is_null() => make(map)?,
        pages => pages,
    };
    // SAFETY: mapped for ever, and the first pages are allocated.
    Some(unsafe { &(*pages).fixed })
}

#[cold]
fn make(map: Map) -> Option<*const Switches> {
    if sandbox::is_closed() {
        return None;
    }
    // A child whose fork was not announced has its own slot from then on.
    super::slot();
    let mut tried = TRIED.try_lock()?;
    if !there().is_null() {
        return Some(there());
    }
    let me = getpid();
    if *tried == me {
        return None;
    }
    *tried = me;
    let pages = map()?;
    // SAFETY: as above. The slot may have been another process's.
    unsafe { (*pages).fixed.wipe() };
    guard().switch_tables.store(0, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { &(*pages).fixed.head }.functions_bound.store(BOUND.load(Ordering::Relaxed), Ordering::Relaxed);
    guard().switches.store(pages.cast_mut(), Ordering::Release);
    super::slot().switches.store(1, Ordering::Release);
    Some(pages)
}

/// A table, of which the caller is the owner. None if it can have no pages.
pub(super) fn table(allocate: Allocate, number: usize) -> Option<&'static Table> {
    let pages = there();
    if pages.is_null() {
        return None;
    }
    // SAFETY: a place in the mapped room, which is read only if its pages are allocated.
    let table = unsafe { &raw const (*pages).tables[number] };
    let is_made = guard().switch_tables.load(Ordering::Acquire) >> number & 1 != 0;
    if !is_made && !allocate(number) {
        return None;
    }
    // SAFETY: mapped for ever, allocated, made of atomics.
    let table = unsafe { &*table };
    if !is_made {
        table.wipe();
        guard().switch_tables.fetch_or(1 << number, Ordering::Release);
        // SAFETY: as above.
        unsafe { &(*pages).fixed.head }.made.fetch_or(1 << number, Ordering::Release);
    }
    Some(table)
}

/// The functions of libraries, whose pages are allocated if they are not there. None if they cannot be had.
pub(super) fn called(allocate: fn() -> bool) -> Option<&'static [Called; CALLED]> {
    let pages = there();
    if pages.is_null() {
        return None;
    }
    // SAFETY: mapped for ever, and the first pages are allocated.
    let is_made = unsafe { &(*pages).fixed.head }.called_made.load(Ordering::Acquire) != 0;
    if !is_made && !allocate() {
        return None;
    }
    // SAFETY: as above; the pages of all rows are allocated, made of atomics.
    let rows = unsafe { &(*pages).called };
    if !is_made {
        underbar_ledger::switches::wipe_called(rows);
        // SAFETY: as above.
        unsafe { &(*pages).fixed.head }.called_made.store(1, Ordering::Release);
    }
    Some(rows)
}

/// In a child by fork that has a slot of its own: it makes pages when it first counts.
pub(super) fn in_child() {
    guard().switches.store(null_mut(), Ordering::Relaxed);
    guard().switch_tables.store(0, Ordering::Relaxed);
    let then = WHEN_GONE.load(Ordering::Relaxed);
    if !then.is_null() {
        // SAFETY: `when_gone` stored a function of this type.
        unsafe { core::mem::transmute::<*mut (), fn()>(then)() }
    }
}
