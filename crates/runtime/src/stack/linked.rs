//! The stacks of programs that are LINKed, where STACK gives a size.
//!
//! ```text
//! LINK ── begins ──> in use: the program's main runs on it ── ends ──> ready: the next LINK gets it; at most MOST
//! ```
//!
//! Invariant: a stack is in one list; one that is ready is nobody's.
//! Not here: the change to the stack and back (the loader), what is counted of it (`segmented`).

use core::ptr::null_mut;

use underbar_ledger::Key;
use underbar_sys::lock::Lock;

use super::PAGE;
use super::segmented::{Segmented, Segments};
use super::size::sizes;
use crate::{ledger, overflow, sandbox};

/// The most that wait.
const MOST: usize = 16;

struct Lists {
    ready: *mut Segmented,
    ready_count: usize,
    in_use: *mut Segmented,
    spare: *mut Segmented,
}

// SAFETY: stacks in the lists are used under the lock only.
unsafe impl Send for Lists {}

static LISTS: Lock<Lists> =
    Lock::new(Lists { ready: null_mut(), ready_count: 0, in_use: null_mut(), spare: null_mut() });

/// The segments of such stacks; None where STACK gives no size: then a LINKed program runs on its caller's stack.
fn segments() -> Option<Segments> {
    let sizes = sizes();
    if sizes.initial == 0 && sizes.increment == 0 {
        return None;
    }
    let initial = if sizes.initial == 0 { sizes.increment } else { sizes.initial };
    let [initial, increment] = [initial, sizes.increment].map(|size| size.next_multiple_of(PAGE));
    Some(Segments { initial, increment, counted_as: Key::StackSegmentsAllocated })
}

/// Bytes of addresses: as many as the first thread's stack may have.
fn reserved(initial: usize) -> usize {
    const DEFAULT: usize = 8 << 20;
    const MOST: usize = 1 << 30;
    let limit = overflow::stack_limit().unwrap_or(DEFAULT).clamp(DEFAULT / 8, MOST);
    limit.max(initial).next_multiple_of(PAGE)
}

/// A stack for a program that is about to be LINKed: its lowest address and its end; 0 and 0 where there is none.
pub fn begins() -> (usize, usize) {
    let Some(segments) = segments() else { return (0, 0) };
    let mut lists = LISTS.lock();
    // SAFETY: stacks in a list exist, under the lock; one that was taken out is this thread's.
    unsafe {
        let mut stack = take(&mut lists.ready);
        if stack.is_null() {
            let spare = take(&mut lists.spare);
            drop(lists);
            if sandbox::is_closed() {
                return (0, 0);
            }
            stack = Segmented::reserve(reserved(segments.initial), spare);
            if stack.is_null() {
                return (0, 0);
            }
            lists = LISTS.lock();
        } else {
            lists.ready_count -= 1;
        }
        (*stack).begins((*stack).top);
        (*stack).reached((*stack).top, segments);
        (*stack).next = lists.in_use;
        lists.in_use = stack;
        drop(lists);
        overflow::program_begins((*stack).top, (*stack).low, (*stack).top);
        ((*stack).low, (*stack).top)
    }
}

/// The program has ended, and nothing runs on the stack with that end.
pub fn ends(top: usize) {
    let mut lists = LISTS.lock();
    let stack = remove(&mut lists.in_use, top);
    drop(lists);
    let Some(segments) = segments() else { return };
    // SAFETY: taken out of its list, so it is this thread's.
    unsafe {
        let Some(it) = stack.as_ref() else { return };
        overflow::program_ends(it.top);
        let is_closed = sandbox::is_closed();
        if !is_closed {
            let frees = sizes().frees != 0;
            if frees || it.is_worth_a_look(false) {
                it.look(segments);
            }
            if frees {
                ledger::add(Key::StackSegmentsFreed, u64::from(it.free_increments(segments)));
            }
        }
        let mut lists = LISTS.lock();
        if lists.ready_count < MOST || is_closed {
            (*stack).next = lists.ready;
            lists.ready = stack;
            lists.ready_count += 1;
        } else {
            it.release();
            (*stack).next = lists.spare;
            lists.spare = stack;
        }
    }
}

/// Looks at all stacks, to count segments.
pub fn look() {
    let Some(segments) = segments() else { return };
    let Some(lists) = LISTS.try_lock() else { return };
    for first in [lists.ready, lists.in_use] {
        let mut at = first;
        // SAFETY: stacks in a list exist, under the lock.
        while let Some(stack) = unsafe { at.as_ref() } {
            stack.look(segments);
            at = stack.next;
        }
    }
}

/// The ends of the stack in use that has this address.
pub fn around(address: usize) -> Option<(usize, usize)> {
    let lists = LISTS.lock();
    let mut at = lists.in_use;
    // SAFETY: stacks in a list exist, under the lock.
    while let Some(stack) = unsafe { at.as_ref() } {
        if (stack.low..stack.top).contains(&address) {
            return Some((stack.low, stack.top));
        }
        at = stack.next;
    }
    None
}

fn take(list: &mut *mut Segmented) -> *mut Segmented {
    let first = *list;
    // SAFETY: stacks in a list exist, under the lock that the caller has.
    if let Some(stack) = unsafe { first.as_ref() } {
        *list = stack.next;
    }
    first
}

fn remove(list: &mut *mut Segmented, top: usize) -> *mut Segmented {
    let mut link = core::ptr::from_mut(list);
    // SAFETY: as above.
    unsafe {
        while let Some(stack) = (*link).as_mut() {
            if stack.top == top {
                *link = stack.next;
                return stack;
            }
            link = &raw mut stack.next;
        }
    }
    null_mut()
}

/// Before a fork. In the child, the programs of other threads are not ended: their stacks stay in use.
pub fn before_fork() {
    LISTS.hold();
}

/// After a fork, in parent and child.
///
/// # Safety
/// This thread called [`before_fork`], or is the copy of the one that did.
pub unsafe fn after_fork() {
    // SAFETY: the caller's promise.
    unsafe { LISTS.release() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_size_there_is_none() {
        assert_eq!((begins(), around(here())), ((0, 0), None));
    }

    fn here() -> usize {
        let place = 0_u8;
        (&raw const place) as usize
    }
}
