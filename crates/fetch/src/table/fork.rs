//! Forks of the process.
//!
//! Invariant: in a child the locks of the loader are free, whichever thread forked. They are held in the order in which they
//! are taken: that of lingering programs first, then that of the table.
//! Not here: what a child forgets ([`super::forget_unfinished`]).

use core::sync::atomic::{AtomicU32, Ordering};

use crate::system;
use crate::{enclave, image};

/// 1 when the handlers are registered. Written once, by the thread that makes the first program; relaxed.
static PREPARED: AtomicU32 = AtomicU32::new(0);

/// Once: the handlers of fork.
pub(super) fn prepare() {
    if PREPARED.swap(1, Ordering::Relaxed) == 0 {
        // SAFETY: functions of this library, which stay as long as the process, or as the library that contains us.
        unsafe { system::pthread_atfork(before, after, after_in_child) };
    }
}

unsafe extern "C" fn before() {
    enclave::hold();
    super::hold();
    image::hold();
}

unsafe extern "C" fn after() {
    // SAFETY: held before, by this thread or by the thread that it is a copy of.
    unsafe {
        image::release();
        super::release();
        enclave::release();
    }
}

unsafe extern "C" fn after_in_child() {
    // SAFETY: as in the parent.
    unsafe { after() };
    super::forget_unfinished();
    image::forked();
}
