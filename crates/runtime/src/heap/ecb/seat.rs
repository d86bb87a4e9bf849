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
//! Not here: where new buffers come from (`carving`), what threads share (`control_block`), and the calls of programs (the parent).

use core::ptr::{null, null_mut};
use core::sync::atomic::Ordering;

use underbar_ledger::classes::OfList;
use underbar_options::Without;
use underbar_sys::lock::Lock;

use super::super::cell::Cell;
use super::super::gate::Gate;
use super::super::map;
use super::super::object::DEFAULT;
use super::super::private_storage::OWN;
use super::super::size::UNITS;
use super::super::thread::{NO_BLOCK, ThreadHeap};
use super::area::{self, Area, Kind};
use super::class::Class;
use super::control_block::{ControlBlock, KEPT, Region, list_of};
use super::figures::{self, Ended, Figures};
use super::lists::{Aside, LISTS, MARKED};
use super::piece::{Piece, depth, push};
use super::{given, low, ready};

/// Bytes of buffers that are carved at a time, at first.
pub(super) const CARVED: usize = 512;
/// A bin with so many buffers is given to the other threads of the ECB, if there are any.
const MOST_KEPT: usize = 128;
/// Blocks that wait with a thread for its next ECB.
const READY: usize = 4;

/// One seat. Its thread's alone.
#[repr(C)]
pub struct Seat {
    /// First, so that the slot can name it.
    pub heap: ThreadHeap,
    /// The ECB that the thread is in; null: the seat is empty.
    pub block: *const ControlBlock,
    pub(super) region: Region,
    /// Where [`Seat::bump`] ends, in the region, and marks so that that of an address is at `marks + address / 16`; 0: see `aim`.
    pub(super) bump_end: usize,
    pub(super) marks: *mut u8,
    /// Lists that the ECB had kept when the thread entered.
    restored: usize,
    /// Lists that had pieces during this visit.
    pub(super) touched: u64,
    /// Pieces that came into each bin, less those that were given away; pieces that the thread freed.
    pub(super) handed: [i32; LISTS],
    pub(super) freed: [u32; LISTS],
    /// Bytes to carve the next time.
    pub(super) stride: usize,
    /// A bin with so many buffers is looked at: [`MOST_KEPT`], and more while the thread is alone.
    most_kept: usize,
    /// The slot before, and the seat that the thread was in.
    pub previous: *mut ThreadHeap,
    pub outer: *mut Seat,
    /// The seat for an ECB that is entered inside this one.
    pub deeper: *mut Seat,
    /// How often the thread has stepped outside.
    pub outside: u32,
    /// No request finds a ready piece: each is counted, or storage is filled.
    pub(super) is_slow: bool,
    /// Each request is counted by its size.
    pub(super) counts_each: bool,
    /// The ECB is counted itself (`named`).
    is_counted: bool,
    /// The class whose tables and figures the seat has.
    class: *const Class,
    pub figures: Figures,
    ready: [*mut ControlBlock; READY],
    waiting: usize,
    /// Of a first seat: one more than the number of the thread's trace table, 0: none yet; and whether the table names the thread.
    pub table: u32,
    pub is_known: bool,
    /// What is left out; and freed buffers that wait for it, null: none.
    pub without: Without,
    pub aside: *mut Aside,
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
                most_kept: MOST_KEPT,
                previous: null_mut(),
                outer: null_mut(),
                deeper: null_mut(),
                outside: 0,
                is_slow: false,
                counts_each: false,
                is_counted: false,
                class: null(),
                figures: Figures::NONE,
                ready: [null_mut(); READY],
                waiting: 0,
                table: 0,
                is_known: false,
                without: given::without(),
                aside: null_mut(),
            });
            (*seat).heap.is_seat = true;
            (*seat).heap.is_untraced = !given::needs_callers();
        } else {
            spare.0 = (*seat).deeper;
        }
        (*seat).heap.home = home;
        (*seat).is_known = false;
        (*seat).deeper = null_mut();
    }
    seat
}

/// All functions are called by the seat's thread.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl Seat {
    pub(super) fn class(&self) -> &'static Class {
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
        if ended.low > 0 {
            figures::publish_low(class, ended.low);
        }
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
        let is_slow = self.counts_each || class.is_slow || class.heap().settings.fills();
        self.be_of(class, is_slow);
        self.block = block;
        self.heap.plain = if is_slow { NO_BLOCK } else { core::ptr::from_ref(block).cast() };
        self.previous = previous;
        self.outer = outer;
        self.outside = 0;
        self.stride = CARVED;
        self.most_kept = MOST_KEPT;
        self.bump_end = 0;
        self.restored = 0;
        self.is_counted = !block.named.load(Ordering::Relaxed).is_null();
        if self.is_counted {
            self.figures.visit_begins();
        }
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
        let block = unsafe {
            self.take_all_aside();
            &*self.block
        };
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
                    unsafe { shared.chains.put(&block.chains, list, chain, list_of) };
                }
            }
            if self.is_counted
                && let Some(named) = named
            {
                named.count_refills(&self.figures.refills_of_visit());
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
        self.heap.plain = NO_BLOCK;
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

    /// What it has of the ECB's storage.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The ECB is counted itself from now on.
    pub fn begin_counting(&mut self) {
        self.is_counted = true;
        self.figures.visit_begins();
    }

    /// Counts this visit so far, and publishes all figures.
    pub unsafe fn settle(&mut self) {
        // SAFETY: the contract above.
        unsafe { self.count_visit() };
        // SAFETY: null or a class.
        if let Some(class) = unsafe { self.class.as_ref() } {
            self.figures.publish(class);
        }
    }

    /// Counts this visit so far.
    pub unsafe fn count_visit(&mut self) {
        // SAFETY: null, or the block of the ECB that the thread is in.
        if let Some(block) = unsafe { self.block.as_ref() } {
            // SAFETY: the thread is inside.
            unsafe { self.take_all_aside() };
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
            if shared.is_some() && self.is_counted {
                // SAFETY: under the lock.
                let named = unsafe { block.named() };
                if let Some(named) = named {
                    named.count_refills(&self.figures.refills_of_visit());
                }
            }
        }
    }

    /// Takes back a buffer without a name of an area that [`Area::has_marks_of`] this ECB. False, with nothing done, if that takes more
    /// than a look at its mark.
    #[inline(always)]
    pub unsafe fn put_plain(&mut self, area: *mut Area, buffer: *mut u8) -> bool {
        // SAFETY: the caller's promise: the area is that of the address's page.
        unsafe {
            let mark = (*area).mark_of_any(buffer.addr());
            if mark.is_null() {
                return false;
            }
            let list = usize::from(*mark);
            if list.wrapping_sub(1) >= MARKED - 1 || self.heap.bins[list].cast() == buffer {
                return false;
            }
            self.put(list, buffer);
        }
        true
    }

    /// Takes back a buffer of this ECB, which is of that list, or large.
    pub unsafe fn put_back(&mut self, area: *mut Area, list: usize, buffer: *mut u8) {
        // SAFETY: the buffer is free and ours; the thread is inside.
        unsafe {
            if list == 0 {
                self.free_large(area);
            } else if (*area).kind == Kind::Low {
                (*self.block).free_low(area, list, buffer);
                self.count_low(self.class().lists.sizes[list] as usize, true);
            } else {
                Area::set_free(area, buffer.addr(), list >= MARKED || given::has_zones());
                self.put(list, buffer);
                self.freed_without(list);
            }
        }
    }

    /// Takes back a buffer of this ECB, which is of that list.
    #[inline(always)]
    pub unsafe fn put(&mut self, list: usize, buffer: *mut u8) {
        // SAFETY: the buffer is free and ours.
        let depth = unsafe { push(&mut self.heap.bins[list], buffer.cast()) };
        self.touched |= 1 << list;
        self.freed[list] += 1;
        if depth >= self.most_kept {
            // SAFETY: the contract above.
            unsafe { self.share(list) };
        }
    }

    /// Gives a long list to the other threads of the ECB, if there are any.
    #[cold]
    pub(super) unsafe fn share(&mut self, list: usize) {
        // SAFETY: the thread is inside.
        let block = unsafe { &*self.block };
        if block.is_threaded.load(Ordering::Relaxed) == 0 {
            self.most_kept *= 2;
            return;
        }
        self.most_kept = MOST_KEPT;
        let chain: *mut Piece = core::mem::replace(&mut self.heap.bins[list], null_mut()).cast();
        // SAFETY: the pieces are ours.
        unsafe {
            self.handed[list] -= depth(chain) as i32;
            block.shared.lock().chains.put(&block.chains, list, chain, list_of);
        }
    }

    /// Takes in buffers that threads outside freed.
    #[cold]
    pub(super) unsafe fn collect(&mut self, mut cell: *mut Cell) {
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
            if low::is_low(area) {
                self.figures.count_low(true);
            }
            self.figures.count_large(self.class(), bytes, true);
            block.shared.lock().count(block.named(), 0, bytes, (0, 1));
            block.free_large(area);
        }
    }

    /// Counts a buffer below 2 GiB, of so many bytes.
    pub unsafe fn count_low(&mut self, bytes: usize, is_freed: bool) {
        self.figures.count_low(is_freed);
        self.figures.count_large(self.class(), bytes, is_freed);
        let change = if is_freed { (0, 1) } else { (1, 0) };
        // SAFETY: the thread is inside; under the lock.
        unsafe {
            let block = &*self.block;
            block.shared.lock().count(block.named(), 0, bytes, change);
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
