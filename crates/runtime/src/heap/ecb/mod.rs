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
//! | `area` | pages of an ECB, and marks of its buffers |
//! | `seat` | a thread's part of the ECB that it is in |
//! | `lists`, `piece` | sizes; free buffers |
//! | `tags` | names of buffers |
//! | `figures` | what is counted and not yet published |
//!
//! A buffer belongs to its ECB wherever it is freed or resized: realloc never moves a buffer from one heap to another, since it
//! would end with the wrong one.
//!
//! Invariant: an end gives back the storage of its ECB and no other. What is wrong is refused by name, and changes nothing.
//! Not here: the C names (`preload`), storage that stays outside by its caller.

mod area;
mod class;
mod control_block;
mod figures;
mod lists;
mod piece;
mod ready;
mod seat;
mod tags;

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::FaultKind;

use super::cell::Cell;
use super::check::{self, Fault};
use super::map::{self, AREA, Descriptor};
use super::thread::ThreadHeap;
use super::{home, out_of_storage_of, slot};
use area::{Area, Kind};
use control_block::ControlBlock;
use seat::Seat;
use tags::Tags;

/// Bits of a mark that hold the list, and the one of a buffer that has a name.
const MARK: u8 = 0x3f;
const TAGGED: u8 = 0x80;

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
    /// The name is empty or too long.
    Name,
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

/// Creates an ECB of a class.
pub fn create(class: &[u8]) -> Result<Number, Refused> {
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
        (*area).set_block(core::ptr::from_ref(block).cast_mut().cast());
        Ok(number_of(block))
    }
}

/// From now on the calling thread gets its storage from that ECB.
pub fn enter(number: Number) -> Result<(), Refused> {
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

/// The seat in the slot.
#[inline(always)]
fn here() -> Option<*mut Seat> {
    let heap = slot::get();
    // SAFETY: the slot holds the address of a thread's heap; a seat is one of ours.
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
        let class = block.class();
        let area = block.area.load(Ordering::Relaxed);
        let beyond = {
            let mut shared = block.shared.lock();
            let ended = shared.ended(&*area);
            let beyond = shared.beyond();
            (*first).count_end(class, ended);
            (*area).clear(shared.used_up_to().min((*area).start() + (*area).bytes()));
            shared.begin(area);
            beyond
        };
        (*area).set_block(null_mut());
        block.chains.store(0, Ordering::Relaxed);
        block.is_threaded.store(0, Ordering::Relaxed);
        // What threads outside freed ends as well.
        let _ = block.returned.take();
        for list in beyond {
            let mut next = list;
            while let Some(area) = next.as_ref() {
                let gone = next;
                next = area.next;
                Area::unmake(gone, class.heap());
            }
        }
        class.ends();
        (*first).put_ready(core::ptr::from_ref(block).cast_mut());
    }
    Ok(())
}

// ---- requests -------------------------------------------------------------------------------------------------------

/// A buffer for the thread whose seat is in the slot: as [`super::malloc`], when no piece is ready.
///
/// # Safety
/// As malloc of C; the slot holds a seat.
#[inline(never)]
pub unsafe fn malloc(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let buffer = get(size, 16);
        if !buffer.is_null()
            && let Some(fill) = (*slot::get()).heap.settings.fill_get()
        {
            buffer.write_bytes(fill, super::usable_size(buffer));
        }
        buffer
    }
}

/// As [`malloc`], at an alignment and without a fill. Null, with errno ENOMEM, if there is no memory.
///
/// # Safety
/// The slot holds a seat; the alignment is a power of two.
#[inline]
pub unsafe fn get(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let seat: *mut Seat = slot::get().cast();
        let buffer = (*seat).get(size, align);
        if buffer.is_null() { out_of_storage_of((*seat).heap.heap) } else { buffer }
    }
}

/// The list of a buffer that begins at an address, 0 for a large one; None if none begins there.
///
/// # Safety
/// The area is that of the address's page.
#[inline(always)]
unsafe fn list_at(area: *mut Area, address: usize) -> Option<usize> {
    // SAFETY: the caller's promise; descriptors stay readable.
    unsafe {
        if (*area).kind == Kind::Large {
            return ((*area).first.addr() == address).then_some(0);
        }
        if !address.is_multiple_of(16) {
            return None;
        }
        let mark = (*area).mark(address).as_ref()?;
        let list = usize::from(*mark & MARK);
        (list != 0).then_some(list)
    }
}

/// Gives a buffer back to its ECB. False, with nothing done, if none begins at that address, or its ECB has ended.
///
/// # Safety
/// As free of C; the descriptor is that of the address's page, and an area's.
#[inline(never)]
pub unsafe fn free(address: *mut u8, descriptor: *mut Descriptor) -> bool {
    let (area, heap) = (area::of(descriptor), slot::get());
    // SAFETY: the caller's promise; the slot holds the address of a thread's heap.
    unsafe {
        ((*heap).is_seat && (*heap.cast::<Seat>()).put_plain(area, address))
            || free_unusual(address, descriptor)
    }
}

/// As [`free`]: a buffer of another ECB, one with a name, a large one, or none.
///
/// # Safety
/// As [`free`].
#[inline(never)]
unsafe fn free_unusual(address: *mut u8, descriptor: *mut Descriptor) -> bool {
    let area = area::of(descriptor);
    // SAFETY: the caller's promise.
    unsafe {
        let Some(list) = list_at(area, address.addr()) else { return false };
        let block: *mut ControlBlock = (*area).block().cast();
        if block.is_null() || is_freed_last(list, address) {
            return false;
        }
        let settings = &(*block).class().heap().settings;
        if let Some(fill) = settings.fill_free() {
            address.write_bytes(fill, usable(address, descriptor));
        }
        if is_tagged(area, address) {
            untag_at(&*block, area, address);
        }
        let seat: *mut Seat = slot::get().cast();
        if (*seat).heap.is_seat && core::ptr::eq((*seat).block, block) {
            if list == 0 { (*seat).free_large(area) } else { (*seat).put(list, address) }
        } else {
            let cell: *mut Cell = address.cast();
            // The inbox of a block is attended for ever.
            let _ = (*block).returned.push(cell, cell);
        }
        true
    }
}

/// Is it the buffer that this thread freed last?
#[inline(always)]
fn is_freed_last(list: usize, address: *mut u8) -> bool {
    // SAFETY: the slot holds the address of a thread's heap.
    let heap = unsafe { &*slot::get() };
    heap.is_seat && list != 0 && heap.bins[list].cast() == address
}

/// What is wrong with an address that [`free`] refused.
///
/// # Safety
/// As [`free`].
#[cold]
pub unsafe fn fault_of(address: usize, descriptor: *mut Descriptor) -> Fault {
    let area = area::of(descriptor);
    // SAFETY: the caller's promise.
    unsafe {
        let kind = if (*area).block().is_null() {
            FaultKind::Ended
        } else if list_at(area, address).is_some() {
            FaultKind::DoubleFree
        } else {
            FaultKind::NoBlock
        };
        Fault { kind, address, block: address, bytes: 0 }
    }
}

/// Usable bytes of a buffer; 0 if none begins there.
///
/// # Safety
/// The descriptor is that of the address's page, and an area's.
pub unsafe fn usable(address: *mut u8, descriptor: *mut Descriptor) -> usize {
    let area = area::of(descriptor);
    // SAFETY: the caller's promise.
    unsafe {
        match (list_at(area, address.addr()), (*area).block().cast::<ControlBlock>().as_ref()) {
            (Some(0), _) => (*area).start() + (*area).bytes() - size_of::<usize>() - address.addr(),
            (Some(list), Some(block)) => block.class().lists.sizes[list] as usize,
            _ => 0,
        }
    }
}

/// Changes the size of a buffer. It stays in its ECB. Null if there is no memory: then the old one stays as it is.
///
/// # Safety
/// As realloc of C; the descriptor is that of the address's page, and an area's. The size is not 0.
#[cold]
pub unsafe fn realloc(address: *mut u8, descriptor: *mut Descriptor, size: usize, caller: usize) -> *mut u8 {
    let area = area::of(descriptor);
    // SAFETY: the caller's promise; the buffer is the caller's, and its ECB does not end meanwhile.
    unsafe {
        let (Some(list), Some(block)) =
            (list_at(area, address.addr()), (*area).block().cast::<ControlBlock>().as_ref())
        else {
            check::end("realloc", fault_of(address.addr(), descriptor), caller);
        };
        let old = usable(address, descriptor);
        let is_enough =
            if list == 0 { size <= old && size >= old / 2 } else { block.class().lists.of(size) == list };
        if is_enough {
            return address;
        }
        let is_here = here().is_some_and(|seat| core::ptr::eq((*seat).block, block));
        if !is_here && enter(number_of(block)).is_err() {
            return out_of_storage_of(block.class().heap());
        }
        let new = malloc(size);
        if !new.is_null() {
            core::ptr::copy(address, new, old.min(size));
            if is_tagged(area, address) {
                move_tags(block, area, address, new);
            }
            free(address, descriptor);
        }
        if !is_here {
            let _ = leave();
        }
        new
    }
}

// ---- names ----------------------------------------------------------------------------------------------------------

/// # Safety
/// A buffer in use begins there.
#[inline(always)]
unsafe fn is_tagged(area: *mut Area, address: *mut u8) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        if (*area).kind == Kind::Large {
            (*area).is_tagged
        } else {
            *(*area).mark(address.addr()) & TAGGED != 0
        }
    }
}

/// # Safety
/// As [`is_tagged`], under the lock of the control block.
unsafe fn set_tagged(area: *mut Area, address: *mut u8, tagged: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*area).kind == Kind::Large {
            (*area).is_tagged = tagged;
        } else {
            let mark = (*area).mark(address.addr());
            *mark = if tagged { *mark | TAGGED } else { *mark & MARK };
        }
    }
}

/// # Safety
/// A buffer in use of that ECB begins there.
#[cold]
unsafe fn untag_at(block: &ControlBlock, area: *mut Area, address: *mut u8) {
    let shared = block.shared.lock();
    // SAFETY: the caller's promise.
    unsafe {
        if !shared.tags.is_null() {
            Tags::remove(shared.tags, address.addr());
        }
        set_tagged(area, address, false);
    }
}

/// # Safety
/// Both are buffers in use of that ECB, and the old one has names.
#[cold]
unsafe fn move_tags(block: &ControlBlock, area: *mut Area, old: *mut u8, new: *mut u8) {
    let shared = block.shared.lock();
    // SAFETY: the caller's promise.
    unsafe {
        Tags::moved(shared.tags, old.addr(), new.addr());
        set_tagged(area, old, false);
        set_tagged(area::of(map::lookup(new.addr())), new, true);
    }
}

/// The area of a buffer in use of the ECB that the thread is in.
fn own_buffer(seat: *mut Seat, buffer: *mut u8) -> Result<*mut Area, Refused> {
    let descriptor = if buffer.addr() < map::END { map::lookup(buffer.addr()) } else { null_mut() };
    // SAFETY: descriptors stay readable; the seat is this thread's.
    unsafe {
        if descriptor.is_null() || (*descriptor).owner.load(Ordering::Relaxed) != AREA {
            return Err(Refused::Unknown);
        }
        let area = area::of(descriptor);
        let is_own = core::ptr::eq((*area).block().cast(), (*seat).block);
        if is_own && list_at(area, buffer.addr()).is_some() { Ok(area) } else { Err(Refused::Unknown) }
    }
}

/// Names a buffer of the ECB that the thread is in. A buffer may have several names, and a name several buffers.
///
/// # Safety
/// The buffer is in use.
pub unsafe fn tag(buffer: *mut u8, name: &[u8]) -> Result<(), Refused> {
    let seat = here().ok_or(Refused::Outside)?;
    if name.is_empty() || name.len() > tags::LONGEST {
        return Err(Refused::Name);
    }
    let area = own_buffer(seat, buffer)?;
    // SAFETY: the seat is this thread's, which is inside.
    unsafe {
        let block = &*(*seat).block;
        loop {
            let wanted = {
                let shared = block.shared.lock();
                if !shared.tags.is_null() && !Tags::is_full(shared.tags) {
                    Tags::add(shared.tags, buffer.addr(), name);
                    set_tagged(area, buffer, true);
                    return Ok(());
                }
                if shared.tags.is_null() { tags::FIRST } else { 2 * Tags::capacity(shared.tags) }
            };
            // Without the lock, which a request may need.
            let place = (*seat).get(tags::bytes(wanted), 64);
            if place.is_null() {
                return Err(Refused::NoMemory);
            }
            let new = Tags::begin(place, wanted);
            let unused = {
                let mut shared = block.shared.lock();
                let is_larger = shared.tags.is_null() || Tags::capacity(shared.tags) < wanted;
                if !is_larger {
                    new
                } else {
                    if !shared.tags.is_null() {
                        Tags::copy(shared.tags, new);
                    }
                    core::mem::replace(&mut shared.tags, new)
                }
            };
            if !unused.is_null() {
                free(unused.cast(), map::lookup(unused.addr()));
            }
        }
    }
}

/// Takes all names of a buffer away. False if it had none.
///
/// # Safety
/// The buffer is in use.
pub unsafe fn untag(buffer: *mut u8) -> Result<bool, Refused> {
    let seat = here().ok_or(Refused::Outside)?;
    let area = own_buffer(seat, buffer)?;
    // SAFETY: the seat is this thread's, which is inside.
    unsafe {
        let had = is_tagged(area, buffer);
        if had {
            untag_at(&*(*seat).block, area, buffer);
        }
        Ok(had)
    }
}

/// The buffer of that name that was tagged last, or the next one behind `after`; null if there is none.
pub fn locate(name: &[u8], after: *mut u8) -> Result<*mut u8, Refused> {
    let seat = here().ok_or(Refused::Outside)?;
    if name.is_empty() || name.len() > tags::LONGEST {
        return Err(Refused::Name);
    }
    // SAFETY: the seat is this thread's, which is inside; the table is used under its lock.
    unsafe {
        let shared = (*(*seat).block).shared.lock();
        Ok(if shared.tags.is_null() { null_mut() } else { Tags::locate(shared.tags, name, after.addr()) })
    }
}

// ---- threads and forks ----------------------------------------------------------------------------------------------

/// The calling thread ends: it leaves all ECBs.
///
/// # Safety
/// The home is this thread's.
pub(super) unsafe fn thread_ends(home: *mut ThreadHeap) {
    // SAFETY: seats and home are this thread's.
    unsafe {
        loop {
            let seat = innermost(home);
            if seat.is_null() {
                break;
            }
            stand_up(home, seat);
        }
        let mut next: *mut Seat = core::mem::replace(&mut (*home).first_seat, null_mut()).cast();
        while let Some(seat) = next.as_mut() {
            next = seat.deeper;
            seat.give_up();
            seat::leave(seat);
        }
    }
}

/// Publishes what the calling thread has counted.
///
/// # Safety
/// The home is this thread's, which is not in the middle of a request.
pub(super) unsafe fn settle(home: *mut ThreadHeap) {
    // SAFETY: seats and home are this thread's.
    unsafe {
        let mut next: *mut Seat = (*home).first_seat.cast();
        while let Some(seat) = next.as_mut() {
            next = seat.deeper;
            seat.settle();
        }
    }
}

/// Is no thread in the middle of making or taking control blocks?
pub(super) fn is_quiet() -> bool {
    let mut is_free = class::MAKING.try_lock().is_some() && seat::is_quiet();
    class::each(|class| is_free = is_free && class.is_quiet());
    is_free
}

/// Before a fork.
pub(super) fn hold() {
    class::MAKING.hold();
    class::each(|class| {
        class.hold();
        class.keep_alive();
    });
    seat::hold();
}

/// After a fork, in parent and child.
///
/// # Safety
/// This thread called [`hold`].
pub(super) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe {
        seat::release();
        class::each(|class| class.release());
        class::MAKING.release();
    }
}

/// In a forked child: no thread is inside an ECB, but for this one. What other threads had of its lists and regions is lost until it
/// ends.
///
/// # Safety
/// There is no other thread; the home is this thread's, or null.
pub(super) unsafe fn after_fork_in_child(home: *mut ThreadHeap) {
    ready::each_block(|block| {
        let inside = block.gate.inside(block.gate.generation());
        if inside == 0 {
            return;
        }
        let mut own = 0;
        // SAFETY: seats and home are this thread's.
        unsafe {
            let mut next: *mut Seat = if home.is_null() { null_mut() } else { innermost(home) };
            while let Some(seat) = next.as_ref() {
                own += u32::from(core::ptr::eq(seat.block, block));
                next = seat.outer;
            }
            if inside as u32 > own && !block.shared.is_mine() {
                block.shared.forget_owner();
                block.shared.lock().lose();
                block.chains.store(0, Ordering::Relaxed);
            }
        }
        block.gate.set_inside(own);
    });
}

#[cfg(test)]
mod tests;
