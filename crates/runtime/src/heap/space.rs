//! The enclave's storage: segments from the kernel, divided into elements.
//!
//! ```text
//! kernel --mmap--> segment | element | free | extent of cells | free ...... (never used) |
//!                          ^ start + 8                          ^ high          end ^
//! ```
//!
//! Everything here is under one lock, [`SPACE`]; sizes of segments are those of the enclave, not of a
//! thread. What is small and frequent does not come here: threads keep cells of their own (`thread`), in
//! extents that they get from here.
//!
//! Invariants: the sum of the segments' sizes is what the kernel gave (`heap.segment_bytes`); each
//! segment was one kernel call; a page is in the page map exactly while its segment lives.
//! Not here: blocks and their index (`block`, `index`), and who asks.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_sys::{lock::Lock, syscall};

use super::block::{Block, HEADER, SMALLEST, block_bytes};
use super::extent::Extent;
use super::index::Index;
use super::map::{self, PAGE, SEGMENT};
use super::own::{DESCRIPTOR, Own};
use crate::{coverage, ledger, sandbox};

/// Bytes of a segment that blocks cannot use: 8 before the first header and 8 at the end.
pub const SEGMENT_LOSS: usize = 16;
/// A free block's header and links: written even where the rest of it never was.
const FREE_HEAD: usize = 24;
const MIB: usize = 1 << 20;
/// From this size on a freed element is looked at: are its pages worth keeping?
pub const WORTH_A_PURGE: usize = MIB;
/// A transparent huge page. Kernels since 6.7 align segments of this size by themselves.
const HUGE_PAGE: usize = 2 * MIB;
/// A large element that shrinks by this much gives its pages back.
const WORTH_CUTTING: usize = 256 * 1024;
/// How long an emptied increment is kept under AUTO, in nanoseconds: long enough for a program that fills
/// and empties its heap in turns, too short for anybody to notice on a chart.
const IDLE_NS: u64 = 100_000_000;
/// The kernel's usual limit on mappings (`vm.max_map_count`); beyond three quarters of it increments are
/// joined.
const MAPPINGS: usize = 65_530 / 4 * 3;

/// What to do with an increment that has become empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// Keep it while the heap is busy, return it when it has been idle for a while.
    Auto,
    /// Keep it.
    Keep,
    /// Give it back to the kernel at once.
    Free,
}

/// What HEAP says.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Bytes of the first segment; 0: as large as an increment (or, under AUTO, 1 MiB).
    pub initial: usize,
    /// Least bytes of a further segment; 0: grows with the heap.
    pub increment: usize,
    /// What becomes of empty increments.
    pub disposition: Disposition,
    /// Ask for transparent huge pages.
    pub huge_pages: bool,
}

impl Policy {
    /// `HEAP(AUTO,AUTO,ANYWHERE,AUTO)`.
    pub const AUTO: Policy =
        Policy { initial: 0, increment: 0, disposition: Disposition::Auto, huge_pages: false };
}

/// One segment.
#[repr(C, align(64))]
pub struct Segment {
    /// Always [`SEGMENT`].
    owner: AtomicUsize,
    start: usize,
    size: usize,
    /// Pages before this are in the page map.
    entered: usize,
    /// From here on nothing was ever written: it is zero.
    high: usize,
    /// The initial segment is never given back.
    initial: bool,
    /// Made for one request, to its measure: its pages may move together.
    alone: bool,
    /// Neighbours in the list of idle segments, oldest first; the time when it became empty, or 0.
    idle_next: *mut Segment,
    idle_previous: *mut Segment,
    idle_since: u64,
}

const _: () = assert!(size_of::<Segment>() <= DESCRIPTOR);

impl Segment {
    fn first(&self) -> Block {
        Block(self.start + 8)
    }

    fn end(&self) -> usize {
        self.start + self.size - 8
    }

    fn whole(&self) -> usize {
        self.size - SEGMENT_LOSS
    }
}

/// An element, as given out.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Where it begins.
    pub address: usize,
    /// Bytes of its block: what `heap.used` counts.
    pub block_bytes: usize,
    /// From here on it is known to be zero.
    pub zero_from: usize,
}

/// All segments of the enclave.
pub struct Space {
    policy: Policy,
    index: Index,
    /// Storage of our own for descriptors.
    pub own: Own,
    segments: usize,
    bytes: usize,
    idle_oldest: *mut Segment,
    idle_newest: *mut Segment,
    idle_bytes: usize,
    operations: u32,
    /// Bytes got from the kernel since somebody was told of it.
    grown: usize,
}

// SAFETY: the raw pointers lead to descriptors that only a holder of the lock follows.
unsafe impl Send for Space {}

/// The enclave's storage.
pub static SPACE: Lock<Space> = Lock::new(Space::new());

impl Space {
    const fn new() -> Self {
        Self {
            policy: Policy::AUTO,
            index: Index::new(),
            own: Own::new(),
            segments: 0,
            bytes: 0,
            idle_oldest: null_mut(),
            idle_newest: null_mut(),
            idle_bytes: 0,
            operations: 0,
            grown: 0,
        }
    }

    /// Sets what HEAP says. Later calls change what is asked for from then on.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// An element of `bytes`, aligned to `align` (a power of two, at least 16). None where the kernel has no
    /// memory.
    pub fn get(&mut self, bytes: usize, align: usize) -> Option<Element> {
        let want = block_bytes(bytes)?;
        let block = match self.index.find(want) {
            Some(block) if align <= 16 || fits(block, want, align) => block,
            None if align <= 16 => self.new_segment(want)?,
            _ => {
                // Room to move the element to an aligned place and leave a whole free block before it.
                let search = want.checked_add(align)?.checked_add(SMALLEST)?;
                match self.index.find(search) {
                    Some(block) => block,
                    None => self.new_segment(search)?,
                }
            }
        };
        // SAFETY: blocks in the index are free blocks of live segments, and we hold the lock.
        Some(unsafe { self.take(block, want, align) })
    }

    /// Cuts an element out of a free block that is large enough for it.
    ///
    /// # Safety
    /// The block is in the index, and holds `want` bytes at that alignment.
    unsafe fn take(&mut self, block: Block, want: usize, align: usize) -> Element {
        // SAFETY: the block is free and in a live segment whose page map entries reach its header.
        unsafe {
            let mut size = block.size();
            let segment = &mut *segment_of(block);
            self.index.remove(block, size);
            if segment.idle_since != 0 {
                self.no_longer_idle(segment);
            }
            let mut block = block;
            let element = aligned_element(block, align);
            let gap = element - block.element();
            self.enter_pages(segment, element + want + FREE_HEAD);
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
            let zero_from = segment.high.max(block.0 + FREE_HEAD);
            segment.high = segment.high.max(block.0 + taken + FREE_HEAD);
            Element { address: block.element(), block_bytes: taken, zero_from }
        }
    }

    /// Gives an element back. Returns the bytes of its block.
    ///
    /// # Safety
    /// The address is that of an element in use.
    pub unsafe fn free(&mut self, address: usize) -> usize {
        let block = Block::of_element(address);
        // SAFETY: the element's block is in use and in a live segment.
        unsafe {
            let freed = block.size();
            if freed >= WORTH_A_PURGE && self.policy.disposition == Disposition::Auto {
                purge_if_sparse(block.element(), block.0 + freed);
            }
            self.join(block, freed);
            freed
        }
    }

    /// Makes a block free and joins it with free neighbours; an emptied segment is dealt with.
    ///
    /// # Safety
    /// The block is in use, of that size, and nobody will use it any more.
    unsafe fn join(&mut self, block: Block, size: usize) {
        // SAFETY: neighbours of a block in a live segment are blocks of it, or its end.
        unsafe {
            let segment = &mut *segment_of(block);
            let (mut block, mut size) = (block, size);
            let after = Block(block.0 + size);
            if after.0 != segment.end() && after.is_free() {
                let more = after.size();
                self.index.remove(after, more);
                size += more;
            }
            if block.is_after_free() {
                let before = block.previous_free();
                let more = before.size();
                self.index.remove(before, more);
                (block, size) = (before, size + more);
            }
            if size == segment.whole() && self.gives_back(segment) {
                self.unmap(segment);
                return;
            }
            block.set_free(size, segment.end());
            self.index.insert(block, size);
            self.operations = self.operations.wrapping_add(1);
            if size == segment.whole() && self.policy.disposition == Disposition::Auto {
                self.now_idle(segment);
            }
            if self.idle_bytes > 0 && self.operations.is_multiple_of(256) {
                self.return_idle(usize::MAX);
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
                // Little is gained by giving back less than a cache line, and much lost if it grows again.
                if size - want >= 64 {
                    block.set_used(want, after_free);
                    let tail = Block(block.0 + want);
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
            self.enter_pages(segment, block.0 + want + FREE_HEAD);
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
            segment.high = segment.high.max(block.0 + taken + FREE_HEAD);
            Some(taken)
        }
    }

    /// Grows an element that has a segment to itself by moving the segment's pages, together with what is free
    /// behind it.
    ///
    /// # Safety
    /// The address is that of an element in use, and its owner waits for the new address.
    pub unsafe fn remap(&mut self, address: usize, bytes: usize) -> Option<Element> {
        let want = block_bytes(bytes)?;
        let size = want.checked_add(SEGMENT_LOSS)?.checked_next_multiple_of(PAGE)?;
        let block = Block::of_element(address);
        // SAFETY: the element is alone in its segment, so the whole mapping may move with it.
        unsafe {
            let segment = &mut *segment_of(block);
            let rest = Block(block.0 + block.size());
            let rest_bytes = segment.end() - rest.0;
            let is_alone = rest_bytes == 0 || (rest.is_free() && rest.size() == rest_bytes);
            if !segment.alone || block != segment.first() || !is_alone || size <= segment.size {
                return None;
            }
            if rest_bytes > 0 {
                self.index.remove(rest, rest_bytes);
            }
            if !self.move_pages(segment, size) {
                if rest_bytes > 0 {
                    self.index.insert(rest, rest_bytes);
                }
                return None;
            }
            let block = segment.first();
            block.set_used(segment.whole(), false);
            Some(Element { address: block.element(), block_bytes: segment.whole(), zero_from: usize::MAX })
        }
    }

    /// Gives the end of a segment back to the kernel, when the element that the segment was made for shrinks to
    /// `want` block bytes and nothing else lies there. True if done: then the segment is the element's alone.
    ///
    /// # Safety
    /// The block is in use and larger than that; nobody relies on the rest of it.
    unsafe fn cut(&mut self, segment: &mut Segment, block: Block, want: usize) -> bool {
        let size =
            (want + SEGMENT_LOSS).next_multiple_of(PAGE).max(self.policy.increment.next_multiple_of(PAGE));
        let keeps = self.policy.disposition == Disposition::Keep;
        // SAFETY: the caller's promise; blocks behind it are those of the segment.
        unsafe {
            let rest = Block(block.0 + block.size());
            let rest_bytes = segment.end() - rest.0;
            let is_alone = rest_bytes == 0 || (rest.is_free() && rest.size() == rest_bytes);
            if keeps || !segment.alone || block != segment.first() || !is_alone || size >= segment.size {
                return false;
            }
            if rest_bytes > 0 {
                self.index.remove(rest, rest_bytes);
            }
            // The kernel shrinks a mapping where it is.
            if !self.move_pages(segment, size) {
                if rest_bytes > 0 {
                    self.index.insert(rest, rest_bytes);
                }
                return false;
            }
            block.set_used(segment.whole(), false);
        }
        true
    }

    /// Gives a segment another size and place. False where that cannot be: then it is as it was.
    ///
    /// # Safety
    /// Nobody relies on where the segment is but the caller, and on nothing behind `size`.
    unsafe fn move_pages(&mut self, segment: &mut Segment, size: usize) -> bool {
        let (old_start, old_size) = (segment.start, segment.size);
        // SAFETY: the caller's promise.
        unsafe {
            let Ok(start) = syscall::mremap(old_start as *mut u8, old_size, size, syscall::MREMAP_MAYMOVE)
            else {
                return false;
            };
            let known = map::prepare(start as usize, size, &mut self.own.bytes);
            let goes_back = || {
                if start as usize == old_start {
                    syscall::mremap(start, size, old_size, 0)
                } else {
                    syscall::mremap_to(start, size, old_size, old_start as *mut u8)
                }
            };
            if !known && goes_back().is_ok() {
                // No memory for the map of a far place, so the pages are back where they were.
                return false;
            }
            map::enter(old_start, segment.entered - old_start, null_mut());
            (segment.start, segment.size) = (start as usize, size);
            segment.high = segment.start + size;
            // Should the way back have been taken by another thread's mapping, the element is the program's all
            // the same; we shall only not know it again.
            segment.entered = if known { segment.start } else { segment.start + size };
            self.enter_pages(segment, segment.start + size);
        }
        self.bytes = self.bytes - old_size + size;
        ledger::add(Key::HeapSegmentBytesTotal, size.saturating_sub(old_size) as u64);
        self.note_bytes();
        true
    }

    /// Tells the page map about a segment's pages up to an address.
    fn enter_pages(&mut self, segment: &mut Segment, up_to: usize) {
        let up_to = up_to.next_multiple_of(PAGE).min(segment.start + segment.size);
        if up_to > segment.entered {
            map::enter(segment.entered, up_to - segment.entered, (&raw mut *segment).cast());
            segment.entered = up_to;
        }
    }

    /// Gets a segment that has a free block of at least `want` bytes.
    fn new_segment(&mut self, want: usize) -> Option<Block> {
        let need = want.checked_add(SEGMENT_LOSS)?.checked_next_multiple_of(PAGE)?;
        let (base, alone) = self.next_size(need);
        let size = need.max(base.next_multiple_of(PAGE));
        if self.idle_bytes > 0 {
            // What is idle and yet does not fit must not pile up beside what is needed.
            self.return_idle((16 * MIB).max((self.bytes - self.idle_bytes) / 4));
        }
        // Where the kernel refuses what HEAP says, the program gets what it needs all the same.
        let (start, size) = [size, need.max(MIB).min(size), need]
            .into_iter()
            .find_map(|size| Some((self.map_segment(size)?, size)))?;
        if !map::prepare(start, size, &mut self.own.bytes) {
            // SAFETY: nobody knows of the mapping yet.
            let _ = unsafe { syscall::munmap(start as *mut u8, size) };
            return None;
        }
        let descriptor: *mut Segment = self.own.get_descriptor().cast();
        if descriptor.is_null() {
            // SAFETY: as above.
            let _ = unsafe { syscall::munmap(start as *mut u8, size) };
            return None;
        }
        ledger::set(Key::HeapOwnBytes, self.own.bytes as u64);
        let oversize = need > base.next_multiple_of(PAGE);
        // SAFETY: the descriptor's storage is ours and large enough.
        let segment = unsafe {
            descriptor.write(Segment {
                owner: AtomicUsize::new(SEGMENT),
                start,
                size,
                entered: start,
                high: start,
                initial: self.segments == 0 && self.policy.disposition != Disposition::Auto,
                alone: alone || oversize,
                idle_next: null_mut(),
                idle_previous: null_mut(),
                idle_since: 0,
            });
            &mut *descriptor
        };
        self.segments += 1;
        self.bytes += size;
        ledger::add(Key::HeapSegmentsAllocated, 1);
        self.grown += size;
        if self.grown >= MIB.max(self.bytes / 8) {
            self.grown = 0;
            coverage::grew();
        }
        ledger::add(Key::HeapSegmentBytesTotal, size as u64);
        if oversize {
            ledger::add(Key::HeapOversizeSegments, 1);
        }
        self.note_bytes();
        let block = segment.first();
        self.enter_pages(segment, block.0 + FREE_HEAD);
        segment.high = block.0 + FREE_HEAD;
        // SAFETY: the segment is mapped, and its first block covers all of it.
        unsafe {
            block.set_free(segment.whole(), segment.end());
            self.index.insert(block, segment.whole());
        }
        Some(block)
    }

    /// Bytes of the next segment as the policy has it, before a larger request is looked at; and whether it is
    /// for this one request.
    fn next_size(&mut self, need: usize) -> (usize, bool) {
        let Policy { initial, increment, .. } = self.policy;
        if self.segments == 0 && initial > 0 {
            return (initial, false);
        }
        if increment > 0 {
            if self.segments > MAPPINGS {
                ledger::add(Key::HeapMapFallbacks, 1);
                return (increment.saturating_mul(64), false);
            }
            return (increment, false);
        }
        let grown = (self.bytes / 4).next_multiple_of(MIB).clamp(MIB, 64 * MIB);
        // A large request under AUTO gets a segment to itself, which can be grown and returned as one.
        if need >= grown / 2 { (need, true) } else { (grown, false) }
    }

    fn map_segment(&mut self, size: usize) -> Option<usize> {
        let start = match syscall::map_anonymous(size) {
            Ok(start) => start,
            // Out of address space or of mappings: what is idle goes back first.
            Err(_) if self.idle_bytes > 0 => {
                self.return_idle(0);
                syscall::map_anonymous(size).ok()?
            }
            Err(_) => return None,
        };
        if self.policy.huge_pages && size >= HUGE_PAGE {
            // SAFETY: the advice drops nothing. Where the kernel has no huge pages it has no effect.
            let _ = unsafe { syscall::madvise(start, size, syscall::MADV_HUGEPAGE) };
        }
        Some(start as usize)
    }

    fn gives_back(&self, segment: &Segment) -> bool {
        match self.policy.disposition {
            Disposition::Free => !segment.initial,
            Disposition::Keep | Disposition::Auto => false,
        }
    }

    /// Gives a segment back to the kernel. Its blocks are in no list.
    fn unmap(&mut self, segment: &mut Segment) {
        map::enter(segment.start, segment.entered - segment.start, null_mut());
        self.segments -= 1;
        self.bytes -= segment.size;
        // SAFETY: no element of the segment is in use, and no list knows it.
        unsafe {
            let _ = syscall::munmap(segment.start as *mut u8, segment.size);
            self.own.put_descriptor((&raw mut *segment).cast());
        }
        ledger::add(Key::HeapSegmentsFreed, 1);
        self.note_bytes();
    }

    fn note_bytes(&self) {
        ledger::set(Key::HeapSegmentBytes, self.bytes as u64);
        ledger::raise(Key::HeapSegmentBytesPeak, self.bytes as u64);
    }

    fn now_idle(&mut self, segment: &mut Segment) {
        segment.idle_since = ledger::coarse_nanoseconds().max(1);
        segment.idle_next = null_mut();
        segment.idle_previous = self.idle_newest;
        let this = &raw mut *segment;
        if self.idle_newest.is_null() {
            self.idle_oldest = this;
        } else {
            // SAFETY: segments in the list are live.
            unsafe { (*self.idle_newest).idle_next = this };
        }
        self.idle_newest = this;
        self.idle_bytes += segment.size;
    }

    fn no_longer_idle(&mut self, segment: &mut Segment) {
        let (next, previous) = (segment.idle_next, segment.idle_previous);
        // SAFETY: segments in the list are live.
        unsafe {
            if next.is_null() {
                self.idle_newest = previous
            } else {
                (*next).idle_previous = previous
            }
            if previous.is_null() { self.idle_oldest = next } else { (*previous).idle_next = next }
        }
        segment.idle_since = 0;
        self.idle_bytes -= segment.size;
    }

    /// Bytes of segments that nobody needs now.
    pub fn idle_bytes(&self) -> usize {
        self.idle_bytes
    }

    /// Gives back segments that have been idle for long, and more, oldest first, until at most `keep` bytes
    /// are idle.
    pub fn return_idle(&mut self, keep: usize) {
        let now = ledger::coarse_nanoseconds();
        // SAFETY: segments in the list are live and wholly free.
        while let Some(segment) = unsafe { self.idle_oldest.as_mut() } {
            if self.idle_bytes <= keep && now.saturating_sub(segment.idle_since) < IDLE_NS {
                return;
            }
            self.no_longer_idle(segment);
            // SAFETY: an idle segment is one free block, which is in the index.
            unsafe { self.index.remove(segment.first(), segment.whole()) };
            self.unmap(segment);
        }
    }

    /// Pages for an extent of cells, with its descriptor entered for them. Null where there is no memory.
    pub fn get_extent(&mut self, bytes: usize) -> *mut Extent {
        let descriptor: *mut Extent = self.own.get_descriptor().cast();
        if descriptor.is_null() {
            return null_mut();
        }
        // The last word of the last page is the next block's header, so that extents lie without gaps.
        let Some(element) = self.get(bytes - HEADER, PAGE) else {
            // SAFETY: it is ours and nobody has seen it.
            unsafe { self.own.put_descriptor(descriptor.cast()) };
            return null_mut();
        };
        let segment = map::lookup(element.address);
        // SAFETY: the descriptor's storage is ours; the pages are ours now.
        unsafe { descriptor.write(Extent::new(element.address, bytes, segment)) };
        map::enter(element.address, bytes, descriptor.cast());
        descriptor
    }

    /// Takes an extent's pages back.
    ///
    /// # Safety
    /// No cell of it is in use, and no list knows it.
    pub unsafe fn free_extent(&mut self, extent: *mut Extent) {
        // SAFETY: the caller's promise.
        unsafe {
            let (start, bytes, segment) = ((*extent).start, (*extent).bytes as usize, (*extent).segment);
            map::enter(start, bytes, segment);
            self.free(start);
            self.own.put_descriptor(extent.cast());
        }
    }
}

/// Where the segment around an address ends; None where the address lies in none. Asked without the lock, so the
/// answer may be old: for estimates only.
pub fn segment_end(address: usize) -> Option<usize> {
    let descriptor = map::lookup(address);
    // SAFETY: descriptors stay readable for ever, even if what they say is old.
    unsafe {
        let descriptor = descriptor.as_ref()?;
        let segment: *const Segment = if descriptor.owner.load(Ordering::Relaxed) == SEGMENT {
            core::ptr::from_ref(descriptor).cast()
        } else {
            (*core::ptr::from_ref(descriptor).cast::<Extent>()).segment.cast()
        };
        Some((*segment).start.wrapping_add((*segment).size))
    }
}

/// Makes much storage zero by exchanging its pages for fresh ones: as cheap as writing all of it where all of it is
/// used then, and much cheaper where it is not. False, with nothing done, where pages are to be kept.
///
/// # Safety
/// The range is an element, or part of one, that belongs to the caller and holds nothing of worth.
pub unsafe fn clear_pages(start: usize, bytes: usize) -> bool {
    if SPACE.lock().policy.disposition != Disposition::Auto {
        return false;
    }
    let (first, last) = (start.next_multiple_of(PAGE), (start + bytes) & !(PAGE - 1));
    // SAFETY: the caller's promise.
    unsafe {
        if syscall::madvise(first as *mut u8, last - first, syscall::MADV_DONTNEED).is_err() {
            return false;
        }
        (start as *mut u8).write_bytes(0, first - start);
        (last as *mut u8).write_bytes(0, start + bytes - last);
    }
    ledger::add(Key::HeapPurges, 1);
    ledger::add(Key::HeapPurgedBytes, (last - first) as u64);
    true
}

/// Gives the pages of a large freed element back, if most of them were never touched: then the next user loses
/// little by touching them anew, and the memory is not held for what few were. Where most were touched, they are
/// kept for a while.
fn purge_if_sparse(start: usize, end: usize) {
    if sandbox::is_closed() {
        return;
    }
    let (start, end) = (start.next_multiple_of(PAGE), end & !(PAGE - 1));
    let mut resident = [0_u8; 64];
    let (mut seen, mut found) = (0, 0);
    // Sixteen looks, evenly spread, of 64 pages each.
    let step = ((end - start) / 16).max(64 * PAGE) & !(PAGE - 1);
    for at in (start..end.saturating_sub(64 * PAGE)).step_by(step) {
        if syscall::mincore(at, &mut resident).is_err() {
            return;
        }
        seen += resident.len();
        found += resident.iter().filter(|&&state| state & 1 != 0).count();
    }
    if found * 4 > seen {
        return;
    }
    // SAFETY: whole pages of an element that was just freed; nobody relies on what is in them.
    if unsafe { syscall::madvise(start as *mut u8, end - start, syscall::MADV_DONTNEED) }.is_ok() {
        ledger::add(Key::HeapPurges, 1);
        ledger::add(Key::HeapPurgedBytes, (end - start) as u64);
    }
}

/// Where an aligned element would begin in a free block, leaving no gap too small for a block.
fn aligned_element(block: Block, align: usize) -> usize {
    let element = block.element().next_multiple_of(align);
    if element != block.element() && element - block.element() < SMALLEST { element + align } else { element }
}

/// Whether an aligned element of `want` block bytes fits into a free block.
fn fits(block: Block, want: usize, align: usize) -> bool {
    // SAFETY: the block is in the index.
    let size = unsafe { block.size() };
    aligned_element(block, align) - block.element() + want <= size
}

/// The segment of a block. Its header lies in a page of the segment, or at the end of the last page of an
/// extent, which knows its segment.
///
/// # Safety
/// The block lies in a live segment.
unsafe fn segment_of(block: Block) -> *mut Segment {
    let descriptor = map::lookup(block.0);
    // SAFETY: pages of live segments have a descriptor, which is a segment or an extent.
    unsafe {
        if (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
            descriptor.cast()
        } else {
            (*descriptor.cast::<Extent>()).segment.cast()
        }
    }
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
