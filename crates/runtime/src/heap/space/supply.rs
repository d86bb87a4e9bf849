//! The supply of segments: got from the kernel as HEAP says, kept while idle, moved, and given back.
//!
//! ```text
//! kernel --new_segment--> in use --last element freed--> idle (AUTO) --100 ms--> kernel
//!                                    | KEEP: stays       ^--taken from again--> in use
//!                                    | FREE: unmap       ^--grown for a larger request--> in use
//! ```
//!
//! Invariant: each segment was one kernel call, and the ledger counted it and its bytes.
//! Not here: elements and extents in segments (`super`).

use core::mem::replace;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_sys::{clock, syscall};

use super::super::block::{Block, block_bytes};
use super::super::map::{self, PAGE, SEGMENT};
use super::super::private_storage::OWN;
use super::segment::{FREE_HEAD, SEGMENT_LOSS, Segment, segment_of};
use super::soundness::now_gone;
use super::{Disposition, Element, HugePages, MIB, Policy, Space};
use super::{limit, reserve};
use crate::ledger::own_reads;
use crate::{coverage, ledger, sandbox};

/// A transparent huge page. Kernels since 6.7 align segments of this size by themselves.
pub(super) const HUGE_PAGE: usize = 2 * MIB;
/// How long an emptied increment is kept under AUTO, in nanoseconds: long enough for a program that fills and empties its heap in
/// turns, too short to notice on a chart.
const IDLE_NS: u64 = 100_000_000;
/// The kernel's usual limit on mappings. The actual limit is read once there are this many segments.
const USUAL_MAPPINGS: usize = 65_530;
const ASK_AT: usize = 16_384;

impl Space {
    /// Grows an element that has a segment to itself by moving the segment's pages, together with the free storage after it.
    ///
    /// # Safety
    /// The address is that of an element in use, and its owner waits for the new address.
    pub unsafe fn remap(&mut self, address: usize, bytes: usize) -> Option<Element> {
        let want = block_bytes(bytes)?;
        let size = want.checked_add(SEGMENT_LOSS)?.checked_next_multiple_of(PAGE)?;
        let block = Block::of_element(address);
        // SAFETY: the caller's promise.
        unsafe {
            let segment = &mut *segment_of(block);
            if size <= segment.size || !self.resize_alone(segment, block, size) {
                return None;
            }
            Some(Element {
                address: segment.first().element(),
                block_bytes: segment.whole(),
                zero_from: usize::MAX,
            })
        }
    }

    /// Gives the end of a segment back to the kernel, when the element that the segment was made for shrinks to `want` block bytes
    /// and the segment holds nothing else. True if done: then the segment is the element's alone.
    ///
    /// # Safety
    /// The block is in use and larger than that; no code relies on the rest of it.
    pub(super) unsafe fn cut(&mut self, segment: &mut Segment, block: Block, want: usize) -> bool {
        let size =
            (want + SEGMENT_LOSS).next_multiple_of(PAGE).max(self.policy.increment.next_multiple_of(PAGE));
        let keeps = self.policy.disposition == Disposition::Keep;
        if keeps || size >= segment.size {
            return false;
        }
        // SAFETY: the caller's promise. The kernel shrinks a mapping in place.
        unsafe { self.resize_alone(segment, block, size) }
    }

    /// Moves the pages of a segment, which holds this element and nothing else, to a mapping of `size` bytes, all of them the element's.
    /// False, and nothing is changed, if it holds more, or if the kernel refuses.
    ///
    /// # Safety
    /// The block is in use and in that segment, and its owner waits for the new address; no code relies on what is beyond `size`.
    unsafe fn resize_alone(&mut self, segment: &mut Segment, block: Block, size: usize) -> bool {
        // SAFETY: the caller's promise; blocks behind it are those of the segment.
        unsafe {
            let rest = Block(block.0 + block.size());
            let rest_bytes = segment.end() - rest.0;
            let is_alone = rest_bytes == 0 || (rest.is_free() && rest.size() == rest_bytes);
            if !segment.alone || self.limit > 0 || block != segment.first() || !is_alone {
                return false;
            }
            if rest_bytes > 0 {
                self.index.remove(rest, rest_bytes);
                rest.wipe();
            }
            if !self.move_pages(segment, size, FREE_HEAD) {
                if rest_bytes > 0 {
                    rest.set_free(rest_bytes, segment.end());
                    self.index.insert(rest, rest_bytes);
                }
                return false;
            }
            segment.high = segment.start + size;
            self.enter_element(segment, segment.first().element(), segment.whole());
            segment.first().set_used(segment.whole(), false);
        }
        true
    }

    /// Gives a segment another size and place. Its first pages, up to `entered` bytes, are in the page map then. `high` is the caller's.
    /// False if that is impossible: then it is unchanged.
    ///
    /// # Safety
    /// The segment asks for no huge page, whose place would be the old one. Only the caller relies on where the segment is, and no code on
    /// anything behind `size`.
    unsafe fn move_pages(&mut self, segment: &mut Segment, size: usize, entered: usize) -> bool {
        let (old_start, old_size) = (segment.start, segment.size);
        // Before the pages move: another heap may get the old place at once, and enters it.
        let left = segment.leave_map();
        // SAFETY: the caller's promise.
        unsafe {
            let Ok(start) = syscall::mremap(old_start as *mut u8, old_size, size, syscall::MREMAP_MAYMOVE)
            else {
                segment.enter_map_again(left);
                return false;
            };
            let known = map::prepare(start as usize, size, &mut OWN.lock());
            if !known && move_back(start, size, old_start, old_size) {
                // No memory for the map of a far place, so the pages are back at their old place.
                segment.enter_map_again(left);
                return false;
            }
            now_gone(old_start, old_size);
            (segment.start, segment.size) = (start as usize, size);
            // If another thread's mapping has taken the old place meanwhile, the element still belongs to the program, but we no
            // longer recognise it.
            segment.entered = if known { segment.start } else { segment.start + size };
            self.enter_pages(segment, segment.start + entered);
        }
        self.owner().add(Key::HeapSegmentBytesTotal, size.saturating_sub(old_size) as u64);
        self.change_bytes(size as isize - old_size as isize);
        true
    }

    /// Gets a segment that has a free block of at least `want` bytes.
    pub(super) fn new_segment(&mut self, want: usize) -> Option<Block> {
        if !self.index.prepare() {
            return None;
        }
        let need = want.checked_add(SEGMENT_LOSS)?.checked_next_multiple_of(PAGE)?;
        if self.segments == 0 && self.reservation > 0 && need > self.reservation {
            // The reservation comes first, for the requests that fit.
            self.new_segment(PAGE)?;
        }
        let (base, alone) = self.next_size(need);
        let size = need.max(base.next_multiple_of(PAGE));
        if self.idle_bytes > 0 {
            if alone && let Some(block) = self.grow_idle(size) {
                return Some(block);
            }
            // Idle storage that does not fit must not pile up next to storage in use.
            self.return_surplus();
        }
        if alone {
            self.give_back_before(size);
        }
        // If the kernel refuses the size that HEAP sets, the program still gets the storage that it needs.
        let asked = size;
        let (start, size) = [asked, need.max(MIB).min(asked), need]
            .into_iter()
            .find_map(|size| Some((self.map_segment(size)?, size)))
            .or_else(|| if self.limit > 0 { None } else { reserve::take(need) })?;
        if size < asked {
            self.owner().add(Key::HeapMapFallbacks, 1);
        }
        let start = if map::prepare(start, size, &mut OWN.lock()) {
            start
        } else {
            // SAFETY: no other code knows of the mapping yet.
            let _ = unsafe { syscall::munmap(start as *mut u8, size) };
            map::map_known(size)?
        };
        let descriptor: *mut Segment = {
            let mut own = OWN.lock();
            let descriptor = own.get_descriptor().cast();
            own.tell();
            descriptor
        };
        if descriptor.is_null() {
            // SAFETY: as above.
            let _ = unsafe { syscall::munmap(start as *mut u8, size) };
            return None;
        }
        let oversize = need > base.next_multiple_of(PAGE);
        // SAFETY: the descriptor's storage is ours and large enough.
        let segment = unsafe {
            descriptor.write(Segment {
                owner: AtomicUsize::new(SEGMENT),
                start,
                size,
                entered: start,
                high: start,
                huge_at: if alone || oversize { usize::MAX } else { self.huge_from(start, size) },
                initial: self.segments == 0
                    && (self.reservation > 0 || self.policy.disposition != Disposition::Auto),
                alone: alone || oversize,
                is_hollow: false,
                idle_next: null_mut(),
                idle_previous: null_mut(),
                idle_since: 0,
                heap: self.heap,
                number: AtomicU32::new(self.owner().number.load(Ordering::Relaxed)),
                all_next: null_mut(),
                all_previous: null_mut(),
            });
            &mut *descriptor
        };
        self.link(segment);
        self.segments += 1;
        self.owner().add(Key::HeapSegmentsAllocated, 1);
        self.tell_reservation(size);
        self.grown += size;
        if self.grown >= MIB.max((self.bytes + size) / 8) {
            self.grown = 0;
            coverage::grew();
        }
        self.owner().add(Key::HeapSegmentBytesTotal, size as u64);
        if oversize {
            self.owner().add(Key::HeapOversizeSegments, 1);
        }
        self.change_bytes(size as isize);
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

    /// Grows the largest idle segment to `size` bytes for one request; None if it has less than half of them, or if the kernel refuses.
    ///
    /// A program that copies an array into a larger one again and again leaves one behind each time, always too small for the next.
    /// The pages of the last but one serve for the next.
    fn grow_idle(&mut self, size: usize) -> Option<Block> {
        if self.limit > 0 || sandbox::is_closed() {
            return None;
        }
        let (mut at, mut largest) = (self.idle_newest, null_mut::<Segment>());
        // SAFETY: segments in the list are live; each is one free block, which is in the index and of which nobody else knows.
        unsafe {
            while let Some(segment) = at.as_ref() {
                if segment.size < size && largest.as_ref().is_none_or(|found| found.size < segment.size) {
                    largest = at;
                }
                at = segment.idle_previous;
            }
            let segment = largest.as_mut().filter(|segment| segment.size >= size / 2)?;
            let (written, entered) = (segment.high - segment.start, segment.entered - segment.start);
            self.no_longer_idle(segment);
            self.index.remove(segment.first(), segment.whole());
            // The next huge page is where the segment was: there may be other storage soon.
            let huge_at = replace(&mut segment.huge_at, usize::MAX);
            let is_moved = self.move_pages(segment, size, entered);
            if is_moved {
                (segment.high, segment.alone) = (segment.start + written, true);
            } else {
                segment.huge_at = huge_at;
            }
            let block = segment.first();
            block.set_free(segment.whole(), segment.end());
            self.index.insert(block, segment.whole());
            self.now_idle(segment);
            is_moved.then_some(block)
        }
    }

    /// Gets some segments ahead, while the program may still ask for storage: it has touched nothing of them when it gives up that
    /// right.
    pub fn reserve(&mut self) {
        const SEGMENTS: usize = 4;
        for _ in 0..SEGMENTS {
            let _ = self.new_segment(PAGE);
        }
    }

    /// Bytes of the next segment by the policy, before a larger request is considered; and whether it is for this one request.
    fn next_size(&mut self, need: usize) -> (usize, bool) {
        let Policy { initial, increment, .. } = self.policy;
        let initial = initial.max(self.reservation);
        if self.segments == 0 && initial > 0 {
            return (initial, false);
        }
        if increment > 0 {
            let segments = OWN.lock().segments;
            if segments > self.most_segments(segments) {
                self.owner().add(Key::HeapMapFallbacks, 1);
                return (increment.saturating_mul(64), false);
            }
            return (increment, false);
        }
        let grown = self.usual_increment();
        // A large request under AUTO gets a segment to itself, which can be grown and returned as one. Between others it would leave much
        // of a large segment's end unused: two arrays of 2 MB fill four fifths of 5 MiB.
        let large = (grown / 4).max(MIB).min(grown / 2);
        if need >= large { (need, true) } else { (grown, false) }
    }

    /// Bytes that stay parked when a request of `need` bytes finds no room. A request that fits between extents may release them
    /// all; one of half an increment would find little use for the pieces.
    pub(super) fn worth_parking(&self, need: usize) -> usize {
        if self.policy.increment == 0 && need >= self.usual_increment() / 2 {
            (16 * MIB).max((self.bytes - self.idle_bytes).saturating_sub(self.parked.bytes) / 4)
        } else {
            0
        }
    }

    /// Bytes of a segment under AUTO.
    fn usual_increment(&self) -> usize {
        (self.bytes / 4).next_multiple_of(MIB).clamp(MIB, 64 * MIB)
    }

    /// The number of segments above which increments are joined: three quarters of the mappings that the kernel allows.
    fn most_segments(&mut self, segments: usize) -> usize {
        if segments > ASK_AT && self.most_mappings == 0 {
            self.most_mappings = most_mappings().unwrap_or(USUAL_MAPPINGS);
        }
        (if self.most_mappings == 0 { USUAL_MAPPINGS } else { self.most_mappings }) / 4 * 3
    }

    fn map_segment(&mut self, size: usize) -> Option<usize> {
        if self.limit > 0 {
            return limit::map_below(self.limit, size);
        }
        let start = match syscall::map_anonymous(size) {
            Ok(start) => start,
            // Out of address space or of mappings: idle storage goes back first.
            Err(_) if self.idle_bytes + self.parked.bytes > 0 => {
                self.release_parked(0);
                self.return_idle(0);
                syscall::map_anonymous(size).ok()?
            }
            Err(_) => return None,
        };
        if self.policy.huge_pages == HugePages::On && size >= HUGE_PAGE && !sandbox::is_closed() {
            // SAFETY: the advice drops nothing. Where the kernel has no huge pages it has no effect.
            if unsafe { syscall::madvise(start, size, syscall::MADV_HUGEPAGE) }.is_ok() {
                self.owner().add(Key::HeapHugeBytes, size as u64);
            }
        }
        Some(start as usize)
    }

    pub(super) fn gives_back(&self, segment: &Segment) -> bool {
        match self.policy.disposition {
            Disposition::Free => !segment.initial && !sandbox::is_silent(),
            Disposition::Keep | Disposition::Auto => false,
        }
    }

    /// Gives a segment back to the kernel. Its blocks are in no list.
    pub(super) fn unmap(&mut self, segment: &mut Segment) {
        segment.leave_map();
        now_gone(segment.start, segment.size);
        self.segments -= 1;
        self.unlink(segment);
        let bytes = segment.size;
        // SAFETY: no element of the segment is in use, and no list knows it.
        unsafe {
            let _ = syscall::munmap(segment.start as *mut u8, segment.size);
            OWN.lock().put_descriptor((&raw mut *segment).cast());
        }
        self.owner().add(Key::HeapSegmentsFreed, 1);
        coverage::shrank();
        self.change_bytes(-(bytes as isize));
    }

    /// Adds or subtracts bytes of the space. The ledger has the sum of all heaps.
    fn change_bytes(&mut self, change: isize) {
        self.bytes = self.bytes.wrapping_add_signed(change);
        let mut own = OWN.lock();
        own.segment_bytes = own.segment_bytes.wrapping_add_signed(change);
        ledger::set(Key::HeapSegmentBytes, own.segment_bytes as u64);
        ledger::raise(Key::HeapSegmentBytesPeak, own.segment_bytes as u64);
        drop(own);
        self.owner().account.change(Key::HeapSegmentBytes, Key::HeapSegmentBytesPeak, change as i64);
    }

    pub(super) fn now_idle(&mut self, segment: &mut Segment) {
        segment.idle_since = clock::coarse().max(1);
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
        self.look_at(segment.idle_since + IDLE_NS);
    }

    pub(super) fn no_longer_idle(&mut self, segment: &mut Segment) {
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

    /// When the oldest idle segment goes back.
    pub(super) fn idle_until(&self) -> u64 {
        // SAFETY: segments in the list are live.
        unsafe { self.idle_oldest.as_ref() }.map_or(u64::MAX, |segment| segment.idle_since + IDLE_NS)
    }

    /// Bytes of segments and of parked extents that are not needed now.
    pub fn idle_bytes(&self) -> usize {
        self.idle_bytes + self.parked.bytes
    }

    /// Gives back all that is not needed now. False: there was nothing, or the program has given up the right to it.
    #[cold]
    pub fn give_back_idle(&mut self) -> bool {
        let before = self.bytes;
        self.release_parked(0);
        self.return_idle(0);
        self.bytes < before
    }

    /// The process is about to grow by something that idle storage does not serve. What is idle beyond 16 MiB and a quarter of what is in
    /// use goes back.
    pub fn return_surplus(&mut self) {
        if self.idle_bytes > 0 {
            self.return_idle((16 * MIB).max((self.bytes - self.idle_bytes) / 4));
        }
    }

    /// Gives back segments that have been idle for long, and more, oldest first, until at most `keep` bytes are idle.
    pub fn return_idle(&mut self, keep: usize) {
        if sandbox::is_silent() {
            return;
        }
        let now = clock::coarse();
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
}

/// The kernel's limit on mappings of a process, if it can be read.
fn most_mappings() -> Option<usize> {
    if sandbox::is_closed() {
        return None;
    }
    let fd = syscall::open(c"/proc/sys/vm/max_map_count", syscall::O_RDONLY | syscall::O_CLOEXEC, 0).ok()?;
    let mut text = [0; 24];
    let length = own_reads::read(fd, &mut text);
    let _ = syscall::close(fd);
    core::str::from_utf8(text.get(..length.ok()?)?).ok()?.trim_ascii_end().parse().ok()
}

/// Moves a mapping back to its old place, unless another mapping has taken that meanwhile.
///
/// # Safety
/// No code relies on where the mapping is, or on what is beyond its old size.
unsafe fn move_back(start: *mut u8, size: usize, old_start: usize, old_size: usize) -> bool {
    // SAFETY: the caller's promise; what is replaced is what was just mapped to hold the place.
    unsafe {
        if start.addr() == old_start {
            return syscall::mremap(start, size, old_size, 0).is_ok();
        }
        let Ok(place) = syscall::map_anonymous_at(old_start, old_size) else { return false };
        let is_back = place.addr() == old_start && syscall::mremap_to(start, size, old_size, place).is_ok();
        if !is_back {
            let _ = syscall::munmap(place, old_size);
        }
        is_back
    }
}
