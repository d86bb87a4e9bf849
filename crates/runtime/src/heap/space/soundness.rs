//! Is an address that of an element in use, and did nobody write past its end?
//!
//! ```text
//!  header | element ............ | header of the next block | ...
//!  right?   the address is here?   right? it is the first that is overwritten
//! ```
//!
//! The headers tell in the usual case. Where one is wrong, the blocks of the segment are gone through from the first one:
//! they cover it without a gap, so that shows around which address which block is.
//!
//! Invariant: of an element in use that nobody damaged the answer is always yes.
//! Not here: what becomes of a program that gives back something else (`check`).

use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_sys::syscall;

use super::super::block::Block;
use super::super::check::{Fault, Wrong};
use super::super::map::{self, PAGE, SEGMENT};
use super::super::object;
use super::segment::{Segment, segment_of};
use crate::sandbox;

/// Whether the header before an address is that of an element in use. Asked without the lock: who has an element can rely on
/// its header but for the flag of the block before it.
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

/// What is wrong with giving an address back; None where nothing is. Exact, and slow.
#[cold]
///
/// # Safety
/// The descriptor of the address's page was this segment's a moment ago.
pub unsafe fn look_closely(address: usize, segment: *mut map::Descriptor) -> Option<Fault> {
    // SAFETY: the caller's promise, if the program keeps its own: descriptors stay readable, and so do heaps.
    let _space = unsafe { object::of(segment) }.space.lock();
    let descriptor = map::lookup(address);
    // SAFETY: descriptors in the map are live, under the lock.
    unsafe {
        if descriptor.is_null() || (*descriptor).owner.load(Ordering::Relaxed) != SEGMENT {
            // It was in a segment a moment ago. An element in use keeps its segment, and its pages.
            return Some(Fault { wrong: Wrong::Twice, address, block: address, bytes: 0 });
        }
        (*descriptor.cast::<Segment>()).fault_at(address)
    }
}

/// What is wrong with an element that looks sound, its end looked at.
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

/// Segments that went back to the kernel last: start and end of each. Written one after the other;
/// read by anybody, relaxed: what is found is a reason to ask the kernel.
static GONE: [[AtomicUsize; 2]; 64] = [const { [const { AtomicUsize::new(0) }; 2] }; 64];
static NEXT_GONE: AtomicUsize = AtomicUsize::new(0);

/// Remembers that a segment is about to be unmapped.
pub(super) fn now_gone(start: usize, bytes: usize) {
    let at = NEXT_GONE.fetch_add(1, Ordering::Relaxed);
    let [first, end] = &GONE[at % GONE.len()];
    first.store(start, Ordering::Relaxed);
    end.store(start + bytes, Ordering::Relaxed);
}

/// What is wrong with giving back an address in a page that is not this heap's; None where it may be somebody else's. Where
/// nothing is mapped nobody has anything: it was an element of a segment that went back to the kernel.
#[cold]
pub fn fault_of_unmapped(address: usize) -> Option<Fault> {
    let was_ours = GONE
        .iter()
        .any(|[first, end]| (first.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&address));
    let unmapped = || syscall::mincore(address & !(PAGE - 1), &mut [0]) == Err(syscall::Errno::ENOMEM);
    (was_ours && !sandbox::is_closed() && unmapped()).then_some(Fault {
        wrong: Wrong::Twice,
        address,
        block: address,
        bytes: 0,
    })
}

impl Segment {
    /// What is wrong with giving back an address in this segment; None where it is that of a whole element in use. Under the
    /// lock of the space.
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
                    return Some(Fault { wrong: Wrong::PastEnd, address, block: block.element(), bytes });
                }
                let next = Block(at.0 + at.size());
                let (block, bytes) = (at.element(), at.usable());
                if address < next.0 {
                    let wrong = if at.is_free() {
                        Wrong::Twice
                    } else if address == block {
                        if next.0 == end || next.is_sound(end) {
                            return None;
                        }
                        Wrong::PastEnd
                    } else if address > block {
                        Wrong::Inside
                    } else {
                        Wrong::NoBlock
                    };
                    return Some(Fault { wrong, address, block, bytes });
                }
                (at, before) = (next, Some(at));
            }
        }
        Some(Fault { wrong: Wrong::NoBlock, address, block: address, bytes: 0 })
    }
}
