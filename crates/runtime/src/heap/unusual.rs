//! Requests while storage is filled, checked, traced or sampled: STORAGE, HEAPCHK, HEAPZONES, SITES. And the first request of all.
//!
//! ```text
//! malloc ── no ready cell ── settings are special? ──> here: caller and callee-saved registers are kept
//!                                 | no                  options read? ─> watched: count, walk, zone, trace ─> fill
//!                                 v                                      sampled: `sampled`                 ─> fill
//!                                                                        not:     as usual                  ─> fill
//!                                as usual
//! ```
//!
//! The functions are entered by jumps, so that the first word on the stack is the return address of the program's call, and the
//! registers that a function must preserve are the program's.
//!
//! Invariant: a program that writes only to what it asked for sees the same as without these options.
//! Not here: the checks (`check`, `watch`), the usual way (the parent), and what is done before storage goes back (`freeing`).

use core::ptr::null_mut;

use underbar_ledger::Key;

use super::freeing::give_back;
use super::map::Descriptor;
use super::object::{self, Heap};
use super::trace::{self, Kind, Saved, Site};
use super::{
    Got, OurSegments, below, calloc_of, count_element, fill_from, get, get_element, out_of_storage, pools,
    usable_size,
};
use super::{ecb, obey_if_changed, sampled, sampled_realloc, watch};
use crate::{coverage, start};

/// Passes on where the callee-saved registers are, as the fifth argument, and the stack pointer behind the return address of the program's
/// call, as the sixth: for functions that are entered by a jump, or behind so many bytes on the stack.
macro_rules! with_site {
    ($($(#[$about:meta])* $name:ident($($type:ty),*) = $function:path, $behind:literal;)*) => { $(
        $(#[$about])*
        ///
        /// # Safety
        /// As the function of C. Entered as by the program's call.
        #[unsafe(naked)]
        #[cold]
        pub unsafe extern "C" fn $name($(_: $type),*) -> *mut u8 {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push r15",
                ".cfi_adjust_cfa_offset 8",
                "push r14",
                ".cfi_adjust_cfa_offset 8",
                "push r13",
                ".cfi_adjust_cfa_offset 8",
                "push r12",
                ".cfi_adjust_cfa_offset 8",
                "push rbx",
                ".cfi_adjust_cfa_offset 8",
                "push rbp",
                ".cfi_adjust_cfa_offset 8",
                "mov r8, rsp",
                concat!("lea r9, [rsp + 56 + ", $behind, "]"),
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {function}",
                "add rsp, 56",
                ".cfi_adjust_cfa_offset -56",
                "ret",
                ".cfi_endproc",
                function = sym $function,
            )
        }
    )* };
}

with_site! {
    /// malloc: the first argument is the size.
    malloc(usize, usize) = malloc_by, 0;
    /// calloc: the arguments are number and size, whose product is a size.
    calloc(usize, usize) = calloc_by, 0;
    /// An alignment, and the size.
    aligned(usize, usize) = aligned_by, 0;
    /// As [`malloc`], for operator new: the return address is behind the three arguments that it keeps on the stack.
    new(usize) = malloc_by, 32;
    /// realloc of an element that is watched or sampled, or has to stay in its heap: address, descriptor, size, and the caller.
    realloc(*mut u8, *mut Descriptor, usize, usize) = realloc_by, 0;
    /// realloc of nothing: the size, two arguments without meaning, and the caller.
    realloc_of_nothing(usize, usize, usize, usize) = realloc_of_nothing_by, 0;
}

unsafe extern "C" fn malloc_by(
    size: usize,
    _: usize,
    _: usize,
    _: usize,
    saved: *const Saved,
    pointer: usize,
) -> *mut u8 {
    // SAFETY: the caller's promise; the registers are on this thread's stack.
    unsafe {
        let site = Site::at(saved, pointer);
        if object::current().settings.only_samples() {
            return sampled::get(size, 16, &site).address;
        }
        malloc_at(size, &site)
    }
}

/// malloc without a ready cell, in a heap that is special for its samples alone.
///
/// # Safety
/// As malloc of C. Entered by jumps, as by the program's call.
#[inline(never)]
pub unsafe fn malloc_sampled(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let cell = sampled::unsampled(size);
        match () {
            () if !cell.is_null() => cell,
            () if sampled::passes(size) => get_element(size, 16).address,
            () => malloc(size, 0),
        }
    }
}

/// As [`malloc_sampled`], for operator new.
///
/// # Safety
/// As malloc of C. Entered as [`new`].
#[inline(never)]
pub unsafe fn new_sampled(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let cell = sampled::unsampled(size);
        match () {
            () if !cell.is_null() => cell,
            () if sampled::passes(size) => get_element(size, 16).address,
            () => new(size),
        }
    }
}

unsafe fn malloc_at(size: usize, site: &Site) -> *mut u8 {
    let got = serve("malloc", size, 16, site);
    // SAFETY: the storage is new and nobody else's.
    unsafe { fill_from(got.address, 0) };
    got.address
}

unsafe extern "C" fn calloc_by(
    count: usize,
    size: usize,
    _: usize,
    _: usize,
    saved: *const Saved,
    pointer: usize,
) -> *mut u8 {
    // SAFETY: as above.
    unsafe { calloc_at(count, size, &Site::at(saved, pointer)) }
}

unsafe fn calloc_at(count: usize, size: usize, site: &Site) -> *mut u8 {
    let bytes = count.wrapping_mul(size);
    let got = serve("calloc", bytes, 16, site);
    // SAFETY: as above.
    unsafe {
        fill_from(got.address, bytes);
        calloc_of(got, bytes)
    }
}

unsafe extern "C" fn aligned_by(
    align: usize,
    size: usize,
    _: usize,
    _: usize,
    saved: *const Saved,
    pointer: usize,
) -> *mut u8 {
    // SAFETY: as above.
    unsafe { aligned_at(align, size, &Site::at(saved, pointer)) }
}

unsafe fn aligned_at(align: usize, size: usize, site: &Site) -> *mut u8 {
    let got = serve("aligned_alloc", size, align, site);
    // SAFETY: as above.
    unsafe { fill_from(got.address, 0) };
    got.address
}

unsafe extern "C" fn realloc_of_nothing_by(
    size: usize,
    _: usize,
    _: usize,
    caller: usize,
    saved: *const Saved,
    pointer: usize,
) -> *mut u8 {
    // SAFETY: as above.
    unsafe { malloc_at(size, &Site::at_if(saved, pointer, caller)) }
}

/// malloc for a caller that is not the one on the stack.
///
/// # Safety
/// As malloc of C.
pub unsafe fn malloc_from(size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { if is_special() { malloc_at(size, &Site::of(caller)) } else { super::malloc(size) } }
}

/// calloc, as above.
///
/// # Safety
/// As calloc of C.
pub unsafe fn calloc_from(count: usize, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise; too large a product is refused there.
    unsafe {
        if is_special() && count.checked_mul(size).is_some() {
            calloc_at(count, size, &Site::of(caller))
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
    unsafe {
        if is_special() { aligned_at(align, size, &Site::of(caller)) } else { super::aligned(align, size) }
    }
}

/// Whether requests of the calling thread go this way, and need their caller.
#[inline(always)]
pub(super) fn is_special() -> bool {
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
    } else if heap.settings.samples() {
        sampled::get(size, align, site)
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
unsafe extern "C" fn realloc_by(
    address: *mut u8,
    descriptor: *mut Descriptor,
    size: usize,
    caller: usize,
    saved: *const Saved,
    pointer: usize,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let heap = object::of(descriptor);
        if heap.settings.samples() {
            return sampled_realloc::realloc(address, descriptor, size, &Site::at_if(saved, pointer, caller));
        }
        let old = usable_size(address);
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
