//! Requests while storage is filled, checked or traced: STORAGE, HEAPCHK, HEAPZONES. And the first request of all.
//!
//! ```text
//! malloc ── no ready cell ── settings are special? ──> here: caller and frame pointer are kept
//!                                 | no                  options read? ─> watched: count, walk, zone, trace ─> fill
//!                                 v                                      not:     as usual                  ─> fill
//!                                as usual
//! ```
//!
//! The functions are entered by jumps, so that the first word on the stack is the return address of the program's call, and the
//! frame pointer is the program's.
//!
//! Invariant: a program that writes only to what it asked for sees the same as without these options.
//! Not here: the checks (`check`, `watch`), the usual way (the parent), and what is done before storage goes back (`freeing`).

use core::ptr::null_mut;

use underbar_ledger::Key;

use super::freeing::give_back;
use super::map::Descriptor;
use super::object::{self, Heap};
use super::trace::{self, Kind, Site};
use super::{
    Got, OurSegments, below, calloc_of, count_element, fill_from, get, out_of_storage, pools, usable_size,
};
use super::{ecb, obey_if_changed, watch};
use crate::{coverage, start};

/// Passes the return address on as the third argument and the frame pointer as the fourth, for functions that are entered by a
/// jump.
macro_rules! with_site {
    ($($(#[$about:meta])* $name:ident = $function:path;)*) => { $(
        $(#[$about])*
        ///
        /// # Safety
        /// As the function of C. Entered as by the program's call.
        #[unsafe(naked)]
        #[cold]
        pub unsafe extern "C" fn $name(_first: usize, _second: usize) -> *mut u8 {
            core::arch::naked_asm!("mov rdx, qword ptr [rsp]", "mov rcx, rbp", "jmp {}", sym $function)
        }
    )* };
}

with_site! {
    /// malloc: the first argument is the size.
    malloc = malloc_by;
    /// calloc: the arguments are number and size, whose product is a size.
    calloc = calloc_by;
    /// An alignment, and the size.
    aligned = aligned_by;
}

/// As [`malloc`], for operator new: the return address is behind the three arguments that it keeps on the stack.
///
/// # Safety
/// As malloc of C. Entered as by the call of operator new's slow path.
#[unsafe(naked)]
#[cold]
pub unsafe extern "C" fn new(_size: usize) -> *mut u8 {
    core::arch::naked_asm!("mov rdx, qword ptr [rsp + 32]", "mov rcx, rbp", "jmp {}", sym malloc_by)
}

unsafe extern "C" fn malloc_by(size: usize, _: usize, caller: usize, frame: usize) -> *mut u8 {
    let got = serve("malloc", size, 16, &Site { caller, frame });
    // SAFETY: the storage is new and nobody else's.
    unsafe { fill_from(got.address, 0) };
    got.address
}

unsafe extern "C" fn calloc_by(count: usize, size: usize, caller: usize, frame: usize) -> *mut u8 {
    let bytes = count.wrapping_mul(size);
    let got = serve("calloc", bytes, 16, &Site { caller, frame });
    // SAFETY: as above.
    unsafe {
        fill_from(got.address, bytes);
        calloc_of(got, bytes)
    }
}

unsafe extern "C" fn aligned_by(align: usize, size: usize, caller: usize, frame: usize) -> *mut u8 {
    let got = serve("aligned_alloc", size, align, &Site { caller, frame });
    // SAFETY: as above.
    unsafe { fill_from(got.address, 0) };
    got.address
}

/// malloc for a caller that is not the one on the stack.
///
/// # Safety
/// As malloc of C.
pub unsafe fn malloc_from(size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { if is_special() { malloc_by(size, 0, caller, 0) } else { super::malloc(size) } }
}

/// calloc, as above.
///
/// # Safety
/// As calloc of C.
pub unsafe fn calloc_from(count: usize, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise; too large a product is refused there.
    unsafe {
        if is_special() && count.checked_mul(size).is_some() {
            calloc_by(count, size, caller, 0)
        } else {
            super::calloc(count, size)
        }
    }
}

/// aligned_alloc, as above. The alignment is a power of two.
///
/// # Safety
/// As aligned_alloc of C.
pub unsafe fn aligned_from(align: usize, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { if is_special() { aligned_by(align, size, caller, 0) } else { super::aligned(align, size) } }
}

/// Whether requests of the calling thread go this way, and need their caller.
fn is_special() -> bool {
    let settings = &object::current().settings;
    settings.are_special() && !settings.serves_ecbs()
}

/// Serves a request, watched or not.
fn serve(function: &'static str, size: usize, align: usize, site: &Site) -> Got {
    start::ensure();
    let heap = object::current();
    if heap.settings.serves_ecbs() {
        // SAFETY: the slot holds a seat, since the heap serves no other thread.
        Got { address: unsafe { ecb::get_by(function, size, align, site) }, zero_from: usize::MAX }
    } else if heap.settings.is_watched() {
        watched(function, heap, size, align, site)
    } else {
        // SAFETY: as aligned_alloc of C.
        unsafe { get(size, align) }
    }
}

fn watched(function: &'static str, heap: &Heap, size: usize, align: usize, site: &Site) -> Got {
    obey_if_changed();
    watch::request(function, site);
    if size > isize::MAX as usize {
        return out_of_storage();
    }
    let element = heap.space.lock().get_with_zone(size, align, site.caller);
    let Some(element) = element else { return out_of_storage() };
    count_element(heap, &element, size);
    pools::count_if_each(heap, size);
    coverage::look_if_due::<OurSegments>();
    trace::note(Kind::Got, element.address, size, site);
    Got { address: element.address as *mut u8, zero_from: element.zero_from }
}

/// realloc of an element that is watched, or has to stay in its heap. It always moves: so its new end has a zone, and whoever still
/// uses the old place shows.
///
/// # Safety
/// As realloc of C; the address is that of an element in use, and its header is sound. The size is not 0.
#[cold]
#[inline(never)]
pub unsafe fn realloc(address: *mut u8, descriptor: *mut Descriptor, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let (heap, old) = (object::of(descriptor), usable_size(address));
        let new = if heap.settings.has_limit() {
            below::realloc(heap, address, size)
        } else {
            let new = serve("realloc", size, 16, &Site::of(caller)).address;
            if !new.is_null() {
                fill_from(new, old.min(size));
                // Not `copy_nonoverlapping`, as in `realloc`.
                core::ptr::copy(address, new, old.min(size));
            }
            new
        };
        if new.is_null() {
            // A smaller size fits in place.
            return if size <= old { address } else { null_mut() };
        }
        give_back("realloc", address, descriptor, caller);
        heap.add(Key::HeapMoved, 1);
        new
    }
}
