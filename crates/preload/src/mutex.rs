//! Mutexes of POSIX, to know who waits for whom, and to wait better.
//!
//! Each name is two instructions: where it was called from becomes one more argument, and the jump leads to the runtime.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use underbar_lock::Observer;
use underbar_runtime::lock::{self, Mutex, OBSERVER};
use underbar_sys::syscall::Timespec;

/// Defines C functions: the register that takes the return address, and the word that says where to go on.
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
                "jmp {function}",
                ".cfi_endproc",
                function = sym lock::$function,
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
