//! Tests of the services: what each answers, and that nothing is touched that is not the caller's.

use super::*;
use crate::heap::numbers::{MOST, places};
use crate::heap::turn::{ONE_AT_A_TIME, Turn};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::vec::Vec;

fn turn() -> Turn {
    ONE_AT_A_TIME.lock()
}

fn new(initial: i32, increment: i32, options: i32) -> i32 {
    create(initial, increment, options).expect("a heap")
}

/// Storage of a heap, filled with one byte.
fn filled(id: i32, bytes: i32, pattern: u8) -> *mut u8 {
    let address = get(id, bytes).expect("storage");
    // SAFETY: new storage.
    unsafe { address.write_bytes(pattern, bytes as usize) };
    address
}

fn holds(address: *const u8, bytes: i32, pattern: u8) -> bool {
    // SAFETY: the test's own storage.
    unsafe { core::slice::from_raw_parts(address, bytes as usize) }.iter().all(|byte| *byte == pattern)
}

fn give_back(address: *mut u8) -> Answer<()> {
    // SAFETY: the tests use no storage that they gave back.
    unsafe { free(address) }
}

fn change(address: *mut u8, size: i32) -> Answer<*mut u8> {
    // SAFETY: as above.
    unsafe { resize(address, size) }
}

fn end(id: i32) -> Answer<()> {
    // SAFETY: as above.
    unsafe { discard(id) }
}

fn policy_of(id: i32) -> Policy {
    numbers::find(id).expect("a live heap").heap.space.lock().policy()
}

/// That bytes in use are as before, and no segment is left. Those of other heaps may have gone meanwhile.
fn assert_as_before(before: [u64; 2]) {
    let now = figures();
    assert!(now[0] == before[0] && now[1] <= before[1], "{now:?}, {before:?} before");
}

/// Bytes in use, and in segments without those of the default heap.
fn figures() -> [u64; 2] {
    crate::heap::turn::settle();
    let [_, bytes] = DEFAULT.space.lock().size();
    let figure = |key| ledger::slot().cell(key).load(Ordering::Relaxed);
    [figure(Key::HeapUsed), figure(Key::HeapSegmentBytes) - bytes]
}

#[test]
fn the_six_calls_of_the_books_in_their_order() {
    let _turn = turn();
    let before = figures();
    let id = new(1, 0, 0);
    assert!(id > 80, "small numbers are no ids");
    let address = filled(id, 4000, 7);
    assert!(address.addr().is_multiple_of(16));
    let other = filled(id, 100, 8);
    let address = change(address, 2000).expect("storage");
    assert!(holds(address, 2000, 7));
    let address = change(address, 200_000).expect("storage");
    assert!(holds(address, 2000, 7) && holds(other, 100, 8));
    assert_eq!(change(address, 200_000), Ok(address), "an equal size changes nothing");
    assert_eq!(give_back(address), Ok(()));
    assert_eq!(end(id), Ok(()));
    // Also what was not given back.
    assert_as_before(before);
}

#[test]
fn sizes_and_options_of_a_heap() {
    let _turn = turn();
    let of_default = DEFAULT.space.lock().policy();
    let id = new(1, 4097, 0);
    let Policy { initial, increment, disposition, .. } = policy_of(id);
    assert_eq!((initial, increment, disposition), (4096, 8192, of_default.disposition));
    assert_eq!(end(id), Ok(()));
    let id = new(0, 0, 76);
    let Policy { initial, increment, disposition, .. } = policy_of(id);
    assert_eq!((initial, increment), (of_default.initial, of_default.increment));
    assert_eq!(disposition, Disposition::Free);
    assert_eq!(end(id), Ok(()));
    assert_eq!(create(-1, 0, 0), Err(&BAD_INITIAL_SIZE));
    assert_eq!(create(0, i32::MIN, 0), Err(&BAD_INCREMENT));
    for options in [2, 69, 77, -1, i32::MAX] {
        assert_eq!(create(0, 0, options), Err(&BAD_OPTIONS), "{options}");
    }
    // The largest sizes are only reserved with the first request.
    assert_eq!(end(new(i32::MAX, i32::MAX, 70)), Ok(()));
}

#[test]
fn a_wrong_id_is_an_answer() {
    let _turn = turn();
    let (id, other) = (new(0, 0, 0), new(0, 0, 0));
    assert_ne!(id, other);
    for wrong in [1, 79, 80, -1, i32::MIN, i32::MAX, id + (1 << 17), id - (1 << 17), other + 1] {
        assert_eq!(get(wrong, 100), Err(&NO_HEAP), "{wrong}");
        assert_eq!(end(wrong), Err(&NO_HEAP), "{wrong}");
    }
    assert_eq!(end(0), Err(&INITIAL_HEAP));
    for size in [0, -1, i32::MIN] {
        assert_eq!(get(id, size), Err(&BAD_SIZE));
    }
    assert_eq!(end(id), Ok(()));
    assert_eq!((get(id, 100), end(id)), (Err(&NO_HEAP), Err(&NO_HEAP)));
    assert_eq!(end(other), Ok(()));
}

#[test]
fn a_wrong_address_is_an_answer() {
    let _turn = turn();
    let before = figures();
    for options in [70, 1] {
        let (id, other) = (new(8192, 4096, options), new(8192, 4096, options));
        let neighbours = [filled(id, 300, 1), filled(id, 300, 2), filled(id, 300, 3)];
        let theirs = filled(other, 300, 4);
        let gone = filled(other, 10_000, 5);
        let [_, address, _] = neighbours;
        let on_stack = 0u64;
        // SAFETY: malloc's own storage, given back below.
        let cell = unsafe { crate::heap::malloc(100) };
        let inside = address.wrapping_add(16);
        let wrong = [
            core::ptr::null_mut(),
            8 as *mut u8,
            usize::MAX as *mut u8,
            (address.addr() | 1 << 47) as *mut u8,
            (address.addr() | 1 << 63) as *mut u8,
            (&raw const on_stack).cast_mut().cast(),
            (&raw const before).cast_mut().cast(),
            cell,
            inside,
            address.wrapping_add(1),
            address.wrapping_add(8),
            address.wrapping_sub(16),
            address.wrapping_add(4096),
        ];
        for wrong in wrong {
            assert_eq!(give_back(wrong), Err(&NO_ELEMENT), "{wrong:?}");
            assert_eq!(change(wrong, 50), Err(&NO_ELEMENT), "{wrong:?}");
        }
        assert_eq!(change(address, 0), Err(&BAD_SIZE));
        assert_eq!(give_back(address), Ok(()));
        assert_eq!((give_back(address), change(address, 50)), (Err(&NO_ELEMENT), Err(&NO_ELEMENT)));
        assert!(holds(neighbours[0], 300, 1) && holds(neighbours[2], 300, 3) && holds(theirs, 300, 4));
        assert_eq!(give_back(gone), Ok(()));
        assert_eq!(give_back(gone), Err(&NO_ELEMENT), "its segment may be gone, too");
        assert_eq!(end(other), Ok(()));
        assert_eq!(give_back(theirs), Err(&NO_ELEMENT), "it went with its heap");
        assert_eq!(give_back(neighbours[0]), Ok(()));
        assert_eq!(end(id), Ok(()));
        // SAFETY: it is in use.
        unsafe { crate::heap::free(cell) };
    }
    assert_as_before(before);
}

#[test]
fn damage_is_an_answer() {
    let _turn = turn();
    let id = new(65_536, 4096, 70);
    let [first, second, last] = [filled(id, 104, 1), filled(id, 104, 2), filled(id, 104, 3)];
    // SAFETY: the storage is mapped: the next header, and that of the free block at the end.
    unsafe {
        first.add(104).write_bytes(0xee, 8);
        last.add(104).write_bytes(0xee, 8);
    }
    assert_eq!((give_back(first), change(first, 500)), (Err(&DAMAGED), Err(&DAMAGED)));
    assert_eq!(give_back(second), Err(&DAMAGED), "its own header");
    assert_eq!(get(id, 1000), Err(&DAMAGED));
    assert!(holds(first, 104, 1) && holds(second, 104, 2) && holds(last, 104, 3));
    assert_eq!(end(id), Err(&DAMAGED));
    assert_eq!(end(id), Err(&NO_HEAP), "it is discarded all the same");
}

/// Creates, discards, gets, frees, segments got and given back, bytes in use: of all additional heaps.
fn additional() -> [u64; 7] {
    [
        Key::AdditionalCreates,
        Key::AdditionalDiscards,
        Key::AdditionalGets,
        Key::AdditionalFrees,
        Key::AdditionalSegmentsAllocated,
        Key::AdditionalSegmentsFreed,
        Key::AdditionalUsed,
    ]
    .map(|key| ledger::slot().cell(key).load(Ordering::Relaxed))
}

#[test]
fn additional_heaps_are_counted_together_and_the_default_one_is_not() {
    let _turn = turn();
    let before = additional();
    let since = || {
        let now = additional();
        core::array::from_fn::<_, 7, _>(|at| now[at].wrapping_sub(before[at]))
    };
    let heaps = [new(4096, 4096, 70), new(4096, 4096, 1)];
    let [first, _] = heaps.map(|id| {
        let all = [50_000, 100, 100].map(|bytes| filled(id, bytes, 1));
        assert_eq!(give_back(all[1]), Ok(()));
        all[0]
    });
    assert_eq!(give_back(filled(0, 100_000, 2)), Ok(()));
    let [creates, discards, gets, frees, got, given, used] = since();
    assert_eq!((creates, discards, gets, frees, given), (2, 0, 6, 2, 0));
    assert!((2..=6).contains(&got) && (100_200..100_500).contains(&used), "{got} segments, {used} bytes");
    let peak = ledger::slot().cell(Key::AdditionalUsedPeak).load(Ordering::Relaxed);
    assert!(peak >= used);
    let moved = change(first, 60_000).expect("storage");
    assert!(holds(moved, 50_000, 1));
    heaps.into_iter().for_each(|id| assert_eq!(end(id), Ok(())));
    let [creates, discards, gets, frees, got, given, used] = since();
    assert_eq!((creates, discards, gets - frees, got - given, used), (2, 2, 0, 0, 0));
    assert!(gets >= 6);
}

/// Id 0: elements come from the default heap, so that malloc's own functions take them as well.
#[test]
fn the_default_heap_is_0() {
    let _turn = turn();
    let before = figures();
    for bytes in [10, 100_000] {
        let mine = filled(0, bytes, 1);
        let mine = change(mine, bytes * 2).expect("storage");
        assert!(holds(mine, bytes, 1));
        assert_eq!(give_back(mine), Ok(()));
        assert_eq!(give_back(mine), Err(&NO_ELEMENT));
        // SAFETY: it is in use.
        unsafe { crate::heap::free(crate::heap::realloc(filled(0, bytes, 2), 50_000)) };
    }
    // SAFETY: malloc's own storage.
    let large = unsafe { crate::heap::malloc(100_000) };
    assert_eq!(give_back(large), Ok(()), "an element, too");
    assert_eq!(figures()[0], before[0]);
}

#[test]
fn storage_is_filled_as_storage_says() {
    let _turn = turn();
    let id = new(0, 0, 70);
    let handle = numbers::find(id).expect("a live heap");
    handle.heap.configure(policy_of(id), Some(7), Some(9), false);
    let address = get(id, 1000).expect("storage");
    assert!(holds(address, 1000, 7));
    // SAFETY: the test's own storage.
    unsafe { address.write_bytes(1, 1000) };
    let behind = filled(id, 100, 2);
    let moved = change(address, 5000).expect("storage");
    assert!(moved != address && holds(moved, 1000, 1));
    assert!(holds(moved.wrapping_add(1008), 3992, 7));
    // Except the links and the end of a free block.
    assert!(holds(address.wrapping_add(16), 900, 9) && holds(behind, 100, 2));
    assert_eq!(end(id), Ok(()));
}

#[test]
fn ids_do_not_come_back_soon() {
    let _turn = turn();
    let mut seen = std::collections::HashSet::new();
    let before = places();
    for _ in 0..5000 {
        let id = new(0, 0, 0);
        assert!(id > 0 && seen.insert(id));
        assert_eq!(end(id), Ok(()));
    }
    assert!(places() - before < 2000, "places are used again");
}

/// As many heaps as there can be, each with storage, and one more.
#[test]
fn a_hundred_thousand_heaps() {
    let _turn = turn();
    let before = figures();
    let mut heaps: Vec<(i32, *mut u8)> = Vec::new();
    let refused = loop {
        match create(4096, 4096, 70) {
            Ok(id) => heaps.push((id, core::ptr::null_mut())),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused, &TOO_MANY_HEAPS);
    assert!(heaps.len() > 100_000 && heaps.len() <= MOST as usize, "{}", heaps.len());
    // The kernel limits the number of mappings, so some have storage.
    for (at, (id, address)) in heaps.iter_mut().enumerate().step_by(50) {
        *address = filled(*id, 100, at as u8);
    }
    for (at, (id, address)) in heaps.iter().enumerate() {
        assert!(address.is_null() || holds(*address, 100, at as u8));
        assert_eq!(end(*id), Ok(()));
    }
    assert_as_before(before);
}

/// A thread that is turned away was never inside: it must not count as one that leaves, or a discard would not wait for others.
#[test]
fn a_thread_that_is_turned_away_does_not_leave() {
    let _turn = turn();
    let old = new(0, 0, 0);
    let handle = numbers::find(old).expect("a live heap");
    assert_eq!(end(old), Ok(()));
    let id = new(0, 0, 0);
    let reused = numbers::find(id).expect("a live heap");
    assert!(core::ptr::eq(reused.heap, handle.heap));
    let inside = enter(reused).expect("a live heap");
    assert!(enter(handle).is_none());
    assert_eq!(reused.heap.gate.try_close(reused.generation), Err(Some(1)));
    drop(inside);
    assert_eq!(end(id), Ok(()));
}

/// A heap that fills what is got and given back: a service writes to storage in the middle of a request.
fn new_filling() -> i32 {
    let id = new(4096, 4096, 1);
    let heap = numbers::find(id).expect("a live heap").heap;
    heap.configure(policy_of(id), Some(7), Some(9), false);
    id
}

/// Threads get from a heap, and give back to it, without a pause, while others discard it: each gets storage, or is told that the
/// heap is gone.
#[test]
fn a_heap_is_discarded_while_threads_get_from_it() {
    const THREADS: usize = 4;
    let _turn = turn();
    let before = figures();
    let (stop, served, told) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let current = AtomicI32::new(new_filling());
    std::thread::scope(|scope| {
        let (stop, served, told, current) = (&stop, &served, &told, &current);
        let get_and_free = move |gives_back: bool| {
            while !stop.load(Ordering::Relaxed) {
                let id = current.load(Ordering::Relaxed);
                let size = 16 + (served.load(Ordering::Relaxed) % 500) as i32 * 16;
                match get(id, size) {
                    // The storage may be gone at once, so it is not touched.
                    Ok(address) => {
                        served.fetch_add(1, Ordering::Relaxed);
                        if gives_back {
                            assert!(matches!(give_back(address), Ok(()) | Err(&NO_ELEMENT)));
                        }
                    }
                    Err(condition) => {
                        assert_eq!(condition, &NO_HEAP);
                        told.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        };
        let getters: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || get_and_free(thread % 2 == 0))).collect();
        // Two threads discard the same heap: one of them does.
        for _ in 0..40 {
            let goal = served.load(Ordering::Relaxed) + 100;
            while served.load(Ordering::Relaxed) < goal {
                std::thread::yield_now();
            }
            let id = current.load(Ordering::Relaxed);
            let other = scope.spawn(move || end(id));
            let results = (end(id), other.join().expect("a thread"));
            assert!(matches!(results, (Ok(()), Err(&NO_HEAP)) | (Err(&NO_HEAP), Ok(()))), "{results:?}");
            let goal = told.load(Ordering::Relaxed) + 1;
            while told.load(Ordering::Relaxed) < goal {
                std::thread::yield_now();
            }
            current.store(new_filling(), Ordering::Relaxed);
        }
        stop.store(true, Ordering::Relaxed);
        getters.into_iter().for_each(|getter| getter.join().expect("a thread"));
    });
    assert_eq!(end(current.into_inner()), Ok(()));
    assert_as_before(before);
}
