//! The owner of a thread's heap: a thread, none until a new thread takes it over, or none because its heap has ended.
//!
//! ```text
//! acquire -> a thread's heap -> abandon -> abandoned -> ... (the last one first) -> acquire       within one heap
//!               | end_all                   | end_all
//!               v                           v
//!             ended, in its thread's list   spare -> acquire, in any heap but the default one
//!               | seen by its thread           ^
//!               \------------------------------/
//! ```
//!
//! When its heap ends, a thread's heap is released twice: by the end of the heap and by its thread. Each records its release in
//! `fate`; the second one puts the thread's heap among the spare ones.
//!
//! Invariant: the inbox of a thread's heap is attended, or it is in the list of abandoned ones, or its thread did not survive a
//! fork. It is never unmapped, and its gate is written by atomics only: a thread that kept its address learns from the gate that
//! it has ended.
//! Not here: which abandoned heap is next, and what it still has (`abandoned`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_sys::clock;
use underbar_sys::lock::{Guard, Lock};

use super::abandoned::Abandoned;
use super::figures::Figures;
use super::{Gate, ThreadHeap};
use crate::heap::object::{DEFAULT, Heap};
use crate::heap::pools;
use crate::heap::private_storage::OWN;
use crate::heap::tally;

/// Fates: a thread has it, in a live heap; its heap has ended; its thread has ended, after the end of the heap began; its thread
/// did not survive a fork.
const OWNED: u32 = 0;
const ENDED: u32 = 1;
const ORPHANED: u32 = 2;
const LOST: u32 = 3;

/// The threads' heaps in one heap.
pub struct Threads {
    pub(super) all: *mut ThreadHeap,
    abandoned: Abandoned,
}

// SAFETY: followed under the lock only.
unsafe impl Send for Threads {}

impl Threads {
    /// None yet.
    pub const fn new() -> Self {
        Self { all: null_mut(), abandoned: Abandoned::new() }
    }

    /// Has no thread ever had a heap here?
    pub fn is_empty(&self) -> bool {
        self.all.is_null()
    }
}

/// Threads' heaps whose heap has ended, linked by `next`.
struct Spare(*mut ThreadHeap);

// SAFETY: followed under the lock only.
unsafe impl Send for Spare {}

/// Like the store in `private_storage`, locked last.
static SPARE: Lock<Spare> = Lock::new(Spare(null_mut()));

/// A thread's heap in `heap`, which does not end meanwhile: one that an ended thread left, one of an ended heap, or a new one.
/// Null if there is no memory.
pub fn acquire(heap: &'static Heap) -> *mut ThreadHeap {
    let mut threads = heap.threads.lock();
    let mut thread = threads.abandoned.pop();
    // SAFETY: threads' heaps stay where they are for ever; abandoned ones and spare ones are ours.
    unsafe {
        if thread.is_null() {
            thread = new_in(heap);
            if thread.is_null() {
                return null_mut();
            }
            if !threads.all.is_null() {
                heap.turnover.earn_all();
            }
            (*thread).next = threads.all;
            threads.all = thread;
        }
        // The ledger may be a child's: another one.
        (*thread).note(0);
        (*thread).forget_sampled_thread();
        ((*thread).home, (*thread).other, (*thread).entered) = (thread, null_mut(), 0);
        (*thread).inbox.attend();
        tally::one_more();
        (*thread).tally.begin();
    }
    thread
}

/// Apart from `acquire`: the compiler builds the heap on the stack, two pages of it, and a thread that takes over an
/// abandoned heap must not touch them.
///
/// # Safety
/// Under the lock of the heap's threads. The heap does not end meanwhile.
#[inline(never)]
unsafe fn new_in(heap: &'static Heap) -> *mut ThreadHeap {
    let is_default = core::ptr::eq(heap, &DEFAULT);
    let mut thread = if is_default { null_mut() } else { take_spare() };
    // SAFETY: a spare one is ours; new storage is of the right size and alignment.
    unsafe {
        if thread.is_null() {
            thread = OWN.lock().get(size_of::<ThreadHeap>()).cast();
            if !thread.is_null() {
                thread
                    .write(ThreadHeap::empty(heap, if is_default { Gate::for_ever() } else { Gate::new() }));
            }
        }
        if !thread.is_null() {
            (*thread).heap = heap;
            (*thread).forget_points();
            ((*thread).cells, (*thread).class_of) = pools::cells_of(&heap.settings);
            (*thread).tally = match pools::number_for(&heap.settings) {
                Some(pool) => Figures::pooled(&heap.account, pool),
                None => Figures::new(if is_default { None } else { Some(&heap.account) }),
            };
            (*thread).heap_generation = heap.gate.generation();
            (*thread).fate.store(OWNED, Ordering::Relaxed);
        }
    }
    thread
}

fn take_spare() -> *mut ThreadHeap {
    let mut spare = SPARE.lock();
    let thread = spare.0;
    if !thread.is_null() {
        // SAFETY: spare ones are ours under the lock.
        spare.0 = unsafe { (*thread).next };
    }
    thread
}

/// # Safety
/// No thread has it, and no heap.
unsafe fn put_spare(thread: *mut ThreadHeap) {
    let mut spare = SPARE.lock();
    // SAFETY: the caller's promise.
    unsafe { (*thread).next = spare.0 };
    spare.0 = thread;
}

/// The calling thread's heap in `heap`, made if missing and then put first in its list. Null if there is no memory.
///
/// # Safety
/// The home is that of the calling thread, which is inside the heap.
pub unsafe fn of_thread(home: *mut ThreadHeap, heap: &'static Heap) -> *mut ThreadHeap {
    // SAFETY: the list is the thread's own; what is in it stays there until the thread takes it out.
    unsafe {
        let mut link = &raw mut (*home).other;
        while !(*link).is_null() {
            let thread = *link;
            if core::ptr::eq((*thread).heap, heap) && (*thread).heap_generation == heap.gate.generation() {
                *link = (*thread).other;
                (*thread).other = (*home).other;
                (*home).other = thread;
                return thread;
            }
            if (*thread).fate.load(Ordering::Acquire) == ENDED {
                *link = (*thread).other;
                put_spare(thread);
            } else {
                link = &raw mut (*thread).other;
            }
        }
        let thread = acquire(heap);
        if !thread.is_null() {
            (*thread).home = home;
            (*thread).other = (*home).other;
            (*home).other = thread;
        }
        thread
    }
}

/// Calls `then` for each heap of a thread; `thread` is one of them.
///
/// # Safety
/// They are the calling thread's. `then` touches only fields that belong to the owner alone.
pub unsafe fn each_of(thread: *mut ThreadHeap, mut then: impl FnMut(*mut ThreadHeap)) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut next = (*thread).home;
        while !next.is_null() {
            then(next);
            next = (*next).other;
        }
    }
}

/// Leaves all heaps of a thread to later threads.
///
/// # Safety
/// The home is that of the calling thread, which will not use any of them again.
pub unsafe fn abandon_all(home: *mut ThreadHeap) {
    // SAFETY: the list is the thread's own.
    unsafe {
        let mut next = core::mem::replace(&mut (*home).other, null_mut());
        while !next.is_null() {
            let thread = next;
            next = (*thread).other;
            let heap = (*thread).heap;
            if (*thread).entered > 0 {
                (*thread).flush_all();
            }
            while (*thread).entered > 0 {
                (*thread).entered -= 1;
                heap.gate.leave();
            }
            // The thread is no longer inside, so the heap may have ended, or be about to.
            let threads = heap.threads.lock();
            if heap.gate.generation() == (*thread).heap_generation {
                abandon(thread, threads);
            } else {
                drop(threads);
                if (*thread).fate.swap(ORPHANED, Ordering::AcqRel) == ENDED {
                    put_spare(thread);
                }
            }
        }
        (*home).entered = 0;
        (*home).flush_all();
        abandon(home, DEFAULT.threads.lock());
    }
}

/// Leaves a thread's heap, whose outboxes are empty, to a later thread.
///
/// # Safety
/// The calling thread owns it and will not use it again; the lock is that of its heap's threads, and the heap has not ended.
unsafe fn abandon(thread: *mut ThreadHeap, mut threads: Guard<'_, Threads>) {
    // SAFETY: ours until the state says otherwise.
    unsafe {
        let last = (*thread).inbox.leave();
        (*thread).counted = null_mut();
        (*thread).put_chain(last);
        tally::one_less();
        let now = clock::coarse();
        threads.abandoned.push(thread, now);
        let heap = (*thread).heap;
        let next = threads.abandoned.empty_old(now);
        heap.next_emptying.store(next, Ordering::Relaxed);
        heap.look_at(next);
    }
}

/// Empties the heaps of threads that ended some time ago, if that is due.
pub fn empty_old(heap: &Heap) {
    let now = clock::coarse();
    if now >= heap.next_emptying.load(Ordering::Relaxed)
        && let Some(mut threads) = heap.threads.try_lock()
    {
        heap.next_emptying.store(threads.abandoned.empty_old(now), Ordering::Relaxed);
    }
}

/// Takes a heap from all its threads. Their figures are settled, and their extents tell which cells are still in use.
///
/// # Safety
/// The heap's gate is closed, so no thread is inside.
pub unsafe fn end_all(heap: &'static Heap) {
    // First the gates, and without the lock: a sender who is inside may wait for it. No thread's heap joins these any more.
    let mut next = heap.threads.lock().all;
    // SAFETY: threads' heaps stay where they are for ever.
    while let Some(thread) = unsafe { next.as_ref() } {
        thread.gate.close();
        next = thread.next;
    }
    // A thread that ends holds the lock while it leaves its heap, or comes later and sees that the gate is closed.
    let mut threads = heap.threads.lock();
    let mut next = core::mem::replace(&mut *threads, Threads::new()).all;
    while !next.is_null() {
        let thread = next;
        // SAFETY: no thread is inside, and none sends: it is ours, except for what its thread reads of its own list.
        unsafe {
            next = (*thread).next;
            let has_thread = !(*thread).inbox.is_unattended();
            let is_lost = (*thread).fate.load(Ordering::Relaxed) == LOST;
            let last = (*thread).inbox.leave();
            if !is_lost {
                (*thread).counted = null_mut();
                (*thread).put_chain(last);
                (*thread).settle_all();
            }
            (*thread).forget_cells();
            if has_thread && !is_lost {
                tally::one_less();
            }
            if !has_thread || is_lost || (*thread).fate.swap(ENDED, Ordering::AcqRel) == ORPHANED {
                put_spare(thread);
            }
        }
    }
}

/// Settles the figures of threads of a heap that have ended.
pub fn settle_abandoned(heap: &Heap) {
    heap.threads.lock().abandoned.settle();
}

/// As [`settle_abandoned`], and empty extents go back, also those that were kept for a next thread.
pub fn release_abandoned(heap: &Heap) {
    heap.threads.lock().abandoned.empty();
}

/// Settles the figures of a thread's heaps, except the given one.
///
/// # Safety
/// They are the calling thread's, which is not in the middle of a request, and no lock is held.
pub unsafe fn settle_others(here: *mut ThreadHeap) {
    // SAFETY: the caller's promise. If the thread is not inside, the heap may end, but not under the lock of its threads.
    unsafe {
        each_of(here, |thread| {
            if thread == here {
                return;
            }
            let heap = (*thread).heap;
            let is_inside = (*thread).home == thread || (*thread).entered > 0;
            if is_inside {
                (*thread).flush_all();
            }
            let _threads = heap.threads.lock();
            if is_inside || heap.gate.generation() == (*thread).heap_generation {
                (*thread).settle_all();
                (*thread).count_inbox();
            }
        });
    }
}

/// Whether no thread is taking or giving back a spare one.
pub fn is_spare_free() -> bool {
    SPARE.try_lock().is_some()
}

/// Before a fork: takes the lock of the spare ones.
pub fn hold_spare() {
    SPARE.hold();
}

/// After a fork.
///
/// # Safety
/// This thread called [`hold_spare`].
pub unsafe fn release_spare() {
    // SAFETY: the caller's promise.
    unsafe { SPARE.release() }
}

/// In a forked child: no thread is inside a heap, but for the one whose heap in the default heap is `home`. The heaps of the other
/// threads are never taken over.
///
/// # Safety
/// No lock is held, and there is no other thread.
pub unsafe fn lose_others(heap: &Heap, home: *mut ThreadHeap) {
    heap.gate.set_inside(0);
    let mut thread = heap.threads.lock().all;
    // SAFETY: threads' heaps stay where they are for ever.
    unsafe {
        while !thread.is_null() {
            (*thread).gate.set_inside(0);
            if !(*thread).inbox.is_unattended() && (*thread).home != home {
                (*thread).fate.store(LOST, Ordering::Relaxed);
            }
            thread = (*thread).next;
        }
    }
}
