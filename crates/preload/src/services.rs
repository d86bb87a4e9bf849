//! Language Environment's callable services for storage, with their names in upper and lower case (`underbar/ceeedcct.h`).
//!
//! The header has them as functions without a result. They return 0, since COBOL takes the result of a CALL as RETURN-CODE, and
//! that as the exit status of the program.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use underbar_runtime::heap::callable;
use underbar_runtime::heap::feedback::Feedback;

/// Defines each function twice: name, name in lower case, arguments, function of the runtime.
macro_rules! services {
    ($($upper:ident $lower:ident($($argument:ident: $type:ty),*) => $function:ident;)*) => { $(
        services!(@one $upper($($argument: $type),*) => $function);
        services!(@one $lower($($argument: $type),*) => $function);
    )* };
    (@one $name:ident($($argument:ident: $type:ty),*) => $function:ident) => {
        #[doc = concat!(stringify!($name), " of Language Environment.")]
        #[allow(non_snake_case, reason = "a name of Language Environment")]
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
            // SAFETY: the caller's contract is that of Language Environment.
            unsafe { callable::$function($($argument),*) };
            0
        }
    };
}

services! {
    CEECRHP ceecrhp(
        id: *mut i32, initial: *const i32, increment: *const i32, options: *const i32, fc: *mut Feedback
    ) => create;
    CEEGTST ceegtst(id: *const i32, size: *const i32, address: *mut *mut u8, fc: *mut Feedback) => get;
    CEECZST ceeczst(address: *mut *mut u8, size: *const i32, fc: *mut Feedback) => resize;
    CEEFRST ceefrst(address: *const *mut u8, fc: *mut Feedback) => free;
    CEEDSHP ceedshp(id: *const i32, fc: *mut Feedback) => discard;
    CEE3RPH cee3rph(heading: *const u8, fc: *mut Feedback) => set_heading;
}
