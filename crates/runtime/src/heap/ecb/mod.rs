//! ECBs: a heap for each unit of work, whose storage comes back in one step.
//!
//! ```text
//! create("SSL") -> number ── enter ──> slot = seat: malloc serves from the ECB ── leave ── enter ... ── end: all of it back
//!
//! class ── control block ── area, frames          storage
//!             ^
//! thread ── seat: bins, region                    what malloc needs, for as long as the thread is inside
//! ```
//!
//! | module | idea |
//! |---|---|
//! | `class` | classes, with their heaps and sizes |
//! | `ready` | control blocks that wait for the next ECB |
//! | `control_block` | an ECB: what its threads share |
//! | `chains` | lists that threads share |
//! | `area` | pages of an ECB, and marks of its buffers |
//! | `seat` | a thread's part of the ECB that it is in |
//! | `carving` | its new buffers |
//! | `lists`, `piece` | sizes; free buffers |
//! | `requests` | malloc, free and realloc of buffers |
//! | `low`, `head` | storage below 2 GiB |
//! | `names`, `tags` | names of buffers |
//! | `pairs`, `named` | name-value pairs of ECBs; what is counted of one ECB |
//! | `display` | one ECB that is alive |
//! | `threads` | the end of a thread; forks |
//! | `given`, `ended` | what ECB says; storage of ended ECBs that is kept without access |
//! | `traced` | the last requests of each thread |
//! | `without` | what a demo leaves out |
//! | `zoned` | zones behind buffers, under HEAPZONES and HEAPCHK |
//! | `figures` | what is counted and not yet published |
//!
//! A buffer belongs to its ECB wherever it is freed or resized: realloc never moves a buffer from one heap to another, since it
//! would end with the wrong one.
//!
//! Invariant: an end gives back the storage of its ECB and no other. What is wrong is refused by name, and changes nothing.
//! Not here: the C names (`preload`), storage that stays outside by its caller.

mod area;
mod carving;
mod chains;
mod class;
mod control_block;
mod display;
mod ended;
mod figures;
mod given;
mod head;
mod lists;
mod low;
mod named;
mod names;
mod pairs;
mod piece;
mod ready;
mod requests;
mod seat;
mod tags;
mod threads;
mod traced;
mod without;
mod zoned;

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_options::Settings;

pub(super) use display::show;
pub use display::{Shown, display, figures};
pub use ended::{Stale, find as stale_at};
pub(super) use low::get_low;
pub use names::{locate, tag, untag};
pub use pairs::name;
pub(super) use requests::{calloc, fault_of, free, free_by, get_by, malloc, realloc, usable};
pub(super) use threads::{after_fork_in_child, hold, is_quiet, release, settle, thread_ends};
pub(super) use traced::tell as tell_trace;
pub(super) use zoned::{Living, find as living_at, first_damage, getter_of};

use super::thread::ThreadHeap;
use super::{home, obey_if_changed, object, registry, slot};
use area::Area;
use control_block::ControlBlock;
use seat::Seat;

/// Why a call was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No ECB has that number: it has ended, or never was. Or the buffer is none of the ECB.
    Unknown,
    /// That many threads are inside.
    Inside(usize),
    /// The calling thread is in no ECB.
    Outside,
    /// There is no memory, or the thread has ended as far as we were told.
    NoMemory,
    /// The name is empty.
    Name,
    /// The ECB has as many name-value pairs as it can have.
    Full,
    /// The name is too long.
    LongName,
}

/// The number of an ECB: its generation, and the index of its control block. 0 is none.
pub type Number = u64;

fn number_of(block: &ControlBlock) -> Number {
    u64::from(block.gate.generation()) << 32 | u64::from(block.index)
}

fn block_of(number: Number) -> Result<(&'static ControlBlock, u32), Refused> {
    let generation = (number >> 32) as u32;
    let block = ready::block_at(number as u32).ok_or(Refused::Unknown)?;
    // Blocks begin with a closed generation, and each end closes another one.
    if generation == 0 || block.gate.generation() != generation || block.is_waiting() {
        return Err(Refused::Unknown);
    }
    Ok((block, generation))
}

/// The calling thread's first seat, made if missing; null if it cannot have one.
fn first_seat(home: *mut ThreadHeap) -> *mut Seat {
    // SAFETY: the home is this thread's.
    unsafe {
        if (*home).first_seat.is_null() {
            (*home).first_seat = seat::make(home).cast();
        }
        (*home).first_seat.cast()
    }
}

/// The seat of the ECB that the calling thread entered last; null if it is in none.
fn innermost(home: *mut ThreadHeap) -> *mut Seat {
    // SAFETY: the home is this thread's.
    unsafe { (*home).innermost_seat.cast() }
}

/// Applies AVL and ECB: to classes of which no ECB was created yet.
pub(super) fn configure(settings: &Settings) {
    let ecb = settings.ecb();
    given::configure(&ecb);
    let area = ecb.area;
    class::configure(&settings.available_lists(), usize::try_from(area).unwrap_or(0));
}

/// Creates an ECB of a class.
pub fn create(class: &[u8]) -> Result<Number, Refused> {
    match create_once(class) {
        Err(Refused::NoMemory) if make_room() => create_once(class),
        result => result,
    }
}

fn create_once(class: &[u8]) -> Result<Number, Refused> {
    let home = home().ok_or(Refused::NoMemory)?;
    let seat = first_seat(home);
    if seat.is_null() {
        return Err(Refused::NoMemory);
    }
    let class = class::of(class).ok_or(Refused::NoMemory)?;
    // SAFETY: the seat is this thread's; a block that waited is ours now.
    unsafe {
        let mut block = (*seat).take_ready(class);
        if block.is_null() {
            block = ready::take(class);
        }
        let block = block.as_ref().ok_or(Refused::NoMemory)?;
        let counts_each = class.begins();
        block.counts_each.store(counts_each.into(), Ordering::Relaxed);
        (*seat).count_created(class, counts_each);
        let area = block.area.load(Ordering::Relaxed);
        let more = class.at_create();
        if more != 0 {
            begin_unusually(more, block);
        }
        (*area).set_block(core::ptr::from_ref(block).cast_mut().cast());
        Ok(number_of(block))
    }
}

/// What an ECB of some classes needs besides when it begins.
///
/// # Safety
/// No other thread knows the ECB.
#[cold]
unsafe fn begin_unusually(more: u8, block: &ControlBlock) {
    if more & class::ENTRIES != 0 {
        // SAFETY: the caller's promise.
        unsafe { without::make_entries(block.area.load(Ordering::Relaxed)) };
    }
    // Without memory it is not counted, and its display says so.
    if more & class::COUNTS != 0 && block.named.load(Ordering::Relaxed).is_null() {
        pairs::make(block, false);
    }
}

/// From now on the calling thread gets its storage from that ECB.
pub fn enter(number: Number) -> Result<(), Refused> {
    match enter_once(number) {
        Err(Refused::NoMemory) if make_room() => enter_once(number),
        result => result,
    }
}

fn enter_once(number: Number) -> Result<(), Refused> {
    // A program that works in ECBs only asks for no other storage.
    obey_if_changed();
    let home = home().ok_or(Refused::NoMemory)?;
    let (block, generation) = block_of(number)?;
    let outer = innermost(home);
    // SAFETY: seats and home are this thread's.
    unsafe {
        let place = if outer.is_null() { first_seat(home) } else { deeper(outer, home) };
        let seat = place.as_mut().ok_or(Refused::NoMemory)?;
        if !block.gate.enter(generation) {
            return Err(Refused::Unknown);
        }
        if block.gate.inside(generation) > 1 {
            block.is_threaded.store(1, Ordering::Relaxed);
        }
        seat.sit(block, slot::get(), outer);
        (*home).innermost_seat = place.cast();
        slot::set(place.cast());
    }
    Ok(())
}

/// # Safety
/// The seat and the home are the calling thread's.
unsafe fn deeper(seat: *mut Seat, home: *mut ThreadHeap) -> *mut Seat {
    // SAFETY: the caller's promise.
    unsafe {
        if (*seat).deeper.is_null() {
            (*seat).deeper = seat::make(home);
        }
        (*seat).deeper
    }
}

/// Returns the calling thread to where it was before it entered the ECB that it is in.
pub fn leave() -> Result<(), Refused> {
    let home = home().ok_or(Refused::Outside)?;
    let seat = innermost(home);
    if seat.is_null() {
        return Err(Refused::Outside);
    }
    // SAFETY: seats and home are this thread's.
    unsafe {
        slot::set((*seat).previous);
        stand_up(home, seat);
    }
    Ok(())
}

/// # Safety
/// The seat is the calling thread's innermost one.
unsafe fn stand_up(home: *mut ThreadHeap, seat: *mut Seat) {
    // SAFETY: the caller's promise; the block is the ECB's until the thread has left.
    unsafe {
        let block = &*(*seat).block;
        (*seat).heap.flush_all();
        (*seat).stand_up();
        (*home).innermost_seat = (*seat).outer.cast();
        block.gate.leave();
    }
}

/// The ECB that serves the calling thread; 0 if it is in none, or has stepped outside.
pub fn current() -> Number {
    here().map_or(0, |seat| {
        // SAFETY: the seat is this thread's, which is inside.
        unsafe { number_of(&*(*seat).block) }
    })
}

/// Whether an ECB serves the calling thread.
pub(super) fn is_inside() -> bool {
    here().is_some()
}

/// The seat in the slot.
#[inline(always)]
fn here() -> Option<*mut Seat> {
    let heap = slot::get();
    // SAFETY: the slot holds the address of a thread's heap; a seat belongs to the same thread.
    unsafe { (*heap).is_seat.then_some(heap.cast()) }
}

/// Until the same number of calls of [`step_inside`], the calling thread is served as outside of all ECBs.
pub fn step_outside() {
    let Some(home) = home() else { return };
    let seat = innermost(home);
    // SAFETY: seats and home are this thread's.
    unsafe {
        if let Some(seat) = seat.as_mut() {
            seat.outside += 1;
            slot::set(home);
        }
    }
}

/// Undoes one call of [`step_outside`].
pub fn step_inside() {
    let Some(home) = home() else { return };
    let seat = innermost(home);
    // SAFETY: as above.
    unsafe {
        if let Some(inner) = seat.as_mut()
            && inner.outside > 0
        {
            inner.outside -= 1;
            if inner.outside == 0 {
                slot::set(seat.cast());
            }
        }
    }
}

/// Runs `work` with the process's heap.
pub fn outside<T>(work: impl FnOnce() -> T) -> T {
    let before = slot::get();
    // SAFETY: a seat has a home, which is this thread's.
    unsafe {
        if (*before).is_seat {
            slot::set((*before).home);
        }
    }
    let result = work();
    slot::set(before);
    result
}

/// Ends an ECB: all its storage comes back. If the calling thread is in it, it leaves first.
pub fn end(number: Number) -> Result<(), Refused> {
    let home = home().ok_or(Refused::NoMemory)?;
    let (block, generation) = block_of(number)?;
    let first = first_seat(home);
    if first.is_null() {
        return Err(Refused::NoMemory);
    }
    let inner = innermost(home);
    // SAFETY: seats and home are this thread's.
    unsafe {
        // Other threads that are inside refuse the end before anything is changed.
        if !inner.is_null() && core::ptr::eq((*inner).block, block) {
            let inside = block.gate.inside(generation);
            if inside > 1 {
                return Err(Refused::Inside(inside - 1));
            }
            leave()?;
        }
        block
            .gate
            .try_close(generation)
            .map_err(|inside| inside.map_or(Refused::Unknown, Refused::Inside))?;
        let more = given::at_end();
        let mut requests = None;
        if more != 0 {
            if more & given::CHECKS != 0 {
                zoned::check_all(block);
                requests = zoned::hold_requests();
            }
            if more & given::KEEPS != 0 {
                ended::keep(block, first);
                return Ok(());
            }
        }
        let class = block.class();
        give_back(block, |ended| (*first).count_end(class, ended));
        class.ends();
        (*first).put_ready(core::ptr::from_ref(block).cast_mut());
        drop(requests);
    }
    // A thread that works in ECBs only has no other business with the heaps.
    object::heartbeat_if_due();
    Ok(())
}

/// Gives back the storage of an ECB that has ended; `count` gets what is to be counted of it.
///
/// # Safety
/// The gate is closed, and no thread is inside.
unsafe fn give_back(block: &ControlBlock, count: impl FnOnce(figures::Ended)) {
    let class = block.class();
    let area = block.area.load(Ordering::Relaxed);
    // SAFETY: the caller's promise: the storage is nobody else's.
    unsafe {
        let (beyond, used) = {
            let mut shared = block.shared.lock();
            shared.leave_kept();
            let ended = shared.ended(&*area);
            if let Some(named) = block.named() {
                named.ended(&ended, shared.frames());
            }
            let beyond = shared.beyond();
            count(ended);
            (*area).clear(shared.used_up_to(area).min((*area).start() + (*area).bytes()));
            let used = shared.used_up_to(beyond[0]);
            shared.begin(area);
            (beyond, used)
        };
        (*area).set_block(null_mut());
        block.chains.clear();
        block.kept.store(0, Ordering::Relaxed);
        block.is_threaded.store(0, Ordering::Relaxed);
        // What threads outside freed ends as well.
        let _ = block.returned.take();
        let [mut frame, larges, lows] = beyond;
        // The latest frame comes first; those before are full.
        let mut up_to = used;
        while let Some(area) = frame.as_ref() {
            let next = area.next;
            class.put_frame(core::mem::replace(&mut frame, next), up_to);
            up_to = usize::MAX;
        }
        for mut other in [larges, lows] {
            while let Some(area) = other.as_ref() {
                let next = area.next;
                let heap = Area::heap(other);
                Area::unmake(core::mem::replace(&mut other, next), heap);
            }
        }
    }
}

/// The kernel has refused storage: frames that wait for an ECB, and what is idle in any heap, go back to it. False: there was nothing.
/// The caller holds no lock of a heap.
#[cold]
pub(super) fn make_room() -> bool {
    let mut went = false;
    class::each(|class| went |= class.give_back_frames());
    registry::give_back_idle() || went
}

#[cfg(test)]
mod tests;
