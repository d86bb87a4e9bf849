//! ECBs as a program sees them: storage, threads, names, refusals and figures.

use std::sync::Barrier;
use std::thread;
use std::vec::Vec;

use underbar_ledger::{FaultKind, Key};

use super::super::map::{AREA, lookup};
use super::super::{ONE_AT_A_TIME, free, malloc, realloc, usable_size};
use super::*;

// There are fifteen classes and one for all others: where the class does not matter, tests share SIZES.

mod pairs;

fn turn() -> std::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn get(size: usize) -> *mut u8 {
    // SAFETY: as malloc of C.
    unsafe { malloc(size) }
}

fn give(buffer: *mut u8) {
    // SAFETY: the tests free what they got, once.
    unsafe { free(buffer) }
}

/// Whose storage an address is: an ECB's number, or 0 for the process's.
fn ecb_of(buffer: *mut u8) -> Number {
    let descriptor = lookup(buffer.addr());
    // SAFETY: descriptors stay readable.
    unsafe {
        if descriptor.is_null() || (*descriptor).owner.load(Ordering::Relaxed) != AREA {
            return 0;
        }
        (*area::of(descriptor)).block().cast::<ControlBlock>().as_ref().map_or(0, number_of)
    }
}

fn filled(size: usize, with: u8) -> *mut u8 {
    let buffer = get(size);
    assert!(!buffer.is_null() && buffer.addr().is_multiple_of(16));
    // SAFETY: new storage of that size.
    unsafe { buffer.write_bytes(with, size) };
    buffer
}

fn holds(buffer: *mut u8, size: usize, with: u8) -> bool {
    // SAFETY: the buffer is in use, and was filled.
    unsafe { core::slice::from_raw_parts(buffer, size) }.iter().all(|&byte| byte == with)
}

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
fn the_next_ecb_of_a_thread_gets_the_same_storage() {
    let _turn = turn();
    let mut places = Vec::new();
    for _ in 0..100 {
        let ecb = create(b"SIZES").expect("memory");
        enter(ecb).expect("alive");
        places.push(get(64));
        end(ecb).expect("the thread leaves first");
    }
    assert!(places.windows(2).all(|two| two[0] == two[1]), "{places:?}");
}

#[test]
fn a_frame_waits_for_the_next_ecb_without_its_buffers() {
    let _turn = turn();
    // The area has 64 buffers of this size; the frame has the others.
    let run = |count: usize| {
        let ecb = create(b"FRAMES").expect("memory");
        enter(ecb).expect("alive");
        let buffers: Vec<_> = (0..count).map(|_| filled(1_000, 1)).collect();
        (ecb, buffers)
    };
    let (first, many) = run(500);
    end(first).expect("the thread leaves first");
    let stale = many[450];
    let refused = || {
        let descriptor = lookup(stale.addr());
        // SAFETY: an area's descriptor, which stays readable; what is refused is not freed.
        unsafe { (!super::free(stale, descriptor)).then(|| fault_of(stale.addr(), descriptor).kind) }
    };
    assert_eq!(ecb_of(stale), 0);
    assert_eq!(refused(), Some(FaultKind::Ended));
    let (second, few) = run(100);
    assert_eq!(few, many[..100], "the same storage");
    assert_eq!(ecb_of(stale), second, "it is in the frame of this ECB");
    assert_eq!(refused(), Some(FaultKind::NoBlock), "and none of its buffers");
    end(second).expect("the thread leaves first");
}

#[test]
fn a_thread_that_returns_finds_what_was_freed() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    // Of available lists, and of others.
    let sizes = [32, 60, 200, 500, 700, 1_000, 3_000, 20_000];
    let all: Vec<_> = sizes.iter().map(|&size| [filled(size, 1), filled(size, 2), filled(size, 3)]).collect();
    for three in &all {
        give(three[0]);
        give(three[1]);
    }
    leave().expect("inside");
    enter(ecb).expect("alive");
    for (three, &size) in all.iter().zip(&sizes) {
        assert_eq!([get(size), get(size)], [three[1], three[0]], "{size}");
        let next = filled(size, 4);
        assert!(!three.contains(&next) && holds(three[2], size, 3), "{size}");
    }
    end(ecb).expect("the thread leaves first");
}

#[test]
fn an_ecb_that_is_entered_again_and_again_does_not_grow() {
    let _turn = turn();
    let ecb = create(b"VISITS").expect("memory");
    // More sizes than a control block has room to keep lists for.
    let sizes = [32, 64, 128, 256, 512, 600, 700, 800, 900, 1_000];
    let mut places = std::collections::BTreeSet::new();
    for _ in 0..1_000 {
        enter(ecb).expect("alive");
        let all: Vec<_> = sizes.iter().map(|&size| filled(size, 1)).collect();
        places.extend(all.iter().map(|buffer| buffer.addr()));
        all.into_iter().for_each(give);
        leave().expect("inside");
    }
    assert!(places.len() <= 2 * sizes.len(), "{} places", places.len());
    end(ecb).expect("nobody is inside");
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
fn ecbs_are_entered_one_inside_the_other() {
    let _turn = turn();
    let (outer, inner) = (create(b"SIZES").expect("memory"), create(b"INNER").expect("memory"));
    enter(outer).expect("alive");
    let first = get(50);
    enter(inner).expect("alive");
    let second = get(50);
    step_outside();
    step_outside();
    let third = get(50);
    assert_eq!(current(), 0);
    step_inside();
    assert_eq!(ecb_of(get(50)), 0);
    step_inside();
    enter(outer).expect("alive");
    let fourth = get(50);
    let of = [first, second, third, fourth].map(ecb_of);
    assert_eq!(of, [outer, inner, 0, outer]);
    // Each buffer goes back to its own ECB, wherever the thread is.
    for buffer in [first, second, third, fourth] {
        give(buffer);
    }
    leave().expect("inside");
    assert_eq!(ecb_of(get(50)), inner);
    leave().expect("inside");
    assert_eq!(ecb_of(get(50)), outer);
    leave().expect("inside");
    assert_eq!(leave(), Err(Refused::Outside));
    step_inside();
    end(inner).expect("nobody is inside");
    end(outer).expect("nobody is inside");
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
fn what_is_wrong_is_refused_and_changes_nothing() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    for number in [0, 1, ecb + 1, ecb + (1 << 32), u64::MAX, ecb & 0xffff_ffff] {
        assert_eq!(
            (enter(number), end(number)),
            (Err(Refused::Unknown), Err(Refused::Unknown)),
            "{number:x}"
        );
    }
    let (inside, done) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            enter(ecb).expect("alive");
            let buffer = filled(40, 9);
            inside.wait();
            done.wait();
            assert!(holds(buffer, 40, 9));
            leave().expect("inside");
        });
        inside.wait();
        assert_eq!(end(ecb), Err(Refused::Inside(1)));
        enter(ecb).expect("alive");
        assert_eq!(end(ecb), Err(Refused::Inside(1)), "this thread does not count");
        assert_eq!(current(), ecb, "it is still inside");
        leave().expect("inside");
        done.wait();
        other.join().expect("no panic");
    });
    end(ecb).expect("nobody is inside");
    assert_eq!(end(ecb), Err(Refused::Unknown), "twice");
    assert_eq!(enter(ecb), Err(Refused::Unknown));
    let next = create(b"SIZES").expect("memory");
    assert_ne!(next, ecb, "the block has another ECB");
    assert_eq!(end(ecb), Err(Refused::Unknown));
    end(next).expect("nobody is inside");
}

#[test]
fn a_thread_that_ends_leaves_its_ecbs() {
    let _turn = turn();
    let (one, two) = (create(b"SIZES").expect("memory"), create(b"SIZES").expect("memory"));
    let buffer = thread::spawn(move || {
        enter(one).expect("alive");
        enter(two).expect("alive");
        filled(64, 3).addr()
    });
    let buffer = buffer.join().expect("no panic") as *mut u8;
    assert!(holds(buffer, 64, 3), "the ECB goes on");
    end(one).expect("nobody is inside");
    end(two).expect("nobody is inside");
}

/// A generator whose numbers depend on the seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Threads in one ECB and outside pass buffers on, and each frees what others got.
#[test]
fn threads_share_an_ecb_and_no_buffer_is_anybody_else_s() {
    const THREADS: usize = 4;
    const STEPS: usize = if cfg!(miri) { 200 } else { 20_000 };
    let _turn = turn();
    for round in 0..3 {
        let ecb = create(b"SIZES").expect("memory");
        let places: Vec<std::sync::Mutex<Option<(usize, usize, u8)>>> =
            (0..64).map(|_| std::sync::Mutex::new(None)).collect();
        thread::scope(|scope| {
            for number in 0..THREADS {
                let places = &places;
                scope.spawn(move || {
                    let mut random = Random(round * 100 + number as u64);
                    let mut is_inside = false;
                    for step in 0..STEPS {
                        // The last thread is outside most of the time, and only frees there.
                        if random.below(200) == 0 || step == 0 {
                            if is_inside {
                                leave().expect("inside");
                            }
                            is_inside = number + 1 < THREADS || random.below(3) == 0;
                            if is_inside {
                                enter(ecb).expect("alive");
                            }
                        }
                        let new = is_inside.then(|| {
                            let size = match random.below(100) {
                                0 => random.below(300_000),
                                1..=9 => random.below(5_000),
                                _ => random.below(200),
                            };
                            let with = random.below(255) as u8;
                            (filled(size, with).addr(), size, with)
                        });
                        let place = &places[random.below(places.len())];
                        let old = core::mem::replace(&mut *place.lock().expect("no panic"), new);
                        if let Some((buffer, size, with)) = old {
                            assert!(holds(buffer as *mut u8, size, with), "{size} bytes");
                            give(buffer as *mut u8);
                        }
                    }
                    if is_inside {
                        leave().expect("inside");
                    }
                });
            }
        });
        for place in places {
            if let Some((buffer, size, with)) = place.into_inner().expect("no panic") {
                assert!(holds(buffer as *mut u8, size, with), "{size} bytes");
            }
        }
        end(ecb).expect("nobody is inside");
    }
}

#[test]
fn buffers_are_found_by_their_names() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    // SAFETY: buffers in use of this ECB, or none.
    unsafe {
        let outside = get(10);
        assert_eq!(
            (tag(outside, b"X"), locate(b"X", null_mut())),
            (Err(Refused::Outside), Err(Refused::Outside))
        );
        enter(ecb).expect("alive");
        assert_eq!(tag(outside, b"X"), Err(Refused::Unknown), "not of this ECB");
        let buffer = get(10);
        assert_eq!(tag(buffer.add(16), b"X"), Err(Refused::Unknown), "not where a buffer begins");
        for (name, refused) in
            [(&[][..], Refused::Name), (&[b'N'; 4_096], Refused::LongName), (&[b'N'; 41], Refused::LongName)]
        {
            assert_eq!((tag(buffer, name), locate(name, null_mut())), (Err(refused), Err(refused)));
        }
        let all: Vec<_> = (0..1_000_u32)
            .map(|number| {
                let buffer = get(if number % 100 == 0 { 400_000 } else { 24 });
                tag(buffer, &number.to_be_bytes()).expect("memory");
                buffer
            })
            .collect();
        for (number, &buffer) in (0_u32..).zip(&all) {
            assert_eq!(locate(&number.to_be_bytes(), null_mut()), Ok(buffer), "{number}");
        }
        assert_eq!(locate(&1_000_u32.to_be_bytes(), null_mut()), Ok(null_mut()));
        // The names of a freed buffer go with it; those of a moved one move.
        give(all[5]);
        let moved = realloc(all[6], 5_000);
        assert_ne!(moved, all[6]);
        assert_eq!(locate(&5_u32.to_be_bytes(), null_mut()), Ok(null_mut()));
        assert_eq!(locate(&6_u32.to_be_bytes(), null_mut()), Ok(moved));
        assert_eq!((untag(moved), untag(moved)), (Ok(true), Ok(false)));
        assert_eq!(locate(&6_u32.to_be_bytes(), null_mut()), Ok(null_mut()));
        give(all[100]);
        assert_eq!(locate(&100_u32.to_be_bytes(), null_mut()), Ok(null_mut()), "a large one");
        // Two buffers of one name, and two names of one buffer.
        tag(all[7], b"SAME").expect("memory");
        tag(all[8], b"SAME").expect("memory");
        assert_eq!(locate(b"SAME", null_mut()), Ok(all[8]));
        assert_eq!(locate(b"SAME", all[8]), Ok(all[7]));
        assert_eq!(locate(b"SAME", all[7]), Ok(null_mut()));
        assert_eq!(locate(&8_u32.to_be_bytes(), null_mut()), Ok(all[8]));
        leave().expect("inside");
        end(ecb).expect("nobody is inside");
        give(outside);
    }
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    assert_eq!(locate(b"SAME", null_mut()), Ok(null_mut()), "names end with their ECB");
    end(ecb).expect("the thread leaves first");
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
        let refused = |address: usize| !super::free(address as *mut u8, lookup(address));
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

#[test]
fn a_class_has_a_row_with_all_that_its_ecbs_did() {
    let _turn = turn();
    let mut of = None;
    let figures = || {
        super::super::settle();
        let heap = class::of(b"COUNTED").expect("memory").heap();
        let row = heap.account.row().expect("a row");
        [Key::HeapGets, Key::HeapFrees, Key::HeapUsed]
            .map(|key| row.cell(key).expect("a counter").load(Ordering::Relaxed))
    };
    for round in 1..=100_u64 {
        let ecb = create(b"COUNTED").expect("memory");
        enter(ecb).expect("alive");
        let kept: Vec<_> = (0..50).map(|number| get(number * 20)).collect();
        kept[..20].iter().for_each(|&buffer| give(buffer));
        let large = get(300_000);
        // Bytes of the lists, of what is left.
        if round == 1 {
            let lists = &class::of(b"COUNTED").expect("memory").lists;
            let left: u32 = (20..50).map(|number| lists.sizes[lists.of(number * 20)]).sum();
            assert_eq!(figures(), [51, 20, u64::from(left) + 300_000]);
            of = Some(left);
        }
        give(large);
        leave().expect("inside");
        end(ecb).expect("nobody is inside");
        if round % 33 == 0 {
            assert_eq!(figures(), [51 * round, 51 * round, 0]);
        }
    }
    assert!(of.is_some());
}

#[test]
fn aligned_buffers_are_aligned() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    for align in [32, 64, 256, 4_096, 65_536] {
        for size in [1, 100, 5_000, 300_000] {
            // SAFETY: as aligned_alloc of C.
            let buffer = unsafe { super::super::aligned(align, size) };
            assert!(buffer.addr().is_multiple_of(align) && ecb_of(buffer) == ecb, "{size} at {align}");
            // SAFETY: new storage of that size.
            unsafe { buffer.write_bytes(5, size) };
            give(buffer);
        }
    }
    end(ecb).expect("the thread leaves first");
}

#[test]
fn many_ecbs_live_at_once_in_little_more_than_their_requests() {
    const ECBS: usize = if cfg!(miri) { 20 } else { 2_000 };
    let _turn = turn();
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").expect("a file");
        text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
    };
    let mut all = Vec::with_capacity(ECBS);
    let before = resident();
    for number in 0..ECBS {
        let ecb = create(b"MANY").expect("memory");
        enter(ecb).expect("alive");
        let first = filled(64, number as u8);
        for _ in 1..64 {
            filled(64, number as u8);
        }
        leave().expect("inside");
        all.push((ecb, first));
    }
    let grown = resident() - before;
    assert!(grown < ECBS * 4096 * 5 / 4, "{grown} bytes for {} of requests", ECBS * 4096);
    for (number, (ecb, first)) in all.into_iter().enumerate() {
        assert!(holds(first, 64, number as u8));
        end(ecb).expect("nobody is inside");
    }
}

#[test]
fn a_class_counts_what_its_ecbs_did() {
    use underbar_ledger::classes::{OfList, Sum, request_row, use_row};
    let _turn = turn();
    let page = || {
        super::super::settle();
        class::of(b"PAGE").expect("memory").row().expect("a page")
    };
    const ECBS: u64 = 96;
    for number in 0..ECBS {
        let ecb = create(b"PAGE").expect("memory");
        if number % 3 != 0 {
            enter(ecb).expect("alive");
            let kept: Vec<_> = (0..10).map(|_| get(64)).collect();
            kept[..4].iter().for_each(|&buffer| give(buffer));
            get(200);
            if number % 3 == 2 {
                // More than the area holds, in other lists.
                for _ in 0..5 {
                    get(9_000);
                }
                let large = get(300_000);
                give(large);
                for name in 0..9_u8 {
                    // SAFETY: the buffer is in use.
                    unsafe { tag(kept[9], &[b'N', name]).expect("memory") };
                }
            }
            leave().expect("inside");
        }
        end(ecb).expect("nobody is inside");
    }
    let page = page();
    let sums = [Sum::Created, Sum::Ended, Sum::WithBuffer, Sum::ExpandedTags, Sum::WithFrame, Sum::Frames];
    let sums = sums.map(|sum| page.sum(sum).load(Ordering::Relaxed));
    let third = ECBS / 3;
    assert_eq!(sums, [ECBS, ECBS, 2 * third, third, third, third]);
    let of = |of: OfList| page.of_lists[of as usize].each_ref().map(|word| word.load(Ordering::Relaxed));
    let (got, freed, shared) = (of(OfList::Got), of(OfList::Freed), of(OfList::Shared));
    assert_eq!((got[1], got[3], freed[1]), (2 * third * 10, 2 * third, 2 * third * 4));
    // Five buffers, a large one, and the tables of names, of which the first one is given back.
    assert_eq!((got[5], freed[5]), (third * 8, third * 2));
    assert_eq!(shared.iter().sum::<u64>(), 0, "no other thread left buffers");
    let carved = of(OfList::Carved);
    assert!((1..got[1]).contains(&carved[1]) && carved[1] >= 2 * third, "{carved:?}");
    let uses = |bytes| page.uses[use_row(bytes)].load(Ordering::Relaxed);
    assert_eq!((uses(0), uses(4096)), (third, third));
    let most = page.sum(Sum::HighWater).load(Ordering::Relaxed) as usize;
    assert!((32_768 + 300_000..32_768 + 300_000 + 70_000).contains(&most), "{most}");
    assert_eq!(uses(most), third);
    // One ECB in 32 is counted request by request.
    let counted = page.sum(Sum::Counted).load(Ordering::Relaxed);
    assert_eq!((counted, page.counted_one_in.load(Ordering::Relaxed)), (ECBS / 32, 32));
    let requests = |size| page.requests[request_row(size)].load(Ordering::Relaxed);
    let inside = (0..ECBS).filter(|number| number % 32 == 31 && number % 3 != 0).count() as u64;
    assert_eq!((requests(64), requests(200)), (10 * inside, inside));
}

#[test]
fn chains_of_other_threads_are_counted_as_shared() {
    use underbar_ledger::classes::OfList;
    let _turn = turn();
    let ecb = create(b"CHAINS").expect("memory");
    let work = move || {
        enter(ecb).expect("alive");
        let all: Vec<_> = (0..30).map(|_| get(64)).collect();
        all.iter().for_each(|&buffer| give(buffer));
        leave().expect("inside");
    };
    thread::spawn(work).join().expect("no panic");
    work();
    super::super::settle();
    let page = class::of(b"CHAINS").expect("memory").row().expect("a page");
    let figure = |of: OfList| page.of_lists[of as usize][1].load(Ordering::Relaxed);
    assert_eq!((figure(OfList::Got), figure(OfList::Freed), figure(OfList::Shared)), (60, 60, 1));
    end(ecb).expect("nobody is inside");
}

#[test]
fn an_ended_ecb_that_is_kept_is_known_by_its_addresses() {
    let _turn = turn();
    given::set_check(1 << 20);
    let ended = |fill: usize| {
        let ecb = create(b"SIZES").expect("memory");
        enter(ecb).expect("alive");
        let (small, large) = (filled(100, 1), filled(400_000, 2));
        // SAFETY: the buffer is in use.
        unsafe { tag(small, b"SESSION") }.expect("a name");
        let frame: Vec<_> = (0..fill).map(|_| filled(1_000, 3)).collect();
        end(ecb).expect("the thread leaves first");
        (ecb, small, large, frame.last().copied())
    };
    let (ecb, small, large, frame) = ended(100);
    for (buffer, inside, bytes, name) in [
        (small, 20, 128, &b"SESSION"[..]),
        (large, 399_999, 400_000, b""),
        (frame.expect("some"), 0, 1_024, b""),
    ] {
        let stale = stale_at(buffer.addr() + inside).expect("it is kept");
        assert_eq!((stale.ecb, stale.class.name()), (ecb, &b"SIZES"[..]));
        assert_eq!((stale.buffer, stale.bytes, &stale.name[..stale.length]), (buffer.addr(), bytes, name));
        let descriptor = lookup(buffer.addr());
        // SAFETY: an area's descriptor, which stays readable; what is refused is not freed.
        assert!(unsafe { !super::free(buffer, descriptor) }, "its ECB has ended");
    }
    assert!(stale_at(0x1000).is_none() && stale_at(usize::MAX).is_none());
    // More than the bound: the oldest serves again, and its storage is whole.
    for _ in 0..20 {
        ended(10);
    }
    assert!(stale_at(small.addr()).is_none_or(|stale| stale.ecb != ecb));
    given::set_check(0);
    assert!(stale_at(small.addr()).is_none());
}

#[test]
fn storage_below_2_gib_is_the_ecb_s_and_goes_into_no_other_list() {
    let _turn = turn();
    let low = |size: usize| {
        let buffer = super::super::below::BAR.get(size);
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
