//! The functions of the heap for callers whose storage is the process's, whichever heap the thread has entered.
//!
//! ```text
//! slot -> in heap A -> home          a program ── malloc ──────> A
//!                                    the C library ── at_home::malloc ──> slot = home ── malloc ── slot = A
//! ```
//!
//! In a thread that has entered no heap they are the usual functions after one comparison. Under HEAPCHK and HEAPZONES each request has the
//! caller that made it: the C library, and not this library.
//!
//! Invariant: the slot is the same after each call as before it.
//! Not here: who those callers are, and how they come here (`crate::by_caller`); operator new (`new`).

use core::ffi::c_int;
use core::ptr::null_mut;

use super::thread::ThreadHeap;
use super::{slot, unusual};
use crate::errno;

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

/// The heap of the calling thread's slot, and the thread's home, if they differ. A thread without a heap is at home.
#[inline(always)]
fn away() -> Option<(*mut ThreadHeap, *mut ThreadHeap)> {
    let here = slot::get();
    // SAFETY: the slot holds the address of a heap; that of a thread without one has no home.
    let home = unsafe { (*here).home };
    (home != here && !home.is_null()).then_some((here, home))
}

/// Runs `work` with the thread's home in its slot, in a thread that is `away`.
#[inline(always)]
fn at_home<T>((here, home): (*mut ThreadHeap, *mut ThreadHeap), work: impl FnOnce() -> T) -> T {
    slot::set(home);
    let result = work();
    slot::set(here);
    result
}

/// Functions that pass their return address on in the register of the next argument. It is on the stack, behind so many bytes.
macro_rules! with_caller {
    ($($(#[$about:meta])* $name:ident ( $($argument:ident : $type:ty),* ) -> $result:ty = $register:literal, $behind:literal, $function:path;)*) => { $(
        $(#[$about])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            core::arch::naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp + ", $behind, "]"),
                "jmp {}",
                sym $function,
            )
        }
    )* };
}

with_caller! {
    /// malloc.
    ///
    /// # Safety
    /// As malloc of C.
    malloc(_size: usize) -> *mut u8 = "rsi", 0, malloc_by;
    /// As [`malloc`], for the slow path of operator new.
    ///
    /// # Safety
    /// As malloc of C. Entered by the call of that slow path.
    malloc_for_new(_size: usize) -> *mut u8 = "rsi", 32, malloc_for_new_by;
    /// calloc.
    ///
    /// # Safety
    /// As calloc of C.
    calloc(_count: usize, _size: usize) -> *mut u8 = "rdx", 0, calloc_by;
    /// realloc: a block that moves comes home.
    ///
    /// # Safety
    /// As realloc of C.
    realloc(_address: *mut u8, _size: usize) -> *mut u8 = "rdx", 0, realloc_by;
    /// reallocarray.
    ///
    /// # Safety
    /// As reallocarray of glibc.
    reallocarray(_address: *mut u8, _count: usize, _size: usize) -> *mut u8 = "rcx", 0, reallocarray_by;
    /// memalign and aligned_alloc.
    ///
    /// # Safety
    /// As memalign of glibc.
    memalign(_alignment: usize, _size: usize) -> *mut u8 = "rdx", 0, memalign_by;
    /// posix_memalign.
    ///
    /// # Safety
    /// As posix_memalign of POSIX.
    posix_memalign(_result: *mut *mut u8, _alignment: usize, _size: usize) -> c_int = "rcx", 0, posix_memalign_by;
    /// valloc.
    ///
    /// # Safety
    /// As valloc of glibc.
    valloc(_size: usize) -> *mut u8 = "rsi", 0, valloc_by;
    /// pvalloc.
    ///
    /// # Safety
    /// As pvalloc of glibc.
    pvalloc(_size: usize) -> *mut u8 = "rsi", 0, pvalloc_by;
}

// A thread that is at home enters the usual function by a jump: so that finds the caller on the stack. In one that is away the usual
// function would find this library there, so it is told the caller.

unsafe extern "C" fn malloc_by(size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        match away() {
            None => super::malloc(size),
            Some(away) => at_home(away, || unusual::malloc_from(size, caller)),
        }
    }
}

unsafe extern "C" fn malloc_for_new_by(size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        match away() {
            None => super::malloc_for_new(size),
            Some(away) => at_home(away, || unusual::malloc_from(size, caller)),
        }
    }
}

unsafe extern "C" fn calloc_by(count: usize, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        match away() {
            None => super::calloc(count, size),
            Some(away) => at_home(away, || unusual::calloc_from(count, size, caller)),
        }
    }
}

unsafe extern "C" fn realloc_by(address: *mut u8, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        match away() {
            None => super::realloc::realloc_by(address, size, caller),
            Some(away) => at_home(away, || super::realloc::realloc_by(address, size, caller)),
        }
    }
}

unsafe extern "C" fn reallocarray_by(address: *mut u8, count: usize, size: usize, caller: usize) -> *mut u8 {
    let Some(bytes) = count.checked_mul(size) else { return super::refuse() };
    // SAFETY: the caller's promise.
    unsafe { realloc_by(address, bytes, caller) }
}

unsafe extern "C" fn memalign_by(alignment: usize, size: usize, caller: usize) -> *mut u8 {
    let Some(alignment) = alignment.checked_next_power_of_two() else {
        errno::set_errno(EINVAL);
        return null_mut();
    };
    // SAFETY: the caller's promise.
    unsafe {
        match away() {
            None => unusual::aligned_from(alignment, size, caller),
            Some(away) => at_home(away, || unusual::aligned_from(alignment, size, caller)),
        }
    }
}

unsafe extern "C" fn posix_memalign_by(
    result: *mut *mut u8,
    alignment: usize,
    size: usize,
    caller: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut u8>()) {
        return EINVAL;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let address = memalign_by(alignment, size, caller);
        if address.is_null() {
            return ENOMEM;
        }
        *result = address;
    }
    0
}

unsafe extern "C" fn valloc_by(size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { memalign_by(4096, size, caller) }
}

unsafe extern "C" fn pvalloc_by(size: usize, caller: usize) -> *mut u8 {
    let Some(size) = size.max(1).checked_next_multiple_of(4096) else { return super::refuse() };
    // SAFETY: the caller's promise.
    unsafe { memalign_by(4096, size, caller) }
}

/// An aligned form of operator new, for an alignment that is a power of two, and that caller.
///
/// # Safety
/// As aligned_alloc of C.
pub unsafe fn aligned_for_new(alignment: usize, size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { memalign_by(alignment, size, caller) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::object::{self, DEFAULT};
    use crate::heap::{ONE_AT_A_TIME, Policy, create, end, enter, free, leave, map};

    fn is_of_process(address: *mut u8) -> bool {
        // SAFETY: storage that the test has in use.
        core::ptr::eq(unsafe { object::of(map::lookup(address as usize)) }, &DEFAULT)
    }

    #[test]
    fn what_is_got_at_home_survives_the_heap_that_the_thread_is_in() {
        let _turn = ONE_AT_A_TIME.lock();
        let heap = create(Policy::AUTO).expect("a heap");
        let entered = enter(heap).expect("a live heap");
        let here = slot::get();
        let mut aligned = null_mut();
        // SAFETY: storage of this test, each used as long as it is there.
        unsafe {
            let inside = crate::heap::malloc(100);
            assert!(!is_of_process(inside));
            assert_eq!(posix_memalign(&raw mut aligned, 24, 100), EINVAL);
            assert_eq!(posix_memalign(&raw mut aligned, 64, 100), 0);
            let all = [
                malloc(100),
                malloc_for_new(100),
                calloc(1, 100),
                // A block of the heap that has to move.
                realloc(inside, 300_000),
                reallocarray(null_mut(), 2, 50),
                memalign(100, 100),
                aligned,
                valloc(100),
                pvalloc(100),
                aligned_for_new(64, 100, 0),
            ];
            assert!(reallocarray(null_mut(), usize::MAX, 2).is_null());
            assert!(core::ptr::eq(slot::get(), here));
            leave(entered);
            assert_eq!(end(heap), Ok(()));
            for address in all {
                assert!(is_of_process(address));
                address.write_bytes(1, 100);
                free(address);
            }
            let usual = malloc(100);
            assert!(is_of_process(usual), "and in a thread that is at home");
            free(usual);
        }
    }
}
