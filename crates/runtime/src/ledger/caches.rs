//! The rows of caches of files that belong to this process's slot.
//!
//! Invariant: a process that caches nothing has no pages. A child by fork makes its own when it first caches, or leaves a file alone.
//! Not here: what is counted (`file_cache`), mapping the file (`attach`).

use core::sync::atomic::Ordering;

use underbar_ledger::Caches;

use super::guard;

/// SAFETY: the pages are made of atomics only, for which zero is a value.
static PRIVATE: Caches = unsafe { core::mem::zeroed() };

/// The rows, made if there are none yet; private ones, which nobody reads, if none can be had. Called under the lock of the caches.
pub(super) fn get(map: fn() -> Option<&'static Caches>) -> &'static Caches {
    // SAFETY: null, the private pages, or some that stay mapped. Acquire: they are wiped.
    if let Some(pages) = unsafe { guard().caches.load(Ordering::Acquire).as_ref() } {
        return pages;
    }
    // A child whose fork was not announced has its own slot from then on.
    super::slot();
    let pages = map().unwrap_or(&PRIVATE);
    pages.wipe();
    guard().caches.store(core::ptr::from_ref(pages).cast_mut(), Ordering::Release);
    if !core::ptr::eq(pages, &raw const PRIVATE) {
        super::slot().caches.store(1, Ordering::Release);
    }
    pages
}

/// In a child by fork that has a slot of its own.
pub(super) fn in_child() {
    guard().caches.store(core::ptr::null_mut(), Ordering::Relaxed);
}
