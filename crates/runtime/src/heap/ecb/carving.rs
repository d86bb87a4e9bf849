//! Where new buffers come from: a thread's region of its ECB's storage.
//!
//! ```text
//! region   | in use | in use | at ........ page's marks end | ...... end |        `bump`: one buffer, and its mark
//!                              `bump_on`: the next page, or the next region
//!
//! alone in the ECB     a buffer at a time: a piece in a bin is memory that is touched before it is used
//! several threads      several at a time, from a cache line of the thread's own
//! ```
//!
//! A list that has no free buffer is the usual case of an ECB that has just begun, so `bump` is a few steps long. Lists that are filled for the
//! next requests cost more: malloc then finds a buffer or not at random, and the processor guesses wrong.
//!
//! Invariant: the marks of a region are there before a thread has it. A mark is written before its buffer is handed out.
//! Not here: free buffers (`seat`), and which storage is next (`control_block`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::classes::OfList;

use super::super::cell::Cell;
use super::super::map;
use super::super::size::LARGEST_SMALL;
use super::area::{self, Area, Kind, LIST};
use super::control_block::Region;
use super::lists::MARKED;
use super::piece::{Piece, depth};
use super::seat::Seat;
use super::zoned;

/// Bytes of buffers that are carved at a time, at most.
const MOST_CARVED: usize = 2048;
/// Threads with a part of one cache line each would wait for each other.
const LINE: usize = 64;

/// All functions are called by the seat's thread.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl Seat {
    /// A buffer, when no piece is ready. Null if there is no memory.
    #[inline]
    pub unsafe fn get(&mut self, size: usize, align: usize) -> *mut u8 {
        // SAFETY: the contract above.
        unsafe { self.get_counted(size, size, align) }
    }

    /// The same of so many bytes, which counts as a request of `asked` ones.
    #[inline(always)]
    pub unsafe fn get_counted(&mut self, asked: usize, size: usize, align: usize) -> *mut u8 {
        let list = self.class().lists.of(size);
        if self.counts_each {
            self.figures.count_request(asked);
        }
        if list == 0 || align > 16 {
            // SAFETY: the contract above.
            return unsafe { self.get_unusual(list, size, align) };
        }
        let head = self.heap.bins[list];
        // SAFETY: pieces in our bins are free and ours.
        unsafe {
            let buffer = if head.is_null() {
                self.refill(list)
            } else {
                self.heap.bins[list] = (*head).next.get();
                head.cast()
            };
            if list >= MARKED && !buffer.is_null() {
                Area::set_free(area::of(map::lookup(buffer.addr())), buffer.addr(), false);
            }
            buffer
        }
    }

    /// As [`Self::get`], with a zone behind the buffer, for that caller.
    #[cold]
    pub unsafe fn get_with_zone(&mut self, size: usize, align: usize, caller: usize) -> *mut u8 {
        // SAFETY: the contract above.
        zoned::with_zone(size, false, caller, |bytes| unsafe { self.get_counted(size, bytes, align) })
    }

    /// New storage for a small buffer, of the region. Null if that takes more than a few steps.
    #[inline(always)]
    pub unsafe fn bump(&mut self, size: usize) -> *mut u8 {
        // Of the seat's class, if it has one: `bump_end` is 0 until then.
        if size > LARGEST_SMALL {
            // SAFETY: as below.
            return unsafe { self.bump_on(self.class().lists.of(size)) };
        }
        let list = self.heap.class_of[size.div_ceil(16)] as usize;
        let at = self.region.at;
        if self.bump_end == 0 || !self.heap.bins[list].is_null() {
            return null_mut();
        }
        let end = at + self.class().lists.sizes[list] as usize;
        if end > self.bump_end {
            // SAFETY: as below.
            return unsafe { self.bump_on(list) };
        }
        self.region.at = end;
        self.handed[list] += 1;
        self.touched |= 1 << list;
        // SAFETY: the region is ours, and the marks up to `bump_end` are there.
        unsafe { *self.marks.wrapping_add(at / 16) = list as u8 };
        at as *mut u8
    }

    /// As [`Self::bump`], for a large size, and where the marks of a page or the region end.
    #[inline(never)]
    unsafe fn bump_on(&mut self, list: usize) -> *mut u8 {
        if self.bump_end == 0 || list == 0 || !self.heap.bins[list].is_null() {
            return null_mut();
        }
        let size = self.class().lists.sizes[list] as usize;
        if self.region.end - self.region.at < size {
            // What threads outside freed comes before new storage, and takes more than a few steps.
            // SAFETY: the thread is inside.
            let is_returned = unsafe { !(*self.block).returned.waiting().is_null() };
            if is_returned || !self.grant(size) {
                return null_mut();
            }
        }
        let at = self.region.at;
        self.region.at += size;
        self.handed[list] += 1;
        self.touched |= 1 << list;
        // SAFETY: the region is ours, and its marks are there.
        unsafe {
            *(*self.region.area).mark(at) = list as u8;
            self.aim();
        }
        at as *mut u8
    }

    /// Makes the buffer that was carved last larger, in its place. Null, with nothing done, if that is not simple.
    ///
    /// The buffer is of an area that [`Area::has_marks_of`] this ECB, and of that list.
    pub unsafe fn extend(&mut self, area: *mut Area, list: usize, buffer: *mut u8, size: usize) -> *mut u8 {
        let lists = &self.class().lists;
        let (now, at) = (lists.of(size), buffer.addr());
        if now == 0 || at + lists.sizes[list] as usize != self.region.at || self.region.area != area {
            return null_mut();
        }
        let end = at + lists.sizes[now] as usize;
        if end > self.region.end {
            return null_mut();
        }
        // As a get and a free: the old buffer is gone without ever being free.
        self.region.at = end;
        self.handed[now] += 1;
        self.handed[list] -= 1;
        self.freed[list] += 1;
        self.touched |= 1 << now | 1 << list;
        // SAFETY: the mark is the buffer's; its name stays.
        unsafe {
            let mark = (*area).mark(at);
            *mark = *mark & !LIST | now as u8;
            self.aim();
        }
        buffer
    }

    /// Lets [`Self::bump`] serve from the region, as far as its marks are together. Not while each request is counted, nor while there are
    /// chains or buffers that threads outside freed, which are used first; and threads that share an ECB carve several buffers at a time,
    /// from a cache line of their own.
    pub unsafe fn aim(&mut self) {
        self.bump_end = 0;
        // SAFETY: the thread is inside; the region is ours, and its marks are there.
        unsafe {
            let at = self.region.at;
            let block = &*self.block;
            let is_alone = block.is_threaded.load(Ordering::Relaxed) == 0 && block.chains.is_empty();
            if at >= self.region.end || self.is_slow || !is_alone || !block.returned.waiting().is_null() {
                return;
            }
            let area = &*self.region.area;
            let together =
                if area.kind == Kind::Preallocated { (at | (map::PAGE - 1)) + 1 } else { self.region.end };
            self.marks = area.mark(at).wrapping_sub(at / 16);
            self.bump_end = together.min(self.region.end);
        }
    }

    /// Storage for at least so many bytes in the region. False if there is no memory.
    pub(super) fn grant(&mut self, bytes: usize) -> bool {
        self.bump_end = 0;
        // SAFETY: the thread is inside.
        unsafe { &*self.block }.grant(&mut self.region, bytes)
    }

    /// A piece of an empty bin, and more for the next requests.
    #[inline(never)]
    unsafe fn refill(&mut self, list: usize) -> *mut u8 {
        self.touched |= 1 << list;
        // SAFETY: the thread is inside, so the block is the ECB's; what comes from it is ours.
        unsafe {
            let block = &*self.block;
            let returned = block.returned.take();
            if !returned.is_null() {
                self.collect(returned);
            }
            self.take_aside(list);
            let mut head = self.heap.bins[list];
            if head.is_null() {
                let chain = block.take_chain(list);
                if !chain.is_null() {
                    self.handed[list] += depth(chain) as i32;
                    self.figures.count_refill(list, OfList::Shared);
                }
                head = chain.cast();
            }
            if head.is_null() {
                if block.is_threaded.load(Ordering::Relaxed) == 0 {
                    return self.carve_one(list);
                }
                head = if self.takes_one() { self.carve_next(list) } else { self.carve(list) };
                if head.is_null() {
                    return null_mut();
                }
            }
            self.heap.bins[list] = (*head).next.get();
            head.cast()
        }
    }

    /// New storage for one buffer, and for what [`Self::bump`] serves next; null if there is no memory. Alone in the ECB, a thread takes no
    /// more than is asked for: a piece in a bin is memory that is touched before it is used.
    unsafe fn carve_one(&mut self, list: usize) -> *mut u8 {
        let size = self.class().lists.sizes[list] as usize;
        if self.region.end - self.region.at < size && !self.grant(size) {
            return null_mut();
        }
        let at = self.region.at;
        self.region.at += size;
        self.handed[list] += 1;
        self.figures.count_refill(list, OfList::Carved);
        // SAFETY: the region is ours, and its marks are there.
        unsafe {
            *(*self.region.area).mark(at) = list as u8;
            self.aim();
        }
        at as *mut u8
    }

    /// New pieces for an empty bin, from a cache line of this thread's; null if there is no memory.
    unsafe fn carve(&mut self, list: usize) -> *mut Cell {
        let size = self.class().lists.sizes[list] as usize;
        self.region.at = self.region.at.next_multiple_of(LINE).min(self.region.end);
        if self.region.end - self.region.at < size && !self.grant(size) {
            return null_mut();
        }
        let room = (self.region.end - self.region.at) / size;
        let count = (self.stride / size).clamp(1, room.max(1));
        if self.stride < MOST_CARVED {
            self.stride += self.stride / 4;
        }
        let first = self.region.at;
        let mut at = first;
        // SAFETY: the region is ours, and its marks are there.
        unsafe {
            let area = &*self.region.area;
            let mut left = count;
            while left > 0 {
                // Page by page: the marks of a page are together.
                let mut mark = area.mark(at);
                let here = ((at | (map::PAGE - 1)) + 1 - at).div_ceil(size).min(left);
                for _ in 0..here {
                    let piece: *mut Piece = at as *mut Piece;
                    at += size;
                    (*piece).cell.next.set(at as *mut Cell);
                    (*piece).depth.set(left);
                    *mark = list as u8;
                    mark = mark.wrapping_add(size / 16);
                    left -= 1;
                }
            }
            (*((at - size) as *mut Piece)).cell.next.set(null_mut());
        }
        self.region.at = at;
        self.handed[list] += count as i32;
        self.figures.count_refill(list, OfList::Carved);
        first as *mut Cell
    }

    /// A buffer that is aligned to more than 16 bytes, or has pages of its own.
    #[cold]
    unsafe fn get_unusual(&mut self, list: usize, size: usize, align: usize) -> *mut u8 {
        // SAFETY: the thread is inside.
        let block = unsafe { &*self.block };
        if list == 0 || align > map::PAGE {
            // Those that threads outside freed first: a thread may need large ones only.
            // SAFETY: the thread is inside.
            unsafe { self.collect(block.returned.take()) };
            let buffer = block.get_large(size, align);
            if !buffer.is_null() {
                self.figures.count_large(self.class(), size, false);
                let mut shared = block.shared.lock();
                // SAFETY: under the lock.
                shared.count(unsafe { block.named() }, 0, size, (1, 0));
            }
            return buffer;
        }
        let size = self.class().lists.sizes[list] as usize;
        let start = |region: &Region| region.at.next_multiple_of(align);
        if start(&self.region) + size > self.region.end && !self.grant(size + align) {
            return null_mut();
        }
        let at = start(&self.region);
        self.region.at = at + size;
        self.touched |= 1 << list;
        self.handed[list] += 1;
        self.figures.count_refill(list, OfList::Carved);
        // SAFETY: the region is ours, and its marks are there.
        unsafe { *(*self.region.area).mark(at) = list as u8 };
        at as *mut u8
    }
}
