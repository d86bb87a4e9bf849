//! Hollow segments: of a very large element, only the first and last pages are in the page map.
//!
//! ```text
//! segment   | 8 | element ....................................... | 8 |
//! page map  | page |              no entries              | page | page |
//!                   ^ entered                              two last pages
//! ```
//!
//! The page map takes 8 bytes for each page. A program that gets 1.5 GiB and touches little of it (samtools sort) would have 3 MB of the
//! map in memory. Headers of blocks are in the first and last pages only, so those entries are enough. Who looks for an address that has
//! none finds the segment in a table here.
//!
//! Invariant: the page of each header in a hollow segment has an entry. Where a header comes between the first and the last pages, all
//! pages up to it are entered, as in any other segment.
//! Cost: a search of the table for foreign addresses only.
//! Not here: the page map (`map`), and the sizes of segments (`supply`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::super::block::HEADER;
use super::super::map::{self, Descriptor, PAGE};
use super::Space;
use super::segment::{FREE_HEAD, Segment};

/// An element of so many bytes may leave its segment hollow. Less in tests, whose elements are small.
const HOLLOW: usize = if cfg!(test) { 256 << 10 } else { 64 << 20 };
/// Pages at the end of a hollow segment that are entered: the last header and what is behind it.
const LAST: usize = 2 * PAGE;

/// A hollow segment. A place is taken and left under the lock of its segment's space, and `start` is the last that is written
/// (Release). Any thread reads, `start` first (Acquire): what it finds may be old, as what it finds in the page map.
struct Place {
    /// 0: free; 1: taken, and not written yet.
    start: AtomicUsize,
    end: AtomicUsize,
    descriptor: AtomicPtr<Descriptor>,
}

/// What of a segment was in the page map: its pages up to an address, and whether it was hollow.
pub(super) struct Left {
    entered: usize,
    is_hollow: bool,
}

/// Further ones are entered page by page. More in tests: many of them run at once, and some leave their elements behind.
const MOST: usize = if cfg!(test) { 1024 } else { 32 };

static PLACES: [Place; MOST] = [const {
    Place { start: AtomicUsize::new(0), end: AtomicUsize::new(0), descriptor: AtomicPtr::new(null_mut()) }
}; MOST];

/// The descriptor of the hollow segment around an address; null if there is none. It may be old.
pub(super) fn around(address: usize) -> *mut Descriptor {
    let holds = |place: &&Place| {
        let start = place.start.load(Ordering::Acquire);
        start > 1 && (start..place.end.load(Ordering::Relaxed)).contains(&address)
    };
    PLACES.iter().find(holds).map_or(null_mut(), |place| place.descriptor.load(Ordering::Relaxed))
}

fn take_place(start: usize, bytes: usize, descriptor: *mut Descriptor) -> bool {
    let is_taken =
        |place: &&Place| place.start.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let Some(place) = PLACES.iter().find(is_taken) else { return false };
    place.end.store(start + bytes, Ordering::Relaxed);
    place.descriptor.store(descriptor, Ordering::Relaxed);
    place.start.store(start, Ordering::Release);
    true
}

fn leave_place(start: usize) {
    if let Some(place) = PLACES.iter().find(|place| place.start.load(Ordering::Relaxed) == start) {
        place.start.store(0, Ordering::Release);
    }
}

impl Space {
    /// Tells the page map about an element of `want` block bytes, and about the header behind it. Without bytes: about an element's
    /// header alone.
    #[inline]
    pub(super) fn enter_element(&mut self, segment: &mut Segment, element: usize, want: usize) {
        let up_to = (element + want + FREE_HEAD).min(segment.start + segment.size);
        if up_to <= segment.entered || segment.is_hollow && element - HEADER >= segment.last_pages() {
            return;
        }
        let is_hollow = want >= HOLLOW && segment.leave_hollow(element + want - HEADER);
        self.enter_pages(segment, if is_hollow { element + 1 } else { up_to });
    }
}

impl Segment {
    /// Where the pages begin that are entered in a hollow segment, behind those up to `entered`.
    fn last_pages(&self) -> usize {
        self.start + self.size - LAST
    }

    /// Enters the last pages alone, if a header that is to be written is in them. False if all pages are to be entered.
    #[cold]
    fn leave_hollow(&mut self, header: usize) -> bool {
        let descriptor: *mut Descriptor = (&raw mut *self).cast();
        if !self.alone || header < self.last_pages() {
            return false;
        }
        self.is_hollow = self.is_hollow || take_place(self.start, self.size, descriptor);
        if self.is_hollow {
            map::enter(self.last_pages(), LAST, descriptor);
        }
        self.is_hollow
    }

    /// Takes its pages out of the page map. Returns what was in it.
    pub(super) fn leave_map(&mut self) -> Left {
        let left = Left { entered: self.entered, is_hollow: self.is_hollow };
        map::enter(self.start, self.entered - self.start, null_mut());
        if self.is_hollow {
            map::enter(self.last_pages(), LAST, null_mut());
            leave_place(self.start);
            self.is_hollow = false;
        }
        self.entered = self.start;
        left
    }

    /// Enters again what has left the page map. The segment is at the same place.
    #[cold]
    pub(super) fn enter_map_again(&mut self, left: Left) {
        let descriptor: *mut Descriptor = (&raw mut *self).cast();
        self.entered = left.entered;
        if left.is_hollow {
            self.is_hollow = take_place(self.start, self.size, descriptor);
            map::enter(self.last_pages(), LAST, descriptor);
            if !self.is_hollow {
                // Another segment has taken its place in the table.
                self.entered = self.start + self.size;
            }
        }
        map::enter(self.start, self.entered - self.start, descriptor);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ONE_AT_A_TIME;
    use super::super::super::block::Block;
    use super::super::super::object::DEFAULT;
    use super::super::soundness::fault_without_entry;
    use super::super::{Policy, end_around};
    use super::*;
    use std::vec::Vec;
    use underbar_ledger::FaultKind;

    const BYTES: usize = 16 << 20;

    fn space() -> Space {
        let mut space = Space::new(&DEFAULT, null_mut());
        space.set_policy(Policy::AUTO);
        space
    }

    /// Whether the large element at an address is found around its middle.
    fn is_in_table(element: usize) -> bool {
        !around(element + BYTES / 2).is_null()
    }

    #[test]
    fn of_a_very_large_element_the_ends_are_in_the_map_and_the_middle_is_found() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = space();
        let element = space.get(BYTES, 16).expect("storage").address;
        let segment = map::lookup(element);
        assert!(!segment.is_null() && map::lookup(element + BYTES) == segment);
        let without = (0..BYTES).step_by(PAGE).filter(|at| map::lookup(element + at).is_null()).count();
        assert!(without > BYTES / PAGE - 8, "{without} pages without an entry");
        let end = end_around(element).expect("ours");
        assert!((0..BYTES).step_by(PAGE).all(|at| end_around(element + at) == Some(end)));
        let fault = fault_without_entry(element + BYTES / 2).expect("a fault");
        assert_eq!((fault.kind, fault.block), (FaultKind::InsideBlock, element));
        // SAFETY: it is in use, and no longer.
        unsafe { space.free(element).expect("in use") };
        space.return_idle(0);
        assert!(map::lookup(element).is_null() && map::lookup(element + BYTES).is_null());
        assert!(end_around(element + BYTES / 2).is_none() && !is_in_table(element));
    }

    /// What is left behind the element serves small requests, and no more pages are entered for them.
    #[test]
    fn the_end_of_a_hollow_segment_is_used() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = space();
        let large = space.get(BYTES - PAGE / 2, 16).expect("storage").address;
        let small = space.get(512, 16).expect("storage").address;
        assert!(!map::lookup(small).is_null() && end_around(small) == end_around(large), "in its segment");
        assert!(map::lookup(large + BYTES / 2).is_null(), "and that is hollow");
        for element in [small, large] {
            // SAFETY: it is in use, and no longer.
            unsafe { space.free(element).expect("in use") };
        }
        space.return_idle(0);
        assert!(space.bytes == 0 && !is_in_table(large));
    }

    /// Headers come into pages that had no entry: of the rest of an element that shrinks, and of small ones where a large one was.
    #[test]
    fn a_hollow_segment_serves_smaller_elements() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = space();
        let element = space.get(BYTES, 16).expect("storage").address;
        // SAFETY: in use until they are freed.
        unsafe {
            let kept = space.resize(element, BYTES - (128 << 10)).expect("in place");
            assert!(kept < BYTES);
            let rest = Block(Block::of_element(element).0 + kept);
            assert!(!map::lookup(rest.0).is_null(), "the header of the rest");
            space.free(element).expect("in use");
            let small: Vec<usize> =
                (0..1000).map(|_| space.get(10_000, 16).expect("storage").address).collect();
            for &one in &small {
                assert!(!map::lookup(one).is_null() && !map::lookup(one + 10_000).is_null());
            }
            for one in small {
                space.free(one).expect("in use");
            }
        }
        space.release_parked(0);
        space.return_idle(0);
        assert!(space.bytes == 0 && !is_in_table(element));
    }

    #[test]
    fn one_that_moves_is_hollow_at_its_new_place() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = space();
        let old = space.get(BYTES, 16).expect("storage").address;
        // SAFETY: in use until it is freed.
        let new = unsafe {
            let new = space.remap(old, 4 * BYTES).expect("moved").address;
            assert!(!map::lookup(new).is_null() && map::lookup(new + 2 * BYTES).is_null());
            assert!(end_around(new + 2 * BYTES).is_some() && is_in_table(new) && !is_in_table(old));
            space.resize(new, 2 * BYTES).expect("cut");
            assert!(end_around(new + BYTES).is_some() && end_around(new + 3 * BYTES).is_none());
            space.free(new).expect("in use");
            new
        };
        space.return_idle(0);
        assert!(space.bytes == 0 && !is_in_table(new));
    }

    #[test]
    fn one_that_cannot_move_stays_in_the_map() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = space();
        let element = space.get(BYTES, 16).expect("storage").address;
        // SAFETY: in use until it is freed.
        unsafe {
            assert!(space.remap(element, 1 << 46).is_none(), "there is no such room");
            assert!(!map::lookup(element).is_null() && !map::lookup(element + BYTES - 1).is_null());
            assert!(end_around(element + BYTES / 2).is_some() && is_in_table(element));
            space.free(element).expect("in use");
        }
        space.return_idle(0);
        assert!(space.bytes == 0 && !is_in_table(element));
    }

    /// A place that one heap leaves as it moves is another's at once, and stays in the map.
    #[test]
    fn heaps_move_to_each_others_old_places() {
        const THREADS: usize = 4;
        const ROUNDS: usize = 400;
        let _turn = ONE_AT_A_TIME.lock();
        let work = || {
            let mut space = space();
            for _ in 0..ROUNDS {
                let small = space.get(BYTES, 16).expect("storage").address;
                let large = space.get(BYTES, 16).expect("storage").address;
                // SAFETY: in use until they are freed.
                unsafe {
                    let moved = space.remap(large, 4 * BYTES).expect("moved").address;
                    for (element, bytes) in [(small, BYTES), (moved, 4 * BYTES)] {
                        let is_ours = |at: &usize| end_around(element + at).is_some();
                        assert!((0..bytes).step_by(32 * PAGE).all(|at| is_ours(&at)), "all of it is known");
                        space.free(element).expect("in use");
                    }
                }
                space.return_idle(0);
            }
            assert_eq!(space.bytes, 0);
        };
        std::thread::scope(|scope| {
            for thread in [(); THREADS].map(|()| scope.spawn(work)) {
                thread.join().expect("all is known");
            }
        });
    }

    #[test]
    fn when_all_places_are_taken_pages_are_entered_one_by_one() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut space = space();
        let bytes = 4 * HOLLOW;
        let elements: Vec<usize> =
            (0..MOST + 8).map(|_| space.get(bytes, 64).expect("storage").address).collect();
        let is_hollow = |element: &&usize| map::lookup(**element + bytes / 2).is_null();
        let hollow = elements.iter().filter(is_hollow).count();
        assert!((1..=MOST).contains(&hollow), "{hollow}: other tests may have some");
        for element in elements {
            assert!(end_around(element + bytes / 2).is_some());
            // SAFETY: it is in use, and no longer.
            unsafe { space.free(element).expect("in use") };
        }
        space.return_idle(0);
        assert!(space.bytes == 0);
    }
}
