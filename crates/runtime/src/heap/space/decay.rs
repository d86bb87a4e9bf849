//! Decay: pages of free blocks go back to the kernel when nobody took them again for a while.
//!
//! ```text
//! free   block | used... | free ................................ | used      of 256 KiB or more
//! units        |  . |  7 |  7 |  0 |  0 |  3 |  3 |  3 |  p | .  |           64 KiB each
//!                     7: freed lately, stays      3: freed long ago, goes back
//!                     0: never used               p: went back lately
//! ```
//!
//! A free makes no system call: it only notes the time in the units that it covers. What is taken again within the delay costs
//! nothing at all, so a buffer that comes and goes keeps its pages. A look from time to time, by whatever thread comes by,
//! gives back the units that are wholly free and whose time is over; neighbours go in one call. Units that are taken
//! again soon after they went back were given back too early: then the delay grows.
//!
//! Invariant: only whole pages inside free blocks go back, never a page with a block's header, its links, or its address.
//! Cost: two bytes for each 64 KiB; a look walks the free blocks of 256 KiB or more, and waits the longer the more there are.
//! Not here: segments that are wholly free (`supply`), and who looks (`parked`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall;

use super::super::block::Block;
use super::super::map::PAGE;
use super::segment::FREE_HEAD;
use super::{Disposition, MIB, Space};
use crate::{coverage, ledger, sandbox};

/// Bytes that have one time.
pub const UNIT: usize = 64 * 1024;
/// Smaller free blocks keep their pages.
const WORTH_A_DECAY: usize = 256 * 1024;
/// A tick of the times that units have, as a power of two in nanoseconds: 17 ms.
const TICK_BITS: u32 = 24;
/// How long pages stay that nobody takes, in ticks: a quarter of a second at first, at most three quarters.
const DELAY: u16 = 15;
const LONGEST_DELAY: u16 = 45;
/// What is taken within so many ticks after it went back, a second, was given back too early.
const SOON: u16 = 60;
/// A unit's time has this many bits; 0 is that of a unit that was never used, or went back long ago.
const TIME: u16 = 0x7fff;
/// This unit went back at that time.
const WENT: u16 = 0x8000;
/// A look that finds so much ends there: whoever waits for the lock goes first.
const MOST_BYTES: usize = 256 * MIB;
/// Between two looks at least so many nanoseconds for each free block that was walked over.
const NS_OF_A_BLOCK: u64 = 5_000;

const LEAF_BITS: u32 = 30;
const LEAF_UNITS: usize = (1 << LEAF_BITS) / UNIT;
const LEAVES: usize = 1 << (47 - LEAF_BITS);

/// When somebody should look at what is idle, parked or free: nanoseconds of the coarse clock, `u64::MAX` for never. Written under
/// the space's lock, relaxed: a hint.
static NEXT_LOOK: AtomicU64 = AtomicU64::new(u64::MAX);

/// Whether there is anything that goes back by time, and its time has come.
#[inline]
pub fn is_look_due() -> bool {
    let at = NEXT_LOOK.load(Ordering::Relaxed);
    at != u64::MAX && ledger::coarse_nanoseconds() >= at
}

/// Somebody should look at that time at the latest.
pub(super) fn look_at(nanoseconds: u64) {
    if nanoseconds < NEXT_LOOK.load(Ordering::Relaxed) {
        NEXT_LOOK.store(nanoseconds, Ordering::Relaxed);
    }
}

/// Looked: nobody needs to before that time.
pub(super) fn looked_until(nanoseconds: u64) {
    NEXT_LOOK.store(nanoseconds, Ordering::Relaxed);
}

struct Leaf([u16; LEAF_UNITS]);

/// Times of units. Written and read under the space's lock, relaxed: the lock orders them.
static TIMES: [AtomicPtr<Leaf>; LEAVES] = [const { AtomicPtr::new(null_mut()) }; LEAVES];

/// What is waited for, and what was learned.
pub struct Decay {
    /// When the oldest units are looked at; `u64::MAX`: none is waited for.
    pub due: u64,
    delay: u16,
    /// Bytes that went back since the delay was judged, and those that were soon taken again.
    went: usize,
    came: usize,
    /// The clock as it was last read.
    now: u64,
}

impl Decay {
    /// Nothing was freed yet.
    pub const fn new() -> Self {
        Self { due: u64::MAX, delay: DELAY, went: 0, came: 0, now: 0 }
    }

    fn unit(&mut self, number: usize) -> Option<&mut u16> {
        let leaf = TIMES[(number / LEAF_UNITS) & (LEAVES - 1)].load(Ordering::Relaxed);
        // SAFETY: a leaf, once made, stays ours for ever; whoever has a space that is in use holds its lock.
        Some(&mut unsafe { leaf.as_mut()? }.0[number % LEAF_UNITS])
    }

    /// The delay is right where little of what went is taken again soon.
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

/// The time of a unit that was freed at this moment.
fn time_of(nanoseconds: u64) -> u16 {
    ((nanoseconds >> TICK_BITS) as u16 & TIME).max(1)
}

fn age(now: u16, then: u16) -> u16 {
    now.wrapping_sub(then) & TIME
}

impl Space {
    /// Notes that the bytes of a range, which was in use, are free now, inside a free block of `free` bytes.
    #[inline]
    pub(super) fn note_freed(&mut self, range: core::ops::Range<usize>, free: usize) {
        if free < WORTH_A_DECAY || self.policy.disposition != Disposition::Auto {
            return;
        }
        // Small ones come often: the clock is read for some of them.
        if range.len() >= UNIT || self.operations.is_multiple_of(16) || self.decay.now == 0 {
            self.decay.now = ledger::coarse_nanoseconds().max(1);
        }
        let time = time_of(self.decay.now);
        for number in range.start / UNIT..=(range.end - 1) / UNIT {
            match self.decay.unit(number) {
                Some(unit) => *unit = time,
                None => self.new_leaf(number, time),
            }
        }
        if self.decay.due == u64::MAX {
            self.decay.due = self.decay.now + (u64::from(self.decay.delay) << TICK_BITS);
            look_at(self.decay.due);
        }
    }

    #[cold]
    fn new_leaf(&mut self, number: usize, time: u16) {
        let leaf: *mut Leaf = self.own.get(size_of::<Leaf>()).cast();
        ledger::set(Key::HeapOwnBytes, self.own.bytes as u64);
        TIMES[(number / LEAF_UNITS) & (LEAVES - 1)].store(leaf, Ordering::Relaxed);
        // Without memory for times, pages stay.
        if let Some(unit) = self.decay.unit(number) {
            *unit = time;
        }
    }

    /// Notes that the bytes of a range are taken: which of them had just gone back?
    #[inline]
    pub(super) fn note_taken(&mut self, range: core::ops::Range<usize>) {
        if range.len() < UNIT || self.policy.disposition != Disposition::Auto {
            return;
        }
        let now = time_of(self.decay.now);
        for number in range.start.div_ceil(UNIT)..range.end / UNIT {
            let Some(unit) = self.decay.unit(number) else { return };
            if *unit & WENT != 0 {
                let soon = age(now, *unit & TIME) <= SOON;
                *unit = 0;
                self.decay.came += if soon { UNIT } else { 0 };
            }
        }
    }

    /// Gives back what is free for long enough at this time, and says when to look again.
    pub(super) fn decay(&mut self, nanoseconds: u64) {
        self.decay.now = nanoseconds;
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
                let (young, bytes) = self.decay_block(block, now);
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
        let pause = if went >= MOST_BYTES { 1 } else { u64::from(self.decay.delay / 4) };
        self.decay.due =
            if waits { nanoseconds + (pause << TICK_BITS).max(blocks * NS_OF_A_BLOCK) } else { u64::MAX };
    }

    /// Gives back the units of a free block whose time is over. Whether others wait, and how many bytes went.
    ///
    /// # Safety
    /// The block is in the index.
    unsafe fn decay_block(&mut self, block: Block, now: u16) -> (bool, usize) {
        // SAFETY: the caller's promise.
        let size = unsafe { block.size() };
        // Its last word is its address.
        let (start, end) = (block.0 + FREE_HEAD, block.0 + size - 8);
        let (first, last) = (start.div_ceil(UNIT), end / UNIT);
        let (delay, mut waits, mut bytes) = (self.decay.delay, false, 0);
        let mut run = first..first;
        for number in first..=last {
            let goes = number < last
                && self.decay.unit(number).is_some_and(|unit| {
                    if *unit == 0 || *unit & WENT != 0 {
                        // So old a mark says nothing any more.
                        if *unit & WENT != 0 && age(now, *unit & TIME) > SOON {
                            *unit = 0;
                        }
                        return false;
                    }
                    let goes = age(now, *unit) >= delay;
                    waits |= !goes;
                    if goes {
                        *unit = now | WENT;
                    }
                    goes
                });
            if goes {
                run.end = number + 1;
                continue;
            }
            if !run.is_empty() {
                // SAFETY: whole units between the block's links and its last word; nobody relies on what is in them.
                bytes += unsafe { give_back(run.start * UNIT, run.len() * UNIT) };
            }
            run = number + 1..number + 1;
        }
        (waits, bytes)
    }
}

/// # Safety
/// Whole pages on whose content nobody relies.
unsafe fn give_back(start: usize, bytes: usize) -> usize {
    debug_assert!(start.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE));
    // SAFETY: the caller's promise.
    if unsafe { syscall::madvise(start as *mut u8, bytes, syscall::MADV_DONTNEED) }.is_err() {
        return 0;
    }
    ledger::add(Key::HeapPurges, 1);
    ledger::add(Key::HeapPurgedBytes, bytes as u64);
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::super::ONE_AT_A_TIME;
    use super::super::{PAGE, Policy};
    use super::*;
    use std::vec;

    /// Nanoseconds of so many ticks.
    const fn ticks(number: u64) -> u64 {
        number << TICK_BITS
    }

    fn resident(start: usize, bytes: usize) -> usize {
        let first = start.next_multiple_of(PAGE);
        let mut states = vec![0_u8; (start + bytes - first) / PAGE];
        syscall::mincore(first, &mut states).expect("mapped");
        states.iter().filter(|&&state| state & 1 != 0).count() * PAGE
    }

    /// A space whose elements of a MiB lie between others, so that none of them is alone in a segment.
    fn touched(elements: usize) -> (Space, std::vec::Vec<usize>) {
        let mut space = Space::new();
        space.set_policy(Policy { increment: 64 * MIB, ..Policy::AUTO });
        let all = (0..elements)
            .map(|_| {
                let large = space.get(MIB, 16).expect("storage").address;
                space.get(1000, 16).expect("storage");
                // SAFETY: the element is ours.
                unsafe { (large as *mut u8).write_bytes(1, MIB) };
                large
            })
            .collect();
        (space, all)
    }

    #[test]
    fn what_nobody_takes_goes_back_after_the_delay_and_not_before() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, elements) = touched(4);
        for &element in &elements[..3] {
            // SAFETY: in use, and no longer.
            unsafe { space.free(element) };
        }
        let freed_at = space.decay.now;
        assert_ne!(space.decay.due, u64::MAX);
        space.decay(freed_at + ticks(u64::from(DELAY) - 2));
        assert!(elements.iter().all(|&at| resident(at, MIB) == MIB - PAGE), "too early");
        space.decay(freed_at + ticks(u64::from(DELAY) + 5));
        for &element in &elements[..3] {
            assert!(resident(element, MIB) <= 2 * UNIT + PAGE, "{}", resident(element, MIB));
        }
        assert_eq!(resident(elements[3], MIB), MIB - PAGE, "what is in use stays");
        assert_eq!(space.decay.due, u64::MAX, "nothing more to wait for");
        // What went back serves again.
        let again = space.get(MIB, 16).expect("storage").address;
        // SAFETY: the element is ours.
        unsafe { (again as *mut u8).write_bytes(2, MIB) };
        assert!(elements[..3].contains(&again));
    }

    #[test]
    fn what_comes_and_goes_keeps_its_pages_and_old_neighbours_do_not() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, elements) = touched(2);
        let mut now = 0;
        for turn in 0..40 {
            if turn == 0 {
                // SAFETY: in use, and no longer.
                unsafe { space.free(elements[1]) };
            }
            // SAFETY: as above.
            unsafe { space.free(elements[0]) };
            now = now.max(space.decay.now);
            now += ticks(2);
            // The test's clock is ahead of the true one.
            let units = elements[0] / UNIT..(elements[0] + MIB) / UNIT;
            units.for_each(|number| *space.decay.unit(number).expect("a leaf") = time_of(now));
            space.decay(now);
            assert_eq!(space.get(MIB, 16).expect("storage").address, elements[0]);
        }
        assert_eq!(resident(elements[0], MIB), MIB - PAGE);
        assert!(resident(elements[1], MIB) <= 2 * UNIT + PAGE);
    }

    #[test]
    fn pages_that_are_missed_soon_stay_longer() {
        let _turn = ONE_AT_A_TIME.lock();
        let (mut space, elements) = touched(2);
        for _ in 0..4 {
            // SAFETY: in use, and no longer.
            unsafe { space.free(elements[0]) };
            let now = space.decay.now + ticks(100);
            space.decay(now);
            assert_eq!(space.get(MIB, 16).expect("storage").address, elements[0]);
            space.decay.went = MIB;
            space.decay.judge();
        }
        assert_eq!(space.decay.delay, LONGEST_DELAY);
        for _ in 0..100 {
            (space.decay.went, space.decay.came) = (MIB, 0);
            space.decay.judge();
        }
        assert_eq!(space.decay.delay, DELAY);
    }
}
