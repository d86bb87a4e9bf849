//! Ways out of a LINKed program other than its end: a jump to a place of its caller, an exception, and the end of its thread.
//!
//! ```text
//! longjmp(place of the caller's) ─┐
//! exception out of main ──────────┼─> noted in the LINK's frame, which is left as by exit ─> the program is given back, with its
//! pthread_exit, cancellation ─────┘                                                                 heap and its stack ─> go_on:
//!                                          the jump | an error of LINK | the thread unwinds on
//! ```
//!
//! The three could pass LINK by: its frame would stay the innermost of the thread, and the thread would stay in the program's heap. So
//! jumps are bound at loading ([`crate::replaced`]), and `main` is called by code whose unwind table stops exceptions.
//!
//! Invariant: where a jump or an unwinding goes on, the frames that it passes are popped, and their programs are given back.
//! Known limits: a jump by a library of the system, or by `__builtin_longjmp`, is noticed later ([`crate::frame`]). Clean-up functions that the program pushed in
//! C without exceptions (`pthread_cleanup_push`) do not run when it jumps out.
//! Not here: `exit` ([`crate::exit`]), the frames ([`crate::frame`]).

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null;

use crate::frame::{self, Departure, Frame, JUMP_WORDS};
use crate::system::{self, Handle};

/// The word of glibc's `jmp_buf` with the stack pointer, which is not stored as it is.
const STACK_POINTER: usize = 6;
/// The status with which a frame is left for one of these ways. Nobody sees it.
const NO_STATUS: c_int = 255;

/// Goes on, after LINK has given the program back. Returns for [`Departure::Thrown`] only.
///
/// # Safety
/// The frame of that LINK is popped, and between it and the place are only frames of C, or of Rust without anything to drop.
pub(crate) unsafe fn go_on(departure: Departure) {
    match departure {
        // SAFETY: a copy of a place that the program jumped to.
        Departure::Jump(place, value) => unsafe { jump(place.as_ptr().cast_mut().cast(), value) },
        Departure::Thrown => {}
        // SAFETY: the exception that the unwinder gave us, once.
        Departure::ThreadEnds(exception) => unsafe { _Unwind_Resume(exception) },
    }
}

/// `longjmp`, `_longjmp` and `siglongjmp` for our programs.
///
/// # Safety
/// As the C library's.
#[unsafe(naked)]
pub unsafe extern "C" fn jump(place: *mut c_void, value: c_int) -> ! {
    core::arch::naked_asm!("lea rdx, [rsp + 8]", "jmp {}", sym jump_from)
}

/// `__longjmp_chk` for our programs.
///
/// # Safety
/// As the C library's.
#[unsafe(naked)]
pub unsafe extern "C" fn jump_checked(place: *mut c_void, value: c_int) -> ! {
    core::arch::naked_asm!("lea rdx, [rsp + 8]", "jmp {}", sym jump_checked_from)
}

unsafe extern "C" fn jump_from(place: *mut c_void, value: c_int, pointer: usize) -> ! {
    // SAFETY: the caller's promise.
    unsafe {
        leave_for(place, value, pointer);
        system::siglongjmp(place, value)
    }
}

unsafe extern "C" fn jump_checked_from(place: *mut c_void, value: c_int, pointer: usize) -> ! {
    // SAFETY: the caller's promise.
    unsafe {
        leave_for(place, value, pointer);
        system::__longjmp_chk(place, value)
    }
}

/// Leaves the innermost frame if the place is outside of a LINK; returns if it is inside. Code with that stack pointer jumps.
unsafe fn leave_for(place: *mut c_void, value: c_int, pointer: usize) {
    let linked = Frame::of_link(pointer);
    // SAFETY: a `jmp_buf` of glibc; frames of this thread.
    unsafe {
        let words: [u64; JUMP_WORDS] = place.cast::<[u64; JUMP_WORDS]>().read_unaligned();
        if linked.is_null()
            || !Frame::is_of_this_process(linked)
            || !frame::is_outside_of_a_link(plain(words[STACK_POINTER]) as usize, pointer)
        {
            return;
        }
        Frame::depart(linked, Departure::Jump(words, value));
        frame::exit(NO_STATUS, pointer, system::_exit);
    }
}

/// A pointer as glibc stores it in a `jmp_buf`, as it is.
fn plain(stored: u64) -> u64 {
    let guard: u64;
    // SAFETY: glibc keeps a word for this in the thread's control block.
    unsafe {
        core::arch::asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, preserves_flags, readonly));
    }
    stored.rotate_right(17) ^ guard
}

/// Calls `main`. An exception that it does not catch ends the program ([`Departure`]).
///
/// # Safety
/// It is a `main`, and these are its arguments.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_main(
    main: usize,
    count: c_int,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    core::arch::naked_asm!(
        ".pushsection .data.rel.ro.underbar_main, \"aw\", @progbits",
        ".balign 8",
        ".Lunderbar_personality:",
        ".quad {personality}",
        ".popsection",
        ".cfi_startproc",
        // The address of the word above, relative to where it is used.
        ".cfi_personality 0x9b, .Lunderbar_personality",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rax, rdi",
        "mov edi, esi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "call rax",
        "pop rbp",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_endproc",
        personality = sym personality,
    )
}

const SEARCHES: c_int = 1;
const ENDS_THREAD: c_int = 8;
const HANDLER_FOUND: c_int = 6;
const INSTALL: c_int = 7;
const CONTINUE: c_int = 8;

/// What the unwinder asks about the frame of [`call_main`]: every exception ends here, except in a child that the program forked.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    // SAFETY: a frame of this thread; the unwinder's context.
    unsafe {
        let linked = Frame::of_link(_Unwind_GetCFA(context));
        if linked.is_null() || !Frame::is_of_this_process(linked) {
            return CONTINUE;
        }
        if actions & SEARCHES != 0 {
            return HANDLER_FOUND;
        }
        // The registers of a landing pad: rax and rdx.
        _Unwind_SetGR(context, 0, exception as usize);
        _Unwind_SetGR(context, 1, usize::from(actions & ENDS_THREAD != 0));
        _Unwind_SetIP(context, landing as *const () as usize);
        INSTALL
    }
}

/// Where the unwinder goes on, with the stack of [`call_main`].
#[unsafe(naked)]
unsafe extern "C" fn landing() -> ! {
    core::arch::naked_asm!("mov rdi, rax", "mov esi, edx", "mov rdx, rsp", "and rsp, -16", "call {}", "ud2", sym caught)
}

unsafe extern "C" fn caught(exception: *mut c_void, ends_thread: c_int, pointer: usize) -> ! {
    frame::give_back_passed(pointer);
    // SAFETY: the frame was checked by `personality`; all frames above it are gone.
    unsafe {
        let departure = if ends_thread != 0 {
            Departure::ThreadEnds(exception)
        } else {
            drop_exception(exception);
            Departure::Thrown
        };
        Frame::depart(Frame::of_link(pointer), departure);
        frame::exit(NO_STATUS, pointer, system::_exit)
    }
}

/// Drops an exception that was thrown: by the C++ library that threw it, which also counts those in flight.
unsafe fn drop_exception(exception: *mut c_void) {
    const GNU: u64 = u64::from_be_bytes(*b"GNUCC++\0");
    const CLANG: u64 = u64::from_be_bytes(*b"CLNGC++\0");
    const RUST: u64 = u64::from_be_bytes(*b"MOZ\0RUST");
    // SAFETY: an exception begins with its class, whose last byte is 1 for one that shares another's object.
    let class = unsafe { exception.cast::<u64>().read() };
    let library = match class & !0xff {
        GNU => c"libstdc++.so.6",
        CLANG => c"libc++abi.so.1",
        // Rust ends the process where others drop its panics. Its storage is the program's, and goes with it.
        _ if class == RUST => return,
        // SAFETY: the exception is nobody else's any more.
        _ => return unsafe { _Unwind_DeleteException(exception) },
    };
    // SAFETY: C strings, and functions of these names in that library.
    unsafe {
        let Some(handle) = Handle::of_loaded(library) else { return _Unwind_DeleteException(exception) };
        let function = |name: *const c_char| handle.symbol(name, null());
        let (begin, end) = (function(c"__cxa_begin_catch".as_ptr()), function(c"__cxa_end_catch".as_ptr()));
        if let (Some(begin), Some(end)) = (begin, end) {
            core::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void) -> *mut c_void>(begin)(exception);
            core::mem::transmute::<usize, unsafe extern "C" fn()>(end)();
        } else {
            _Unwind_DeleteException(exception);
        }
        handle.close();
    }
}

unsafe extern "C" {
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_SetIP(context: *mut c_void, address: usize);
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_DeleteException(exception: *mut c_void);
}

// It unwinds through LINK and its callers. Under `panic = "abort"` the compiler puts code that aborts around a call of a function that may
// unwind; around others there is none, and the frames have nothing to drop.
#[cfg(panic = "unwind")]
unsafe extern "C-unwind" {
    fn _Unwind_Resume(exception: *mut c_void) -> !;
}
#[cfg(not(panic = "unwind"))]
unsafe extern "C" {
    fn _Unwind_Resume(exception: *mut c_void) -> !;
}
