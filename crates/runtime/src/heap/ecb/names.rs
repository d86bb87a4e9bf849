//! Names of buffers: given, taken away, and moved with a buffer.
//!
//! Invariant: the mark of a buffer says whether it has a name, so that freeing one without costs no look at the table.
//! Not here: the table (`tags`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use super::super::map::{self, AREA};
use super::area::{self, Area};
use super::control_block::ControlBlock;
use super::seat::Seat;
use super::tags::{self, Tags};
use super::{Refused, given, here, zoned};

/// # Safety
/// A buffer in use of that ECB begins there.
#[cold]
pub unsafe fn untag_at(block: &ControlBlock, area: *mut Area, address: *mut u8) {
    let shared = block.shared.lock();
    // SAFETY: the caller's promise.
    unsafe {
        if !shared.tags.is_null() {
            Tags::remove(shared.tags, address.addr());
        }
        Area::set_tagged(area, address.addr(), false);
    }
}

/// # Safety
/// Both are buffers in use of that ECB, and the old one has names.
#[cold]
pub unsafe fn move_tags(block: &ControlBlock, area: *mut Area, old: *mut u8, new: *mut u8) {
    let shared = block.shared.lock();
    // SAFETY: the caller's promise.
    unsafe {
        Tags::moved(shared.tags, old.addr(), new.addr());
        Area::set_tagged(area, old.addr(), false);
        Area::set_tagged(area::of(map::lookup(new.addr())), new.addr(), true);
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
        let is_in_use = Area::list_at(area, buffer.addr()).is_some() && !Area::is_free(area, buffer.addr());
        if is_own && is_in_use { Ok(area) } else { Err(Refused::Unknown) }
    }
}

/// Has a name its least and most bytes?
fn check(name: &[u8]) -> Result<(), Refused> {
    match name.len() {
        0 => Err(Refused::Name),
        1..=tags::LONGEST => Ok(()),
        _ => Err(Refused::LongName),
    }
}

/// Names a buffer of the ECB that the thread is in. A buffer may have several names, and a name several buffers.
///
/// # Safety
/// The buffer is in use.
pub unsafe fn tag(buffer: *mut u8, name: &[u8]) -> Result<(), Refused> {
    let seat = here().ok_or(Refused::Outside)?;
    check(name)?;
    let area = own_buffer(seat, buffer)?;
    // SAFETY: the seat is this thread's, which is inside.
    unsafe {
        let block = &*(*seat).block;
        loop {
            let wanted = {
                let shared = block.shared.lock();
                if !shared.tags.is_null() && !Tags::is_full(shared.tags) {
                    Tags::add(shared.tags, buffer.addr(), name);
                    Area::set_tagged(area, buffer.addr(), true);
                    return Ok(());
                }
                if shared.tags.is_null() { tags::FIRST } else { 2 * Tags::capacity(shared.tags) }
            };
            // Without the lock, which a request may need.
            let place = if given::has_zones() {
                (*seat).get_with_zone(tags::bytes(wanted), 64, 0)
            } else {
                (*seat).get(tags::bytes(wanted), 64)
            };
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
                let area = area::of(map::lookup(unused.addr()));
                if let Some(list) = Area::list_at(area, unused.addr()) {
                    let _requests = zoned::hold_requests();
                    (*seat).put_back(area, list, unused.cast());
                }
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
        let had = Area::is_tagged(area, buffer.addr());
        if had {
            untag_at(&*(*seat).block, area, buffer);
        }
        Ok(had)
    }
}

/// The buffer of that name that was tagged last, or the next one behind `after`; null if there is none.
pub fn locate(name: &[u8], after: *mut u8) -> Result<*mut u8, Refused> {
    let seat = here().ok_or(Refused::Outside)?;
    check(name)?;
    // SAFETY: the seat is this thread's, which is inside; the table is used under its lock.
    unsafe {
        let shared = (*(*seat).block).shared.lock();
        Ok(if shared.tags.is_null() { null_mut() } else { Tags::locate(shared.tags, name, after.addr()) })
    }
}
