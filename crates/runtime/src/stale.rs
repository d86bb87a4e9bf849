//! An access to storage of an ended ECB is named under ECB(CHECK): the ECB, its class, the buffer. The program then dies as plain, of
//! the same signal; or its own handler gets it.
//!
//! ```text
//! access ── SIGSEGV ──> handler: storage of an ended ECB? ── yes: told ──> the program's action is set, and the handler returns
//!                              │ no                                          │
//!                              v                                             v
//!                      the program's handler, if it has one           the same instruction, the same fault: as plain
//! ```
//!
//! The program finds its own action, not this one: what it sets is kept here, and asked for here. That is known to `sigaction` and its
//! relatives. After the first fault that was told, its action is the kernel's: the second one is not told.
//!
//! Invariant: without CHECK no handler is set, and each function here is one comparison.
//! Known limits: the program's own system calls are not seen (Go's runtime makes them), and its handler wins. While this handler
//! calls the program's, the signals of that one's mask are not blocked.
//! Not here: what is told (`heap::check`), stack overflows (`overflow`), whose handler counts as the program's here.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use underbar_sys::syscall;

use crate::action::{self, DEFAULT, Info, SA_ONSTACK, SA_RESETHAND, SA_RESTART, SA_RESTORER};
use crate::orders::Orders;
use crate::{heap, overflow, sandbox};

const SIGSEGV: c_int = 11;
const SA_NODEFER: u64 = 0x4000_0000;
/// Actions that are no functions.
const DEFAULT_ACTION: usize = 0;
const IGNORED: usize = 1;

/// Whether accesses are to be told. Written once, before the first request; relaxed.
static IS_ASKED: AtomicBool = AtomicBool::new(false);
/// Whether the handler is set. Written by the first thread before there are others, and by the one that was told of; relaxed.
static IS_SET: AtomicBool = AtomicBool::new(false);

/// The program's action. Written by threads that set it, read by these and by the handler; relaxed. Two threads that set it at the same
/// time may leave the flags of one with the handler of the other.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
static FLAGS: AtomicU64 = AtomicU64::new(0);
static MASK: AtomicU64 = AtomicU64::new(0);

/// Obeys ECB.
pub(crate) fn configure(orders: &Orders<'_>) {
    if orders.settings.ecb().check > 0 {
        IS_ASKED.store(true, Ordering::Relaxed);
    }
}

/// Sets the handler. After that of stack overflows.
pub(crate) fn at_start() {
    if !IS_ASKED.load(Ordering::Relaxed) {
        return;
    }
    let mut before = DEFAULT;
    let ours = action::calls(handler as *const () as usize, SA_ONSTACK, 0);
    if action::change(SIGSEGV, Some(&ours), Some(&mut before)) {
        keep(&Program { handler: before.handler, flags: before.flags & !SA_RESTORER, mask: before.mask });
        if overflow::is_ours(before.handler) {
            overflow::comes_after(ours.handler);
        }
        IS_SET.store(true, Ordering::Relaxed);
    }
}

/// An action as a program has it.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// 0: the default; 1: none; else a function.
    pub handler: usize,
    /// `SA_*`.
    pub flags: u64,
    /// Signals that wait meanwhile.
    pub mask: u64,
}

fn keep(new: &Program) {
    FLAGS.store(new.flags, Ordering::Relaxed);
    MASK.store(new.mask, Ordering::Relaxed);
    HANDLER.store(new.handler, Ordering::Relaxed);
}

fn kept() -> Program {
    Program {
        handler: HANDLER.load(Ordering::Relaxed),
        flags: FLAGS.load(Ordering::Relaxed),
        mask: MASK.load(Ordering::Relaxed),
    }
}

/// Whether the program's action for this signal is kept here.
#[inline]
pub(crate) fn has(signal: c_int) -> bool {
    signal == SIGSEGV && IS_SET.load(Ordering::Relaxed)
}

/// Keeps the program's action, if there is a new one; the one before, as the program knows it.
pub(crate) fn exchange(new: Option<Program>) -> Program {
    let before = kept();
    let is_hidden = overflow::is_ours(before.handler);
    match new {
        // The default action is what the program finds, if overflows are told.
        Some(new) if !(is_hidden && new.handler == DEFAULT_ACTION) => keep(&new),
        _ => {}
    }
    if is_hidden { Program { handler: DEFAULT_ACTION, flags: 0, mask: 0 } } else { before }
}

/// The action that `signal` of C means.
pub(crate) fn of_signal(handler: usize, is_once: bool) -> Program {
    let flags = if is_once { SA_RESETHAND | SA_NODEFER } else { SA_RESTART };
    Program { handler, flags, mask: 0 }
}

/// The beginning of the kernel's `ucontext_t`.
#[repr(C)]
struct Context {
    _flags: u64,
    _link: usize,
    _alternate: [usize; 3],
    _registers: [usize; 16],
    instruction: usize,
    _state: [usize; 2],
    /// Of a page fault: bit 1 says that it was a write.
    error: usize,
}

unsafe extern "C" fn handler(signal: c_int, info: *const Info, context: *const Context) {
    // SAFETY: the kernel passes what the flags ask for.
    let (code, address, instruction, error) =
        unsafe { ((*info).code, (*info).address, (*context).instruction, (*context).error) };
    if code > 0 && heap::tell_access(error & 2 != 0, address, instruction) {
        hand_over();
        return;
    }
    let program = kept();
    match program.handler {
        IGNORED if code <= 0 => {}
        DEFAULT_ACTION | IGNORED => {
            hand_over();
            if code <= 0 && !sandbox::is_closed() {
                // It arrives when the handler returns.
                let _ = syscall::kill(syscall::getpid(), SIGSEGV);
            }
        }
        function => {
            if program.flags & SA_RESETHAND != 0 {
                keep(&Program { handler: DEFAULT_ACTION, flags: 0, mask: 0 });
            }
            // SAFETY: the program set it, as a function with these arguments; one with less of them leaves the others alone.
            unsafe {
                let function: unsafe extern "C" fn(c_int, *const Info, *const Context) =
                    core::mem::transmute(function);
                function(signal, info, context);
            }
        }
    }
}

/// From now on the program's action is the kernel's.
fn hand_over() {
    let program = kept();
    let mut new = DEFAULT;
    if program.handler > IGNORED {
        new = action::calls(program.handler, program.flags, program.mask);
        new.flags = program.flags | SA_RESTORER;
    }
    IS_SET.store(false, Ordering::Relaxed);
    // The number of a signal that was sent is not needed: the kernel ends the program for a fault whose signal is ignored.
    let _ = action::change(SIGSEGV, Some(&new), None);
}
