//! Mutexes of POSIX, to record which thread waits for which, and to improve the waiting.
//!
//! Each name is two instructions: the address of the call becomes one more argument, and a jump goes to the runtime, or under
//! LOCK(OFF) to the C library, which ignores the argument.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::mem::offset_of;

use underbar_lock::Observer;
use underbar_runtime::lock::{self, Entries, Mutex, OBSERVER};
use underbar_sys::syscall::Timespec;

/// Defines C functions: the register that takes the return address, and the entry to jump through.
macro_rules! symbols {
    ($($name:ident($($type:ty),*) $register:literal => $function:ident;)*) => { $(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As C's.
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($(_: $type),*) -> i32 {
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp qword ptr [rip + {entries} + {entry}]",
                ".cfi_endproc",
                entries = sym lock::ENTRIES,
                entry = const offset_of!(Entries, $function),
            )
        }
    )* };
}

symbols! {
    pthread_mutex_lock(*const Mutex) "rsi" => lock;
    pthread_mutex_unlock(*const Mutex) "rsi" => unlock;
    pthread_mutex_trylock(*const Mutex) "rsi" => trylock;
    pthread_mutex_timedlock(*const Mutex, *const Timespec) "rdx" => timedlock;
    pthread_mutex_clocklock(*const Mutex, i32, *const Timespec) "rcx" => clocklock;
}

/// Simple locks that are part of a program find it.
#[allow(non_upper_case_globals, reason = "a name of C")]
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
#[used]
pub static underbar_lock_observer: Observer = Observer {
    version: OBSERVER.version,
    spare: OBSERVER.spare,
    waits: OBSERVER.waits,
    waited: OBSERVER.waited,
    given_up: OBSERVER.given_up,
};
