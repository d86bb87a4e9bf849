//! Who made a mapping: the module whose code called mmap, or a thread's stack.
//!
//! ```text
//! mmap by code at an address ─┐
//! a thread begins on a stack ─┴> region: start, end, who     the newest 512, in a ring
//!        page ─> the newest region that contains it ─> module ─> name of its file
//! ```
//!
//! Invariant: the memory of mappings is never longer than the ring; a name is of a module that is loaded now.
//! Not here: how much of a mapping is in memory (the parent module).

use core::ffi::{CStr, c_char, c_int};

use underbar_sys::lock::Lock;

use crate::c_library::weak;

/// Mappings whose owners are remembered; the newest replaces the oldest.
const REGIONS: usize = 512;

/// In place of a caller's address: a thread runs, or ran, on the mapping. No code has this address.
const STACK: usize = 0;

#[derive(Clone, Copy)]
struct Region {
    start: usize,
    end: usize,
    /// An address in the module that made it, or [`STACK`].
    caller: usize,
}

struct Regions {
    all: [Region; REGIONS],
    next: usize,
    /// How many there are.
    filled: usize,
}

impl Regions {
    fn add(&mut self, region: Region) {
        let at = self.next;
        self.all[at] = region;
        self.next = (at + 1) % REGIONS;
        self.filled = (self.filled + 1).min(REGIONS);
    }

    fn newest_first(&self) -> impl Iterator<Item = &Region> {
        // Those from `next` on are from the previous round.
        let (newer, older) = self.all[..self.filled].split_at(self.next.min(self.filled));
        [newer, older].into_iter().flat_map(|part| part.iter().rev())
    }
}

static MADE: Lock<Regions> =
    Lock::new(Regions { all: [Region { start: 0, end: 0, caller: 0 }; REGIONS], next: 0, filled: 0 });

/// Remembers that code at `caller` mapped anonymous memory, whole pages.
pub(super) fn mapped(start: usize, bytes: usize, caller: usize) {
    let Some(mut made) = MADE.try_lock() else { return };
    let at = made.next;
    let last = at.checked_sub(1).unwrap_or(REGIONS - 1);
    let region = &mut made.all[last];
    if region.caller == caller && (region.start == start + bytes || region.end == start) {
        region.start = region.start.min(start);
        region.end = region.end.max(start + bytes);
    } else {
        made.add(Region { start, end: start + bytes, caller });
    }
}

/// Remembers that a thread begins on a stack that the C library mapped without calling the preload's mmap. The C library
/// reuses stacks of ended threads, so many threads begin on one stack; a stack already known is not added again.
pub fn stack(start: usize, end: usize) {
    let Some(mut made) = MADE.try_lock() else { return };
    let newest = made.newest_first().find(|region| (region.start..region.end).contains(&start));
    if newest.is_none_or(|region| (region.start, region.end, region.caller) != (start, end, STACK)) {
        made.add(Region { start, end, caller: STACK });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Nobody,
    Named(&'static CStr),
    /// A module, by its start address.
    Module(usize),
}

/// Who made the mapping at a page, by the newest remembered region, and the address up to which that holds.
pub(super) fn maker_of(page: usize, end: usize) -> (usize, Who) {
    const UNKNOWN: Who = Who::Named(c"other mappings");
    let Some(made) = MADE.try_lock() else { return (end, UNKNOWN) };
    let mut until = end;
    for region in made.newest_first() {
        if (region.start..region.end).contains(&page) {
            let who = match region.caller {
                STACK => Who::Named(c"stack"),
                caller => object_of(caller)
                    .map_or(Who::Named(c"code made at run time"), |object| Who::Module(object.start)),
            };
            return (until.min(region.end), who);
        }
        // A newer region further on ends an older one.
        if region.start > page {
            until = until.min(region.start);
        }
    }
    (until, UNKNOWN)
}

/// The answer of glibc's `_dl_find_object` (since 2.35) for an address. It takes no lock, so it may be called anywhere.
#[repr(C)]
struct Object {
    flags: u64,
    start: usize,
    end: usize,
    link: *const Link,
    frames: usize,
    reserved: [u64; 7],
}

/// The first fields of the loader's description of a module, which are part of its interface.
#[repr(C)]
struct Link {
    base: usize,
    name: *const c_char,
}

// If the C library lacks it, mappings have no names, and nothing else is lost.
weak! { address_of_find_object = "_dl_find_object"; }

/// The module that contains an address.
fn object_of(address: usize) -> Option<Object> {
    let function = address_of_find_object();
    if function == 0 {
        return None;
    }
    let mut object =
        Object { flags: 0, start: 0, end: 0, link: core::ptr::null(), frames: 0, reserved: [0; 7] };
    // SAFETY: the C library's own function of that name; it fills the object in, or answers -1.
    let found = unsafe {
        let function: unsafe extern "C" fn(usize, *mut Object) -> c_int = core::mem::transmute(function);
        function(address, &raw mut object)
    };
    (found == 0).then_some(object)
}

/// The location of code.
pub struct Code<'a> {
    /// The module's file name.
    pub module: &'a [u8],
    /// Its address in the file, as in symbol tables.
    pub offset: usize,
}

/// The owner of the code at an address. None if that is not known, or if it is this library.
pub fn code_at(address: usize, room: &mut [u8; 32]) -> Option<Code<'_>> {
    let object = object_of(address)?;
    let own = object_of(code_at as *const () as usize).is_some_and(|own| own.start == object.start);
    if object.link.is_null() || (own && !cfg!(test)) {
        return None;
    }
    // SAFETY: the loader keeps the description for as long as the module is loaded.
    let base = unsafe { (*object.link).base };
    Some(Code { module: module_name(object.start, room), offset: address - base })
}

/// Where the module that contains an address begins and ends, and what its addresses in the file are short of.
pub(crate) fn module_around(address: usize) -> Option<(usize, usize, usize)> {
    let object = object_of(address)?;
    if object.link.is_null() {
        return None;
    }
    // SAFETY: the loader keeps the description for as long as the module is loaded.
    Some((object.start, object.end, unsafe { (*object.link).base }))
}

/// Start of the module that contains an address.
pub(crate) fn module_start(address: usize) -> Option<usize> {
    object_of(address).map(|object| object.start)
}

/// The file name of the module that contains an address, cut to the room.
pub(crate) fn module_name(start: usize, room: &mut [u8; 32]) -> &[u8] {
    let Some(object) = object_of(start) else { return b"other mappings" };
    // SAFETY: the loader keeps the description for as long as the module is loaded; a module that makes mappings is not
    // unloaded while they are looked at, as far as can be known; its name is a C string.
    let path = unsafe {
        if object.link.is_null() || (*object.link).name.is_null() {
            c""
        } else {
            CStr::from_ptr((*object.link).name)
        }
    };
    let file = path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if file.is_empty() {
        return b"the program itself";
    }
    let length = file.len().min(room.len());
    room[..length].copy_from_slice(&file[..length]);
    &room[..length]
}

#[cfg(test)]
mod tests {
    use super::super::PAGE;
    use super::*;

    #[test]
    fn this_program_is_a_module() {
        let here = this_program_is_a_module as fn() as usize;
        let object = object_of(here).expect("glibc of 2.35 or later");
        assert!((object.start..object.end).contains(&here));
        assert_eq!(module_name(object.start, &mut [0; 32]), b"the program itself");
    }

    /// Addresses at which no program has anything.
    #[test]
    fn the_newest_who_is_remembered_has_a_page() {
        let here = the_newest_who_is_remembered_has_a_page as fn() as usize;
        let at = |page: usize| (page << 12) + (1 << 60);
        mapped(at(0), 10 * PAGE, here);
        stack(at(4), at(6));
        let program = Who::Module(object_of(here).expect("a module").start);
        let stack_of = Who::Named(c"stack");
        let check = |page, until, who| assert!(maker_of(at(page), at(20)) == (at(until), who), "{page}");
        check(0, 4, program);
        check(4, 6, stack_of);
        check(6, 10, program);
        check(10, 20, Who::Named(c"other mappings"));
        // The same region once more is known; if it were added, it would hide this.
        mapped(at(5), PAGE, here);
        stack(at(4), at(6));
        check(5, 6, program);
        // If others have mapped since, it is new.
        mapped(at(4), PAGE, here);
        stack(at(4), at(6));
        check(4, 6, stack_of);
    }
}
