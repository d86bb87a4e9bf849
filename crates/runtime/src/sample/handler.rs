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
use crate::sandbox;

/// Signals that hardly any program uses: programs take those next to SIGRTMIN and SIGRTMAX first.
const CANDIDATES: core::ops::RangeInclusive<i32> = 44..=57;

const SA_SIGINFO: u64 = 0x4;
const SA_RESTORER: u64 = 0x0400_0000;
const SA_ONSTACK: u64 = 0x0800_0000;
const SA_RESTART: u64 = 0x1000_0000;

/// A handler as the kernel takes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

const DEFAULT: Action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };

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
    let action = Action {
        handler: handler as *const () as usize,
        // On the program's alternate stack, if it has one: its own may have little room.
        flags: SA_SIGINFO | SA_RESTORER | SA_ONSTACK | SA_RESTART,
        restorer: restorer as *const () as usize,
        mask: u64::MAX,
    };
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

fn change(signal: i32, new: Option<&Action>, old: Option<&mut Action>) -> bool {
    // SAFETY: null, or structures as the kernel knows them; the handler is a function for it.
    unsafe {
        syscall6(
            number::RT_SIGACTION,
            signal as usize,
            new.map_or(0, |action| core::ptr::from_ref(action).addr()),
            old.map_or(0, |action| core::ptr::from_mut(action).addr()),
            size_of::<u64>(),
            0,
            0,
        )
    }
    .is_ok()
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

/// The handler returns to this code. Debuggers and unwinders recognise a signal's frame by exactly these bytes.
#[unsafe(naked)]
extern "C" fn restorer() {
    core::arch::naked_asm!(
        // mov rax, 15 (rt_sigreturn), in its longer form; syscall
        ".byte 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00",
        ".byte 0x0f, 0x05"
    )
}
