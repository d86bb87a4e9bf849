//! The process of our programs: its arguments, its forks, its end.
//!
//! Invariant: in a child the locks of the loader are free, whichever thread forked.
//! Not here: the end of an image (`life`).

use core::ffi::{c_char, c_int, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::life::LIFE;
use super::{Image, debugger, objects, perf_map};
use crate::arena;
use crate::program_headers;
use crate::system;
use crate::threads;

/// 1 when [`at_exit`] and the handlers of fork are registered.
static PREPARED: AtomicU32 = AtomicU32::new(0);

/// The arguments of this process. Written once before `main`.
static ARGUMENT_COUNT: AtomicUsize = AtomicUsize::new(0);
static ARGUMENTS: AtomicUsize = AtomicUsize::new(0);

// Miri passes no arguments to functions that run before `main`.
#[cfg(not(miri))]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn(c_int, *const *const c_char) = note_arguments;

#[cfg_attr(miri, allow(dead_code))]
extern "C" fn note_arguments(count: c_int, arguments: *const *const c_char) {
    ARGUMENT_COUNT.store(count as usize, Ordering::Relaxed);
    ARGUMENTS.store(arguments as usize, Ordering::Relaxed);
}

/// Count and texts.
pub(super) fn arguments() -> (c_int, *const *const c_char) {
    static NONE: usize = 0;
    #[cfg(not(miri))]
    core::hint::black_box(&AT_START);
    match ARGUMENTS.load(Ordering::Relaxed) {
        0 => (0, (&raw const NONE).cast()),
        arguments => (ARGUMENT_COUNT.load(Ordering::Relaxed) as c_int, arguments as *const *const c_char),
    }
}

/// Once: the end of the process and fork.
pub(super) fn prepare() {
    if PREPARED.swap(1, Ordering::Relaxed) == 0 {
        objects::prepare();
        // SAFETY: functions of this library, which stay as long as the process, or as the library that contains us.
        unsafe {
            system::__cxa_atexit(at_exit, core::ptr::null_mut(), core::ptr::null_mut());
            system::pthread_atfork(before_fork, after_fork, after_fork_in_child);
        }
    }
}

/// The process ends: remaining programs end first, in reverse order of their beginning.
unsafe extern "C" fn at_exit(_: *mut c_void) {
    // Also if a library of the system has exited within a LINK: from here there is no return.
    crate::frame::forget();
    loop {
        let mut last: Option<(u64, NonNull<Image>)> = None;
        program_headers::each(|entry| {
            let image = entry.cast::<Image>();
            // SAFETY: an entry of the list is the first field of its image.
            let begun = unsafe { (*image.as_ptr()).begun };
            if begun > last.map_or(0, |(begun, _)| begun) {
                last = Some((begun, image));
            }
        });
        let Some((_, image)) = last else { return };
        // SAFETY: the process ends: as with the system's loader, threads that still run are at their own risk.
        unsafe { Image::end(image) };
    }
}

unsafe extern "C" fn before_fork() {
    crate::enclave::hold();
    crate::table::hold();
    LIFE.hold();
    program_headers::hold();
    debugger::hold();
    objects::hold();
    threads::hold();
    arena::hold();
}

unsafe extern "C" fn after_fork() {
    // SAFETY: held before, by this thread or by the thread that it is a copy of.
    unsafe {
        arena::release();
        threads::release();
        objects::release();
        debugger::release();
        program_headers::release();
        LIFE.release();
        crate::table::release();
        crate::enclave::release();
    }
}

unsafe extern "C" fn after_fork_in_child() {
    // SAFETY: as in the parent.
    unsafe { after_fork() };
    crate::table::forget_unfinished();
    perf_map::forked();
}
