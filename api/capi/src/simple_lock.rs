//! The calls of `sys/simplelock.h`.
//!
//! Invariant: no call touches a lock after it has given it up.
//! Not here: the actions (`underbar_lock`), and the words of the contract (the header).

use std::ffi::{c_int, c_long};

use underbar_lock::SimpleLock;

pub(crate) const EPERM: c_int = 1;
pub(crate) const EBUSY: c_int = 16;
pub(crate) const EINVAL: c_int = 22;
pub(crate) const ETIMEDOUT: c_int = 110;

/// `struct timespec` of C.
#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

impl Timespec {
    /// As one number; None for an invalid time of C. Times before the clock's beginning have passed, as its beginning has.
    pub(crate) fn nanoseconds(&self) -> Option<u64> {
        let nanoseconds = u64::try_from(self.nanoseconds).ok().filter(|part| *part < 1_000_000_000)?;
        let seconds = u64::try_from(self.seconds).unwrap_or(0);
        Some(seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds))
    }
}

/// simple_lock_init.
///
/// # Safety
/// `lock` points to eight bytes, aligned to four, that are not in use as a lock at this moment. This applies to all calls,
/// except that the lock may be in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simple_lock_init(lock: *mut SimpleLock) {
    // SAFETY: the caller's promise.
    unsafe { lock.write(SimpleLock::new()) }
}

/// Defines a C function that calls another one with the address of its own call as an additional argument. This address
/// identifies a thread's wait, and its release of a lock with waiters.
macro_rules! from_caller {
    ($(#[$about:meta])* $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?, $register:literal, $inner:ident) => {
        $(#[$about])*
        ///
        /// # Safety
        /// As [`simple_lock_init`].
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) $(-> $result)? {
            core::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {inner}", inner = sym $inner)
        }
    };
}

from_caller!(
    /// simple_lock.
    simple_lock(_lock: *const SimpleLock), "rsi", lock_from);
from_caller!(
    /// simple_unlock.
    simple_unlock(_lock: *const SimpleLock) -> c_int, "rsi", unlock_from);
from_caller!(
    /// simple_timedlock.
    simple_timedlock(_lock: *const SimpleLock, _until: *const Timespec) -> c_int, "rdx", lock_until_from);

unsafe extern "C" fn lock_from(lock: *const SimpleLock, caller: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*lock).lock_from(caller) }
}

unsafe extern "C" fn unlock_from(lock: *const SimpleLock, caller: usize) -> c_int {
    // SAFETY: the caller's promise.
    if unsafe { (*lock).unlock_from(caller) } { 0 } else { EPERM }
}

unsafe extern "C" fn lock_until_from(
    lock: *const SimpleLock,
    until: *const Timespec,
    caller: usize,
) -> c_int {
    // SAFETY: the caller's promise; C's contract gives a time.
    unsafe {
        let Some(until) = (*until).nanoseconds() else { return EINVAL };
        if (*lock).lock_until_from(until, caller) { 0 } else { ETIMEDOUT }
    }
}

/// simple_trylock.
///
/// # Safety
/// As [`simple_lock_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simple_trylock(lock: *const SimpleLock) -> c_int {
    // SAFETY: the caller's promise.
    if unsafe { (*lock).try_lock() } { 0 } else { EBUSY }
}
