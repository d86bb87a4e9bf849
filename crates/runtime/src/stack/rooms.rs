//! Alternate stacks of threads that run on stacks of the C library, for the handler that names a stack overflow.
//!
//! ```text
//! begins ── ready, or a new mapping ──> the thread's ── ends ──> ready for the next one, at most MOST; or back to the kernel
//! ```
//!
//! Only while that handler is in place (`overflow`). A thread whose program sets an alternate stack of its own keeps that one.
//! A page of each is in memory. The one of a thread that ends in a handler on it, or after the program has forbidden itself system
//! calls, is not used again.
//!
//! Invariant: a room is one thread's, or ready.
//! Cost: where no overflow is named, a load when such a thread begins, and a comparison when it ends.
//! Not here: the handler.

use core::ptr::null_mut;

use underbar_sys::lock::Lock;
use underbar_sys::syscall;

use crate::overflow::{self, ROOM};

/// The most that wait.
const MOST: usize = 64;

/// Rooms that wait, and how many.
static READY: Lock<([usize; MOST], usize)> = Lock::new(([0; MOST], 0));

/// The calling thread begins on a stack of the C library with these ends. The alternate stack that it got; 0: none.
pub fn begins(low: usize, high: usize, is_asked: bool) -> usize {
    if !overflow::is_in_place() {
        return 0;
    }
    let room = match take() {
        0 => new(),
        room => room,
    };
    if room != 0 {
        // SAFETY: this thread's, until `ends`.
        unsafe { overflow::thread_of_c_begins(room, low, high, is_asked) };
    }
    room
}

/// The calling thread ends.
#[inline]
pub fn ends(room: usize) {
    if room != 0 && overflow::thread_of_c_ends(room) && !put(room) {
        // SAFETY: nobody's any more.
        let _ = unsafe { syscall::munmap(room as *mut u8, ROOM) };
    }
}

fn take() -> usize {
    let mut ready = READY.lock();
    let (rooms, count) = &mut *ready;
    *count = count.saturating_sub(1);
    rooms.get_mut(*count).map_or(0, core::mem::take)
}

fn put(room: usize) -> bool {
    let mut ready = READY.lock();
    let (rooms, count) = &mut *ready;
    let Some(place) = rooms.get_mut(*count) else { return false };
    *place = room;
    *count += 1;
    true
}

/// Marked as a stack, so that the kernel makes no huge page of many.
fn new() -> usize {
    const MAP_STACK: u32 = 0x2_0000;
    let flags = syscall::MAP_PRIVATE | syscall::MAP_ANONYMOUS | syscall::MAP_NORESERVE | MAP_STACK;
    let access = syscall::PROT_READ | syscall::PROT_WRITE;
    // SAFETY: a new mapping.
    unsafe { syscall::mmap(null_mut(), ROOM, access, flags, -1, 0) }.map_or(0, |room| room as usize)
}

/// Before a fork. In the child, the rooms of other threads stay unused.
pub fn before_fork() {
    READY.hold();
}

/// After a fork, in parent and child.
///
/// # Safety
/// This thread called [`before_fork`], or is the copy of the one that did.
pub unsafe fn after_fork() {
    // SAFETY: the caller's promise.
    unsafe { READY.release() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_that_was_given_back_is_the_next_one() {
        assert_eq!(begins(0x1000, 0x2000, false), 0, "no handler is in place here");
        let room = new();
        assert!(put(room));
        assert_eq!((take(), take()), (room, 0));
        for number in 1..=MOST {
            assert!(put(number * ROOM));
        }
        assert!(!put(room), "so many do not wait");
        assert_eq!(take(), MOST * ROOM);
        while take() != 0 {}
        ends(0);
    }
}
