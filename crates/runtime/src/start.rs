//! Starting: options are read and the accounts attached before the first request is served.
//!
//! The first request may come from the loader, long before any constructor, when only one thread exists.
//! ```text
//! first request ─> ensure ─> options ─> resources obey
//! constructor ─> the modules that walk the table of resources later ─> resources start
//! ```
//!
//! Invariant: [`ensure`] does its work once, and none of its callees uses the program's heap.
//! Not here: the meaning of the options (`options`), and the resources that start and end (`resources`).

use core::ffi::c_char;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::errno::set_errno;
use crate::next::Next;
use crate::orders::Given;
use crate::{clone, follow, fork, key, ledger, options, resources, seccomp};

const NOT_YET: u32 = 0;
const AT_IT: u32 = 1;
const DONE: u32 = 2;
static STATE: AtomicU32 = AtomicU32::new(NOT_YET);
static DAEMON: Next = Next::new(c"daemon");

unsafe extern "C" {
    fn __cxa_at_quick_exit(then: extern "C" fn(*mut u8), argument: *mut u8) -> i32;
}

/// Makes the heap ready. Cheap if it is.
pub fn ensure() {
    if STATE.load(Ordering::Acquire) == DONE {
        return;
    }
    if STATE.compare_exchange(NOT_YET, AT_IT, Ordering::Acquire, Ordering::Acquire).is_ok() {
        options::obey();
        STATE.store(DONE, Ordering::Release);
    }
    // Otherwise: either this thread is in the middle of it (and needs storage, which works with the defaults),
    // or another one is, which can only be when threads start before the first request was served.
}

/// The rest of the start, for which the C library must be up: called by the preload's constructor.
///
/// # Safety
/// Each is null, or a list of C strings that ends with null, as `main` gets it; both stay during the call, and the memory of the
/// arguments as long as the process. No other thread runs yet.
pub unsafe fn constructor(arguments: *const *const c_char, environment: *const *const c_char) {
    // SAFETY: the caller's promise.
    unsafe {
        ledger::arguments::known(arguments, ensure);
        let given = Given { environment };
        follow::at_start(&given);
        fork::at_start();
        clone::at_start();
        key::at_start();
        seccomp::at_start();
        resources::start(&given);
    }
    // Exit functions run in reverse order of registration: the program's own come before this one.
    // SAFETY: a function of this library, which stays loaded: the preload is never closed.
    unsafe { __cxa_at_quick_exit(at_quick_exit, core::ptr::null_mut()) };
}

/// `quick_exit` of C runs its registered functions, and no destructors.
extern "C" fn at_quick_exit(_: *mut u8) {
    destructor();
}

/// The process ends in good order: settles its figures.
pub fn destructor() {
    resources::end();
}

/// Ends the process at once, accounts settled. In a child made by vfork, whose memory is its parent's, the
/// accounts are the parent's and stay open.
pub fn leave(status: i32) -> ! {
    destructor();
    underbar_sys::syscall::exit_group(status)
}

/// `daemon` of the C library, which ends the parent without calling its own `_exit`. So the parent's figures are settled
/// before, and it ends in good order unless the call returns to it. The child that continues has accounts of its own.
///
/// # Safety
/// As C's.
pub unsafe fn daemon(keeps_folder: i32, keeps_streams: i32) -> i32 {
    const ENOSYS: i32 = 38;
    type Daemon = unsafe extern "C" fn(i32, i32) -> i32;
    let Some(address) = DAEMON.get() else {
        set_errno(ENOSYS);
        return -1;
    };
    resources::settle();
    resources::look();
    ledger::attach::set_replaced(true);
    // SAFETY: the next library's function of this name has this signature; the caller's promise is passed on.
    let result = unsafe { core::mem::transmute::<usize, Daemon>(address)(keeps_folder, keeps_streams) };
    ledger::attach::set_replaced(false);
    result
}
