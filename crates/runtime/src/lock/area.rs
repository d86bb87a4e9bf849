//! The file of lock records: made when this process first waits for a lock, and mapped for the life of the process.
//!
//! Its name ends in `.locks` ([`beside`]).
//!
//! An area belongs to one slot of the ledger. A forked child has another slot (or none), even after a fork that the C
//! library does not know of. So it sees that its parent's area is not its own.
//!
//! Invariant: no thread waits for the thread that makes the area: threads that arrive meanwhile do without it.
//! Known limit: modules are named only with glibc 2.35 or later, whose loader answers without taking a lock.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use underbar_ledger::Slot;
use underbar_ledger::locks::{AREAS, Area, LockRecord, MAGIC, Module, PATH_ROOM, VERSION};
use underbar_sys::syscall;

use super::mode;
use crate::c_library::weak;
use crate::ledger::{self, attach, beside};
use crate::sandbox;

/// A lock's record, and its index.
#[derive(Clone, Copy)]
pub struct Found {
    pub record: &'static LockRecord,
    pub place: usize,
    pub area: &'static Area,
}

/// The area, or null if none can be made, and the slot for which this was found out. The slot is written after the
/// area, with Release. `MAKING`: the slot whose area is being made.
static AREA: AtomicPtr<Area> = AtomicPtr::new(null_mut());
static SLOT: AtomicPtr<Slot> = AtomicPtr::new(null_mut());
static MAKING: AtomicPtr<Slot> = AtomicPtr::new(null_mut());
/// 1 while a thread adds a module.
static ADDING: AtomicU32 = AtomicU32::new(0);

/// This process's area. Makes it if there is none yet.
pub fn get() -> Option<&'static Area> {
    let slot = core::ptr::from_ref(ledger::slot()).cast_mut();
    if SLOT.load(Ordering::Acquire) == slot {
        // SAFETY: null, or mapped for ever and made of atomics.
        return unsafe { AREA.load(Ordering::Relaxed).as_ref() };
    }
    make(slot)
}

/// The area, if there is one already.
pub fn existing() -> Option<&'static Area> {
    let slot = core::ptr::from_ref(ledger::slot()).cast_mut();
    if SLOT.load(Ordering::Acquire) != slot {
        return None;
    }
    // SAFETY: as above.
    unsafe { AREA.load(Ordering::Relaxed).as_ref() }
}

/// In a forked child: the parent's thread that was making the area or adding a module does not exist here.
pub fn in_child() {
    MAKING.store(null_mut(), Ordering::Relaxed);
    ADDING.store(0, Ordering::Relaxed);
}

/// The area that another thread is making: two threads that begin to wait at the same time both need it. The number of
/// looks is limited: the maker may be this very thread, interrupted by a signal.
fn made_by_another(slot: *mut Slot) -> Option<&'static Area> {
    const LOOKS: u32 = 1000;
    for _ in 0..LOOKS {
        if SLOT.load(Ordering::Acquire) == slot {
            // SAFETY: null, or mapped for ever and made of atomics.
            return unsafe { AREA.load(Ordering::Relaxed).as_ref() };
        }
        syscall::sched_yield();
    }
    None
}

#[cold]
#[inline(never)]
fn make(slot: *mut Slot) -> Option<&'static Area> {
    let before = MAKING.load(Ordering::Relaxed);
    if sandbox::is_closed() {
        return None;
    }
    if before == slot || MAKING.compare_exchange(before, slot, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return made_by_another(slot);
    }
    let area = map().unwrap_or(null_mut());
    // SAFETY: null, or just mapped, all zeros, and never unmapped.
    let made = unsafe { area.as_ref() };
    if let Some(area) = made {
        area.header.version.store(VERSION, Ordering::Relaxed);
        area.header.process.store(syscall::getpid() as u32, Ordering::Relaxed);
        area.header.started_ns.store(ledger::slot().started_ns.load(Ordering::Relaxed), Ordering::Relaxed);
        area.header.mode.store(mode() as u32, Ordering::Relaxed);
        area.header.magic.store(MAGIC, Ordering::Release);
    }
    AREA.store(area, Ordering::Relaxed);
    SLOT.store(slot, Ordering::Release);
    made
}

/// Makes the file and maps it.
fn map() -> Option<*mut Area> {
    let header = attach::mapped_header()?;
    if header.lock_areas.fetch_add(1, Ordering::Relaxed) >= AREAS {
        return None;
    }
    beside::make(c"locks", size_of::<Area>()).map(<*mut u8>::cast)
}

// ---- modules ------------------------------------------------------------------------------------------------------

/// The answer of glibc's `_dl_find_object`.
#[repr(C)]
struct ObjectFound {
    flags: u64,
    start: usize,
    end: usize,
    map: *const LinkMap,
    frames: *const c_void,
    rest: [u64; 8],
}

/// The beginning of the loader's list entry, which debuggers rely on.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

weak! { address_of_find_object = "_dl_find_object"; }

/// Ensures that the file loaded at this address is among the modules.
pub fn module_of(area: &'static Area, address: usize) {
    if is_known(area, address) {
        return;
    }
    let function = address_of_find_object();
    if function == 0 || ADDING.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        // Most likely another thread is adding a module in this entry at the moment; the loop tries the next entry.
        return;
    }
    if !is_known(area, address) {
        let mut found = ObjectFound {
            flags: 0,
            start: 0,
            end: 0,
            map: core::ptr::null(),
            frames: core::ptr::null(),
            rest: [0; 8],
        };
        // SAFETY: the C library's function of that name, which takes no lock and writes its structure, for which there
        // is more than enough room.
        let failed = unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut ObjectFound) -> i32>(function)(
                address,
                &raw mut found,
            )
        };
        // SAFETY: null, or the loader's entry of a file that is loaded.
        let map = unsafe { found.map.as_ref() };
        if failed == 0
            && let Some(map) = map
            && let Some(free) = area.modules.iter().find(|module| module.end.load(Ordering::Relaxed) == 0)
        {
            fill_in(free, &found, map);
        }
    }
    ADDING.store(0, Ordering::Release);
}

fn is_known(area: &Area, address: usize) -> bool {
    let within = |module: &Module| {
        let (end, start) = (module.end.load(Ordering::Acquire), module.start.load(Ordering::Relaxed));
        (start..end).contains(&(address as u64))
    };
    area.modules.iter().take_while(|module| module.end.load(Ordering::Relaxed) != 0).any(within)
}

fn fill_in(module: &Module, found: &ObjectFound, map: &LinkMap) {
    // SAFETY: the loader's name of the file: a C string.
    let name = if map.name.is_null() { b"" } else { unsafe { CStr::from_ptr(map.name) }.to_bytes() };
    let name = &name[name.len().saturating_sub(PATH_ROOM - 1)..];
    module.base.store(u64::MAX, Ordering::Relaxed);
    for (room, byte) in module.path.iter().zip(name) {
        room.store(*byte, Ordering::Relaxed);
    }
    module.start.store(found.start as u64, Ordering::Relaxed);
    module.base.store(map.base as u64, Ordering::Relaxed);
    module.end.store(found.end as u64, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    #[test]
    fn an_address_leads_to_its_file() {
        // SAFETY: zeros are an empty area; it stays for ever.
        let area: &'static Area = unsafe {
            let layout = std::alloc::Layout::new::<Area>();
            &*std::alloc::alloc_zeroed(layout).cast()
        };
        let own = an_address_leads_to_its_file as *const () as usize;
        module_of(area, own);
        module_of(area, own + 1);
        module_of(area, 1);
        let known: std::vec::Vec<_> =
            area.modules.iter().filter(|m| m.end.load(Ordering::Relaxed) != 0).collect();
        assert_eq!(known.len(), 1, "one file, and nothing for an address without any");
        let path: String = known[0]
            .path
            .iter()
            .map(|b| b.load(Ordering::Relaxed) as char)
            .take_while(|c| *c != '\0')
            .collect();
        assert_eq!(path, "", "the program itself has no name");
        assert!(known[0].start.load(Ordering::Relaxed) <= own as u64);
    }
}
