//! The thread that sleeps until the earliest kept timer is due.
//!
//! ```text
//! NONE ── the first timer is adopted ──> RUNNING ── the process changes its rights, or locks itself in ──> RETIRED
//!            no memory, no thread ──────────────────────────────────────────────────────────────────────────^
//! ```
//!
//! It gives a timer that is due to the kernel, set to now: so the signal is the kernel's, with the kernel's values, to whom the kernel
//! chooses, and a program that sets the timer at that moment stops it as ever. It wakes no thread of the program otherwise: no call of
//! the program is interrupted by an expiry that is not its own.
//!
//! Invariant: it uses no thread-local storage, which would be its starter's, and has all signals blocked. After RETIRED nothing is kept.
//! Not here: the times (`keeper`).

use core::sync::atomic::{AtomicPtr, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall::{Errno, futex_wait_until, futex_wake, getpid, sched_yield};
use underbar_sys::{bare_thread, clock};

use super::keeper::Keeper;
use super::kernel;
use crate::{ledger, sandbox};

const NONE: u32 = 0;
const STARTING: u32 = 1;
const RUNNING: u32 = 2;
const RETIRED: u32 = 3;

/// The page of the keeper; null without TIMER(COALESCE). Written once, before the program begins; relaxed.
static KEEPER: AtomicPtr<Keeper> = AtomicPtr::new(core::ptr::null_mut());

/// The keeper, if there is one.
#[inline]
pub(super) fn keeper() -> Option<&'static Keeper> {
    // SAFETY: null, or a page that stays mapped and holds atomics only.
    unsafe { KEEPER.load(Ordering::Relaxed).as_ref() }
}

/// Timers may be kept from now on, in this page.
pub(super) fn is(page: *mut Keeper) {
    // SAFETY: a new page of zeros, which stays mapped; nobody else has it.
    unsafe { (*page).is_of(getpid()) };
    // Finds the kernel's function, which the thread may not look for.
    let _ = clock::monotonic();
    KEEPER.store(page, Ordering::Relaxed);
}

/// Whether the thread runs, started if it was not yet. False: nothing is kept.
pub(super) fn runs(keeper: &'static Keeper) -> bool {
    match keeper.state.load(Ordering::Acquire) {
        RUNNING => true,
        NONE if !sandbox::is_closed() => start(keeper),
        _ => false,
    }
}

#[cold]
fn start(keeper: &'static Keeper) -> bool {
    // In a child by fork, whose page was wiped.
    if !keeper.is_of(getpid())
        || keeper.state.compare_exchange(NONE, STARTING, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return false;
    }
    // SAFETY: `sleep` and all that it calls make system calls, read the clock and use atomics of this process.
    let is_there = unsafe { bare_thread::start(&keeper.thread, sleep) }.is_ok();
    let state = if is_there { RUNNING } else { RETIRED };
    // Unless it was retired meanwhile.
    keeper.state.compare_exchange(STARTING, state, Ordering::Release, Ordering::Relaxed).is_ok() && is_there
}

/// Wakes the thread if it would sleep too long for this time. True if it had to.
pub(super) fn wakes_for(keeper: &Keeper, time: u64) -> bool {
    let Some(until) = keeper.is_too_late(time) else { return false };
    wake(keeper);
    keeper.was_woken(until);
    true
}

fn wake(keeper: &Keeper) {
    keeper.generation.fetch_add(1, Ordering::SeqCst);
    let _ = futex_wake(&keeper.generation, 1);
}

extern "C" fn sleep() -> ! {
    let Some(keeper) = keeper() else { bare_thread::end() };
    bare_thread::is_named_and_punctual(c"underbar-timer");
    let mut was_in_time = false;
    loop {
        let seen = keeper.generation.load(Ordering::SeqCst);
        if keeper.state.load(Ordering::Acquire) == RETIRED {
            bare_thread::end();
        }
        let sent = keeper.send_due(clock::monotonic(), |at, time| kernel::expire(keeper, at, time));
        if sent > 0 {
            ledger::add(Key::TimerSent, sent);
        } else if was_in_time {
            ledger::add(Key::TimerEarly, 1);
        }
        was_in_time = false;
        let Some(until) = keeper.sleeps_until() else { continue };
        let deadline = Some(until).filter(|&until| until != u64::MAX);
        was_in_time = futex_wait_until(&keeper.generation, seen, deadline, u32::MAX) == Err(Errno::ETIMEDOUT);
        keeper.is_awake();
    }
}

/// Nothing is kept any more: each timer goes to the kernel with what is left of it, and the thread ends before this returns.
pub(super) fn retire(keeper: &Keeper) {
    if keeper.state.swap(RETIRED, Ordering::AcqRel) == RETIRED {
        return;
    }
    for at in 0..keeper.places.len() {
        kernel::give_up(keeper, at);
    }
    wake(keeper);
    while keeper.thread.load(Ordering::Acquire) != 0 {
        sched_yield();
    }
}
