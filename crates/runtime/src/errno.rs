//! errno of the C library, which it keeps for each thread.
//!
//! Not here: the numbers, which are the kernel's (`underbar_sys::syscall::Errno`).

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
}

/// Sets errno.
pub fn set_errno(number: i32) {
    // SAFETY: the C library gives each thread its own.
    unsafe { *__errno_location() = number }
}

/// Reads errno.
pub fn errno() -> i32 {
    // SAFETY: the C library gives each thread its own.
    unsafe { *__errno_location() }
}
