//! Stacks: how much of them threads used, to the page, and how large they are made.
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
//! A page of stack becomes resident when it is first touched and stays so; so the lowest resident page tells how
//! deep a thread ever went (a frame of more than half a MiB that is not touched hides what is below it). It is looked up
//! when the thread ends, when the process ends, and while other threads end: one system call for a thread, and none where
//! nobody reads the figures. The C library leaves some pages of a recycled stack to the next thread. They are given back when
//! one of the first threads starts, and one in sixteen later; another thread that went no deeper than what may have been left
//! tells nothing. A stack that the program brought itself is not touched: what was resident of it when the thread began
//! tells nothing of this thread.
//!
//! Exactness: to the page, downwards from where the thread's function began. All stacks at one time are looked at
//! when some threads end and when the process does, so what came and went between is missed: sampled.
//! Not here: what stacks are filled with (`fill`), and segments of stacks. Linux gives each stack as one mapping, and underbar does not change that.

pub mod fill;

use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, offset_of};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_options::LEAST_THREAD_STACK;
use underbar_sys::lock::Lock;
use underbar_sys::syscall;

use crate::next::{Next, weak};
use crate::thread_end::ThreadEnd;
use crate::{coverage, heap, ledger, sample, sandbox};

const PAGE: usize = 4096;
/// All stacks are looked at when the first, second, fourth ... thread ends, and then each time so many have ended.
const SELDOM: u64 = 256;
/// So many threads begin on a stack from which the last user's pages were taken, and then one in [`ONE_IN`].
const EXACT_THREADS: u64 = 64;
const ONE_IN: u64 = 16;
/// The most that the C library leaves to the next thread: 16 KiB below where the last one ended, and what that used to end.
const LEFT_BEHIND: usize = 8 * PAGE;

/// A running thread. Lives in storage of our own until the thread has ended.
#[repr(C)]
struct Record {
    start: Start,
    argument: *mut c_void,
    /// Bytes of its stack, or 0 where the program brought the stack.
    size: usize,
    /// Address at which its function began; 0 before it runs.
    base: usize,
    /// The lowest address that it may use; 0 where that is not known.
    low: usize,
    /// Only pages below this address are known to be used by this thread; 0: all are.
    used_before: usize,
    /// The last user of its stack may have left pages to it.
    inherits: bool,
    next: *mut Record,
    previous: *mut Record,
}

const _: () = assert!(size_of::<Record>() <= heap::DESCRIPTOR);

type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut usize, *const Attributes, Start, *mut c_void) -> c_int;

/// `pthread_attr_t` of glibc on x86-64.
#[repr(C)]
pub struct Attributes([u64; 7]);

struct Stacks {
    first: *mut Record,
    live: u64,
    started: u64,
    ended: u64,
    /// Nobody tells of threads' ends any more.
    are_forgotten: bool,
}

// SAFETY: records are followed under the lock only.
unsafe impl Send for Stacks {}

static STACKS: Lock<Stacks> =
    Lock::new(Stacks { first: null_mut(), live: 1, started: 0, ended: 0, are_forgotten: false });
pub(crate) static END: ThreadEnd = ThreadEnd::new(ends);
static CREATE: Next = Next::new(c"pthread_create");
/// Where the first thread's stack began, before `main`.
static MAIN_BASE: AtomicUsize = AtomicUsize::new(0);
/// Bytes that THREADSTACK gives to threads that ask for the default; 0: it is OFF.
static THREAD_STACK: AtomicU64 = AtomicU64::new(0);

weak! {
    address_of_attr_init = "pthread_attr_init";
    address_of_attr_getstacksize = "pthread_attr_getstacksize";
    address_of_attr_setstacksize = "pthread_attr_setstacksize";
    address_of_attr_getstack = "pthread_attr_getstack";
    address_of_minimum = "__pthread_get_minstack";
}

/// Sets what THREADSTACK says: bytes for threads that ask for the default, or 0.
pub fn configure(thread_stack: u64) {
    THREAD_STACK.store(thread_stack, Ordering::Relaxed);
}

/// Does anybody ask how deep threads went: a ledger, or THREADSTACK, which keeps a distance from it?
fn is_asked_for() -> bool {
    !cfg!(feature = "no-accounts")
        && (THREAD_STACK.load(Ordering::Relaxed) != 0 || ledger::attach::is_attached())
}

/// Notes where the first thread's stack begins. By the constructor, with an address that the kernel wrote there.
pub fn at_start(environment: usize) {
    MAIN_BASE.store(environment, Ordering::Relaxed);
    ledger::add(Key::ThreadsStarted, 1);
    ledger::raise(Key::ThreadsPeak, 1);
    END.prepare();
    let _ = CREATE.get();
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
    // Where nobody tells of its end, the thread would stay in the list for ever.
    let record: *mut Record = if END.is_given_up() { null_mut() } else { heap::get_descriptor().cast() };
    if record.is_null() {
        // SAFETY: the caller's promise is passed on.
        return unsafe { create(thread, attributes, start, argument) };
    }
    // SAFETY: the caller's attributes are read only; a copy of them may be changed, as they hold no pointer that
    // changing the size would touch.
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
            next: null_mut(),
            previous: null_mut(),
        });
        let mut failed = create(thread, plan.attributes, run, record.cast());
        if failed != 0 && plan.attributes != attributes {
            // There is no room for what THREADSTACK says: the program gets what it would have without it.
            (*record).size = plan.given;
            failed = create(thread, attributes, run, record.cast());
            ledger::add(Key::StackFallbacks, u64::from(failed == 0));
        }
        if failed != 0 {
            heap::put_descriptor(record.cast());
        }
        failed
    }
}

/// How a thread's stack is to be made.
struct Plan {
    /// Its size; 0 where the program brings it.
    size: usize,
    /// The lowest address of what the program brings; else 0.
    low: usize,
    /// What to create it with: what the caller gave, or where THREADSTACK decides, a copy.
    attributes: *const Attributes,
    /// Its size by what the caller gave.
    given: usize,
}

/// What the caller of pthread_create gave, with the size that THREADSTACK says, for which there is room in `own`.
unsafe fn plan_of(given: *const Attributes, own: &mut MaybeUninit<Attributes>) -> Plan {
    let brought = |low| Plan { size: 0, low, attributes: given, given: 0 };
    let addresses = [
        address_of_attr_init(),
        address_of_attr_getstacksize(),
        address_of_attr_setstacksize(),
        address_of_attr_getstack(),
    ];
    if addresses.contains(&0) {
        return brought(0);
    }
    // SAFETY: the C library's functions of these names, whose signatures these are.
    unsafe {
        let init: Init = core::mem::transmute(addresses[0]);
        let get_size: unsafe extern "C" fn(*const Attributes, *mut usize) -> c_int =
            core::mem::transmute(addresses[1]);
        let set_size: SetSize = core::mem::transmute(addresses[2]);
        let get_stack: unsafe extern "C" fn(*const Attributes, *mut usize, *mut usize) -> c_int =
            core::mem::transmute(addresses[3]);
        let own = own.as_mut_ptr();
        let mut default = 0;
        if init(own) != 0 || get_size(own, &raw mut default) != 0 {
            return brought(0);
        }
        let mut size = default;
        if !given.is_null() {
            let (mut address, mut length) = (0_usize, 0_usize);
            if get_stack(given, &raw mut address, &raw mut length) != 0 || get_size(given, &raw mut size) != 0
            {
                return brought(0);
            }
            if address.wrapping_add(length) != 0 {
                return brought(address.next_multiple_of(PAGE));
            }
            own.copy_from(given, 1);
        }
        let wanted = THREAD_STACK.load(Ordering::Relaxed) as usize;
        if wanted == 0 || size != default || (!given.is_null() && asked_for_size(given, init, set_size)) {
            return Plan { size, low: 0, attributes: given, given: size };
        }
        let size = wanted.max(floor(own)).next_multiple_of(PAGE);
        if set_size(own, size) == 0 {
            return Plan { size, low: 0, attributes: own, given: default };
        }
        ledger::add(Key::StackFallbacks, 1);
        Plan { size: default, low: 0, attributes: given, given: default }
    }
}

type Init = unsafe extern "C" fn(*mut Attributes) -> c_int;
type SetSize = unsafe extern "C" fn(*mut Attributes, usize) -> c_int;

/// Do these attributes say a size, though it may be that of the default? They are the C library's own affair; but in the word in
/// which some with a size differ from some without one, a size is what differs from those without.
unsafe fn asked_for_size(given: *const Attributes, init: Init, set_size: SetSize) -> bool {
    /// Nobody's default.
    const ODD_SIZE: usize = (1 << 40) + PAGE;
    let [mut none, mut some] = [Attributes([0; 7]), Attributes([0; 7])];
    // SAFETY: the C library's functions, on attributes of ours; the caller's are read only.
    unsafe {
        init(&raw mut none) == 0
            && init(&raw mut some) == 0
            && set_size(&raw mut some, ODD_SIZE) == 0
            && none
                .0
                .iter()
                .zip(some.0)
                .zip((*given).0)
                .any(|((none, some), given)| *none != some && *none != given)
    }
}

/// The least stack that is safe as far as is known: what the C library needs for itself and thread-local storage,
/// and four times the most that any thread used so far.
unsafe fn floor(attributes: *const Attributes) -> usize {
    let minimum = address_of_minimum();
    let own = if minimum == 0 {
        64 * 1024
    } else {
        // SAFETY: glibc's function of that name, which run-times of other languages call the same way.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(*const Attributes) -> usize>(minimum)(
                attributes,
            )
        }
    };
    let largest = ledger::slot().cell(Key::StackThread).load(Ordering::Relaxed) as usize;
    (LEAST_THREAD_STACK as usize).max(4 * largest) + own
}

/// What a new thread runs first. It leaves no frame behind: the program's function returns to the C library, and
/// `pthread_exit` unwinds as if we were not there.
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

/// A thread begins at this address of its stack. Returns its record.
unsafe extern "C" fn begins(record: *mut Record, base: usize) -> *mut Record {
    // SAFETY: `create` made the record for this thread, which alone uses it until it is in the list.
    unsafe {
        (*record).base = base;
        if (*record).size != 0 {
            let (low, high) = bounds_of((*record).size);
            (*record).low = low;
            coverage::stack(low, high);
            fill::set_bounds((*record).low, base);
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
        }
        ledger::add(Key::ThreadsStarted, 1);
        ledger::raise(Key::ThreadsPeak, stacks.live);
        drop(stacks);
        if !(*record).inherits && (*record).size != 0 && is_asked_for() {
            forget_last_user((*record).low, base);
        }
    }
    END.register(record.cast());
    sample::thread_begins();
    record
}

/// An address in the caller's frame.
#[inline(always)]
fn here() -> usize {
    let place = 0_u8;
    core::hint::black_box(&raw const place) as usize
}

/// The lowest address of the calling thread's stack of `size` bytes, guard excluded, and its end. The C library's description
/// of the thread, to which the thread pointer leads, lies at the high end, with less than a page behind it.
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

/// Gives back what the last thread on a recycled stack left just below: the C library gives back the rest.
fn forget_last_user(low: usize, base: usize) {
    // Two pages for what runs now.
    let top = (base & !(PAGE - 1)).saturating_sub(2 * PAGE);
    let mut resident = [0_u8; 16];
    if sandbox::is_closed() {
        return;
    }
    let looked_at = top.saturating_sub(resident.len() * PAGE);
    if looked_at >= low
        && syscall::mincore(looked_at, &mut resident).is_ok()
        && resident.iter().any(|state| state & 1 != 0)
    {
        // SAFETY: below the stack pointer and its red zone, on a stack that the C library made, nothing lives.
        let _ = unsafe { syscall::madvise(low as *mut u8, top - low, syscall::MADV_DONTNEED) };
    }
}

/// The lowest page of a stack that the program brought which is in memory as the thread begins, or 0 where that is no lower
/// than what runs now: the stack is fresh.
fn used_before(low: usize, base: usize) -> usize {
    if sandbox::is_closed() {
        return 0;
    }
    let bytes = used(low, base);
    // As in `forget_last_user`.
    if bytes <= 2 * PAGE {
        return 0;
    }
    ledger::add(Key::StackReused, 1);
    base - bytes
}

/// Bytes used of a stack that begins at `base` and may go down to `low`. Looked for downwards, a MiB at a time, until half of
/// one was not used: a stack on which as much was jumped over may count down to there only.
fn used(low: usize, base: usize) -> usize {
    let mut resident = [0_u8; 256];
    let mut lowest = base;
    let mut end = base.next_multiple_of(PAGE);
    while end > low {
        let start = end.saturating_sub(resident.len() * PAGE).max(low & !(PAGE - 1));
        let resident = &mut resident[..(end - start) / PAGE];
        if syscall::mincore(start, resident).is_err() {
            return base - lowest;
        }
        match resident.iter().position(|state| state & 1 != 0) {
            Some(page) => {
                lowest = lowest.min(start + page * PAGE);
                // Most stacks end here, with one call.
                if page >= 128 {
                    break;
                }
            }
            None => break,
        }
        end = start;
    }
    base - lowest
}

/// The same, where a stack that is resident to its very end tells nothing: under `mlockall` all of it is so from the start, and
/// zero until it is used. One that was used to its end is written there.
fn used_of_locked(low: usize, base: usize) -> usize {
    let bytes = used(low, base);
    if base - bytes > low + PAGE {
        return bytes;
    }
    let mut words = (low.next_multiple_of(8)..base).step_by(8);
    // SAFETY: a stack that is mapped, between its ends, word by word; whoever runs on it may write meanwhile, so it is read
    // as memory that changes.
    let written = words.find(|word| unsafe { (*word as *const u64).read_volatile() } != 0);
    base - written.map_or(base, |word| word & !(PAGE - 1)).min(base)
}

/// Bytes used of the first thread's stack.
fn used_by_main() -> usize {
    let base = MAIN_BASE.load(Ordering::Relaxed);
    lowest_resident(base).map_or(0, |lowest| base - lowest)
}

/// The lowest resident page of the first thread's stack. Its mapping grows downwards; where it ends is found by
/// halving.
fn lowest_resident(base: usize) -> Option<usize> {
    const LARGEST: usize = 64 << 20;
    let is_mapped = |page: usize| syscall::mincore(page, &mut [0]).is_ok();
    let top = base & !(PAGE - 1);
    if base == 0 || !is_mapped(top) {
        return None;
    }
    // The kernel keeps others away from a stack by much more than a page, so what is mapped is one run of pages.
    let (mut unmapped, mut mapped) = (LARGEST / PAGE, 0);
    while unmapped - mapped > 1 {
        let middle = usize::midpoint(unmapped, mapped);
        if is_mapped(top - middle * PAGE) { mapped = middle } else { unmapped = middle }
    }
    /// What the kernel maps for it before it grows, page by page as it is used.
    const AT_FIRST: usize = 40;
    let measure = if mapped <= AT_FIRST { used_of_locked } else { used };
    let bytes = measure(top - mapped * PAGE, base);
    (bytes > 0).then(|| base - bytes)
}

/// A thread ends: its stack is measured, and now and then those of all others.
unsafe extern "C" fn ends(record: *mut u8) {
    let record: *mut Record = record.cast();
    // SAFETY: the record was registered by this thread, and is in the list.
    unsafe {
        // Without the lock, so that nobody waits while the kernel looks.
        if is_asked_for() {
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
        drop(stacks);
        heap::put_descriptor(record.cast());
    }
}

/// The program took the key by which ends are told: threads that run are not looked at again, as nobody tells when their stacks are
/// gone.
pub(crate) fn forget_all() {
    let mut stacks = STACKS.lock();
    stacks.are_forgotten = true;
    stacks.first = null_mut();
}

fn note(record: &Record) -> usize {
    if record.low == 0 || record.base == 0 || sandbox::is_closed() {
        return 0;
    }
    // What the program brought may have pages at its low end that nobody may read.
    let measure = if record.size == 0 { used } else { used_of_locked };
    let bytes = measure(record.low, record.base);
    if record.inherits && record.size != 0 && bytes <= LEFT_BEHIND {
        return bytes.min(ledger::slot().cell(Key::StackThread).load(Ordering::Relaxed) as usize);
    }
    if record.used_before != 0 && record.base - bytes >= record.used_before {
        return 0;
    }
    ledger::raise(Key::StackThread, bytes as u64);
    ledger::raise(Key::StackLargest, bytes as u64);
    bytes
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

/// Measures the stacks of all threads, unless one of them is just coming or going.
pub fn look() {
    if is_asked_for()
        && let Some(stacks) = STACKS.try_lock()
    {
        look_at_all(&stacks);
    }
}

/// Before a fork.
pub fn before_fork() {
    STACKS.hold();
}

/// After a fork, in the parent.
///
/// # Safety
/// This thread called [`before_fork`].
pub unsafe fn after_fork() {
    // SAFETY: the caller's promise.
    unsafe { STACKS.release() }
}

/// After a fork, in the child: only this thread is left. Records of the others stay where they are; they are never
/// looked at again.
///
/// # Safety
/// This thread called [`before_fork`] in the parent.
pub unsafe fn after_fork_in_child() {
    // SAFETY: the caller's promise. Where the fork interrupted this very thread in the middle of a change, the list is
    // left as it is: what has ended with the parent's threads is then only counted as if it ran on.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_resident_page_tells_the_depth() {
        let low = syscall::map_anonymous(64 * PAGE).expect("memory") as usize;
        let base = low + 64 * PAGE - 100;
        assert_eq!(used(low, base), 0);
        for touched in [62, 50, 3] {
            // SAFETY: a page of the mapping.
            unsafe { ((low + touched * PAGE) as *mut u8).write(1) };
            assert_eq!(used(low, base), base - (low + touched * PAGE));
        }
        forget_last_user(low, base);
        assert_eq!(used(low, base), base - (low + 62 * PAGE), "the pages that run now are kept");
    }

    #[test]
    fn a_thread_finds_its_own_stack() {
        let size = 1 << 20;
        let thread = std::thread::Builder::new().stack_size(size);
        let (low, inside) =
            thread.spawn(move || (bounds_of(size).0, here())).expect("a thread").join().expect("its end");
        assert!((low..low + size).contains(&inside), "{inside:x} is not in {low:x} and {size:x} bytes");
    }
}
