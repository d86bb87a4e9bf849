//! Changes while the program runs: the disposition of empty increments, and the return of empty ones now.
//!
//! ```text
//! to FREE: empty increments go back now, and from then on at once
//! to KEEP: empty increments stay, also those that were idle
//! to AUTO: empty increments are idle from now on, and free pages go back by time
//! ```
//!
//! Segments go as a whole. Cells that wait in a thread's bins, and extents that a thread keeps, hold on to theirs.
//! Not here: the callers (`ledger::control`); sizes of segments, which HEAP alone sets.

use super::super::block::Block;
use super::super::map::PAGE;
use super::segment::{SEGMENT_LOSS, Segment, segment_of};
use super::{Disposition, Space};

impl Space {
    /// Changes the disposition of empty increments; false if it is already in force.
    pub fn change_disposition(&mut self, disposition: Disposition) -> bool {
        if self.policy.disposition == disposition {
            return false;
        }
        self.policy.disposition = disposition;
        match disposition {
            Disposition::Free => self.give_back_empty(),
            // SAFETY: segments in the list of idle ones are live.
            Disposition::Keep => unsafe {
                while let Some(segment) = self.idle_oldest.as_mut() {
                    self.no_longer_idle(segment);
                }
            },
            Disposition::Auto => {
                if self.reservation == 0 {
                    self.forget_initial();
                }
                self.with_empty(|space, _, segment| {
                    if segment.idle_since == 0 && !segment.initial {
                        space.now_idle(segment);
                    }
                });
                self.note_all_free();
            }
        }
        true
    }

    /// Gives every empty segment back to the kernel; under KEEP and FREE all but the initial one.
    pub fn give_back_empty(&mut self) {
        self.release_parked(0);
        self.with_empty(|space, block, segment| {
            if segment.idle_since != 0 {
                space.no_longer_idle(segment);
            }
            // Under AUTO it is the reservation of THSIZE, or there is none.
            if segment.initial {
                return;
            }
            // SAFETY: the block is in the index, and is all of the segment.
            unsafe { space.index.remove(block, segment.whole()) };
            space.unmap(segment);
        });
    }

    /// AUTO knows no initial segment.
    fn forget_initial(&mut self) {
        let mut next = self.all;
        // SAFETY: segments in the list are live, and we hold the lock.
        while let Some(segment) = unsafe { next.as_mut() } {
            segment.initial = false;
            next = segment.all_next;
        }
    }

    /// Calls `then` for each segment that is one free block. `then` may remove that segment.
    fn with_empty(&mut self, mut then: impl FnMut(&mut Self, Block, &mut Segment)) {
        let mut next = self.index.first(PAGE - SEGMENT_LOSS);
        while let Some(block) = next {
            // SAFETY: blocks in the index are free blocks of live segments, and we hold the lock.
            unsafe {
                next = self.index.after(block);
                let segment = &mut *segment_of(block);
                if block.size() == segment.whole() {
                    then(self, block, segment);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ONE_AT_A_TIME;
    use super::super::super::object::DEFAULT;
    use super::super::Policy;
    use super::*;
    use std::vec::Vec;

    const SMALL: Policy =
        Policy { initial: 1 << 16, increment: 1 << 16, disposition: Disposition::Keep, ..Policy::AUTO };

    /// Twenty segments, all but every fifth empty.
    fn filled(policy: Policy) -> (Space, Vec<usize>) {
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        space.set_policy(policy);
        let elements: Vec<_> = (0..20).map(|_| space.get(60_000, 16).expect("storage").address).collect();
        let (kept, freed): (Vec<_>, Vec<_>) = (0..20).partition(|at| at % 5 == 0);
        for at in freed {
            // SAFETY: in use, and not used again.
            unsafe { space.free(elements[at]) }.expect("in use");
        }
        (space, kept.into_iter().map(|at| elements[at]).collect())
    }

    fn all_back(mut space: Space, kept: Vec<usize>) -> Space {
        for address in kept {
            // SAFETY: in use, and not used again.
            unsafe { space.free(address) }.expect("in use");
        }
        space
    }

    #[test]
    fn what_is_empty_goes_back_when_free_is_said() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, kept) = filled(SMALL);
        assert_eq!(space.segments, 20);
        assert!(space.change_disposition(Disposition::Free));
        assert!(!space.change_disposition(Disposition::Free));
        assert_eq!(space.segments, 4);
        // From then on at once; the initial one stays.
        assert_eq!(all_back(space, kept).segments, 1);
    }

    #[test]
    fn parked_extents_are_empty_too() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        space.set_policy(SMALL);
        let extents: Vec<_> = (0..100).map(|_| space.get_extent(4096)).collect();
        let before = space.segments;
        for extent in extents {
            // SAFETY: no cell of it was ever out.
            unsafe { space.park(extent) };
        }
        assert!(before > 5 && space.segments == before);
        assert!(space.change_disposition(Disposition::Free));
        assert_eq!(space.segments, 1);
    }

    #[test]
    fn a_trim_changes_nothing_for_later() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, kept) = filled(SMALL);
        space.give_back_empty();
        assert_eq!(space.segments, 4);
        let mut space = all_back(space, kept);
        assert_eq!(space.segments, 4);
        space.give_back_empty();
        assert_eq!(space.segments, 1);
    }

    #[test]
    fn what_is_empty_is_idle_under_auto_and_not_under_keep() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, kept) = filled(SMALL);
        assert!(space.change_disposition(Disposition::Auto));
        assert_eq!(space.idle_bytes(), 16 << 16);
        assert!(space.change_disposition(Disposition::Keep));
        assert_eq!((space.idle_bytes(), space.segments), (0, 20));
        assert!(space.change_disposition(Disposition::Auto));
        space.return_idle(4 << 16);
        assert_eq!((space.idle_bytes(), space.segments), (4 << 16, 8));
        space.give_back_empty();
        assert_eq!((space.idle_bytes(), space.segments), (0, 4));
        let mut space = all_back(space, kept);
        space.return_idle(0);
        // The initial one went as well: AUTO knows none.
        assert_eq!(space.bytes, 0);
    }
}
