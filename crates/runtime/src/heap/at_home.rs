//! The functions of the heap for callers whose storage is the process's, whichever heap the thread has entered.
//!
//! ```text
//! slot -> in heap A -> home          a program ── malloc ──────> A
//!                                    the C library ── at_home::malloc ──> slot = home ── malloc ── slot = A
//! ```
//!
//! In a thread that has entered no heap they are the usual functions after one comparison.
//!
//! Invariant: the slot is the same after each call as before it.
//! Not here: who those callers are, and how they come here (`crate::by_caller`); operator new (`new`).

use core::ffi::c_int;
use core::ptr::null_mut;

use super::slot;
use super::thread::ThreadHeap;
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

/// Runs `work` with the thread's home in its slot. For a thread that is at home it is the last thing done, a jump: so it finds its
/// caller on the stack.
#[inline(always)]
fn at_home<T>(work: impl Fn() -> T) -> T {
    let Some((here, home)) = away() else { return work() };
    slot::set(home);
    let result = work();
    slot::set(here);
    result
}

/// malloc.
///
/// # Safety
/// As malloc of C.
pub unsafe extern "C" fn malloc(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    at_home(|| unsafe { super::malloc(size) })
}

/// As [`malloc`], for the slow path of operator new.
///
/// # Safety
/// As malloc of C. Entered by the call of that slow path.
pub unsafe extern "C" fn malloc_for_new(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    at_home(|| unsafe { super::malloc_for_new(size) })
}

/// calloc.
///
/// # Safety
/// As calloc of C.
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    at_home(|| unsafe { super::calloc(count, size) })
}

/// realloc: a block that moves comes home.
///
/// # Safety
/// As realloc of C.
pub unsafe extern "C" fn realloc(address: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    at_home(|| unsafe { super::realloc(address, size) })
}

/// reallocarray.
///
/// # Safety
/// As reallocarray of glibc.
pub unsafe extern "C" fn reallocarray(address: *mut u8, count: usize, size: usize) -> *mut u8 {
    let Some(bytes) = count.checked_mul(size) else { return super::refuse() };
    // SAFETY: the caller's promise.
    unsafe { realloc(address, bytes) }
}

/// memalign and aligned_alloc.
///
/// # Safety
/// As memalign of glibc.
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut u8 {
    let Some(alignment) = alignment.checked_next_power_of_two() else {
        errno::set_errno(EINVAL);
        return null_mut();
    };
    // SAFETY: the caller's promise.
    at_home(|| unsafe { super::aligned(alignment, size) })
}

/// posix_memalign.
///
/// # Safety
/// As posix_memalign of POSIX.
pub unsafe extern "C" fn posix_memalign(result: *mut *mut u8, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut u8>()) {
        return EINVAL;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let address = memalign(alignment, size);
        if address.is_null() {
            return ENOMEM;
        }
        *result = address;
    }
    0
}

/// valloc.
///
/// # Safety
/// As valloc of glibc.
pub unsafe extern "C" fn valloc(size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { memalign(4096, size) }
}

/// pvalloc.
///
/// # Safety
/// As pvalloc of glibc.
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut u8 {
    let Some(size) = size.max(1).checked_next_multiple_of(4096) else { return super::refuse() };
    // SAFETY: the caller's promise.
    unsafe { memalign(4096, size) }
}

/// An aligned form of operator new, for an alignment that is a power of two.
///
/// # Safety
/// As aligned_alloc of C.
pub unsafe fn aligned_for_new(alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    at_home(|| unsafe { super::aligned(alignment, size) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::object::{self, DEFAULT};
    use crate::heap::{ONE_AT_A_TIME, Policy, create, end, enter, free, leave, map};
    use std::sync::PoisonError;

    fn is_of_process(address: *mut u8) -> bool {
        // SAFETY: storage that the test has in use.
        core::ptr::eq(unsafe { object::of(map::lookup(address as usize)) }, &DEFAULT)
    }

    #[test]
    fn what_is_got_at_home_survives_the_heap_that_the_thread_is_in() {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
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
                aligned_for_new(64, 100),
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
