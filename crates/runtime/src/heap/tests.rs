//! Tests of heaps that are created and ended next to the default one, and entered by several threads.

use super::registry::{Handle, Refused};
use super::thread::{FILLING, ThreadHeap};
use super::turn::{Turn, settle};
use super::*;
use crate::heap::random::Random;
use std::sync::{Mutex, RwLock, mpsc};
use std::vec::Vec;

mod by_size;
mod rows;

const KEEP: Policy = Policy {
    initial: 256 * 1024,
    increment: 64 * 1024,
    disposition: Disposition::Keep,
    huge_pages: HugePages::Off,
};
/// Each request is an element.
const FREE: Policy = Policy { disposition: Disposition::Free, ..KEEP };

/// Storage of the test, filled with one byte.
struct Block {
    address: usize,
    bytes: usize,
    pattern: u8,
}

impl Block {
    fn get(bytes: usize, pattern: u8) -> Self {
        // SAFETY: new storage, ours to fill.
        unsafe {
            let address = malloc(bytes);
            assert!(!address.is_null());
            address.write_bytes(pattern, bytes);
            Self { address: address.addr(), bytes, pattern }
        }
    }

    fn check(&self, bytes: usize) {
        // SAFETY: ours.
        let content = unsafe { core::slice::from_raw_parts(self.address as *const u8, bytes) };
        assert!(content.iter().all(|byte| *byte == self.pattern), "{bytes} bytes at {:#x}", self.address);
    }

    fn free(self) {
        self.check(self.bytes);
        // SAFETY: ours, and no longer used.
        unsafe { free(self.address as *mut u8) };
    }

    fn resize(&mut self, bytes: usize) {
        // SAFETY: ours.
        unsafe {
            let address = realloc(self.address as *mut u8, bytes);
            assert!(!address.is_null());
            self.address = address.addr();
            self.check(bytes.min(self.bytes));
            address.write_bytes(self.pattern, bytes);
        }
        self.bytes = bytes;
    }

    fn heap(&self) -> &'static object::Heap {
        // SAFETY: it is in use.
        unsafe { object::of(map::lookup(self.address)) }
    }

    /// The thread's heap that owns the cell.
    fn owner(&self) -> *mut ThreadHeap {
        // SAFETY: it is in use.
        let owner = unsafe { (*map::lookup(self.address)).owner.load(Ordering::Relaxed) };
        assert_ne!(owner, SEGMENT, "no cell");
        (owner & !FILLING) as *mut ThreadHeap
    }
}

fn within<R>(handle: Handle, then: impl FnOnce() -> R) -> R {
    let entered = enter(handle).expect("a live heap");
    let result = then();
    leave(entered);
    result
}

fn new(policy: Policy) -> Handle {
    create(policy).expect("memory")
}

fn turn() -> Turn {
    ONE_AT_A_TIME.lock()
}

/// Figures of the ledger: gets less frees, bytes in use; segments, and their bytes, without those of the default heap, which keeps
/// some and gives others back as threads start and end.
fn figures() -> [u64; 4] {
    settle();
    let space = DEFAULT.space.lock();
    let [segments, bytes] = space.size();
    let figure = |key| ledger::slot().cell(key).load(Ordering::Relaxed);
    [
        figure(Key::HeapGets).wrapping_sub(figure(Key::HeapFrees)),
        figure(Key::HeapUsed),
        figure(Key::HeapSegmentsAllocated) - figure(Key::HeapSegmentsFreed) - segments,
        figure(Key::HeapSegmentBytes) - bytes,
    ]
}

/// That all is back. Segments of other tests' heaps may have gone meanwhile.
fn assert_as_before(before: [u64; 4]) {
    let now = figures();
    let is_back = now[..2] == before[..2] && now[2] <= before[2] && now[3] <= before[3];
    assert!(is_back, "{now:?}, {before:?} before");
}

#[test]
fn who_entered_a_heap_is_served_by_it_and_what_comes_back_goes_home() {
    let _turn = turn();
    let before = figures();
    let (a, b) = (new(Policy::AUTO), new(KEEP));
    let outside = Block::get(100, 1);
    let entered = enter(a).expect("live");
    let mut of_a = [Block::get(100, 2), Block::get(100_000, 3)];
    let nested = enter(b).expect("live");
    let of_b = [Block::get(100, 4), Block::get(100_000, 5)];
    assert!(core::ptr::eq(outside.heap(), &DEFAULT));
    assert!(of_a.iter().all(|block| core::ptr::eq(block.heap(), a.heap)));
    assert!(of_b.iter().all(|block| core::ptr::eq(block.heap(), b.heap)));
    // An element grows in its own heap, even if the thread is inside another one.
    of_a[1].resize(110_000);
    assert!(core::ptr::eq(of_a[1].heap(), a.heap));
    let (here, again) = (slot::get(), enter(b).expect("live"));
    assert_eq!(slot::get(), here, "a thread has one heap in each");
    leave(again);
    leave(nested);
    let ends_with_it = Block::get(10, 6);
    assert!(core::ptr::eq(ends_with_it.heap(), a.heap));
    within(default(), || Block::get(100, 7).free());
    leave(entered);
    let last = Block::get(100, 8);
    assert!(core::ptr::eq(last.heap(), &DEFAULT));
    assert_eq!(outside.owner(), last.owner());
    of_a.into_iter().chain(of_b).chain([outside, last]).for_each(Block::free);
    assert_eq!((end(b), end(a)), (Ok(()), Ok(())));
    assert_as_before(before);
}

#[test]
fn a_heap_ends_once_and_not_while_somebody_is_inside() {
    let _turn = turn();
    let before = figures();
    let handle = new(Policy::AUTO);
    let (entered, again) = (enter(handle).expect("live"), enter(handle).expect("live"));
    let _lost = [Block::get(10, 1), Block::get(40_000, 2), Block::get(5 << 20, 3)];
    assert_eq!(end(handle), Err(Refused::Inside(2)));
    leave(again);
    let nested = within(default(), || end(handle));
    assert_eq!(nested, Err(Refused::Inside(1)), "the thread will come back to it");
    leave(entered);
    assert_eq!(end(handle), Ok(()));
    assert_eq!(end(handle), Err(Refused::Ended));
    assert_eq!(end(default()), Err(Refused::Default));
    // The description now belongs to another heap; the handle stays invalid.
    let other = new(Policy::AUTO);
    assert!(core::ptr::eq(other.heap, handle.heap));
    assert_eq!(enter(handle).err(), Some(Refused::Ended));
    assert_eq!(end(handle), Err(Refused::Ended));
    within(other, || Block::get(10, 4).free());
    assert_eq!(end(other), Ok(()));
    assert_as_before(before);
}

/// Cells that wait in an outbox when their heap ends are not followed: their pages are gone, and the thread's heap that they came
/// from belongs to another heap by then.
#[test]
fn what_waits_in_an_outbox_ends_with_its_heap() {
    let _turn = turn();
    let before = figures();
    let first = new(Policy::AUTO);
    let cells = std::thread::spawn(move || within(first, || [(); 9].map(|()| Block::get(100, 1))));
    let mut cells = cells.join().expect("a thread").into_iter();
    let theirs = cells.next().expect("one").owner();
    cells.for_each(Block::free);
    assert_eq!(end(first), Ok(()));
    // The pages are gone: following a link would crash here. A thread of another test may put its heap on top of the spare ones.
    let heaps: Vec<Handle> = (0..20).map(|_| new(Policy::AUTO)).collect();
    let has_come = heaps.iter().any(|&second| {
        let (send, receive) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            within(second, || {
                tell.send([Block::get(100, 2), Block::get(100, 3)]).expect("a receiver");
                receive.recv().expect("a sender");
                // SAFETY: this thread's own heap.
                unsafe { (*slot::get()).inbox_waits() }
            })
        });
        let cells = told.recv().expect("a sender");
        let is_theirs = cells[0].owner() == theirs;
        cells.into_iter().for_each(Block::free);
        settle();
        send.send(()).expect("a receiver");
        assert_eq!(thread.join().expect("a thread"), 2, "cells of this heap came home, and no others");
        is_theirs
    });
    assert!(has_come, "what was a thread's in the first heap never served again");
    assert!(heaps.into_iter().all(|heap| end(heap) == Ok(())));
    assert_as_before(before);
}

/// STORAGE fills what is got and freed by the settings of the block's heap, wherever the thread is.
#[test]
fn what_is_filled_is_that_of_the_heap() {
    let _turn = turn();
    let before = figures();
    let (filled, plain) = (new(Policy::AUTO), new(Policy::AUTO));
    filled.heap.configure(Policy::AUTO, Some(7), Some(9), false);
    for bytes in [100, 5000, 100_000] {
        within(filled, || {
            // SAFETY: new storage, given back below.
            unsafe {
                let (got, zeroed) = (malloc(bytes), calloc(bytes, 1));
                for (address, pattern) in [(got, 7), (zeroed, 0)] {
                    Block { address: address.addr(), bytes, pattern }.check(bytes);
                }
                within(plain, || {
                    free(got);
                    Block::get(bytes, 1).free();
                });
                // Except the links of a free cell or block.
                Block { address: got.addr() + 16, bytes: bytes - 32, pattern: 9 }.check(bytes - 32);
                free(zeroed);
            }
        });
    }
    assert_eq!((end(filled), end(plain)), (Ok(()), Ok(())));
    assert_as_before(before);
}

/// Threads end inside heaps, and after heaps that they were in; others reuse what they leave.
/// A heap that begins small gets small extents first, and then those of every heap.
#[test]
fn extents_of_a_small_heap_are_small() {
    let _turn = turn();
    let small = new(Policy { initial: 24 << 10, ..Policy::AUTO });
    within(small, || {
        let first = Block::get(1_000, 1);
        assert!(small.heap.space.lock().size()[1] <= 32 << 10);
        assert_eq!(small.heap.space.lock().extent_bytes(64 << 10), 4096);
        let blocks: Vec<Block> = (0..2_000).map(|_| Block::get(1_000, 2)).collect();
        assert_eq!(small.heap.space.lock().extent_bytes(64 << 10), 64 << 10);
        blocks.into_iter().for_each(Block::free);
        first.free();
    });
    assert_eq!(DEFAULT.space.lock().extent_bytes(64 << 10), 64 << 10);
    assert_eq!(end(small), Ok(()));
}

#[test]
fn threads_that_end_leave_their_heaps() {
    let _turn = turn();
    let before = figures();
    let (short, long) = (new(KEEP), new(Policy::AUTO));
    let mut kept = Vec::new();
    for turn in 0..20 {
        let policy = if turn % 2 == 0 { FREE } else { Policy::AUTO };
        let brief = new(policy);
        let thread = std::thread::spawn(move || {
            let of_brief = within(brief, || Block::get(50, 1));
            within(short, || Block::get(70, 2).free());
            assert_eq!(end(brief), Ok(()));
            let _gone = of_brief;
            let _entered = enter(long).expect("live");
            Block::get(90, 3)
        });
        kept.push(thread.join().expect("a thread"));
        assert_eq!(end(brief), Err(Refused::Ended));
    }
    assert!(kept.windows(2).all(|pair| pair[0].owner() == pair[1].owner()), "one after the other had it");
    kept.drain(..10).for_each(Block::free);
    assert_eq!((end(short), end(long)), (Ok(()), Ok(())), "nobody is inside any more");
    assert_as_before(before);
}

/// In a forked child other threads are inside no heap, and their unfinished operations are unknown.
#[test]
fn a_child_ends_heaps_that_its_parents_threads_were_inside_of() {
    unsafe extern "C" {
        safe fn fork() -> i32;
        safe fn _exit(status: i32) -> !;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    }
    let _turn = turn();
    let before = figures();
    let (theirs, ours) = (new(Policy::AUTO), new(Policy::AUTO));
    let (send, receive) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        within(theirs, || {
            let block = Block::get(100, 1);
            tell.send(()).expect("a receiver");
            receive.recv().expect("a sender");
            block.free();
        });
    });
    told.recv().expect("a sender");
    let entered = enter(ours).expect("live");
    let block = Block::get(100, 2);
    before_fork();
    let child = fork();
    if child == 0 {
        // SAFETY: called before the fork.
        unsafe { after_fork_in_child(true) };
        let results = [end(theirs), end(ours)];
        leave(entered);
        block.free();
        let is_right = results == [Ok(()), Err(Refused::Inside(1))] && end(ours) == Ok(());
        let other = new(Policy::AUTO);
        within(other, || Block::get(100, 3).free());
        _exit(if is_right && end(other) == Ok(()) { 0 } else { 1 });
    }
    // SAFETY: called before the fork; the status is ours.
    let status = unsafe {
        after_fork(true);
        let mut status = -1;
        assert_eq!(waitpid(child, &raw mut status, 0), child);
        status
    };
    assert_eq!(status, 0);
    assert_eq!(end(theirs), Err(Refused::Inside(1)), "the parent's thread still is");
    block.free();
    leave(entered);
    send.send(()).expect("a receiver");
    thread.join().expect("a thread");
    assert_eq!((end(theirs), end(ours)), (Ok(()), Ok(())));
    assert_as_before(before);
}

const HEAPS: usize = 64;
const THREADS: usize = 4;
const POLICIES: [Policy; 3] = [Policy::AUTO, KEEP, FREE];

/// Heaps in which threads get and free storage, and which they end, all at once.
struct Torture {
    /// Read by threads that enter a heap or touch a block of it; written by the thread that ends it.
    heaps: [RwLock<Handle>; HEAPS],
    /// Blocks in use, by heap.
    blocks: [Mutex<Vec<Block>>; HEAPS],
}

impl Torture {
    fn place_of(&self, block: &Block) -> usize {
        let heap = block.heap();
        let is_it = |handle: &RwLock<Handle>| {
            core::ptr::eq(handle.try_read().map_or(&DEFAULT, |handle| handle.heap), heap)
        };
        self.heaps.iter().position(is_it).expect("a live heap, which this thread reads")
    }

    fn keep(&self, block: Block) {
        let at = self.place_of(&block);
        self.blocks[at].lock().expect("no panic").push(block);
    }

    fn one_step(&self, random: &mut Random) {
        let (inside, other) = (random.below(HEAPS), random.below(HEAPS));
        match random.below(200) {
            0 => self.end_and_begin(inside, random),
            what => {
                let (Ok(here), Ok(_there)) = (self.heaps[inside].try_read(), self.heaps[other].try_read())
                else {
                    return;
                };
                // Outside, freed cells wait in an outbox, perhaps until their heap has ended.
                let is_outside = what % 4 == 1;
                within(if is_outside { default() } else { *here }, || {
                    for _ in 0..if is_outside { 0 } else { random.below(20) } {
                        self.keep(Block::get(random.size(11, 50, 18), random.below(256) as u8));
                    }
                    for _ in 0..random.below(16) {
                        let mut blocks = self.blocks[other].lock().expect("no panic");
                        let count = blocks.len().max(1);
                        if blocks.is_empty() {
                            return;
                        }
                        let mut block = blocks.swap_remove(random.below(count));
                        drop(blocks);
                        if what % 4 == 0 {
                            block.resize(random.size(11, 50, 18));
                            self.keep(block);
                        } else {
                            block.free();
                        }
                    }
                });
            }
        }
    }

    fn end_and_begin(&self, at: usize, random: &mut Random) {
        let Ok(mut handle) = self.heaps[at].try_write() else { return };
        let blocks = core::mem::take(&mut *self.blocks[at].lock().expect("no panic"));
        blocks.iter().for_each(|block| block.check(block.bytes));
        assert_eq!(end(*handle), Ok(()), "nobody reads it, so nobody is inside");
        *handle = new(POLICIES[random.below(3)]);
    }
}

#[test]
fn heaps_come_and_go_while_threads_get_and_free_in_all_of_them() {
    let _turn = turn();
    let before = figures();
    let torture = Torture {
        heaps: std::array::from_fn(|at| RwLock::new(new(POLICIES[at % 3]))),
        blocks: std::array::from_fn(|_| Mutex::new(Vec::new())),
    };
    std::thread::scope(|scope| {
        let torture = &torture;
        let run = |thread| {
            scope.spawn(move || {
                let mut random = Random(thread);
                (0..6000).for_each(|_| torture.one_step(&mut random));
            })
        };
        let threads = std::array::from_fn::<_, THREADS, _>(|thread| run(thread as u64));
        // The end of the scope does not wait for destructors, which settle figures.
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    });
    let left: usize = torture.blocks.iter().map(|blocks| blocks.lock().expect("no panic").len()).sum();
    let now = figures();
    assert_eq!(now[0].wrapping_sub(before[0]), left as u64, "gets - frees == in use, whatever ended");
    assert!(left > 1000 && now[2] > before[2] + HEAPS as u64 / 2, "{left} blocks");
    let mut random = Random(99);
    let mut handles: Vec<Handle> =
        torture.heaps.into_iter().map(|handle| handle.into_inner().expect("no panic")).collect();
    for blocks in torture.blocks {
        blocks.into_inner().expect("no panic").into_iter().for_each(|block| block.check(block.bytes));
    }
    while !handles.is_empty() {
        let handle = handles.swap_remove(random.below(handles.len()));
        assert_eq!(end(handle), Ok(()));
    }
    assert_as_before(before);
}
