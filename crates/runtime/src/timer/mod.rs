//! Timers under TIMER(COALESCE): those that a program sets again and again are kept in the process, and only what expires concerns the
//! kernel.
//!
//! ```text
//! program ── its word for setitimer ──> set_real ──┬─ kept: a store ────────────────> keeper <── sleeper, until the earliest time
//!            alarm, timer_settime ...              └─ else: the kernel's timer <─── due: set to now ──┘
//!                                                           │
//!                                                           └─> the signal
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `keeper` | the times, and the protocol between threads |
//! | `sleeper` | the thread that sleeps for them |
//! | `kernel` | the kernel's timers |
//! | `bind` | the functions whose places are taken |
//!
//! A timer begins in the kernel, and is kept after it was set eight times while it was running. When it expires it is back in the kernel: a
//! timer that mostly expires is never kept for long.
//!
//! Invariant: without TIMER(COALESCE) nothing here runs, and no word is changed. A signal comes no earlier than the last setting says, and
//! none is missing. A child by fork has no kept timers, as it has none of its parent's: the page is wiped.
//! Cost: a setting takes some 50 ns in place of 200 to 400; an expiry two calls of the kernel more, and the time until the thread runs.
//! Limits: a program that sets timers by system calls of its own is not seen, and must not mix them with functions.
//! Not here: timers with an interval, other clocks and notifications: they are the kernel's.

mod bind;
mod keeper;
mod kernel;
mod sleeper;

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall::{
    CLOCK_MONOTONIC, MADV_WIPEONFORK, Timespec, getpid, madvise, map_anonymous, sched_yield,
};
use underbar_sys::timer::{Setting, set, set_real};
use underbar_sys::{bare_thread, clock};

use crate::errno::set_errno;
use crate::ledger;
use crate::orders::Orders;
use bind::original;
use keeper::Keeper;
use sleeper::keeper;

/// Whether timers are to be kept. Written when options are obeyed; relaxed, since nothing else is read by it.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// 1: there was a call of vfork, so that the caller of a function here may be a child that shares the page. Written by the stub of vfork
/// before it jumps on; read by that thread and the child, which goes on in its place.
static MAY_BE_CHILD: AtomicU8 = AtomicU8::new(0);

/// Obeys TIMER.
pub(crate) fn configure(orders: &Orders<'_>) {
    IS_ON.store(orders.settings.coalesces_timers(), Ordering::Relaxed);
}

/// Takes the functions' places.
pub(crate) fn at_start() {
    if !IS_ON.load(Ordering::Relaxed) {
        return;
    }
    let Ok(page) = map_anonymous(size_of::<Keeper>()) else { return };
    // SAFETY: new pages, which nothing else uses.
    if unsafe { madvise(page, size_of::<Keeper>(), MADV_WIPEONFORK) }.is_err() {
        return;
    }
    sleeper::is(page.cast());
    bind::bind();
}

/// Timers are the kernel's from now on.
pub(crate) fn retire() {
    if let Some(keeper) = mine() {
        sleeper::retire(keeper);
    }
}

/// The process's own timer survives exec: it is the kernel's again. The others end there.
pub(crate) fn before_exec() {
    if let Some(keeper) = keeper()
        && keeper.is_of(getpid())
    {
        kernel::give_up(keeper, 0);
    }
}

/// The keeper; None in a child by vfork, whose timers are its own.
fn mine() -> Option<&'static Keeper> {
    let keeper = keeper()?;
    (MAY_BE_CHILD.load(Ordering::Relaxed) == 0 || keeper.is_of(getpid())).then_some(keeper)
}

/// Where the program sets the time of a timer.
#[derive(Clone, Copy)]
struct At {
    keeper: &'static Keeper,
    place: usize,
}

impl At {
    /// Sets a one-shot timer for a time, or ends it (0). Returns the time for which it was set; None: it is not kept.
    fn set(self, time: u64) -> Option<u64> {
        let old = self.keeper.places[self.place].set(time, sched_yield)?;
        ledger::add(Key::TimerSet, 1);
        if !sleeper::wakes_for(self.keeper, time) {
            ledger::add(Key::TimerSwallowed, 1);
        }
        Some(old)
    }

    /// The program set a one-shot timer in the kernel, which was running if `left`. `time` is not earlier than the kernel's; 0: it was ended.
    fn was_set_in_kernel(self, left: bool, time: u64) {
        ledger::add(Key::TimerSet, 1);
        if !self.keeper.places[self.place].pays(left, time != 0) || !sleeper::runs(self.keeper) {
            return;
        }
        let Ok(mask) = bare_thread::block_all() else { return };
        let is_kept = self.keeper.places[self.place].adopt(time, || kernel::stop(self.keeper, self.place));
        bare_thread::set_mask(mask);
        if is_kept {
            sleeper::wakes_for(self.keeper, time);
            if !sleeper::runs(self.keeper) {
                kernel::give_up(self.keeper, self.place);
            }
        }
    }

    fn get(self) -> Option<u64> {
        self.keeper.places[self.place].get(sched_yield)
    }

    fn give_up(self) {
        kernel::give_up(self.keeper, self.place);
    }
}

fn real() -> Option<At> {
    Some(At { keeper: mine()?, place: 0 })
}

/// What is left until a time; 0 if it is 0; at least 1 otherwise.
fn left(time: u64) -> u64 {
    if time == 0 { 0 } else { time.saturating_sub(clock::monotonic()).max(1) }
}

/// So many nanoseconds from now; 0: never. None: too far.
fn after(nanoseconds: u64) -> Option<u64> {
    if nanoseconds == 0 {
        return Some(0);
    }
    clock::monotonic().checked_add(nanoseconds).filter(|&time| time < i64::MAX as u64)
}

fn is_zero(time: &Timespec) -> bool {
    time.seconds == 0 && time.nanoseconds == 0
}

/// The nanoseconds of a time whose fraction has this many parts in a second; None if it is none.
fn nanoseconds(time: &Timespec, parts: i64) -> Option<u64> {
    let is_valid = time.seconds >= 0 && (0..parts).contains(&time.nanoseconds);
    let fraction = time.nanoseconds * (1_000_000_000 / parts);
    is_valid.then(|| Timespec { nanoseconds: fraction, ..*time }.in_nanoseconds())
}

// ---- the process's own timer --------------------------------------------------------------------------------

const MICROSECONDS: i64 = 1_000_000;

/// Sets the process's timer once, in so many nanoseconds. Returns the nanoseconds that were left; None: only the kernel can.
fn set_once(at: At, nanoseconds: u64) -> Option<u64> {
    let time = after(nanoseconds)?;
    if let Some(old) = at.set(time) {
        return Some(left(old));
    }
    let old = set_real(kernel::in_microseconds(nanoseconds)).ok()?;
    let was_running = !is_zero(&old.value);
    if is_zero(&old.interval) {
        at.was_set_in_kernel(was_running, after(nanoseconds)?);
    }
    let fraction = old.value.nanoseconds * 1_000;
    Some(Timespec { nanoseconds: fraction, ..old.value }.in_nanoseconds())
}

/// `alarm`.
unsafe extern "C" fn alarm(seconds: c_uint) -> c_uint {
    if let Some(at) = real()
        && let Some(old) = set_once(at, u64::from(seconds) * 1_000_000_000)
    {
        // The kernel rounds, but never to none.
        let (whole, rest) = (old / 1_000_000_000, old % 1_000_000_000);
        return (whole + u64::from(rest >= 500_000_000 || (whole == 0 && rest > 0))) as c_uint;
    }
    // SAFETY: the C library's function, with this signature.
    unsafe { transmute::<usize, unsafe extern "C" fn(c_uint) -> c_uint>(original(bind::ALARM))(seconds) }
}

/// `ualarm`.
unsafe extern "C" fn ualarm(first: c_uint, period: c_uint) -> c_uint {
    type Function = unsafe extern "C" fn(c_uint, c_uint) -> c_uint;
    if let Some(at) = real() {
        if period == 0
            && let Some(old) = set_once(at, u64::from(first) * 1_000)
        {
            return (old.div_ceil(1_000)) as c_uint;
        }
        at.give_up();
    }
    // SAFETY: the C library's function, with this signature.
    unsafe { transmute::<usize, Function>(original(bind::UALARM))(first, period) }
}

/// `setitimer`.
unsafe extern "C" fn setitimer(which: c_int, new: *const Setting, old: *mut Setting) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *const Setting, *mut Setting) -> c_int;
    if which == 0
        // SAFETY: the program's argument, which the kernel would read, too.
        && let Some(new) = unsafe { new.as_ref() }
        && let Some(at) = real()
    {
        let is_once = is_zero(&new.interval) || is_zero(&new.value);
        if is_once
            && nanoseconds(&new.interval, MICROSECONDS).is_some()
            && let Some(time) = nanoseconds(&new.value, MICROSECONDS)
            && at.get().is_some()
            && let Some(due) = after(time)
            && let Some(before) = at.set(due)
        {
            let before = kernel::in_microseconds(left(before));
            // SAFETY: the program's argument, to which the kernel would write, too.
            if let Some(old) = unsafe { old.as_mut() } {
                *old = before;
            }
            return 0;
        }
        at.give_up();
        let time = nanoseconds(&new.value, MICROSECONDS);
        return match set_real(*new) {
            Err(error) => fail(error.number()),
            Ok(before) => {
                if is_once
                    && is_zero(&before.interval)
                    && let Some(due) = time.and_then(after)
                {
                    at.was_set_in_kernel(!is_zero(&before.value), due);
                }
                // SAFETY: as above.
                if let Some(old) = unsafe { old.as_mut() } {
                    *old = before;
                }
                0
            }
        };
    }
    // SAFETY: the C library's function, with this signature and the program's arguments.
    unsafe { transmute::<usize, Function>(original(bind::SETITIMER))(which, new, old) }
}

/// `getitimer`.
unsafe extern "C" fn getitimer(which: c_int, now: *mut Setting) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *mut Setting) -> c_int;
    if which == 0
        // SAFETY: the program's argument, to which the kernel would write, too.
        && let Some(now) = unsafe { now.as_mut() }
        && let Some(time) = real().and_then(At::get)
    {
        *now = kernel::in_microseconds(left(time));
        return 0;
    }
    // SAFETY: the C library's function, with this signature and the program's arguments.
    unsafe { transmute::<usize, Function>(original(bind::GETITIMER))(which, now) }
}

// ---- timers that the program creates ------------------------------------------------------------------------

const NANOSECONDS: i64 = 1_000_000_000;

/// `struct sigevent`, as far as it matters here.
#[repr(C)]
struct Event {
    value: u64,
    signal: c_int,
    notify: c_int,
}

fn of(timer: usize) -> Option<At> {
    let keeper = mine()?;
    let number = u32::try_from(timer).ok()?.checked_add(1)?;
    let is_it = |place: &keeper::Place| place.number.load(Ordering::Relaxed) == number;
    let place = 1 + keeper.places[1..].iter().position(is_it)?;
    Some(At { keeper, place })
}

/// `timer_create`: a timer that can be kept gets a place, if there is one left.
unsafe extern "C" fn timer_create(clock: c_int, event: *const Event, timer: *mut usize) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *const Event, *mut usize) -> c_int;
    const SIGEV_SIGNAL: c_int = 0;
    /// From this one on, signals are queued.
    const FIRST_QUEUED: c_int = 32;
    // SAFETY: the program's argument, null or a structure.
    let is_ordinary = unsafe { event.as_ref() }
        .is_none_or(|event| event.notify == SIGEV_SIGNAL && event.signal < FIRST_QUEUED);
    // SAFETY: the C library's function, with this signature and the program's arguments.
    let result = unsafe { transmute::<usize, Function>(original(bind::TIMER_CREATE))(clock, event, timer) };
    if result == 0
        && clock == CLOCK_MONOTONIC as c_int
        && is_ordinary
        && let Some(keeper) = mine()
        // SAFETY: the function has written it.
        && let Ok(number) = u32::try_from(unsafe { *timer })
    {
        for place in &keeper.places[1..] {
            let taken = place.number.compare_exchange(0, number + 1, Ordering::Relaxed, Ordering::Relaxed);
            if taken.is_ok() {
                place.forget();
                break;
            }
        }
    }
    result
}

/// `timer_settime`.
unsafe extern "C" fn timer_settime(
    timer: usize,
    flags: c_int,
    new: *const Setting,
    old: *mut Setting,
) -> c_int {
    type Function = unsafe extern "C" fn(usize, c_int, *const Setting, *mut Setting) -> c_int;
    if let Some(at) = of(timer)
        // SAFETY: the program's argument, which the kernel would read, too.
        && let Some(new) = unsafe { new.as_ref() }
    {
        let is_absolute = flags & 1 != 0;
        let is_once = is_zero(&new.interval) || is_zero(&new.value);
        let due = |time: u64| if is_absolute { Some(time) } else { after(time) };
        let time = nanoseconds(&new.value, NANOSECONDS).filter(|&time| time < i64::MAX as u64);
        if is_once
            && nanoseconds(&new.interval, NANOSECONDS).is_some()
            && let Some(due) = time.and_then(due)
            && (due == 0 || !is_absolute || due > clock::monotonic())
            && let Some(before) = at.set(due)
        {
            // SAFETY: the program's argument, to which the kernel would write, too.
            if let Some(old) = unsafe { old.as_mut() } {
                *old = Setting { value: Timespec::of(left(before)), ..Setting::default() };
            }
            return 0;
        }
        at.give_up();
        return match set(timer as i32, is_absolute, *new) {
            Err(error) => fail(error.number()),
            Ok(before) => {
                if is_once
                    && is_zero(&before.interval)
                    && let Some(due) = time.and_then(due)
                {
                    at.was_set_in_kernel(!is_zero(&before.value), due);
                }
                // SAFETY: as above.
                if let Some(old) = unsafe { old.as_mut() } {
                    *old = before;
                }
                0
            }
        };
    }
    // SAFETY: the C library's function, with this signature and the program's arguments.
    unsafe { transmute::<usize, Function>(original(bind::TIMER_SETTIME))(timer, flags, new, old) }
}

/// `timer_gettime`.
unsafe extern "C" fn timer_gettime(timer: usize, now: *mut Setting) -> c_int {
    type Function = unsafe extern "C" fn(usize, *mut Setting) -> c_int;
    if let Some(time) = of(timer).and_then(At::get)
        // SAFETY: the program's argument, to which the kernel would write, too.
        && let Some(now) = unsafe { now.as_mut() }
    {
        *now = Setting { value: Timespec::of(left(time)), ..Setting::default() };
        return 0;
    }
    // SAFETY: the C library's function, with this signature and the program's arguments.
    unsafe { transmute::<usize, Function>(original(bind::TIMER_GETTIME))(timer, now) }
}

/// `timer_delete`.
unsafe extern "C" fn timer_delete(timer: usize) -> c_int {
    if let Some(at) = of(timer) {
        at.give_up();
        at.keeper.places[at.place].number.store(0, Ordering::Relaxed);
    }
    // SAFETY: the C library's function, with this signature and the program's argument.
    unsafe { transmute::<usize, unsafe extern "C" fn(usize) -> c_int>(original(bind::TIMER_DELETE))(timer) }
}

fn fail(number: i32) -> c_int {
    set_errno(number);
    -1
}

/// Functions that change a process's rights or namespaces, which a thread that the C library does not know would not follow: it ends before.
macro_rules! retiring {
    ($($function:ident = $place:ident;)*) => { $(
        unsafe extern "C" fn $function(a: c_long, b: *mut c_void, c: c_long) -> c_int {
            type Function = unsafe extern "C" fn(c_long, *mut c_void, c_long) -> c_int;
            retire();
            // SAFETY: the C library's function, which takes at most so many arguments, all of them in registers.
            unsafe { transmute::<usize, Function>(original(bind::$place))(a, b, c) }
        }
    )* };
}

retiring! {
    setuid = SETUID;
    seteuid = SETEUID;
    setreuid = SETREUID;
    setresuid = SETRESUID;
    setgid = SETGID;
    setegid = SETEGID;
    setregid = SETREGID;
    setresgid = SETRESGID;
    setgroups = SETGROUPS;
    initgroups = INITGROUPS;
    unshare = UNSHARE;
    setns = SETNS;
    capset = CAPSET;
}

/// `vfork`, which returns twice: notes that there may be a child, and jumps on.
#[unsafe(naked)]
unsafe extern "C" fn vfork() {
    core::arch::naked_asm!(
        "mov byte ptr [rip + {may_be_child}], 1",
        "jmp qword ptr [rip + {originals} + {place}]",
        may_be_child = sym MAY_BE_CHILD,
        originals = sym bind::ORIGINALS,
        place = const bind::VFORK * 8,
    )
}
