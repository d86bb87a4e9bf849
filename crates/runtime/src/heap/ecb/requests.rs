//! Requests for buffers: got in the ECB that the thread is in, given back and resized wherever it is.
//!
//! ```text
//! malloc ── no ready piece ──> seat                             free ── area ──┬─ of the thread's ECB: its seat
//! realloc ── in the ECB of the buffer, which the thread enters if it must      └─ of another: returned to its control block
//! ```
//!
//! Invariant: an address at which no buffer begins is never followed: the mark decides.
//! Not here: a thread's lists (`seat`), and what becomes of a wrong address (`heap::check`).

use core::ptr::null_mut;

use underbar_ledger::FaultKind;
use underbar_ledger::traces::Traced;

use super::super::cell::Cell;
use super::super::check::{self, Fault};
use super::super::map::Descriptor;
use super::super::trace::{self, Site};
use super::super::watch;
use super::super::{out_of_storage_of, slot, usable_size};
use super::area::{self, Area};
use super::control_block::ControlBlock;
use super::low::{self, get_low};
use super::names::{move_tags, untag_at};
use super::seat::Seat;
use super::{enter, given, here, leave, make_room, number_of, traced, zoned};

/// A buffer for the thread whose seat is in the slot: as [`super::malloc`], when no piece is ready.
///
/// # Safety
/// As malloc of C; the slot holds a seat.
#[inline(never)]
pub unsafe fn malloc(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let buffer = (*slot::get().cast::<Seat>()).bump(size);
        if buffer.is_null() { malloc_unusual(size) } else { buffer }
    }
}

/// A buffer of zeros, if the slot holds a seat and new storage for it is at hand. Null: nothing has happened.
///
/// # Safety
/// As calloc of C.
#[inline(never)]
pub unsafe fn calloc(bytes: usize) -> *mut u8 {
    // SAFETY: the slot holds the address of a thread's heap; the storage is new.
    unsafe {
        let heap = slot::get();
        let buffer = if (*heap).is_seat { (*heap.cast::<Seat>()).bump(bytes) } else { null_mut() };
        if !buffer.is_null() {
            buffer.write_bytes(0, bytes);
        }
        buffer
    }
}

/// As [`malloc`], from a list, a new part of the ECB's storage, or filled.
///
/// # Safety
/// As [`malloc`].
#[inline(never)]
unsafe fn malloc_unusual(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let buffer = get(size, 16);
        if !buffer.is_null()
            && let Some(fill) = (*slot::get()).heap.settings.fill_get()
        {
            buffer.write_bytes(fill, usable_size(buffer));
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
        let mut buffer = (*seat).get(size, align);
        if buffer.is_null() && make_room() {
            buffer = (*seat).get(size, align);
        }
        if buffer.is_null() { out_of_storage_of((*seat).heap.heap) } else { buffer }
    }
}

/// As [`get`], for a known caller of that function of C.
///
/// # Safety
/// As [`get`].
pub unsafe fn get_by(function: &'static str, size: usize, align: usize, site: &Site) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let buffer =
            if given::has_zones() { get_zoned(function, size, align, site) } else { get(size, align) };
        if traced::are_on() && !buffer.is_null() {
            let seat: *mut Seat = slot::get().cast();
            traced::note(Traced::Got, buffer, size, site.caller, &*(*seat).block);
        }
        buffer
    }
}

/// As [`get`], with a zone behind the buffer.
///
/// # Safety
/// As [`get`].
#[cold]
unsafe fn get_zoned(function: &'static str, size: usize, align: usize, site: &Site) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let seat: *mut Seat = slot::get().cast();
        watch::request(function, site);
        let mut buffer = (*seat).get_with_zone(size, align, site.caller);
        if buffer.is_null() && make_room() {
            buffer = (*seat).get_with_zone(size, align, site.caller);
        }
        if buffer.is_null() {
            return out_of_storage_of((*seat).heap.heap);
        }
        trace::note(trace::Kind::Got, buffer.addr(), size, site);
        buffer
    }
}

/// Gives a buffer back to its ECB. False, with nothing done, if none begins at that address, or its ECB has ended; or if requests are
/// traced or checked, since the caller is not known here: then [`free_by`] does it.
///
/// # Safety
/// As free of C; the descriptor is that of the address's page, and an area's.
#[inline(never)]
pub unsafe fn free(address: *mut u8, descriptor: *mut Descriptor) -> bool {
    let (area, heap) = (area::of(descriptor), slot::get());
    // SAFETY: the caller's promise; the slot holds the address of a thread's heap.
    unsafe {
        // Only a seat has a block.
        ((*area).has_marks_of((*heap).plain) && (*heap.cast::<Seat>()).put_plain(area, address))
            || (!given::needs_callers() && free_unusual(address, descriptor))
    }
}

/// As [`free`], for a known caller.
///
/// # Safety
/// As [`free`].
#[cold]
pub unsafe fn free_by(
    function: &'static str,
    address: *mut u8,
    descriptor: *mut Descriptor,
    caller: usize,
) -> bool {
    // SAFETY: the caller's promise; no ready piece serves a thread whose requests are traced.
    unsafe {
        if !given::needs_callers() {
            return free(address, descriptor);
        }
        if given::has_zones() {
            zoned::before(function, area::of(descriptor), address.addr(), caller);
        }
        let block: *const ControlBlock = (*area::of(descriptor)).block().cast();
        let bytes = usable(address, descriptor);
        let is_freed = {
            let _requests = zoned::hold_requests();
            free_unusual(address, descriptor)
        };
        if is_freed
            && traced::are_on()
            && let Some(block) = block.as_ref()
        {
            traced::note(Traced::Freed, address, bytes, caller, block);
        }
        is_freed
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
        let Some(list) = Area::list_at(area, address.addr()) else { return false };
        let block: *mut ControlBlock = (*area).block().cast();
        if block.is_null() || Area::is_free(area, address.addr()) || is_freed_last(list, address) {
            return false;
        }
        let settings = &(*block).class().heap().settings;
        if let Some(fill) = settings.fill_free() {
            address.write_bytes(fill, usable(address, descriptor));
        }
        if Area::is_tagged(area, address.addr()) {
            untag_at(&*block, area, address);
        }
        let seat: *mut Seat = slot::get().cast();
        if (*seat).heap.is_seat && core::ptr::eq((*seat).block, block) {
            (*seat).put_back(area, list, address);
        } else {
            let cell: *mut Cell = address.cast();
            Area::set_free(area, address.addr(), true);
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
        } else if Area::list_at(area, address).is_some() {
            FaultKind::DoubleFree
        } else {
            FaultKind::NoBlock
        };
        Fault { kind, address, block: address, bytes: 0 }
    }
}

/// Usable bytes of a buffer, those that were asked for if it has a zone; 0 if none begins there.
///
/// # Safety
/// The descriptor is that of the address's page, and an area's.
pub unsafe fn usable(address: *mut u8, descriptor: *mut Descriptor) -> usize {
    let area = area::of(descriptor);
    // SAFETY: the caller's promise.
    unsafe {
        if given::has_zones() {
            return zoned::usable(area, address.addr()).unwrap_or(0);
        }
        match (Area::list_at(area, address.addr()), (*area).block().cast::<ControlBlock>().as_ref()) {
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
            (Area::list_at(area, address.addr()), (*area).block().cast::<ControlBlock>().as_ref())
        else {
            check::end("realloc", fault_of(address.addr(), descriptor), caller);
        };
        if Area::is_free(area, address.addr()) || is_freed_last(list, address) {
            check::end("realloc", fault_of(address.addr(), descriptor), caller);
        }
        let lists = &block.class().lists;
        if given::has_zones() {
            zoned::before("realloc", area, address.addr(), caller);
        }
        let old = if list == 0 || given::has_zones() {
            usable(address, descriptor)
        } else {
            lists.sizes[list] as usize
        };
        // A buffer with a zone always moves, as an element does.
        let is_enough = if given::has_zones() {
            false
        } else if list == 0 {
            size <= old && size >= old / 2
        } else {
            lists.of(size) == list
        };
        if is_enough {
            return address;
        }
        let seat: *mut Seat = slot::get().cast();
        if list != 0 && (*area).has_marks_of((*seat).heap.plain) {
            let same = (*seat).extend(area, list, address, size);
            if !same.is_null() {
                return same;
            }
        }
        let is_here = here().is_some_and(|seat| core::ptr::eq((*seat).block, block));
        if !is_here && enter(number_of(block)).is_err() {
            return out_of_storage_of(block.class().heap());
        }
        let new = if low::is_low(area) {
            get_low(Area::heap(area), size).unwrap_or(null_mut())
        } else if given::has_zones() {
            resized(size, old.min(size), caller)
        } else {
            malloc(size)
        };
        if !new.is_null() {
            core::ptr::copy(address, new, old.min(size));
            if Area::is_tagged(area, address.addr()) {
                move_tags(block, area, address, new);
            }
            if given::needs_callers() {
                let requests = zoned::hold_requests();
                free_unusual(address, descriptor);
                drop(requests);
                if traced::are_on() {
                    traced::note(Traced::Resized, new, size, caller, block);
                }
            } else {
                free(address, descriptor);
            }
        }
        if !is_here {
            let _ = leave();
        }
        new
    }
}

/// A buffer with a zone for realloc, filled from an offset on as STORAGE says.
///
/// # Safety
/// As [`get`].
#[cold]
unsafe fn resized(size: usize, kept: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise; the buffer is new.
    unsafe {
        let new = get_zoned("realloc", size, 16, &Site::of(caller));
        if !new.is_null()
            && let Some(fill) = (*slot::get()).heap.settings.fill_get()
        {
            new.add(kept).write_bytes(fill, size - kept);
        }
        new
    }
}
