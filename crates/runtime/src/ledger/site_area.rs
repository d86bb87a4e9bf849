//! The word that leads to the site area of this process. It is in the guard, which a fork wipes: a child whose fork was not announced
//! has no area.
//!
//! Not here: the area (`crate::sites`).

use core::sync::atomic::Ordering;

use super::guard;

/// The mapped area; null if there is none. Relaxed: written before other threads run, and in a forked child's only thread.
#[inline]
pub(crate) fn get() -> *mut u8 {
    guard().sites.load(Ordering::Relaxed)
}

/// Uses an area, which stays mapped for ever, or none.
pub(crate) fn set(area: *mut u8) {
    guard().sites.store(area, Ordering::Relaxed);
}
