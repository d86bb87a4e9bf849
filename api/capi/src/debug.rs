//! The calls of `sys/simplelock.h` in its debug form (`-DSIMPLE_LOCK_DEBUG`): the plain ones plus the place of each call.
//!
//! ```text
//! fault ─> the program's handler, if it has set one ─returns─> the call fails (simple_lock waits forever, as without it)
//!             │ none
//!             v
//!          one line on standard error, and abort
//! ```
//!
//! Invariant: nothing here allocates: a fault may be found in a signal handler.
//! Not here: the detection of faults (`underbar_lock::debug`).

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use underbar_lock::SimpleLock;
use underbar_lock::debug::{self, CPlace, Fault, Place};

use crate::simple_lock::{EBUSY, EINVAL, EPERM, ETIMEDOUT, Timespec, simple_lock_init};

const EDEADLK: c_int = 35;

/// `struct simplelock_fault`.
#[repr(C)]
pub struct CFault {
    code: c_uint,
    thread: c_uint,
    holder: c_uint,
    signal: c_uint,
    lock: *const c_void,
    text: *const c_char,
}

/// `simplelock_fault_handler`.
type Handler = unsafe extern "C" fn(*const CFault);

/// The program's handler; 0: none. The thread that sets it has prepared its data; Release and Acquire.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

/// simple_lock_on_fault.
#[unsafe(no_mangle)]
pub extern "C" fn simple_lock_on_fault(handler: Option<Handler>) {
    HANDLER.store(handler.map_or(0, |handler| handler as usize), Ordering::Release);
}

/// simple_lock_init in the debug form.
///
/// # Safety
/// As [`simple_lock_init`]. The same applies to all calls here; a place comes from the header's macros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simple_lock_init_debug(lock: *mut SimpleLock) {
    debug::renew(lock);
    // SAFETY: the caller's promise.
    unsafe { simple_lock_init(lock) }
}

/// simple_lock in the debug form.
///
/// # Safety
/// As [`simple_lock_init_debug`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simple_lock_debug(lock: *const SimpleLock, place: &'static CPlace) {
    // SAFETY: the caller's promise.
    let lock = unsafe { &*lock };
    if let Err(fault) = debug::lock(lock, Place::C(place)) {
        report(&fault);
        // As without the debug form: a thread that must not have the lock does not get it.
        lock.lock();
    }
}

/// simple_trylock in the debug form.
///
/// # Safety
/// As [`simple_lock_init_debug`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simple_trylock_debug(lock: *const SimpleLock, place: &'static CPlace) -> c_int {
    // SAFETY: the caller's promise.
    if debug::try_lock(unsafe { &*lock }, Place::C(place)) { 0 } else { EBUSY }
}

/// simple_timedlock in the debug form.
///
/// # Safety
/// As [`simple_lock_init_debug`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simple_timedlock_debug(
    lock: *const SimpleLock,
    until: *const Timespec,
    place: &'static CPlace,
) -> c_int {
    // SAFETY: the caller's promise; C's contract gives a time.
    let (lock, until) = unsafe { (&*lock, (*until).nanoseconds()) };
    let Some(until) = until else { return EINVAL };
    match debug::lock_until(lock, until.max(1), Place::C(place)) {
        Ok(true) => 0,
        Ok(false) => ETIMEDOUT,
        Err(fault) => {
            report(&fault);
            EDEADLK
        }
    }
}

/// simple_unlock in the debug form.
///
/// # Safety
/// As [`simple_lock_init_debug`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simple_unlock_debug(lock: *const SimpleLock, place: &'static CPlace) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { debug::unlock(&*lock, Place::C(place)) } {
        Ok(()) => 0,
        Err(fault) => {
            report(&fault);
            EPERM
        }
    }
}

/// Text in a buffer, cut at its end; one byte is left for the final zero.
struct Line {
    bytes: [u8; 1024],
    length: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.length + 1 < self.bytes.len() {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
        Ok(())
    }
}

/// Calls the program's handler, or prints a message and ends the program.
#[cold]
fn report(fault: &Fault) {
    let mut line = Line { bytes: [0; 1024], length: 0 };
    // It never fails.
    let _ = write!(line, "{fault}");
    let handler = HANDLER.load(Ordering::Acquire);
    if handler != 0 {
        let text = CStr::from_bytes_until_nul(&line.bytes).unwrap_or(c"");
        let told = CFault {
            code: fault.kind as c_uint,
            thread: fault.thread,
            holder: fault.holder.map_or(0, |holder| holder.thread),
            signal: fault.signal.unwrap_or(0),
            lock: std::ptr::with_exposed_provenance(fault.lock),
            text: text.as_ptr(),
        };
        // SAFETY: a handler that the program has set, called as the header describes.
        unsafe { std::mem::transmute::<usize, Handler>(handler)(&raw const told) };
        return;
    }
    let _ = line.write_str("\n");
    unsafe extern "C" {
        fn write(fd: c_int, bytes: *const u8, length: usize) -> isize;
        safe fn abort() -> !;
    }
    // SAFETY: the bytes exist. A missing reader is no failure.
    unsafe { write(2, line.bytes.as_ptr(), line.length) };
    abort()
}
