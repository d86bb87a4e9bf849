//! Cells that one thread freed and another one owns: sent in batches, received through the inbox.
//!
//! ```text
//! free -> outbox[target] -> batch of 64 cells or 16K -> send -> inbox of the owner -> collect, when a bin is empty
//!         a carrier of others       carriers, linked
//! ```
//!
//! When the owner's heap ends, its cells in outboxes no longer exist. A batch holds the generation with which it began. If that
//! has ended, the batch is dropped and its cells are not touched (`gate`).
//!
//! Invariant: a cell is in one place: an outbox, an inbox, or its extent. For the accounts, a cell in an outbox is not yet freed.
//! Not here: the inbox itself, checked by loom (`inbox`); how one cell carries others (`carrier`).

use core::ptr::null_mut;

use underbar_ledger::Key;

use super::{Cell, Extent, ThreadHeap, carrier};
use crate::heap::cell::expect_write;
use crate::heap::gate::FOR_EVER;
use crate::heap::{check, map};

/// Targets for which a thread collects remote frees at a time.
pub(super) const OUTBOXES: usize = 8;
/// A batch is sent when it has this many cells or bytes.
const BATCH_CELLS: u32 = 64;
const BATCH_BYTES: i32 = 16 * 1024;

#[derive(Clone, Copy)]
pub(super) struct Outgoing {
    target: *mut ThreadHeap,
    /// The target's generation when the batch began. If it has changed, the batch is dropped, since its cells no longer exist.
    generation: u32,
    /// The carrier that is open, and the first one.
    head: *mut Cell,
    tail: *mut Cell,
    /// What the open one carries, and how many more it has room for.
    carried: u32,
    left: u32,
    /// Cells and bytes that may still join.
    room: u32,
    bytes: i32,
}

impl Outgoing {
    pub(super) const NONE: Self = Self {
        target: null_mut(),
        generation: 0,
        head: null_mut(),
        tail: null_mut(),
        carried: 0,
        left: 0,
        room: 0,
        bytes: 0,
    };
}

/// As in the parent, all methods are called by the owner, or, if there is none, under the lock of the heap's threads.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl ThreadHeap {
    /// Takes in the cells that other threads freed.
    pub(super) unsafe fn collect(&mut self) {
        let chain = self.inbox.take();
        if !chain.is_null() {
            self.counted = null_mut();
            // SAFETY: cells that arrive in the inbox are ours.
            unsafe { self.put_chain(chain) };
        }
    }

    /// Takes back cells that other threads freed. A cell that two of them freed can make a circle of the chain. The loop still
    /// ends: an extent takes back no more cells than are out.
    pub(super) unsafe fn put_chain(&mut self, mut carrier: *mut Cell) {
        let mut cells = 0;
        while !carrier.is_null() {
            // SAFETY: cells in the inbox are free and ours, and so are those that they carry.
            unsafe {
                let next = (*carrier).next.get();
                expect_write(next);
                let (count, carried) = carrier::carried(carrier);
                for &cell in &carried[..count] {
                    expect_write(cell);
                }
                for &cell in &carried[..count] {
                    self.put_arrived(cell);
                }
                self.put_arrived(carrier);
                carrier = next;
                cells += count as u64 + 1;
            }
        }
        self.heap.add(Key::HeapRemoteFrees, cells - core::mem::take(&mut self.counted_cells).min(cells));
    }

    /// Takes back a cell that another thread freed.
    #[inline(always)]
    unsafe fn put_arrived(&mut self, cell: *mut Cell) {
        // SAFETY: the cell is free and ours; its page belongs to its extent.
        unsafe {
            let extent: *mut Extent = map::lookup(cell as usize).cast();
            if (*extent).out() == 0 || (*extent).list == cell {
                check::end_twice(cell as usize, extent);
            }
            self.put(extent, cell);
        }
    }

    /// Counts the cells that other threads freed without putting them away: a signal may have interrupted this thread in the
    /// middle of its lists. After [`Self::settle_all`].
    pub unsafe fn count_inbox(&mut self) {
        let newest = self.inbox.waiting();
        let (mut cell, mut seen) = (newest, newest);
        let (mut cells, mut carriers) = (0, 0_u64);
        while !cell.is_null() && cell != self.counted {
            // SAFETY: cells in the inbox are free, ours, and stay there until we take them.
            unsafe {
                let (count, carried) = carrier::carried(cell);
                for &one in carried[..count].iter().chain([&cell]) {
                    let extent: *mut Extent = map::lookup(one as usize).cast();
                    (*extent).settled = (*extent).settled.saturating_sub(1);
                    self.tally.came_back(1, (*extent).cell_bytes);
                }
                cell = (*cell).next.get();
                cells += count as u64 + 1;
            }
            carriers += 1;
            // A cell that two threads gave back makes a circle, which is noticed when it is put away.
            if cell == seen {
                break;
            }
            if carriers.is_power_of_two() {
                seen = cell;
            }
        }
        self.counted = newest;
        self.counted_cells += cells;
        self.heap.add(Key::HeapRemoteFrees, cells);
        self.tally.publish();
    }

    /// Lays a cell of another thread's extent aside, and sends the batch if it is full.
    #[inline]
    pub unsafe fn put_remote(&mut self, target: *mut ThreadHeap, extent: *mut Extent, cell: *mut Cell) {
        let at = (target as usize / size_of::<ThreadHeap>().next_power_of_two()) % OUTBOXES;
        // SAFETY: threads' heaps stay where they are for ever. The cell was in use until now, so the generation is its own.
        let generation = unsafe { (*target).gate.generation() };
        let out = &mut self.outbox[at];
        if out.target != target || out.generation != generation {
            // SAFETY: the contract above.
            return unsafe { self.begin_batch(at, (target, generation), extent, cell) };
        }
        // SAFETY: no code uses the cell any more; the outbox is ours.
        unsafe {
            if out.left == 0 {
                carrier::close(out.head, out.carried);
                carrier::begin(cell, out.head);
                (out.head, out.carried, out.left) = (cell, 0, room_in(extent, target));
            } else {
                carrier::put(out.head, out.carried, cell);
                out.carried += 1;
                out.left -= 1;
            }
            out.room -= 1;
            out.bytes -= (*extent).cell_bytes as i32;
            if out.room == 0 || out.bytes <= 0 {
                self.flush(at);
            }
        }
    }

    /// The first cell of a batch.
    #[cold]
    #[inline(never)]
    unsafe fn begin_batch(
        &mut self,
        at: usize,
        (target, generation): (*mut ThreadHeap, u32),
        extent: *mut Extent,
        cell: *mut Cell,
    ) {
        // SAFETY: no code uses the cell any more; the outbox is ours.
        unsafe {
            self.flush(at);
            carrier::begin(cell, null_mut());
            let bytes = BATCH_BYTES - (*extent).cell_bytes as i32;
            let (head, tail, room, left) = (cell, cell, BATCH_CELLS - 1, room_in(extent, target));
            self.outbox[at] = Outgoing { target, generation, head, tail, carried: 0, left, room, bytes };
            if bytes <= 0 {
                self.flush(at);
            }
        }
    }

    /// Number of cells that wait in the inbox.
    #[cfg(test)]
    pub unsafe fn inbox_waits(&self) -> usize {
        let (mut cell, mut count) = (self.inbox.waiting(), 0);
        while !cell.is_null() {
            // SAFETY: cells in the inbox are free, and stay there until we take them.
            unsafe {
                count += 1 + carrier::carried(cell).0;
                cell = (*cell).next.get();
            }
        }
        count
    }

    unsafe fn flush(&mut self, at: usize) {
        let out = core::mem::replace(&mut self.outbox[at], Outgoing::NONE);
        if !out.head.is_null() {
            // SAFETY: the chain is ours to give.
            unsafe { send(out.target, out.generation, (out.head, out.tail), out.carried) };
        }
    }

    /// Sends all waiting batches.
    pub unsafe fn flush_all(&mut self) {
        for at in 0..OUTBOXES {
            // SAFETY: the contract above.
            unsafe { self.flush(at) };
        }
    }
}

/// How many cells one of this extent carries: where storage that is given back is filled, no more than have room in front of what is
/// filled.
///
/// # Safety
/// Both are live.
#[inline(always)]
unsafe fn room_in(extent: *mut Extent, target: *mut ThreadHeap) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { if (*target).heap.settings.are_usual() { carrier::room((*extent).cell_bytes) } else { 1 } }
}

/// Gives one cell to the thread's heap of whose extents it is, as [`send`].
///
/// # Safety
/// The cell is free, and one of `target`'s.
pub unsafe fn send_one(target: *mut ThreadHeap, cell: *mut Cell) {
    // SAFETY: the caller's promise.
    unsafe {
        carrier::begin(cell, null_mut());
        send(target, (*target).gate.generation(), (cell, cell), 0);
    }
}

/// Gives a chain of carriers to the thread's heap whose cells they are, and closes the first one, which carries `carried` cells. If
/// that heap has ended meanwhile, the cells no longer exist and were counted as freed: nothing of them is touched.
///
/// # Safety
/// The carriers from `head` to `tail` are linked, closed but for the first, free, and all their cells are of `target`'s extents, in
/// that generation.
unsafe fn send(target: *mut ThreadHeap, generation: u32, (head, tail): (*mut Cell, *mut Cell), carried: u32) {
    // SAFETY: threads' heaps stay where they are for ever; the chain is the caller's, and exists while the heap does not end.
    unsafe {
        let gate = &(*target).gate;
        if generation == FOR_EVER {
            carrier::close(head, carried);
            deliver(target, head, tail);
        } else if gate.enter(generation) {
            carrier::close(head, carried);
            deliver(target, head, tail);
            gate.leave();
        }
    }
}

/// # Safety
/// As [`send`]; the target does not end meanwhile.
#[inline]
unsafe fn deliver(target: *mut ThreadHeap, head: *mut Cell, tail: *mut Cell) {
    // SAFETY: the caller's promise.
    unsafe {
        if !(*target).inbox.push(head, tail) {
            // No thread is there to collect: do it on the dead thread's behalf, so that its storage is not stuck.
            let _threads = (*target).heap.threads.lock();
            if (*target).inbox.is_unattended() {
                let chain = (*target).inbox.take_unattended();
                (*target).put_chain(chain);
                if !(*target).ready {
                    (*target).release_empty(0);
                }
            }
        }
    }
}
