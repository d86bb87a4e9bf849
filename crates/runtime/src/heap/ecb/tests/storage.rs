//! Storage of an ECB: sizes, growth, alignment, storage below 2 GiB, wrong frees.

use std::thread;

use underbar_ledger::FaultKind;

use super::*;
use crate::heap::{realloc, usable_size};

#[test]
fn storage_of_each_size_is_the_ecb_s_and_comes_back_at_its_end() {
    let _turn = turn();
    let sizes = || (0..600).chain((600..300_000).step_by(7_919)).chain([256 << 10, 1 << 20, 5 << 20]);
    for round in 0..3 {
        let ecb = create(b"SIZES").expect("memory");
        enter(ecb).expect("alive");
        assert_eq!(current(), ecb);
        let all: Vec<_> = sizes().map(|size| (size, filled(size, size as u8))).collect();
        for &(size, buffer) in &all {
            assert_eq!(ecb_of(buffer), ecb, "{size}");
            // SAFETY: the buffer is in use.
            let usable = unsafe { usable_size(buffer) };
            assert!(holds(buffer, size, size as u8) && usable >= size, "{size}: {usable}");
        }
        // Half of it is freed and got again.
        for &(_, buffer) in all.iter().step_by(2) {
            give(buffer);
        }
        let again: Vec<_> = sizes().step_by(2).map(|size| (size, filled(size, 7))).collect();
        for &(size, buffer) in all.iter().skip(1).step_by(2) {
            assert!(holds(buffer, size, size as u8), "{size} in round {round}");
        }
        assert!(again.iter().all(|&(size, buffer)| holds(buffer, size, 7)));
        leave().expect("inside");
        assert_eq!(current(), 0);
        assert_eq!(ecb_of(get(100)), 0);
        end(ecb).expect("nobody is inside");
    }
}

#[test]
fn the_buffer_freed_last_is_the_next_one() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    for size in [1, 32, 33, 200, 500, 900, 5_000, 100_000] {
        let (first, second) = (get(size), get(size));
        give(first);
        give(second);
        assert_eq!((get(size), get(size)), (second, first), "{size}");
    }
    leave().expect("inside");
    end(ecb).expect("nobody is inside");
}

#[test]
fn a_buffer_that_was_carved_last_grows_in_its_place() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    let first = filled(20, 3);
    // SAFETY: the buffer is in use.
    unsafe { tag(first, b"GROWN").expect("memory") };
    // From list to list, over the ends of pages and regions.
    let mut now = (first, 20);
    let mut stayed = 0;
    for size in (40..30_000).step_by(200) {
        // SAFETY: the buffer is in use.
        let grown = unsafe { realloc(now.0, size) };
        assert!(holds(grown, now.1, 3), "{size}");
        // SAFETY: new storage of that size.
        unsafe { grown.write_bytes(3, size) };
        stayed += usize::from(grown == now.0);
        now = (grown, size);
    }
    assert!(stayed > 140, "{stayed} of 150");
    assert_eq!(locate(b"GROWN", null_mut()), Ok(now.0));
    // Behind another one it moves, and its old place is free.
    let behind = filled(100, 5);
    // SAFETY: as above.
    let moved = unsafe { realloc(now.0, 60_000) };
    assert!(moved != now.0 && holds(moved, now.1, 3) && holds(behind, 100, 5));
    assert_eq!(get(now.1), now.0);
    end(ecb).expect("the thread leaves first");
}

#[test]
fn buffers_are_got_across_pages_of_the_area_and_the_frame() {
    let _turn = turn();
    let ecb = create(b"PAGES").expect("memory");
    enter(ecb).expect("alive");
    let all: Vec<_> = (0..6_000).map(|at| (at, 16 + at * 37 % 500)).collect();
    let all: Vec<_> = all.into_iter().map(|(at, size)| (size, at as u8, filled(size, at as u8))).collect();
    for &(size, with, buffer) in &all {
        assert_eq!(ecb_of(buffer), ecb);
        assert!(holds(buffer, size, with), "{size}");
        // Its mark is there: else it would be refused.
        give(buffer);
    }
    let mut places: Vec<_> = all.iter().map(|(.., buffer)| buffer.addr()).collect();
    places.sort_unstable();
    assert!(places.windows(2).all(|two| two[0] + 16 <= two[1]));
    end(ecb).expect("the thread leaves first");
}

#[test]
fn aligned_buffers_are_aligned() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    for align in [32, 64, 256, 4_096, 65_536] {
        for size in [1, 100, 5_000, 300_000] {
            // SAFETY: as aligned_alloc of C.
            let buffer = unsafe { crate::heap::aligned(align, size) };
            assert!(buffer.addr().is_multiple_of(align) && ecb_of(buffer) == ecb, "{size} at {align}");
            // SAFETY: new storage of that size.
            unsafe { buffer.write_bytes(5, size) };
            give(buffer);
        }
    }
    end(ecb).expect("the thread leaves first");
}

#[test]
fn a_block_that_is_resized_keeps_its_heap() {
    let _turn = turn();
    let (one, two) = (create(b"SIZES").expect("memory"), create(b"TWO").expect("memory"));
    let mut process = filled(100, 1);
    enter(one).expect("alive");
    let mut first = filled(100, 2);
    enter(two).expect("alive");
    for size in [120, 1_000, 30_000, 700_000, 2_000_000, 50] {
        // SAFETY: the blocks are in use, and what comes back replaces them.
        unsafe { (process, first) = (realloc(process, size), realloc(first, size)) };
        assert_eq!((ecb_of(process), ecb_of(first)), (0, one), "{size}");
        assert!(holds(process, size.min(100), 1) && holds(first, size.min(100), 2), "{size}");
        // SAFETY: as above: a block of that size.
        unsafe {
            process.write_bytes(1, size);
            first.write_bytes(2, size);
        }
    }
    leave().expect("inside");
    leave().expect("inside");
    give(process);
    give(first);
    end(one).expect("nobody is inside");
    end(two).expect("nobody is inside");
}

#[test]
fn storage_below_2_gib_is_the_ecb_s_and_goes_into_no_other_list() {
    let _turn = turn();
    let low = |size: usize| {
        let buffer = crate::heap::below::BAR.get(size);
        assert!(!buffer.is_null() && buffer.addr() < 2 << 30, "{size}: {buffer:?}");
        // SAFETY: new storage of that size.
        unsafe { buffer.write_bytes(size as u8, size) };
        buffer
    };
    let sizes = [1, 40, 100, 1_000, 30_000, 100_000, 1 << 20];
    for _ in 0..3 {
        let ecb = create(b"SIZES").expect("memory");
        enter(ecb).expect("alive");
        let all: Vec<_> = sizes.iter().chain(&sizes).map(|&size| (size, low(size))).collect();
        for &(size, buffer) in &all {
            assert_eq!(ecb_of(buffer), ecb, "{size}");
            assert!(holds(buffer, size, size as u8), "{size}");
        }
        // A freed one serves the next request below 2 GiB, and none of malloc.
        let (first, second) = (all[1].1, all[8].1);
        give(first);
        assert_ne!(get(40), first);
        assert_eq!(low(40), first);
        // SAFETY: the buffer is in use.
        let grown = unsafe { realloc(second, 5_000) };
        assert!(grown.addr() < 2 << 30 && holds(grown, 40, 40));
        // SAFETY: as above.
        unsafe { tag(grown, b"LOW") }.expect("a name");
        // Another thread frees one; it comes back at the next request.
        let third = all[2].1.addr();
        thread::scope(|scope| scope.spawn(move || give(third as *mut u8)).join().expect("a thread"));
        // The next request that no ready piece serves takes it in.
        get(200_000);
        let again: Vec<_> = (0..3).map(|_| (low(100), low(1))).collect();
        assert!(again.iter().all(|two| two.0.addr() != two.1.addr()));
        for (a, b) in again {
            give(a);
            give(b);
        }
        leave().expect("inside");
        assert_ne!(ecb_of(low(40)), ecb, "outside it is the process's");
        end(ecb).expect("nobody is inside");
        assert_eq!(ecb_of(first), 0);
    }
}

#[test]
fn wrong_frees_are_told_apart() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    let (buffer, large) = (get(200), get(500_000));
    // SAFETY: nothing is freed that is in use.
    unsafe {
        let kind = |address: usize| fault_of(address, lookup(address)).kind;
        let refused = |address: usize| !crate::heap::ecb::free(address as *mut u8, lookup(address));
        for wrong in [buffer.addr() + 1, buffer.addr() + 16, buffer.addr() + 4_000, large.addr() + 16] {
            assert!(refused(wrong), "{wrong:x}");
            assert_eq!(kind(wrong), FaultKind::NoBlock);
        }
        give(buffer);
        assert!(refused(buffer.addr()), "twice");
        assert_eq!(kind(buffer.addr()), FaultKind::DoubleFree);
        end(ecb).expect("the thread leaves first");
        assert!(refused(buffer.addr()));
        assert_eq!(kind(buffer.addr()), FaultKind::Ended);
    }
}
