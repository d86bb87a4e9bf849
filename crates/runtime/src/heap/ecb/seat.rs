//! A seat: a thread's part of the ECB that it has entered.
//!
//! ```text
//! slot -> seat = a thread's heap whose bins are the ECB's lists, of this thread alone
//!           bins[list] -> piece -> piece            malloc takes here, as from any heap
//!           region  at .. end                       carved when a list is empty
//!
//! enter  the next seat of the thread gets the class's sizes
//! free   a buffer of this ECB goes on top of its bin, so it is the next one that malloc gives
//! leave  bins become chains of the control block, and the rest of the region goes back
//! ```
//!
//! A seat is used again for each ECB that the thread enters. Its bins are empty in between. An ECB that waits for its next
//! thread costs its control block and its storage only.
//!
//! Invariant: in a bin, `handed + freed - got` pieces are left, and the first of them says how many these are.
//! Not here: what threads share (`control_block`), and the calls of programs (the parent).

use core::ptr::{null, null_mut};
use core::sync::atomic::Ordering;

use underbar_ledger::classes::OfList;
use underbar_sys::lock::Lock;

use super::super::cell::Cell;
use super::super::gate::Gate;
use super::super::map;
use super::super::object::DEFAULT;
use super::super::private_storage::OWN;
use super::super::size::{LARGEST_SMALL, UNITS};
use super::super::thread::ThreadHeap;
use super::area::{self, Area, Kind};
use super::class::Class;
use super::control_block::{ControlBlock, KEPT, Region};
use super::figures::{self, Ended, Figures};
use super::lists::LISTS;
use super::piece::{Piece, depth, push};
use super::ready;

/// Bytes of buffers that are carved at a time, at first and at most.
const CARVED: usize = 512;
const MOST_CARVED: usize = 2048;
/// A bin with so many buffers is given to the other threads of the ECB.
const MOST_KEPT: usize = 128;
/// Blocks that wait with a thread for its next ECB.
const READY: usize = 4;
/// Threads with a part of one cache line each would wait for each other.
const LINE: usize = 64;

/// One seat. Its thread's alone.
#[repr(C)]
pub struct Seat {
    /// First, so that the slot can name it.
    pub heap: ThreadHeap,
    /// The ECB that the thread is in; null: the seat is empty.
    pub block: *const ControlBlock,
    region: Region,
    /// Where [`Seat::bump`] ends, in the region, and marks so that that of an address is at `marks + address / 16`; 0: see `aim`.
    bump_end: usize,
    marks: *mut u8,
    /// Lists that the ECB had kept when the thread entered.
    restored: usize,
    /// Lists that had pieces during this visit.
    touched: u64,
    /// Pieces that came into each bin, less those that were given away; pieces that the thread freed.
    handed: [i32; LISTS],
    freed: [u32; LISTS],
    /// Bytes to carve the next time.
    stride: usize,
    /// The slot before, and the seat that the thread was in.
    pub previous: *mut ThreadHeap,
    pub outer: *mut Seat,
    /// The seat for an ECB that is entered inside this one.
    pub deeper: *mut Seat,
    /// How often the thread has stepped outside.
    pub outside: u32,
    /// No request finds a ready piece: each is counted, or storage is filled.
    is_slow: bool,
    /// Each request is counted by its size.
    counts_each: bool,
    /// The class whose tables and figures the seat has.
    class: *const Class,
    pub figures: Figures,
    ready: [*mut ControlBlock; READY],
    waiting: usize,
}

/// Seats of threads that have ended, linked by `deeper`.
struct Spare(*mut Seat);

// SAFETY: followed under the lock only.
unsafe impl Send for Spare {}

/// Only the store of all heaps is locked after it.
static SPARE: Lock<Spare> = Lock::new(Spare(null_mut()));

/// Leaves a seat to a later thread.
///
/// # Safety
/// It is empty, and no thread has it.
pub unsafe fn leave(seat: *mut Seat) {
    let mut spare = SPARE.lock();
    // SAFETY: the caller's promise.
    unsafe { (*seat).deeper = spare.0 };
    spare.0 = seat;
}

/// Is no thread at the spare seats?
pub fn is_quiet() -> bool {
    SPARE.try_lock().is_some()
}

/// Before a fork: takes their lock.
pub fn hold() {
    SPARE.hold();
}

/// After a fork.
///
/// # Safety
/// This thread called [`hold`].
pub unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { SPARE.release() }
}

/// A seat for a thread with that home. Null if there is no memory.
pub fn make(home: *mut ThreadHeap) -> *mut Seat {
    let mut spare = SPARE.lock();
    let mut seat = spare.0;
    // SAFETY: spare ones are ours under the lock; new storage has that size and alignment.
    unsafe {
        if seat.is_null() {
            seat = OWN.lock().get(size_of::<Seat>()).cast();
            if seat.is_null() {
                return seat;
            }
            seat.write(Seat {
                heap: ThreadHeap::empty(&DEFAULT, Gate::for_ever()),
                block: null(),
                region: Region::NONE,
                bump_end: 0,
                marks: null_mut(),
                restored: 0,
                touched: 0,
                handed: [0; LISTS],
                freed: [0; LISTS],
                stride: CARVED,
                previous: null_mut(),
                outer: null_mut(),
                deeper: null_mut(),
                outside: 0,
                is_slow: false,
                counts_each: false,
                class: null(),
                figures: Figures::NONE,
                ready: [null_mut(); READY],
                waiting: 0,
            });
            (*seat).heap.is_seat = true;
        } else {
            spare.0 = (*seat).deeper;
        }
        (*seat).heap.home = home;
        (*seat).deeper = null_mut();
    }
    seat
}

/// All functions are called by the seat's thread.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl Seat {
    fn class(&self) -> &'static Class {
        // SAFETY: set when the thread enters; classes stay for ever.
        unsafe { &*self.class }
    }

    /// The seat gets the tables and the figures of a class.
    pub fn be_of(&mut self, class: &'static Class, is_slow: bool) {
        if !core::ptr::eq(self.class, class) {
            // SAFETY: null or a class.
            if let Some(before) = unsafe { self.class.as_ref() } {
                self.figures.publish(before);
            }
            self.class = class;
            self.heap.heap = class.heap();
            self.heap.class_of = if is_slow { [0; UNITS] } else { class.lists.of_units };
        } else if self.is_slow != is_slow {
            self.heap.class_of = if is_slow { [0; UNITS] } else { class.lists.of_units };
        }
        self.is_slow = is_slow;
    }

    /// Has the seat the figures of a class? It gets them if it is empty.
    fn has_figures_of(&mut self, class: &'static Class) -> bool {
        if self.block.is_null() {
            self.be_of(class, self.is_slow);
        }
        core::ptr::eq(self.class, class)
    }

    /// An ECB of a class was created.
    pub fn count_created(&mut self, class: &'static Class, counts_each: bool) {
        if self.has_figures_of(class) {
            self.figures.count_created(class, counts_each);
        } else {
            figures::publish_created(class, counts_each);
        }
    }

    /// An ECB of a class ended.
    pub fn count_end(&mut self, class: &'static Class, ended: Ended) {
        if self.has_figures_of(class) {
            self.figures.count_end(ended);
            self.figures.visited(class);
        } else {
            figures::publish_end(class, ended);
        }
    }

    /// The thread is in that ECB from now on.
    pub fn sit(&mut self, block: &'static ControlBlock, previous: *mut ThreadHeap, outer: *mut Seat) {
        let class = block.class();
        self.counts_each = block.counts_each.load(Ordering::Relaxed) != 0;
        let is_slow = self.counts_each || class.heap().settings.fills();
        self.be_of(class, is_slow);
        self.block = block;
        self.previous = previous;
        self.outer = outer;
        self.outside = 0;
        self.stride = CARVED;
        self.bump_end = 0;
        self.restored = 0;
        if block.kept.load(Ordering::Relaxed) != 0 {
            let mut shared = block.shared.lock();
            self.restored = usize::from(block.kept.load(Ordering::Relaxed)).saturating_sub(1);
            block.kept.store(0, Ordering::Relaxed);
            self.region = core::mem::replace(&mut shared.kept_region, Region::NONE);
            for at in 0..self.restored {
                let (list, chain, depth) = shared.kept.get(at);
                self.heap.bins[list] = chain.cast();
                self.handed[list] = depth as i32;
                self.touched |= 1 << list;
                if shared.kept_by != self.heap.home.addr() {
                    self.figures.count_refill(list, OfList::Shared);
                }
            }
            drop(shared);
            // SAFETY: the thread is inside.
            unsafe { self.aim() };
        }
    }

    /// The thread leaves the ECB: its lists and the rest of its region become the others'.
    pub unsafe fn stand_up(&mut self) {
        // SAFETY: the thread is inside, so the block is the ECB's.
        let block = unsafe { &*self.block };
        let class = self.class();
        let mut touched = core::mem::take(&mut self.touched);
        {
            let mut shared = block.shared.lock();
            // SAFETY: under the lock.
            let mut named = unsafe { block.named() };
            // Other threads, if there were any, would not look at the lists that are kept, and may have kept theirs meanwhile.
            let is_alone = block.is_threaded.load(Ordering::Relaxed) == 0;
            let mut keeping = 0;
            if is_alone {
                for at in 0..self.restored {
                    let (list, chain, depth) = shared.kept.get(at);
                    if self.heap.bins[list] == chain.cast()
                        && self.freed[list] == 0
                        && self.handed[list] == depth as i32
                    {
                        // As it was: nothing of it has to be looked at.
                        self.heap.bins[list] = null_mut();
                        self.handed[list] = 0;
                        touched &= !(1 << list);
                        keeping += usize::from(shared.kept.set(keeping, list, chain, depth));
                    }
                }
            }
            while touched != 0 {
                let list = touched.trailing_zeros() as usize;
                touched &= touched - 1;
                let chain: *mut Piece = core::mem::replace(&mut self.heap.bins[list], null_mut()).cast();
                // SAFETY: the bin's pieces are ours.
                let (gets, frees, size) = unsafe { self.counted(list, chain) };
                shared.count(named.as_deref_mut(), list, size as usize, (gets, frees));
                let left = core::mem::take(&mut self.handed[list]);
                if chain.is_null() {
                    continue;
                }
                if is_alone && keeping < KEPT && shared.kept.set(keeping, list, chain, left as usize) {
                    keeping += 1;
                } else {
                    // SAFETY: as above.
                    unsafe { shared.chains.put(&block.chains, list, chain) };
                }
            }
            let region = core::mem::replace(&mut self.region, Region::NONE);
            if is_alone {
                (shared.kept_region, shared.kept_by) = (region, self.heap.home.addr());
                block.kept.store(keeping as u8 + 1, Ordering::Relaxed);
            } else {
                shared.leave(region);
            }
            self.bump_end = 0;
        }
        self.block = null();
        self.figures.visited(class);
    }

    /// Counts what happened in a list since it was last counted.
    unsafe fn counted(&mut self, list: usize, chain: *mut Piece) -> (u32, u32, u32) {
        let size = self.class().lists.sizes[list];
        let frees = core::mem::take(&mut self.freed[list]);
        // SAFETY: the caller's promise.
        let left = unsafe { depth(chain) };
        let gets = (self.handed[list] + frees as i32 - left as i32).max(0) as u32;
        self.handed[list] = left as i32;
        self.figures.count(list, size, gets, frees);
        (gets, frees, size)
    }

    /// Counts this visit so far, and publishes all figures.
    pub unsafe fn settle(&mut self) {
        // SAFETY: null, or the block of the ECB that the thread is in.
        if let Some(block) = unsafe { self.block.as_ref() } {
            let mut shared = block.shared.try_lock();
            let mut touched = self.touched;
            while touched != 0 {
                let list = touched.trailing_zeros() as usize;
                touched &= touched - 1;
                let chain: *mut Piece = self.heap.bins[list].cast();
                // SAFETY: the bin's pieces are ours.
                let (gets, frees, size) = unsafe { self.counted(list, chain) };
                if let Some(shared) = &mut shared {
                    // SAFETY: under the lock.
                    shared.count(unsafe { block.named() }, list, size as usize, (gets, frees));
                }
            }
        }
        // SAFETY: null or a class.
        if let Some(class) = unsafe { self.class.as_ref() } {
            self.figures.publish(class);
        }
    }

    /// A buffer, when no piece is ready. Null if there is no memory.
    #[inline]
    pub unsafe fn get(&mut self, size: usize, align: usize) -> *mut u8 {
        let list = self.class().lists.of(size);
        if self.counts_each {
            self.figures.count_request(size);
        }
        if list == 0 || align > 16 {
            // SAFETY: the contract above.
            return unsafe { self.get_unusual(list, size, align) };
        }
        let head = self.heap.bins[list];
        // SAFETY: pieces in our bins are free and ours.
        unsafe {
            if !head.is_null() {
                self.heap.bins[list] = (*head).next.get();
                return head.cast();
            }
            self.refill(list)
        }
    }

    /// New storage for a small buffer, of the region. Null if that takes more than a few steps.
    #[inline(always)]
    pub unsafe fn bump(&mut self, size: usize) -> *mut u8 {
        if size > LARGEST_SMALL {
            return null_mut();
        }
        let list = self.heap.class_of[size.div_ceil(16)] as usize;
        // Of the seat's class, if it has one: `bump_end` is 0 until then.
        let at = self.region.at;
        if self.bump_end == 0 || !self.heap.bins[list].is_null() {
            return null_mut();
        }
        let end = at + self.class().lists.sizes[list] as usize;
        if end > self.bump_end {
            return null_mut();
        }
        self.region.at = end;
        self.handed[list] += 1;
        self.touched |= 1 << list;
        // SAFETY: the region is ours, and the marks up to `bump_end` are there.
        unsafe { *self.marks.wrapping_add(at / 16) = list as u8 };
        at as *mut u8
    }

    /// Lets [`Self::bump`] serve from the region, as far as its marks are together. Not while each request is counted, nor while there are
    /// chains, which are used first; and threads that share an ECB carve several buffers at a time, from a cache line of their own.
    unsafe fn aim(&mut self) {
        self.bump_end = 0;
        // SAFETY: the thread is inside; the region is ours, and its marks are there.
        unsafe {
            let at = self.region.at;
            let block = &*self.block;
            let is_alone = block.is_threaded.load(Ordering::Relaxed) == 0 && block.chains.is_empty();
            if at >= self.region.end || self.is_slow || !is_alone {
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
    fn grant(&mut self, bytes: usize) -> bool {
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
                head = self.carve(list);
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

    /// Takes back a buffer of this ECB without a name. False, with nothing done, if that takes more than a look at its mark.
    #[inline(always)]
    pub unsafe fn put_plain(&mut self, area: *mut Area, buffer: *mut u8) -> bool {
        // SAFETY: the caller's promise: the area is that of the buffer's page.
        unsafe {
            let area = &*area;
            if self.is_slow
                || area.kind == Kind::Large
                || !core::ptr::eq(area.block().cast(), self.block)
                || buffer.addr() & 15 != 0
            {
                return false;
            }
            let mark = area.mark(buffer.addr());
            if mark.is_null() {
                return false;
            }
            let list = usize::from(*mark);
            if list.wrapping_sub(1) >= LISTS - 1 || self.heap.bins[list].cast() == buffer {
                return false;
            }
            self.put(list, buffer);
        }
        true
    }

    /// Takes back a buffer of this ECB, which is of that list, or large.
    pub unsafe fn put_back(&mut self, area: *mut Area, list: usize, buffer: *mut u8) {
        // SAFETY: the buffer is free and ours.
        unsafe { if list == 0 { self.free_large(area) } else { self.put(list, buffer) } }
    }

    /// Takes back a buffer of this ECB, which is of that list.
    #[inline(always)]
    pub unsafe fn put(&mut self, list: usize, buffer: *mut u8) {
        // SAFETY: the buffer is free and ours.
        unsafe { push(&mut self.heap.bins[list], buffer.cast()) };
        self.touched |= 1 << list;
        self.freed[list] += 1;
        // SAFETY: it is the first one.
        if unsafe { (*buffer.cast::<Piece>()).depth.get() } >= MOST_KEPT {
            // SAFETY: the contract above.
            unsafe { self.share(list) };
        }
    }

    /// Gives a long list to the other threads of the ECB, if there are any.
    #[cold]
    unsafe fn share(&mut self, list: usize) {
        // SAFETY: the thread is inside.
        let block = unsafe { &*self.block };
        if block.is_threaded.load(Ordering::Relaxed) == 0 {
            return;
        }
        let chain: *mut Piece = core::mem::replace(&mut self.heap.bins[list], null_mut()).cast();
        // SAFETY: the pieces are ours.
        unsafe {
            self.handed[list] -= depth(chain) as i32;
            block.shared.lock().chains.put(&block.chains, list, chain);
        }
    }

    /// Takes in buffers that threads outside freed.
    #[cold]
    unsafe fn collect(&mut self, mut cell: *mut Cell) {
        while !cell.is_null() {
            // SAFETY: what was returned is free and this ECB's.
            unsafe {
                let next = (*cell).next.get();
                let area = area::of(map::lookup(cell.addr()));
                if let Some(list) = Area::list_at(area, cell.addr()) {
                    self.put_back(area, list, cell.cast());
                }
                cell = next;
            }
        }
    }

    /// Gives a large buffer of this ECB back.
    pub unsafe fn free_large(&mut self, area: *mut Area) {
        // SAFETY: the thread is inside; the area is that of a buffer in use.
        unsafe {
            let block = &*self.block;
            let bytes = (*area).asked;
            self.figures.count_large(self.class(), bytes, true);
            block.shared.lock().count(block.named(), 0, bytes, (0, 1));
            block.free_large(area);
        }
    }

    /// A block that waits with this thread for an ECB of that class; null if none does.
    pub fn take_ready(&mut self, class: &'static Class) -> *mut ControlBlock {
        let Some(last) = self.waiting.checked_sub(1) else { return null_mut() };
        let block = self.ready[last];
        // SAFETY: blocks that wait with the thread are its own.
        if !core::ptr::eq(unsafe { (*block).class() }, class) {
            return null_mut();
        }
        self.waiting = last;
        block
    }

    /// A block waits for the next ECB of this thread, or of any.
    ///
    /// Its ECB has ended.
    pub unsafe fn put_ready(&mut self, block: *mut ControlBlock) {
        if self.waiting == READY {
            self.release_ready(1);
        }
        self.ready[self.waiting] = block;
        self.waiting += 1;
    }

    /// Gives the oldest of the blocks that wait to all threads.
    fn release_ready(&mut self, count: usize) {
        for block in &self.ready[..count] {
            // SAFETY: blocks that wait with the thread are its own.
            unsafe { ready::put(*block) };
        }
        self.ready.copy_within(count..self.waiting, 0);
        self.waiting -= count;
    }

    /// The thread ends: everything that waits with it goes to all threads.
    pub fn give_up(&mut self) {
        self.release_ready(self.waiting);
        // SAFETY: null or a class.
        if let Some(class) = unsafe { self.class.as_ref() } {
            self.figures.publish(class);
        }
    }
}
