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
//! Code may jump past a frame without a word: a library of the system by `longjmp`, any code by `__builtin_longjmp`. So a frame lives in
//! the arena, and leaves a token on the stack. A frame is *passed* if code runs further out on the stack from which it was entered, and
//! *dead* if its token was overwritten. A LINK gives back dead ones only: functions that change stacks (`swapcontext`) may let a frame wait
//! on a stack inside of the thread's. An `exit` from further out ends the program that would go on there, so it gives back passed ones, too;
//! and so does the end of a frame's work with all frames inside of it: LINKs of a thread end in the reverse order of their begin.
//!
//! Invariant: the innermost frame of a thread that was not passed is entered (`exit` can return to it), or no code of programs runs in the
//! thread.
//! Cost: no frame, one `pthread_getspecific`; a frame, two more, a piece of the arena, some thirty instructions, and a look at the
//! process's number.
//! Not here: the code that runs in a frame (`link`, `image`).

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use underbar_sys::lock::Lock;
use underbar_sys::syscall::{Errno, getpid, number, syscall3, syscall6};

use crate::arena;
use crate::error::Error;
use crate::registers::{Registers, back, enter, enter_on};
use crate::system;

/// The function that runs in a frame.
pub(crate) type Work = unsafe extern "C" fn(*mut c_void);

/// Gives back what belongs to a frame that nobody will return to, and takes it out of its thread's.
pub(crate) type GiveBack = unsafe fn(*mut Frame);

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

/// A place on a thread's stack to which an `exit` returns, described in the arena. Only its thread accesses it.
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
    /// The stack on which its work runs; zeroes: that of its caller.
    own: (usize, usize),
    /// Where its token is: on the stack from which it was entered. Null: not pushed.
    token_at: *mut u64,
    token: u64,
    /// Gives its program back if it was passed, and the frame; None: there is only the frame.
    give_back: Option<GiveBack>,
    /// It is being given back, further out than where it was entered.
    is_ending: bool,
    /// What goes on when its LINK has given its program back.
    departure: Option<Departure>,
    /// The process that made it. In a child by fork, or by vfork on the same stack, an exit ends the child.
    process: i32,
}

/// The pthread key of the innermost frame, plus one; 0: not made yet. Written once, under [`MAKING`].
static KEY: AtomicU32 = AtomicU32::new(0);
static MAKING: Lock<()> = Lock::new(());

impl Frame {
    /// Not pushed. That of a LINK has a program to be given back.
    pub(crate) fn new(give_back: Option<GiveBack>) -> Frame {
        Frame {
            registers: Registers::NONE,
            outer: null_mut(),
            is_entered: false,
            is_link: give_back.is_some(),
            exited: None,
            own: (0, 0),
            token_at: null_mut(),
            token: 0,
            give_back,
            is_ending: false,
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

    /// Makes it the innermost frame of this thread. `token_at` is in the stack frame of the function that will pop it.
    ///
    /// # Safety
    /// It does not move until [`Frame::pop`].
    ///
    /// # Errors
    /// No pthread key, or no storage for its value.
    pub(crate) unsafe fn push(frame: *mut Frame, token_at: *mut u64) -> Result<(), Error> {
        /// Odd, so no token comes twice in a lifetime, and no other word is likely to be one.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        static TOKENS: AtomicU64 = AtomicU64::new(STEP);
        let key = key()?;
        // SAFETY: the caller's frame, and its word; a key that was made.
        unsafe {
            (*frame).outer = innermost();
            (*frame).token = TOKENS.fetch_add(STEP, Ordering::Relaxed);
            (*frame).token_at = token_at;
            token_at.write_volatile((*frame).token);
            set_innermost(key, frame)
        }
    }

    /// Takes it out of the frames of this thread.
    ///
    /// # Safety
    /// It was pushed by this thread.
    pub(crate) unsafe fn pop(frame: *mut Frame) {
        let mut inner: *mut Frame = null_mut();
        let mut at = innermost();
        // SAFETY: frames of this thread, which exist while they are pushed.
        unsafe {
            while !at.is_null() && at != frame {
                inner = at;
                at = (*at).outer;
            }
            match inner.as_mut() {
                // One that was passed, and is given back later than one inside of it.
                Some(inner) if !at.is_null() => inner.outer = (*frame).outer,
                Some(_) => {}
                // It cannot fail: the thread has a place for this key since the push.
                None => drop(set_innermost(KEY.load(Ordering::Acquire).wrapping_sub(1), (*frame).outer)),
            }
        }
    }

    /// Begins to give back a frame to which nobody will return: the end of its work's own stack; 0 if it has none.
    ///
    /// # Safety
    /// It is dead, or what would go on there has ended.
    pub(crate) unsafe fn begin_to_end(frame: *mut Frame) -> usize {
        // SAFETY: a frame of this thread.
        unsafe {
            (*frame).is_entered = false;
            (*frame).is_ending = true;
            (*frame).own.1
        }
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
            Frame::work_has_ended(frame)
        }
    }

    /// Its work has returned, or was left: frames inside of it were passed. LINKs of a thread end in the reverse order of their begin.
    unsafe fn work_has_ended(frame: *mut Frame) -> Option<c_int> {
        // SAFETY: of this thread; nobody returns to those inside.
        unsafe {
            (*frame).is_entered = false;
            while !innermost().is_null() && innermost() != frame {
                abandon(innermost());
            }
            Frame::take_exit(frame)
        }
    }

    /// As [`Frame::run`], on the stack with these ends; zeroes: on this one.
    ///
    /// # Safety
    /// As [`Frame::run`]; nobody else uses that stack.
    pub(crate) unsafe fn run_on(
        frame: *mut Frame,
        own: (usize, usize),
        work: Work,
        argument: *mut c_void,
    ) -> Option<c_int> {
        // SAFETY: the caller's promise; as in `run`.
        unsafe {
            if own.1 == 0 {
                return Frame::run(frame, work, argument);
            }
            (*frame).own = own;
            (*frame).is_entered = true;
            enter_on(&raw mut (*frame).registers, work as *const () as usize, argument, own.1);
            let exited = Frame::work_has_ended(frame);
            (*frame).own = (0, 0);
            exited
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

    /// The innermost frame of a LINK that code with that stack pointer has not passed; null if there is none.
    pub(crate) fn of_link(pointer: usize) -> *mut Frame {
        let mut frame = innermost();
        // SAFETY: frames of this thread, which exist while they are pushed.
        while let Some(it) = unsafe { frame.as_ref() }
            && (!it.is_link || it.is_gone(pointer))
        {
            frame = it.outer;
        }
        frame
    }

    /// Was it passed by code with that stack pointer: does that run further out, on the stack from which the frame was entered?
    fn is_passed(&self, pointer: usize) -> bool {
        let at = self.token_at as usize;
        pointer > at
            && !self.is_ending
            && !(self.own.0..self.own.1).contains(&pointer)
            && self.stack_of_caller().is_some_and(|(low, end)| low <= at && pointer < end)
            && self.process == getpid()
            && !is_on_alternate_stack()
    }

    /// Is its token gone, or the stack on which it was?
    fn is_dead(&self) -> bool {
        if self.is_ending || self.token_at.is_null() {
            return false;
        }
        // SAFETY: a word that can be read.
        let is_there = can_be_read(self.token_at) && unsafe { self.token_at.read_volatile() } == self.token;
        !is_there && self.process == getpid()
    }

    /// Will nobody return to it, as code with that stack pointer sees it?
    fn is_gone(&self, pointer: usize) -> bool {
        self.is_dead() || self.is_passed(pointer)
    }

    /// The stack from which it was entered, if it is known: one of a program's own further out, or the thread's.
    fn stack_of_caller(&self) -> Option<(usize, usize)> {
        let at = self.token_at as usize;
        let mut outer = self.outer;
        // SAFETY: frames of this thread, which exist while they are pushed.
        while let Some(it) = unsafe { outer.as_ref() } {
            if (it.own.0..it.own.1).contains(&at) {
                return Some(it.own);
            }
            outer = it.outer;
        }
        system::stack().filter(|(low, end)| (*low..*end).contains(&at))
    }
}

/// Gives back the frames of this thread that are dead, outwards of its innermost one. A frame further in than that one, or on another
/// stack, may have been passed without being dead yet; so the search goes on behind it.
pub(crate) fn give_back_dead() {
    // SAFETY: frames of this thread, which exist while they are pushed.
    unsafe {
        let Some(first) = innermost().as_ref() else { return };
        let mut at = first.outer;
        while let Some(frame) = at.as_ref() {
            if frame.is_dead() {
                abandon(at);
                // Its destructors may have given others back.
                at = first.outer;
            } else if frame.token_at < first.token_at {
                at = frame.outer;
            } else {
                break;
            }
        }
    }
}

/// Gives back the frames of this thread that code with that stack pointer has passed, which ends the program around them.
pub(crate) fn give_back_passed(pointer: usize) {
    // SAFETY: as above.
    while let Some(innermost) = unsafe { innermost().as_mut() }
        && innermost.is_gone(pointer)
    {
        // SAFETY: as in `Frame::begin_to_end`.
        unsafe { abandon(innermost) };
    }
}

/// Gives a frame back that was passed.
unsafe fn abandon(frame: *mut Frame) {
    // SAFETY: the caller's promise; guards are in the arena, alone.
    unsafe {
        match (*frame).give_back {
            Some(give_back) => give_back(frame),
            None => {
                Frame::pop(frame);
                let _ = arena::take(core::ptr::NonNull::new_unchecked(frame));
            }
        }
    }
}

/// The innermost frame that code at `pointer` has not passed.
fn innermost_for(pointer: usize) -> *mut Frame {
    let mut frame = innermost();
    // SAFETY: as above.
    while let Some(it) = unsafe { frame.as_ref() }
        && it.is_gone(pointer)
    {
        frame = it.outer;
    }
    frame
}

/// Can a word there be read? The kernel reads it, and then refuses what it is asked to do.
fn can_be_read(word: *const u64) -> bool {
    const NO_SUCH: usize = usize::MAX;
    // SAFETY: no mask is changed, whatever the word is.
    let refused =
        unsafe { syscall6(number::RT_SIGPROCMASK, NO_SUCH, word as usize, 0, size_of::<u64>(), 0, 0) };
    refused.is_err_and(|errno| errno == Errno::EINVAL)
}

/// Does a signal's handler run, on an alternate stack? That may be a part of the thread's.
fn is_on_alternate_stack() -> bool {
    const SS_ONSTACK: u64 = 1;
    // `stack_t`: address, flags, bytes.
    let mut now = [0_u64; 3];
    // SAFETY: the kernel writes one description.
    let is_told = unsafe { syscall3(number::SIGALTSTACK, 0, now.as_mut_ptr() as usize, 0) }.is_ok();
    is_told && now[1] & SS_ONSTACK != 0
}

/// An address in the caller's frame.
#[inline(always)]
fn here() -> usize {
    let place = 0_u8;
    core::hint::black_box(&raw const place) as usize
}

/// Runs `work(argument)`; an `exit` in it returns here. Returns the exit status; none if it returned.
///
/// # Safety
/// As [`Frame::run`].
pub(crate) unsafe fn guard(work: Work, argument: *mut c_void) -> Option<c_int> {
    let mut token = 0;
    // SAFETY: the caller's promise; the frame is popped before it ceases to exist.
    unsafe {
        if innermost_for(here()).is_null() {
            work(argument);
            return None;
        }
        // Without storage, a frame that is passed is garbage on the stack.
        let mut place = MaybeUninit::uninit();
        let kept = arena::keep(Frame::new(None));
        let frame = match kept {
            Ok(kept) => kept.as_ptr(),
            Err(_) => core::ptr::from_mut(place.write(Frame::new(None))),
        };
        // This thread has a place for the key: it cannot fail.
        let _ = Frame::push(frame, &raw mut token);
        let exited = Frame::run(frame, work, argument);
        Frame::pop(frame);
        if let Ok(kept) = kept {
            let _ = arena::take(kept);
        }
        exited
    }
}

/// Records that an exit which a [`guard`] caught is to continue after the cleanup: at the next [`settle`].
pub(crate) fn goes_on(status: c_int) {
    // SAFETY: null, or a frame of this thread.
    if let Some(frame) = unsafe { innermost_for(here()).as_mut() } {
        frame.exited = Some(status);
    }
}

/// Continues an exit that was caught, if there is one: the caller has finished its cleanup. Returns if there is none, or if the
/// innermost frame is not entered: then LINK itself checks for the exit.
pub(crate) fn settle() {
    let frame = innermost_for(here());
    // SAFETY: a frame of this thread; entered, so it can be left for.
    unsafe {
        if !frame.is_null() && (*frame).is_entered && (*frame).exited.is_some() {
            leave(frame)
        }
    }
}

/// Is a place with that stack pointer outside of a LINK of this thread: on the stack from which the LINK's program was called? Code at
/// `from` asks.
pub(crate) fn is_outside_of_a_link(pointer: usize, from: usize) -> bool {
    let mut frame = innermost_for(from);
    // SAFETY: frames of this thread, which exist while they are pushed.
    while let Some(it) = unsafe { frame.as_ref() } {
        frame = it.outer;
        let begin = it.registers.stack_pointer();
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
        if it.own.1 != 0 {
            return it.own.1;
        }
        outer = it.outer;
    }
    system::stack().map_or(usize::MAX, |(_, end)| end)
}

/// This thread has no frame any more: the process ends.
pub(crate) fn forget() {
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        // SAFETY: a key that was made. Where it fails there was no frame.
        let _ = unsafe { set_innermost(key, null_mut()) };
    }
}

/// Exits the program that runs here, with that stack pointer, or the process.
///
/// # Safety
/// As the C library's `exit`.
pub(crate) unsafe fn exit(
    status: c_int,
    pointer: usize,
    ends_process: unsafe extern "C" fn(c_int) -> !,
) -> ! {
    give_back_passed(pointer);
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

fn key() -> Result<u32, Error> {
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        return Ok(key);
    }
    let _making = MAKING.lock();
    if KEY.load(Ordering::Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: the destructor takes the value of the key.
        if unsafe { system::pthread_key_create(&raw mut key, thread_ends) } != 0 {
            return Err(Error::TablesFull);
        }
        KEY.store(key + 1, Ordering::Release);
    }
    Ok(KEY.load(Ordering::Relaxed) - 1)
}

/// A thread ends with these frames: it has passed those of its own stack.
unsafe extern "C" fn thread_ends(innermost: *mut c_void) {
    let mut frame = innermost.cast::<Frame>();
    // SAFETY: the value of the key, which was made; frames of this thread.
    unsafe {
        let _ = set_innermost(KEY.load(Ordering::Acquire).wrapping_sub(1), frame);
        while let Some(it) = frame.as_ref() {
            let outer = it.outer;
            if !it.is_ending && it.process == getpid() && it.stack_of_caller().is_some() {
                abandon(frame);
            }
            frame = outer;
        }
    }
    forget();
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
