//! ECBs when a thread ends, figures are settled, and the process forks.
//!
//! Not here: a seat (`seat`), and other heaps at a fork (`heap::all_heaps`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use super::super::thread::ThreadHeap;
use super::seat::{self, Seat};
use super::{class, ended, innermost, ready, stand_up, zoned};

/// The calling thread ends: it leaves all ECBs.
///
/// # Safety
/// The home is this thread's.
pub(in crate::heap) unsafe fn thread_ends(home: *mut ThreadHeap) {
    // SAFETY: seats and home are this thread's.
    unsafe {
        loop {
            let seat = innermost(home);
            if seat.is_null() {
                break;
            }
            stand_up(home, seat);
        }
        let mut next: *mut Seat = core::mem::replace(&mut (*home).first_seat, null_mut()).cast();
        while let Some(seat) = next.as_mut() {
            next = seat.deeper;
            seat.give_up();
            seat::leave(seat);
        }
    }
}

/// Publishes what the calling thread has counted.
///
/// # Safety
/// The home is this thread's, which is not in the middle of a request.
pub(in crate::heap) unsafe fn settle(home: *mut ThreadHeap) {
    // SAFETY: seats and home are this thread's.
    unsafe {
        let mut next: *mut Seat = (*home).first_seat.cast();
        while let Some(seat) = next.as_mut() {
            next = seat.deeper;
            seat.settle();
        }
    }
}

/// Is no thread in the middle of making or taking control blocks?
pub(in crate::heap) fn is_quiet() -> bool {
    let mut is_free =
        zoned::is_quiet() && class::MAKING.try_lock().is_some() && seat::is_quiet() && ended::is_quiet();
    class::each(|class| is_free = is_free && class.is_quiet());
    is_free
}

/// Before a fork.
pub(in crate::heap) fn hold() {
    zoned::hold();
    class::MAKING.hold();
    class::each(|class| {
        class.hold();
        class.keep_alive();
    });
    seat::hold();
    ended::hold();
}

/// After a fork, in parent and child.
///
/// # Safety
/// This thread called [`hold`].
pub(in crate::heap) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe {
        ended::release();
        seat::release();
        class::each(|class| class.release());
        class::MAKING.release();
        zoned::release();
    }
}

/// In a forked child: no thread is inside an ECB, but for this one. What other threads had of its lists and regions is lost until it
/// ends. So is everything that was free, if a thread outside was in the middle of freeing a buffer with a name.
///
/// # Safety
/// There is no other thread; the home is this thread's, or null.
pub(in crate::heap) unsafe fn after_fork_in_child(home: *mut ThreadHeap) {
    ready::each_block(|block| {
        let inside = block.gate.inside(block.gate.generation());
        let is_another_s = block.shared.is_another_s();
        if inside == 0 && !is_another_s {
            return;
        }
        let mut own = 0;
        // SAFETY: seats and home are this thread's.
        unsafe {
            let mut next: *mut Seat = if home.is_null() { null_mut() } else { innermost(home) };
            while let Some(seat) = next.as_ref() {
                own += u32::from(core::ptr::eq(seat.block, block));
                next = seat.outer;
            }
            if is_another_s || (inside as u32 > own && !block.shared.is_mine()) {
                block.shared.forget_owner();
                block.shared.lock().lose();
                block.chains.clear();
                block.kept.store(0, Ordering::Relaxed);
            }
        }
        block.gate.set_inside(own);
    });
}
