//! Operations on the heap as a whole: apply the options, give back idle storage, settle figures, hold still for a fork.
//!
//! Not here: requests (the parent), and operations on single threads' heaps (`thread`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_ledger::control::Kind;
use underbar_options::Size;
use underbar_sys::syscall::{number, syscall6};

use super::object::{COUNTS_EACH, DEFAULT, POOLS};
use super::private_storage::OWN;
use super::registry::{self, REGISTRY};
use super::space::{self, Disposition, Policy};
use super::{END, all_heaps, below, ecb, of_threads, pools, slot, thread, watch};
use crate::orders::Orders;
use crate::{ledger, sites};

/// Applies HEAP, THSIZE, HEAPPOOLS, STORAGE, HEAPCHK, HEAPZONES, HUGEPAGES, RPTSTG and SITES to the default heap; ANYHEAP, THREADHEAP, AVL and ECB to
/// those that they name. Before the first request.
pub(crate) fn configure(orders: &Orders<'_>) {
    let bytes = |size: Size| size.bytes().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    let (heap, storage) = (orders.settings.heap(), orders.settings.storage());
    let policy = Policy {
        initial: bytes(heap.init),
        increment: bytes(heap.increment),
        disposition: heap.disposition,
        huge_pages: orders.settings.huge_pages(),
    };
    let reservation = usize::try_from(orders.settings.thread_storage()).unwrap_or(0);
    if reservation > 0 {
        DEFAULT.space.lock().reserve_and_keep(reservation);
    }
    let is_watched = watch::configure(orders.settings.heap_check(), orders.settings.heap_zones());
    DEFAULT.configure(policy, storage.getheap, storage.freeheap, is_watched);
    if let Some(option) = orders.settings.heap_pools()
        && !is_watched
        && pools::configure(&DEFAULT, &option, policy.initial as u64)
    {
        DEFAULT.make_pooled(POOLS);
    }
    if orders.settings.report_storage() {
        DEFAULT.make_pooled(COUNTS_EACH);
    }
    if sites::wanted(orders).is_some() && !is_watched {
        DEFAULT.settings.sample();
    }
    space::reserve::configure(storage.reserve);
    OWN.lock().configure(orders.settings.any_heap().map(bytes));
    below::configure(orders.settings.heap_below());
    of_threads::configure(orders.settings.thread_heap());
    ecb::configure(orders.settings);
    ledger::set(Key::HeapInitialSize, policy.initial as u64);
    ledger::set(Key::HeapIncrementSize, policy.increment as u64);
    ledger::when_slot_changes(super::forget_largest);
    END.prepare();
}

/// Returns idle storage to the kernel; true if there was any.
pub fn trim() -> bool {
    let before = ledger::slot().cell(Key::HeapSegmentBytes).load(Ordering::Relaxed);
    {
        let _registry = REGISTRY.lock();
        registry::each(|heap| {
            let mut space = heap.space.lock();
            space.release_parked(0);
            space.return_idle(0);
        });
    }
    ledger::slot().cell(Key::HeapSegmentBytes).load(Ordering::Relaxed) < before
}

/// A library is about to be loaded: the process grows by it, so idle storage must not pile up beside it. A thread that has the heap's
/// lock, as one has that a signal interrupted, loads it without this.
pub fn before_load() {
    if let Some(mut space) = DEFAULT.space.try_lock() {
        space.return_surplus();
    }
}

/// Gets storage for a program that is about to give up its right to ask for more.
pub fn reserve() {
    DEFAULT.space.lock().reserve();
}

/// Changes the disposition of empty increments of the default heap while the program runs; false if that disposition is already in
/// force. Cells are got as before, also under FREE.
pub fn change_disposition(disposition: Disposition) -> bool {
    DEFAULT.space.lock().change_disposition(disposition)
}

/// Obeys a setting that the host changed while the program runs (`ledger::control`); false if it changes nothing.
pub(super) fn obey(kind: Kind, value: u64) -> bool {
    /// The value of [`Kind::HeapTrim`] that was obeyed last. Only the one thread that obeys touches it.
    static TRIMMED: AtomicU64 = AtomicU64::new(0);
    match kind {
        Kind::HeapDisposition => Disposition::from_number(value).is_some_and(change_disposition),
        Kind::HeapTrim if TRIMMED.swap(value, Ordering::Relaxed) != value => {
            give_back_empty();
            true
        }
        Kind::EcbDisplay => value != 0 && ecb::show(value),
        Kind::HeapTrim | Kind::LockPolicy | Kind::LockCounted => false,
    }
}

/// Gives back empty storage of the default heap, whatever HEAP says.
pub fn give_back_empty() {
    DEFAULT.space.lock().give_back_empty();
}

/// Storage of [`DESCRIPTOR`](super::DESCRIPTOR) bytes, apart from the program's heap; null if there is no memory.
pub fn get_descriptor() -> *mut u8 {
    OWN.lock().get_descriptor()
}

/// Takes such storage back.
///
/// # Safety
/// It came from [`get_descriptor`], and nobody will write to it any more.
pub unsafe fn put_descriptor(descriptor: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { OWN.lock().put_descriptor(descriptor) }
}

/// Settles the figures of this thread, in all heaps, and of threads that have ended, so that the ledger is exact for them. If a
/// lock cannot be had soon, settles only those of this thread's own cells, and returns false.
pub fn settle() -> bool {
    let quiet = all_heaps::is_quiet();
    let heap = slot::get();
    if thread::is_real(heap) {
        // SAFETY: this thread owns its heap.
        unsafe {
            let heap = thread::counting(heap);
            if quiet {
                ecb::settle((*heap).home);
            }
            if quiet {
                (*heap).flush_all();
            }
            (*heap).settle_all();
            (*heap).count_inbox();
            if quiet {
                thread::settle_others(heap);
            }
        }
    }
    if quiet {
        all_heaps::settle_abandoned();
        OWN.lock().tell();
    }
    quiet
}

/// Before a fork.
pub(crate) fn before_fork() -> bool {
    // Figures that this thread counted and did not publish would be counted by both. But a signal handler may have interrupted a
    // request, whose cells must stay where they are; the kernel blocks its signal while it runs.
    let heap = slot::get();
    let mut unsettled = (0, 0);
    if !is_a_signal_held_back() {
        settle();
    } else if thread::is_real(heap) {
        // So they are only read, and the child owes them.
        // SAFETY: this thread owns its heap.
        let parents = unsafe { (*thread::counting(heap)).unsettled(|_, _, _| ()) };
        unsettled = (parents.gets - parents.frees, parents.bytes);
    }
    ledger::attach::leave_unsettled(unsettled);
    all_heaps::hold();
    true
}

/// Is any signal blocked in this thread? The C library asks the same of the kernel in each fork.
fn is_a_signal_held_back() -> bool {
    let mut held = 0u64;
    // SAFETY: nothing is changed, and the kernel writes the 8 bytes that it is given.
    let asked =
        unsafe { syscall6(number::RT_SIGPROCMASK, 0, 0, &raw mut held as usize, size_of::<u64>(), 0, 0) };
    asked.is_err() || held != 0
}

/// After a fork, in the parent.
///
/// # Safety
/// This thread called [`before_fork`].
pub(crate) unsafe fn after_fork(_: bool) {
    // SAFETY: the caller's promise.
    unsafe { all_heaps::release() }
}

/// After a fork, in the child.
///
/// # Safety
/// This thread's original called [`before_fork`].
pub(crate) unsafe fn after_fork_in_child(_: bool) {
    // SAFETY: the caller's promise.
    unsafe { all_heaps::release() };
    let heap = slot::get();
    if thread::is_real(heap) {
        // SAFETY: this thread owns its heap, as its original did.
        unsafe { (*thread::counting(heap)).owe_unsettled() };
    }
    if all_heaps::is_quiet() {
        OWN.lock().forget_untold();
    }
    all_heaps::after_fork_in_child();
}
