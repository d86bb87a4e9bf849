//! Starting: options are read and the accounts attached before the first request is served.
//!
//! The first request may come from the loader, long before any constructor, when only one thread exists.
//! Invariant: [`ensure`] does its work once, and nothing that it calls asks the program's heap.
//! Not here: what the options mean (`options`), and what is done with them (`heap`).

use core::ffi::c_char;
use core::sync::atomic::{AtomicU32, Ordering};

use underbar_sys::syscall::{number, syscall6};

use crate::thread_end::ThreadEnd;
use crate::{coverage, faults, heap, ledger, lock, options, own, sample, stack};

const NOT_YET: u32 = 0;
const AT_IT: u32 = 1;
const DONE: u32 = 2;
static STATE: AtomicU32 = AtomicU32::new(NOT_YET);
static HEAP_END: ThreadEnd = ThreadEnd::new(thread_ends);

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
    fn __register_atfork(
        before: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
        library: *mut u8,
    ) -> i32;
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
    lock::at_start();
    stack::at_start(environment);
    // SAFETY: functions of ours, which stay loaded: the preload is never closed.
    unsafe {
        __register_atfork(
            Some(before_fork),
            Some(after_fork),
            Some(after_fork_in_child),
            core::ptr::null_mut(),
        )
    };
    // What is arranged first is done last: the program's own come before it.
    // SAFETY: as above.
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

unsafe extern "C" fn thread_ends(heap: *mut u8) {
    // SAFETY: the value was set by this thread in `at_thread_end`.
    unsafe { heap::thread_ends(heap) }
}

pub(crate) extern "C" fn before_fork() {
    // What this thread counted and did not publish would be counted by both. But a signal handler may have come in the
    // middle of a request, whose cells must stay where they are; the kernel holds its signal back as long as it runs.
    if !is_a_signal_held_back() {
        heap::settle();
    }
    stack::before_fork();
    heap::before_fork();
}

/// Is any signal held back in this thread? The C library asks the same of the kernel in each fork.
fn is_a_signal_held_back() -> bool {
    let mut held = 0u64;
    // SAFETY: nothing is changed, and the kernel writes the 8 bytes that it is told.
    let asked =
        unsafe { syscall6(number::RT_SIGPROCMASK, 0, 0, &raw mut held as usize, size_of::<u64>(), 0, 0) };
    asked.is_err() || held != 0
}

pub(crate) extern "C" fn after_fork() {
    // SAFETY: the C library calls this in the thread that called `before_fork`.
    unsafe {
        heap::after_fork();
        stack::after_fork();
    }
}

pub(crate) extern "C" fn after_fork_in_child() {
    lock::after_fork_in_child();
    faults::after_fork_in_child();
    // SAFETY: as above; in the child that thread is the only one.
    unsafe {
        heap::after_fork();
        stack::after_fork_in_child();
    }
    ledger::attach::after_fork();
    sample::after_fork_in_child();
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
