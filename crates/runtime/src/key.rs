//! Keys of threads that the program makes. It can have as many as without underbar, as it gets underbar's in the end.
//!
//! Each of underbar's keys that it gets removes a function: first the ends of timers (no more threads are sampled), then
//! those of stacks (no more are measured, nor made by THREADSTACK), last those of heaps (new threads do without cells: a
//! heap that no thread leaves would stay for ever).
//!
//! Invariant: the result is the C library's, except for a refusal while one of underbar's keys is left.
//! Not here: which keys are underbar's (`thread_end`).

use core::ffi::c_int;

use crate::next::Next;
use crate::resources;

/// The destructor that the C library calls for a thread that ends with a value under the key.
pub type Destructor = Option<unsafe extern "C" fn(*mut core::ffi::c_void)>;

type Create = unsafe extern "C" fn(*mut u32, Destructor) -> c_int;

static CREATE: Next = Next::new(c"pthread_key_create");
static CREATE_C11: Next = Next::new(c"tss_create");

/// Looks both up: later a lookup could wait for a thread that waits for this one in a constructor.
pub(crate) fn at_start() {
    let _ = (CREATE.get(), CREATE_C11.get());
}

/// `pthread_key_create` of POSIX.
///
/// # Safety
/// As C's.
pub unsafe fn create(key: *mut u32, destructor: Destructor) -> c_int {
    const EAGAIN: c_int = 11;
    // SAFETY: the caller's promise.
    unsafe { by(&CREATE, key, destructor).unwrap_or(EAGAIN) }
}

/// `tss_create` of C11.
///
/// # Safety
/// As C's.
pub unsafe fn create_c11(key: *mut u32, destructor: Destructor) -> c_int {
    const ERROR: c_int = 2;
    // SAFETY: the caller's promise.
    unsafe { by(&CREATE_C11, key, destructor).unwrap_or(ERROR) }
}

unsafe fn by(next: &Next, key: *mut u32, destructor: Destructor) -> Option<c_int> {
    // SAFETY: the next library's function of that name has this signature.
    let create = unsafe { core::mem::transmute::<usize, Create>(next.get()?) };
    loop {
        // SAFETY: the caller's promise.
        let failed = unsafe { create(key, destructor) };
        if failed == 0 || !resources::give_up_key() {
            return Some(failed);
        }
    }
}
