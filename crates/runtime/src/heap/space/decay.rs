//! Decay: pages of free blocks that stay unused for a while go back to the kernel.
//!
//! ```text
//! free   block | used... | free ................................ | used      of 256 KiB or more
//! units        |  . |  7 |  7 |  0 |  0 |  3 |  3 |  3 |  p | .  |           64 KiB each
//!                     7: freed lately, stays      3: freed long ago, goes back
//!                     0: never used               p: went back lately
//! ```
//!
//! A free makes no system call, with one exception: it only notes the time in the units that it covers. Storage that is taken again
//! within the delay costs nothing at all, so a buffer that comes and goes keeps its pages. From time to time any thread that comes by
//! runs a look.
//! It gives back the units that are wholly free and whose time is over; neighbours go in one call. A look gives back only as much
//! as a request can wait for, and the next look continues. If units are taken again soon after they went back, they were given
//! back too early: then the delay grows.
//!
//! The exception is a block of a new size: when it was got, or is freed, no block as large had been freed. A program that copies an array
//! into larger and larger ones, or reads all its data at the start, leaves blocks behind that serve none of those to come, and most programs
//! end before any time is over. A block of a size that was freed before may well be asked for a third time: it stays.
//!
//! Invariant: only whole pages inside free blocks go back, never a page with a block's header, its links, or its address.
//! Cost: two bytes for each 64 KiB; a look walks the free blocks of 256 KiB or more, and the next one comes later the more there
//! are.
//! Not here: segments that are wholly free (`supply`), and the threads that run a look (`parked`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_sys::{clock, syscall};

use super::super::block::Block;
use super::super::map::PAGE;
use super::super::object::{DEFAULT, Heap, next_look_of_lasting};
use super::super::private_storage::OWN;
use super::segment::{FREE_HEAD, segment_of};
use super::{Disposition, MIB, Space};
use crate::{coverage, sandbox};

/// Bytes that share one time.
pub const UNIT: usize = 64 * 1024;
/// Smaller free blocks keep their pages.
const WORTH_A_DECAY: usize = 256 * 1024;
/// A tick of the times that units have, as a power of two in nanoseconds: 17 ms.
const TICK_BITS: u32 = 24;
/// How long unused pages stay, in ticks: a quarter of a second at first, at most three quarters.
const DELAY: u16 = 15;
const LONGEST_DELAY: u16 = 45;
/// Pages that are taken again within this many ticks (a second) after they went back were given back too early.
const SOON: u16 = 60;
/// Bits of a unit's time; 0 is that of a unit that was never used, or went back long ago.
const TIME: u16 = 0x7fff;
/// The unit went back at that time.
const WENT: u16 = 0x8000;
/// A look ends after it gave back this much, also inside a block: threads that wait for the lock go first. It takes about a
/// millisecond.
const MOST_BYTES: usize = 16 * MIB;
/// The look continues after this many nanoseconds: as soon as the coarse clock ticks again.
const GOES_ON_NS: u64 = 1_000_000;
/// The pause between two looks is at least this many nanoseconds for each free block that was walked over.
const NS_OF_A_BLOCK: u64 = 5_000;

/// A block of a new size goes back at once when it is freed, from this size on.
const WORTH_RETURNING: usize = 128 * 1024;

/// Before a request of this size or more, and of a quarter of what is in use, gets storage from the kernel, other storage goes back.
const WORTH_GIVING_BACK: usize = 16 * MIB;

const LEAF_BITS: u32 = 30;
const LEAF_UNITS: usize = (1 << LEAF_BITS) / UNIT;
const LEAVES: usize = 1 << (47 - LEAF_BITS);

impl Heap {
    /// Is there storage that goes back by time, and is it due?
    #[inline]
    pub fn is_look_due(&self) -> bool {
        let at = self.next_look.load(Ordering::Relaxed);
        at != u64::MAX && clock::coarse() >= at
    }

    /// Requests a look at that time at the latest.
    pub fn look_at(&self, nanoseconds: u64) {
        let lower = |next: &AtomicU64| {
            if nanoseconds < next.load(Ordering::Relaxed) {
                next.store(nanoseconds, Ordering::Relaxed);
            }
        };
        lower(&self.next_look);
        if self.settings.serves_ecbs() {
            lower(&DEFAULT.next_look);
        }
    }
}

struct Leaf([AtomicU16; LEAF_UNITS]);

/// Times of units, of all heaps: two heaps may share a unit. All relaxed: the lock of a space orders units of that heap alone, and
/// no unit goes back that is not wholly inside a free block.
static TIMES: [AtomicPtr<Leaf>; LEAVES] = [const { AtomicPtr::new(null_mut()) }; LEAVES];

/// When the next look is due, and what earlier ones learned.
pub struct Decay {
    /// When the oldest units are due for a look; `u64::MAX`: none is.
    pub due: u64,
    delay: u16,
    /// The last look ended before it had given back everything old enough.
    goes_on: bool,
    /// Bytes that went back since the delay was judged, and how many of them were soon taken again.
    went: usize,
    came: usize,
    /// The clock as it was last read.
    now: u64,
    /// Bytes of the largest block of a new size that was freed.
    largest: usize,
}

impl Decay {
    /// Nothing was freed yet.
    pub const fn new() -> Self {
        Self { due: u64::MAX, delay: DELAY, goes_on: false, went: 0, came: 0, now: 0, largest: 0 }
    }

    /// Should the next look come as soon as it can?
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Adjusts the delay: it is right if few of the returned bytes are taken again soon.
    fn judge(&mut self) {
        if self.went < MIB {
            return;
        }
        if self.came * 2 > self.went {
            self.delay = (self.delay * 2).min(LONGEST_DELAY);
        } else if self.came * 8 < self.went {
            self.delay = (self.delay - 1).max(DELAY);
        }
        (self.went, self.came) = (0, 0);
    }
}

fn unit(number: usize) -> Option<&'static AtomicU16> {
    let leaf = TIMES[(number / LEAF_UNITS) & (LEAVES - 1)].load(Ordering::Acquire);
    // SAFETY: a leaf, once made, stays ours for ever.
    Some(&unsafe { leaf.as_ref()? }.0[number % LEAF_UNITS])
}

/// The time of a unit that was freed at `nanoseconds`.
fn time_of(nanoseconds: u64) -> u16 {
    ((nanoseconds >> TICK_BITS) as u16 & TIME).max(1)
}

fn age(now: u16, then: u16) -> u16 {
    now.wrapping_sub(then) & TIME
}

/// Notes the units of a free block that was too small to be noted, except those that have a time: they were part of a larger one.
fn note_joined(range: core::ops::Range<usize>, time: u16) {
    for number in range.start / UNIT..range.end.div_ceil(UNIT) {
        match unit(number) {
            Some(unit) if unit.load(Ordering::Relaxed) != 0 => {}
            Some(unit) => unit.store(time, Ordering::Relaxed),
            None => new_leaf(number, time),
        }
    }
}

#[cold]
fn new_leaf(number: usize, time: u16) {
    let place = &TIMES[(number / LEAF_UNITS) & (LEAVES - 1)];
    let mut own = OWN.lock();
    // Another heap may have made the leaf first.
    if place.load(Ordering::Relaxed).is_null() {
        place.store(own.get(size_of::<Leaf>()).cast(), Ordering::Release);
        own.tell();
    }
    // Without memory for times, pages stay.
    if let Some(unit) = unit(number) {
        unit.store(time, Ordering::Relaxed);
    }
}

impl Space {
    fn heap(&self) -> &'static Heap {
        // SAFETY: heaps stay where they are for ever.
        unsafe { &*self.heap }
    }

    pub(super) fn is_look_due(&self) -> bool {
        self.heap().is_look_due()
    }

    /// The same, at the time that [`Space::note_freed`] has just read.
    #[inline]
    pub(super) fn is_look_due_as_noted(&self) -> bool {
        self.decay.now >= self.heap().next_look.load(Ordering::Relaxed)
    }

    /// Requests a look at that time at the latest.
    pub(super) fn look_at(&self, nanoseconds: u64) {
        self.heap().look_at(nanoseconds);
    }

    /// When heaps of threads that have ended are to be emptied.
    pub(super) fn next_emptying(&self) -> u64 {
        self.heap().next_emptying.load(Ordering::Relaxed)
    }

    /// After a look: the next one is not needed before that time.
    pub(super) fn looked_until(&self, nanoseconds: u64) {
        let is_default = core::ptr::eq(self.heap, &DEFAULT);
        let lasting = if is_default { next_look_of_lasting() } else { u64::MAX };
        self.heap().next_look.store(nanoseconds.min(lasting), Ordering::Relaxed);
    }

    /// Notes that the bytes of a range, which was in use, are free now, inside a free block of `free` bytes. That block is joined
    /// from the range and the free blocks `before` and `after`, in bytes: those that were too small to be noted are noted with it.
    /// Returns whether the clock was read for it.
    #[inline]
    pub(super) fn note_freed(
        &mut self,
        range: core::ops::Range<usize>,
        before: usize,
        after: usize,
        high: usize,
    ) -> bool {
        let free = range.len() + before + after;
        if free < WORTH_A_DECAY || self.policy.disposition != Disposition::Auto {
            return false;
        }
        // Small ones are frequent: the clock is read for some of them.
        let is_timed = range.len() >= UNIT || self.operations.is_multiple_of(16) || self.decay.now == 0;
        if is_timed {
            self.decay.now = clock::coarse().max(1);
        }
        let time = time_of(self.decay.now);
        for number in range.start / UNIT..=(range.end - 1) / UNIT {
            match unit(number) {
                Some(unit) => unit.store(time, Ordering::Relaxed),
                None => new_leaf(number, time),
            }
        }
        if before > 0 && before < WORTH_A_DECAY {
            note_joined(range.start - before..range.start, time);
        }
        if after > 0 && after < WORTH_A_DECAY {
            note_joined(range.end..(range.end + after).min(high), time);
        }
        if self.decay.due == u64::MAX {
            self.decay.due = self.decay.now + (u64::from(self.decay.delay) << TICK_BITS);
            self.look_at(self.decay.due);
        }
        is_timed
    }

    /// Notes all free storage: until now nothing went back by time.
    pub(super) fn note_all_free(&mut self) {
        let mut next = self.index.first(WORTH_A_DECAY);
        while let Some(block) = next {
            // SAFETY: blocks in the index are free blocks of live segments, and we hold the lock.
            unsafe {
                next = self.index.after(block);
                let segment = &*segment_of(block);
                let high = segment.high;
                if block.0 < high && !segment.initial {
                    self.note_freed(block.0..(block.0 + block.size()).min(high), 0, 0, high);
                }
            }
        }
    }

    /// Whether no block of about that size was freed before: a quarter more is another size, so that an array that grows by one element at
    /// a time is not returned each time.
    fn is_new_size(&self, bytes: usize) -> bool {
        bytes >= WORTH_RETURNING
            && bytes > self.decay.largest + self.decay.largest / 4
            && self.policy.disposition == Disposition::Auto
    }

    /// Marks the block of a new element, or of a larger one, if its size is new.
    ///
    /// # Safety
    /// The element is in use, in a live segment.
    #[inline]
    pub(super) unsafe fn note_size(&self, block: Block, bytes: usize) {
        if self.is_new_size(bytes) {
            // SAFETY: the caller's promise; we hold the lock.
            unsafe { block.set_of_new_size() };
        }
    }

    /// Whether a block that is freed goes back at once.
    ///
    /// # Safety
    /// The block is in use, in a live segment.
    pub(super) unsafe fn goes_back_at_once(&mut self, block: Block, bytes: usize) -> bool {
        // SAFETY: the caller's promise; we hold the lock.
        let is_new = unsafe { block.is_of_new_size() } || self.is_new_size(bytes);
        if is_new {
            self.decay.largest = self.decay.largest.max(bytes);
        }
        is_new && self.policy.disposition == Disposition::Auto && !sandbox::is_closed()
    }

    /// Gives back the pages of a range that is inside a free block and was in use until now, as far as a request can wait for that.
    pub(super) fn give_back_freed(&mut self, range: core::ops::Range<usize>) {
        // The block's header and links are at its beginning, and its address at its end.
        let start = (range.start + FREE_HEAD).next_multiple_of(PAGE);
        let end = (range.end - 8) / PAGE * PAGE;
        if end > start {
            // SAFETY: whole pages between the block's links and its last word; no code relies on their content.
            unsafe { give_back(self.owner(), start, (end - start).min(MOST_BYTES)) };
            coverage::shrank();
        }
    }

    /// Notes that the bytes of a range are taken, and counts those that went back a short time ago.
    #[inline]
    pub(super) fn note_taken(&mut self, range: core::ops::Range<usize>) {
        if range.len() < UNIT || self.policy.disposition != Disposition::Auto {
            return;
        }
        let now = time_of(self.decay.now);
        for number in range.start.div_ceil(UNIT)..range.end / UNIT {
            let Some(unit) = unit(number) else { return };
            let then = unit.load(Ordering::Relaxed);
            if then & WENT != 0 {
                let soon = age(now, then & TIME) <= SOON;
                unit.store(0, Ordering::Relaxed);
                self.decay.came += if soon { UNIT } else { 0 };
            }
        }
    }

    /// Gives back storage that is free for long enough at this time, and schedules the next look.
    pub(super) fn decay(&mut self, nanoseconds: u64) {
        (self.decay.now, self.decay.goes_on) = (nanoseconds, false);
        if nanoseconds < self.decay.due || sandbox::is_closed() {
            return;
        }
        self.decay.judge();
        let now = time_of(nanoseconds);
        let (mut blocks, mut went, mut waits) = (0, 0, false);
        let mut next = self.index.first(WORTH_A_DECAY);
        while let Some(block) = next {
            // SAFETY: blocks in the index are free blocks of live segments, and we hold the lock.
            unsafe {
                next = self.index.after(block);
                let (young, bytes) = self.decay_block(block, now, self.decay.delay, MOST_BYTES - went);
                waits |= young;
                went += bytes;
            }
            blocks += 1;
            if went >= MOST_BYTES {
                waits = true;
                break;
            }
        }
        self.decay.went += went;
        if went > 0 {
            coverage::shrank();
        }
        self.decay.goes_on = went >= MOST_BYTES;
        let pause =
            if self.decay.goes_on { GOES_ON_NS } else { u64::from(self.decay.delay / 4) << TICK_BITS };
        self.decay.due = if waits { nanoseconds + pause.max(blocks * NS_OF_A_BLOCK) } else { u64::MAX };
    }

    /// Gives back as many bytes of idle segments and of free blocks, whatever their age, as a large request is about to get from the
    /// kernel: none of them was large enough for it. Otherwise a program with few large blocks that come and go would hold one more than it
    /// ever uses, in the pages around a small one that was taken from the storage of a large one. Beside much that is in use it would not
    /// be noticed, and pages stay for the next request. If such bytes are soon taken again, they stay too.
    pub(super) fn give_back_before(&mut self, bytes: usize) {
        let in_use = self.bytes - self.idle_bytes;
        if bytes < WORTH_GIVING_BACK.max(in_use / 4) {
            return;
        }
        self.return_idle(self.idle_bytes.saturating_sub(bytes));
        let has_learned = self.decay.delay > DELAY;
        if has_learned || self.policy.disposition != Disposition::Auto || sandbox::is_closed() {
            return;
        }
        self.decay.now = clock::coarse().max(1);
        let now = time_of(self.decay.now);
        let mut went = 0;
        let mut next = self.index.first(WORTH_A_DECAY);
        while let Some(block) = next.filter(|_| went < bytes) {
            // SAFETY: blocks in the index are free blocks of live segments, and we hold the lock.
            unsafe {
                next = self.index.after(block);
                went += self.decay_block(block, now, 0, bytes - went).1;
            }
        }
        self.decay.went += went;
        if went > 0 {
            coverage::shrank();
        }
        self.decay.judge();
    }

    /// Gives back the units of a free block that were freed so many ticks ago, at most `most` bytes. Returns whether other units wait, and
    /// how many bytes went.
    ///
    /// # Safety
    /// The block is in the index.
    unsafe fn decay_block(&mut self, block: Block, now: u16, delay: u16, most: usize) -> (bool, usize) {
        // SAFETY: the caller's promise.
        let (size, high) = unsafe { (block.size(), (*segment_of(block)).high) };
        // Its last word is its address. From `high` on nothing was ever used, and what times are there are of an earlier segment.
        let (start, end) = (block.0 + FREE_HEAD, (block.0 + size - 8).min(high));
        let (first, last) = (start.div_ceil(UNIT), end / UNIT);
        let (mut waits, mut bytes) = (false, 0);
        let mut run = first..first;
        for number in first..=last {
            let goes = number < last
                && unit(number).is_some_and(|unit| {
                    let then = unit.load(Ordering::Relaxed);
                    if then == 0 || then & WENT != 0 {
                        // A mark this old has no meaning any more.
                        if then & WENT != 0 && age(now, then & TIME) > SOON {
                            unit.store(0, Ordering::Relaxed);
                        }
                        return false;
                    }
                    let goes = age(now, then) >= delay;
                    waits |= !goes;
                    goes
                });
            if goes {
                run.end = number + 1;
                if bytes + run.len() * UNIT < most {
                    continue;
                }
            }
            if !run.is_empty() {
                // SAFETY: whole units between the block's links and its last word; no code relies on their content.
                let went = unsafe { give_back(self.owner(), run.start * UNIT, run.len() * UNIT) };
                bytes += went;
                // Pages that the kernel does not take, since they are locked, stay: they are tried again only after they were used
                // again.
                let mark = if went > 0 { now | WENT } else { 0 };
                run.for_each(|number| {
                    if let Some(unit) = unit(number) {
                        unit.store(mark, Ordering::Relaxed);
                    }
                });
            }
            if bytes >= most {
                return (true, bytes);
            }
            run = number + 1..number + 1;
        }
        (waits, bytes)
    }
}

/// # Safety
/// Whole pages on whose content no code relies.
unsafe fn give_back(heap: &Heap, start: usize, bytes: usize) -> usize {
    debug_assert!(start.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE));
    // SAFETY: the caller's promise.
    if unsafe { syscall::madvise(start as *mut u8, bytes, syscall::MADV_DONTNEED) }.is_err() {
        return 0;
    }
    heap.add(Key::HeapPurges, 1);
    heap.add(Key::HeapPurgedBytes, bytes as u64);
    bytes
}

#[cfg(test)]
mod tests;
