//! Stacks: how much of them threads used, to the page (`depth`), and how large they are (`size`).
//!
//! ```text
//! high  +---------------------------+
//!       | the C library's own       |  thread-local storage, its description of the thread
//! base  +---------------------------+  where the thread's function began
//!       | used: resident pages      |
//!       +- - - - - - - - - - - - - -+  the lowest resident page
//!       | never touched             |
//! low   +---------------------------+  guard
//! ```
//!
//! The lowest resident page is looked up when the thread ends, when the process ends, and while other threads end. This is
//! one system call for a thread, and none if no reader wants the figures. The C library leaves some pages of a recycled
//! stack to the next thread. They are given back when one of the first threads starts, and at one in sixteen later. Another
//! thread that went no deeper than the pages that may have been left tells nothing. A stack that the program brought itself
//! is not touched: pages that were resident when the thread began tell nothing about this thread.
//!
//! Exactness: to the page, downwards from where the thread's function began. All stacks together are measured when some
//! threads end and when the process ends, so a use that came and went between is missed: sampled.
//! Under THREADSTACK with increments, KEEP or FREE, underbar makes the stacks (`segmented`), and the next thread gets the stack of
//! one that has ended (`kept`, `joined`). Pages of earlier threads stay in it: a thread on it counts as deep as the deepest of them, and
//! one look tells what several threads used.
//! Not here: filling stacks (`fill`).

mod depth;
pub mod fill;
pub mod joined;
mod kept;
pub mod linked;
mod rooms;
mod segmented;
mod size;

use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, offset_of};
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_ledger::Key;
use underbar_sys::lock::Lock;

pub use size::{Attributes, count_segments, sizes};

use depth::{MAIN_BASE, forget_last_user, used, used_before, used_by_main, used_of_locked};
use segmented::Segmented;
use size::plan_of;

use crate::heap::enclave::Inherited;
use crate::next::Next;
use crate::orders::{Given, Orders};
use crate::thread_end::ThreadEnd;
use crate::{by_caller, coverage, heap, ledger, overflow, placement, sample, sandbox, stale};

const PAGE: usize = 4096;
/// All stacks are measured when the first, second, fourth ... thread ends, and later each time this many have ended.
const SELDOM: u64 = 256;
/// This many threads begin on a stack from which the last user's pages were removed; later one in [`ONE_IN`].
const EXACT_THREADS: u64 = 64;
const ONE_IN: u64 = 16;
/// The most that the C library leaves to the next thread: 16 KiB below where the last one ended, and the stack that its
/// ending used.
const LEFT_BEHIND: usize = 8 * PAGE;

/// A running thread. Lives in storage of the runtime until the thread has ended.
#[repr(C)]
struct Record {
    start: Start,
    argument: *mut c_void,
    /// Bytes of its stack, or 0 if the program brought the stack.
    size: usize,
    /// Address at which its function began; 0 before it runs.
    base: usize,
    /// The lowest address that it may use; 0 if not known.
    low: usize,
    /// Only pages below this address are known to be used by this thread; 0: all are.
    used_before: usize,
    /// The last user of its stack may have left pages to it.
    inherits: bool,
    /// Null, or its stack, which underbar made.
    stack: *mut Segmented,
    /// The alternate stack that it has from [`rooms`]; 0: none.
    room: usize,
    /// The enclave that it is in, as its creator.
    enclave: Inherited,
    /// THREADSTACK sets its size if it is ON.
    is_default: bool,
    /// It runs on the processors of its class, and its CPU time counts for that.
    is_placed: bool,
    next: *mut Record,
    previous: *mut Record,
}

const _: () = assert!(size_of::<Record>() <= heap::DESCRIPTOR);

type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut usize, *const Attributes, Start, *mut c_void) -> c_int;

struct Stacks {
    first: *mut Record,
    live: u64,
    /// Those of them whose size THREADSTACK sets if it is ON.
    live_default: u64,
    started: u64,
    ended: u64,
    /// Nothing reports the ends of threads any more.
    are_forgotten: bool,
}

// SAFETY: records are followed under the lock only.
unsafe impl Send for Stacks {}

static STACKS: Lock<Stacks> = Lock::new(Stacks {
    first: null_mut(),
    live: 1,
    live_default: 0,
    started: 0,
    ended: 0,
    are_forgotten: false,
});
pub(crate) static END: ThreadEnd = ThreadEnd::new(ends);
static CREATE: Next = Next::new(c"pthread_create");

static GET_ATTRIBUTES: Next = Next::new(c"pthread_getattr_np");

/// `pthread_getattr_np`, for programs that are LINKed: a thread that asks for itself on a stack of [`linked`] gets that stack.
///
/// # Safety
/// As the C library's.
pub unsafe fn attributes_of(thread: usize, attributes: *mut Attributes) -> c_int {
    const ENOSYS: c_int = 38;
    let Some(next) = GET_ATTRIBUTES.get() else { return ENOSYS };
    // SAFETY: the C library's function of that name, whose signature this is; the caller's promise.
    unsafe {
        let next: unsafe extern "C" fn(usize, *mut Attributes) -> c_int = core::mem::transmute(next);
        let result = next(thread, attributes);
        if result == 0
            && thread == kept::description()
            && let Some((low, top)) = linked::around(here())
        {
            size::set_stack(attributes, low, top - low);
        }
        result
    }
}

/// Whether the depth of threads is wanted: by a ledger, or by THREADSTACK, which keeps a distance from it.
fn is_asked_for() -> bool {
    !cfg!(feature = "no-accounts") && (size::is_configured() || ledger::attach::is_attached())
}

/// Obeys STACK and THREADSTACK.
pub(crate) fn configure(orders: &Orders<'_>) {
    size::configure(orders);
    overflow::configure(orders);
    stale::configure(orders);
}

/// Notes where the first thread's stack begins: the kernel put the environment there.
pub(crate) fn at_start(given: &Given) {
    MAIN_BASE.store(given.environment as usize, Ordering::Relaxed);
    ledger::add(Key::ThreadsStarted, 1);
    ledger::raise(Key::ThreadsPeak, 1);
    END.prepare();
    let _ = CREATE.get();
    overflow::at_start(given.environment as usize);
    // Its handler counts as the program's.
    stale::at_start();
    if heap::of_threads::are_wanted() {
        // Before there are other threads.
        by_caller::bind();
    }
}

/// `pthread_create`.
///
/// # Safety
/// As C's.
pub unsafe fn create(
    thread: *mut usize,
    attributes: *const Attributes,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    const EAGAIN: c_int = 11;
    let Some(create) = CREATE.get() else { return EAGAIN };
    // SAFETY: the next library's `pthread_create` has this signature.
    let create = unsafe { core::mem::transmute::<usize, Create>(create) };
    // If nothing reports its end, the thread would stay in the list for ever.
    let record: *mut Record = if END.is_given_up() { null_mut() } else { heap::get_descriptor().cast() };
    if record.is_null() {
        // SAFETY: the caller's promise is passed on.
        return unsafe { create(thread, attributes, start, argument) };
    }
    // SAFETY: the caller's attributes are read only; a copy of them may be changed, as they hold no pointer that changing
    // the size would touch.
    unsafe {
        let mut own = MaybeUninit::<Attributes>::uninit();
        let plan = plan_of(attributes, &mut own);
        record.write(Record {
            start,
            argument,
            size: plan.size,
            base: 0,
            low: plan.low,
            used_before: 0,
            inherits: false,
            stack: null_mut(),
            room: 0,
            enclave: Inherited::take(),
            is_default: plan.is_default,
            is_placed: false,
            next: null_mut(),
            previous: null_mut(),
        });
        let mut failed = EAGAIN;
        if plan.is_made_here {
            let stack = kept::take(plan.size, plan.is_detached);
            if !stack.is_null() {
                let mut with_stack = own;
                (*record).stack = stack;
                if size::set_stack(with_stack.as_mut_ptr(), (*stack).low, (*stack).size()) {
                    failed = create(thread, with_stack.as_ptr(), run, record.cast());
                }
                if failed != 0 {
                    (*record).stack = null_mut();
                    kept::not_made(stack);
                }
            }
        }
        if failed != 0 {
            failed = create(thread, plan.attributes, run, record.cast());
        }
        if failed != 0 && plan.attributes != attributes {
            // There is no room for the size that THREADSTACK sets: the program gets the stack that it would have without
            // the option.
            (*record).size = plan.given;
            failed = create(thread, attributes, run, record.cast());
            ledger::add(Key::StackFallbacks, u64::from(failed == 0));
        }
        if failed != 0 {
            (*record).enclave.drop_pass();
            heap::put_descriptor(record.cast());
        }
        failed
    }
}

/// The first function of a new thread. It leaves no frame: the program's function returns to the C library, and
/// `pthread_exit` unwinds as if the runtime were absent.
#[unsafe(naked)]
unsafe extern "C" fn run(record: *mut c_void) -> *mut c_void {
    core::arch::naked_asm!(
        "mov rsi, rsp",
        "sub rsp, 8",
        "call {begins}",
        "add rsp, 8",
        "mov rdi, [rax + {argument}]",
        "jmp [rax + {start}]",
        begins = sym begins,
        argument = const offset_of!(Record, argument),
        start = const offset_of!(Record, start),
    )
}

/// A thread begins at this address of its stack. Returns the thread's record.
unsafe extern "C" fn begins(record: *mut Record, base: usize) -> *mut Record {
    // SAFETY: `create` made the record for this thread, which alone uses it until it is in the list.
    unsafe {
        (*record).is_placed = placement::thread_begins((*record).start as usize);
        (*record).base = base;
        if let Some(stack) = (*record).stack.as_ref() {
            (*record).low = stack.low;
            stack.begins(base);
            fill::set_bounds(stack.low, base);
            overflow::thread_begins(stack.top, stack.low, stack.top);
            if !kept::begins(stack) {
                size::make_no_more();
            }
        } else if (*record).size != 0 {
            let (low, high) = bounds_of((*record).size);
            (*record).low = low;
            coverage::stack(low, high);
            fill::set_bounds((*record).low, base);
            (*record).room = rooms::begins(low, high, !(*record).is_default);
        } else if (*record).low != 0 && is_asked_for() {
            (*record).used_before = used_before((*record).low, base);
        }
        let mut stacks = STACKS.lock();
        stacks.started += 1;
        (*record).inherits = stacks.started > EXACT_THREADS && !stacks.started.is_multiple_of(ONE_IN);
        if !stacks.are_forgotten {
            (*record).next = stacks.first;
            if let Some(next) = (*record).next.as_mut() {
                next.previous = record;
            }
            stacks.first = record;
            stacks.live += 1;
            stacks.live_default += u64::from((*record).is_default);
        }
        ledger::add(Key::ThreadsStarted, 1);
        ledger::raise(Key::ThreadsPeak, stacks.live);
        if (*record).is_default {
            ledger::add(Key::ThreadsOfDefaultSize, 1);
            ledger::raise(Key::ThreadsOfDefaultSizePeak, stacks.live_default);
        }
        drop(stacks);
        if (*record).stack.is_null() && !(*record).inherits && (*record).size != 0 && is_asked_for() {
            forget_last_user((*record).low, base);
        }
    }
    END.register(record.cast());
    // SAFETY: the record is this thread's.
    unsafe { (*record).enclave.receive() };
    if heap::of_threads::are_wanted() && by_caller::bind() {
        heap::of_threads::begins();
    }
    sample::thread_begins();
    record
}

/// An address in the caller's frame.
#[inline(always)]
fn here() -> usize {
    let place = 0_u8;
    core::hint::black_box(&raw const place) as usize
}

/// The lowest address of the calling thread's stack of `size` bytes, guard excluded, and its end. The thread pointer is the
/// address of the C library's description of the thread, which is at the high end, with less than a page after it.
fn bounds_of(size: usize) -> (usize, usize) {
    const DESCRIPTION: usize = 2304;
    let pointer: usize;
    // SAFETY: the word at the thread pointer is its own address.
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(readonly, nostack, preserves_flags))
    };
    let high = (pointer + DESCRIPTION).next_multiple_of(PAGE);
    (high.saturating_sub(size) + PAGE, high)
}

/// A thread ends: its stack is measured, and occasionally those of all others.
unsafe extern "C" fn ends(record: *mut u8) {
    let record: *mut Record = record.cast();
    // SAFETY: the record was registered by this thread, and is in the list.
    unsafe {
        if (*record).is_placed {
            placement::thread_ends();
        }
        rooms::ends((*record).room);
        // Without the lock, so that no thread waits during the system call.
        let is_looked_at =
            (*record).stack.as_ref().is_none_or(|stack| stack.is_worth_a_look(size::frees_increments()));
        if is_asked_for() && is_looked_at {
            note(&*record);
        }
        let mut stacks = STACKS.lock();
        if stacks.are_forgotten {
            return;
        }
        stacks.ended += 1;
        if stacks.ended.is_power_of_two() || stacks.ended.is_multiple_of(SELDOM) {
            look_at_all(&stacks);
        }
        let (next, previous) = ((*record).next, (*record).previous);
        if let Some(next) = next.as_mut() {
            next.previous = previous;
        }
        match previous.as_mut() {
            Some(previous) => previous.next = next,
            None => stacks.first = next,
        }
        stacks.live -= 1;
        stacks.live_default -= u64::from((*record).is_default);
        drop(stacks);
        heap::put_descriptor(record.cast());
    }
}

/// Gives up the key that reports ends: running threads are not measured again, as nothing reports when their stacks are
/// gone.
pub(crate) fn give_up_key() -> bool {
    let is_given_up = END.give_up();
    if is_given_up {
        let mut stacks = STACKS.lock();
        stacks.are_forgotten = true;
        stacks.first = null_mut();
    }
    is_given_up
}

fn note(record: &Record) -> usize {
    if record.low == 0 || record.base == 0 || sandbox::is_closed() {
        return 0;
    }
    // SAFETY: the description of a stack that underbar made stays for ever.
    if let Some(stack) = unsafe { record.stack.as_ref() } {
        let bytes = stack.look(size::segments());
        raise(bytes, record.is_default);
        return bytes;
    }
    // A stack that the program brought may have unreadable pages at its low end.
    let measure = if record.size == 0 { used } else { used_of_locked };
    let bytes = measure(record.low, record.base);
    if record.inherits && record.size != 0 && bytes <= LEFT_BEHIND {
        return bytes.min(ledger::slot().cell(Key::StackThread).load(Ordering::Relaxed) as usize);
    }
    if record.used_before != 0 && record.base - bytes >= record.used_before {
        return 0;
    }
    raise(bytes, record.is_default);
    bytes
}

/// A thread used that many bytes.
fn raise(bytes: usize, is_default: bool) {
    ledger::raise(Key::StackThread, bytes as u64);
    if is_default {
        ledger::raise(Key::StackDefaultSize, bytes as u64);
    }
    ledger::raise(Key::StackLargest, bytes as u64);
}

/// Measures the stacks of all threads that live.
fn look_at_all(stacks: &Stacks) {
    if sandbox::is_closed() || !is_asked_for() {
        return;
    }
    let main = used_by_main();
    ledger::raise(Key::StackMain, main as u64);
    ledger::raise(Key::StackLargest, main as u64);
    let mut sum = main;
    let mut at = stacks.first;
    // SAFETY: records in the list are live under the lock.
    while let Some(record) = unsafe { at.as_ref() } {
        sum += note(record);
        at = record.next;
    }
    ledger::raise(Key::StackConcurrent, sum as u64);
}

/// Measures the stacks of all threads, unless one of them is just starting or ending.
pub fn look() {
    if is_asked_for()
        && let Some(stacks) = STACKS.try_lock()
    {
        if !sandbox::is_closed() {
            raise(kept::look(), true);
            linked::look();
        }
        look_at_all(&stacks);
    }
}

/// Before a fork.
pub(crate) fn before_fork() -> bool {
    STACKS.hold();
    kept::before_fork();
    linked::before_fork();
    rooms::before_fork();
    true
}

/// After a fork, in the parent.
///
/// # Safety
/// This thread called [`before_fork`].
pub(crate) unsafe fn after_fork(_: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        rooms::after_fork();
        linked::after_fork();
        kept::after_fork();
        STACKS.release();
    }
}

/// After a fork, in the child: only this thread is left. Records of the others stay where they are; they are never used
/// again.
///
/// # Safety
/// This thread called [`before_fork`] in the parent.
pub(crate) unsafe fn after_fork_in_child(_: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        rooms::after_fork();
        linked::after_fork();
        kept::after_fork_in_child(here());
    }
    // SAFETY: the caller's promise. If the fork interrupted this very thread in the middle of a change, the list is left as
    // it is: the threads that ended with the parent are then only counted as if they ran on.
    let in_the_middle = unsafe {
        let held = STACKS.was_held();
        STACKS.release();
        held
    };
    if in_the_middle {
        return;
    }
    let base = here();
    let mut stacks = STACKS.lock();
    let mut at = stacks.first;
    let mut mine = null_mut();
    // SAFETY: records stay where they are.
    while let Some(record) = unsafe { at.as_mut() } {
        let next = record.next;
        if (record.low..=record.base).contains(&base) {
            (record.next, record.previous) = (null_mut(), null_mut());
            mine = at;
        }
        at = next;
    }
    stacks.first = mine;
    stacks.live = 1;
    // SAFETY: as above.
    stacks.live_default = u64::from(unsafe { mine.as_ref() }.is_some_and(|record| record.is_default));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_finds_its_own_stack() {
        let size = 1 << 20;
        let thread = std::thread::Builder::new().stack_size(size);
        let (low, inside) =
            thread.spawn(move || (bounds_of(size).0, here())).expect("a thread").join().expect("its end");
        assert!((low..low + size).contains(&inside), "{inside:x} is not in {low:x} and {size:x} bytes");
    }
}
