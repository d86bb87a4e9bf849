//! Tests of the return by time, under a clock of their own.

use super::super::super::ONE_AT_A_TIME;
use super::super::super::map;
use super::super::super::object::DEFAULT;
use super::super::{PAGE, Policy};
use super::*;
use std::vec;

/// Nanoseconds of a number of ticks.
const fn ticks(number: u64) -> u64 {
    number << TICK_BITS
}

fn resident(start: usize, bytes: usize) -> usize {
    let first = start.next_multiple_of(PAGE);
    let mut states = vec![0_u8; (start + bytes - first) / PAGE];
    syscall::mincore(first, &mut states).expect("mapped");
    states.iter().filter(|&&state| state & 1 != 0).count() * PAGE
}

/// A space whose elements of a MiB are between others, so that none of them is alone in a segment.
fn touched(elements: usize) -> (Space, std::vec::Vec<usize>) {
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(Policy { increment: 64 * MIB, ..Policy::AUTO });
    // None is the first of its size.
    space.decay.largest = MIB;
    let all = (0..elements)
        .map(|_| {
            let large = space.get(MIB, 16).expect("storage").address;
            space.get(1000, 16).expect("storage");
            // SAFETY: the element is ours.
            unsafe { (large as *mut u8).write_bytes(1, MIB) };
            large
        })
        .collect();
    (space, all)
}

#[test]
fn what_nobody_takes_goes_back_after_the_delay_and_not_before() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, elements) = touched(4);
    for &element in &elements[..3] {
        // SAFETY: in use, and no longer.
        unsafe { space.free(element) }.expect("in use");
    }
    let freed_at = space.decay.now;
    assert_ne!(space.decay.due, u64::MAX);
    space.decay(freed_at + ticks(u64::from(DELAY) - 2));
    assert!(elements.iter().all(|&at| resident(at, MIB) == MIB - PAGE), "too early");
    space.decay(freed_at + ticks(u64::from(DELAY) + 5));
    for &element in &elements[..3] {
        assert!(resident(element, MIB) <= 2 * UNIT + PAGE, "{}", resident(element, MIB));
    }
    assert_eq!(resident(elements[3], MIB), MIB - PAGE, "what is in use stays");
    assert_eq!(space.decay.due, u64::MAX, "nothing more to wait for");
    // Returned storage is used again.
    let again = space.get(MIB, 16).expect("storage").address;
    // SAFETY: the element is ours.
    unsafe { (again as *mut u8).write_bytes(2, MIB) };
    assert!(elements[..3].contains(&again));
}

#[test]
fn what_comes_and_goes_keeps_its_pages_and_old_neighbours_do_not() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, elements) = touched(2);
    let mut now = 0;
    for turn in 0..40 {
        if turn == 0 {
            // SAFETY: in use, and no longer.
            unsafe { space.free(elements[1]) }.expect("in use");
        }
        // SAFETY: as above.
        unsafe { space.free(elements[0]) }.expect("in use");
        now = now.max(space.decay.now);
        now += ticks(2);
        // The test's clock is ahead of the true one.
        let units = elements[0] / UNIT..(elements[0] + MIB) / UNIT;
        units.for_each(|number| unit(number).expect("a leaf").store(time_of(now), Ordering::Relaxed));
        space.decay(now);
        assert_eq!(space.get(MIB, 16).expect("storage").address, elements[0]);
    }
    assert_eq!(resident(elements[0], MIB), MIB - PAGE);
    assert!(resident(elements[1], MIB) <= 2 * UNIT + PAGE);
}

/// Units of a range that went back lately.
fn units_gone(start: usize, bytes: usize) -> usize {
    let numbers = start.div_ceil(UNIT)..(start + bytes) / UNIT;
    numbers
        .filter(|&number| unit(number).is_some_and(|unit| unit.load(Ordering::Relaxed) & WENT != 0))
        .count()
}

#[test]
fn a_large_block_goes_back_step_by_step() {
    const LARGE: usize = 100 * MIB;
    const STEP: usize = 16 * MIB;
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(Policy { increment: 256 * MIB, ..Policy::AUTO });
    let large = space.get(LARGE, 16).expect("storage").address;
    space.get(1000, 16).expect("storage");
    // SAFETY: in use, and no longer.
    unsafe { space.free(large) }.expect("in use");
    let mut now = space.decay.now + ticks(u64::from(DELAY) + 2);
    let (mut looks, mut gone) = (0, 0);
    while space.decay.due != u64::MAX {
        space.decay(now);
        let so_far = units_gone(large, LARGE);
        assert!(so_far - gone <= STEP / UNIT, "{} units in one look", so_far - gone);
        assert!(space.decay.due == u64::MAX || space.decay.due <= now + ticks(1), "goes on soon");
        (looks, gone, now) = (looks + 1, so_far, now + ticks(1));
    }
    assert!((LARGE.div_ceil(STEP)..LARGE / MIB).contains(&looks), "{looks} looks");
    assert!(gone >= LARGE / UNIT - 2, "{gone} units");
}

#[test]
fn small_blocks_that_grow_together_go_back() {
    const SMALL: usize = 100 * 1024;
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(Policy { increment: 64 * MIB, ..Policy::AUTO });
    let elements: [usize; 12] = std::array::from_fn(|_| space.get(SMALL, 16).expect("storage").address);
    space.get(1000, 16).expect("storage");
    for &element in &elements {
        // SAFETY: the element is ours.
        unsafe { (element as *mut u8).write_bytes(1, SMALL) };
    }
    // From both sides: the last one joins two that are too small for a look.
    for at in [0, 1, 3, 4, 2, 6, 7, 9, 10, 8, 5, 11] {
        // SAFETY: in use, and no longer.
        unsafe { space.free(elements[at]) }.expect("in use");
    }
    let now = space.decay.now + ticks(u64::from(DELAY) + 2);
    space.decay(now);
    let left = resident(elements[0], elements[11] + SMALL - elements[0]);
    assert!(left <= 2 * UNIT + PAGE, "{left} bytes stay");
}

#[test]
fn what_the_kernel_does_not_take_is_not_counted() {
    unsafe extern "C" {
        fn mlock(start: usize, bytes: usize) -> i32;
        fn munlock(start: usize, bytes: usize) -> i32;
    }
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, elements) = touched(1);
    let start = elements[0].next_multiple_of(PAGE);
    // SAFETY: pages of ours.
    assert_eq!(unsafe { mlock(start, MIB - PAGE) }, 0);
    // SAFETY: in use, and no longer.
    unsafe { space.free(elements[0]) }.expect("in use");
    let now = space.decay.now + ticks(u64::from(DELAY) + 2);
    space.decay(now);
    // SAFETY: as above.
    assert_eq!(unsafe { munlock(start, MIB - PAGE) }, 0);
    assert_eq!((units_gone(elements[0], MIB), space.decay.went), (0, 0));
    assert_eq!(space.decay.due, u64::MAX, "nobody asks again");
}

/// A segment that has gone leaves its times behind, and another one may come to its place.
#[test]
fn what_was_never_used_in_this_segment_is_not_counted() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, elements) = touched(1);
    // SAFETY: in use, and no longer.
    unsafe { space.free(elements[0]) }.expect("in use");
    let now = space.decay.now + ticks(u64::from(DELAY) + 2);
    for number in (elements[0] + 4 * MIB) / UNIT..(elements[0] + 60 * MIB) / UNIT {
        new_leaf(number, time_of(space.decay.now));
    }
    space.decay(now);
    assert!((MIB / 2..=MIB).contains(&space.decay.went), "{}", space.decay.went);
    assert_eq!(space.decay.due, u64::MAX);
}

#[test]
fn what_was_free_before_auto_was_said_goes_back() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, elements) = touched(2);
    space.change_disposition(Disposition::Keep);
    // SAFETY: in use, and no longer.
    unsafe { space.free(elements[0]) }.expect("in use");
    space.change_disposition(Disposition::Auto);
    let now = space.decay.now + ticks(u64::from(DELAY) + 2);
    space.decay(now);
    assert!(resident(elements[0], MIB) <= 2 * UNIT + PAGE);
    assert_eq!(resident(elements[1], MIB), MIB - PAGE, "what is in use stays");
}

#[test]
fn pages_that_are_missed_soon_stay_longer() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, elements) = touched(2);
    for _ in 0..4 {
        // SAFETY: in use, and no longer.
        unsafe { space.free(elements[0]) }.expect("in use");
        let now = space.decay.now + ticks(100);
        space.decay(now);
        assert_eq!(space.get(MIB, 16).expect("storage").address, elements[0]);
        space.decay.went = MIB;
        space.decay.judge();
    }
    assert_eq!(space.decay.delay, LONGEST_DELAY);
    for _ in 0..100 {
        (space.decay.went, space.decay.came) = (MIB, 0);
        space.decay.judge();
    }
    assert_eq!(space.decay.delay, DELAY);
}

#[test]
fn the_first_of_its_size_goes_back_at_once_and_later_ones_stay() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, elements) = touched(4);
    space.decay.largest = 0;
    let free = |space: &mut Space, element: usize| {
        // SAFETY: in use, and no longer.
        unsafe { space.free(element) }.expect("in use");
        resident(element, MIB)
    };
    // The page behind holds the next header, and the one before it the block's address.
    assert!(free(&mut space, elements[0]) <= PAGE);
    assert_eq!(free(&mut space, elements[1]), MIB - PAGE, "the second one");
    let slightly_larger = space.get(MIB + MIB / 5, 16).expect("storage").address;
    // SAFETY: the element is ours.
    unsafe { (slightly_larger as *mut u8).write_bytes(1, MIB + MIB / 5) };
    assert_eq!(free(&mut space, slightly_larger), MIB - PAGE, "about as large");
    space.set_policy(Policy { disposition: Disposition::Keep, ..space.policy() });
    let large = space.get(2 * MIB, 16).expect("storage").address;
    // SAFETY: the element is ours.
    unsafe { (large as *mut u8).write_bytes(1, 2 * MIB) };
    assert_eq!(free(&mut space, large), MIB - PAGE, "KEEP keeps");
}

#[test]
fn what_was_got_before_the_first_of_its_size_was_freed_goes_back_at_once() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(Policy { increment: 64 * MIB, ..Policy::AUTO });
    let written = |space: &mut Space| {
        let element = space.get(MIB, 16).expect("storage").address;
        space.get(1000, 16).expect("storage");
        // SAFETY: the element is ours.
        unsafe { (element as *mut u8).write_bytes(1, MIB) };
        element
    };
    let free = |space: &mut Space, element: usize| {
        // SAFETY: in use, and no longer.
        unsafe { space.free(element) }.expect("in use");
        resident(element, MIB)
    };
    let elements = [(); 3].map(|()| written(&mut space));
    for element in elements {
        assert!(free(&mut space, element) <= PAGE, "{element:#x} of {elements:#x?}");
    }
    let later = written(&mut space);
    assert_eq!(free(&mut space, later), MIB - PAGE, "one that comes again");
    // One that grows in place to a new size, too: it is behind all others.
    let grown = space.get(MIB + MIB / 8, 16).expect("storage").address;
    // SAFETY: in use.
    unsafe { space.resize(grown, 2 * MIB) }.expect("free storage behind it");
    // SAFETY: the element is ours.
    unsafe { (grown as *mut u8).write_bytes(1, 2 * MIB) };
    let larger = space.get(3 * MIB, 16).expect("storage").address;
    free(&mut space, larger);
    assert!(free(&mut space, grown) <= PAGE);
}

#[test]
fn an_array_that_is_copied_into_larger_ones_leaves_nothing_behind() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(Policy::AUTO);
    let (mut bytes, mut elements) = (100 << 10, vec![]);
    while bytes < 20 * MIB {
        let element = space.get(bytes, 16).expect("storage").address;
        // SAFETY: the element is ours.
        unsafe { (element as *mut u8).write_bytes(1, bytes) };
        if let Some(&(before, _)) = elements.last() {
            // SAFETY: in use, and no longer.
            unsafe { space.free(before) }.expect("in use");
        }
        elements.push((element, bytes));
        bytes += bytes / 2;
    }
    // SAFETY: in use, and no longer.
    unsafe { space.free(elements[elements.len() - 1].0) }.expect("in use");
    // What remains are storage below the smallest size that goes back, and the edges of others.
    let is_mapped = |&&(start, _): &&(usize, usize)| !map::lookup(start).is_null();
    let resident: usize =
        elements.iter().filter(is_mapped).map(|&(start, bytes)| resident(start, bytes)).sum();
    assert!(resident <= 2 * WORTH_RETURNING, "{resident} bytes");
}

/// A space with a small element in the storage of a large one that was freed, and the addresses of both; and with so many other large
/// elements in use.
fn small_in_the_place_of_large(others: usize) -> (Space, usize, usize) {
    let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
    space.set_policy(Policy::AUTO);
    // None is the first of its size.
    space.decay.largest = LARGE;
    for _ in 0..others {
        space.get(LARGE, 16).expect("storage");
    }
    let large = space.get(LARGE, 16).expect("storage").address;
    // SAFETY: the element is ours.
    unsafe { (large as *mut u8).write_bytes(1, LARGE) };
    // SAFETY: in use, and no longer.
    unsafe { space.free(large) }.expect("in use");
    let small = space.get(4 * MIB, 16).expect("storage").address;
    (space, large, small)
}

const LARGE: usize = 20 * MIB;

#[test]
fn a_large_request_has_room_made_for_it() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, large, small) = small_in_the_place_of_large(0);
    assert_eq!(small, large, "the free storage serves it");
    assert!(resident(large, LARGE) >= LARGE - PAGE);
    space.get(LARGE, 16).expect("storage");
    assert!(resident(large, LARGE) <= 4 * MIB + 2 * UNIT, "{}", resident(large, LARGE));
    assert!(resident(small, 4 * MIB) >= 4 * MIB - PAGE, "what is in use stays");
}

#[test]
fn beside_much_in_use_no_room_is_made() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, large, small) = small_in_the_place_of_large(4);
    assert_eq!(small, large, "the free storage serves it");
    space.get(LARGE, 16).expect("storage");
    assert!(resident(large, LARGE) >= LARGE - PAGE);
}

#[test]
fn pages_that_are_missed_soon_are_no_room() {
    let _turn = ONE_AT_A_TIME.lock();
    let (mut space, large, _) = small_in_the_place_of_large(0);
    space.decay.delay = LONGEST_DELAY;
    space.get(LARGE, 16).expect("storage");
    assert!(resident(large, LARGE) >= LARGE - PAGE);
}
