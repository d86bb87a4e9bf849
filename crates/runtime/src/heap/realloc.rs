//! Changing size: in place, by moving the element's pages, or by a copy.
//!
//! Invariant: if there is no storage for more, the old block stays as it was.
//! Not here: how elements grow within their segment (`space`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::Key;

use super::map::{self, AREA, SEGMENT};
use super::resizing::{get_for_outgrown, resize};
use super::{
    check, ecb, fill_from, foreign, free, malloc, object, out_of_storage, sampled_realloc, slot, space,
    unusual, usable,
};
use crate::ledger;

check::with_caller! {
    /// Changes the size of the block at an address, moving it if necessary; the second argument is the size.
    ///
    /// # Safety
    /// As realloc of C (and of glibc: null gets, size 0 frees).
    realloc = realloc_by;
}

/// As [`realloc`], for a function that returns to `caller`.
///
/// # Safety
/// As realloc of C.
pub unsafe extern "C" fn realloc_by(address: *mut u8, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: as malloc and free; the element is the caller's.
    unsafe {
        if address.is_null() {
            return if unusual::is_special() {
                unusual::realloc_of_nothing(size, 0, 0, caller)
            } else {
                malloc(size)
            };
        }
        if size == 0 {
            free(address);
            return null_mut();
        }
        let descriptor = map::lookup(address as usize);
        if descriptor.is_null() {
            if let Some(fault) = space::fault_without_entry(address as usize) {
                check::end("realloc", fault, caller);
            }
            ledger::add(Key::HeapForeignFrees, 1);
            return copy(address, foreign::usable(address), size);
        }
        if (*descriptor).owner.load(Ordering::Relaxed) == AREA {
            return ecb::realloc(address, descriptor, size, caller);
        }
        if (*slot::get()).is_seat {
            // The block stays in its heap, whichever ECB the thread is in.
            return ecb::outside(|| realloc_by(address, size, caller));
        }
        if let Some(fault) = check::fault_of(address as usize, descriptor) {
            check::end("realloc", fault, caller);
        }
        if object::of(descriptor).settings.moves_specially() {
            return match sampled_realloc::unsampled(address, descriptor, size, caller) {
                Some(new) => new,
                None => unusual::realloc(address, descriptor, size, caller),
            };
        }
        let old = usable(address, descriptor);
        let is_element = (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT;
        if is_element {
            if let Some(same) = resize(address, descriptor, size, caller) {
                fill_from(same, old);
                return same;
            }
        } else if size <= old && size >= old / 2 {
            object::of(descriptor).add(Key::HeapGrownInPlace, 1);
            return address;
        }
        let settings = &object::current().settings;
        let is_outgrown = is_element && size > old && !settings.has_cells_of(size) && !settings.are_special();
        let new = if is_outgrown { get_for_outgrown(size).address } else { malloc(size) };
        if new.is_null() {
            // A smaller size fits in place.
            return if size <= old { address } else { new };
        }
        // Not `copy_nonoverlapping`: this library names no C library, so the symbol versions that it binds to are the
        // oldest, and glibc's oldest memcpy is the one for processors of 2003. memmove has one version only.
        core::ptr::copy(address, new, old.min(size));
        free(address);
        object::current().add(Key::HeapMoved, 1);
        new
    }
}

/// A copy in this heap of a foreign block, which is left alone. Without its size it cannot be copied.
unsafe fn copy(address: *mut u8, old: usize, size: usize) -> *mut u8 {
    if old == 0 {
        return out_of_storage().address;
    }
    // SAFETY: the block is the caller's, and so long; the storage is new. Not `copy_nonoverlapping`, as above.
    unsafe {
        let new = malloc(size);
        if !new.is_null() {
            core::ptr::copy(address, new, old.min(size));
        }
        new
    }
}
