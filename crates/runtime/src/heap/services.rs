//! Callable services for storage: heaps that a program creates, uses and discards by number, as in Language Environment.
//!
//! ```text
//! create -> id -> get -> address -> resize -> address -> free       discard: all storage of the heap at once
//!            |                                 \ numbers: the heap around the address
//!            \ numbers: the heap of that id
//!
//! each request    enters the heap's gate ── takes the lock of its space ── checks ── changes ── leaves      discard: closes it
//! ```
//!
//! Each request is an element: headers tell whether an address is that of an element in use, which cells cannot. So a wrong
//! address, one of another kind of storage, or one that was given back already is an answer ([`feedback`](super::feedback)), and
//! never the end of the program. Id 0 is the default heap, in an enclave the enclave's: free and realloc take its elements, and [`free`] takes large ones of
//! malloc, but none of malloc's cells. An address that is wrong passes as right with a probability below one in a million.
//!
//! | fault | answer |
//! |---|---|
//! | an id that no heap has, or that of a discarded one | NO_HEAP |
//! | an address that no service got, of a discarded heap, inside an element, or given back already | NO_ELEMENT |
//! | an element that was written past its end, or a heap with such an element | DAMAGED |
//! | the heap is discarded while another thread gets from it | an element that then is gone, or NO_HEAP |
//!
//! Invariant: a thread that is in the middle of a request keeps the heap from ending. No service looks at memory, waits for a
//! signal or calls the program in between, so a discard waits no longer than one request.
//! Not here: arguments by reference (`callable`), and what a heap is (`object`).

use underbar_ledger::{FaultKind, Key};

use super::block::Block;
use super::enclave;
use super::feedback::{
    BAD_INCREMENT, BAD_INITIAL_SIZE, BAD_OPTIONS, BAD_SIZE, Condition, DAMAGED, HEADING_REPLACED,
    INITIAL_HEAP, NO_ELEMENT, NO_HEAP, NO_STORAGE, TOO_MANY_HEAPS,
};
use super::numbers::{self, Failed};
use super::object::{DEFAULT, Heap};
use super::registry::Handle;
use super::registry::REGISTRY;
use super::resizing::in_place;
use super::space::{Disposition, Element, Policy, Space};
use super::zone::{self, State};
use super::{OurSegments, count_element, pools, sampled, use_elements, whole};
use crate::{coverage, ledger, start};

type Answer<T> = Result<T, &'static Condition>;

/// Sizes of heaps are rounded up to this many bytes.
const ROUNDED: usize = 4096;

/// Bytes of a heading.
pub const HEADING: usize = 79;

/// Codes of [`create`]'s options: what becomes of an empty increment; None: as HEAP says. The location has no effect: storage is
/// anywhere. The book that is at hand confirms only that the codes are decimal, and a published program that 76 is a heap below the
/// line; so 0 is the one to use.
static OPTIONS: [(i32, Option<Disposition>); 9] = [
    (0, None),
    (1, Some(Disposition::Free)),
    (70, Some(Disposition::Keep)),
    // ANYWHERE
    (71, None),
    (72, Some(Disposition::Keep)),
    (73, Some(Disposition::Free)),
    // BELOW
    (74, None),
    (75, Some(Disposition::Keep)),
    (76, Some(Disposition::Free)),
];

/// Creates a heap, and returns its id. Sizes are in bytes, and rounded up to whole pages; 0: as HEAP says. Storage comes with the
/// first request.
pub fn create(initial: i32, increment: i32, options: i32) -> Answer<i32> {
    start::ensure();
    let of_default = DEFAULT.space.lock().policy();
    let bytes = |size: i32, default: usize, bad| match usize::try_from(size) {
        Ok(0) => Ok(default),
        Ok(size) => Ok(size.next_multiple_of(ROUNDED)),
        Err(_) => Err(bad),
    };
    let initial = bytes(initial, of_default.initial, &BAD_INITIAL_SIZE)?;
    let increment = bytes(increment, of_default.increment, &BAD_INCREMENT)?;
    let (_, disposition) = OPTIONS.iter().find(|(code, _)| *code == options).ok_or(&BAD_OPTIONS)?;
    let disposition = disposition.unwrap_or(of_default.disposition);
    let policy = Policy { initial, increment, disposition, ..of_default };
    numbers::create(policy, enclave::current()).map_err(|failed| match failed {
        Failed::Full => &TOO_MANY_HEAPS,
        Failed::NoMemory => &NO_STORAGE,
    })
}

/// Gets storage of `size` bytes, aligned to 16, from the heap with that id.
pub fn get(id: i32, size: i32) -> Answer<*mut u8> {
    start::ensure();
    ledger::control::obey_if_changed(whole::obey);
    let size = bytes_of(size)?;
    // The initial heap of a program that is LINKed is that of its enclave.
    let of_enclave = if id == 0 { enclave::current() } else { None };
    let handle = of_enclave.or_else(|| numbers::find(id)).ok_or(&NO_HEAP)?;
    let got = enter(handle).ok_or(&NO_HEAP).and_then(|inside| inside.get(size));
    coverage::look_if_due::<OurSegments>();
    got
}

/// Changes the size of an element, and returns its address, which may be another one. If that fails, the element stays as it is.
///
/// # Safety
/// If the address is that of an element in use, it is the caller's, and no thread uses it meanwhile.
pub unsafe fn resize(address: *mut u8, size: i32) -> Answer<*mut u8> {
    let size = bytes_of(size)?;
    let inside = enter_around(address)?;
    // SAFETY: the caller's promise.
    let resized = unsafe { inside.resize(address.addr(), size) };
    drop(inside);
    coverage::look_if_due::<OurSegments>();
    resized
}

/// Gives an element back.
///
/// # Safety
/// If the address is that of an element in use, no thread uses it any more.
pub unsafe fn free(address: *mut u8) -> Answer<()> {
    let inside = enter_around(address)?;
    // SAFETY: the caller's promise.
    let freed = unsafe { inside.free(address.addr()) };
    drop(inside);
    coverage::look_if_due::<OurSegments>();
    freed
}

/// Gives back all storage of a heap at once, and ends it, also if it is DAMAGED. Threads that get from it, or give back to it,
/// meanwhile are told that there is no such heap.
///
/// # Safety
/// No thread uses an element of the heap any more. This thread is not in the middle of a service, as in a signal handler.
pub unsafe fn discard(id: i32) -> Answer<()> {
    if id == 0 {
        return Err(&INITIAL_HEAP);
    }
    let was_damaged = numbers::discard(id);
    coverage::look_if_due::<OurSegments>();
    match was_damaged {
        Some(false) => Ok(()),
        Some(true) => Err(&DAMAGED),
        None => Err(&NO_HEAP),
    }
}

/// Sets the heading of the storage report: the first 79 bytes of a text, or all before its first zero byte, without blanks at the
/// end.
pub fn set_heading(text: &[u8]) -> Answer<()> {
    start::ensure();
    let text = &text[..text.len().min(HEADING)];
    let text = text.split(|byte| *byte == 0).next().unwrap_or(&[]).trim_ascii_end();
    // Two threads must not mix their headings; a fork waits for the end of this.
    let _registry = REGISTRY.lock();
    let heading = &ledger::slot().heading;
    let was_there = !heading.is_empty();
    heading.store(text);
    if was_there { Err(&HEADING_REPLACED) } else { Ok(()) }
}

fn bytes_of(size: i32) -> Answer<usize> {
    usize::try_from(size).ok().filter(|size| *size > 0).ok_or(&BAD_SIZE)
}

/// A heap that does not end as long as this exists.
struct Inside(&'static Heap);

impl Drop for Inside {
    fn drop(&mut self) {
        if !core::ptr::eq(self.0, &DEFAULT) {
            self.0.gate.leave();
        }
    }
}

/// Keeps a heap from ending; None if it has ended.
fn enter(handle: Handle) -> Option<Inside> {
    let heap = handle.heap;
    (core::ptr::eq(heap, &DEFAULT) || heap.gate.enter(handle.generation)).then(|| Inside(heap))
}

fn enter_around(address: *mut u8) -> Answer<Inside> {
    numbers::find_around(address.addr()).and_then(enter).ok_or(&NO_ELEMENT)
}

fn condition_of(kind: FaultKind) -> &'static Condition {
    match kind {
        FaultKind::Overflow => &DAMAGED,
        FaultKind::DoubleFree
        | FaultKind::InsideBlock
        | FaultKind::NoBlock
        | FaultKind::StackOverflow
        | FaultKind::Ended => &NO_ELEMENT,
    }
}

impl Inside {
    fn get(&self, size: usize) -> Answer<*mut u8> {
        let heap = self.0;
        let element = get_from(&mut heap.space.lock(), size);
        let element = element.inspect_err(|_| heap.add(Key::HeapFailedGets, 1))?;
        count_element(heap, &element, size);
        pools::count_if_each(heap, size);
        // SAFETY: the element is new, and nobody else's.
        unsafe { fill(heap.settings.fill_get(), element.address, 0) };
        Ok(element.address as *mut u8)
    }

    /// # Safety
    /// As [`resize`].
    unsafe fn resize(&self, address: usize, size: usize) -> Answer<*mut u8> {
        let heap = self.0;
        let mut space = heap.space.lock();
        check(&space, address)?;
        // SAFETY: the address is that of an element in use, which is the caller's.
        unsafe {
            forget_sample(heap, address);
            let old = zone::usable(address);
            // An element with a zone moves, so that its new end has one.
            let in_place = if zone::are_on() { None } else { in_place(&mut space, address, size) };
            if let Some(resized) = in_place {
                drop(space);
                resized.count(heap, size);
                fill(heap.settings.fill_get(), resized.address, old);
                return Ok(resized.address as *mut u8);
            }
            let element = get_from(&mut space, size);
            let element = element.inspect_err(|_| heap.add(Key::HeapFailedGets, 1))?;
            // Not `copy_nonoverlapping`, as in `realloc`.
            core::ptr::copy(address as *const u8, element.address as *mut u8, old.min(size));
            fill(heap.settings.fill_free(), address, 0);
            // It was sound a moment ago, and the lock is held.
            let freed = space.free(address).unwrap_or(0);
            drop(space);
            count_element(heap, &element, size);
            pools::count_if_each(heap, size);
            count_free(heap, freed);
            heap.add(Key::HeapMoved, 1);
            fill(heap.settings.fill_get(), element.address, old);
            Ok(element.address as *mut u8)
        }
    }

    /// # Safety
    /// As [`free`].
    unsafe fn free(&self, address: usize) -> Answer<()> {
        let heap = self.0;
        let mut space = heap.space.lock();
        check(&space, address)?;
        // SAFETY: the address is that of an element in use, which nobody uses any more.
        let freed = unsafe {
            forget_sample(heap, address);
            fill(heap.settings.fill_free(), address, 0);
            space.free(address).map_err(|fault| condition_of(fault.kind))?
        };
        drop(space);
        count_free(heap, freed);
        Ok(())
    }
}

/// A sample of malloc ends: storage of these services is not sampled.
///
/// # Safety
/// The address is that of an element in use, and the lock of the heap's space is held.
unsafe fn forget_sample(heap: &Heap, address: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let block = Block::of_element(address);
        if heap.settings.samples() && block.is_sampled() {
            sampled::ends(address);
            block.set_sampled(false);
        }
    }
}

/// Whether an address is that of an element in use with a sound end.
fn check(space: &Space, address: usize) -> Answer<()> {
    if let Some(wrong) = space.fault_at(address) {
        return Err(condition_of(wrong));
    }
    // SAFETY: it is one, and the lock is held.
    if zone::are_on() && matches!(unsafe { zone::state(address) }, State::Damaged(_)) {
        return Err(&DAMAGED);
    }
    Ok(())
}

fn get_from(space: &mut Space, size: usize) -> Answer<Element> {
    if space.would_find_damage(size) {
        return Err(&DAMAGED);
    }
    space.get_with_zone(size, 16, 0).ok_or(&NO_STORAGE)
}

fn count_free(heap: &Heap, freed: usize) {
    heap.add(Key::HeapFrees, 1);
    use_elements(heap, -(freed as i64));
}

/// Fills an element as STORAGE says, from an offset on.
///
/// # Safety
/// The element is in use, and nothing in it is needed from there on.
unsafe fn fill(byte: Option<u8>, address: usize, from: usize) {
    let Some(byte) = byte else { return };
    // SAFETY: the caller's promise; what is usable of an element is its owner's.
    unsafe {
        let usable = zone::usable(address);
        if usable > from {
            ((address + from) as *mut u8).write_bytes(byte, usable - from);
        }
    }
}

#[cfg(test)]
mod tests;
