//! Storage is given back: free.
//!
//! ```text
//! free ---> map: the page's descriptor ---> own extent: its list              no lock, no call
//!                                      \--> another thread's: outbox
//!                                       \-> element | cell while storage is filled | foreign | wrong: give_back
//! ```
//!
//! Invariant: a pointer that this heap did not hand out is never followed. Storage is checked before it is changed; what is wrong ends
//! the program.
//! Not here: the checks (`check`), and how storage comes back to a segment (`space`) or to a thread (`thread`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::Key;

use super::cell::Cell;
use super::extent::Extent;
use super::map::{self, AREA, Descriptor, SEGMENT};
use super::object::{self, Heap};
use super::thread::{self, FILLING, ThreadHeap, slot};
use super::trace::{self, Kind, Site};
use super::{OurSegments, check, ecb, own_heap, sampled, space, usable, usable_size, use_elements, watch};
use crate::{coverage, ledger};

/// Gives storage back. Null is ignored; a foreign pointer is left alone and counted.
///
/// # Safety
/// As free of C.
#[inline(always)]
pub unsafe fn free(address: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { free_or(address, |address, descriptor| free_elsewhere(address, descriptor)) }
}

/// Gives back a cell of this thread. Anything else goes to `elsewhere`, with the descriptor of its page: null if the address is not in
/// this heap.
///
/// # Safety
/// As free of C; `elsewhere` gives the storage back.
#[inline(always)]
pub unsafe fn free_or(address: *mut u8, elsewhere: impl FnOnce(*mut u8, *mut Descriptor)) {
    let descriptor = map::lookup(address as usize);
    // SAFETY: a descriptor found in the map is live; cells of an extent of ours are ours to link.
    unsafe {
        if !descriptor.is_null() {
            let heap = slot::get();
            if (*descriptor).owner.load(Ordering::Relaxed) == heap as usize {
                let extent: *mut Extent = descriptor.cast();
                let cell: *mut Cell = address.cast();
                let freed_last = (*extent).list;
                if freed_last == cell {
                    check::doubtful_free(address, extent as usize);
                    return;
                }
                (*cell).next.set(freed_last);
                (*extent).list = cell;
                (*extent).countdown -= 1;
                if (*extent).countdown == 0 {
                    (*heap).countdown_ended(extent);
                }
                return;
            }
        }
        elsewhere(address, descriptor);
    }
}

/// Handles anything except a cell of this thread: usually a cell of another thread.
///
/// # Safety
/// As free of C; the descriptor is that of the address's page.
#[inline(never)]
pub unsafe fn free_elsewhere(address: *mut u8, descriptor: *mut Descriptor) {
    // SAFETY: a descriptor found in the map is live, and `address` was handed out by this heap.
    unsafe {
        if !descriptor.is_null() {
            let owner = (*descriptor).owner.load(Ordering::Relaxed);
            if owner == AREA {
                if !ecb::free(address, descriptor) {
                    free_unusual(address, descriptor as usize);
                }
                return;
            }
            let heap = slot::get();
            if owner & thread::TAGS == 0 && thread::is_real(heap) {
                let (extent, cell): (*mut Extent, *mut Cell) = (descriptor.cast(), address.cast());
                if !Extent::has_cell(extent, address as usize) {
                    check::doubtful_free(address, extent as usize);
                    return;
                }
                (*heap).put_remote(owner as *mut ThreadHeap, extent, cell);
                return;
            }
        }
        free_unusual(address, descriptor as usize);
    }
}

check::with_caller! {
    /// An element, a cell while storage is filled or in a thread without a heap, null, or a foreign pointer. The second argument
    /// is the descriptor of its page.
    ///
    /// # Safety
    /// As free of C.
    free_unusual = free_unusual_by;
}

unsafe extern "C" fn free_unusual_by(
    address: *mut u8,
    descriptor: *mut Descriptor,
    caller: usize,
) -> *mut u8 {
    // SAFETY: as free of C.
    unsafe { give_back("free", address, descriptor, caller) }
    null_mut()
}

/// Gives back what `free` or another function found to be no cell of the thread.
///
/// # Safety
/// As free of C; the descriptor is that of the address's page.
#[inline(always)]
pub unsafe fn give_back(
    function: &'static str,
    address: *mut u8,
    descriptor: *mut Descriptor,
    caller: usize,
) {
    // SAFETY: a descriptor found in the map is live, and `address` was handed out by this heap.
    unsafe {
        if descriptor.is_null() {
            if !address.is_null() {
                if let Some(fault) = space::fault_without_entry(address as usize) {
                    check::end(function, fault, caller);
                }
                ledger::add(Key::HeapForeignFrees, 1);
            }
            return;
        }
        let owner = (*descriptor).owner.load(Ordering::Relaxed);
        if owner == AREA {
            if !ecb::free_by(function, address, descriptor, caller) {
                check::end(function, ecb::fault_of(address.addr(), descriptor), caller);
            }
            return;
        }
        if let Some(fault) = check::fault_of(address as usize, descriptor) {
            check::end(function, fault, caller);
        }
        let heap = object::of(descriptor);
        let is_sample = owner == SEGMENT && heap.settings.samples() && sampled::is_sample(address);
        if is_sample || !heap.settings.are_usual() {
            before_free(heap, function, address, is_sample, caller);
        }
        if owner == SEGMENT {
            coverage::before_free::<OurSegments>(usable(address, descriptor));
            let freed = heap.space.lock().free(address as usize);
            let freed = match freed {
                Ok(freed) => freed,
                Err(fault) => check::end(function, fault, caller),
            };
            heap.add(Key::HeapFrees, 1);
            heap.turnover.note_freed(freed);
            use_elements(heap, -(freed as i64));
            coverage::look_if_due::<OurSegments>();
            return;
        }
        give_back_cell(address, descriptor.cast());
    }
}

/// Before storage goes back: checks it and notes the request or that it was a sample, and fills it.
///
/// # Safety
/// The address is that of a cell or an element in use, which its owner gives up.
#[cold]
#[inline(never)]
unsafe fn before_free(heap: &Heap, function: &'static str, address: *mut u8, is_sample: bool, caller: usize) {
    let site = Site::of(caller);
    // SAFETY: the caller's promise.
    unsafe {
        if heap.settings.is_watched() {
            watch::request(function, &site);
            watch::check(function, address.addr(), &site);
            trace::note(Kind::Freed, address.addr(), usable_size(address), &site);
        }
        if is_sample {
            sampled::ends(address.addr());
        }
        if let Some(fill) = heap.settings.fill_free() {
            address.write_bytes(fill, usable_size(address));
        }
    }
}

/// Gives back a cell that was checked.
unsafe fn give_back_cell(address: *mut u8, extent: *mut Extent) {
    let cell: *mut Cell = address.cast();
    // SAFETY: the extent is that of the cell, which is nobody's any more.
    unsafe {
        let target = ((*extent).owner.load(Ordering::Relaxed) & !FILLING) as *mut ThreadHeap;
        // SAFETY: the slot's heap is this thread's.
        match own_heap().map(|heap| thread::counting(heap)) {
            Some(heap) if heap == target => (*heap).put(extent, cell),
            Some(heap) => (*heap).put_remote(target, extent, cell),
            None => thread::send_one(target, cell),
        }
    }
}
