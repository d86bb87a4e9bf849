//! Heaps: the default one of the process and any others. malloc and its relatives are served here, and free in `freeing`.
//!
//! ```text
//! malloc ---> slot: this thread's heap ---> bin of the size ---> a cell              (no lock)
//!                     | bin empty
//!                     v
//!              thread: extent of cells, remote cells
//!                     | no extent                large request
//!                     v                          v
//!              space: elements of segments  <----/                                    (one lock)
//!                     | no free block
//!                     v
//!              kernel: one call for each segment
//! free ---> map: the page's descriptor ---> own extent | another thread's | a segment | foreign
//!
//! create ---> heap ---> enter: slot = this thread's part of it ---> leave ---> end: all of it back to the kernel
//! ```
//!
//! | module | idea |
//! |---|---|
//! | `size` | cell sizes |
//! | `map` | from an address to its page's descriptor |
//! | `block`, `index` | how a segment is divided; which free block fits |
//! | `private_storage` | storage for the tables of all heaps |
//! | `object` | a heap as a value: its space, its threads' heaps, its settings |
//! | `pools` | HEAPPOOLS; requests that are counted one by one |
//! | `account` | a heap's row in the ledger |
//! | `registry`, `gate` | heaps are created and ended; an end waits for threads inside |
//! | `numbers` | a heap by the number that a program has for it |
//! | `entering` | which heap serves a thread |
//! | `ecb` | heaps of units of work |
//! | `enclave`, `within`, `code` | which heap serves a program that is LINKed; which a thread is in; whose requests |
//! | `space` | segments, elements, the HEAP option |
//! | `check`, `text` | invalid frees, and the message about them |
//! | `unusual`, `sampled` | requests while storage is filled, checked, traced or sampled; which of them are samples |
//! | `watch`, `zone`, `trace` | walks over the heap; bytes behind elements; the last requests |
//! | `line` | values that other threads write |
//! | `cell`, `extent` | free cells; pages that hold cells of one size |
//! | `turnover` | which large sizes have cells |
//! | `freeing` | storage is given back |
//! | `foreign` | blocks of another C library's heap |
//! | `inbox` | cells that other threads freed, on their way back to the owner |
//! | `below` | storage below 16 MiB and 2 GiB |
//! | `of_threads` | THREADHEAP: a heap for each thread |
//! | `at_home` | requests that the process's heap serves, whichever a thread has entered |
//! | `new`, `info` | operator new without storage; mallinfo |
//! | `tally` | what a thread has counted but not published |
//! | `thread`, `thread::slot` | a thread's cells, and the word that points to them |
//! | `realloc`, `resizing`, `sampled_realloc` | changing sizes; of elements; of samples |
//! | `whole`, `all_heaps` | operations on the whole heap, and on all |
//! | `services`, `feedback` | Language Environment's callable services, and what they answer |
//! | `callable` | the same with arguments by reference |
//!
//! May use: `ledger`, `sys`, and the settings of HEAP, STORAGE, HEAPCHK, HEAPZONES and HUGEPAGES (`whole`). Does not know: the option
//! grammar, the C symbols' names.
//!
//! Invariant: a pointer that this heap did not hand out is never followed. Out of storage means null and ENOMEM, never an abort. A
//! double free, a free of an address inside a block or a free of a damaged block ends the program, as plain malloc does.

mod account;
mod all_heaps;
pub(crate) mod at_home;
pub mod below;
mod block;
pub mod callable;
mod cell;
mod check;
mod code;
mod counting;
pub mod ecb;
pub mod enclave;
mod entering;
mod extent;
pub mod feedback;
mod foreign;
mod freeing;
mod gate;
mod inbox;
mod index;
pub mod info;
mod line;
mod map;
pub mod new;
mod numbers;
mod object;
pub mod of_threads;
mod pools;
mod private_storage;
#[cfg(test)]
mod random;
mod realloc;
mod registry;
mod resizing;
mod sampled;
mod sampled_realloc;
pub mod services;
mod size;
mod space;
mod tally;
mod text;
mod thread;
mod trace;
#[cfg(test)]
mod turn;
mod turnover;
mod unusual;
mod watch;
mod whole;
pub mod within;
mod zone;

use core::hint::assert_unchecked;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::Key;

pub(crate) use check::tell_access;
pub use entering::{Entered, enter, leave};
pub use freeing::{free, free_elsewhere, free_or};
pub use private_storage::DESCRIPTOR;
pub use realloc::realloc;
pub use registry::{Handle, Refused, create, create_named, default, end};
pub use space::{Disposition, HugePages, Policy, end_around};
pub(crate) use watch::look;
pub(crate) use whole::{after_fork, after_fork_in_child, before_fork, before_load, configure};
pub use whole::{change_disposition, get_descriptor, give_back_empty, put_descriptor, reserve, settle, trim};

use crate::coverage::{self, Segments};
use crate::thread_end::ThreadEnd;
use crate::{errno, ledger, start};
use block::Block;
use cell::{Cell, expect_write};
use extent::Extent;
use map::{AREA, Descriptor, SEGMENT};
use object::{DEFAULT, Heap};
use size::{CELL_BYTES, LARGEST_SMALL, class_of, class_of_large};
use space::Element;
use thread::{ThreadHeap, slot};
#[cfg(test)]
use turn::ONE_AT_A_TIME;

// ---- getting ---------------------------------------------------------------------------------------------

/// Storage for `size` bytes, aligned to 16. Null, with errno ENOMEM, if there is none.
///
/// # Safety
/// As malloc of C.
#[inline(always)]
pub unsafe fn malloc(size: usize) -> *mut u8 {
    // SAFETY: as this function.
    unsafe {
        let cell = ready(size);
        if cell.is_null() { malloc_slow(size) } else { cell }
    }
}

/// A cell from this thread's bin. Null if the slow path is needed.
///
/// # Safety
/// As malloc of C.
#[inline(always)]
pub unsafe fn ready(size: usize) -> *mut u8 {
    if size > LARGEST_SMALL {
        return null_mut();
    }
    let heap = slot::get();
    // SAFETY: the slot holds the address of a heap; its table has an entry for each small size, and names classes.
    unsafe {
        let class = *(*heap).class_of.get_unchecked((size + 15) >> 4) as usize;
        take(heap, class)
    }
}

/// Like [`ready`], for larger sizes, up to the largest that this thread has asked for.
#[inline(always)]
unsafe fn ready_large(size: usize) -> *mut u8 {
    let heap = slot::get();
    // SAFETY: the slot holds the address of a heap, which notes no more than the largest cell. One comparison covers both ends,
    // since small sizes wrap.
    unsafe {
        if size.wrapping_sub(LARGEST_SMALL + 1) >= (*heap).noted_large() {
            return null_mut();
        }
        assert_unchecked(size > LARGEST_SMALL);
        take(heap, class_of_large(size))
    }
}

/// The first cell of a bin; null if the bin is empty. The bins stay empty for sizes that have no cells, while storage is filled,
/// and in a thread without a heap.
///
/// # Safety
/// The heap is this thread's, and the class is one.
#[inline(always)]
unsafe fn take(heap: *mut ThreadHeap, class: usize) -> *mut u8 {
    // SAFETY: the caller's promise; a bin holds free cells of this thread.
    unsafe {
        let bin = (&raw mut (*heap).bins).cast::<*mut Cell>().add(class);
        let cell = *bin;
        if !cell.is_null() {
            // The next request of this size loads the link of the cell behind, whose last use may be long ago.
            let next = (*cell).next.get();
            *bin = next;
            expect_write(next);
        }
        cell.cast()
    }
}

/// Everything except a ready cell of a small size.
#[inline(never)]
unsafe fn malloc_slow(size: usize) -> *mut u8 {
    // SAFETY: the slot holds the address of a thread's heap.
    unsafe { if (*slot::get()).is_untraced { ecb::malloc(size) } else { malloc_slower(size) } }
}

/// As [`malloc_slow`], outside of all ECBs. Apart, so that the way to an ECB saves no registers.
#[inline(never)]
unsafe fn malloc_slower(size: usize) -> *mut u8 {
    // SAFETY: the storage is new and nobody else's.
    unsafe {
        let cell = ready_large(size);
        if !cell.is_null() {
            return cell;
        }
        let settings = &object::current().settings;
        if settings.are_special() {
            return if settings.only_samples() {
                unusual::malloc_sampled(size)
            } else {
                unusual::malloc(size, 0)
            };
        }
        get(size, 16).address
    }
}

/// As [`malloc`], for the slow path of operator new, which found no ready cell of a small size.
///
/// # Safety
/// As malloc of C. Entered by the call of that slow path.
#[inline(always)]
unsafe fn malloc_for_new(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let settings = &object::current().settings;
        match () {
            () if !settings.are_special() => malloc_slow(size),
            () if settings.only_samples() => unusual::new_sampled(size),
            () => unusual::new(size),
        }
    }
}

/// Fills new storage from an offset on, as STORAGE says. It fills all usable bytes, since realloc hands them out without moving
/// the block.
///
/// # Safety
/// The address is null, or that of storage that is the caller's and holds nothing of value from that offset on.
unsafe fn fill_from(address: *mut u8, from: usize) {
    let Some(fill) = object::current().settings.fill_get() else { return };
    // SAFETY: the caller's promise; what is usable is the caller's. Of null nothing is.
    unsafe {
        let usable = usable_size(address);
        if usable > from {
            address.add(from).write_bytes(fill, usable - from);
        }
    }
}

/// New storage, and the offset from which it is known to be zero.
struct Got {
    address: *mut u8,
    zero_from: usize,
}

const NOTHING: Got = Got { address: null_mut(), zero_from: usize::MAX };

/// Obeys the control page, if the host has changed it.
#[inline(always)]
fn obey_if_changed() {
    ledger::control::obey_if_changed(whole::obey);
}

/// Gets storage, as a cell or an element. The alignment is a power of two, at least 16. Inlined into the paths that are not special:
/// a call would cost malloc a hundredth.
#[inline(always)]
unsafe fn get(size: usize, align: usize) -> Got {
    obey_if_changed();
    let heap = own_heap();
    if align <= LARGEST_SMALL
        && let Some(heap) = heap
        // SAFETY: this thread owns its heap.
        && unsafe { (*heap).heap.settings.has_cells_of(size) }
        && let Some(class) = class_for(size, align)
        // SAFETY: as above.
        && unsafe { (*heap).heap.turnover.has_cells(class) }
    {
        // Noted before the cell is got; otherwise the size would have to be kept across the call.
        // SAFETY: this thread owns its heap.
        let cell = unsafe {
            if !(*heap).has_noted(size) {
                note_largest(heap, size);
            }
            (*heap).get(class)
        };
        if !cell.is_null() {
            return Got { address: cell.cast(), zero_from: usize::MAX };
        }
        // There is no room for another extent. A free block may still hold this one request.
    }
    get_element(size, align)
}

/// Gets what no class of cells serves. A function of its own, so that the cell path saves no registers for it.
#[inline(never)]
fn get_element(size: usize, align: usize) -> Got {
    let heap = object::current();
    if heap.settings.is_pooled() {
        // SAFETY: the storage is new and nobody else's.
        return unsafe { pools::get(heap, size, align) };
    }
    element(heap, size, align)
}

/// Gets an element of a segment.
fn element(heap: &'static Heap, size: usize, align: usize) -> Got {
    if size > isize::MAX as usize {
        return out_of_storage();
    }
    let element = heap.space.lock().get(size, align);
    let Some(element) = element.or_else(|| again(heap, size, align)) else { return out_of_storage() };
    count_element(heap, &element, size);
    heap.turnover.note_got(element.block_bytes);
    coverage::look_if_due::<OurSegments>();
    Got { address: element.address as *mut u8, zero_from: element.zero_from }
}

/// The kernel has refused storage: once more, if something of other heaps can go back to it.
#[cold]
fn again(heap: &'static Heap, size: usize, align: usize) -> Option<Element> {
    if ecb::make_room() { heap.space.lock().get(size, align) } else { None }
}

/// Counts a request of `size` bytes that an element serves. Inlined: a call would cost malloc a hundredth.
#[inline(always)]
fn count_element(heap: &Heap, element: &Element, size: usize) {
    heap.add(Key::HeapGets, 1);
    ledger::add_requests(size::row_of(size), 1);
    use_elements(heap, element.block_bytes as i64);
    heap.raise(Key::HeapLargestRequest, size as u64);
}

/// Records the largest request that this thread has made for a cell, in the ledger and in the thread's heap.
///
/// # Safety
/// The heap is this thread's.
#[cold]
#[inline(never)]
unsafe fn note_largest(heap: *mut ThreadHeap, size: usize) {
    // The ledger comes first: `raise` may make this heap forget what it noted. Only what this process's slot holds counts as known.
    // SAFETY: the caller's promise.
    unsafe {
        (*heap).heap.raise(Key::HeapLargestRequest, size as u64);
        (*heap).note(size);
    }
}

/// The segments of all heaps, for looks at the process's memory.
pub struct OurSegments;

impl Segments for OurSegments {
    fn end_of(address: usize) -> Option<usize> {
        space::end_around(address)
    }

    fn next(start: usize, end: usize) -> usize {
        map::next_ours(start, end)
    }
}

/// This process has a new slot, still empty.
fn forget_largest() {
    let heap = slot::get();
    if thread::is_real(heap) {
        // SAFETY: this thread's own. Those of other threads did not survive the fork.
        unsafe { thread::each_of(heap, |heap| (*heap).note(0)) };
    }
}

/// The class whose cells hold `size` bytes at that alignment. A cell size that is a multiple of it does it (`extent::before_cells`).
fn class_for(size: usize, align: usize) -> Option<usize> {
    let first = class_of(size.max(1));
    if align == 16 {
        return Some(first);
    }
    (first..CELL_BYTES.len()).find(|&class| (CELL_BYTES[class] as usize).is_multiple_of(align))
}

/// Null, with errno ENOMEM: for a request whose size overflows.
pub fn refuse() -> *mut u8 {
    out_of_storage().address
}

#[cold]
fn out_of_storage() -> Got {
    out_of_storage_of(object::current());
    NOTHING
}

/// Null, with errno ENOMEM: that heap has no storage.
#[cold]
fn out_of_storage_of(heap: &Heap) -> *mut u8 {
    heap.add(Key::HeapFailedGets, 1);
    errno::set_errno(underbar_sys::syscall::Errno::ENOMEM.number());
    null_mut()
}

/// This thread's heap; a new thread gets one. None if the thread has ended as far as we were told, or if there is no memory: such
/// a thread has no cells.
#[inline]
fn own_heap() -> Option<*mut ThreadHeap> {
    let heap = slot::get();
    if core::ptr::eq(heap, &thread::EMPTY) {
        return new_thread();
    }
    thread::is_real(heap).then_some(heap)
}

#[cold]
fn new_thread() -> Option<*mut ThreadHeap> {
    start::ensure();
    let settings = &DEFAULT.settings;
    // Without cells a thread has no use for a heap of its own, except to know where its next sample is.
    let is_of_use = settings.has_cells_of(0) || settings.is_pooled() || settings.samples();
    if is_of_use { begin_thread() } else { None }
}

/// This thread's heap in the default heap, made if missing; None if it cannot have one.
fn home() -> Option<*mut ThreadHeap> {
    let heap = slot::get();
    if core::ptr::eq(heap, &thread::EMPTY) {
        start::ensure();
        return begin_thread();
    }
    // SAFETY: it is this thread's.
    thread::is_real(heap).then(|| unsafe { (*heap).home })
}

/// Gives this thread a heap and arranges its return at the thread's end.
fn begin_thread() -> Option<*mut ThreadHeap> {
    if END.is_given_up() {
        return None;
    }
    let heap = thread::acquire(&DEFAULT);
    if heap.is_null() {
        return None;
    }
    // The slot first: arranging for the thread's end may itself ask for storage.
    slot::set(heap);
    END.register(heap.cast());
    Some(heap)
}

/// Reports the ends of threads that have heaps.
pub(crate) static END: ThreadEnd = ThreadEnd::new(thread_ends);

/// The calling thread ends: its heaps, if it has any, go to later threads. The argument is not trusted: the program can set a key
/// that it did not make.
extern "C" fn thread_ends(_: *mut u8) {
    let heap = slot::get();
    slot::set(&thread::DEPARTED);
    enclave::thread_ends();
    if thread::is_real(heap) {
        // SAFETY: it is the heap of this thread, which no longer uses it.
        let own = unsafe {
            let home = (*heap).home;
            ecb::thread_ends(home);
            let own = of_threads::of(heap);
            thread::abandon_all(home);
            own
        };
        if let Some(own) = own {
            of_threads::ended(own);
        }
    }
}

/// Storage for `count * size` bytes, all zero.
///
/// # Safety
/// As calloc of C.
#[inline(always)]
pub unsafe fn calloc(count: usize, size: usize) -> *mut u8 {
    let Some(bytes) = count.checked_mul(size) else {
        return out_of_storage().address;
    };
    // SAFETY: the storage is new and nobody else's.
    unsafe {
        // No cell is ready where storage is filled.
        let cell = ready(bytes);
        let got = if !cell.is_null() {
            Got { address: cell, zero_from: usize::MAX }
        } else if object::current().settings.are_special() {
            let buffer = ecb::calloc(bytes);
            if !buffer.is_null() {
                return buffer;
            }
            let Some(got) = sampled::ready(bytes) else { return unusual::calloc(count, size) };
            got
        } else {
            get(bytes, 16)
        };
        calloc_of(got, bytes)
    }
}

/// Makes new storage zero, as far as it is not known to be.
///
/// # Safety
/// The storage is new and nobody else's.
#[inline(always)]
unsafe fn calloc_of(got: Got, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        if !got.address.is_null() {
            let dirty = got.zero_from.saturating_sub(got.address as usize).min(bytes);
            if dirty < space::WORTH_A_PURGE
                || !space::clear_pages(object::current(), got.address as usize, dirty)
            {
                got.address.write_bytes(0, dirty);
            }
        }
        got.address
    }
}

/// Storage aligned to `align`, a power of two.
///
/// # Safety
/// As aligned_alloc of C.
pub unsafe fn aligned(align: usize, size: usize) -> *mut u8 {
    // SAFETY: as malloc.
    unsafe {
        if align <= 16 {
            return malloc(size);
        }
        if object::current().settings.are_special() {
            return unusual::aligned(align, size);
        }
        get(size, align).address
    }
}

/// The same, all zero. What the kernel has just given is not cleared again.
///
/// # Safety
/// As aligned_alloc of C.
pub unsafe fn aligned_zeroed(align: usize, size: usize) -> *mut u8 {
    // SAFETY: the storage is new and nobody else's.
    unsafe {
        if align <= 16 {
            return calloc(1, size);
        }
        if !object::current().settings.are_special() {
            return calloc_of(get(size, align), size);
        }
        let address = unusual::aligned(align, size);
        if !address.is_null() {
            address.write_bytes(0, size);
        }
        address
    }
}

// ---- figures and sizes of storage in use -----------------------------------------------------------------

/// Adds to, or takes from, the bytes in use by a heap's elements. Cells that the thread got before, but has not published, were in
/// use at the same time. Without them the peak would be too low.
fn use_elements(of: &Heap, change: i64) {
    of.account.change(Key::HeapUsed, Key::HeapUsedPeak, change);
    let heap = slot::get();
    let is_real = thread::is_real(heap);
    // SAFETY: the slot's heap is this thread's.
    let heap = unsafe { thread::counting(heap) };
    if is_real {
        // SAFETY: as above; the thread is not inside it.
        unsafe {
            if change < 0 {
                (*heap).publish_growth();
            } else {
                (*heap).look_if_grown(change);
            }
        }
    }
    let used = ledger::change_use(change);
    if is_real {
        // SAFETY: as above.
        unsafe { (*heap).elements_used(used) };
    }
    if change > 0 {
        ledger::raise_use(if is_real { used.min(tally::believed()) } else { used });
    }
}

/// Bytes of the block at `address` behind its header, with a zone if it has one.
unsafe fn usable(address: *mut u8, descriptor: *mut Descriptor) -> usize {
    // SAFETY: the descriptor is that of the address's page.
    unsafe {
        let owner = (*descriptor).owner.load(Ordering::Relaxed);
        if owner == SEGMENT {
            Block::of_element(address as usize).usable()
        } else if owner == AREA {
            ecb::usable(address, descriptor)
        } else {
            (*descriptor.cast::<Extent>()).cell_bytes as usize
        }
    }
}

/// Usable bytes of an element or cell; 0 for null and for a foreign pointer.
///
/// # Safety
/// As malloc_usable_size of glibc.
pub unsafe fn usable_size(address: *mut u8) -> usize {
    let descriptor = map::lookup(address as usize);
    // SAFETY: the descriptor is that of the address's page; the caller's promise.
    unsafe {
        if descriptor.is_null() {
            foreign::usable(address)
        } else if zone::are_on() && (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
            zone::usable(address.addr())
        } else {
            usable(address, descriptor)
        }
    }
}

#[cfg(test)]
mod tests;
