//! Tests of threads' heaps through the heap's own functions, with threads that come, go and free each other's
//! cells. They share the process's heap and take turns.

use super::*;
use crate::heap::extent::LEAST_STEP;
use crate::heap::random::Random;
use crate::heap::turn::settle;
use crate::heap::{ONE_AT_A_TIME, calloc, free, malloc, map, realloc, usable_size};
use crate::ledger;
use std::sync::mpsc;
use std::vec::Vec;
use underbar_ledger::Key;

/// A pointer on its way to another thread.
struct Sent(*mut u8);

// SAFETY: whoever receives it owns the storage.
unsafe impl Send for Sent {}

fn figure(key: Key) -> u64 {
    ledger::slot().cell(key).load(Ordering::Relaxed)
}

/// Figures of the ledger: gets less frees, and bytes in use.
fn live() -> (u64, u64) {
    settle();
    (figure(Key::HeapGets).wrapping_sub(figure(Key::HeapFrees)), figure(Key::HeapUsed))
}

fn get(bytes: usize) -> *mut u8 {
    // SAFETY: new storage; all of it is ours to write.
    unsafe {
        let got = malloc(bytes);
        assert!(!got.is_null() && got.addr().is_multiple_of(16));
        let usable = usable_size(got);
        assert!(usable >= bytes);
        got.write_bytes(0x5a, usable);
        got
    }
}

fn heap_of_this_thread() -> *mut ThreadHeap {
    super::super::slot::get()
}

/// Checks every extent of a heap that this thread owns, figures settled.
fn check_extents(heap: *mut ThreadHeap) {
    // SAFETY: the caller's promise.
    unsafe {
        for class in 1..CLASSES {
            let pool = &(*heap).pools[class];
            assert_eq!(pool.handed, 0);
            let lists =
                [(pool.current, Place::Current), (pool.partial, Place::Partial), (pool.full, Place::Full)];
            for (head, place) in lists {
                let mut extent = head;
                while let Some(at) = extent.as_ref() {
                    assert_eq!(at.place, place);
                    assert_eq!(usize::from(at.class), class);
                    let mut listed = 0;
                    let mut cell = at.list;
                    while !cell.is_null() {
                        assert_eq!(map::lookup(cell as usize), extent.cast(), "a cell of another extent");
                        assert!((cell as usize - at.start).is_multiple_of(at.cell_bytes as usize));
                        listed += 1;
                        cell = (*cell).next.get();
                    }
                    assert_eq!(at.carved, at.out() + listed, "carved == out + |list|");
                    assert!(at.carved <= at.capacity && at.settled == at.out());
                    assert!(at.held == 0 || at.countdown > 0, "somebody looks before the last one");
                    assert!(
                        place == Place::Current || at.countdown <= at.capacity.div_ceil(8).max(LEAST_STEP)
                    );
                    extent = if place == Place::Current { null_mut() } else { at.next };
                }
            }
        }
    }
}

#[test]
fn cells_come_back_in_any_order() {
    let _turn = ONE_AT_A_TIME.lock();
    let before = live();
    let mut random = Random(3);
    let mut held: Vec<*mut u8> = Vec::new();
    for round in 0..60 {
        let most = [2000, 30, 800][round % 3];
        while held.len() < most {
            let bits = 1 + random.below(15);
            held.push(get(random.below(1 << bits)));
        }
        for _ in 0..most / 2 {
            let at = random.below(held.len());
            // SAFETY: ours, and no longer held.
            unsafe { free(held.swap_remove(at)) };
        }
        settle();
        check_extents(heap_of_this_thread());
        assert_eq!(live().0 - before.0, held.len() as u64, "gets - frees == live");
    }
    // SAFETY: ours.
    held.drain(..).for_each(|got| unsafe { free(got) });
    assert_eq!(live(), before, "all is back");
}

/// Random replacement over some twenty extents. An extent whose cells are few gives way to one with a step of them: a bin that is
/// filled has a step of cells on average.
#[test]
fn a_bin_is_filled_with_a_step_of_cells() {
    let _turn = ONE_AT_A_TIME.lock();
    let bytes = 250;
    let mut random = Random(7);
    let mut held: Vec<*mut u8> = (0..4000).map(|_| get(bytes)).collect();
    let heap = heap_of_this_thread();
    let extent_of = |cell: *mut u8| map::lookup(cell.addr()).cast::<Extent>();
    // SAFETY: the cell is in use, so its extent is live.
    let (class, step) = unsafe {
        let extent = &*extent_of(held[0]);
        (usize::from(extent.class), extent.capacity / 8)
    };
    let (gets, mut fills) = (100_000, 0);
    for _ in 0..gets {
        let at = random.below(held.len());
        // SAFETY: ours, and no longer held; the heap is this thread's.
        unsafe {
            free(held[at]);
            fills += u32::from((*heap).bins[class].is_null());
        }
        held[at] = get(bytes);
    }
    // SAFETY: ours.
    held.drain(..).for_each(|got| unsafe { free(got) });
    settle();
    check_extents(heap);
    assert!(fills > 0 && fills <= gets / step, "{fills} fills for {gets} gets, a step has {step} cells");
}

#[test]
fn each_size_is_usable_to_the_last_byte() {
    let _turn = ONE_AT_A_TIME.lock();
    let before = live();
    let held: Vec<(usize, *mut u8)> = (0..40_000).step_by(7).map(|bytes| (bytes, get(bytes))).collect();
    let mut ranges: Vec<(usize, usize)> =
        // SAFETY: ours.
        held.iter().map(|(_, got)| (got.addr(), got.addr() + unsafe { usable_size(*got) })).collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two overlap");
    // SAFETY: ours.
    held.into_iter().for_each(|(_, got)| unsafe { free(got) });
    assert_eq!(live(), before);
}

#[test]
fn calloc_is_zero_also_where_storage_was_used_before() {
    let _turn = ONE_AT_A_TIME.lock();
    let sizes = [1, 16, 100, 1024, 1025, 5000, 32_768, 32_769, 100_000, 1 << 20, 5 << 20];
    for _ in 0..3 {
        for bytes in sizes {
            // SAFETY: ours.
            unsafe { free(get(bytes)) };
            // SAFETY: ours, of that many bytes.
            unsafe {
                let zeroed = calloc(bytes, 1);
                assert!(core::slice::from_raw_parts(zeroed, bytes).iter().all(|byte| *byte == 0), "{bytes}");
                free(zeroed);
            }
        }
    }
    // SAFETY: nothing is got.
    assert!(unsafe { calloc(usize::MAX / 2, 3) }.is_null());
    settle();
}

#[test]
fn realloc_keeps_the_content_at_every_size() {
    let _turn = ONE_AT_A_TIME.lock();
    let before = live();
    let mut random = Random(11);
    for _ in 0..300 {
        let mut bytes = 1 + random.below(70_000);
        let mut got = get(bytes);
        for _ in 0..20 {
            let bits = 4 + random.below(18);
            let new = 1 + random.below(1 << bits);
            // SAFETY: ours.
            unsafe {
                got = realloc(got, new);
                let kept = core::slice::from_raw_parts(got, bytes.min(new));
                assert!(kept.iter().all(|byte| *byte == 0x5a), "{bytes} -> {new}");
                got.write_bytes(0x5a, new);
            }
            bytes = new;
        }
        // SAFETY: ours.
        unsafe { free(got) };
    }
    assert_eq!(live(), before);
}

/// Cells of one thread, freed by another while the first goes on, stops, or is long gone.
#[test]
fn cells_freed_by_other_threads_come_home() {
    let _turn = ONE_AT_A_TIME.lock();
    let before = live();
    let mut threads = Vec::new();
    for pair in 0..3 {
        let (send, receive) = mpsc::channel::<Sent>();
        threads.push(std::thread::spawn(move || {
            let mut random = Random(pair);
            for _ in 0..30_000 {
                let bits = 4 + random.below(8);
                send.send(Sent(get(random.below(1 << bits)))).expect("a receiver");
            }
        }));
        threads.push(std::thread::spawn(move || {
            for Sent(got) in receive {
                // SAFETY: sent to us.
                unsafe { free(got) };
            }
        }));
    }
    // After the join a thread's heap is abandoned: the C library calls destructors before.
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    assert_eq!(live(), before, "gets - frees == live, whoever freed");
}

/// A thread gets cells and ends; we free them; then all its extents but the current ones are the space's again,
/// although nobody owns the heap.
#[test]
fn a_dead_threads_storage_is_not_stuck() {
    let _turn = ONE_AT_A_TIME.lock();
    // A heap of our own first, or we would be the dead thread's heir.
    // SAFETY: ours.
    unsafe { free(get(1)) };
    let before = live();
    let (send, receive) = mpsc::channel::<Sent>();
    std::thread::spawn(move || {
        for _ in 0..20_000 {
            send.send(Sent(get(200))).expect("a receiver");
        }
    })
    .join()
    .expect("a thread");
    let cells: Vec<*mut u8> = receive.into_iter().map(|Sent(got)| got).collect();
    // SAFETY: sent to us; the map of a cell's page gives its extent.
    let theirs = unsafe { (*map::lookup(cells[0].addr())).owner.load(Ordering::Relaxed) } as *mut ThreadHeap;
    assert_ne!(theirs, heap_of_this_thread());
    // SAFETY: as above.
    assert!(unsafe { (*theirs).inbox.is_unattended() });
    // SAFETY: as above.
    cells.iter().for_each(|got| unsafe { free(*got) });
    assert_eq!(live(), before, "what we still had to send was sent, and counted");
    let _threads = DEFAULT.threads.lock();
    // SAFETY: the heap is abandoned, and we hold the lock.
    unsafe {
        assert!((*theirs).inbox.take_unattended().is_null(), "nothing lies in the inbox");
        let left = (1..CLASSES).all(|class| {
            let pool = &(*theirs).pools[class];
            pool.partial.is_null() && pool.full.is_null()
        });
        assert!(left, "no extent but those in use by the next thread is left to the heap");
    }
}

/// Successive threads get the same heap, with the contents that the last one left.
#[test]
fn heaps_are_handed_down() {
    let _turn = ONE_AT_A_TIME.lock();
    let before = live();
    let heaps_before = count_heaps();
    let mut held = Vec::new();
    for turn in 0..200 {
        let Sent(got) = std::thread::spawn(move || {
            let (a, b) = (get(100 + turn), get(100));
            // SAFETY: ours.
            unsafe { free(b) };
            Sent(a)
        })
        .join()
        .expect("a thread");
        held.push(got);
    }
    assert!(count_heaps() <= heaps_before + 1, "one heap serves them all");
    assert_eq!(live().0 - before.0, 200);
    // SAFETY: sent to us.
    held.into_iter().for_each(|got| unsafe { free(got) });
    assert_eq!(live(), before);
}

fn count_heaps() -> usize {
    let threads = DEFAULT.threads.lock();
    let (mut heap, mut count) = (threads.all, 0);
    while !heap.is_null() {
        count += 1;
        // SAFETY: threads' heaps stay where they are for ever.
        heap = unsafe { (*heap).next };
    }
    count
}

/// Threads end while others free into their heaps and new ones take these over.
#[test]
fn threads_come_and_go_while_others_free() {
    let _turn = ONE_AT_A_TIME.lock();
    let before = live();
    let (send, receive) = mpsc::sync_channel::<Sent>(256);
    let receive = std::sync::Arc::new(std::sync::Mutex::new(receive));
    let freeing: Vec<_> = (0..2)
        .map(|_| {
            let receive = receive.clone();
            std::thread::spawn(move || {
                loop {
                    let next = receive.lock().expect("no panic").recv();
                    let Ok(Sent(got)) = next else { return };
                    // SAFETY: sent to us.
                    unsafe { free(got) };
                }
            })
        })
        .collect();
    for _ in 0..50 {
        let getting: Vec<_> = (0..3)
            .map(|thread| {
                let send = send.clone();
                std::thread::spawn(move || {
                    let mut random = Random(thread);
                    for _ in 0..300 {
                        let bits = 4 + random.below(11);
                        send.send(Sent(get(random.below(1 << bits)))).expect("a receiver");
                    }
                })
            })
            .collect();
        getting.into_iter().for_each(|thread| thread.join().expect("a thread"));
    }
    drop(send);
    freeing.into_iter().for_each(|thread| thread.join().expect("a thread"));
    assert_eq!(live(), before);
}

/// After a thread was told that it ends, it may still get and free.
#[test]
fn a_departed_thread_is_served() {
    let _turn = ONE_AT_A_TIME.lock();
    let before = live();
    let Sent(got) = std::thread::spawn(|| {
        let (early, other) = (get(100), get(5000));
        let heap = heap_of_this_thread();
        assert!(super::is_real(heap));
        // SAFETY: all of it is this thread's. The call when the thread really ends finds no heap.
        unsafe {
            super::super::thread_ends(null_mut());
            let late = get(100);
            assert!(core::ptr::eq(heap_of_this_thread(), &DEPARTED));
            free(early);
            free(late);
            free(realloc(get(10), 40_000));
        }
        Sent(other)
    })
    .join()
    .expect("a thread");
    // SAFETY: sent to us.
    unsafe { free(got) };
    assert_eq!(live(), before);
}

/// A child has a new slot of its own: it must record again what its parent recorded.
#[test]
fn a_slot_is_told_of_the_largest_request_once() {
    let _turn = ONE_AT_A_TIME.lock();
    let before = live();
    let told_of = |bytes| {
        ledger::slot().cell(Key::HeapLargestRequest).store(0, Ordering::Relaxed);
        // SAFETY: ours.
        unsafe { free(get(bytes)) };
        figure(Key::HeapLargestRequest)
    };
    for bytes in [20_000, 1500] {
        crate::heap::forget_largest();
        assert_eq!([told_of(bytes), told_of(bytes), told_of(bytes - 16)], [bytes as u64, 0, 0]);
    }
    assert_eq!(told_of(1501), 1501, "larger than all that this slot was told of");
    let other = std::thread::spawn(move || told_of(9000)).join().expect("a thread");
    assert_eq!(other, 9000, "a thread that takes over a heap knows nothing of the slot");
    assert_eq!(live(), before);
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let _turn = ONE_AT_A_TIME.lock();
    let foreign = figure(Key::HeapForeignFrees);
    let mut local = 7_u64;
    let theirs: *mut u8 = (&raw mut local).cast();
    // SAFETY: not ours, and so not touched.
    unsafe {
        free(theirs);
        assert!(realloc(theirs, 100).is_null());
        assert_eq!(usable_size(theirs), 0);
        free(null_mut());
    }
    assert_eq!(local, 7);
    assert_eq!(figure(Key::HeapForeignFrees) - foreign, 2);
}

/// Lists that follow each other faster than the clock ticks leave it alone for a while, and then ask it again.
#[test]
fn fast_lists_do_not_all_read_the_clock() {
    let _turn = ONE_AT_A_TIME.lock();
    // SAFETY: ours; and this thread owns its heap, and is in the middle of nothing.
    let heap = unsafe {
        free(get(100));
        &mut *heap_of_this_thread()
    };
    (heap.clock_then, heap.lists_without_clock) = (0, 0);
    heap.heartbeat();
    assert_eq!(heap.lists_without_clock, 0, "it ticked");
    // Two in one tick, sooner or later.
    while heap.lists_without_clock == 0 {
        heap.heartbeat();
    }
    for left in (0..FAST_LISTS).rev() {
        heap.heartbeat();
        assert_eq!(heap.lists_without_clock, left);
    }
}
