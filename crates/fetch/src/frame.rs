//! Frames: the places to which a program's `exit` returns.
//!
//! ```text
//! the thread's innermost ──> constructor, destructor or resolver ──outer──> LINK ──outer──> LINK ──outer──> none:
//!                                    '── exit returns here,         '── and here       the process ends
//!                                        unfinished work is undone,
//!                                        then settle continues ────────^
//! ```
//!
//! A LINKed program runs in a frame. Code of programs that LOAD and DELETE call on its behalf runs in a separate frame
//! ([`guard`]): an `exit` in it first returns to the loader, which gives back its unfinished work and only then continues
//! outwards ([`settle`]). Outside a LINK there are no frames, and `exit` ends the process.
//!
//! Invariant: the innermost frame of a thread is entered (`exit` can return to it), or no code of programs runs in the
//! thread.
//! Cost: no frame, one `pthread_getspecific`; a frame, two more, some twenty instructions, and a look at the process's number.
//! Not here: the code that runs in a frame (`link`, `image`).

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};

use underbar_sys::lock::Lock;
use underbar_sys::syscall::getpid;

use crate::error::Error;
use crate::system;

/// The place of the stack pointer in [`Registers`].
const RSP: usize = 6;

/// The state that a processor keeps over calls: rbx, rbp, r12 to r15, rsp, and two control words.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Registers([u64; 8]);

/// The function that runs in a frame.
pub(crate) type Work = unsafe extern "C" fn(*mut c_void);

/// Words of glibc's `jmp_buf`.
pub(crate) const JUMP_WORDS: usize = 25;

/// What the caller of LINK meets in place of its return ([`crate::departure`]).
#[derive(Clone, Copy)]
pub(crate) enum Departure {
    /// The program jumps to this place, with a value.
    Jump([u64; JUMP_WORDS], c_int),
    /// An exception came out of `main`; it was dropped.
    Thrown,
    /// The thread ends: the exception by which it unwinds.
    ThreadEnds(*mut c_void),
}

/// A place on a thread's stack to which an `exit` returns. Only its thread accesses it.
#[repr(C)]
pub(crate) struct Frame {
    registers: Registers,
    outer: *mut Frame,
    /// `exit` can return to it.
    is_entered: bool,
    /// Belongs to a LINK, not to a guard.
    is_link: bool,
    /// The status of an exit in this frame that is not finished yet.
    exited: Option<c_int>,
    /// The end of the stack on which its work runs; 0: that of its caller.
    top: usize,
    /// What goes on when its LINK has given its program back.
    departure: Option<Departure>,
    /// The process that made it. In a child by fork, or by vfork on the same stack, an exit ends the child.
    process: i32,
}

/// The pthread key of the innermost frame, plus one; 0: not made yet. Written once, under [`MAKING`].
static KEY: AtomicU32 = AtomicU32::new(0);
static MAKING: Lock<()> = Lock::new(());

impl Frame {
    /// Not pushed.
    pub(crate) fn new(is_link: bool) -> Frame {
        Frame {
            registers: Registers([0; 8]),
            outer: null_mut(),
            is_entered: false,
            is_link,
            exited: None,
            top: 0,
            departure: None,
            process: getpid(),
        }
    }

    /// Is this still the process that made the frame?
    ///
    /// # Safety
    /// The frame is this thread's.
    pub(crate) unsafe fn is_of_this_process(frame: *const Frame) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (*frame).process == getpid() }
    }

    /// Makes it the innermost frame of this thread.
    ///
    /// # Safety
    /// It does not move until [`Frame::pop`].
    ///
    /// # Errors
    /// No pthread key, or no storage for its value.
    pub(crate) unsafe fn push(frame: *mut Frame) -> Result<(), Error> {
        let key = key()?;
        // SAFETY: the caller's frame; a key that was made.
        unsafe {
            (*frame).outer = innermost();
            set_innermost(key, frame)
        }
    }

    /// Makes the outer frame the innermost again.
    ///
    /// # Safety
    /// It is the innermost.
    pub(crate) unsafe fn pop(frame: *mut Frame) {
        // It cannot fail: the thread has a place for this key since the push.
        // SAFETY: pushed by this thread, so the key is there.
        let _ = unsafe { set_innermost(KEY.load(Ordering::Acquire).wrapping_sub(1), (*frame).outer) };
    }

    /// Runs `work(argument)`; returns its exit status, or none if it returned.
    ///
    /// # Safety
    /// It is the innermost. Between here and an `exit` are only frames of C, or of Rust without anything to drop there.
    pub(crate) unsafe fn run(frame: *mut Frame, work: Work, argument: *mut c_void) -> Option<c_int> {
        // SAFETY: `enter` returns once, from `work` or from `leave`.
        unsafe {
            (*frame).is_entered = true;
            enter(&raw mut (*frame).registers, work as *const () as usize, argument);
            (*frame).is_entered = false;
            Frame::take_exit(frame)
        }
    }

    /// As [`Frame::run`], on a stack that ends at `top`; 0: on this one.
    ///
    /// # Safety
    /// As [`Frame::run`]; nobody else uses that stack.
    pub(crate) unsafe fn run_on(
        frame: *mut Frame,
        top: usize,
        work: Work,
        argument: *mut c_void,
    ) -> Option<c_int> {
        // SAFETY: the caller's promise; as in `run`.
        unsafe {
            if top == 0 {
                return Frame::run(frame, work, argument);
            }
            (*frame).top = top;
            (*frame).is_entered = true;
            enter_on(&raw mut (*frame).registers, work as *const () as usize, argument, top);
            (*frame).is_entered = false;
            Frame::take_exit(frame)
        }
    }

    /// The exit status, once.
    ///
    /// # Safety
    /// The frame is this thread's.
    pub(crate) unsafe fn take_exit(frame: *mut Frame) -> Option<c_int> {
        // SAFETY: the caller's promise.
        unsafe { (*frame).exited.take() }
    }

    /// Notes what goes on when the frame's LINK has given its program back.
    ///
    /// # Safety
    /// The frame is this thread's.
    pub(crate) unsafe fn depart(frame: *mut Frame, departure: Departure) {
        // SAFETY: the caller's promise.
        unsafe { (*frame).departure = Some(departure) };
    }

    /// What was noted by [`Frame::depart`], once.
    ///
    /// # Safety
    /// The frame is this thread's.
    pub(crate) unsafe fn take_departure(frame: *mut Frame) -> Option<Departure> {
        // SAFETY: the caller's promise.
        unsafe { (*frame).departure.take() }
    }

    /// The innermost frame of a LINK; null if there is none.
    pub(crate) fn of_link() -> *mut Frame {
        let mut frame = innermost();
        // SAFETY: frames of this thread's stack, which exist while they are pushed.
        unsafe {
            while !frame.is_null() && !(*frame).is_link {
                frame = (*frame).outer;
            }
        }
        frame
    }
}

/// Runs `work(argument)`; an `exit` in it returns here. Returns the exit status; none if it returned.
///
/// # Safety
/// As [`Frame::run`].
pub(crate) unsafe fn guard(work: Work, argument: *mut c_void) -> Option<c_int> {
    let mut place = Frame::new(false);
    // By pointer only: the code in the frame changes it.
    let frame = &raw mut place;
    // SAFETY: the caller's promise; the frame is popped before it ceases to exist.
    unsafe {
        if innermost().is_null() {
            work(argument);
            return None;
        }
        // This thread has a place for the key: it cannot fail.
        let _ = Frame::push(frame);
        let exited = Frame::run(frame, work, argument);
        Frame::pop(frame);
        exited
    }
}

/// Records that an exit which a [`guard`] caught is to continue after the cleanup: at the next [`settle`].
pub(crate) fn goes_on(status: c_int) {
    // SAFETY: null, or a frame of this thread.
    if let Some(frame) = unsafe { innermost().as_mut() } {
        frame.exited = Some(status);
    }
}

/// Continues an exit that was caught, if there is one: the caller has finished its cleanup. Returns if there is none, or if the
/// innermost frame is not entered: then LINK itself checks for the exit.
pub(crate) fn settle() {
    let frame = innermost();
    // SAFETY: a frame of this thread; entered, so it can be left for.
    unsafe {
        if !frame.is_null() && (*frame).is_entered && (*frame).exited.is_some() {
            leave(frame)
        }
    }
}

/// Is a place with that stack pointer outside of a LINK of this thread: on the stack from which the LINK's program was called?
pub(crate) fn is_outside_of_a_link(pointer: usize) -> bool {
    let mut frame = innermost();
    // SAFETY: frames of this thread's stack, which exist while they are pushed.
    while let Some(it) = unsafe { frame.as_ref() } {
        frame = it.outer;
        let begin = it.registers.0[RSP] as usize;
        if it.is_link && it.is_entered && pointer >= begin && pointer < end_of_caller(it) {
            return true;
        }
    }
    false
}

/// Where the stack ends from which a frame was entered: that of the next program outwards that has one of its own, or the thread's.
fn end_of_caller(frame: &Frame) -> usize {
    let mut outer = frame.outer;
    // SAFETY: as above.
    while let Some(it) = unsafe { outer.as_ref() } {
        if it.top != 0 {
            return it.top;
        }
        outer = it.outer;
    }
    system::stack_end().unwrap_or(usize::MAX)
}

/// This thread has no frame any more: the process ends.
pub(crate) fn forget() {
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        // SAFETY: a key that was made. Where it fails there was no frame.
        let _ = unsafe { set_innermost(key, null_mut()) };
    }
}

/// Exits the program that runs here, or the process.
///
/// # Safety
/// As the C library's `exit`.
pub(crate) unsafe fn exit(status: c_int, ends_process: unsafe extern "C" fn(c_int) -> !) -> ! {
    let frame = innermost();
    // SAFETY: null, or a frame of this thread; the caller's promise.
    unsafe {
        if frame.is_null() || !(*frame).is_entered || !Frame::is_of_this_process(frame) {
            ends_process(status)
        }
        (*frame).exited = Some(status);
        leave(frame)
    }
}

/// Returns to the place where a frame was entered.
unsafe fn leave(frame: *mut Frame) -> ! {
    // SAFETY: the frame was entered on this stack, and `enter` has not returned yet.
    unsafe { back(&raw const (*frame).registers) }
}

/// Saves the registers, and calls `function(argument)`.
#[unsafe(naked)]
unsafe extern "C" fn enter(registers: *mut Registers, function: usize, argument: *mut c_void) {
    core::arch::naked_asm!(
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "mov [rdi + 48], rsp",
        "stmxcsr [rdi + 56]",
        "fnstcw [rdi + 60]",
        "sub rsp, 8",
        "mov rdi, rdx",
        "call rsi",
        "add rsp, 8",
        "ret",
    )
}

/// As [`enter`], and changes to the stack that ends at `top`. Debuggers and unwinders find this stack again by rbp.
#[unsafe(naked)]
unsafe extern "C" fn enter_on(registers: *mut Registers, function: usize, argument: *mut c_void, top: usize) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "mov [rdi + 48], rsp",
        "stmxcsr [rdi + 56]",
        "fnstcw [rdi + 60]",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rcx",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// Returns from the [`enter`] or [`enter_on`] that saved these registers.
#[unsafe(naked)]
unsafe extern "C" fn back(registers: *const Registers) -> ! {
    core::arch::naked_asm!(
        "mov rbx, [rdi]",
        "mov rbp, [rdi + 8]",
        "mov r12, [rdi + 16]",
        "mov r13, [rdi + 24]",
        "mov r14, [rdi + 32]",
        "mov r15, [rdi + 40]",
        "mov rsp, [rdi + 48]",
        "ldmxcsr [rdi + 56]",
        "fldcw [rdi + 60]",
        "cld",
        "ret",
    )
}

fn key() -> Result<u32, Error> {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        return Ok(key);
    }
    let _making = MAKING.lock();
    if KEY.load(Ordering::Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: the destructor does nothing: a thread that ends in a LINK leaves its frame with its stack.
        if unsafe { system::pthread_key_create(&raw mut key, nothing) } != 0 {
            return Err(Error::TablesFull);
        }
        KEY.store(key + 1, Ordering::Release);
    }
    Ok(KEY.load(Ordering::Relaxed) - 1)
}

fn innermost() -> *mut Frame {
    match KEY.load(Ordering::Acquire) {
        0 => null_mut(),
        // SAFETY: a key that was made.
        key => unsafe { system::pthread_getspecific(key - 1).cast() },
    }
}

/// # Safety
/// The key was made.
unsafe fn set_innermost(key: u32, frame: *mut Frame) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    match unsafe { system::pthread_setspecific(key, frame.cast()) } {
        0 => Ok(()),
        errno => Err(Error::NoStorage(underbar_sys::syscall::Errno(errno as u16))),
    }
}
