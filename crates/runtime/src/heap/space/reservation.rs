//! The reservation of THSIZE: the first segment, as large as the program's buffers need together, which keeps its pages.
//!
//! ```text
//! reservation | buffer | free | buffer | free, its pages stay ... | (never used) |     further segments: what did not fit
//!             ^ start                                            ^ high           as without THSIZE
//! ```
//!
//! Buffers that come and go get storage of it first, since it has the free blocks, and nothing of it goes back: not by time, not when it
//! is empty, not by `malloc_trim`.
//!
//! Invariant: only the first segment of a space is one; so many bytes at most stay resident that are not in use.
//! Cost: none for a request.
//! Not here: where segments come from (`supply`), what goes back by time (`decay`).

use underbar_ledger::Key;

use super::Space;
use super::segment::Segment;
use crate::ledger;

impl Space {
    /// The first segment has at least so many bytes, and is kept with its pages. Before the first request.
    pub fn reserve_and_keep(&mut self, bytes: usize) {
        self.reservation = bytes;
    }

    /// Tells of a segment that was just allocated with that size.
    pub(super) fn tell_reservation(&self, size: usize) {
        if self.reservation == 0 {
            return;
        }
        if self.segments == 1 {
            ledger::set(Key::ThreadStorageSize, size as u64);
        } else {
            ledger::add(Key::ThreadStorageOutside, 1);
        }
    }

    /// Tells how much of the reservation was used. For a child by fork, which has its parent's, also its size.
    pub fn look_at_reservation(&self) {
        if self.reservation == 0 {
            return;
        }
        let mut next: *const Segment = self.all;
        // SAFETY: segments in the list are live, and we hold the lock.
        while let Some(segment) = unsafe { next.as_ref() } {
            if segment.initial {
                ledger::set(Key::ThreadStorageSize, segment.size as u64);
                ledger::raise(
                    Key::ThreadStorageReached,
                    (segment.high - segment.start).min(segment.size) as u64,
                );
            }
            next = segment.all_next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ONE_AT_A_TIME;
    use super::super::super::object::DEFAULT;
    use super::super::{Policy, Space};

    const RESERVED: usize = 8 << 20;

    /// A space with a reservation, in which `bytes` were got and freed.
    fn used(bytes: usize) -> Space {
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        space.set_policy(Policy::AUTO);
        space.reserve_and_keep(RESERVED);
        use_twice(&mut space, bytes);
        space
    }

    /// Twice, since what is freed for the first time may go back at once.
    fn use_twice(space: &mut Space, bytes: usize) {
        for _ in 0..2 {
            let element = space.get(bytes, 16).expect("storage");
            // SAFETY: in use, and not used again.
            unsafe { space.free(element.address) }.expect("in use");
        }
    }

    #[test]
    fn what_fits_is_kept_and_never_idle() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = used(3 << 20);
        assert_eq!((space.segments, space.bytes, space.idle_bytes()), (1, RESERVED, 0));
        space.give_back_empty();
        space.return_idle(0);
        assert_eq!((space.segments, space.bytes), (1, RESERVED));
        // Nothing waits for a look that gives pages back by time.
        assert_eq!(space.decay.due, u64::MAX);
        let again = space.get(6 << 20, 16).expect("storage");
        assert_eq!(space.segments, 1);
        // SAFETY: in use, and not used again.
        unsafe { space.free(again.address) }.expect("in use");
    }

    #[test]
    fn the_reservation_comes_first_also_if_the_first_request_does_not_fit() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = used(2 * RESERVED);
        assert_eq!(space.segments, 2);
        space.return_idle(0);
        assert_eq!((space.segments, space.bytes), (1, RESERVED));
    }

    #[test]
    fn what_does_not_fit_goes_the_usual_way() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = used(1 << 20);
        use_twice(&mut space, 2 * RESERVED);
        assert_eq!(space.segments, 2);
        assert!(space.idle_bytes() > 2 * RESERVED);
        space.return_idle(0);
        assert_eq!((space.segments, space.bytes), (1, RESERVED));
    }
}
