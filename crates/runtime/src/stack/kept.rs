//! The stacks that underbar made: those that threads run on, and those that wait for their next thread.
//!
//! ```text
//!                 ┌──────────────── joined ────────────────┐
//! reserve ──> in use ── detached ──> on its own ── ended ──> ready ──> in use ...
//!                 by thread             in order             last in, first out; at most MOST
//! ```
//!
//! A stack is reused only when nobody can touch it any more. After `pthread_join` the C library is done with it: the kernel has
//! cleared the thread's number, and the joiner has read the result. A detached thread gives its own description up, and runs on
//! until the kernel clears its number, so that number is looked at.
//!
//! A child by fork has one thread. All other stacks are ready there, and give their pages back before they are used.
//!
//! Invariant: each stack is in one list. Nobody runs on one that is ready.
//! Cost: a lock and a list operation at the begin and at the end of a thread; a system call for a new stack only.
//! Not here: what is counted of a stack (`segmented`), the calls of the program (the parent, and `joined`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_sys::lock::Lock;
use underbar_sys::syscall;

use super::segmented::Segmented;
use super::{PAGE, size};
use crate::{coverage, ledger, sandbox};

/// The most stacks that wait. Each is two mappings, of the 65,530 that the kernel allows a process.
const MOST: usize = 256;
/// How many of the oldest detached threads are asked, each time a thread begins, whether they have ended.
const ASKED: usize = 4;
/// A power of two.
const BUCKETS: usize = 128;

struct Lists {
    ready: *mut Segmented,
    ready_count: usize,
    /// Bytes in the first segments of stacks that threads have.
    first_segments: usize,
    /// By [`bucket`]: stacks of threads that will be joined, or detached.
    in_use: [*mut Segmented; BUCKETS],
    /// Stacks of detached threads, the oldest first, and the last one.
    detached: *mut Segmented,
    last_detached: *mut Segmented,
    /// Descriptions without a stack.
    spare: *mut Segmented,
}

// SAFETY: stacks in the lists are used under the lock only.
unsafe impl Send for Lists {}

static LISTS: Lock<Lists> = Lock::new(Lists {
    ready: null_mut(),
    ready_count: 0,
    first_segments: 0,
    in_use: [null_mut(); BUCKETS],
    detached: null_mut(),
    last_detached: null_mut(),
    spare: null_mut(),
});

/// Stacks that exist. Written under the lock; read without it, to see that there is nothing to do; relaxed, since a thread that
/// joins another one knows of its stack by the way on which it learnt of the thread.
static EXIST: AtomicUsize = AtomicUsize::new(0);

/// Bytes from the C library's description of a thread to its number, which the kernel clears; 0: not known. Written by threads
/// as they begin, all the same value; relaxed.
static NUMBER_AT: AtomicU32 = AtomicU32::new(0);

/// The C library puts its description of a thread into the last page of the thread's stack.
fn bucket(description: usize) -> usize {
    (description / PAGE) & (BUCKETS - 1)
}

/// The address of the C library's description of the calling thread.
pub fn description() -> usize {
    let pointer: usize;
    // SAFETY: the word at the thread pointer is its own address.
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(readonly, nostack, preserves_flags))
    };
    pointer
}

/// A stack of that size for a thread that is about to be made; null if there is none.
pub fn take(size: usize, is_detached: bool) -> *mut Segmented {
    // Nobody could see when a detached thread has ended.
    if is_detached && EXIST.load(Ordering::Relaxed) != 0 && NUMBER_AT.load(Ordering::Relaxed) == 0 {
        return null_mut();
    }
    let mut lists = LISTS.lock();
    lists.collect();
    let mut stack = lists.take_ready(size);
    // SAFETY: a stack that was taken out of the list, or a new one, is this thread's.
    unsafe {
        if stack.is_null() {
            if sandbox::is_closed() {
                return stack;
            }
            let spare = lists.spare;
            if let Some(spare) = spare.as_ref() {
                lists.spare = spare.next;
            }
            drop(lists);
            stack = Segmented::reserve(size, spare);
            if stack.is_null() {
                return stack;
            }
            EXIST.fetch_add(1, Ordering::Relaxed);
            ledger::add(Key::AnyHeapSegmentsAllocated, 1);
            coverage::stack((*stack).low, (*stack).top);
            lists = LISTS.lock();
        } else if (*stack).is_forgotten() {
            (*stack).free_increments(size::segments());
        }
        (*stack).reached((*stack).top, size::segments());
        (*stack).is_detached = is_detached;
        (*stack).thread.store(0, Ordering::Relaxed);
        lists.put_in_use(stack);
    }
    lists.first_segments += size::segments().initial;
    ledger::add(Key::AnyHeapGets, 1);
    ledger::raise(Key::AnyHeapStacks, lists.first_segments as u64);
    stack
}

/// The thread for which a stack was taken could not be made.
pub fn not_made(stack: *mut Segmented) {
    let mut lists = LISTS.lock();
    // SAFETY: the caller took it, and no thread has it.
    unsafe {
        lists.remove((*stack).top - 1);
        lists.comes_back();
        lists.put_ready(stack);
    }
}

/// The calling thread begins on that stack. False if the C library has put its description elsewhere: then nobody would find the
/// stack again.
pub fn begins(stack: &Segmented) -> bool {
    let description = description();
    if NUMBER_AT.load(Ordering::Relaxed) == 0 {
        NUMBER_AT.store(find_number(description, stack.top), Ordering::Relaxed);
    }
    // After that the number is there, and stays until the thread has ended.
    stack.thread.store(description, Ordering::Release);
    description / PAGE == (stack.top - 1) / PAGE
}

/// Where the calling thread's number is in the C library's description of it: 0x2d0 in each version up to 2.42.
fn find_number(description: usize, top: usize) -> u32 {
    let me = syscall::gettid();
    let words = (description + 0x100..top.saturating_sub(4)).step_by(4);
    // SAFETY: the calling thread's description, which reaches up to the top of its stack.
    let mut words = words.filter(|&word| unsafe { (word as *const i32).read_volatile() } == me);
    words.next().map_or(0, |word| (word - description) as u32)
}

/// `pthread_join` of that thread has succeeded.
pub fn joined(thread: usize) {
    if EXIST.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut lists = LISTS.lock();
    let stack = lists.remove(thread);
    if stack.is_null() {
        return;
    }
    drop(lists);
    retire(stack);
}

/// `pthread_detach` of that thread has succeeded.
pub fn detached(thread: usize) {
    if EXIST.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut lists = LISTS.lock();
    let stack = lists.remove(thread);
    if !stack.is_null() {
        // SAFETY: out of its list, and in no other one.
        unsafe {
            (*stack).is_detached = true;
            lists.put_in_use(stack);
        }
    }
}

/// A stack whose thread has ended, out of all lists: it gives increments back, and waits for its next thread.
fn retire(stack: *mut Segmented) {
    let is_closed = sandbox::is_closed();
    // SAFETY: no list has it, and no thread runs on it: it is the caller's.
    unsafe {
        if size::frees_increments() && !is_closed {
            let freed = (*stack).free_increments(size::segments());
            ledger::add(Key::ThreadStackSegmentsFreed, u64::from(freed));
        }
        let mut lists = LISTS.lock();
        lists.comes_back();
        if lists.ready_count < MOST || is_closed {
            lists.put_ready(stack);
            return;
        }
        lists.release(stack);
    }
}

impl Lists {
    fn take_ready(&mut self, size: usize) -> *mut Segmented {
        let mut link = &raw mut self.ready;
        // SAFETY: stacks in a list exist, under the lock.
        unsafe {
            while let Some(stack) = (*link).as_mut() {
                if stack.is_of(size) {
                    *link = stack.next;
                    self.ready_count -= 1;
                    return stack;
                }
                link = &raw mut stack.next;
            }
        }
        null_mut()
    }

    /// A thread has given its stack up.
    fn comes_back(&mut self) {
        self.first_segments = self.first_segments.saturating_sub(size::segments().initial);
        ledger::add(Key::AnyHeapFrees, 1);
    }

    unsafe fn put_ready(&mut self, stack: *mut Segmented) {
        // SAFETY: the caller's stack, in no list.
        unsafe { (*stack).next = self.ready };
        self.ready = stack;
        self.ready_count += 1;
    }

    /// Gives the addresses back.
    unsafe fn release(&mut self, stack: *mut Segmented) {
        // SAFETY: the caller's stack, in no list, on which no thread runs.
        unsafe {
            (*stack).release();
            (*stack).next = self.spare;
        }
        self.spare = stack;
        EXIST.fetch_sub(1, Ordering::Relaxed);
        ledger::add(Key::AnyHeapSegmentsFreed, 1);
    }

    unsafe fn put_in_use(&mut self, stack: *mut Segmented) {
        // SAFETY: the caller's stack, in no list; stacks in a list exist, under the lock.
        unsafe {
            if (*stack).is_detached {
                (*stack).next = null_mut();
                match self.last_detached.as_mut() {
                    Some(last) => last.next = stack,
                    None => self.detached = stack,
                }
                self.last_detached = stack;
            } else {
                let first = &mut self.in_use[bucket((*stack).top - 1)];
                (*stack).next = *first;
                *first = stack;
            }
        }
    }

    /// Takes the stack that has this address in its last page out of those in use; null if there is none.
    fn remove(&mut self, description: usize) -> *mut Segmented {
        let mut link = &raw mut self.in_use[bucket(description)];
        // SAFETY: stacks in a list exist, under the lock.
        unsafe {
            while let Some(stack) = (*link).as_mut() {
                if (stack.top - 1) / PAGE == description / PAGE {
                    *link = stack.next;
                    return stack;
                }
                link = &raw mut stack.next;
            }
        }
        null_mut()
    }

    fn take_detached(&mut self) -> *mut Segmented {
        let oldest = self.detached;
        // SAFETY: as above.
        if let Some(stack) = unsafe { oldest.as_ref() } {
            self.detached = stack.next;
            if self.detached.is_null() {
                self.last_detached = null_mut();
            }
        }
        oldest
    }

    /// Makes stacks of detached threads that have ended ready.
    fn collect(&mut self) {
        let number_at = NUMBER_AT.load(Ordering::Relaxed) as usize;
        for _ in 0..ASKED {
            let oldest = self.take_detached();
            // SAFETY: taken out of its list, so it is this thread's; the description is on the stack, which stays.
            unsafe {
                let Some(stack) = oldest.as_ref() else { return };
                let description = stack.thread.load(Ordering::Acquire);
                // The kernel clears the number as the last thing that it does on this stack; what is done after this load may
                // overwrite the stack.
                let has_ended = description != 0
                    && number_at != 0
                    && (*((description + number_at) as *const AtomicI32)).load(Ordering::Acquire) == 0;
                if has_ended && size::frees_increments() && !sandbox::is_closed() {
                    let freed = stack.free_increments(size::segments());
                    ledger::add(Key::ThreadStackSegmentsFreed, u64::from(freed));
                }
                if has_ended {
                    self.comes_back();
                }
                match has_ended {
                    false => self.put_in_use(oldest),
                    true if self.ready_count < MOST || sandbox::is_closed() => self.put_ready(oldest),
                    true => self.release(oldest),
                }
            }
        }
    }
}

/// Looks at all stacks, those that wait and those whose threads have ended and are not joined, too. The most that a thread used.
pub fn look() -> usize {
    if EXIST.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    let Some(lists) = LISTS.try_lock() else { return 0 };
    let mut most = 0;
    for first in lists.in_use.into_iter().chain([lists.ready, lists.detached]) {
        let mut at = first;
        // SAFETY: stacks in a list exist, under the lock.
        while let Some(stack) = unsafe { at.as_ref() } {
            most = most.max(stack.look(size::segments()));
            at = stack.next;
        }
    }
    most
}

/// Before a fork.
pub fn before_fork() {
    LISTS.hold();
}

/// After a fork, in the parent.
///
/// # Safety
/// This thread called [`before_fork`].
pub unsafe fn after_fork() {
    // SAFETY: the caller's promise.
    unsafe { LISTS.release() }
}

/// After a fork, in the child, whose only thread runs at the address `here`.
///
/// # Safety
/// This thread called [`before_fork`] in the parent.
pub unsafe fn after_fork_in_child(here: usize) {
    // SAFETY: the caller's promise. If the fork interrupted this very thread in the middle of a change, the lists are left: the
    // stacks of other threads then stay as they are.
    let in_the_middle = unsafe {
        let held = LISTS.was_held();
        LISTS.release();
        held
    };
    if in_the_middle || EXIST.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut lists = LISTS.lock();
    let mut mine = null_mut();
    let mut free = |lists: &mut Lists, stack: *mut Segmented| {
        // SAFETY: out of its list. Other threads' stacks are nobody's in the child.
        unsafe {
            if ((*stack).low..(*stack).top).contains(&here) {
                mine = stack;
            } else {
                (*stack).forget();
                lists.put_ready(stack);
            }
        }
    };
    for at in 0..BUCKETS {
        while let stack = lists.in_use[at]
            && !stack.is_null()
        {
            // SAFETY: a stack in a list exists.
            lists.in_use[at] = unsafe { (*stack).next };
            free(&mut lists, stack);
        }
    }
    while let stack = lists.take_detached()
        && !stack.is_null()
    {
        free(&mut lists, stack);
    }
    lists.first_segments = 0;
    if !mine.is_null() {
        // SAFETY: out of its list.
        unsafe { lists.put_in_use(mine) };
        lists.first_segments = size::segments().initial;
    }
    // Those that waited in the parent: their segments count there.
    let mut waiting = lists.ready;
    // SAFETY: stacks in a list exist.
    while let Some(stack) = unsafe { waiting.as_ref() } {
        stack.forget();
        waiting = stack.next;
    }
}
