//! [`Alloc`]: underbar's heap as the allocator of a Rust program, without the preload library.
//!
//! ```text
//! alloc   ─> a ready cell of this thread ─────────────────> back            no lock, no call
//!              | none, or a large or aligned request
//!              v
//!            who serves this process? (asked once) ─> this heap
//!                                                 \─> the system's malloc: under `underbar run` the preload library's
//! dealloc ─> a cell of this thread ─> its extent                            no lock, no call
//!              | anything else
//!              v
//!            as above
//! ```
//!
//! A heap that does not serve has no cells and no pages in its map, so the fast paths need no question.
//!
//! The layout that `dealloc` is given does not shorten it: a cell goes back to its extent, which only the address tells, and a cell of
//! another thread has the same layout as one of this thread.
//!
//! Invariant: the answer never changes, so storage goes back where it came from.
//! Not here: the heap (`crates/runtime`), and the same for C and C++ (`crates/preload`, as a static library).

use std::alloc::{GlobalAlloc, Layout, System};

/// Alignment of every block of the heap.
const ALIGN: usize = 16;

/// underbar's heap as the allocator of a program.
///
/// ```
/// #[global_allocator]
/// static ALLOC: underbar::Alloc = underbar::Alloc;
///
/// fn main() {
///     let words: Vec<String> = ["a", "b"].map(str::to_owned).into();
///     assert_eq!(words.concat(), "ab");
/// }
/// ```
///
/// It obeys the run-time options of the variable `UNDERBAR_OPTS`. With `MSGFILE` among them the program leaves its accounts in a file for
/// `underbar report`. Under `underbar run` the library of the command serves the program, and the report is that of any program.
///
/// C code in the program keeps the C library's malloc, except under `underbar run`. In a shared library (`cdylib`, `dylib`), for a
/// platform without the GNU C library, and under Miri, the allocator is [`System`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Alloc;

// SAFETY: blocks come from one heap, the same for the whole process (`serving`), are as large and as aligned as the layout says, and stay
// until they are given back. Nothing here unwinds.
unsafe impl GlobalAlloc for Alloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { calls::alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { calls::dealloc(address, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { calls::alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { calls::realloc(address, layout, size) }
    }
}

#[cfg(any(miri, not(target_env = "gnu")))]
mod calls {
    use super::{GlobalAlloc, Layout, System};

    const _: usize = super::ALIGN;

    pub unsafe fn alloc(layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    pub unsafe fn dealloc(address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(address, layout) }
    }

    pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    pub unsafe fn realloc(address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.realloc(address, layout, size) }
    }
}

#[cfg(all(not(miri), target_env = "gnu"))]
mod calls {
    use std::ffi::{c_char, c_int};
    use std::sync::atomic::{AtomicU8, Ordering};

    use underbar_runtime::{heap, linked, start};

    use super::{ALIGN, GlobalAlloc, Layout, System};

    const UNKNOWN: u8 = 0;
    const THIS_HEAP: u8 = 1;
    const THE_SYSTEM: u8 = 2;

    /// Who serves. Written by the first request, or by the constructor before it; read by every thread. Relaxed: threads that find it
    /// unknown find the same answer.
    static SERVING: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline(always)]
    pub unsafe fn alloc(layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGN {
            // SAFETY: a cell that is ready is nobody's.
            let cell = unsafe { heap::ready(layout.size()) };
            if !cell.is_null() {
                return cell;
            }
        }
        // SAFETY: the caller's promise.
        unsafe { alloc_slowly(layout) }
    }

    #[cold]
    #[inline(never)]
    unsafe fn alloc_slowly(layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { if is_ours() { heap::aligned(layout.align(), layout.size()) } else { System.alloc(layout) } }
    }

    #[inline(always)]
    pub unsafe fn dealloc(address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe {
            heap::free_or(address, |address, descriptor| {
                if is_ours() {
                    heap::free_elsewhere(address, descriptor);
                } else {
                    System.dealloc(address, layout);
                }
            });
        }
    }

    #[inline(always)]
    pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if is_ours() {
                heap::aligned_zeroed(layout.align(), layout.size())
            } else {
                System.alloc_zeroed(layout)
            }
        }
    }

    #[inline(always)]
    pub unsafe fn realloc(address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if !is_ours() {
                System.realloc(address, layout, size)
            } else if layout.align() <= ALIGN {
                heap::realloc(address, size)
            } else {
                realloc_aligned(address, layout, size)
            }
        }
    }

    /// Moving a block by its pages, or to another cell, could lose the alignment: a block that does not fit gets a new one.
    #[cold]
    unsafe fn realloc_aligned(address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the block is the caller's; the new one is nobody else's, and both are as long as what is copied.
        unsafe {
            let usable = heap::usable_size(address);
            if size <= usable && size >= usable / 2 {
                return address;
            }
            let new = heap::aligned(layout.align(), size);
            if !new.is_null() {
                new.copy_from_nonoverlapping(address, layout.size().min(size));
                heap::free(address);
            }
            new
        }
    }

    #[inline(always)]
    fn is_ours() -> bool {
        match SERVING.load(Ordering::Relaxed) {
            UNKNOWN => find_out() == THIS_HEAP,
            serving => serving == THIS_HEAP,
        }
    }

    #[cold]
    #[inline(never)]
    fn find_out() -> u8 {
        let here = find_out as fn() -> u8 as usize;
        let is_ours = !linked::is_with_c_part() && !linked::stands_back(here);
        let serving = if is_ours { THIS_HEAP } else { THE_SYSTEM };
        SERVING.store(serving, Ordering::Relaxed);
        serving
    }

    /// Functions of the C library that the runtime takes if they are there: from an archive come those that are asked for.
    #[cfg(target_feature = "crt-static")]
    #[used]
    static ASKED_FOR: [unsafe extern "C" fn(); 5] = {
        unsafe extern "C" {
            fn __pthread_key_create();
            fn pthread_key_delete();
            fn pthread_setspecific();
            fn pthread_atfork();
            fn getauxval();
        }
        [__pthread_key_create, pthread_key_delete, pthread_setspecific, pthread_atfork, getauxval]
    };

    /// By this note the command knows that a program without a loader keeps accounts (`preloadable::linked`).
    #[cfg(target_feature = "crt-static")]
    #[used]
    #[unsafe(link_section = ".note.underbar")]
    static NOTE: [u32; 7] = [9, 4, 1, u32::from_ne_bytes(*b"unde"), u32::from_ne_bytes(*b"rbar"), 0, 1];

    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_START: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = at_start;

    /// The GNU C library passes constructors the arguments of `main`.
    unsafe extern "C" fn at_start(
        _: c_int,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) {
        if is_ours() {
            // SAFETY: the program's arguments and environment; a program's constructors run before its threads.
            unsafe { start::constructor(arguments, environment) };
        }
    }

    #[used]
    #[unsafe(link_section = ".fini_array")]
    static AT_END: extern "C" fn() = at_end;

    extern "C" fn at_end() {
        if is_ours() {
            start::destructor();
        }
    }
}
