//! Abandoned heaps: those of threads that have ended, which wait for the next thread.
//!
//! ```text
//! top ─> ready ─> ready ─> ready ─> empty ─> empty       pop takes the one that was left last
//!                           ^ lowest_ready               empty_old takes the one that was left first
//! ```
//! A server that starts a thread for each connection leaves a heap and takes it over again a thousand times a second. A ready heap
//! has its extents still, so the next thread uses the same pages. If each gave its empty extents back, each thread would get others,
//! and use them in other places, until every page of the segments is resident. A heap that no thread takes for a while is emptied:
//! other classes may need its extents.
//!
//! Invariant: no ready heap is below an empty one; `ready` is the number of the ready ones. All are unattended.
//! Not here: how a heap comes to be abandoned, and the lock (`threads`).

use core::ptr::null_mut;

use super::ThreadHeap;

/// So many are ready, at most.
const MOST_READY: u32 = 64;
/// So many keep all their extents. Each further one keeps no empty extent that has many cells: a hundred threads that end together
/// may have filled all their extents.
const READY_AS_THEY_WERE: u32 = 4;
/// Bytes of many cells.
const MANY_CELLS: usize = 16 * 1024;
/// A heap is ready for so long, in nanoseconds: as long as a parked extent waits.
const READY_NS: u64 = 300_000_000;
/// So many are emptied by one look: as many as a request can wait for.
const EMPTIED_AT_A_TIME: u32 = 8;

/// The abandoned heaps of one heap.
pub struct Abandoned {
    top: *mut ThreadHeap,
    lowest_ready: *mut ThreadHeap,
    ready: u32,
}

impl Abandoned {
    /// None yet.
    pub const fn new() -> Self {
        Self { top: null_mut(), lowest_ready: null_mut(), ready: 0 }
    }

    /// Adds a heap that no thread has any more.
    ///
    /// # Safety
    /// The caller owns it; its inbox is unattended.
    pub unsafe fn push(&mut self, thread: *mut ThreadHeap, now: u64) {
        // SAFETY: the caller's promise; those in the list are ours.
        unsafe {
            if self.ready >= READY_AS_THEY_WERE {
                (*thread).settle_all();
                (*thread).release_empty(MANY_CELLS);
            }
            ((*thread).ready, (*thread).left_at) = (true, now);
            ((*thread).below, (*thread).above) = (self.top, null_mut());
            if let Some(below) = self.top.as_mut() {
                below.above = thread;
            }
        }
        self.top = thread;
        if self.lowest_ready.is_null() {
            self.lowest_ready = thread;
        }
        self.ready += 1;
    }

    /// Takes the one that was left last; null if there is none.
    pub fn pop(&mut self) -> *mut ThreadHeap {
        let thread = self.top;
        // SAFETY: those in the list are ours.
        if let Some(last) = unsafe { thread.as_mut() } {
            if last.ready {
                self.no_longer_ready(last);
            }
            self.top = last.below;
            // SAFETY: as above.
            if let Some(below) = unsafe { self.top.as_mut() } {
                below.above = null_mut();
            }
        }
        thread
    }

    /// Empties those that have been ready for long, and those that are too many. Returns when the next one is due; `u64::MAX`:
    /// none is ready.
    pub fn empty_old(&mut self, now: u64) -> u64 {
        let mut emptied = 0;
        // SAFETY: those in the list are ours.
        while let Some(lowest) = unsafe { self.lowest_ready.as_mut() } {
            let until = lowest.left_at + READY_NS;
            if emptied == EMPTIED_AT_A_TIME || (now < until && self.ready <= MOST_READY) {
                return until;
            }
            self.no_longer_ready(lowest);
            // SAFETY: as above.
            unsafe {
                lowest.settle_all();
                lowest.release_empty(0);
            }
            emptied += 1;
        }
        u64::MAX
    }

    /// Settles the figures of all.
    pub fn settle(&mut self) {
        // SAFETY: those in the list are ours.
        self.each(|thread| unsafe { thread.settle_all() });
    }

    /// Settles the figures of all, and empties them.
    pub fn empty(&mut self) {
        self.each(|thread| {
            // SAFETY: those in the list are ours.
            unsafe {
                thread.settle_all();
                thread.release_empty(0);
            }
            thread.ready = false;
        });
        (self.lowest_ready, self.ready) = (null_mut(), 0);
    }

    /// It is the lowest ready one, or on top.
    fn no_longer_ready(&mut self, thread: &mut ThreadHeap) {
        thread.ready = false;
        if core::ptr::eq(self.lowest_ready, thread) {
            self.lowest_ready = thread.above;
        }
        self.ready -= 1;
    }

    fn each(&mut self, mut then: impl FnMut(&mut ThreadHeap)) {
        let mut next = self.top;
        // SAFETY: those in the list are ours.
        while let Some(thread) = unsafe { next.as_mut() } {
            then(thread);
            next = thread.below;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Gate;
    use super::*;
    use crate::heap::object::DEFAULT;
    use crate::heap::size::{STANDARD, class_of};
    use crate::heap::turn::{ONE_AT_A_TIME, settle};
    use std::boxed::Box;
    use std::vec::Vec;

    const FEW: usize = 16;
    const LARGE: usize = 1024;

    /// A heap that got and freed a few cells of one class, and many of another; both extents are its current ones.
    fn used() -> *mut ThreadHeap {
        let thread = Box::into_raw(Box::new(ThreadHeap::empty(&DEFAULT, Gate::for_ever())));
        for (bytes, count) in [(FEW, 4), (LARGE, 32)] {
            // SAFETY: the heap is ours, and so are its cells.
            unsafe {
                let cells: Vec<_> = (0..count).map(|_| (*thread).get(class_of(bytes))).collect();
                let extent = (*thread).pools[class_of(bytes)].current;
                cells.into_iter().for_each(|cell| (*thread).put(extent, cell));
            }
        }
        thread
    }

    /// Which of its extents it has: that of a few cells, that of many.
    fn extents(thread: *mut ThreadHeap) -> (bool, bool) {
        // SAFETY: it is ours.
        let has = |bytes| unsafe { !(*thread).pools[class_of(bytes)].current.is_null() };
        (has(FEW), has(LARGE))
    }

    fn all_of(list: &Abandoned) -> Vec<*mut ThreadHeap> {
        let mut next = list.top;
        let mut all = Vec::new();
        // SAFETY: those in the list are ours.
        while let Some(thread) = unsafe { next.as_mut() } {
            all.push(next);
            next = thread.below;
        }
        all
    }

    /// Gives all storage back.
    fn end(mut list: Abandoned, more: &[*mut ThreadHeap]) {
        list.empty();
        let mut left = all_of(&list);
        for &thread in more {
            // SAFETY: ours.
            unsafe {
                (*thread).settle_all();
                (*thread).release_empty(0);
            }
            left.push(thread);
        }
        // SAFETY: ours; they have no cell and no extent any more.
        left.into_iter().for_each(|thread| drop(unsafe { Box::from_raw(thread) }));
        settle();
    }

    #[test]
    fn heaps_are_ready_for_a_while_and_then_empty() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut list = Abandoned::new();
        let heaps: Vec<_> = (0..12).map(|_| used()).collect();
        assert!(
            extents(heaps[0]) == (true, true) && STANDARD.bytes[class_of(LARGE)] as usize * 32 >= MANY_CELLS
        );
        for (i, &thread) in heaps.iter().enumerate() {
            // SAFETY: ours.
            unsafe { list.push(thread, 1_000 + i as u64) };
        }
        let last = heaps.len() - 1;
        assert_eq!((list.ready, list.lowest_ready), (12, heaps[0]));
        assert_eq!(extents(heaps[3]), (true, true), "one of the first four");
        assert_eq!(extents(heaps[4]), (true, false), "and one of the others");
        assert_eq!(list.empty_old(READY_NS), 1_000 + READY_NS, "the time of none is over");
        // A thread takes one over, and leaves it: it is the last one again.
        assert_eq!(list.pop(), heaps[last]);
        // SAFETY: ours.
        unsafe { list.push(heaps[last], 5_000) };
        assert_eq!(list.empty_old(1_000 + READY_NS), 1_001 + READY_NS, "one is emptied");
        assert_eq!((extents(heaps[0]), extents(heaps[1])), ((false, false), (true, true)));
        assert_eq!(list.empty_old(4_999 + READY_NS), 1_009 + READY_NS, "as many as a request can wait for");
        assert_eq!(list.empty_old(4_999 + READY_NS), 5_000 + READY_NS);
        assert_eq!((list.ready, list.lowest_ready), (1, heaps[last]));
        assert_eq!(list.empty_old(u64::MAX), u64::MAX);
        assert_eq!((list.ready, list.lowest_ready), (0, null_mut()));
        assert!(heaps.iter().all(|&thread| extents(thread) == (false, false)));
        // Those that are empty serve the next threads in the same order.
        let (first, second) = (list.pop(), list.pop());
        assert_eq!((first, second), (heaps[last], heaps[last - 1]));
        // SAFETY: ours.
        unsafe { list.push(second, 0) };
        assert_eq!((list.ready, list.lowest_ready), (1, second));
        end(list, &[first]);
    }

    #[test]
    fn only_so_many_are_ready() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut list = Abandoned::new();
        for _ in 0..MOST_READY + 6 {
            // SAFETY: ours.
            unsafe { list.push(used(), 1_000) };
            list.empty_old(1_000);
            assert!(list.ready <= MOST_READY);
        }
        let all = all_of(&list);
        let are_ready = |part: &[*mut ThreadHeap]| part.iter().filter(|&&thread| extents(thread).0).count();
        assert_eq!((are_ready(&all[..64]), are_ready(&all[64..])), (64, 0), "the first six were emptied");
        end(list, &[]);
    }
}
