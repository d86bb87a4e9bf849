//! clone: its child needs the same treatment as a child of fork.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_int, c_void};

use underbar_runtime::clone::{self, Function};

/// Defines `clone` by a name. In C it has a variable number of arguments. If it is called with fewer than seven, the last ones
/// are the present contents of their places, which can be read, and which the flags say not to use.
macro_rules! clones {
    ($($name:ident)*) => { $(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        unsafe extern "C" fn $name(
            function: Option<Function>,
            stack: *mut c_void,
            flags: c_int,
            argument: *mut c_void,
            parent_id: *mut c_int,
            storage: *mut c_void,
            child_id: *mut c_int,
        ) -> isize {
            // SAFETY: the caller's contract is that of C.
            unsafe { clone::clone((function, argument), stack, flags, (parent_id, storage, child_id)) }
        }
    )* };
}

clones! { clone __clone }
