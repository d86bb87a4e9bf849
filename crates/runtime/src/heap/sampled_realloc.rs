//! realloc in a heap whose requests are sampled (SITES).
//!
//! It is a free and a request, as far as it is seen: an element that changes its size is drawn again. Within its cell a block only changes
//! its size, and so does the element of a small sample. Otherwise samples would come and go where others stay.
//!
//! Not here: how a request becomes a sample (`sampled`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::Key;

use super::block::HEADER;
use super::freeing::free;
use super::map::{Descriptor, SEGMENT};
use super::resizing::{get_for_outgrown, resize};
use super::sampled::{draw, ends, get, has_cells_of, is_sample, mark, passes, ready};
use super::trace::Site;
use super::{fill_from, get_element, malloc, object, own_heap, usable};

/// realloc of a block that is no sample, by a request that is none, in a heap that is special for its samples alone. None: something of that
/// is not so, or not known yet.
///
/// # Safety
/// As [`realloc`].
#[inline(never)]
pub unsafe fn unsampled(
    address: *mut u8,
    descriptor: *mut Descriptor,
    size: usize,
    caller: usize,
) -> Option<*mut u8> {
    // SAFETY: the caller's promise.
    unsafe {
        let heap = object::of(descriptor);
        if !heap.settings.only_samples() || !core::ptr::eq(heap, object::current()) {
            return None;
        }
        let old = usable(address, descriptor);
        let is_element = (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT;
        let new = if is_element {
            if is_sample(address) || !passes(size) {
                return None;
            }
            if let Some(same) = resize(address, descriptor, size, caller) {
                return Some(same);
            }
            let is_outgrown = size > old && !heap.settings.has_cells_of(size);
            if is_outgrown { get_for_outgrown(size) } else { get_element(size, 16) }.address
        } else if keeps(size, old) {
            heap.add(Key::HeapGrownInPlace, 1);
            return Some(address);
        } else {
            ready(size)?.address
        };
        Some(moved(address, new, old, size))
    }
}

/// Whether a block of so many usable bytes stays where it is.
fn keeps(size: usize, room: usize) -> bool {
    size <= room && size >= room / 2
}

/// Moves a block to its new place; null if there is none, unless the size fits where it is.
///
/// # Safety
/// Both are the caller's, and the new one is large enough.
unsafe fn moved(address: *mut u8, new: *mut u8, old: usize, size: usize) -> *mut u8 {
    if new.is_null() {
        // A smaller size fits in place.
        return if size <= old { address } else { null_mut() };
    }
    // SAFETY: the caller's promise. Not `copy_nonoverlapping`, as in `realloc`.
    unsafe {
        core::ptr::copy(address, new, old.min(size));
        free(address);
    }
    object::current().add(Key::HeapMoved, 1);
    new
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
        if (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
            let is_sampled = is_sample(address);
            // As large as the cell that it stands in for.
            let of_cell = old - HEADER;
            if is_sampled && has_cells_of(heap, of_cell) {
                if keeps(size, of_cell) {
                    heap.add(Key::HeapGrownInPlace, 1);
                    return address;
                }
            } else {
                if is_sampled {
                    ends(address.addr());
                    mark(heap, address.addr(), false);
                }
                if let Some(same) = resize(address, descriptor, size, site.caller) {
                    fill_from(same, old);
                    if let Some(thread) = own_heap() {
                        draw(thread, heap, same, size, site);
                    }
                    return same;
                }
            }
        } else if keeps(size, old) {
            heap.add(Key::HeapGrownInPlace, 1);
            return address;
        }
        let current = object::current();
        let new = if current.settings.samples() {
            let is_element = (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT;
            let is_outgrown = is_element && size > old && !current.settings.has_cells_of(size);
            let new = if is_outgrown && !has_cells_of(current, size) {
                let new = get_for_outgrown(size).address;
                if let Some(thread) = own_heap().filter(|_| !new.is_null()) {
                    draw(thread, (*thread).heap, new, size, site);
                }
                new
            } else {
                get(size, 16, site).address
            };
            fill_from(new, 0);
            new
        } else {
            malloc(size)
        };
        moved(address, new, old, size)
    }
}
