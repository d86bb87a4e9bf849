//! operator new and delete of C++, in all forms, by their mangled names.
//!
//! ```text
//! _Znw _Zna            new, new[]              m   the size
//! _Zdl _Zda            delete, delete[]        Pv  the address
//! ...St11align_val_t   aligned                 ...RKSt9nothrow_t   returns null in place of throwing
//! ```
//! All forms pass three arguments on. By C's convention, arguments that a form does not have are registers that the next
//! function does not read.
//! Not here: the case without storage (`runtime::heap::new`).
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]
#![allow(non_snake_case, reason = "the names are those of the C++ ABI")]

use core::ffi::c_void;

use underbar_runtime::heap::{self, new};

macro_rules! news {
    ($($name:ident else $slow:ident;)*) => { $(
        #[doc = concat!("operator new: `", stringify!($name), "`.")]
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        unsafe extern "C" fn $name(size: usize, second: usize) -> *mut c_void {
            // SAFETY: the caller's contract is that of C++. The slow path may leave by a jump into the C++
            // library; it is the last thing done here.
            unsafe {
                let cell = heap::ready(size);
                if cell.is_null() { new::$slow(size, second, 0).cast() } else { cell.cast() }
            }
        }
    )* };
}

macro_rules! aligned_news {
    ($($name:ident else $slow:ident;)*) => { $(
        #[doc = concat!("operator new: `", stringify!($name), "`.")]
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        unsafe extern "C" fn $name(size: usize, align: usize, nothrow: usize) -> *mut c_void {
            // SAFETY: as above.
            unsafe { new::$slow(size, align, nothrow).cast() }
        }
    )* };
}

macro_rules! deletes {
    ($($name:ident;)*) => { $(
        #[doc = concat!("operator delete: `", stringify!($name), "`.")]
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        unsafe extern "C" fn $name(address: *mut c_void) {
            // SAFETY: the caller's contract is that of C++.
            unsafe { heap::free(address.cast()) }
        }
    )* };
}

news! {
    _Znwm else single;
    _Znam else array;
    _ZnwmRKSt9nothrow_t else single_nothrow;
    _ZnamRKSt9nothrow_t else array_nothrow;
}

aligned_news! {
    _ZnwmSt11align_val_t else single_aligned;
    _ZnamSt11align_val_t else array_aligned;
    _ZnwmSt11align_val_tRKSt9nothrow_t else single_aligned_nothrow;
    _ZnamSt11align_val_tRKSt9nothrow_t else array_aligned_nothrow;
}

deletes! {
    _ZdlPv;
    _ZdaPv;
    _ZdlPvm;
    _ZdaPvm;
    _ZdlPvRKSt9nothrow_t;
    _ZdaPvRKSt9nothrow_t;
    _ZdlPvSt11align_val_t;
    _ZdaPvSt11align_val_t;
    _ZdlPvmSt11align_val_t;
    _ZdaPvmSt11align_val_t;
    _ZdlPvSt11align_val_tRKSt9nothrow_t;
    _ZdaPvSt11align_val_tRKSt9nothrow_t;
}
