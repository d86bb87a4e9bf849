//! A thread's heap: cells of its own, got and freed without a lock.
//!
//! ```text
//!             bins[class] -> cell -> cell -> nil            malloc takes here
//! pool[class] current  -> extent  (list: cells freed since)
//!             partial  -> extent <-> extent                 have free cells
//!             full     -> extent <-> extent                 looked at when a step of cells waits
//! inbox    <- cells that other threads freed, in batches: carriers of cells, linked
//! outbox[] -> cells of other threads, waiting to be a batch
//! ```
//!
//! malloc pops from a bin: no lock, no counter. free pushes to the cell's extent and counts down. All other work, accounts
//! included, happens when a bin is empty or a countdown ends; that is the heartbeat at which remote cells are collected and
//! figures settled.
//!
//! Invariant: `handed` cells were in a bin when it was last filled or looked at; those no longer in it were got.
//! Not here: exact figures (`settling`), cells of other threads (`remote`, `carrier`), the ownership of a thread's heap (`threads`,
//! `abandoned`), the storage below it (`space`), and its callers (`crate::heap`).

mod abandoned;
mod by_size;
mod carrier;
mod figures;
mod remote;
mod sampler;
mod settling;
pub mod slot;
mod threads;

use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};

pub use remote::send_one;
pub use sampler::Ready;
pub use threads::{
    Threads, abandon_all, acquire, each_of, empty_old, end_all, hold_spare, is_spare_free, lose_others,
    of_thread, release_abandoned, release_spare, settle_abandoned, settle_others,
};

use super::cell::Cell;
use super::extent::{Extent, Place};
use super::gate::Gate;
use super::inbox::Inbox;
use super::line::Line;
use super::object::{self, DEFAULT, Heap};
use super::size::{CLASS_OF_UNITS, CLASSES, Cells, LARGEST_CELL, LARGEST_SMALL, STANDARD, UNITS};
use super::{OurSegments, check, pools};
use crate::coverage;
use by_size::BySize;
use figures::Figures;
use remote::{OUTBOXES, Outgoing};
use underbar_sys::clock;

/// `owner` of an extent whose heap fills storage: not the heap's address, so that free takes the slow path.
pub const FILLING: usize = 2;
/// Bits that are 0 in the address of every heap: an `owner` with one of them set is something else, or tagged.
pub const TAGS: usize = align_of::<ThreadHeap>() - 1;
/// At least this many cells are carved at a time, however large, once enough were asked for that the class is in use.
const FEW: u32 = 4;
const SETTLED_IN: u32 = 64;
/// With this many returned cells a bin is not filled further; fewer are topped up with new ones.
const TOP_UP: u32 = 32;
/// Of lists within a tick of the clock, so many do not read it.
const FAST_LISTS: u8 = 15;
/// An extent of large cells has room for this many, less one for what is before its cells.
const LEAST_CELLS: usize = 16;

#[derive(Clone, Copy)]
struct Pool {
    current: *mut Extent,
    partial: *mut Extent,
    full: *mut Extent,
    /// Cells in the bin when it was last filled or looked at.
    handed: u32,
    /// Most cells to carve at the next fill; grows, so that a small program is not charged for a page of every size that it asks
    /// for once.
    stride: u32,
}

impl Pool {
    const NEW: Self =
        Self { current: null_mut(), partial: null_mut(), full: null_mut(), handed: 0, stride: 4 };
}

/// The address of no control block.
pub const NO_BLOCK: *const u8 = core::ptr::without_provenance(2);

/// The heap of one thread: its part of a [`Heap`].
#[repr(C, align(64))]
pub struct ThreadHeap {
    /// Copied here so that malloc needs one address only.
    pub class_of: [u8; UNITS],
    /// Cells ready to be got. The owner alone reads and writes.
    pub bins: [*mut Cell; CLASSES],
    /// The largest request for a cell that this thread has recorded in the ledger, and by how many bytes it exceeds the small
    /// sizes.
    noted: usize,
    noted_large: usize,
    /// It is a seat in an ECB, which has no extents. Next to what requests read.
    pub is_seat: bool,
    /// Of a seat: the control block whose buffers it takes back by a look at their marks. Else a place that is none.
    pub plain: *const u8,
    /// It is such a seat, and requests are not traced.
    pub is_untraced: bool,
    /// Replaces `bins` while storage is filled (STORAGE): `bins` stays empty, so that malloc takes the slow path.
    quiet_bins: [*mut Cell; CLASSES],
    pools: [Pool; CLASSES],
    tally: Figures,
    by_size: BySize,
    outbox: [Outgoing; OUTBOXES],
    /// The heap that it is a part of.
    pub heap: &'static Heap,
    /// The sizes of that heap's cells.
    cells: &'static Cells,
    /// The generation of that heap.
    heap_generation: u32,
    /// Enters of this thread without a leave yet; the owner's.
    pub entered: u32,
    /// The owner's in the default heap: this one, or another.
    pub home: *mut ThreadHeap,
    /// Of a home: the owner's first heap among the other ones; of those: the next one. The owner's.
    other: *mut ThreadHeap,
    /// Whether the heap has ended, or its owner; see `threads`.
    fate: AtomicU32,
    /// Next of all in that heap; under the lock of its threads.
    next: *mut ThreadHeap,
    /// Of an abandoned heap: the one that was left before it, the one that was left after it, and when it was; under the same lock.
    below: *mut ThreadHeap,
    above: *mut ThreadHeap,
    left_at: u64,
    /// Abandoned, and it still has its extents for the next thread; under the same lock.
    ready: bool,
    /// The newest cell in the inbox that is counted already, and how many are.
    counted: *mut Cell,
    counted_cells: u64,
    /// Where its next samples are, under SITES; null: not known yet. The owner's.
    sampler: *mut sampler::Sampler,
    /// The clock when it was last read for a list, and how many lists go without; the owner's.
    clock_then: u64,
    lists_without_clock: u8,
    /// Entered by threads that send cells; closed when the heap ends.
    pub gate: Line<Gate>,
    /// Of a home: the owner's seat in the ECB that it entered last, and its first seat; null: none. The owner's.
    pub innermost_seat: *mut ThreadHeap,
    pub first_seat: *mut ThreadHeap,
    /// Attended while a thread owns the heap. A heap whose thread did not survive a fork stays attended: its unfinished operations
    /// are unknown, so no thread takes it over.
    inbox: Line<Inbox>,
}

// SAFETY: the empty heaps are never written; the others are reached by pointer only.
unsafe impl Sync for ThreadHeap {}

impl ThreadHeap {
    pub const fn empty(heap: &'static Heap, gate: Gate) -> Self {
        Self {
            class_of: CLASS_OF_UNITS,
            bins: [null_mut(); CLASSES],
            noted: 0,
            noted_large: 0,
            is_seat: false,
            plain: NO_BLOCK,
            is_untraced: false,
            quiet_bins: [null_mut(); CLASSES],
            pools: [Pool::NEW; CLASSES],
            tally: Figures::new(None),
            by_size: BySize::NEW,
            outbox: [Outgoing::NONE; OUTBOXES],
            heap,
            cells: &STANDARD,
            heap_generation: 0,
            entered: 0,
            home: null_mut(),
            other: null_mut(),
            fate: AtomicU32::new(0),
            next: null_mut(),
            below: null_mut(),
            above: null_mut(),
            left_at: 0,
            ready: false,
            counted: null_mut(),
            counted_cells: 0,
            sampler: null_mut(),
            clock_then: 0,
            lists_without_clock: 0,
            gate: Line(gate),
            innermost_seat: null_mut(),
            first_seat: null_mut(),
            inbox: Line(Inbox::new()),
        }
    }
}

/// The slot's value before a thread's first request: every bin is empty, so its first malloc takes the slow path without a test of
/// its own.
pub static EMPTY: ThreadHeap = ThreadHeap::empty(&DEFAULT, Gate::for_ever());
/// The slot's value after a thread's heap was taken from it at its end.
pub static DEPARTED: ThreadHeap = ThreadHeap::empty(&DEFAULT, Gate::for_ever());

/// Bins of a thread's heap.
pub const BINS: usize = CLASSES;

/// The heap in which a thread counts: that of the slot, or its home if that is a seat.
///
/// # Safety
/// It is the slot's, and real.
#[inline(always)]
pub unsafe fn counting(heap: *mut ThreadHeap) -> *mut ThreadHeap {
    // SAFETY: the caller's promise; a seat has a home.
    unsafe { if (*heap).is_seat { (*heap).home } else { heap } }
}

/// Does a slot's heap have cells?
#[inline]
pub fn is_real(heap: *const ThreadHeap) -> bool {
    !core::ptr::eq(heap, &EMPTY) && !core::ptr::eq(heap, &DEPARTED)
}

/// All methods are called by the owner, or, if there is none, under the lock of the heap's threads.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl ThreadHeap {
    /// The generation of the heap that it is a part of.
    pub fn generation(&self) -> u32 {
        self.heap_generation
    }

    /// How many bytes a request may exceed the small sizes without being recorded in the ledger.
    #[inline(always)]
    pub fn noted_large(&self) -> usize {
        if cfg!(feature = "no-accounts") { LARGEST_CELL - LARGEST_SMALL } else { self.noted_large }
    }

    /// Is a request of this size already covered by the ledger?
    #[inline(always)]
    pub fn has_noted(&self, size: usize) -> bool {
        cfg!(feature = "no-accounts") || size <= self.noted
    }

    /// The ledger has recorded a request of this size, the largest so far; 0: all must be recorded again.
    pub fn note(&mut self, size: usize) {
        self.noted = size;
        self.noted_large = size.min(LARGEST_CELL).saturating_sub(LARGEST_SMALL);
    }

    /// As [`Self::note`], in a heap whose cells are not those of [`STANDARD`]: no larger cell is ready.
    pub fn note_small(&mut self, size: usize) {
        self.noted = size;
    }

    /// The list of ready cells: the bin, or, while storage is filled, a list that malloc does not see.
    fn bin(&mut self, class: usize) -> &mut *mut Cell {
        if self.heap.settings.fills() { &mut self.quiet_bins[class] } else { &mut self.bins[class] }
    }

    /// A cell, when the bin of its class may be empty. Null if there is no memory.
    pub unsafe fn get(&mut self, class: usize) -> *mut Cell {
        let cell = *self.bin(class);
        if cell.is_null() {
            // SAFETY: the contract above.
            return unsafe { self.fill_bin(class) };
        }
        // SAFETY: cells in a bin are free, and begin with a link.
        *self.bin(class) = unsafe { (*cell).next.get() };
        cell
    }

    /// Gets a cell, and puts more into an empty bin. Null if there is no memory.
    #[cold]
    #[inline(never)]
    unsafe fn fill_bin(&mut self, class: usize) -> *mut Cell {
        // SAFETY: the contract above.
        unsafe { self.fill::<false>(class) }
    }

    /// As [`Self::fill_bin`]; under SITES (`SAMPLES`) the list ends before a cell that holds a point. The first cell holds none.
    #[inline(always)]
    unsafe fn fill<const SAMPLES: bool>(&mut self, class: usize) -> *mut Cell {
        let handed = core::mem::take(&mut self.pools[class].handed);
        // With the one that is got now: a large cell may be alone in its list.
        if self.tally.got_in_all(handed + 1, self.cells.bytes[class]) {
            self.tally.publish();
        } else if object::is_look_ahead() {
            // A program that asks for little would publish once in minutes.
            self.heartbeat();
        }
        if self.by_size.got(class, handed + 1) {
            self.by_size.publish(class, self.cells, self.tally.pool());
        }
        // SAFETY: extents in our pools are live and ours.
        unsafe {
            self.collect();
            loop {
                let mut extent = self.pools[class].current;
                // A partial extent has a step of cells or more: few cells would be used up at once, again and again.
                if !extent.is_null() && (*extent).has_few() && !self.pools[class].partial.is_null() {
                    self.lay_aside(class, extent);
                    extent = null_mut();
                }
                if extent.is_null() {
                    extent = self.next_extent(class);
                    if extent.is_null() {
                        self.tally.not_got(handed, self.cells.bytes[class]);
                        self.by_size.not_got(class);
                        return null_mut();
                    }
                    (*extent).place = Place::Current;
                    self.pools[class].current = extent;
                }
                let (cells, count) = self.take_cells(extent);
                if count > 0 {
                    let count = if SAMPLES { self.cut(class, extent, cells, count) } else { count };
                    let out_before = (*extent).out();
                    self.pools[class].handed = count - 1;
                    (*extent).countdown += count;
                    *self.bin(class) = (*cells).next.get();
                    if self.tally.is_apart() {
                        self.tally.filled(handed + 1, &*extent, out_before);
                    }
                    if self.tally.handed(count, &mut *extent, out_before) {
                        self.grown();
                    }
                    return cells;
                }
                self.lay_aside(class, extent);
            }
        }
    }

    /// Runs a look at idle storage if it is due. If lists follow each other faster than the clock ticks, only some of them read it: that
    /// takes as long as a tenth of a list.
    #[cold]
    #[inline(never)]
    fn heartbeat(&mut self) {
        if self.lists_without_clock > 0 {
            self.lists_without_clock -= 1;
            return;
        }
        let now = clock::coarse();
        self.lists_without_clock = if now == self.clock_then { FAST_LISTS } else { 0 };
        self.clock_then = now;
        object::heartbeat_if_due();
    }

    /// All cells that came back to an extent, or else new ones. Inlined: a call would cost each list ten instructions.
    #[inline(always)]
    unsafe fn take_cells(&mut self, extent: *mut Extent) -> (*mut Cell, u32) {
        // SAFETY: the extent is ours.
        let extent = unsafe { &mut *extent };
        let (back, waiting) = (extent.list, extent.waiting());
        // SAFETY: a cell in the list is free, and begins with a link.
        if !back.is_null() && unsafe { (*back).next.get() } == back {
            // SAFETY: the extent is the cell's.
            unsafe { check::end_twice(back as usize, extent) };
        }
        extent.list = null_mut();
        let class = extent.class as usize;
        let stride = &mut self.pools[class].stride;
        let least = if *stride >= SETTLED_IN { FEW } else { 1 };
        let wanted = (*stride).min(self.cells.carved[class]).max(least);
        if waiting >= wanted.min(TOP_UP) {
            return (back, waiting);
        }
        // Few have come back: with new ones on top, a program that gets and frees in turns comes here less and less. By quarters,
        // since waiting cells are not seen: they must be a small part of the storage of a program that asks for little.
        *stride = stride.saturating_add(*stride / 4);
        let (first, carved) = extent.carve(wanted - waiting, back);
        if carved == 0 { (back, waiting) } else { (first, carved + waiting) }
    }

    #[inline(always)]
    unsafe fn next_extent(&mut self, class: usize) -> *mut Extent {
        let partial = self.pools[class].partial;
        if !partial.is_null() {
            // SAFETY: it heads our list.
            unsafe { unlink(&mut self.pools[class].partial, partial) };
            return partial;
        }
        let (extent, is_new) = {
            let mut space = self.heap.space.lock();
            let waiting = space.unpark(class);
            if waiting.is_null() {
                let bytes = match self.cells.extents[class] {
                    (0, _) => {
                        let least = space.extent_bytes(self.heap.settings.extent_bytes());
                        (self.cells.bytes[class] as usize * LEAST_CELLS).next_multiple_of(least).max(least)
                    }
                    (of_a_pool, _) => of_a_pool as usize,
                };
                (space.get_extent(bytes), true)
            } else {
                (waiting, false)
            }
        };
        if is_new {
            coverage::look_if_due::<OurSegments>();
        }
        // SAFETY: what the space gave is ours.
        if let Some(extent) = unsafe { extent.as_mut() } {
            if is_new {
                extent.set_class(class, self.cells);
                if let Some(pool) = self.tally.pool() {
                    pools::count_extent(pool, class);
                }
            }
            let tag = if self.heap.settings.fills() { FILLING } else { 0 };
            extent.owner.store(&raw mut *self as usize | tag, Ordering::Relaxed);
        }
        extent
    }

    /// Lays an extent aside until enough of its cells have come back for a look.
    unsafe fn lay_aside(&mut self, class: usize, extent: *mut Extent) {
        // SAFETY: the extent is ours and in no list.
        unsafe {
            (*extent).count_to_a_step();
            (*extent).place = Place::Full;
            link(&mut self.pools[class].full, extent);
        }
        self.pools[class].current = null_mut();
    }

    /// A countdown has ended: a full extent has cells again, or an extent has all its cells back.
    #[cold]
    #[inline(never)]
    pub unsafe fn countdown_ended(&mut self, extent: *mut Extent) {
        // SAFETY: the extent is ours.
        unsafe {
            let out = (*extent).held;
            if out == 0 {
                // In the current extent they wait to be taken again, and are counted then.
                if (*extent).place != Place::Current {
                    self.all_back(extent);
                }
                return;
            }
            (*extent).count_on();
            if (*extent).place == Place::Full {
                (*extent).place = Place::Partial;
                let pool = &mut self.pools[(*extent).class as usize];
                unlink(&mut pool.full, extent);
                link(&mut pool.partial, extent);
            }
            // Last, so that nothing is kept across the call.
            self.tally.settle_and_publish(&mut *extent, out);
        }
    }

    /// An extent, not the current one, has all its cells back.
    #[inline(never)]
    unsafe fn all_back(&mut self, extent: *mut Extent) {
        // SAFETY: the extent is ours.
        unsafe {
            self.tally.settle_all_back(&mut *extent);
            let pool = &mut self.pools[(*extent).class as usize];
            let list = if (*extent).place == Place::Full { &mut pool.full } else { &mut pool.partial };
            unlink(list, extent);
            if pool.current.is_null() {
                (*extent).place = Place::Current;
                pool.current = extent;
            } else {
                self.heap.space.lock().park(extent);
            }
        }
    }

    /// Takes back a cell of an extent of ours.
    #[inline]
    pub unsafe fn put(&mut self, extent: *mut Extent, cell: *mut Cell) {
        // SAFETY: the cell came from the extent and nobody uses it any more.
        unsafe {
            (*cell).next.set((*extent).list);
            (*extent).list = cell;
            (*extent).countdown -= 1;
            if (*extent).countdown == 0 {
                self.countdown_ended(extent);
            }
        }
    }

    /// The ledger has counted an element, and has `used` bytes in use.
    pub fn elements_used(&mut self, used: i64) {
        self.tally.elements_used(used);
    }

    /// Publishes the bytes that went out in excess of those that came back, if any.
    pub fn publish_growth(&mut self) {
        self.tally.publish_growth();
    }

    /// Forgets all cells and extents: their heap has ended.
    fn forget_cells(&mut self) {
        self.bins = [null_mut(); CLASSES];
        self.quiet_bins = [null_mut(); CLASSES];
        self.pools = [Pool::NEW; CLASSES];
        self.tally = Figures::new(None);
        self.by_size = BySize::NEW;
        self.outbox = [Outgoing::NONE; OUTBOXES];
        (self.counted, self.counted_cells, self.ready) = (null_mut(), 0, false);
    }

    /// Gives back current extents that are not needed, their figures counted: those with so many bytes of carved cells, or more.
    unsafe fn release_empty(&mut self, keep: usize) {
        for pool in &mut self.pools {
            let extent = pool.current;
            // SAFETY: a current extent without cells out is in no list; it is only `current`.
            unsafe {
                if !extent.is_null() && (*extent).out() == 0 && (*extent).carved_bytes() >= keep {
                    self.tally.settle(&mut *extent);
                    pool.current = null_mut();
                    self.heap.space.lock().park(extent);
                }
            }
        }
    }
}

/// # Safety
/// The extent is in no list.
unsafe fn link(head: &mut *mut Extent, extent: *mut Extent) {
    // SAFETY: extents in lists are live.
    unsafe {
        (*extent).next = *head;
        (*extent).previous = null_mut();
        if !(*head).is_null() {
            (**head).previous = extent;
        }
    }
    *head = extent;
}

/// # Safety
/// The extent is in that list.
unsafe fn unlink(head: &mut *mut Extent, extent: *mut Extent) {
    // SAFETY: extents in lists are live.
    unsafe {
        let (next, previous) = ((*extent).next, (*extent).previous);
        if !next.is_null() {
            (*next).previous = previous;
        }
        if previous.is_null() { *head = next } else { (*previous).next = next }
    }
}

#[cfg(test)]
mod tests;
