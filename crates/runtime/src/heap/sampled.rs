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
//! Most lists hold no point, and most elements. Where nothing but samples is special, malloc, calloc, realloc and operator new try
//! [`unsampled`] and [`passes`] first, which need neither the caller nor its registers: a list or an element costs some twenty
//! instructions more than without samples.
//!
//! Invariant: an element has the mark from `sites::got` to `sites::freed`, once each.
//! Not here: realloc (`sampled_realloc`), chance (`sites::draw`), which cell holds a point (`thread::sampler`), and what is noted of a sample (`sites`).

use core::hint::assert_unchecked;
use core::ptr::null_mut;

use super::block::Block;
use super::map::PAGE;
use super::object::{self, Heap};
use super::size::{CELL_BYTES, LARGEST_SMALL, class_of};
use super::thread::{Ready, ThreadHeap, is_real, slot};
use super::trace::Site;
use super::{
    Cell, Got, OurSegments, class_for, count_element, get_element, note_largest, obey_if_changed, own_heap,
    pools,
};
use crate::coverage;
use crate::sites;

/// A cell or an element for a request that is no sample. None: that, or the heap is special for something else.
///
/// # Safety
/// As malloc of C.
#[inline(never)]
pub unsafe fn ready(size: usize) -> Option<Got> {
    if !object::current().settings.only_samples() {
        return None;
    }
    // SAFETY: the caller's promise, and the heap is as they want it.
    unsafe { of_cell(unsampled(size).cast()).or_else(|| passes(size).then(|| get_element(size, 16))) }
}

/// A cell, if it is no sample and nothing else has to be done first. Null: the request goes the way of samples.
///
/// # Safety
/// As malloc of C, in a heap that is special for its samples alone.
#[inline(always)]
pub unsafe fn unsampled(size: usize) -> *mut u8 {
    obey_if_changed();
    let thread = slot::get();
    // SAFETY: the slot holds the address of a heap. If that is no thread's, it has noted no size, and neither cells nor samples. A size
    // that has cells has a class.
    unsafe {
        if !(*thread).has_noted(size) || !(*thread).heap.settings.has_cells_of(size) {
            return null_mut();
        }
        let class = class_of(size.max(1));
        assert_unchecked(class < CELL_BYTES.len());
        if !(*thread).heap.turnover.has_cells(class) {
            return null_mut();
        }
        ThreadHeap::get_unsampled(thread, class).cast()
    }
}

/// Whether an element serves a request that is no sample, in a heap that is special for its samples alone. If so, it is to be got as
/// without samples.
///
/// # Safety
/// As malloc of C.
#[inline(always)]
pub unsafe fn passes(size: usize) -> bool {
    let thread = slot::get();
    // SAFETY: the slot holds the address of a heap. If that is no thread's, it has no samples.
    unsafe { class_in((*thread).heap, size, 16).is_none() && ThreadHeap::passes(thread, size) }
}

/// As `get` of the parent.
pub fn get(size: usize, align: usize, site: &Site) -> Got {
    if !sites::are_sampled() {
        // The accounts are found after the heap has obeyed its options: there are none.
        object::current().settings.sample_no_more();
        // SAFETY: as malloc of C.
        return unsafe { super::get(size, align) };
    }
    obey_if_changed();
    let Some(thread) = own_heap() else { return get_element(size, align) };
    // SAFETY: this thread owns its heap.
    unsafe {
        let heap = (*thread).heap;
        let is_pooled = heap.settings.is_pooled();
        if let Some(class) = class_in(heap, size, align) {
            if is_pooled {
                pools::note_largest(size);
            } else if !(*thread).has_noted(size) {
                note_largest(thread, size);
            }
            let found = match (*thread).get_or_sample(class) {
                Ready::Cell(cell) => of_cell(cell),
                Ready::Point(doubled) => {
                    let (bytes, mean) = ((*thread).cell_bytes(class), sites::mean(doubled));
                    let is_chosen = (*thread).is_chosen(size, bytes, mean);
                    let got = if is_chosen { sample(thread, size, bytes, align, mean, site) } else { None };
                    got.or_else(|| of_cell((*thread).fill_before_point(class)))
                }
            };
            if let Some(got) = found {
                if is_pooled {
                    pools::count_aligned(heap, size, align);
                }
                return got;
            }
            // There is no room for another extent. A free block may still hold this one request.
            return get_element(size, align);
        }
        let got = get_element(size, align);
        if !got.address.is_null() {
            draw(thread, heap, got.address, size, site);
        }
        got
    }
}

fn of_cell(cell: *mut Cell) -> Option<Got> {
    (!cell.is_null()).then_some(Got { address: cell.cast(), zero_from: usize::MAX })
}

/// The class of the cells that serve a request; none if an element does.
fn class_in(heap: &Heap, size: usize, align: usize) -> Option<usize> {
    if heap.settings.is_pooled() {
        pools::class_in(heap, size, align)
    } else if align <= LARGEST_SMALL && heap.settings.has_cells_of(size) {
        class_for(size, align).filter(|&class| heap.turnover.has_cells(class))
    } else {
        None
    }
}

/// Whether requests of so many bytes are served by cells.
pub fn has_cells_of(heap: &Heap, size: usize) -> bool {
    class_in(heap, size, 16).is_some()
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
    site: &Site,
) -> Option<Got> {
    // SAFETY: the caller's promise; the element is new, and we hold the lock.
    let (heap, element) = unsafe {
        let heap = (*thread).heap;
        let mut space = heap.space.lock();
        let bytes = bytes.max(size);
        let is_large = bytes >= PAGE && align <= 16;
        let element = if is_large { space.get_in_pages(bytes)? } else { space.get(bytes, align)? };
        Block::of_element(element.address).set_sampled(true);
        (heap, element)
    };
    count_element(heap, &element, size);
    coverage::look_if_due::<OurSegments>();
    // SAFETY: the caller's promise.
    unsafe { note(thread, element.address, size, mean, site) };
    Some(Got { address: element.address as *mut u8, zero_from: element.zero_from })
}

/// Decides whether a request that an element serves is a sample, and marks the element.
///
/// # Safety
/// The thread's heap is the caller's; the address is that of an element of `heap` that the caller has.
pub unsafe fn draw(thread: *mut ThreadHeap, heap: &Heap, address: *mut u8, size: usize, site: &Site) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(doubled) = (*thread).point_in(size) {
            mark(heap, address.addr(), true);
            note(thread, address.addr(), size, sites::mean(doubled), site);
        }
    }
}

/// # Safety
/// The address is that of an element of this heap that the caller has.
pub unsafe fn mark(heap: &Heap, address: usize, is_sampled: bool) {
    let _space = heap.space.lock();
    // SAFETY: the caller's promise; we hold the lock.
    unsafe { Block::of_element(address).set_sampled(is_sampled) };
}

/// # Safety
/// The heap is this thread's.
unsafe fn note(thread: *mut ThreadHeap, address: usize, size: usize, mean: u64, site: &Site) {
    // SAFETY: the caller's promise.
    let (number, unpublished) = unsafe { ((*thread).thread_number(), (*thread).unpublished_bytes()) };
    sites::got(&sites::Got { address, size, mean, thread: number, unpublished }, &site.call());
}

/// The storage of a sampled request is about to be freed.
pub fn ends(address: usize) {
    let heap = slot::get();
    // SAFETY: the slot's heap is this thread's.
    let unpublished = if is_real(heap) { unsafe { (*heap).unpublished_bytes() } } else { 0 };
    sites::freed(address, unpublished);
}

/// Whether the request of an element was sampled.
///
/// # Safety
/// The address is that of an element in use, which the caller has.
#[inline(always)]
pub unsafe fn is_sample(address: *mut u8) -> bool {
    // SAFETY: the caller's promise.
    unsafe { Block::of_element(address.addr()).is_sampled() }
}
