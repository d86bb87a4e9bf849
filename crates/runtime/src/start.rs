//! Starting: options are read and the accounts attached before the first request is served.
//!
//! The first request may come from the loader, long before any constructor, when only one thread exists.
//! Invariant: [`ensure`] does its work once, and nothing that it calls asks the program's heap.
//! Not here: what the options mean (`options`), and what is done with them (`heap`).

use core::ffi::c_char;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::next::Next;
use crate::thread_end::ThreadEnd;
use crate::{
    clone, coverage, faults, fork, heap, key, ledger, lock, options, own, sample, sandbox, serving, stack,
};

const NOT_YET: u32 = 0;
const AT_IT: u32 = 1;
const DONE: u32 = 2;
static STATE: AtomicU32 = AtomicU32::new(NOT_YET);
static DAEMON: Next = Next::new(c"daemon");
pub(crate) static HEAP_END: ThreadEnd = ThreadEnd::new(thread_ends);

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
    fn __cxa_at_quick_exit(then: extern "C" fn(*mut u8), argument: *mut u8) -> i32;
}

/// Makes the heap ready. Cheap when it is.
pub fn ensure() {
    if STATE.load(Ordering::Acquire) == DONE {
        return;
    }
    if STATE.compare_exchange(NOT_YET, AT_IT, Ordering::Acquire, Ordering::Acquire).is_ok() {
        options::obey();
        HEAP_END.prepare();
        STATE.store(DONE, Ordering::Release);
    }
    // Otherwise: either this thread is in the middle of it (and needs storage, which works with the defaults),
    // or another one is, which can only be when threads start before the first request was served.
}

/// The rest, for which the C library must be up: called by the preload's constructor, which knows where the kernel
/// put the environment: just above the first thread's stack.
///
/// # Safety
/// `arguments` is null, or a list of C strings that ends with null, as `main` gets it; both stay while this lasts.
pub unsafe fn constructor(arguments: *const *const c_char, environment: usize) {
    // SAFETY: the caller's promise.
    unsafe { ledger::arguments::known(arguments, ensure) };
    faults::at_start();
    own::at_start();
    serving::at_start();
    lock::at_start();
    stack::at_start(environment);
    fork::at_start();
    clone::at_start();
    key::at_start();
    sandbox::at_start();
    // What is arranged first is done last: the program's own come before it.
    // SAFETY: a function of this library, which stays loaded: the preload is never closed.
    unsafe { __cxa_at_quick_exit(at_quick_exit, core::ptr::null_mut()) };
    stack::fill::before_main();
    sample::at_start();
}

/// `quick_exit` of C runs what was arranged for it, and no destructors.
extern "C" fn at_quick_exit(_: *mut u8) {
    destructor();
}

/// The process ends in good order: settles its figures.
pub fn destructor() {
    heap::settle();
    lock::settle();
    coverage::look();
    stack::look();
    sample::ended();
    ledger::attach::ended();
}

/// Arranges to be told when this thread, whose heap this is, ends.
pub fn at_thread_end(heap: *mut u8) {
    HEAP_END.register(heap);
}

/// What is told of is not believed: the program can set a key that it did not make.
unsafe extern "C" fn thread_ends(_: *mut u8) {
    heap::thread_ends();
}

/// Is nobody told any more when threads end? Their heaps would never come back.
#[inline]
pub fn are_ends_untold() -> bool {
    HEAP_END.is_given_up()
}

/// Sets errno.
pub fn set_errno(number: i32) {
    // SAFETY: the C library gives each thread its own.
    unsafe { *__errno_location() = number }
}

/// Reads errno.
pub fn errno() -> i32 {
    // SAFETY: the C library gives each thread its own.
    unsafe { *__errno_location() }
}

/// Ends the process at once, accounts settled. In a child made by vfork, whose memory is its parent's, the
/// accounts are the parent's and stay open.
pub fn leave(status: i32) -> ! {
    destructor();
    underbar_sys::syscall::exit_group(status)
}

/// `daemon` of the C library, which ends the parent past its own `_exit`: what the parent did is settled before, and it ends in good
/// order unless the call comes back to it. The child that goes on has accounts of its own.
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
    heap::settle();
    lock::settle();
    coverage::look();
    stack::look();
    ledger::attach::set_replaced(true);
    // SAFETY: the next library's function of this name has this signature; the caller's promise is passed on.
    let result = unsafe { core::mem::transmute::<usize, Daemon>(address)(keeps_folder, keeps_streams) };
    ledger::attach::set_replaced(false);
    result
}
