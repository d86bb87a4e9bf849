//! The storage around an address that may be any: inside an element, in a cell, or not of this heap.
//!
//! Invariant: no pointer in a descriptor is followed. Only its numbers are read, since it may become something else meanwhile.
//! Not here: addresses that the heap handed out (`map`), and whether one is that of an element in use (`soundness`).

use core::sync::atomic::Ordering;

use super::super::extent::Extent;
use super::super::map::{self, PAGE, SEGMENT};
use super::hollow;
use super::segment::Segment;

/// The descriptor of the storage around an address; null if it is not this heap's. Slower than the page map, and as old.
pub fn around(address: usize) -> *mut map::Descriptor {
    let descriptor = map::lookup(address);
    if descriptor.is_null() { hollow::around(address) } else { descriptor }
}

/// The end of the storage around an address: of an extent, or of a segment. None if it is not this heap's. Read without the lock, so the
/// answer may be old, or that of a descriptor which is something else by now: for estimates only.
pub fn end_around(address: usize) -> Option<usize> {
    let descriptor = around(address);
    if descriptor.is_null() {
        return None;
    }
    // Only numbers are read. An extent's segment would be an address, which must not be followed here: the descriptor may have become one
    // whose word at that place is anything. An owner may write at the same time, so the reads are volatile.
    // SAFETY: descriptors stay readable for ever, and have room for each of these types.
    unsafe {
        let (start, bytes) = if (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
            let segment: *const Segment = descriptor.cast();
            ((&raw const (*segment).start).read_volatile(), (&raw const (*segment).size).read_volatile())
        } else {
            let extent: *const Extent = descriptor.cast();
            (
                // Of its first cell.
                (&raw const (*extent).start).read_volatile() & !(PAGE - 1),
                (&raw const (*extent).bytes).read_volatile() as usize,
            )
        };
        Some(start.wrapping_add(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ONE_AT_A_TIME;
    use super::super::super::private_storage::OWN;
    use super::*;
    use underbar_sys::syscall;

    /// A thread that looks at the map has found an extent's descriptor; before it reads on, the extent is gone, and the descriptor serves
    /// something else, whose word at the place of the extent's segment is no address.
    #[test]
    fn a_descriptor_that_became_something_else_is_not_followed() {
        let _turn = ONE_AT_A_TIME.lock();
        let start = syscall::map_anonymous(2 * PAGE).expect("memory") as usize;
        let mut other = Extent::new(start, 2 * PAGE, core::ptr::without_provenance_mut(usize::MAX));
        assert!(map::prepare(start, 2 * PAGE, &mut OWN.lock()));
        map::enter(start, 2 * PAGE, (&raw mut other).cast());
        assert_eq!(end_around(start + PAGE), Some(start + 2 * PAGE));
        map::enter(start, 2 * PAGE, core::ptr::null_mut());
        assert_eq!(end_around(start), None);
        // SAFETY: nobody else knows of it.
        unsafe { syscall::munmap(start as *mut u8, 2 * PAGE) }.expect("unmapped");
    }
}
