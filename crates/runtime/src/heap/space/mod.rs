//! The enclave's storage: segments from the kernel, divided into elements.
//!
//! ```text
//! kernel --mmap--> segment | element | free | extent of cells | free ...... (never used) |
//!                          ^ start + 8                          ^ high          end ^
//! ```
//!
//! Everything here is under one lock, that of the heap's space; sizes of segments are those of the enclave, not of a thread. Small
//! and frequent requests do not come here: threads keep cells of their own (`thread`), in extents that they get from here.
//!
//! Invariants: the sum of the segments' sizes is what the kernel gave (`heap.segment_bytes`); each
//! segment was one kernel call; a page is in the page map only while its segment lives.
//!
//! | module | holds |
//! |---|---|
//! | `segment` | the HEAP settings, and the description of a segment |
//! | `hollow` | segments of which the page map has the first and last pages only |
//! | `supply` | segments from the kernel and back |
//! | `reserve` | the segment that is left when the kernel refuses |
//! | `parked` | empty extents that wait for the next need of their class |
//! | `huge_pages` | huge pages where they are faster |
//! | `limit` | places for segments below a limit |
//! | `live` | changes while the program runs |
//! | `ending` | all segments, and their return at the end |
//! | `reservation` | the first segment under THSIZE, which keeps its pages |
//! | `decay` | pages of free blocks that stay unused for a while |
//! | `pages` | which pages are resident; large storage made zero |
//! | `soundness` | whether an address is that of an element in use, with an intact end |
//! | `around` | the storage around an address that may be any |
//! | `walk` | the first damage of any block |
//!
//! Not here: blocks and their index (`block`, `index`), and the callers.

mod around;
mod decay;
mod ending;
mod hollow;
mod huge_pages;
mod limit;
mod live;
mod pages;
mod parked;
mod reservation;
pub mod reserve;
mod segment;
mod soundness;
mod supply;
mod walk;
mod zoned;

use core::ptr::null_mut;

use super::block::{Block, HEADER, SMALLEST, block_bytes};
use super::check::{self, Fault};
use super::extent::{BEFORE_CELLS, Extent};
use super::index::{Heads, Index};
use super::map::{self, PAGE};
use super::object::Heap;
use super::private_storage::OWN;
use decay::Decay;
use huge_pages::Findings;
use parked::Parked;
use segment::{FREE_HEAD, segment_of};

pub use around::{around, end_around};
pub use pages::{WORTH_A_PURGE, clear_pages};
pub use parked::PARKED;
pub use segment::{Disposition, HugePages, Policy, Segment};
pub use soundness::{fault_of, fault_without_entry, getter_of, look_closely, looks_sound};
pub use walk::Damage;

const MIB: usize = 1 << 20;
/// A large element that shrinks by this much gives its pages back.
const WORTH_CUTTING: usize = 256 * 1024;

/// An element, as handed out.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its first byte.
    pub address: usize,
    /// Bytes of its block: what `heap.used` counts.
    pub block_bytes: usize,
    /// From here on it is known to be zero.
    pub zero_from: usize,
}

/// All segments of a heap.
pub struct Space {
    heap: *const Heap,
    policy: Policy,
    index: Index,
    parked: Parked,
    findings: Findings,
    decay: Decay,
    /// The segments, latest first, how many, and their bytes.
    all: *mut Segment,
    segments: usize,
    bytes: usize,
    idle_oldest: *mut Segment,
    idle_newest: *mut Segment,
    idle_bytes: usize,
    operations: u32,
    /// Bytes got from the kernel that were not reported yet.
    grown: usize,
    /// The kernel's limit on mappings; 0: not asked for yet.
    most_mappings: usize,
    /// All addresses are below this; 0: anywhere.
    limit: usize,
    /// Bytes of the first segment, which is then kept with its pages (THSIZE); 0: there is none. Set before the first request.
    reservation: usize,
}

// SAFETY: the raw pointers are to descriptors that only a holder of the lock follows.
unsafe impl Send for Space {}

impl Space {
    /// The space of a heap at this address, without segments. The default heap has lists of free blocks from the beginning.
    pub const fn new(heap: *const Heap, heads: *mut Heads) -> Self {
        Self {
            heap,
            policy: Policy::AUTO,
            index: Index::new(heads),
            parked: Parked::new(),
            findings: Findings::new(),
            decay: Decay::new(),
            all: null_mut(),
            segments: 0,
            bytes: 0,
            idle_oldest: null_mut(),
            idle_newest: null_mut(),
            idle_bytes: 0,
            operations: 0,
            grown: 0,
            most_mappings: 0,
            limit: 0,
            reservation: 0,
        }
    }

    /// The heap that the segments belong to.
    fn owner(&self) -> &'static Heap {
        // SAFETY: heaps stay where they are for ever, and a space is part of one.
        unsafe { &*self.heap }
    }

    /// Sets the HEAP policy. Later calls apply from then on.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Limits the addresses of all segments. Before the first request.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The HEAP policy.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// An element of `bytes`, aligned to `align` (a power of two, at least 16). None if the kernel has no memory.
    pub fn get(&mut self, bytes: usize, align: usize) -> Option<Element> {
        let element = self.get_at(bytes, Alignment { align, behind: 0 })?;
        // SAFETY: it is in use from now on.
        unsafe { self.note_size(Block::of_element(element.address), element.block_bytes) };
        Some(element)
    }

    fn get_at(&mut self, bytes: usize, alignment: Alignment) -> Option<Element> {
        let want = block_bytes(bytes)?;
        let found = match self.find(want, alignment) {
            None if self.parked.bytes > 0 => self.make_room(want, alignment, self.worth_parking(want)),
            found => found,
        };
        let block = match found {
            Some(block) => block,
            None => self.new_segment(room_for(want, alignment)?)?,
        };
        // SAFETY: blocks in the index are free blocks of live segments, and we hold the lock.
        Some(unsafe { self.take(block, want, alignment) })
    }

    /// An element of `bytes` with half as much free storage behind it. None if no free block is so large; nothing is got from the
    /// kernel.
    pub fn get_with_room(&mut self, bytes: usize) -> Option<Element> {
        let want = block_bytes(bytes)?;
        let block = self.index.find(want.checked_add(want / 2)?)?;
        // SAFETY: as in `get_at`; the element is in use from then on.
        unsafe {
            let element = self.take(block, want, Alignment::ANY);
            self.note_size(Block::of_element(element.address), element.block_bytes);
            Some(element)
        }
    }

    /// An element of at least `bytes` in pages of its own, as an extent has them: no page is touched for the next block's header alone.
    pub fn get_in_pages(&mut self, bytes: usize) -> Option<Element> {
        self.get_at((bytes + HEADER).next_multiple_of(PAGE) - HEADER, Alignment::OF_EXTENT)
    }

    /// A free block that holds `want` bytes at that alignment.
    fn find(&self, want: usize, alignment: Alignment) -> Option<Block> {
        match self.index.find(want) {
            Some(block) if alignment.is_any() || alignment.fits(block, want) => Some(block),
            _ if alignment.is_any() => None,
            _ => self.index.find(room_for(want, alignment)?),
        }
    }

    /// Cuts an element out of a free block that is large enough for it.
    ///
    /// # Safety
    /// The block is in the index, and holds `want` bytes at that alignment.
    unsafe fn take(&mut self, block: Block, want: usize, alignment: Alignment) -> Element {
        // SAFETY: the block is free and in a live segment whose page map entries reach its header.
        unsafe {
            let mut size = block.size();
            let segment = &mut *segment_of(block);
            if !block.is_sound(segment.end()) {
                check::end_damaged(segment.fault_at(block.element()));
            }
            self.index.remove(block, size);
            if segment.idle_since != 0 {
                self.no_longer_idle(segment);
            }
            let mut block = block;
            let element = alignment.in_block(block);
            let gap = element - block.element();
            self.enter_element(segment, element, want);
            if gap > 0 {
                block.set_free(gap, segment.end());
                self.index.insert(block, gap);
                block = Block(block.0 + gap);
                size -= gap;
                block.set_used(size, true);
            }
            let rest = size - want;
            let taken = if rest >= SMALLEST { want } else { size };
            if rest >= SMALLEST {
                let rest_block = Block(block.0 + want);
                rest_block.set_free(rest, segment.end());
                self.index.insert(rest_block, rest);
            } else if block.0 + size != segment.end() {
                Block(block.0 + size).clear_after_free();
            }
            block.set_used(taken, gap > 0);
            self.note_taken(block.0..block.0 + taken);
            let zero_from = segment.high.max(block.0 + FREE_HEAD);
            segment.high = segment.high.max(block.0 + taken + FREE_HEAD);
            Element { address: block.element(), block_bytes: taken, zero_from }
        }
    }

    /// Gives an element back. Returns the bytes of its block, or the fault if the address is not that of a valid element.
    ///
    /// # Safety
    /// The address is that of an element in use, as far as its header says.
    pub unsafe fn free(&mut self, address: usize) -> Result<usize, Fault> {
        let block = Block::of_element(address);
        // SAFETY: the element's block is in use and in a live segment.
        unsafe {
            if let Some(fault) = fault_of(address) {
                return Err(fault);
            }
            let freed = block.size();
            self.join(block, freed);
            Ok(freed)
        }
    }

    /// Makes a block free and joins it with free neighbours; an emptied segment is dealt with.
    ///
    /// # Safety
    /// The block is in use, of that size, and will not be used any more.
    unsafe fn join(&mut self, block: Block, size: usize) {
        // SAFETY: neighbours of a block in a live segment are blocks of it, or its end.
        unsafe {
            let segment = &mut *segment_of(block);
            let freed = block.0..block.0 + size;
            let at_once = !segment.initial && self.goes_back_at_once(block, freed.len());
            let (mut block, mut size) = (block, size);
            let (mut more_before, mut more_after) = (0, 0);
            let after = Block(block.0 + size);
            if after.0 != segment.end() && after.is_free() {
                let more = after.size();
                self.index.remove(after, more);
                after.wipe();
                (size, more_after) = (size + more, more);
            }
            if block.is_after_free() {
                let before = block.previous_free();
                let more = before.size();
                self.index.remove(before, more);
                block.wipe();
                (block, size, more_before) = (before, size + more, more);
            }
            if size == segment.whole() && (at_once || self.gives_back(segment)) {
                self.unmap(segment);
                return;
            }
            if at_once {
                self.give_back_freed(freed.start..freed.end.min(segment.high));
            }
            block.set_free(size, segment.end());
            self.index.insert(block, size);
            self.operations = self.operations.wrapping_add(1);
            let goes_back = self.policy.disposition == Disposition::Auto && !segment.initial;
            if size == segment.whole() && goes_back {
                self.now_idle(segment);
            }
            // The clock is not read again: a program that has few requests left is to look at each large one.
            let is_due = if goes_back && self.note_freed(freed, more_before, more_after, segment.high) {
                self.is_look_due_as_noted()
            } else {
                self.operations.is_multiple_of(64) && self.is_look_due()
            };
            if is_due {
                self.heartbeat();
            }
        }
    }

    /// Tries to change an element's size without moving it. `Some(bytes of its block)` if done.
    ///
    /// # Safety
    /// The address is that of an element in use.
    pub unsafe fn resize(&mut self, address: usize, bytes: usize) -> Option<usize> {
        let want = block_bytes(bytes)?;
        let block = Block::of_element(address);
        // SAFETY: as in `join`.
        unsafe {
            let segment = &mut *segment_of(block);
            let size = block.size();
            let after = Block(block.0 + size);
            let after_free = block.is_after_free();
            if want <= size {
                if size - want >= WORTH_CUTTING && self.cut(segment, block, want) {
                    return Some(segment.whole());
                }
                // Giving back less than a cache line gains little, and costs much if the element grows again.
                if size - want >= 64 {
                    block.set_used(want, after_free);
                    let tail = Block(block.0 + want);
                    self.enter_element(segment, tail.element(), 0);
                    tail.set_used(size - want, false);
                    self.join(tail, size - want);
                    return Some(want);
                }
                return Some(size);
            }
            if after.0 == segment.end() || !after.is_free() || size + after.size() < want {
                return None;
            }
            let total = size + after.size();
            self.index.remove(after, total - size);
            after.wipe();
            self.enter_element(segment, address, want);
            let rest = total - want;
            let taken = if rest >= SMALLEST { want } else { total };
            if rest >= SMALLEST {
                let rest_block = Block(block.0 + want);
                rest_block.set_free(rest, segment.end());
                self.index.insert(rest_block, rest);
            } else if block.0 + total != segment.end() {
                Block(block.0 + total).clear_after_free();
            }
            block.set_used(taken, after_free);
            self.note_size(block, taken);
            segment.high = segment.high.max(block.0 + taken + FREE_HEAD);
            Some(taken)
        }
    }

    /// Tells the page map about a segment's pages up to an address.
    fn enter_pages(&mut self, segment: &mut Segment, up_to: usize) {
        let up_to = up_to.next_multiple_of(PAGE).min(segment.start + segment.size);
        if up_to > segment.entered {
            map::enter(segment.entered, up_to - segment.entered, (&raw mut *segment).cast());
            segment.entered = up_to;
            if up_to > segment.huge_at {
                self.ask_for_huge(segment, up_to);
            }
        }
    }

    /// Whether nothing of it is in use. Parked extents go back to their segments.
    pub fn is_unused(&mut self) -> bool {
        self.release_parked(0);
        let mut next = self.all;
        // SAFETY: segments in the list are live, and we hold the lock.
        while let Some(segment) = unsafe { next.as_ref() } {
            let first = segment.first();
            // SAFETY: a segment begins with a block.
            if unsafe { !first.is_free() || first.size() != segment.whole() } {
                return false;
            }
            next = segment.all_next;
        }
        true
    }

    /// Bytes of the next extent, at least, of which `usual` are asked for. The extents of a heap with a small initial segment that
    /// grows (an enclave's) are small as long as the heap is.
    pub fn extent_bytes(&self, usual: usize) -> usize {
        if self.policy.initial > 0 && self.policy.increment == 0 {
            (self.bytes / 16).next_multiple_of(PAGE).clamp(PAGE, usual)
        } else {
            usual
        }
    }

    /// Pages for an extent of cells, with its descriptor entered for them. Null if there is no memory.
    pub fn get_extent(&mut self, bytes: usize) -> *mut Extent {
        if self.parked.bytes > 0 && self.find(bytes, Alignment::OF_EXTENT).is_none() {
            let converted = self.convert(bytes);
            if !converted.is_null() {
                return converted;
            }
        }
        let descriptor: *mut Extent = OWN.lock().get_descriptor().cast();
        if descriptor.is_null() {
            return null_mut();
        }
        // The next block's header is in the page behind, so that extents lie without gaps.
        let Some(element) = self.get_at(bytes - HEADER, Alignment::OF_EXTENT) else {
            // SAFETY: it is ours and no other thread has seen it.
            unsafe { OWN.lock().put_descriptor(descriptor.cast()) };
            return null_mut();
        };
        let (first_page, segment) = (element.address - BEFORE_CELLS, map::lookup(element.address));
        // SAFETY: the descriptor's storage is ours; the pages are ours now.
        unsafe { descriptor.write(Extent::new(first_page, bytes, segment)) };
        map::enter(first_page, bytes, descriptor.cast());
        descriptor
    }

    /// Pages for an area of an ECB, and their segment: from the first byte to the last word, which is the next block's header. None if
    /// there is no memory. The caller enters them before it gives up the lock.
    pub fn get_pages(&mut self, bytes: usize) -> Option<(usize, *mut map::Descriptor)> {
        let element = self.get(bytes - HEADER, PAGE)?;
        Some((element.address, map::lookup(element.address)))
    }

    /// Takes such pages back.
    ///
    /// # Safety
    /// Nothing in them is in use.
    pub unsafe fn free_pages(&mut self, start: usize, bytes: usize, segment: *mut map::Descriptor) {
        map::enter(start, bytes, segment);
        // SAFETY: the caller's promise.
        if let Err(fault) = unsafe { self.free(start) } {
            check::end_damaged(Some(fault));
        }
    }

    /// Takes an extent's pages back.
    ///
    /// # Safety
    /// No cell of it is in use, and no list knows it.
    pub unsafe fn free_extent(&mut self, extent: *mut Extent) {
        // SAFETY: the caller's promise.
        unsafe {
            let (first_page, segment) = ((*extent).first_page(), (*extent).segment);
            map::enter(first_page, (*extent).bytes as usize, segment);
            if let Err(fault) = self.free(first_page + BEFORE_CELLS) {
                check::end_damaged(Some(fault));
            }
            OWN.lock().put_descriptor(extent.cast());
        }
    }
}

/// Where an element may begin: so many bytes behind a multiple of a power of two.
#[derive(Clone, Copy)]
struct Alignment {
    align: usize,
    behind: usize,
}

impl Alignment {
    /// At any multiple of 16.
    const ANY: Self = Self { align: 16, behind: 0 };
    /// Behind its header, in the first of its pages. A header in the last page of the extent before would be all that ever touches
    /// that page, if few of its cells are in use.
    const OF_EXTENT: Self = Self { align: PAGE, behind: BEFORE_CELLS };

    fn is_any(self) -> bool {
        self.align <= 16
    }

    /// The address of an element in a free block, with no gap that is too small for a block.
    fn in_block(self, block: Block) -> usize {
        let from = block.element();
        let element = (from - self.behind).next_multiple_of(self.align) + self.behind;
        if element != from && element - from < SMALLEST { element + self.align } else { element }
    }

    /// Does an element of `want` block bytes fit into a free block?
    fn fits(self, block: Block, want: usize) -> bool {
        // SAFETY: the block is in the index.
        let size = unsafe { block.size() };
        self.in_block(block) - block.element() + want <= size
    }
}

/// Bytes of a block in which `want` bytes can be moved to their place and leave a whole free block before them.
fn room_for(want: usize, alignment: Alignment) -> Option<usize> {
    if alignment.is_any() { Some(want) } else { want.checked_add(alignment.align)?.checked_add(SMALLEST) }
}

#[cfg(test)]
mod tests;
