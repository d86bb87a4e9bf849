//! The process of our programs: its end, and the locks that a fork holds.
//!
//! Not here: the end of an image (`life`), the handlers of fork (`table::fork`).

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

use super::life::LIFE;
use super::{Image, debugger, objects, perf_map};
use crate::arena;
use crate::program_headers;
use crate::system;
use crate::threads;

/// 1 when [`at_exit`] is registered.
static PREPARED: AtomicU32 = AtomicU32::new(0);

/// Once: the end of the process.
pub(super) fn prepare() {
    if PREPARED.swap(1, Ordering::Relaxed) == 0 {
        objects::prepare();
        // SAFETY: a function of this library, which stays as long as the process, or as the library that contains us.
        unsafe { system::__cxa_atexit(at_exit, core::ptr::null_mut(), core::ptr::null_mut()) };
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

/// The locks of images and of what they use, for fork.
pub(crate) fn hold() {
    LIFE.hold();
    program_headers::hold();
    debugger::hold();
    objects::hold();
    threads::hold();
    arena::hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
pub(crate) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe {
        arena::release();
        threads::release();
        objects::release();
        debugger::release();
        program_headers::release();
        LIFE.release();
    }
}

/// In a forked child, after [`release`].
pub(crate) fn forked() {
    perf_map::forked();
}
