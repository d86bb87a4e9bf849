//! fork: whose locks are taken, and in which order.
//!
//! A child has one thread. Locks that other threads held stay locked in it for ever, so each library takes its own before a fork.
//! The order must be that in which the program's threads take them, or two threads wait for each other:
//!
//! ```text
//! handlers of other libraries ─> ours: registrations ─> list of streams ─> stacks ─> heap ─> the C library: its list, fork
//!  (may get storage, take locks)       (1)               (2)
//! ```
//!
//! 1. Handlers run from the last registered to the first, after the fork the other way round. So ours are registered first, before
//!    those of libraries whose constructors run before ours: [`register`] stands in front of the C library's function. It gets
//!    storage under a lock which fork takes again after each handler. So we hold registrations back before we hold the heap.
//! 2. glibc's fork takes the lock of its list of streams after all handlers and before its own heap's. A thread with that lock may
//!    wait for a stream, and a thread with a stream's lock for storage (glibc's bug 19431). So we take the list's lock first. It
//!    can be taken again by its owner.
//!
//! Invariant: a thread that waits for anything of the C library while it forks does not hold the heap.
//! Not here: `clone` (the same without the C library), children by vfork (they share everything and take nothing).

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use underbar_sys::lock::Lock;
use underbar_sys::syscall::{number, syscall6};

use crate::next::{Next, weak};
use crate::{deepbind, faults, heap, ledger, lock, sample, stack};

/// What runs before a fork, and after it.
pub type Handler = Option<unsafe extern "C" fn()>;

type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut u8) -> i32;

static REGISTER: Next = Next::new(c"__register_atfork");

/// Held by whoever registers handlers, and by a thread that forks.
static REGISTRATIONS: Lock<()> = Lock::new(());

/// Are ours registered? Read and written under the lock above.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// For each fork that is under way in this thread a bit, the last one lowest: did we take the lock of the list of streams? More than
/// one is under way where a signal handler forks in the middle of a fork. Touched by whoever holds the heap's locks; relaxed.
static TAKEN: AtomicU32 = AtomicU32::new(0);

weak! {
    address_of_single_threaded = "__libc_single_threaded";
    address_of_list_lock = "_IO_list_lock";
    address_of_list_unlock = "_IO_list_unlock";
    address_of_list_reset = "_IO_list_resetlock";
}

/// Registers our handlers, where no other library's constructor has had that done.
pub(crate) fn at_start() {
    let _held = REGISTRATIONS.lock();
    if let Some(real) = real_register() {
        register_ours(real);
    }
}

/// `__register_atfork` of the C library, which `pthread_atfork` calls in every program and library.
///
/// # Safety
/// As the C library's.
pub unsafe fn register(before: Handler, parent: Handler, child: Handler, library: *mut u8) -> i32 {
    const ENOSYS: i32 = 38;
    let _held = REGISTRATIONS.lock();
    let Some(real) = real_register() else { return ENOSYS };
    register_ours(real);
    // SAFETY: the caller's promise.
    unsafe { real(before, parent, child, library) }
}

fn real_register() -> Option<Register> {
    // SAFETY: the next library's function of this name has this signature.
    REGISTER.get().map(|address| unsafe { core::mem::transmute::<usize, Register>(address) })
}

fn register_ours(real: Register) {
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: functions of this library, which stays loaded: the preload is never closed.
        unsafe {
            real(Some(before_handler), Some(after_handler), Some(child_handler), core::ptr::null_mut())
        };
    }
}

unsafe extern "C" fn before_handler() {
    REGISTRATIONS.hold();
    let taken = take_list_of_streams();
    before();
    TAKEN.store(TAKEN.load(Ordering::Relaxed) << 1 | u32::from(taken), Ordering::Relaxed);
}

unsafe extern "C" fn after_handler() {
    let taken = taken();
    after();
    if taken {
        call(address_of_list_unlock());
    }
    // SAFETY: held by this thread in `before_handler`.
    unsafe { REGISTRATIONS.release() }
}

unsafe extern "C" fn child_handler() {
    // The C library has made the lock a new one; once more does no harm where it did not.
    if taken() {
        call(address_of_list_reset());
    }
    in_child();
    // SAFETY: held in `before_handler` by the thread that this one is the copy of.
    unsafe { REGISTRATIONS.release() }
}

/// Takes the lock of the list of streams where the C library's fork will do so. With one thread it does not, as that thread may have
/// been interrupted in the middle of the list.
fn take_list_of_streams() -> bool {
    let single: *const u8 = core::ptr::without_provenance(address_of_single_threaded());
    // SAFETY: a variable of the C library of this type, absent before 2.32. Only this thread could make the process's second one.
    let is_single = !single.is_null() && unsafe { single.read_volatile() } != 0;
    let have = [address_of_list_lock(), address_of_list_unlock(), address_of_list_reset()];
    let take = !is_single && !have.contains(&0);
    if take {
        call(have[0]);
    }
    take
}

/// What [`before_handler`] noted last.
fn taken() -> bool {
    let all = TAKEN.load(Ordering::Relaxed);
    TAKEN.store(all >> 1, Ordering::Relaxed);
    all & 1 != 0
}

/// Calls one of the functions of the list of streams.
fn call(address: usize) {
    // SAFETY: found under the name of a function of the C library without arguments and result.
    unsafe { core::mem::transmute::<usize, unsafe extern "C" fn()>(address)() }
}

/// Takes the locks of the heap and of stacks.
pub(crate) fn before() {
    // What this thread counted and did not publish would be counted by both. But a signal handler may have come in the
    // middle of a request, whose cells must stay where they are; the kernel holds its signal back as long as it runs.
    if !is_a_signal_held_back() {
        heap::settle();
    }
    ledger::attach::before_fork();
    stack::before_fork();
    heap::before_fork();
    deepbind::before_fork();
}

/// Is any signal held back in this thread? The C library asks the same of the kernel in each fork.
fn is_a_signal_held_back() -> bool {
    let mut held = 0u64;
    // SAFETY: nothing is changed, and the kernel writes the 8 bytes that it is told.
    let asked =
        unsafe { syscall6(number::RT_SIGPROCMASK, 0, 0, &raw mut held as usize, size_of::<u64>(), 0, 0) };
    asked.is_err() || held != 0
}

/// Gives the locks back, in the parent: in the thread that called [`before`].
pub(crate) fn after() {
    // SAFETY: the caller's promise.
    unsafe {
        deepbind::after_fork();
        heap::after_fork();
        stack::after_fork();
    }
}

/// Gives the locks back, in the child, and begins its own accounts.
pub(crate) fn in_child() {
    lock::after_fork_in_child();
    faults::after_fork_in_child();
    // SAFETY: the parent's thread, of which the child's only one is the copy, called `before`.
    unsafe {
        deepbind::after_fork();
        heap::after_fork();
        stack::after_fork_in_child();
    }
    ledger::attach::after_fork();
    sample::after_fork_in_child();
}
