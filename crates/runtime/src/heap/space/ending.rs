//! The end of a space: everything in use counts as freed, and every segment goes back to the kernel.
//!
//! ```text
//! all -> segment -> segment -> nil        each: block by block, an element | an extent of cells | free; then unmapped
//! ```
//!
//! Invariant: `all` is every segment that the space has; after the end there is none, and the page map has no page of one.
//! Not here: cells in threads' lists, which were settled before (`thread`).

use underbar_ledger::Key;

use super::super::block::Block;
use super::super::check::Fault;
use super::super::extent::Extent;
use super::super::map::{self, SEGMENT};
use super::super::private_storage::OWN;
use super::{Segment, Space};
use crate::{ledger, sites};
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// Elements and cells in use.
#[derive(Default)]
struct InUse {
    blocks: u64,
    bytes: i64,
}

impl Space {
    /// Gives everything back. The space is then as new. Returns a fault if the program had written over headers: elements behind
    /// such a header in the same segment are gone, too, but still counted as in use.
    ///
    /// # Safety
    /// Nothing of it is used any more; the figures of its extents are settled.
    pub unsafe fn end(&mut self) -> Option<Fault> {
        let mut in_use = InUse::default();
        let mut damaged = None;
        // SAFETY: segments in the list are live, and used by no one else any more.
        while let Some(segment) = unsafe { self.all.as_mut() } {
            // SAFETY: the caller's promise.
            let fault = unsafe { take_out(segment, &mut in_use) };
            damaged = damaged.or(fault);
            self.unmap(segment);
        }
        self.index.clear();
        *self = Self::new(self.heap, null_mut());
        self.owner().add(Key::HeapFrees, in_use.blocks);
        self.owner().account.change(Key::HeapUsed, Key::HeapUsedPeak, -in_use.bytes);
        ledger::change_use(-in_use.bytes);
        damaged
    }

    /// Number of segments, and their bytes.
    #[cfg(test)]
    pub fn size(&self) -> [u64; 2] {
        [self.segments as u64, self.bytes as u64]
    }

    /// Links a new segment.
    pub(super) fn link(&mut self, segment: &mut Segment) {
        (segment.all_next, segment.all_previous) = (self.all, null_mut());
        // SAFETY: segments in the list are live.
        if let Some(next) = unsafe { self.all.as_mut() } {
            next.all_previous = segment;
        }
        self.all = segment;
        OWN.lock().segments += 1;
    }

    /// Unlinks a segment that is about to go.
    pub(super) fn unlink(&mut self, segment: &Segment) {
        let (next, previous) = (segment.all_next, segment.all_previous);
        // SAFETY: segments in the list are live.
        unsafe {
            if let Some(next) = next.as_mut() {
                next.all_previous = previous;
            }
            match previous.as_mut() {
                Some(previous) => previous.all_next = next,
                None => self.all = next,
            }
        }
        OWN.lock().segments -= 1;
    }
}

/// Counts the elements and cells in use in a segment, and takes the descriptors of its extents back, up to the first damaged
/// header, if there is one.
///
/// # Safety
/// The segment is not used any more.
unsafe fn take_out(segment: &Segment, in_use: &mut InUse) -> Option<Fault> {
    let end = segment.end();
    let mut block = segment.first();
    while block.0 < end {
        // SAFETY: blocks cover the segment without a gap; each that is sound ends where the next begins.
        unsafe {
            if !block.is_sound(end) {
                return segment.fault_at(block.element());
            }
            let size = block.size();
            if !block.is_free() {
                let descriptor = map::lookup(block.element());
                if descriptor.is_null() || (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
                    if block.is_sampled() {
                        sites::freed(block.element(), 0);
                    }
                    in_use.blocks += 1;
                    in_use.bytes += size as i64;
                } else {
                    let extent: *mut Extent = descriptor.cast();
                    let out = i64::from((*extent).settled);
                    in_use.blocks += out as u64;
                    in_use.bytes += out * i64::from((*extent).cell_bytes);
                    // Out of the map first, since its storage belongs to another user from then on.
                    map::enter((*extent).first_page(), (*extent).bytes as usize, null_mut());
                    OWN.lock().put_descriptor(extent.cast());
                }
            }
            block = Block(block.0 + size);
        }
    }
    None
}
