//! The handler of the timers' signal, and the choice of that signal.
//!
//! The thread's number comes with the signal, as it was given to the timer. Asking the kernel would be a system call, which
//! the program may have forbidden itself.
//!
//! Invariant: a signal that none of these timers sent has the effect that it would have without underbar: it ends the
//! program.
//! Cost: a signal's delivery (about a microsecond), and a few stores.

use core::mem::offset_of;
use core::sync::atomic::Ordering;

use underbar_sys::syscall::{self, number, syscall6};
use underbar_sys::timer::SENT_BY_TIMER;

use super::{area, signals, timers};
use crate::action::{self, DEFAULT, SA_ONSTACK, SA_RESTART, change};
use crate::sandbox;

/// Signals that hardly any program uses: programs take those next to SIGRTMIN and SIGRTMAX first.
const CANDIDATES: core::ops::RangeInclusive<i32> = 44..=57;

/// The beginning of the kernel's `siginfo_t`, for a signal of a timer.
#[repr(C)]
struct Info {
    signal: i32,
    errno: i32,
    code: i32,
    padding: i32,
    timer: i32,
    overrun: i32,
    value: u64,
}

const _: () = assert!(offset_of!(Info, timer) == 16 && offset_of!(Info, value) == 24);

/// Sets the handler for a signal that the program, or the process that started it, has left alone; returns the signal. None
/// if there is none.
pub(super) fn install() -> Option<i32> {
    let is_free = |signal: &i32| {
        let mut before = DEFAULT;
        change(*signal, None, Some(&mut before)) && before.handler == 0
    };
    let signal = CANDIDATES.rev().find(is_free)?;
    // On the program's alternate stack, if it has one: its own may have little room.
    let action = action::calls(handler as *const () as usize, SA_ONSTACK | SA_RESTART, u64::MAX);
    signals::enter(signal, action.handler);
    if !change(signal, Some(&action), None) {
        signals::leave();
        return None;
    }
    // The process that started the program may have blocked it.
    let this = 1_u64 << (signal - 1);
    const UNBLOCK: usize = 1;
    // SAFETY: the kernel reads the 8 bytes of a set.
    let _ = unsafe {
        syscall6(number::RT_SIGPROCMASK, UNBLOCK, &raw const this as usize, 0, size_of::<u64>(), 0, 0)
    };
    Some(signal)
}

unsafe extern "C" fn handler(signal: i32, info: *const Info, context: *const u8) {
    /// Offset of the instruction's address in `ucontext_t`: after flags, link and stack, the seventeenth register.
    const INSTRUCTION: usize = 40 + 16 * 8;
    // SAFETY: the kernel passes what the flags ask for.
    let (info, address) = unsafe { (&*info, context.add(INSTRUCTION).cast::<u64>().read()) };
    let Some(thread) = timers::thread_of(info.value).filter(|_| info.code == SENT_BY_TIMER) else {
        return end_the_program(signal);
    };
    match area::header() {
        Some(header) if header.stop.load(Ordering::Relaxed) != 0 => {
            if !sandbox::is_closed() {
                timers::end_number(info.timer);
            }
        }
        _ => area::take(address, thread),
    }
}

/// Another sender has sent the signal, which ends programs that do not expect it. It arrives when the handler returns.
#[cold]
fn end_the_program(signal: i32) {
    if change(signal, Some(&DEFAULT), None) {
        let _ = syscall::kill(syscall::getpid(), signal);
    }
}
