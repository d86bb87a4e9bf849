//! libunderbar.so: C symbols that lead to the runtime
//!
//! May use: the runtime. Knows no logic: each symbol is one call.
//! Only with the feature `artifact` do the functions bear their C names; without it this is an ordinary
//! library that can be linted and linked anywhere without taking a program's functions over.
#![no_std]

mod alias;
mod clone;
mod execute;
mod exit;
mod fork;
mod frames;
mod info;
mod key;
mod malloc;
mod map;
mod mutex;
mod new;
mod open;
mod sandbox;
mod signals;
mod start;
mod thread;

/// Nothing may unwind into a C program. Nothing here is meant to panic either; if it does all the same, the
/// process ends by SIGABRT like any program that has found itself wrong.
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
