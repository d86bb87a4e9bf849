//! A stack overflow is named: which stack, its size, and where. The program then dies as plain, of the same signal.
//!
//! ```text
//! access below the stack ── SIGSEGV, action is the default again ──> handler, on an alternate stack: is it an overflow? note it
//!                                                                      │ returns
//!                              the same instruction, the same fault <──┘ ── the default action: the program dies, core and all
//! ```
//!
//! Only under options that set stacks (STACK with a size, THREADSTACK with increments, KEEP or FREE): a handler is seen by who
//! asks the kernel (/proc, Go's runtime by its own system calls), and each thread needs an alternate stack, which the program sees by
//! `sigaltstack`. `sigaction` tells the program that the action is the default one, so the runtimes of Rust and of Java set theirs,
//! and theirs win. The kernel removes handlers at exec; a child by fork has them, and dies in the same way.
//!
//! A program that is LINKed onto a stack of its own has an alternate stack there, whatever thread runs it. A thread on a stack of the C
//! library gets one from `rooms`, if the handler is still in place when it begins.
//!
//! Invariant: the handler runs at most once, and changes nothing that the program can still see.
//! Known limits: the overflow of a stack that the program brought to a thread is not named. After a program has forbidden itself system
//! calls, only those of stacks that underbar made are.
//! Not here: how it is reported (`host/report`), the memory of alternate stacks (`stack`).

use core::ptr::null;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use underbar_ledger::FaultKind;
use underbar_ledger::layout::OfEcb;
use underbar_options::{Size, StackSize};
use underbar_sys::syscall::{self, number, syscall3};

use crate::action::{self, Action, DEFAULT, Info, SA_ONSTACK, SA_RESETHAND};
use crate::heap::within;
use crate::orders::Orders;
use crate::{coverage, ledger, resident, sandbox};

const SIGSEGV: i32 = 11;
const PAGE: usize = 4096;
/// Bytes of an alternate stack: what a handler of the program needs, too, if the program sets one for such stacks.
pub const ROOM: usize = 16 * PAGE;
const MARK: u64 = u64::from_le_bytes(*b"OVERFLOW");

/// Whether overflows are to be named. Written once, before the first request; relaxed.
static IS_ASKED: AtomicBool = AtomicBool::new(false);
/// Whether the handler was set. Written by the first thread, before there are others; relaxed.
static IS_SET: AtomicBool = AtomicBool::new(false);
/// Where the first thread's stack begins. Written as [`IS_SET`]; relaxed.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// The handler of this library that calls this one (`stale`); 0: none. Written as [`IS_SET`]; relaxed.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

/// At the low end of an alternate stack: the stack to which it belongs.
#[repr(C)]
struct Owner {
    /// [`MARK`], other than in memory of somebody else; 0: not in use.
    mark: u64,
    /// The lowest address of the stack, just above its guard; 0: the first thread's, which has no fixed end.
    low: usize,
    /// Its end.
    top: usize,
    /// It is that of a program that was LINKed.
    is_linked: bool,
    /// The C library made it: a stack that it kept may be larger than the thread asked for, so `low` is an estimate.
    is_of_c: bool,
    /// The program asked for its size, other than by the default.
    is_asked: bool,
    /// The alternate stack to which the thread returns when that program has ended.
    before: Alternate,
}

/// Obeys STACK and THREADSTACK.
pub(crate) fn configure(orders: &Orders<'_>) {
    let stack = orders.settings.stack();
    let is_sized = stack.init != StackSize::Auto || stack.increment != Size::Auto;
    IS_ASKED.store(is_sized || orders.settings.thread_stack().is_made_here(), Ordering::Relaxed);
}

/// Sets the handler, if the program was started with the default action. The first thread's stack begins at `base`.
pub(crate) fn at_start(base: usize) {
    let mut before = Action { handler: 1, ..DEFAULT };
    if !IS_ASKED.load(Ordering::Relaxed)
        || base == 0
        || !action::change(SIGSEGV, None, Some(&mut before))
        || before.handler != 0
    {
        return;
    }
    let Ok(room) = syscall::map_anonymous(ROOM) else { return };
    FIRST.store(base, Ordering::Relaxed);
    // SAFETY: new memory.
    unsafe { use_alternate(room as usize, Owner::of(0, base)) };
    let handler = action::calls(handler as *const () as usize, SA_ONSTACK | SA_RESETHAND, 0);
    IS_SET.store(action::change(SIGSEGV, Some(&handler), None), Ordering::Relaxed);
}

/// The calling thread begins on a stack with these ends, and may use [`ROOM`] bytes at `room`.
///
/// # Safety
/// They are the thread's until it has ended.
pub unsafe fn thread_begins(room: usize, low: usize, top: usize) {
    if IS_SET.load(Ordering::Relaxed) && !sandbox::is_closed() {
        // SAFETY: the caller's promise.
        unsafe { use_alternate(room, Owner::of(low, top)) };
    }
}

/// Whether a thread on a stack of the C library is to have an alternate stack: the handler is still the one that the kernel calls.
pub fn is_in_place() -> bool {
    let mut now = DEFAULT;
    IS_SET.load(Ordering::Relaxed)
        && !sandbox::is_closed()
        && action::change(SIGSEGV, None, Some(&mut now))
        && is_expected(now.handler)
}

/// As [`thread_begins`], on a stack of the C library that is at least so large; `is_asked`: the program asked for its size.
///
/// # Safety
/// The room is the thread's until [`thread_of_c_ends`] returns true.
pub unsafe fn thread_of_c_begins(room: usize, low: usize, top: usize, is_asked: bool) {
    // SAFETY: the caller's promise.
    unsafe { use_alternate(room, Owner { is_of_c: true, is_asked, ..Owner::of(low, top) }) };
}

/// The calling thread ends, which began with that room. False if it may still be used: a handler of the program's runs on it, or the
/// kernel cannot be asked.
pub fn thread_of_c_ends(room: usize) -> bool {
    if sandbox::is_closed() {
        return false;
    }
    let (none, mut before) = (Alternate::NONE, Alternate::NONE);
    let [none, old] = [(&raw const none).addr(), (&raw mut before).addr()];
    // It refuses while a handler runs on the alternate stack.
    // SAFETY: the kernel reads one description, and writes one.
    let is_told = unsafe { syscall3(number::SIGALTSTACK, none, old, 0) }.is_ok();
    if is_told && before.start != room && before.flags & SS_DISABLE == 0 {
        // The program has set its own: that stays.
        set(&before);
    }
    is_told
}

/// A LINKed program begins in the calling thread, on a stack with these ends, and may use [`ROOM`] bytes at `room`. An alternate stack
/// that the program around it has set stays.
///
/// # Safety
/// They are that program's until [`program_ends`].
pub unsafe fn program_begins(room: usize, low: usize, top: usize) {
    if !IS_SET.load(Ordering::Relaxed) || sandbox::is_closed() {
        return;
    }
    let owner = Owner { is_linked: true, ..Owner::of(low, top) };
    // SAFETY: the caller's promise.
    unsafe {
        let Some(before) = use_alternate(room, owner) else {
            (room as *mut Owner).write(Owner::NONE);
            return;
        };
        if before.flags & SS_DISABLE == 0 && !before.is_ours() {
            set(&before);
            (room as *mut Owner).write(Owner::NONE);
        } else {
            (*(room as *mut Owner)).before = before;
        }
    }
}

/// The LINKed program that began with this room has ended.
///
/// # Safety
/// As [`program_begins`], in the same thread.
pub unsafe fn program_ends(room: usize) {
    if !IS_SET.load(Ordering::Relaxed) || sandbox::is_closed() {
        return;
    }
    // SAFETY: written by `program_begins`.
    unsafe {
        let owner = (room as *const Owner).read();
        if owner.mark == MARK && owner.is_linked {
            set(&owner.before);
        }
    }
}

/// Sets the alternate stack of the calling thread; returns the one before, if the kernel took it.
unsafe fn use_alternate(room: usize, owner: Owner) -> Option<Alternate> {
    let mut before = Alternate::NONE;
    // SAFETY: the caller gives the memory; the kernel reads and writes one description.
    unsafe {
        (room as *mut Owner).write(owner);
        let new = Alternate { start: room, flags: 0, bytes: ROOM };
        syscall3(number::SIGALTSTACK, &raw const new as usize, &raw mut before as usize, 0).ok()?;
    }
    Some(before)
}

/// Sets an alternate stack that was set before, or none.
fn set(this: &Alternate) -> bool {
    // SAFETY: the kernel reads one description; its memory is there for as long as the thread had or has it.
    unsafe { syscall3(number::SIGALTSTACK, core::ptr::from_ref(this) as usize, 0, 0).is_ok() }
}

/// Another handler of this library is the kernel's from now on, and calls this one.
pub(crate) fn comes_after(handler: usize) {
    BEFORE.store(handler, Ordering::Relaxed);
}

/// Whether the kernel calls this handler by that action.
fn is_expected(address: usize) -> bool {
    is_ours(address) || (address > 1 && address == BEFORE.load(Ordering::Relaxed))
}

/// Whether that address is this handler.
pub(crate) fn is_ours(address: usize) -> bool {
    address == handler as *const () as usize
}

/// Whether the handler may still be that of this signal.
#[inline]
pub(crate) fn may_be_set_for(signal: i32) -> bool {
    signal == SIGSEGV && IS_SET.load(Ordering::Relaxed)
}

/// `stack_t` of the kernel.
#[repr(C)]
#[derive(Clone, Copy)]
struct Alternate {
    start: usize,
    flags: i32,
    bytes: usize,
}

/// There is no alternate stack.
const SS_DISABLE: i32 = 2;

impl Alternate {
    const NONE: Self = Self { start: 0, flags: SS_DISABLE, bytes: 0 };

    /// Whether this file made it.
    unsafe fn is_ours(&self) -> bool {
        let owner = self.start as *const Owner;
        // SAFETY: the memory of an alternate stack, of which there are so many bytes.
        self.bytes == ROOM && !owner.is_null() && owner.is_aligned() && unsafe { (*owner).mark } == MARK
    }
}

impl Owner {
    const NONE: Self = Self { mark: 0, ..Self::of(0, 0) };

    /// Of a stack that underbar made, or, with `low` 0, of the first thread.
    const fn of(low: usize, top: usize) -> Self {
        Self {
            mark: MARK,
            low,
            top,
            is_linked: false,
            is_of_c: false,
            is_asked: false,
            before: Alternate::NONE,
        }
    }
}

// The part of an alternate stack that is in memory as soon as the stack below it is.
const _: () = assert!(size_of::<Owner>() <= 64);

/// The beginning of the kernel's `ucontext_t`.
#[repr(C)]
struct Context {
    _flags: u64,
    _link: usize,
    alternate: Alternate,
    _registers: [usize; 15],
    stack_pointer: usize,
    instruction: usize,
}

unsafe extern "C" fn handler(_: i32, info: *const Info, context: *const Context) {
    // SAFETY: the kernel passes what the flags ask for.
    let (info, context) = unsafe { (&*info, &*context) };
    // A handler that came later by a system call of its own may have called this one, as Go's runtime does: then the default action is
    // not set yet, and the program would meet the same fault again and again.
    let mut now = DEFAULT;
    if !sandbox::is_closed()
        && action::change(SIGSEGV, None, Some(&mut now))
        && now.handler != DEFAULT.handler
        && !is_expected(now.handler)
    {
        action::change(SIGSEGV, Some(&DEFAULT), None);
    }
    if info.code <= 0 {
        end_as_asked();
        return;
    }
    let owner = context.alternate.start as *const Owner;
    if context.alternate.bytes != ROOM || owner.is_null() || !owner.is_aligned() {
        return;
    }
    // SAFETY: the low end of the stack that this code runs on.
    let owner = unsafe { owner.read() };
    if owner.mark == MARK
        && let Some(size) = overflowed(&owner, info.address, context.stack_pointer)
    {
        note(&owner, size, info.address, context.instruction);
    }
}

/// The size of the stack, if an access to that address, by code with that stack pointer, is an overflow of it.
fn overflowed(owner: &Owner, address: usize, pointer: usize) -> Option<usize> {
    // A large frame may reach far below the last one before it touches a page.
    const NEAR: usize = 1 << 20;
    if owner.is_of_c {
        return (address < owner.top && address.abs_diff(pointer) <= NEAR)
            .then(|| overflowed_of_c(owner, address))
            .flatten();
    }
    if owner.low != 0 {
        return (owner.low - PAGE..owner.low)
            .contains(&address)
            .then_some((owner.top - owner.low).next_multiple_of(PAGE));
    }
    if address >= owner.top || address.abs_diff(pointer) > NEAR || sandbox::is_closed() {
        return None;
    }
    let limit = stack_limit()?;
    let depth = owner.top - address;
    // Below the stack is nothing else, down to its limit; an address there to which it did not grow is one beyond the limit. The
    // arguments above `top` count, too.
    let is_mapped = resident::is_mapped(address & !(PAGE - 1)) == Some(true);
    (!is_mapped && depth > limit / 2 && depth < limit.saturating_add(2 * NEAR)).then_some(limit)
}

/// The same for a stack of the C library: the address is in its guard. That is the mapping below the stack's, or, made of the kernel's
/// guard pages, the low end of it: the stack itself can be accessed, so a fault in its mapping is one in such a page.
fn overflowed_of_c(owner: &Owner, address: usize) -> Option<usize> {
    if sandbox::is_closed() {
        return None;
    }
    let (guard, low) = coverage::mapping_around(owner.top - 1)?;
    let size = if address < low { owner.top - low } else { owner.top - owner.low };
    (address >= guard).then_some(size.next_multiple_of(PAGE))
}

/// RLIMIT_STACK; None: there is none, or it is not known.
pub(crate) fn stack_limit() -> Option<usize> {
    const RLIMIT_STACK: usize = 3;
    let mut limits = [0_usize; 2];
    // SAFETY: the kernel writes two numbers.
    unsafe { syscall3(number::GETRLIMIT, RLIMIT_STACK, limits.as_mut_ptr() as usize, 0) }.ok()?;
    (limits[0] != usize::MAX).then_some(limits[0])
}

/// Notes the overflow in the ledger: address, number of the thread, size of its stack; and the LINKed program whose stack it is.
fn note(owner: &Owner, size: usize, address: usize, instruction: usize) {
    const PR_GET_NAME: u32 = 16;
    let mut name = [0_u8; 16];
    let mut thread = 0;
    if owner.low != 0 && !sandbox::is_closed() {
        thread = syscall::gettid();
        // SAFETY: the kernel writes a name of at most 16 bytes.
        let _ = unsafe { syscall::prctl(PR_GET_NAME, name.as_mut_ptr() as usize, 0, 0, 0) };
    }
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let name = core::str::from_utf8(&name[..length]).unwrap_or_default();
    let mut room = [0; 32];
    let code = coverage::code_at(instruction, &mut room);
    let code = code.as_ref().map(|code| (code.module, code.offset as u64));
    let known = if owner.is_linked { within::name() } else { None };
    let program = match &known {
        Some(name) => Some((name.split(|&byte| byte == 0).next().unwrap_or_default(), 0)),
        None if owner.is_linked => Some((&b"a program"[..], 0)),
        None => Some((&b""[..], u64::from(owner.is_asked))),
    };
    ledger::slot().fault.store(
        FaultKind::StackOverflow,
        name,
        [address as u64, thread as u64, size as u64],
        [code, program],
        OfEcb::default(),
    );
}

/// A program has sent the signal: it ends this program, whose action for it is the default one again.
#[cold]
fn end_as_asked() {
    if sandbox::is_closed() {
        // In place of the forbidden call: the kernel ends a program with a fault while the signal waits.
        // SAFETY: it faults, always.
        unsafe { null::<u8>().read_volatile() };
        return;
    }
    // It arrives when the handler returns.
    let _ = syscall::kill(syscall::getpid(), SIGSEGV);
}
