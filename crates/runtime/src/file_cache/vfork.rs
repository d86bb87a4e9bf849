//! Children by vfork, which run in this process's memory until they execute a program: they touch no cache.
//!
//! The parent does not run meanwhile. Its caches are empty, so a child that writes finds the kernel's place. When the parent runs again, its
//! process number tells.
//!
//! Not here: children that have memory of their own.

use core::sync::atomic::{AtomicI32, Ordering};

use underbar_sys::syscall::getpid;

use super::slot;

/// The process that called vfork, until it is seen to run again. Written by the thread that calls it, and by one that sees it; relaxed, as
/// a child is that same thread.
static PARENT: AtomicI32 = AtomicI32::new(0);

/// The process is about to make a child.
pub(super) fn begins() {
    PARENT.store(getpid(), Ordering::Relaxed);
}

/// Whether this is such a child.
#[inline(always)]
pub(super) fn is_child() -> bool {
    PARENT.load(Ordering::Relaxed) != 0 && look()
}

#[cold]
fn look() -> bool {
    if getpid() != PARENT.load(Ordering::Relaxed) {
        return true;
    }
    PARENT.store(0, Ordering::Relaxed);
    slot::places_are_unknown();
    false
}
