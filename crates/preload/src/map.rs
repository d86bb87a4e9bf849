//! mmap, munmap and madvise, to record memory mapped outside the heap, and how much there was before much of it goes. The calls
//! themselves do not change.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_int, c_void};

use underbar_runtime::coverage;
use underbar_runtime::errno::set_errno;
use underbar_runtime::heap::OurSegments;
use underbar_sys::syscall;

/// Defines mmap by a name: passes on its six arguments and the address of its call.
macro_rules! mmap {
    ($($name:ident)*) => { $(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name(
            _: *mut c_void, _: usize, _: c_int, _: c_int, _: c_int, _: i64,
        ) -> *mut c_void {
            // The return address becomes the seventh argument, on the stack; the push aligns the stack, too.
            core::arch::naked_asm!(
                "push qword ptr [rsp]", "call {map}", "add rsp, 8", "ret", map = sym map
            )
        }
    )* };
}

mmap! { mmap mmap64 }

unsafe extern "C" fn map(
    hint: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
    caller: usize,
) -> *mut c_void {
    let (protection, flags) = (protection.cast_unsigned(), flags.cast_unsigned());
    if flags & syscall::MAP_FIXED != 0 {
        coverage::before_unmap::<OurSegments>(length);
    }
    // SAFETY: the caller's contract is that of C.
    match unsafe { syscall::mmap(hint.cast(), length, protection, flags, fd, offset.cast_unsigned()) } {
        Ok(address) => {
            let private = syscall::MAP_ANONYMOUS | syscall::MAP_PRIVATE;
            if flags & private == private {
                coverage::mapped::<OurSegments>(address as usize, length, caller);
            }
            address.cast()
        }
        Err(reason) => {
            set_errno(reason.number());
            usize::MAX as *mut c_void
        }
    }
}

/// C's `munmap`.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn munmap(address: *mut c_void, length: usize) -> c_int {
    coverage::before_unmap::<OurSegments>(length);
    // SAFETY: the caller's contract is that of C.
    as_c(unsafe { syscall::munmap(address.cast(), length) })
}

/// C's `madvise`.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int {
    let advice = advice.cast_unsigned();
    if matches!(advice, syscall::MADV_DONTNEED | syscall::MADV_FREE) {
        coverage::before_unmap::<OurSegments>(length);
    }
    // SAFETY: the caller's contract is that of C.
    as_c(unsafe { syscall::madvise(address.cast(), length, advice) })
}

/// The return value of C's functions.
fn as_c(done: syscall::Result<()>) -> c_int {
    done.map_or_else(
        |reason| {
            set_errno(reason.number());
            -1
        },
        |()| 0,
    )
}
