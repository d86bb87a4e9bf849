//! libunderbar.so: C symbols that call the runtime
//!
//! May use: the runtime. Has no logic: each symbol is one call.
//! The functions have their C names only with the feature `artifact`; without it this is an ordinary library that can be
//! linted and linked anywhere without replacing a program's functions. With the feature `linked` it becomes `libunderbar.a`.
#![no_std]

mod alias;
mod below;
mod clone;
mod ecb;
mod enclave;
mod execute;
mod exit;
mod fork;
mod frames;
mod info;
mod key;
#[cfg(feature = "linked")]
mod linked;
mod malloc;
mod map;
mod mutex;
mod new;
mod open;
mod sandbox;
mod services;
mod signals;
mod start;
mod thread;

/// Nothing may unwind into a C program. Nothing here should panic either; if it does, the process ends by SIGABRT, like any
/// program that detects its own error.
#[cfg(all(feature = "artifact", not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    const WORDS: &[u8] = b"underbar: storage is damaged: a pointer was given to free or realloc that no request had returned, or \
                           the program wrote where it must not\n";
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    let _ = underbar_sys::syscall::write(2, WORDS);
    abort()
}
