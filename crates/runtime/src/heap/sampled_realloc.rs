//! realloc in a heap whose requests are sampled (SITES).
//!
//! It is a free and a request, as far as it is seen: an element that changes its size is drawn again. Within its cell a block only changes
//! its size, and so does the element of a small sample. Otherwise samples would come and go where others stay.
//!
//! Not here: how a request becomes a sample (`sampled`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::Key;

use super::block::{Block, HEADER};
use super::freeing::free;
use super::map::{Descriptor, SEGMENT};
use super::resizing::{get_for_outgrown, resize};
use super::sampled::{draw, get, has_cells_of, mark};
use super::trace::Site;
use super::{fill_from, malloc, object, own_heap, usable};
use crate::sites;

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
            if is_sampled && has_cells_of(heap, of_cell) {
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
                        draw(thread, heap, same, size, site);
                    }
                    return same;
                }
            }
        } else if keeps(old) {
            heap.add(Key::HeapGrownInPlace, 1);
            return address;
        }
        let current = object::current();
        let new = if current.settings.samples() {
            let is_element = (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT;
            let new = if is_element && size > old && !has_cells_of(current, size) {
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
