//! The registry of heaps: which ones exist, how they are created and how they end.
//!
//! ```text
//! create --> live --end--> ended --> create ...          a heap's description is reused, and never unmapped
//!
//! end    1  the heap's gate is closed: no thread is inside, and none enters (`discard` waits for those inside)
//!        2  the gates of its threads' heaps are closed: no cell is on its way there; cells in an outbox are dropped later
//!        3  under the lock of its threads: their figures are settled, and they wait for another heap
//!        4  under the lock of its space: everything in use counts as freed, pages leave the map, segments go back to the kernel
//! ```
//!
//! Invariant: a heap is live from `create` until `end`, and the default one always. After its end nothing of it is read except its
//! generation.
//! Storage goes back by time only while threads are inside, or use elements of the heap: a heap without activity keeps what it has, until
//! the kernel refuses more to any heap. Ends of ECBs look at the heaps of all their classes.
//! Not here: threads that enter and leave (`entering`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use underbar_ledger::{HeapKind, Key};
use underbar_sys::lock::Lock;

use super::check::{self, Fault};
use super::object::{DEFAULT, Heap, UNNUMBERED};
use super::private_storage::OWN;
use super::space::Policy;
use super::thread;
use crate::{sandbox, start};

/// This lock comes before all other locks of heaps.
pub static REGISTRY: Lock<Registry> = Lock::new(Registry(()));

/// The right to walk over heaps, and to create and end them.
pub struct Registry(());

/// The first live heap apart from the default one, and the first that has ended, linked both ways. Under the lock of the registry.
static LIVE: AtomicPtr<Heap> = AtomicPtr::new(null_mut());
static ENDED: AtomicPtr<Heap> = AtomicPtr::new(null_mut());

/// Calls `then` for each live heap, the default one first. Under the lock of the registry.
pub fn each(mut then: impl FnMut(&'static Heap)) {
    then(&DEFAULT);
    let mut next = LIVE.load(Ordering::Relaxed).cast_const();
    // SAFETY: heaps stay where they are for ever.
    while let Some(heap) = unsafe { next.as_ref() } {
        next = heap.next.load(Ordering::Relaxed);
        then(heap);
    }
}

/// The kernel has refused storage: what is idle in any heap goes back to it. False: there was nothing. Waits for no lock: a heap that
/// another thread uses keeps what it has.
#[cold]
pub fn give_back_idle() -> bool {
    let Some(_registry) = REGISTRY.try_lock() else { return false };
    let mut went = false;
    each(|heap| went |= heap.space.try_lock().is_some_and(|mut space| space.give_back_idle()));
    went
}

/// # Safety
/// Under the lock of the registry; the heap is in no list.
unsafe fn push(list: &AtomicPtr<Heap>, heap: &'static Heap) {
    let (this, next) = (core::ptr::from_ref(heap).cast_mut(), list.load(Ordering::Relaxed));
    heap.next.store(next, Ordering::Relaxed);
    heap.previous.store(null_mut(), Ordering::Relaxed);
    // SAFETY: heaps stay where they are for ever.
    if let Some(next) = unsafe { next.as_ref() } {
        next.previous.store(this, Ordering::Relaxed);
    }
    list.store(this, Ordering::Relaxed);
}

/// # Safety
/// Under the lock of the registry; the heap is in that list.
unsafe fn remove(list: &AtomicPtr<Heap>, heap: &'static Heap) {
    let (next, previous) = (heap.next.load(Ordering::Relaxed), heap.previous.load(Ordering::Relaxed));
    // SAFETY: heaps stay where they are for ever.
    unsafe {
        if let Some(next) = next.as_ref() {
            next.previous.store(previous, Ordering::Relaxed);
        }
        previous.as_ref().map_or(list, |previous| &previous.next).store(next, Ordering::Relaxed);
    }
}

/// A heap of one generation. After its end the handle is invalid, even if another heap reuses the description.
#[derive(Clone, Copy)]
pub struct Handle {
    pub(super) heap: &'static Heap,
    pub(super) generation: u32,
}

/// Why a heap was not ended, or not entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It has already ended.
    Ended,
    /// The number of enters without a leave.
    Inside(usize),
    /// The default heap cannot end.
    Default,
    /// The program has given up its right to return storage.
    Sandbox,
    /// The thread has ended, as far as we were told, or its end will not be reported.
    Thread,
    /// There is no memory for it.
    NoMemory,
}

/// The heap in which each thread begins.
pub fn default() -> Handle {
    Handle { heap: &DEFAULT, generation: DEFAULT.gate.generation() }
}

/// Creates a heap without a name, as [`create_named`].
pub fn create(policy: Policy) -> Option<Handle> {
    create_named(HeapKind::Additional, b"", policy)
}

/// Creates a heap. STORAGE and HEAPCHK apply to it, too. None if there is no memory. The ledger records its kind, and 32 bytes of
/// its name.
pub fn create_named(kind: HeapKind, name: &[u8], policy: Policy) -> Option<Handle> {
    start::ensure();
    create_in(&mut REGISTRY.lock(), kind, name, policy, UNNUMBERED)
}

/// As [`create_named`], for the holder of the lock. The number is that of [`numbers`](super::numbers).
pub(super) fn create_in(
    _registry: &mut Registry,
    kind: HeapKind,
    name: &[u8],
    policy: Policy,
    number: u32,
) -> Option<Handle> {
    // SAFETY: heaps stay where they are for ever; new storage is of that size, and aligned to 64.
    let heap: &'static Heap = unsafe {
        if let Some(ended) = ENDED.load(Ordering::Relaxed).as_ref() {
            remove(&ENDED, ended);
            ended
        } else {
            let place: *mut Heap = OWN.lock().get(size_of::<Heap>()).cast();
            if place.is_null() {
                return None;
            }
            place.write(Heap::new(place, null_mut()));
            &*place
        }
    };
    heap.number.store(number, Ordering::Relaxed);
    heap.code.set(0, 0);
    heap.owner.store(null_mut(), Ordering::Relaxed);
    heap.owns.store(false, Ordering::Relaxed);
    heap.configure_as(&DEFAULT, policy);
    heap.account.begin(kind, name);
    heap.account.raise(Key::HeapInitialSize, policy.initial as u64);
    heap.account.raise(Key::HeapIncrementSize, policy.increment as u64);
    // SAFETY: it is in no list.
    unsafe { push(&LIVE, heap) };
    Some(Handle { heap, generation: heap.gate.generation() })
}

/// Ends a heap that no thread is inside of. All of its storage goes back to the kernel, even if threads still have blocks of it or
/// lists of its cells: a later use of one is an access to unmapped storage.
pub fn end(handle: Handle) -> Result<(), Refused> {
    let heap = handle.heap;
    if core::ptr::eq(heap, &DEFAULT) {
        return Err(Refused::Default);
    }
    if sandbox::is_silent() {
        return Err(Refused::Sandbox);
    }
    // Held to the end: a forked child finds the heap either whole or gone.
    let _registry = REGISTRY.lock();
    heap.gate
        .try_close(handle.generation)
        .map_err(|inside| inside.map_or(Refused::Ended, Refused::Inside))?;
    // SAFETY: nobody is inside, and nobody can enter.
    if let Some(fault) = unsafe { give_up(heap) } {
        check::end_damaged(Some(fault));
    }
    Ok(())
}

/// Ends a heap that threads are inside of for single requests only, and waits for those. They and later ones may use it all the
/// time: the gate is closed first, so the wait is as long as the longest request. Returns whether it was damaged; None if it has
/// already ended. If the program has given up its right to return storage, nobody comes in any more, and the storage stays.
pub(super) fn discard_in(_registry: &mut Registry, handle: Handle) -> Option<bool> {
    let heap = handle.heap;
    if core::ptr::eq(heap, &DEFAULT) || !heap.gate.close_of(handle.generation) {
        return None;
    }
    // SAFETY: the gate is closed, and nobody is inside.
    Some(!sandbox::is_silent() && unsafe { give_up(heap) }.is_some())
}

/// Returns a fault if the program had written over headers of blocks.
///
/// # Safety
/// Under the lock of the registry. The heap's gate is closed, so nobody is inside, and nobody can enter.
unsafe fn give_up(heap: &'static Heap) -> Option<Fault> {
    // SAFETY: the caller's promise; a heap that was open is among the live ones.
    unsafe {
        thread::end_all(heap);
        let fault = heap.space.lock().end();
        heap.account.end();
        remove(&LIVE, heap);
        push(&ENDED, heap);
        fault
    }
}
