//! Tests of the space against a plain model: a list of elements in use, each filled with a pattern.

use super::super::ONE_AT_A_TIME;
use super::super::object::DEFAULT;
use super::*;
use crate::heap::random::Random;
use std::vec::Vec;
use underbar_sys::syscall;

const KEEP_SMALL: Policy = Policy {
    initial: 256 * 1024,
    increment: 64 * 1024,
    disposition: Disposition::Keep,
    huge_pages: HugePages::Off,
};
const FREE_SMALL: Policy = Policy { disposition: Disposition::Free, ..KEEP_SMALL };

struct InUse {
    address: usize,
    bytes: usize,
    pattern: u8,
    extent: bool,
}

struct Model {
    space: Space,
    in_use: Vec<InUse>,
    random: Random,
}

impl Model {
    fn new(policy: Policy) -> Self {
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        space.set_policy(policy);
        Self { space, in_use: Vec::new(), random: Random(7) }
    }

    fn get(&mut self) {
        let align = if self.random.below(4) == 0 { 16 << self.random.below(10) } else { 16 };
        let bytes = self.random.size(13, 20, 19);
        let roomy =
            if align == 16 && self.random.below(4) == 0 { self.space.get_with_room(bytes) } else { None };
        let element = roomy.unwrap_or_else(|| self.space.get(bytes, align).expect("storage"));
        let address = element.address;
        assert!(address.is_multiple_of(align), "{address:x} is not aligned to {align}");
        // SAFETY: the element is ours.
        unsafe {
            assert!(Block::of_element(address).usable() >= bytes);
            assert_eq!(Block::of_element(address).size(), element.block_bytes);
            let known_zero = element.zero_from.max(address)..address + bytes;
            assert!(known_zero.clone().all(|at| *(at as *const u8) == 0), "said to be zero, and is not");
        }
        self.fill(address, bytes, false);
    }

    fn get_extent(&mut self) {
        let waiting = self.space.unpark(0);
        let extent = if waiting.is_null() { self.space.get_extent(16 * 1024) } else { waiting };
        assert!(!extent.is_null());
        // SAFETY: the extent is ours.
        let (first, bytes) = unsafe { ((*extent).first_page(), (*extent).bytes as usize) };
        for at in [first, first + PAGE, first + bytes - 1] {
            assert_eq!(map::lookup(at), extent.cast(), "each page of an extent leads to it");
        }
        self.fill(first + BEFORE_CELLS, bytes - BEFORE_CELLS, true);
    }

    fn fill(&mut self, address: usize, bytes: usize, extent: bool) {
        let pattern = self.random.below(255) as u8 + 1;
        // SAFETY: the storage is ours.
        unsafe { (address as *mut u8).write_bytes(pattern, bytes) };
        self.in_use.push(InUse { address, bytes, pattern, extent });
    }

    fn check(used: &InUse, up_to: usize) {
        // SAFETY: the storage is ours.
        let bytes = unsafe { core::slice::from_raw_parts(used.address as *const u8, up_to) };
        assert!(bytes.iter().all(|byte| *byte == used.pattern), "content of {} bytes changed", used.bytes);
    }

    fn free_one(&mut self) {
        let at = self.random.below(self.in_use.len());
        let used = self.in_use.swap_remove(at);
        Self::check(&used, used.bytes);
        // SAFETY: it is in use, and no longer.
        unsafe {
            if used.extent {
                let extent = map::lookup(used.address).cast();
                if self.random.below(2) == 0 {
                    self.space.park(extent)
                } else {
                    self.space.free_extent(extent)
                }
            } else {
                self.space.free(used.address).expect("in use");
            }
        }
    }

    fn resize_one(&mut self) {
        let at = self.random.below(self.in_use.len());
        let bytes = self.random.size(13, 20, 19);
        let used = &mut self.in_use[at];
        if used.extent {
            return;
        }
        // SAFETY: it is in use.
        unsafe {
            let common = used.bytes.min(bytes);
            if self.space.resize(used.address, bytes).is_none() {
                let Some(moved) = self.space.remap(used.address, bytes) else { return };
                used.address = moved.address;
            }
            Self::check(used, common);
            assert!(Block::of_element(used.address).usable() >= bytes);
            used.bytes = bytes;
            (used.address as *mut u8).write_bytes(used.pattern, bytes);
        }
    }

    fn step(&mut self, most: usize) {
        match self.random.below(8) {
            _ if self.in_use.is_empty() => self.get(),
            0..=2 if self.in_use.len() < most => self.get(),
            3 if self.in_use.len() < most => self.get_extent(),
            4 | 5 => self.resize_one(),
            _ => self.free_one(),
        }
    }

    /// Walks through the segments of everything in use: blocks cover them without a gap, free blocks are in the index, no two
    /// neighbours are free, and elements in use are where the model has them.
    fn walk(&mut self) {
        let mut starts: Vec<*mut Segment> =
            // SAFETY: all are in use.
            self.in_use.iter().map(|used| unsafe { segment_of(Block::of_element(used.address)) }).collect();
        starts.sort_unstable();
        starts.dedup();
        // Parked extents are in use as far as blocks go; here they are given back, so that blocks can be compared.
        self.space.release_parked(0);
        let mut elements: Vec<usize> = self.in_use.iter().map(|used| used.address).collect();
        elements.sort_unstable();
        let mut seen = Vec::new();
        for segment in starts {
            // SAFETY: segments of elements in use are live.
            unsafe {
                let segment = &*segment;
                let mut block = segment.first();
                let mut after_free = false;
                while block.0 < segment.end() {
                    assert_eq!(block.is_after_free(), after_free, "what is said of the block before");
                    assert!(block.size() >= SMALLEST && block.size().is_multiple_of(16));
                    if block.is_free() {
                        assert!(!after_free, "two free neighbours");
                        self.space.index.remove(block, block.size());
                        self.space.index.insert(block, block.size());
                    } else {
                        seen.push(block.element());
                    }
                    after_free = block.is_free();
                    block = Block(block.0 + block.size());
                }
                assert_eq!(block.0, segment.end(), "blocks cover the segment");
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, elements, "blocks in use are the elements");
    }

    fn free_all(&mut self) {
        while !self.in_use.is_empty() {
            self.free_one();
        }
    }
}

fn random_work(policy: Policy) -> Model {
    let mut model = Model::new(policy);
    for round in 0..6 {
        let most = [300, 40][round % 2];
        for step in 0..4000 {
            model.step(most);
            if step % 500 == 0 {
                model.walk();
            }
        }
        while model.in_use.len() > 20 {
            model.free_one();
        }
        model.walk();
    }
    model
}

#[test]
fn what_has_outgrown_its_place_gets_one_where_it_can_grow() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    assert!(space.get_with_room(40_000).is_none() && space.segments == 0, "nothing is got from the kernel");
    let mut elements = Vec::new();
    // A hole of its own size, a larger one, and the rest of the segment.
    for bytes in [40_000, 100, 70_000, 100] {
        elements.push(space.get(bytes, 16).expect("storage").address);
    }
    for hole in [elements[0], elements[2]] {
        // SAFETY: it is in use, and no longer.
        unsafe { space.free(hole).expect("in use") };
    }
    let roomy = space.get_with_room(40_000).expect("storage").address;
    assert_eq!(roomy, elements[2]);
    // SAFETY: it is in use.
    let grown = unsafe { space.resize(roomy, 60_000) };
    assert!(grown.is_some_and(|bytes| bytes >= 60_000), "it grows in place");
    assert_eq!(
        space.get(40_000, 16).expect("storage").address,
        elements[0],
        "the close fit is left for others"
    );
}

#[test]
fn random_work_under_auto() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut model = random_work(Policy::AUTO);
    model.free_all();
    assert_eq!(model.space.idle_bytes + model.space.parked.bytes, model.space.idle_bytes());
    model.space.release_parked(0);
    assert_eq!(model.space.idle_bytes, model.space.bytes, "all that is empty is idle");
    model.space.return_idle(0);
    assert_eq!((model.space.segments, model.space.bytes), (0, 0));
    assert_eq!(model.space.index.find(SMALLEST), None, "nothing is left in the index");
}

#[test]
fn random_work_under_keep() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut model = random_work(KEEP_SMALL);
    let before = (model.space.segments, model.space.bytes);
    model.free_all();
    model.space.release_parked(0);
    assert_eq!((model.space.segments, model.space.bytes), before, "KEEP keeps");
    model.space.return_idle(0);
    assert_eq!((model.space.segments, model.space.bytes), before);
}

#[test]
fn random_work_under_free() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut model = random_work(FREE_SMALL);
    model.free_all();
    assert_eq!(
        (model.space.segments, model.space.bytes),
        (1, 256 * 1024),
        "all but the initial segment went"
    );
    let block = model.space.index.find(SMALLEST).expect("the initial segment is free");
    // SAFETY: it is in the index.
    assert_eq!(unsafe { block.size() }, 256 * 1024 - super::segment::SEGMENT_LOSS, "and it is one block");
}

#[test]
fn free_unmaps_within_the_same_call() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(FREE_SMALL);
    let first = space.get(250_000, 16).expect("storage");
    let (a, b) = (space.get(30_000, 16).expect("storage"), space.get(30_000, 16).expect("storage"));
    assert_eq!((space.segments, space.bytes), (2, (256 + 64) * 1024));
    // SAFETY: they are in use.
    unsafe {
        space.free(a.address).expect("in use");
        assert_eq!(space.segments, 2, "half an increment is still in use");
        space.free(b.address).expect("in use");
    }
    assert_eq!((space.segments, space.bytes), (1, 256 * 1024));
    assert!(map::lookup(a.address).is_null() && map::lookup(b.address).is_null(), "no longer ours");
    assert!(!map::lookup(first.address).is_null());
}

#[test]
fn segments_are_as_large_as_heap_says() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(KEEP_SMALL);
    space.get(1, 16).expect("storage");
    assert_eq!((space.segments, space.bytes), (1, 256 * 1024));
    for increments in 1..5 {
        while space.segments == increments {
            space.get(1000, 16).expect("storage");
        }
        assert_eq!(space.bytes, (256 + 64 * increments) * 1024);
    }
    let before = space.bytes;
    space.get(1 << 20, 16).expect("storage");
    assert_eq!(space.bytes - before, (1 << 20) + PAGE, "a larger request has a segment to its measure");
}

#[test]
fn a_kept_increment_serves_again() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(KEEP_SMALL);
    let mut peak = 0;
    for _ in 0..10 {
        let elements: Vec<usize> = (0..500).map(|_| space.get(1000, 16).expect("storage").address).collect();
        // SAFETY: they are in use.
        elements.iter().for_each(|element| {
            // SAFETY: as above.
            unsafe { space.free(*element) }.expect("in use");
        });
        if peak == 0 {
            peak = space.segments;
        }
    }
    assert_eq!(space.segments, peak);
}

/// What stays idle when the process is about to grow by something else: of three segments of `LARGE`, beside so many bytes in use.
#[test]
fn idle_storage_does_not_pile_up_beside_other_growth() {
    const LARGE: usize = 20 * MIB;
    let _turn = ONE_AT_A_TIME.lock();
    for (in_use, stay) in [(0, 0), (LARGE, 0), (5 * LARGE, 1), (16 * LARGE, 3)] {
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        space.set_policy(Policy::AUTO);
        for _ in 0..in_use / LARGE {
            space.get(LARGE, 16).expect("storage");
        }
        let elements = [(); 3].map(|()| space.get(LARGE, 16).expect("storage").address);
        // The first ones of their size go back at once.
        for element in elements {
            // SAFETY: in use, and no longer.
            unsafe { space.free(element) }.expect("in use");
        }
        let elements = [(); 3].map(|()| space.get(LARGE, 16).expect("storage").address);
        for element in elements {
            // SAFETY: as above.
            unsafe { space.free(element) }.expect("in use");
        }
        assert_eq!(space.idle_bytes() / LARGE, 3);
        space.return_surplus();
        assert_eq!(space.idle_bytes() / LARGE, stay, "beside {in_use} bytes");
    }
}

#[test]
fn a_large_element_grows_by_moving_its_pages() {
    let _turn = ONE_AT_A_TIME.lock();
    for policy in [Policy::AUTO, KEEP_SMALL] {
        let mut model = Model::new(policy);
        model.space.get(1, 16).expect("storage");
        let element = model.space.get(3 << 20, 16).expect("storage");
        model.fill(element.address, 3 << 20, false);
        let (before, segments) = (model.space.bytes, model.space.segments);
        // SAFETY: the element is in use, and the address is taken over.
        let moved = unsafe {
            assert_eq!(model.space.resize(element.address, 9 << 20), None, "not where it lies");
            model.space.remap(element.address, 9 << 20).expect("moved")
        };
        model.in_use[0].address = moved.address;
        Model::check(&model.in_use[0], 3 << 20);
        assert_eq!(model.space.segments, segments, "no other segment");
        assert_eq!(model.space.bytes - before, 6 << 20);
        model.walk();
        model.free_all();
    }
}

#[test]
fn what_an_array_leaves_behind_serves_the_next_larger_one() {
    const STEP: usize = 200 << 10;
    let _turn = ONE_AT_A_TIME.lock();
    let mut model = Model::new(Policy::AUTO);
    model.space.get(1, 16).expect("storage");
    let get = |model: &mut Model, bytes: usize| {
        let element = model.space.get(bytes, 16).expect("storage");
        let zeros = element.zero_from.max(element.address)..element.address + bytes;
        // SAFETY: the element is ours.
        assert!(zeros.clone().all(|at| unsafe { *(at as *const u8) } == 0), "said to be zero, and is not");
        model.fill(element.address, bytes / 2, false);
        zeros.len()
    };
    get(&mut model, 4 << 20);
    for step in 1..40 {
        let zeros = get(&mut model, (4 << 20) + step * STEP);
        assert!(zeros >= 2 * STEP - PAGE || step < 3, "what is added to the last but one is zero: {zeros}");
        let left = model.in_use.remove(0);
        Model::check(&left, left.bytes);
        // SAFETY: it is in use.
        unsafe { model.space.free(left.address) }.expect("in use");
        model.walk();
    }
    assert_eq!(model.space.segments, 3, "two arrays take turns, beside the first segment");
    let bytes = model.in_use[0].bytes * 2;
    assert!(model.space.bytes < 2 * bytes + (3 << 20), "{} for {bytes}", model.space.bytes);
    model.free_all();
}

#[test]
fn a_large_element_that_shrinks_gives_its_pages_back() {
    let _turn = ONE_AT_A_TIME.lock();
    for (policy, left) in [(Policy::AUTO, (1 << 20) + PAGE), (FREE_SMALL, (1 << 20) + PAGE), (KEEP_SMALL, 0)]
    {
        let mut model = Model::new(policy);
        model.space.get(1, 16).expect("storage");
        let before = model.space.bytes;
        let element = model.space.get(9 << 20, 16).expect("storage");
        let whole = model.space.bytes - before;
        model.fill(element.address, 1 << 20, false);
        // SAFETY: the element is in use.
        let resized = unsafe { model.space.resize(element.address, 1 << 20) };
        assert!(resized.is_some());
        Model::check(&model.in_use[0], 1 << 20);
        assert_eq!(model.space.bytes - before, if left == 0 { whole } else { left }, "{policy:?}");
        if left > 0 {
            assert!(map::lookup(element.address + (5 << 20)).is_null(), "no longer ours");
        }
        // Down to a size that no segment has: the increment is a minimum.
        // SAFETY: as above.
        unsafe { model.space.resize(element.address, 100) };
        model.in_use[0].bytes = 100;
        if policy.increment > 0 && left > 0 {
            assert_eq!(model.space.bytes - before, policy.increment);
        }
        model.walk();
        model.free_all();
    }
}

#[test]
fn what_stands_before_another_element_is_not_moved_with_it() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    let large = space.get(2 << 20, 16).expect("storage");
    let behind = space.get(1000, 16).expect("storage");
    // SAFETY: both are in use.
    unsafe {
        let tail =
            (segment_of(Block::of_element(large.address)), segment_of(Block::of_element(behind.address)));
        if tail.0 == tail.1 {
            assert!(space.remap(large.address, 4 << 20).is_none());
        }
        assert!(space.remap(behind.address, 4 << 20).is_none(), "it is not the first of its segment");
    }
}

#[test]
fn what_cannot_be_is_none_and_leaves_nothing() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    for (bytes, align) in [
        (usize::MAX, 16),
        (isize::MAX as usize, 16),
        (usize::MAX - 8, 4096),
        (1 << 47, 16),
        (16, 1 << 62),
        (1 << 46, 1 << 46),
    ] {
        assert!(space.get(bytes, align).is_none(), "{bytes} aligned to {align}");
    }
    assert_eq!((space.segments, space.bytes), (0, 0));
    let element = space.get(100_000, 16).expect("storage");
    // SAFETY: the element is in use.
    unsafe {
        assert!(space.resize(element.address, usize::MAX).is_none());
        assert!(space.remap(element.address, usize::MAX).is_none());
        assert!(space.remap(element.address, 1 << 47).is_none());
        assert_eq!(space.free(element.address), Ok(element.block_bytes), "as it was");
    }
}

#[test]
fn the_header_of_an_extent_is_in_its_own_first_page() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(Policy::AUTO);
    let extents: Vec<_> = (0..5).map(|_| space.get_extent(16 * PAGE)).collect();
    for extent in extents {
        // SAFETY: the extent is ours.
        let first = unsafe { (*extent).first_page() };
        let mut states = [0_u8; 16];
        syscall::mincore(first, &mut states).expect("mapped");
        let touched: Vec<_> = (0..16).filter(|&page| states[page] & 1 != 0).collect();
        assert_eq!(touched, [0], "a page for a header alone");
    }
}

#[test]
fn an_element_in_pages_of_its_own_touches_no_page_for_its_neighbours() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(Policy::AUTO);
    for bytes in [PAGE, 3 * PAGE - 8, 3 * PAGE - 7] {
        let element = space.get_in_pages(bytes).expect("storage");
        // SAFETY: the extent is ours.
        let behind = unsafe { (*space.get_extent(16 * PAGE)).first_page() };
        assert!(element.block_bytes >= bytes + HEADER && element.block_bytes <= bytes + HEADER + PAGE);
        let first = element.address & !(PAGE - 1);
        let mut states = [0_u8; 8];
        let states = &mut states[..(behind - first) / PAGE + 1];
        syscall::mincore(first, states).expect("mapped");
        assert_eq!(states.iter().filter(|&&state| state & 1 != 0).count(), 2, "{bytes}: {states:?}");
    }
}
