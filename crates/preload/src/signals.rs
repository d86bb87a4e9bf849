//! Handlers and sets of signals. They hide the signal of the timers of `underbar profile`: the program finds it
//! unused.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::c_int;

use underbar_runtime::sample::signals::{self, Action, Set};

/// Defines C functions, each as one call of a function of the runtime.
macro_rules! symbols {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty => $to:ident;)*) => { $(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As C's.
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller's promise is passed on.
            unsafe { signals::$to($($argument),*) }
        }
    )* };
}

symbols! {
    sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int => sigaction;
    __sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int => sigaction;
    signal(signal: c_int, handler: usize) -> usize => signal;
    bsd_signal(signal: c_int, handler: usize) -> usize => signal;
    ssignal(signal: c_int, handler: usize) -> usize => signal;
    sysv_signal(signal: c_int, handler: usize) -> usize => sysv_signal;
    __sysv_signal(signal: c_int, handler: usize) -> usize => sysv_signal;
    pthread_sigmask(how: c_int, set: *const Set, old: *mut Set) -> c_int => pthread_sigmask;
    sigprocmask(how: c_int, set: *const Set, old: *mut Set) -> c_int => sigprocmask;
}
