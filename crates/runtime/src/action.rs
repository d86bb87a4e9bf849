//! What the kernel does with a signal: asked and set by a system call, past the C library and past this library's own `sigaction`.
//!
//! Invariant: a handler returns by code that debuggers and unwinders recognise.
//! Not here: which signals have handlers (`sample`, `overflow`).

use underbar_sys::syscall::{number, syscall6};

/// The handler gets a `siginfo_t` and a `ucontext_t`.
pub(crate) const SA_SIGINFO: u64 = 0x4;
/// The action names the code to which the handler returns.
pub(crate) const SA_RESTORER: u64 = 0x0400_0000;
/// The handler runs on the thread's alternate stack, if it has one.
pub(crate) const SA_ONSTACK: u64 = 0x0800_0000;
/// Interrupted system calls are repeated.
pub(crate) const SA_RESTART: u64 = 0x1000_0000;
/// The action is the default one again before the handler runs.
pub(crate) const SA_RESETHAND: u64 = 0x8000_0000;

/// An action as the kernel takes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Action {
    /// 0: the default; 1: none; else a function.
    pub handler: usize,
    /// `SA_*`.
    pub flags: u64,
    /// The code to which the handler returns.
    pub restorer: usize,
    /// Signals that wait meanwhile.
    pub mask: u64,
}

/// The beginning of the kernel's `siginfo_t`, for a fault.
#[repr(C)]
pub(crate) struct Info {
    _signal: i32,
    _errno: i32,
    /// Above 0: the kernel's own, not sent by a process.
    pub code: i32,
    _padding: i32,
    /// The address of the fault.
    pub address: usize,
}

/// The default action.
pub(crate) const DEFAULT: Action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };

/// An action that calls this function. It returns to [`restorer`].
pub(crate) fn calls(handler: usize, flags: u64, mask: u64) -> Action {
    let restorer = restorer as *const () as usize;
    Action { handler, flags: flags | SA_SIGINFO | SA_RESTORER, restorer, mask }
}

/// Sets and asks for the action of a signal; false if the kernel refuses.
pub(crate) fn change(signal: i32, new: Option<&Action>, old: Option<&mut Action>) -> bool {
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

/// Debuggers and unwinders recognise a signal's frame by exactly these bytes.
#[unsafe(naked)]
extern "C" fn restorer() {
    core::arch::naked_asm!(
        // mov rax, 15 (rt_sigreturn), in its longer form; syscall
        ".byte 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00",
        ".byte 0x0f, 0x05"
    )
}
