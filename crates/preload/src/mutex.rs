//! Mutexes of POSIX, to know who waits for whom, and to wait better.
//!
//! Each name is two instructions: where it was called from becomes one more argument, and the jump leads to the runtime,
//! or past it to the C library, which does not look at that argument.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use underbar_lock::Observer;
use underbar_runtime::lock::{
    ENTRY_CLOCKLOCK, ENTRY_LOCK, ENTRY_TIMEDLOCK, ENTRY_TRYLOCK, ENTRY_UNLOCK, Mutex, OBSERVER,
};
use underbar_sys::syscall::Timespec;

/// Defines C functions: the register that takes the return address, and the word that says where to go on.
macro_rules! symbols {
    ($($name:ident($($type:ty),*) $register:literal => $entry:ident;)*) => { $(
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
                "jmp qword ptr [rip + {entry}]",
                ".cfi_endproc",
                entry = sym $entry,
            )
        }
    )* };
}

symbols! {
    pthread_mutex_lock(*const Mutex) "rsi" => ENTRY_LOCK;
    pthread_mutex_unlock(*const Mutex) "rsi" => ENTRY_UNLOCK;
    pthread_mutex_trylock(*const Mutex) "rsi" => ENTRY_TRYLOCK;
    pthread_mutex_timedlock(*const Mutex, *const Timespec) "rdx" => ENTRY_TIMEDLOCK;
    pthread_mutex_clocklock(*const Mutex, i32, *const Timespec) "rcx" => ENTRY_CLOCKLOCK;
}

/// Found by simple locks that a program carries in itself.
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
