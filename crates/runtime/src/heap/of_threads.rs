//! THREADHEAP: each thread but the first gets its storage from a heap of its own, which ends with the thread.
//!
//! ```text
//! thread begins ── enter ──> its heap ── thread ends ──┬─ nothing of it is in use ──> back to the kernel
//!                                                      └─ still in use ──> left ── freed by others ──> back to the kernel
//!                                                                           ^ looked at when other threads end
//! ```
//!
//! On z/OS a thread's heap ends with its thread, whatever is in it. Programs on Linux hand storage from thread to thread; so here a
//! heap of which something is in use stays until that is freed. An option never changes what a program computes.
//!
//! Invariant: a heap that is left belongs to no thread that lives, so nothing is got from it, and once it is unused it stays so.
//! Cost: none unless THREADHEAP has a size; a test for each thread that begins.
//! Not here: the C library's own storage, which stays with the process (`crate::by_caller`, bound before a thread begins here).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use underbar_ledger::{HeapKind, Key};
use underbar_options::ThreadHeap as Orders;

use super::entering;
use super::object::{DEFAULT, Heap};
use super::registry::{self, Handle, REGISTRY};
use super::space::{Disposition, Policy};
use super::thread::{self, ThreadHeap};
use crate::ledger;

/// What THREADHEAP says. Written before the first request; relaxed.
static ARE_WANTED: AtomicBool = AtomicBool::new(false);
static INITIAL: AtomicUsize = AtomicUsize::new(0);
static INCREMENT: AtomicUsize = AtomicUsize::new(0);
static FREES: AtomicBool = AtomicBool::new(false);

/// Heaps whose thread has ended before their storage was freed, linked by `Heap::left`: the first, and the last. Under the lock of
/// the registry.
static FIRST: AtomicPtr<Heap> = AtomicPtr::new(null_mut());
static LAST: AtomicPtr<Heap> = AtomicPtr::new(null_mut());
/// How many of them a thread looks at when it ends.
const LOOKED_AT: usize = 4;

/// Obeys THREADHEAP; None: it has no size.
pub fn configure(orders: Option<Orders>) {
    let Some(orders) = orders else { return };
    let bytes = |size| usize::try_from(size).unwrap_or(0);
    INITIAL.store(bytes(orders.init), Ordering::Relaxed);
    INCREMENT.store(bytes(orders.increment), Ordering::Relaxed);
    FREES.store(orders.frees, Ordering::Relaxed);
    ARE_WANTED.store(true, Ordering::Relaxed);
}

/// Whether threads have heaps of their own.
#[inline]
#[must_use]
pub fn are_wanted() -> bool {
    ARE_WANTED.load(Ordering::Relaxed)
}

/// The calling thread, which has just begun, gets a heap of its own. Without memory for one it is served as any thread.
pub fn begins() {
    let policy = Policy {
        initial: INITIAL.load(Ordering::Relaxed),
        increment: INCREMENT.load(Ordering::Relaxed),
        disposition: if FREES.load(Ordering::Relaxed) { Disposition::Free } else { Disposition::Keep },
        ..DEFAULT.space.lock().policy()
    };
    let Some(handle) = registry::create_named(HeapKind::Thread, b"", policy) else { return };
    match entering::enter(handle) {
        // Left by the end of the thread.
        Ok(entered) => drop(entered),
        Err(_) => drop(registry::end(handle)),
    }
}

/// The heap of its own that a thread has. `here` is one of the thread's.
///
/// # Safety
/// They are the calling thread's.
pub(super) unsafe fn of(here: *mut ThreadHeap) -> Option<Handle> {
    if !are_wanted() {
        return None;
    }
    let mut own = None;
    // SAFETY: the caller's promise.
    unsafe {
        thread::each_of(here, |part| {
            if (*part).entered > 0 && (*part).heap.account.is_of_thread() {
                own = Some(Handle { heap: (*part).heap, generation: (*part).generation() });
            }
        });
    }
    own
}

/// The thread has left that heap, which is its own, and all others.
pub(super) fn ended(handle: Handle) {
    if !end(handle) {
        ledger::add(Key::ThreadHeapsLeft, 1);
        leave(handle.heap);
    }
    for _ in 0..LOOKED_AT {
        let Some(heap) = take_left() else { return };
        if !end(Handle { heap, generation: heap.gate.generation() }) {
            leave(heap);
        }
    }
}

/// Ends the heap if nothing of it is in use.
fn end(handle: Handle) -> bool {
    thread::release_abandoned(handle.heap);
    handle.heap.space.lock().is_unused() && registry::end(handle).is_ok()
}

/// The heap that was left first.
fn take_left() -> Option<&'static Heap> {
    let _registry = REGISTRY.lock();
    // SAFETY: heaps stay where they are for ever.
    let heap = unsafe { FIRST.load(Ordering::Relaxed).as_ref() }?;
    let next = heap.left.swap(null_mut(), Ordering::Relaxed);
    FIRST.store(next, Ordering::Relaxed);
    if next.is_null() {
        LAST.store(null_mut(), Ordering::Relaxed);
    }
    Some(heap)
}

fn leave(heap: &'static Heap) {
    let this = core::ptr::from_ref(heap).cast_mut();
    let _registry = REGISTRY.lock();
    let last = LAST.swap(this, Ordering::Relaxed);
    // SAFETY: heaps stay where they are for ever.
    match unsafe { last.as_ref() } {
        Some(last) => last.left.store(this, Ordering::Relaxed),
        None => FIRST.store(this, Ordering::Relaxed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::{ONE_AT_A_TIME, free, malloc};
    use std::sync::mpsc;

    fn live() -> u32 {
        let mut count = 0;
        let _registry = REGISTRY.lock();
        registry::each(|heap| count += u32::from(heap.account.is_of_thread()));
        count
    }

    fn left() -> u64 {
        ledger::slot().cell(Key::ThreadHeapsLeft).load(Ordering::Relaxed)
    }

    /// Storage of this many bytes that a thread got and left.
    fn got_by_a_thread(sizes: &'static [usize]) -> std::vec::Vec<usize> {
        let (send, receive) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            begins();
            for &size in sizes {
                // SAFETY: storage of the test.
                unsafe {
                    free(malloc(size));
                    send.send(malloc(size) as usize).expect("a receiver");
                }
            }
        });
        let got = receive.iter().collect();
        thread.join().expect("no panic");
        got
    }

    #[test]
    fn a_threads_heap_ends_with_it_or_when_the_last_of_its_storage_is_freed() {
        let _turn = ONE_AT_A_TIME.lock();
        for (init, increment, frees) in
            [(4096, 4096, false), (65_536, 65_536, false), (1 << 20, 1 << 20, true)]
        {
            configure(Some(Orders { init, increment, frees }));
            let before = (live(), left());
            assert!(got_by_a_thread(&[]).is_empty());
            assert_eq!((live(), left()), before, "nothing is in use");
            let got = got_by_a_thread(&[10, 10, 100, 5_000, 100_000]);
            assert_eq!((live(), left()), (before.0 + 1, before.1 + 1));
            for (at, &address) in got.iter().enumerate() {
                assert!(got_by_a_thread(&[]).is_empty());
                assert_eq!(live(), before.0 + 1, "{at} are freed");
                // SAFETY: storage of the test, of the sizes above.
                unsafe {
                    (address as *mut u8).write_bytes(1, 10);
                    free(address as *mut u8);
                }
            }
            crate::heap::turn::settle();
            assert!(got_by_a_thread(&[]).is_empty());
            assert_eq!((live(), left()), (before.0, before.1 + 1), "all are freed");
        }
        ARE_WANTED.store(false, Ordering::Relaxed);
    }
}
