//! Parked extents: empty ones that wait for the next need of their class.
//!
//! ```text
//! by class   [class] -> extent -> extent            unpark takes the last one parked
//! by age     oldest <-> extent <-> extent <-> newest   release takes the first one parked
//! ```
//!
//! An extent that goes back to its own class is used in the same places as before: its cells keep their addresses, so the program
//! touches the pages that it touched already. In another class it would be touched in other places, and a heap that fills and
//! empties in turns would come to hold every page of its segments.
//!
//! If no free block fits, parked extents are given to other users before the kernel is asked. Extents that were not needed for a
//! whole period go back (AUTO). A program that fills and empties its heap faster than that keeps its pages.
//!
//! Invariant: a parked extent has no cell out, is in both lists, and `bytes` is the sum of their sizes.
//! Not here: the lists of a thread's heap (`thread`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use super::super::block::Block;
use super::super::extent::Extent;
use super::super::size::CLASSES;
use super::{Alignment, Disposition, Space};
use underbar_sys::clock;

/// `owner` of a parked extent: no heap's address, and not a segment. A free into it is a double free.
pub const PARKED: usize = 3;
/// Extents that were parked for this long are given back, in nanoseconds: longer than a program takes for a round of work, too
/// short to notice on a chart.
const PERIOD_NS: u64 = 300_000_000;

/// The parked extents of a space.
pub struct Parked {
    by_class: [*mut Extent; CLASSES],
    oldest: *mut Extent,
    newest: *mut Extent,
    /// Bytes of all of them.
    pub bytes: usize,
    /// The fewest bytes that were parked since the period began: these were not needed.
    least: usize,
    began: u64,
}

impl Parked {
    /// Nothing is parked.
    pub const fn new() -> Self {
        Self {
            by_class: [null_mut(); CLASSES],
            oldest: null_mut(),
            newest: null_mut(),
            bytes: 0,
            least: 0,
            began: 0,
        }
    }

    /// # Safety
    /// The extent is empty, and in no list.
    unsafe fn insert(&mut self, extent: *mut Extent) {
        // SAFETY: the caller's promise; extents in the lists are live.
        unsafe {
            let head = &mut self.by_class[(*extent).class as usize];
            ((*extent).next, (*extent).previous) = (*head, null_mut());
            if !head.is_null() {
                (**head).previous = extent;
            }
            *head = extent;
            ((*extent).older, (*extent).newer) = (self.newest, null_mut());
            if self.newest.is_null() {
                self.oldest = extent
            } else {
                (*self.newest).newer = extent
            }
            self.newest = extent;
            self.bytes += (*extent).bytes as usize;
        }
    }

    /// # Safety
    /// The extent is parked.
    unsafe fn remove(&mut self, extent: *mut Extent) {
        // SAFETY: the caller's promise; extents in the lists are live.
        unsafe {
            let (next, previous) = ((*extent).next, (*extent).previous);
            if !next.is_null() {
                (*next).previous = previous;
            }
            if previous.is_null() {
                self.by_class[(*extent).class as usize] = next;
            } else {
                (*previous).next = next;
            }
            let (older, newer) = ((*extent).older, (*extent).newer);
            if older.is_null() {
                self.oldest = newer
            } else {
                (*older).newer = newer
            }
            if newer.is_null() {
                self.newest = older
            } else {
                (*newer).older = older
            }
            self.bytes -= (*extent).bytes as usize;
        }
        self.least = self.least.min(self.bytes);
    }

    /// A parked extent of that size, of any class, if one of the oldest few has it.
    fn of_size(&self, bytes: usize) -> *mut Extent {
        let mut extent = self.oldest;
        for _ in 0..8 {
            // SAFETY: extents in the list are live.
            match unsafe { extent.as_ref() } {
                Some(found) if found.bytes as usize == bytes => break,
                Some(found) => extent = found.newer,
                None => break,
            }
        }
        // SAFETY: as above.
        if unsafe { extent.as_ref() }.is_some_and(|found| found.bytes as usize == bytes) {
            extent
        } else {
            null_mut()
        }
    }
}

impl Space {
    /// Takes an empty extent that its heap does not need.
    ///
    /// # Safety
    /// No cell of it is in use, and no list knows it.
    pub unsafe fn park(&mut self, extent: *mut Extent) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.policy.disposition == Disposition::Free {
                self.free_extent(extent);
                return;
            }
            (*extent).owner.store(PARKED, Ordering::Relaxed);
            self.parked.insert(extent);
        }
        // A period begins as soon as any extent is parked.
        self.look_at(self.parked.began + PERIOD_NS);
        self.operations = self.operations.wrapping_add(1);
        if self.operations.is_multiple_of(64) && self.is_look_due() {
            self.heartbeat();
        }
    }

    /// An extent of that class, with the cells that it had; null if none is parked.
    pub fn unpark(&mut self, class: usize) -> *mut Extent {
        let extent = self.parked.by_class[class];
        if !extent.is_null() {
            // SAFETY: it is parked.
            unsafe { self.parked.remove(extent) };
        }
        extent
    }

    /// An extent of another class, without cells; null if none of that size is parked.
    pub(super) fn convert(&mut self, bytes: usize) -> *mut Extent {
        let extent = self.parked.of_size(bytes);
        if !extent.is_null() {
            // SAFETY: it is parked, so nobody else writes it.
            unsafe {
                self.parked.remove(extent);
                extent.write(Extent::new((*extent).first_page(), bytes, (*extent).segment));
            }
        }
        extent
    }

    /// Releases parked extents, oldest first, until a block of `want` bytes is found at that alignment or only `keep`
    /// bytes are parked.
    pub(super) fn make_room(&mut self, want: usize, alignment: Alignment, keep: usize) -> Option<Block> {
        while self.parked.bytes > keep {
            self.release_oldest();
            if let Some(block) = self.find(want, alignment) {
                return Some(block);
            }
        }
        None
    }

    /// Releases parked extents, oldest first, until only `keep` bytes are parked.
    pub fn release_parked(&mut self, keep: usize) {
        while self.parked.bytes > keep {
            self.release_oldest();
        }
    }

    fn release_oldest(&mut self) {
        let extent = self.parked.oldest;
        // SAFETY: it is parked: no cell of it is in use.
        unsafe {
            self.parked.remove(extent);
            self.free_extent(extent);
        }
    }

    /// Returns extents that were not needed for a period to the segments; returns idle segments and pages that stayed unused to
    /// the kernel.
    pub fn heartbeat(&mut self) {
        /// No look comes earlier than this, in nanoseconds, whatever was left undone.
        const PAUSE_NS: u64 = 8_000_000;
        // Releases below call this again, and find nothing due.
        self.looked_until(u64::MAX);
        let now = clock::coarse();
        if self.policy.disposition != Disposition::Auto {
            self.decay.due = u64::MAX;
            self.looked_until(self.next_emptying().max(now + PAUSE_NS));
            return;
        }
        if now.saturating_sub(self.parked.began) >= PERIOD_NS {
            let keep = self.parked.bytes - self.parked.least;
            self.parked.began = now;
            self.release_parked(keep);
            self.parked.least = self.parked.bytes;
        }
        if self.idle_bytes > 0 {
            self.return_idle(usize::MAX);
        }
        self.decay(now);
        let parked_until = if self.parked.bytes > 0 { self.parked.began + PERIOD_NS } else { u64::MAX };
        // But if one look could not return everything old enough, the next one continues.
        let pause = if self.decay.goes_on() { 0 } else { PAUSE_NS };
        let next = self.decay.due.min(parked_until).min(self.idle_until()).min(self.next_emptying());
        self.looked_until(next.max(now + pause));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ONE_AT_A_TIME;
    use super::super::super::object::DEFAULT;
    use super::super::super::size::STANDARD;
    use super::super::{HugePages, PAGE, Policy};
    use super::*;
    use std::vec::Vec;

    const BYTES_OF_ONE: usize = 64 * 1024;

    /// A space with this many extents of a class parked, the first parked first.
    fn with_parked(policy: Policy, class: usize, count: usize) -> (Space, Vec<*mut Extent>) {
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        space.set_policy(policy);
        let extents: Vec<_> = (0..count).map(|_| space.get_extent(BYTES_OF_ONE)).collect();
        for &extent in &extents {
            // SAFETY: the extent is new, and has no cells out.
            unsafe {
                (*extent).set_class(class, &STANDARD);
                space.park(extent);
            }
        }
        (space, extents)
    }

    #[test]
    fn a_class_gets_its_own_back_and_the_last_one_first() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, extents) = with_parked(Policy::AUTO, 4, 3);
        assert!(space.unpark(5).is_null(), "another class's");
        assert_eq!(space.unpark(4), extents[2]);
        assert_eq!(space.unpark(4), extents[1]);
        assert_eq!(space.parked.bytes, BYTES_OF_ONE);
        assert_eq!(space.unpark(4), extents[0]);
        assert!(space.unpark(4).is_null());
        assert_eq!(
            (space.parked.bytes, space.parked.oldest, space.parked.newest),
            (0, null_mut(), null_mut())
        );
    }

    #[test]
    fn what_is_parked_serves_others_before_the_kernel_is_asked() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, extents) = with_parked(Policy::AUTO, 4, 15);
        let segments = space.segments;
        while space.parked.bytes > 14 * BYTES_OF_ONE {
            assert!(!space.get_extent(BYTES_OF_ONE).is_null());
            assert_eq!(space.segments, segments, "there was room");
        }
        // SAFETY: the oldest was converted, and is ours.
        assert_eq!(unsafe { ((*extents[0]).class, (*extents[0]).carved) }, (0, 0));
        // More than any one of them holds: neighbours are released until they form the block.
        let element = space.get(5 * BYTES_OF_ONE, PAGE).expect("storage");
        assert!((extents[1] as usize) != 0 && element.block_bytes >= 5 * BYTES_OF_ONE);
        assert_eq!(space.segments, segments, "released extents made room");
        assert!(space.parked.bytes <= 9 * BYTES_OF_ONE);
    }

    #[test]
    fn what_was_not_needed_for_a_period_is_released_and_no_more() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, extents) = with_parked(Policy::AUTO, 4, 8);
        let long_ago = |space: &mut Space| space.parked.began = 0;
        // The first period ends with a count of the parked bytes.
        long_ago(&mut space);
        space.heartbeat();
        assert_eq!(space.parked.bytes, 8 * BYTES_OF_ONE, "none was there for a whole period");
        let taken = [space.unpark(4), space.unpark(4), space.unpark(4)];
        for extent in taken {
            // SAFETY: it is empty, and ours.
            unsafe { space.park(extent) };
        }
        space.heartbeat();
        assert_eq!(space.parked.bytes, 8 * BYTES_OF_ONE, "the period has not ended");
        long_ago(&mut space);
        space.heartbeat();
        assert_eq!(space.parked.bytes, 3 * BYTES_OF_ONE, "five were not needed");
        assert_eq!(space.unpark(4), extents[5]);
    }

    #[test]
    fn extents_that_are_large_are_released_one_by_one_and_no_more() {
        const LARGE: usize = 512 * 1024;
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        space.set_policy(Policy::AUTO);
        let extents: Vec<_> = (0..40).map(|_| space.get_extent(LARGE)).collect();
        for &extent in &extents {
            // SAFETY: the extent is new, and has no cells out.
            unsafe {
                (*extent).set_class(4, &STANDARD);
                space.park(extent);
            }
        }
        (space.parked.began, space.parked.least) = (0, 10 * LARGE);
        // A free of this size also checks the time.
        space.look_at(1);
        space.heartbeat();
        assert_eq!(space.parked.bytes, 30 * LARGE);
    }

    #[test]
    fn keep_keeps() {
        let _turn = ONE_AT_A_TIME.lock();
        let keep = Policy {
            initial: 1 << 20,
            increment: 1 << 20,
            disposition: Disposition::Keep,
            huge_pages: HugePages::Off,
        };
        let (mut space, _) = with_parked(keep, 4, 4);
        for _ in 0..2 {
            space.parked.began = 0;
            space.heartbeat();
        }
        assert_eq!(space.parked.bytes, 4 * BYTES_OF_ONE);
    }
}
