//! Waits for children: a child that was killed may have left bytes in a buffer, which its parent must find in the file.
//!
//! Invariant: result and `errno` are those of the function. Nothing is asked unless another process has a buffer.
//! Not here: parents that learn of a child's end by other means, as by the end of a pipe; to them it is as to any other process.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::{before, others};

const WAIT: usize = 0;
const WAITPID: usize = 1;
const WAIT3: usize = 2;
const WAIT4: usize = 3;
const WAITID: usize = 4;
const SYSTEM: usize = 5;
const PCLOSE: usize = 6;
/// How many there are.
pub(super) const WAITS: usize = 7;

/// The functions of the C library. Each is written here before a word of the program has the address of our function.
pub(super) static REAL: [AtomicUsize; WAITS] = [const { AtomicUsize::new(0) }; WAITS];

/// Name, and the function that takes its place.
pub(super) fn call(number: usize) -> Option<(&'static CStr, usize)> {
    Some(match number {
        WAIT => (c"wait", wait as *const () as usize),
        WAITPID => (c"waitpid", waitpid as *const () as usize),
        WAIT3 => (c"wait3", wait3 as *const () as usize),
        WAIT4 => (c"wait4", wait4 as *const () as usize),
        WAITID => (c"waitid", waitid as *const () as usize),
        SYSTEM => (c"system", system as *const () as usize),
        PCLOSE => (c"pclose", pclose as *const () as usize),
        _ => return None,
    })
}

fn real(number: usize) -> usize {
    REAL[number].load(Ordering::Relaxed)
}

fn waited(process: c_int) -> c_int {
    if process > 0 {
        others::child_ended();
    }
    process
}

unsafe extern "C" fn wait(status: *mut c_int) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: the C library's function; the arguments are the program's. The same below.
    waited(unsafe { transmute::<usize, Function>(real(WAIT))(status) })
}

unsafe extern "C" fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *mut c_int, c_int) -> c_int;
    // SAFETY: as above.
    waited(unsafe { transmute::<usize, Function>(real(WAITPID))(process, status, options) })
}

unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_int, c_int, *mut c_void) -> c_int;
    // SAFETY: as above.
    waited(unsafe { transmute::<usize, Function>(real(WAIT3))(status, options, usage) })
}

unsafe extern "C" fn wait4(process: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *mut c_int, c_int, *mut c_void) -> c_int;
    // SAFETY: as above.
    waited(unsafe { transmute::<usize, Function>(real(WAIT4))(process, status, options, usage) })
}

unsafe extern "C" fn waitid(kind: c_int, process: u32, about: *mut c_void, options: c_int) -> c_int {
    type Function = unsafe extern "C" fn(c_int, u32, *mut c_void, c_int) -> c_int;
    // SAFETY: as above.
    let result = unsafe { transmute::<usize, Function>(real(WAITID))(kind, process, about, options) };
    if result == 0 {
        others::child_ended();
    }
    result
}

unsafe extern "C" fn system(command: *const c_char) -> c_int {
    type Function = unsafe extern "C" fn(*const c_char) -> c_int;
    before::spawns();
    // SAFETY: as above.
    let result = unsafe { transmute::<usize, Function>(real(SYSTEM))(command) };
    others::child_ended();
    result
}

unsafe extern "C" fn pclose(stream: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_void) -> c_int;
    // SAFETY: as above.
    let result = unsafe { transmute::<usize, Function>(real(PCLOSE))(stream) };
    others::child_ended();
    result
}
