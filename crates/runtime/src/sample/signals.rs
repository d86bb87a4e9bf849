//! The program may do anything with the signal that the timers send. It finds the signal as if it were unused.
//!
//! The C library does the same with two signals that it keeps for itself: no program can block them. But it refuses
//! handlers for them; here the program's handler wins, and the timers end.
//!
//! ```text
//! handler asked for      the default one: as if the timers had none
//! default set            nothing: it would end the program at the next sample, and is what the program finds anyway
//! ignored, handler set   timers end, then as asked
//! blocked                among nearly all signals: all but this one. By itself or among few: it is meant, timers end
//! ```
//!
//! Invariant: if no samples are requested, each of these is one comparison, then the C library's function.
//! The handler of stack overflows is hidden in the same way, and that for storage of ended ECBs keeps the program's action (`stale`).
//! Known limits: the program's own system calls are not seen (Go's runtime makes them). A signal of a timer that was under
//! way when the program took it reaches the program's handler. On kernels before 5.9, a thread that waits for all signals
//! at once may receive this one if the tick arrives between its call and its sleep.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use underbar_ledger::samples::GAVE_WAY;

use crate::errno::set_errno;
use crate::next::Next;
use crate::{overflow, stale};

const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;

/// The signal that timers send; 0: none do. SeqCst, see `timers`.
static IN_USE: AtomicI32 = AtomicI32::new(0);
/// The signal for which this handler was set; 0: never. It stays when the timers have ended, since the handler does.
static HANDLED: AtomicI32 = AtomicI32::new(0);
/// The handler's address; 0: never set. Written before `HANDLED`, always the same; relaxed, as the code was there before.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

/// Whether that address is this handler.
fn is_handler(address: usize) -> bool {
    address == HANDLER.load(Ordering::Relaxed)
}

/// The signal that timers send; 0 if there are none.
pub(super) fn in_use() -> i32 {
    IN_USE.load(Ordering::SeqCst)
}

/// From now on timers send this signal, which this handler takes.
pub(super) fn enter(signal: i32, handler: usize) {
    HANDLER.store(handler, Ordering::Relaxed);
    HANDLED.store(signal, Ordering::Relaxed);
    IN_USE.store(signal, Ordering::SeqCst);
}

/// From now on none do; false if none did.
pub(super) fn leave() -> bool {
    IN_USE.swap(0, Ordering::SeqCst) != 0
}

/// Whether this is the timers' signal, in a process that has timers. A child of vfork has none, and its memory is its
/// parent's.
fn is_used(signal: c_int) -> bool {
    signal != 0 && signal == in_use() && is_own_process()
}

fn is_own_process() -> bool {
    super::area::header().is_some_and(|header| {
        header.process.load(Ordering::Relaxed) == underbar_sys::syscall::getpid().cast_unsigned()
    })
}

// ---- the next library's functions ---------------------------------------------------------------------------------

static SIGACTION: Next = Next::new(c"sigaction");
static SIGNAL: Next = Next::new(c"signal");
static SYSV_SIGNAL: Next = Next::new(c"sysv_signal");
static PTHREAD_SIGMASK: Next = Next::new(c"pthread_sigmask");
static SIGPROCMASK: Next = Next::new(c"sigprocmask");

/// Looks for all of them.
pub(super) fn find_the_real_ones() {
    for next in [&SIGACTION, &SIGNAL, &SYSV_SIGNAL, &PTHREAD_SIGMASK, &SIGPROCMASK] {
        let _ = next.get();
    }
}

// ---- handlers -----------------------------------------------------------------------------------------------------

/// `struct sigaction` of C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Action {
    handler: usize,
    rest: [u64; 18],
}

/// The place of the flags in the rest: behind the mask.
const FLAGS: usize = 16;
const NONE: Action = Action { handler: 0, rest: [0; 18] };

/// `sigaction` of POSIX.
///
/// # Safety
/// As C's.
pub unsafe fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    if stale::has(signal) {
        // SAFETY: the caller's promise.
        unsafe { exchange(new, old) };
        return 0;
    }
    let Some(next) = SIGACTION.get() else { return fail(ENOSYS) };
    // SAFETY: the C library's function of that name, whose signature this is.
    let next: unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int =
        unsafe { core::mem::transmute(next) };
    // SAFETY: null, or the caller's structure.
    let wanted = unsafe { new.as_ref() }.map(|action| action.handler);
    if is_used(signal) && wanted.is_none_or(|handler| handler == 0) {
        if !old.is_null() {
            // SAFETY: the caller's promise.
            unsafe { old.write(NONE) };
        }
        return 0;
    }
    if is_used(signal) {
        super::stop(GAVE_WAY);
    }
    // SAFETY: the caller's promise.
    unsafe {
        if wanted == Some(0) && is_set_for_overflows(signal) {
            if let Some(old) = old.as_mut() {
                *old = NONE;
            }
            return 0;
        }
        let result = next(signal, new, old);
        if result == 0
            && (signal == HANDLED.load(Ordering::Relaxed) || overflow::may_be_set_for(signal))
            && let Some(old) = old.as_mut()
            && (is_handler(old.handler) || overflow::is_ours(old.handler))
        {
            *old = NONE;
        }
        result
    }
}

/// Keeps the program's action where a handler for ended ECBs stands before it.
///
/// # Safety
/// As sigaction of C.
unsafe fn exchange(new: *const Action, old: *mut Action) {
    // SAFETY: the caller's promise.
    let wanted = unsafe { new.as_ref() }.map(|new| stale::Program {
        handler: new.handler,
        flags: new.rest[FLAGS] & u64::from(u32::MAX),
        mask: new.rest[0],
    });
    let before = stale::exchange(wanted);
    // SAFETY: the caller's promise.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = Action { handler: before.handler, ..NONE };
        (old.rest[0], old.rest[FLAGS]) = (before.mask, before.flags);
    }
}

/// Whether the handler of stack overflows is in place: then the default action is what the program finds.
fn is_set_for_overflows(signal: c_int) -> bool {
    let mut now = crate::action::DEFAULT;
    overflow::may_be_set_for(signal)
        && crate::action::change(signal, None, Some(&mut now))
        && overflow::is_ours(now.handler)
}

/// `signal` of C, as BSD and the C library have it: the handler stays.
///
/// # Safety
/// As C's.
pub unsafe fn signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { by_name(&SIGNAL, signal, handler) }
}

/// `signal` of System V: the handler is used once.
///
/// # Safety
/// As C's.
pub unsafe fn sysv_signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { by_name(&SYSV_SIGNAL, signal, handler) }
}

/// # Safety
/// `next` is a function with the signature of `signal`; else as C's.
unsafe fn by_name(next: &Next, signal: c_int, handler: usize) -> usize {
    const ERROR: usize = usize::MAX;
    if stale::has(signal) {
        return stale::exchange(Some(stale::of_signal(handler, core::ptr::eq(next, &SYSV_SIGNAL)))).handler;
    }
    let Some(next) = next.get() else {
        fail(ENOSYS);
        return ERROR;
    };
    if is_used(signal) {
        if handler == 0 {
            return 0;
        }
        super::stop(GAVE_WAY);
    }
    if handler == 0 && is_set_for_overflows(signal) {
        return 0;
    }
    // SAFETY: the caller's promise.
    let before = unsafe {
        let next: unsafe extern "C" fn(c_int, usize) -> usize = core::mem::transmute(next);
        next(signal, handler)
    };
    if is_handler(before) || overflow::is_ours(before) { 0 } else { before }
}

// ---- sets ---------------------------------------------------------------------------------------------------------

/// `sigset_t` of C; the kernel knows the first word.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Set([u64; 16]);

/// Calls `then` with the set, without the timers' signal if the set contains it only incidentally.
///
/// # Safety
/// `set` is null or points to a set.
unsafe fn without_ours<R>(set: *const Set, then: impl FnOnce(*const Set) -> R) -> R {
    let signal = in_use();
    if signal == 0 || set.is_null() {
        return then(set);
    }
    let ours = 1_u64 << (signal - 1);
    // SAFETY: the caller's promise. Only the word that has the timers' signal is read before it is known to be there.
    let first = unsafe { set.cast::<u64>().read() };
    if first & ours == 0 || !is_own_process() {
        return then(set);
    }
    /// Code that means fewer signals than this names them one by one.
    const FEW: u32 = 32;
    if first.count_ones() < FEW {
        super::stop(GAVE_WAY);
        return then(set);
    }
    // SAFETY: the caller's promise.
    let mut own = unsafe { set.read() };
    own.0[0] &= !ours;
    then(&raw const own)
}

/// Defines functions that block signals.
macro_rules! masks {
    ($($(#[$about:meta])* $name:ident by $next:ident, $missing:expr;)*) => { $(
        $(#[$about])*
        ///
        /// # Safety
        /// As C's.
        pub unsafe fn $name(how: c_int, set: *const Set, old: *mut Set) -> c_int {
            let Some(next) = $next.get() else { return $missing };
            // SAFETY: the C library's function of that name, whose signature this is; the caller's promise.
            unsafe {
                let next: unsafe extern "C" fn(c_int, *const Set, *mut Set) -> c_int = core::mem::transmute(next);
                without_ours(set, |set| next(how, set, old))
            }
        }
    )* };
}

masks! {
    /// `pthread_sigmask` of POSIX.
    pthread_sigmask by PTHREAD_SIGMASK, EINVAL;
    /// `sigprocmask` of POSIX.
    sigprocmask by SIGPROCMASK, fail(ENOSYS);
}

fn fail(reason: i32) -> c_int {
    set_errno(reason);
    -1
}
