//! An element gets another size: in place, by moving its pages, or where it can grow in place the next time.
//!
//! ```text
//! |element |in use  |     --outgrown-->   |        |in use  | ... |element     |  free   |      the next growth moves nothing
//! ```
//! The free storage is nobody's: another request may take it.
//!
//! Invariant: its content up to the smaller size stays, and if there is no storage for more, all of it.
//! Not here: blocks that are copied (`realloc`).

use underbar_ledger::Key;

use super::block::Block;
use super::map::Descriptor;
use super::object::Heap;
use super::space::{self, Space};
use super::{Got, OurSegments, check, count_element, get_element, obey_if_changed, object, use_elements};
use crate::coverage;

/// Resizes an element in place, or moves the pages of one that has a segment to itself.
///
/// # Safety
/// As realloc of C; the address is that of an element in use, of that descriptor.
pub unsafe fn resize(
    address: *mut u8,
    descriptor: *mut Descriptor,
    size: usize,
    caller: usize,
) -> Option<*mut u8> {
    // SAFETY: the descriptor is that of the element's page.
    let heap = unsafe { object::of(descriptor) };
    let mut space = heap.space.lock();
    // SAFETY: the element has a descriptor, and we hold the lock.
    if let Some(fault) = unsafe { space::fault_of(address as usize) } {
        drop(space);
        check::end("realloc", fault, caller);
    }
    // SAFETY: the element is the caller's, who holds on to it for as long as this lasts.
    let resized = unsafe { in_place(&mut space, address as usize, size)? };
    drop(space);
    resized.count(heap, size);
    Some(resized.address as *mut u8)
}

/// An element that kept its place or its pages.
pub struct Resized {
    pub address: usize,
    /// By how many bytes its block grew.
    more: i64,
}

impl Resized {
    /// Counts it, with its new size.
    pub fn count(&self, heap: &Heap, size: usize) {
        use_elements(heap, self.more);
        heap.raise(Key::HeapLargestRequest, size as u64);
        heap.add(Key::HeapGrownInPlace, 1);
    }
}

/// Resizes an element without a copy; None if that is impossible.
///
/// # Safety
/// The address is that of an element in use in this space, whose owner waits for the result.
pub unsafe fn in_place(space: &mut Space, address: usize, size: usize) -> Option<Resized> {
    // SAFETY: the caller's promise.
    unsafe {
        let old = Block::of_element(address).size() as i64;
        if let Some(new) = space.resize(address, size) {
            return Some(Resized { address, more: new as i64 - old });
        }
        let moved = space.remap(address, size)?;
        Some(Resized { address: moved.address, more: moved.block_bytes as i64 - old })
    }
}

/// New storage for an element that has outgrown its place, outside of ECBs, in a heap that is not special: with free storage behind it if
/// there is some, since what grows once grows again, and each move copies all of it.
pub fn get_for_outgrown(size: usize) -> Got {
    obey_if_changed();
    let heap = object::current();
    let roomy = if heap.settings.is_pooled() { None } else { heap.space.lock().get_with_room(size) };
    let Some(element) = roomy else { return get_element(size, 16) };
    count_element(heap, &element, size);
    heap.turnover.note_got(element.block_bytes);
    coverage::look_if_due::<OurSegments>();
    Got { address: element.address as *mut u8, zero_from: element.zero_from }
}
