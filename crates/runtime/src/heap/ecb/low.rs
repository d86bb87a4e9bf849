//! The part of an ECB below 2 GiB: `__malloc31` inside an ECB is served from it, and it ends with the ECB.
//!
//! ```text
//! piece  | marks | head | buffer | buffer | ... at .. end          the first piece has the head: lists of free buffers, the newest piece
//!           '-- next piece: | marks | - | buffer ...
//! ```
//!
//! Such storage is scarce, so none is preallocated: the first request takes a piece of LOW bytes from the heap below the bar. Each
//! request takes the lock of the control block; threads have no lists of their own for it.
//!
//! Invariant: a buffer here is in use, or in one list of the head. It never gets into a list for malloc, nor one of malloc here.
//! Not here: the heap below the bar (`heap::below`), buffers that have pages of their own (`control_block`).

use core::ptr::null_mut;

use underbar_ledger::traces::Traced;

use super::super::map::{self, PAGE};
use super::super::object::Heap;
use super::super::out_of_storage_of;
use super::area::{self, Area, GRAIN, Kind, LOW_HEAD, behind};
use super::control_block::{ControlBlock, Shared};
use super::head::Head;
use super::piece::push;
use super::{given, here, traced, zoned};

/// Storage below the limit of that heap for the thread that is in an ECB, from the ECB. None if it is in none. Null, with errno ENOMEM,
/// if there is no memory.
pub fn get_low(heap: &'static Heap, size: usize) -> Option<*mut u8> {
    let seat = here()?;
    // SAFETY: the seat is this thread's, which is inside.
    unsafe {
        let block = &*(*seat).block;
        let buffer = if given::has_zones() {
            zoned::with_zone(size, true, 0, |bytes| block.get_low(heap, bytes))
        } else {
            block.get_low(heap, size)
        };
        if buffer.is_null() {
            return Some(out_of_storage_of(heap));
        }
        (*seat).count_low(size, false);
        if traced::are_on() {
            traced::note(Traced::Got, buffer, size, 0, block);
        }
        if let Some(fill) = block.class().heap().settings.fill_get() {
            buffer.write_bytes(fill, super::super::usable_size(buffer));
        }
        Some(buffer)
    }
}

impl ControlBlock {
    /// A buffer of so many bytes below the limit of that heap; null if there is no memory.
    #[cold]
    pub fn get_low(&self, heap: &'static Heap, size: usize) -> *mut u8 {
        let lists = &self.class().lists;
        let list = lists.of(size);
        if list == 0 {
            return self.get_large_of(heap, size, 16);
        }
        let bytes = lists.sizes[list] as usize;
        let mut shared = self.shared.lock();
        // SAFETY: the head and the pieces are this block's, under the lock.
        unsafe {
            if let Some(head) = shared.low.as_mut() {
                let piece = head.lists[list];
                if !piece.is_null() {
                    head.lists[list] = (*piece).cell.next.get().cast();
                    Area::set_free(area::of(map::lookup(piece.addr())), piece.addr(), false);
                    return piece.cast();
                }
            }
            let is_full = shared.low.as_ref().is_none_or(|head| head.end - head.at < bytes);
            if is_full && !self.new_low(&mut shared, heap, bytes) {
                return null_mut();
            }
            let head = &mut *shared.low;
            let at = head.at;
            head.at += bytes;
            head.handed += bytes;
            *(*head.areas).mark(at) = list as u8;
            at as *mut u8
        }
    }

    /// A further piece, with room for so many bytes.
    fn new_low(&self, shared: &mut Shared, heap: &'static Heap, bytes: usize) -> bool {
        let needed = (bytes + LOW_HEAD + PAGE + behind()) * GRAIN / (GRAIN - 1);
        let bytes = needed.max(given::low()).next_multiple_of(PAGE);
        let block = core::ptr::from_ref(self).cast_mut().cast();
        let area = Area::make(heap, Kind::Low, bytes, block, null_mut());
        if area.is_null() {
            return false;
        }
        // SAFETY: it is new.
        unsafe {
            let (at, end) = (*area).room();
            match shared.low.as_mut() {
                Some(head) => {
                    (*area).next = head.areas;
                    (head.areas, head.at, head.end) = (area, at, end);
                }
                None => {
                    shared.low = (*area).head().cast();
                    shared.low.write(Head::new(area, at, end));
                }
            }
        }
        true
    }

    /// Takes a buffer back, which is of that list.
    ///
    /// # Safety
    /// It is in that piece of this block, and nobody uses it.
    #[cold]
    pub unsafe fn free_low(&self, area: *mut Area, list: usize, buffer: *mut u8) {
        let mut shared = self.shared.lock();
        // SAFETY: the caller's promise; the head is this block's, under the lock.
        unsafe {
            let head = &mut *shared.low;
            Area::set_free(area, buffer.addr(), true);
            let mut chain = head.lists[list].cast();
            push(&mut chain, buffer.cast());
            head.lists[list] = chain.cast();
        }
    }
}

/// Whether a buffer is in storage with a limit.
///
/// # Safety
/// The area is that of a buffer in use.
pub unsafe fn is_low(area: *mut Area) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match (*area).kind {
            Kind::Low => true,
            Kind::Large => Area::heap(area).settings.has_limit(),
            Kind::Preallocated | Kind::Frame => false,
        }
    }
}
