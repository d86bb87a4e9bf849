//! Is an address that of an element in use, and is its end intact?
//!
//! ```text
//!  header | element ............ | header of the next block | ...
//!  right?   the address is here?   right? a write past the end changes it first
//! ```
//!
//! The headers give the answer in the usual case. If one is wrong, a walk goes over the blocks of the segment from the first one:
//! they cover it without a gap, so the walk finds the block around an address.
//!
//! Invariant: for an undamaged element in use the answer is always yes.
//! Not here: the reaction to an invalid free (`check`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::FaultKind;

use super::super::block::{Block, block_bytes};
use super::super::check::Fault;
use super::super::map::{self, PAGE, SEGMENT};
use super::super::{object, zone};
use super::around::around;
use super::hollow;
use super::segment::{Segment, segment_of};
use super::{Alignment, Space};
use crate::{resident, sandbox};

/// Is the header before an address that of an element in use? Called without the lock: the owner of an element can rely on its
/// header, except for the flag of the block before it.
///
/// # Safety
/// The descriptor of the address's page is a segment's.
#[inline]
pub unsafe fn looks_sound(address: usize, segment: *mut map::Descriptor) -> bool {
    let segment: *const Segment = segment.cast();
    let block = Block::of_element(address);
    // SAFETY: descriptors stay readable; the header is in the same segment, which is mapped if the address is an element's.
    unsafe {
        address.is_multiple_of(16)
            && block.0 >= (*segment).first().0
            && block.is_sound((*segment).end())
            && !block.is_free()
    }
}

/// The fault in giving an address back; None if it is valid. Exact, and slow.
#[cold]
///
/// # Safety
/// The descriptor of the address's page was this segment's a moment ago.
pub unsafe fn look_closely(address: usize, segment: *mut map::Descriptor) -> Option<Fault> {
    // SAFETY: the caller's promise, if the program keeps its own: descriptors stay readable, and so do heaps.
    let _space = unsafe { object::of(segment) }.space.lock();
    let descriptor = around(address);
    // SAFETY: descriptors in the map are live, under the lock.
    unsafe {
        if descriptor.is_null() || (*descriptor).owner.load(Ordering::Relaxed) != SEGMENT {
            // The address was in a segment a moment ago. An element in use keeps its segment, and its pages.
            return Some(Fault { kind: FaultKind::DoubleFree, address, block: address, bytes: 0 });
        }
        (*descriptor.cast::<Segment>()).fault_at(address)
    }
}

impl Space {
    /// Has the program written over the header of the free block that a request of `bytes` would take first?
    pub fn would_find_damage(&self, bytes: usize) -> bool {
        let block = block_bytes(bytes).and_then(|want| self.find(want, Alignment::ANY));
        // SAFETY: blocks in the index are in live segments, and the lock is held.
        block.is_some_and(|block| unsafe { !block.is_sound((*segment_of(block)).end()) })
    }

    /// What is wrong with an address as that of an element of this space; None if it is one in use, with an intact end. The
    /// address may be any.
    pub fn fault_at(&self, address: usize) -> Option<FaultKind> {
        let descriptor = if address < map::END { around(address) } else { null_mut() };
        // SAFETY: descriptors stay readable for ever. That of a page of this space is live, as its lock is held.
        unsafe {
            if descriptor.is_null() || (*descriptor).owner.load(Ordering::Relaxed) != SEGMENT {
                return Some(FaultKind::NoBlock);
            }
            let segment: *const Segment = descriptor.cast();
            if !core::ptr::eq((*segment).heap, self.heap) {
                return Some(FaultKind::NoBlock);
            }
            let fault = if looks_sound(address, descriptor) {
                fault_of(address)
            } else {
                (*segment).fault_at(address)
            };
            fault.map(|fault| fault.kind)
        }
    }
}

/// Who got the element at an address, if its zone says so. The address may be any.
pub fn getter_of(address: usize) -> Option<usize> {
    let descriptor = if address < map::END { map::lookup(address) } else { null_mut() };
    // SAFETY: descriptors stay readable; an element whose header looks sound is in a segment.
    unsafe {
        let is_element = !descriptor.is_null()
            && (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT
            && looks_sound(address, descriptor);
        if is_element { zone::getter(address) } else { None }
    }
}

/// The fault in an element whose header is sound, after a check of its end.
///
/// # Safety
/// Under the lock of the space; its page has a descriptor.
#[inline]
pub unsafe fn fault_of(address: usize) -> Option<Fault> {
    let block = Block::of_element(address);
    // SAFETY: the caller's promise; a sound block ends in its segment.
    unsafe {
        let segment = segment_of(block);
        let end = (*segment).end();
        if block.is_sound(end) && !block.is_free() {
            let next = Block(block.0 + block.size());
            if next.0 == end || next.is_sound(end) {
                return None;
            }
        }
        (*segment).fault_at(address)
    }
}

/// The latest segments that went back to the kernel: start and end of each. Written one after the other; read by any thread,
/// relaxed: a match is a reason to ask the kernel.
static GONE: [[AtomicUsize; 2]; 64] = [const { [const { AtomicUsize::new(0) }; 2] }; 64];
static NEXT_GONE: AtomicUsize = AtomicUsize::new(0);

/// Records a segment that is about to be unmapped.
pub(super) fn now_gone(start: usize, bytes: usize) {
    let at = NEXT_GONE.fetch_add(1, Ordering::Relaxed);
    let [first, end] = &GONE[at % GONE.len()];
    first.store(start, Ordering::Relaxed);
    end.store(start + bytes, Ordering::Relaxed);
}

/// The fault in giving back an address whose page has no entry in the page map; None if it may belong to another owner. It may be inside a
/// very large element. If nothing is mapped there, it has no owner: it was an element of a segment that went back to the kernel.
#[cold]
pub fn fault_without_entry(address: usize) -> Option<Fault> {
    let segment = if address < map::END { hollow::around(address) } else { null_mut() };
    if !segment.is_null() {
        // SAFETY: an element around the address keeps its segment. Without one the program is at fault, and descriptors stay readable.
        return unsafe { look_closely(address, segment) };
    }
    let was_ours = GONE
        .iter()
        .any(|[first, end]| (first.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&address));
    let unmapped = || resident::is_mapped(address & !(PAGE - 1)) == Some(false);
    (was_ours && !sandbox::is_closed() && unmapped()).then_some(Fault {
        kind: FaultKind::DoubleFree,
        address,
        block: address,
        bytes: 0,
    })
}

impl Segment {
    /// The fault in giving back an address in this segment; None if it is that of an intact element in use. Under the lock of the
    /// space.
    #[cold]
    pub(super) fn fault_at(&self, address: usize) -> Option<Fault> {
        let end = self.end();
        let (mut at, mut before) = (self.first(), None::<Block>);
        // SAFETY: each block that is sound ends where the next begins, in this segment.
        unsafe {
            while at.0 < end {
                if !at.is_sound(end) {
                    let block = before.unwrap_or(at);
                    let bytes = at.0.saturating_sub(block.element());
                    return Some(Fault { kind: FaultKind::Overflow, address, block: block.element(), bytes });
                }
                let next = Block(at.0 + at.size());
                let (block, bytes) = (at.element(), at.usable());
                if address < next.0 {
                    let kind = if at.is_free() {
                        FaultKind::DoubleFree
                    } else if address == block {
                        if next.0 == end || next.is_sound(end) {
                            return None;
                        }
                        FaultKind::Overflow
                    } else if address > block {
                        FaultKind::InsideBlock
                    } else {
                        FaultKind::NoBlock
                    };
                    return Some(Fault { kind, address, block, bytes });
                }
                (at, before) = (next, Some(at));
            }
        }
        Some(Fault { kind: FaultKind::NoBlock, address, block: address, bytes: 0 })
    }
}
