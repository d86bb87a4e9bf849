//! The functions after which a stack may be reused: the joins of the C library, and `pthread_detach`.
//!
//! ```text
//! pthread_join ── the next library's pthread_join ── it has succeeded ──> `joined`: its stack is free
//! ```
//!
//! A join is a cancellation point: the thread may be unwound out of it. So the functions under the C names are a few instructions
//! that the unwinder knows (in the preload library), and no function of Rust waits there.
//!
//! Cost without stacks of underbar's: a call and a test.
//! Not here: the stacks (`kept`).

use core::ffi::c_int;

use super::kept;
use crate::next::Next;

/// Defines functions that return the address of the next library's.
macro_rules! next {
    ($($name:ident = $c_name:literal;)*) => { $(
        #[doc = concat!("The next library's `", stringify!($name), "`.")]
        pub extern "C" fn $name() -> usize {
            static NEXT: Next = Next::new($c_name);
            NEXT.get().unwrap_or(cannot as *const () as usize)
        }
    )* };
}

next! {
    pthread_join = c"pthread_join";
    pthread_tryjoin_np = c"pthread_tryjoin_np";
    pthread_timedjoin_np = c"pthread_timedjoin_np";
    pthread_clockjoin_np = c"pthread_clockjoin_np";
    pthread_detach = c"pthread_detach";
}

/// Used if no library has the function.
extern "C" fn cannot() -> c_int {
    const ESRCH: c_int = 3;
    ESRCH
}

/// A join of that thread has returned this result, and returns it now.
pub extern "C" fn after_join(thread: usize, result: c_int) -> c_int {
    if result == 0 {
        kept::joined(thread);
    }
    result
}

/// `pthread_detach` of that thread has returned this result, and returns it now.
pub extern "C" fn after_detach(thread: usize, result: c_int) -> c_int {
    if result == 0 {
        kept::detached(thread);
    }
    result
}
