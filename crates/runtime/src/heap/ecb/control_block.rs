//! The control block of an ECB: who may enter, its storage, and the lists that its threads share.
//!
//! ```text
//! number -> control block --area--> preallocated area ── frame ── frame      at .. end: not handed out
//!              | chains of free buffers that threads left
//!              | remnants: ends of regions that threads left
//!              | returned: buffers that threads outside freed, by one exchange each
//! ```
//!
//! A thread inside takes a region of the storage, chains, and what was returned, and works with them alone. So it needs the lock
//! when it has used up a region or finds a list empty, and when it leaves.
//!
//! Invariant: a buffer is in use, or in one list: of a seat, of this block, or among the returned ones. A byte of storage belongs to
//! one region, or is behind `at`. A control block is never unmapped, so that a stale number or address finds a generation that has
//! ended.
//! Not here: a thread's part (`seat`), classes and blocks that wait for the next ECB (`class`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use underbar_sys::lock::Lock;

use super::super::gate::Gate;
use super::super::inbox::Inbox;
use super::super::map::PAGE;
use super::super::object::Heap;
use super::area::{self, Area, FRAME_BYTES, Kind, LIST, PAGE_MARKS};
use super::chains::{self, Bits, Chains};
use super::class::Class;
use super::figures::Ended;
use super::head::Head;
use super::named::Named;
use super::piece::Piece;
use super::tags::{self, Tags};

/// A region has at most this many bytes more than was needed.
const REGION: usize = 16 << 10;
/// Of a frame, if one thread alone is in the ECB.
const REGION_ALONE: usize = 256 << 10;
/// Remnants that are looked at for one request.
const TRIES: usize = 8;

/// What the threads of an ECB share.
pub struct Shared {
    /// The area or frame that regions come from, and the part of it that is not handed out.
    area: *mut Area,
    at: usize,
    end: usize,
    /// Free buffers that threads left.
    pub chains: Chains,
    /// Lists of the thread that was alone in the ECB: its next visit touches none of their buffers to take them.
    pub kept: Kept,
    /// What it had of its region.
    pub kept_region: Region,
    /// Whose they were: the address of the thread's heap.
    pub kept_by: usize,
    remnants: *mut Remnant,
    /// Frames and large buffers, the latest first.
    frames: *mut Area,
    larges: *mut Area,
    /// Of storage below 2 GiB; null: there is none.
    pub low: *mut Head,
    /// Names of buffers; null: none.
    pub tags: *mut Tags,
    /// Bytes of pages of large buffers, now and at most.
    large: usize,
    large_peak: usize,
    /// Buffers and units of 16 bytes in use, as far as threads that left have counted.
    pub in_use: i32,
    pub units: i32,
}

// SAFETY: followed under the lock only.
unsafe impl Send for Shared {}

/// Lists that a control block has room for.
pub const KEPT: usize = 6;

/// Lists that wait for their thread. Apart, so that they take little of each ECB.
pub struct Kept {
    chains: [*mut Piece; KEPT],
    /// The number of pieces, and the list.
    whats: [(u16, u8); KEPT],
}

impl Kept {
    const NONE: Self = Self { chains: [null_mut(); KEPT], whats: [(0, 0); KEPT] };

    /// A list, its chain and the number of pieces.
    pub fn get(&self, at: usize) -> (usize, *mut Piece, usize) {
        let (depth, list) = self.whats[at];
        (list.into(), self.chains[at], depth.into())
    }

    /// Keeps a list. False if it is too long.
    pub fn set(&mut self, at: usize, list: usize, chain: *mut Piece, depth: usize) -> bool {
        let Ok(depth) = u16::try_from(depth) else { return false };
        self.chains[at] = chain;
        self.whats[at] = (depth, list as u8);
        true
    }
}

/// The unused end of a region.
struct Remnant {
    next: *mut Remnant,
    end: usize,
    area: *mut Area,
}

/// Storage that one thread carves buffers from.
#[derive(Clone, Copy)]
pub struct Region {
    pub area: *mut Area,
    pub at: usize,
    pub end: usize,
}

impl Region {
    pub const NONE: Self = Self { area: null_mut(), at: 0, end: 0 };
}

/// One ECB, or a block that waits for the next one.
#[repr(C, align(64))]
pub struct ControlBlock {
    /// Threads that entered are inside. The generation is the ECB's.
    pub gate: Gate,
    /// What threads outside freed.
    pub returned: Inbox,
    /// Marks of the first page of the area.
    pub marks: [u8; PAGE_MARKS],
    pub shared: Lock<Shared>,
    /// The preallocated area; it stays with the block.
    pub area: AtomicPtr<Area>,
    /// Its class. Written under the lock of the classes, while no ECB has the block.
    pub class: AtomicPtr<Class>,
    /// The next block that waits; under the same lock, or its thread's.
    pub next_ready: AtomicPtr<ControlBlock>,
    /// Which of the shared lists have chains.
    pub chains: Bits,
    /// One more than the number of lists that are kept, with a region; 0: nothing is. Written under the lock; read before, relaxed, as a
    /// hint.
    pub kept: AtomicU8,
    /// More than one thread has been inside: buffers of different threads share no cache line. Relaxed: a hint.
    pub is_threaded: AtomicU8,
    /// Its name-value pairs, and what is counted for them; null: it never had any. Written once, and used, under the lock of `shared`.
    pub named: AtomicPtr<Named>,
    /// Each request is counted by its size. Written before a thread enters.
    pub counts_each: AtomicU8,
    /// Its place in the table of control blocks.
    pub index: u32,
}

// Each ECB takes one: a further line would be a further line of each.
const _: () = assert!(size_of::<ControlBlock>() <= 576);

impl Shared {
    /// No storage.
    pub const NONE: Self = Self {
        area: null_mut(),
        at: 0,
        end: 0,
        chains: Chains::NONE,
        kept: Kept::NONE,
        kept_region: Region::NONE,
        kept_by: 0,
        remnants: null_mut(),
        frames: null_mut(),
        larges: null_mut(),
        low: null_mut(),
        tags: null_mut(),
        large: 0,
        large_peak: 0,
        in_use: 0,
        units: 0,
    };

    /// Begins with the preallocated area.
    ///
    /// # Safety
    /// The area is the block's, and clear.
    pub unsafe fn begin(&mut self, area: *mut Area) {
        *self = Self::NONE;
        // SAFETY: the caller's promise.
        (self.at, self.end) = unsafe { (*area).room() };
        self.area = area;
    }

    /// In a forked child, after a thread that is gone was in the middle of something: what was not handed out is never handed out.
    pub fn lose(&mut self) {
        self.at = self.end;
        (self.chains, self.kept_region, self.remnants) = (Chains::NONE, Region::NONE, null_mut());
        // SAFETY: null, or the head of this block, under the lock.
        if let Some(head) = unsafe { self.low.as_mut() } {
            head.lose();
        }
    }

    /// The end of what was handed out of an area or frame.
    pub fn used_up_to(&self, of: *mut Area) -> usize {
        if self.area == of { self.at } else { usize::MAX }
    }

    /// So many buffers of a list of that size were got and freed in this ECB. A list number of 0 is for buffers with pages of their own.
    #[inline]
    pub fn count(&mut self, named: Option<&mut Named>, list: usize, size: usize, (gets, frees): (u32, u32)) {
        let change = gets as i32 - frees as i32;
        self.in_use += change;
        self.units += change * (size / 16) as i32;
        if let Some(named) = named {
            named.count(list, size, (gets, frees));
        }
    }

    /// Whether a thread has visited the ECB, as far as that can be seen.
    pub fn was_left(&self) -> bool {
        self.kept_by != 0 || self.in_use != 0 || self.units != 0
    }

    /// Bytes behind the last buffer that a region holds, which would be handed out next: of what waits for the next visit, or of a thread.
    pub fn unused(&self, region: Option<&Region>) -> usize {
        let region = region.unwrap_or(&self.kept_region);
        if region.area == self.area && region.end == self.at { region.end - region.at } else { 0 }
    }

    /// Frames of 1 MiB that it has.
    pub fn frames(&self) -> u64 {
        let (mut count, mut frame) = (0, self.frames);
        // SAFETY: frames in the list are this block's.
        while let Some(next) = unsafe { frame.as_ref() } {
            (count, frame) = (count + 1, next.next);
        }
        count
    }

    /// The most bytes of storage that the ECB had.
    ///
    /// # Safety
    /// Under the lock; the area is the block's preallocated one.
    pub unsafe fn most(&self, preallocated: &Area) -> usize {
        let mut most = self.large_peak;
        // SAFETY: frames in the list are this block's.
        match unsafe { self.frames.as_ref() } {
            None => most += self.at - preallocated.start(),
            Some(latest) => {
                most += preallocated.bytes() + self.at - latest.room().0;
                let mut full = latest.next;
                // SAFETY: as above.
                while let Some(frame) = unsafe { full.as_ref() } {
                    most += FRAME_BYTES;
                    full = frame.next;
                }
            }
        }
        most
    }

    /// What is to be counted of the ECB, which ends.
    ///
    /// # Safety
    /// As [`Self::most`], and its storage has access.
    pub unsafe fn ended(&self, preallocated: &Area) -> Ended {
        // SAFETY: the caller's promise.
        let most = unsafe { self.most(preallocated) };
        // SAFETY: the table is in storage of the ECB, and no thread uses it.
        let expanded_tags = unsafe { !self.tags.is_null() && Tags::capacity(self.tags) > tags::FIRST };
        Ended {
            buffers: self.in_use,
            units: self.units,
            most,
            // SAFETY: null, or the head of this block.
            low: unsafe { self.low.as_ref() }.map_or(0, |head| head.handed),
            expanded_tags,
            with_frame: !self.frames.is_null(),
        }
    }

    /// Frames, large buffers and pieces below 2 GiB, the first of each.
    pub fn lists(&self) -> [*mut Area; 3] {
        // SAFETY: null, or the head of this block, under the lock; it has access.
        let lows = unsafe { self.low.as_ref() }.map_or(null_mut(), |head| head.areas);
        [self.frames, self.larges, lows]
    }

    /// The same, which are this block's no more.
    pub fn beyond(&mut self) -> [*mut Area; 3] {
        let all = self.lists();
        (self.frames, self.larges, self.low) = (null_mut(), null_mut(), null_mut());
        all
    }
}

impl ControlBlock {
    /// The class of this ECB.
    #[inline(always)]
    pub fn class(&self) -> &'static Class {
        // SAFETY: a block that an ECB has, or had, has a class; classes stay for ever.
        unsafe { &*self.class.load(Ordering::Relaxed) }
    }

    /// The number of the ECB that had the block last, which has ended.
    pub fn ended_number(&self) -> u64 {
        u64::from(self.gate.generation().wrapping_sub(1)) << 32 | u64::from(self.index)
    }

    /// Its name-value pairs; None: it never had any.
    ///
    /// # Safety
    /// The caller has the lock of `shared`, and no other reference to them.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "under the lock there is one reference at a time")]
    pub unsafe fn named(&self) -> Option<&mut Named> {
        // SAFETY: the caller's promise; they stay for ever.
        unsafe { self.named.load(Ordering::Relaxed).as_mut() }
    }

    /// Calls `then` for each area.
    ///
    /// # Safety
    /// The guarded part is this block's.
    pub unsafe fn each_area(&self, shared: &Shared, mut then: impl FnMut(&Area)) {
        // SAFETY: the areas are this block's.
        unsafe {
            then(&*self.area.load(Ordering::Relaxed));
            for mut next in shared.lists() {
                while let Some(area) = next.as_ref() {
                    next = area.next;
                    then(area);
                }
            }
        }
    }

    /// Has no ECB this block?
    pub fn is_waiting(&self) -> bool {
        // SAFETY: a block that has an area keeps it.
        unsafe { self.area.load(Ordering::Relaxed).as_ref() }.is_none_or(|area| area.block().is_null())
    }

    /// Extends a region, or replaces it with another one, so that it has at least `bytes`. False if there is no memory.
    #[cold]
    pub fn grant(&self, region: &mut Region, bytes: usize) -> bool {
        let mut shared = self.shared.lock();
        let is_next = region.area == shared.area && region.end == shared.at;
        let needed = if is_next { bytes - (region.end - region.at).min(bytes) } else { bytes };
        if shared.end - shared.at < needed {
            if let Some(found) = shared.take_remnant(bytes) {
                shared.leave(core::mem::replace(region, found));
                return true;
            }
            if !self.new_frame(&mut shared) {
                return false;
            }
        }
        // SAFETY: the area is this block's.
        let area = unsafe { &mut *shared.area };
        let is_next = region.area == shared.area && region.end == shared.at;
        let needed = if is_next { needed } else { bytes };
        // The first page alone: most ECBs of some kinds need no more.
        let more = if shared.at < area.start() + PAGE {
            area.start() + PAGE - shared.at
        } else if area.kind == Kind::Frame && self.is_threaded.load(Ordering::Relaxed) == 0 {
            REGION_ALONE
        } else {
            REGION
        };
        let given = needed.max(more).min(shared.end - shared.at);
        let (from, to) = (shared.at, shared.at + given);
        // SAFETY: under the lock.
        if !unsafe { area.prepare(from, to) } {
            return false;
        }
        shared.at = to;
        if is_next {
            region.end = to;
        } else {
            let old = core::mem::replace(region, Region { area: shared.area, at: from, end: to });
            shared.leave(old);
        }
        true
    }

    fn new_frame(&self, shared: &mut Shared) -> bool {
        let frame = self.class().take_frame(core::ptr::from_ref(self).cast_mut().cast());
        if frame.is_null() {
            return false;
        }
        // SAFETY: it is new.
        unsafe {
            (*frame).next = shared.frames;
            (shared.at, shared.end) = (*frame).room();
        }
        (shared.frames, shared.area) = (frame, frame);
        true
    }

    /// A large buffer of so many bytes; null if there is no memory.
    #[cold]
    pub fn get_large(&self, size: usize, align: usize) -> *mut u8 {
        self.get_large_of(self.class().heap(), size, align)
    }

    /// The same, with pages of that heap.
    pub fn get_large_of(&self, heap: &'static Heap, size: usize, align: usize) -> *mut u8 {
        let more = area::behind() + if align > PAGE { align } else { 0 };
        let Some(bytes) = size.checked_add(more).and_then(|bytes| bytes.checked_next_multiple_of(PAGE))
        else {
            return null_mut();
        };
        if bytes > isize::MAX as usize {
            return null_mut();
        }
        let block = core::ptr::from_ref(self).cast_mut().cast();
        let area = Area::make(heap, Kind::Large, bytes, block, null_mut());
        if area.is_null() {
            return null_mut();
        }
        let mut shared = self.shared.lock();
        // SAFETY: it is new; neighbours in the list are live.
        unsafe {
            (*area).next = shared.larges;
            // First the list: in a child that another thread forks in between, nothing points back to what is in no list.
            shared.larges = area;
            if let Some(next) = (*area).next.as_mut() {
                next.previous = area;
            }
            shared.large += bytes;
            shared.large_peak = shared.large_peak.max(shared.large);
            ((*area).first, (*area).asked) = ((*area).start().next_multiple_of(align) as *mut u8, size);
            (*area).first
        }
    }

    /// Gives a large buffer back.
    ///
    /// # Safety
    /// It is in the list of this block, and nobody uses it.
    #[cold]
    pub unsafe fn free_large(&self, area: *mut Area) {
        {
            let mut shared = self.shared.lock();
            // SAFETY: the caller's promise; neighbours in the list are live.
            unsafe {
                shared.large -= (*area).bytes();
                let (next, previous) = ((*area).next, (*area).previous);
                if let Some(next) = next.as_mut() {
                    next.previous = previous;
                }
                match previous.as_mut() {
                    Some(previous) => previous.next = next,
                    None => shared.larges = next,
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { Area::unmake(area, Area::heap(area)) };
    }

    /// A chain of a list; null if there is none.
    pub fn take_chain(&self, list: usize) -> *mut Piece {
        chains::take(&self.shared, &self.chains, list, |shared| &mut shared.chains, list_of)
    }
}

/// The list of a piece in the lists.
pub fn list_of(piece: *mut Piece) -> usize {
    let area = super::area::of(super::super::map::lookup(piece.addr()));
    // SAFETY: it is free, and begins at a mark.
    unsafe { (*(*area).mark(piece.addr()) & LIST).into() }
}

impl Shared {
    /// Takes the rest of a region back.
    pub fn leave(&mut self, region: Region) {
        if region.area == self.area && region.end == self.at {
            self.at = region.at;
        } else if region.end.saturating_sub(region.at) >= 64 {
            let remnant: *mut Remnant = region.at as *mut Remnant;
            // SAFETY: the storage was the thread's, and is this block's now.
            unsafe { remnant.write(Remnant { next: self.remnants, end: region.end, area: region.area }) };
            self.remnants = remnant;
        }
    }

    /// Takes back the region that was kept for the next visit: there is none. So what was handed out ends where buffers do.
    pub fn leave_kept(&mut self) {
        let region = core::mem::replace(&mut self.kept_region, Region::NONE);
        self.leave(region);
    }

    fn take_remnant(&mut self, bytes: usize) -> Option<Region> {
        let mut link = &raw mut self.remnants;
        for _ in 0..TRIES {
            // SAFETY: remnants in the list are storage of this block that nobody has.
            unsafe {
                let remnant = (*link).as_ref()?;
                let (at, end, area) = (core::ptr::from_ref(remnant).addr(), remnant.end, remnant.area);
                if end - at >= bytes {
                    *link = remnant.next;
                    return Some(Region { area, at, end });
                }
                link = &raw mut (*(*link)).next;
            }
        }
        None
    }
}
