//! Requests under SITES: as usual, except for those that are samples.
//!
//! ```text
//! bin empty ─> the next cell holds a point? ─ no ─> a list up to the next point, as usual
//!                        | yes
//!                        v
//!              with probability p(size) / p(cell) ─ no ─> as usual
//!                        | yes
//!                        v
//! larger request, p(size) ─ yes ─> an element, whose header has the mark ─> sites::got
//!
//! free ─> a segment's, so the slow way ─> special? ─> mark? ─> sites::freed
//! ```
//!
//! A sampled request is served by an element, also a small one, because the free of an element takes the slow path anyway. So neither
//! `malloc` nor `free` has an instruction more. For a request of s bytes, whatever cell it would get, the probability is
//! p(s) = 1 - exp(-s/mean).
//!
//! realloc is a free and a request, as far as it is seen: within its cell a block only changes its size, and so does the element of a
//! small sample.
//!
//! Invariant: an element has the mark from `sites::got` to `sites::freed`, once each.
//! Not here: chance (`sites::draw`), which cell holds a point (`thread::sampler`), and what is noted of a sample (`sites`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::Key;

use super::block::{Block, HEADER};
use super::map::{Descriptor, SEGMENT};
use super::object::{self, Heap};
use super::realloc::resize;
use super::size::LARGEST_SMALL;
use super::thread::{Ready, ThreadHeap};
use super::trace::Site;
use super::{
    Got, OurSegments, class_for, count_element, fill_from, free, get_element, malloc, note_largest,
    obey_if_changed, own_heap, usable,
};
use crate::coverage;
use crate::sites::{self, Call};

/// As `get` of the parent.
pub fn get(size: usize, align: usize, call: &Call) -> Got {
    obey_if_changed();
    let Some(thread) = own_heap() else { return get_element(size, align) };
    // SAFETY: this thread owns its heap.
    unsafe {
        if align <= LARGEST_SMALL
            && (*thread).heap.settings.has_cells_of(size)
            && let Some(class) = class_for(size, align)
        {
            if !(*thread).has_noted(size) {
                note_largest(thread, size);
            }
            let cell = match (*thread).get_or_sample(class) {
                Ready::Cell(cell) => cell,
                Ready::Point(doubled) => {
                    let (bytes, mean) = ((*thread).cell_bytes(class), sites::mean(doubled));
                    if (*thread).is_chosen(size, bytes, mean)
                        && let Some(got) = sample(thread, size, bytes, align, mean, call)
                    {
                        return got;
                    }
                    (*thread).fill_before_point(class)
                }
            };
            if !cell.is_null() {
                return Got { address: cell.cast(), zero_from: usize::MAX };
            }
            // There is no room for another extent. A free block may still hold this one request.
            return get_element(size, align);
        }
        let got = get_element(size, align);
        if !got.address.is_null() {
            draw(thread, (*thread).heap, got.address, size, call);
        }
        got
    }
}

/// Serves a request as a sample, by an element of so many bytes. None if there is no storage.
///
/// # Safety
/// The heap is this thread's.
unsafe fn sample(
    thread: *mut ThreadHeap,
    size: usize,
    bytes: usize,
    align: usize,
    mean: u64,
    call: &Call,
) -> Option<Got> {
    // SAFETY: the caller's promise; the element is new, and we hold the lock.
    let (heap, element) = unsafe {
        let heap = (*thread).heap;
        let mut space = heap.space.lock();
        let element = space.get(bytes.max(size), align)?;
        Block::of_element(element.address).set_sampled(true);
        (heap, element)
    };
    count_element(heap, &element, size);
    coverage::look_if_due::<OurSegments>();
    // SAFETY: the caller's promise.
    unsafe { note(thread, element.address, size, mean, call) };
    Some(Got { address: element.address as *mut u8, zero_from: element.zero_from })
}

/// Decides whether a request that an element serves is a sample, and marks the element.
///
/// # Safety
/// The thread's heap is the caller's; the address is that of an element of `heap` that the caller has.
unsafe fn draw(thread: *mut ThreadHeap, heap: &Heap, address: *mut u8, size: usize, call: &Call) {
    let mean = sites::mean(sites::doubled());
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).is_sample(size, mean) {
            mark(heap, address.addr(), true);
            note(thread, address.addr(), size, mean, call);
        }
    }
}

/// # Safety
/// The address is that of an element of this heap that the caller has.
unsafe fn mark(heap: &Heap, address: usize, is_sampled: bool) {
    let _space = heap.space.lock();
    // SAFETY: the caller's promise; we hold the lock.
    unsafe { Block::of_element(address).set_sampled(is_sampled) };
}

/// # Safety
/// The heap is this thread's.
unsafe fn note(thread: *mut ThreadHeap, address: usize, size: usize, mean: u64, call: &Call) {
    // SAFETY: the caller's promise.
    let number = unsafe { (*thread).thread_number() };
    sites::got(&sites::Got { address, size, mean, thread: number }, call);
}

/// An element is about to be freed: notes it, if its request was sampled.
///
/// # Safety
/// The address is that of an element in use, which its owner gives up.
pub unsafe fn before_free(address: *mut u8) {
    // SAFETY: the caller's promise.
    if unsafe { Block::of_element(address.addr()).is_sampled() } {
        sites::freed(address.addr());
    }
}

/// realloc in a heap whose requests are sampled.
///
/// # Safety
/// As realloc of C; the address is that of a cell or an element in use, of that descriptor. The size is not 0.
pub unsafe fn realloc(address: *mut u8, descriptor: *mut Descriptor, size: usize, site: &Site) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let heap = object::of(descriptor);
        let old = usable(address, descriptor);
        let keeps = |room: usize| size <= room && size >= room / 2;
        if (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
            let is_sampled = Block::of_element(address.addr()).is_sampled();
            // As large as the cell that it stands in for.
            let of_cell = old - HEADER;
            if is_sampled && heap.settings.has_cells_of(of_cell) {
                if keeps(of_cell) {
                    heap.add(Key::HeapGrownInPlace, 1);
                    return address;
                }
            } else {
                if is_sampled {
                    sites::freed(address.addr());
                    mark(heap, address.addr(), false);
                }
                if let Some(same) = resize(address, descriptor, size, site.caller) {
                    fill_from(same, old);
                    if let Some(thread) = own_heap() {
                        draw(thread, heap, same, size, &site.call());
                    }
                    return same;
                }
            }
        } else if keeps(old) {
            heap.add(Key::HeapGrownInPlace, 1);
            return address;
        }
        let new = if object::current().settings.samples() {
            let new = get(size, 16, &site.call()).address;
            fill_from(new, 0);
            new
        } else {
            malloc(size)
        };
        if new.is_null() {
            // A smaller size fits in place.
            return if size <= old { address } else { null_mut() };
        }
        // Not `copy_nonoverlapping`, as in `realloc`.
        core::ptr::copy(address, new, old.min(size));
        free(address);
        object::current().add(Key::HeapMoved, 1);
        new
    }
}
