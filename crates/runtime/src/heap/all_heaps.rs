//! Operations on all heaps and their threads at once: the locks of a fork, and figures of threads that have ended.
//!
//! Invariant: locks are taken in the order of `object`: the registry, all `threads`, all `space`, the stores of all heaps.
//! Not here: one thread's heaps (`thread`), and when this is done (`whole`).

use core::ptr::null_mut;

use super::object::DEFAULT;
use super::private_storage::OWN;
use super::registry::{self, REGISTRY};
use super::thread::{self, each_of, is_real, slot};
use super::{ecb, tally};

/// Whether no thread, this one included, is in the middle of an operation that the locks guard: a signal handler that ends the
/// process may have interrupted one, and must not wait for itself.
pub fn is_quiet() -> bool {
    (0..1000).any(|_| {
        core::hint::spin_loop();
        let Some(_registry) = REGISTRY.try_lock() else { return false };
        let mut is_free = true;
        registry::each(|heap| {
            is_free = is_free && heap.threads.try_lock().is_some() && heap.space.try_lock().is_some();
        });
        is_free && ecb::is_quiet() && thread::is_spare_free() && OWN.try_lock().is_some()
    })
}

/// Settles the figures of threads that have ended.
pub fn settle_abandoned() {
    let _registry = REGISTRY.lock();
    registry::each(thread::settle_abandoned);
}

/// Before a fork: takes the locks, so that no thread is in the middle of what they guard.
pub fn hold() {
    REGISTRY.hold();
    ecb::hold();
    registry::each(|heap| heap.threads.hold());
    registry::each(|heap| heap.space.hold());
    thread::hold_spare();
    OWN.hold();
}

/// After a fork, in parent and child. In the child the other threads are gone; their unfinished operations are unknown, so their
/// heaps are never taken over, and look attended for ever.
///
/// # Safety
/// This thread called [`hold`].
pub unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe {
        OWN.release();
        thread::release_spare();
        registry::each(|heap| {
            heap.space.release();
            heap.threads.release();
        });
        ecb::release();
        REGISTRY.release();
    }
}

/// In a forked child, whose only thread is inside the heaps in which its parent's was. No other thread is inside any, or sends
/// cells. If a signal handler forked after it had interrupted an operation under these locks, nothing is changed.
pub fn after_fork_in_child() {
    if !is_quiet() {
        return;
    }
    let here = slot::get();
    // SAFETY: the slot's heap is this thread's own; there is no other thread.
    unsafe {
        let home = if is_real(here) { (*here).home } else { null_mut() };
        let mut own = 0;
        if !home.is_null() {
            each_of(home, |_| own += 1);
        }
        tally::there_are(own);
        {
            let _registry = REGISTRY.lock();
            registry::each(|heap| {
                if !core::ptr::eq(heap, &DEFAULT) {
                    thread::lose_others(heap, home);
                }
            });
        }
        ecb::after_fork_in_child(home);
        if !home.is_null() {
            each_of(home, |thread| {
                if thread != home && (*thread).entered > 0 {
                    (*thread).heap.gate.set_inside((*thread).entered);
                }
            });
        }
    }
}
