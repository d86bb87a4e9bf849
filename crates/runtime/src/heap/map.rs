//! The page map: from an address to the heap's descriptor of its page.
//!
//! ```text
//! address bits  46........30 29..............12 11....0
//!               root index   leaf index         within the page
//!               ROOT[..] ->  leaf[..] ->        descriptor, or null: foreign
//! ```
//!
//! Invariant: the entry of a page is null unless the page is in a live segment; then it is the extent whose cells the page holds,
//! or else the segment. So a foreign pointer is recognised, not dereferenced. Inside a very large element pages have no entry
//! (`space::hollow`).
//! Cost: two loads and a test. A leaf covers 1 GiB and costs 2 MiB of address space, of which only the
//! pages in use become resident (8 bytes for each 4 KiB of heap).
//! Not here: the content of a descriptor (`extent`, `segment`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use underbar_sys::machine::{Resource, limit};
use underbar_sys::syscall;

use super::private_storage::Own;
use crate::sandbox;

/// Bytes of a page of the map.
pub const PAGE: usize = 4096;
const LEAF_BITS: usize = 30;
const LEAF_ENTRIES: usize = 1 << (LEAF_BITS - 12);
const ROOT_ENTRIES: usize = 1 << (47 - LEAF_BITS);

/// The first fields of an extent and of a segment.
#[repr(C)]
pub struct Descriptor {
    /// Who may free cells of this page without further checks: the address of a thread's heap. Any other value means: take the
    /// slow path. Written under the space's lock or by the owner; read by any thread that holds a pointer into the page, relaxed,
    /// because it got that pointer after the page was set up.
    pub owner: AtomicUsize,
}

/// `owner` of a segment: odd, so never the address of a heap.
pub const SEGMENT: usize = 1;

/// `owner` of an area of an ECB: odd, like the one before.
pub const AREA: usize = 5;

/// Addresses from here on are not the program's.
pub const END: usize = ROOT_ENTRIES << LEAF_BITS;

struct Leaf([AtomicPtr<Descriptor>; LEAF_ENTRIES]);

/// Entries are set once, under the lock of `private_storage` (Release), and read by any thread (Acquire is not needed: a leaf is
/// zeroed memory from the kernel, and a pointer into it reaches another thread by other means).
static ROOT: [AtomicPtr<Leaf>; ROOT_ENTRIES] = [const { AtomicPtr::new(null_mut()) }; ROOT_ENTRIES];

/// The descriptor of an address's page; null if the page is foreign.
#[inline(always)]
pub fn lookup(address: usize) -> *mut Descriptor {
    let leaf = ROOT[(address >> LEAF_BITS) & (ROOT_ENTRIES - 1)].load(Ordering::Relaxed);
    if leaf.is_null() {
        return null_mut();
    }
    // SAFETY: a leaf, once set, stays mapped for ever.
    unsafe { &*leaf }.0[(address >> 12) & (LEAF_ENTRIES - 1)].load(Ordering::Relaxed)
}

/// The first page of this heap in a range that begins with a page, or the range's end. Skips whole leaves in regions that were
/// never used.
pub fn next_ours(start: usize, end: usize) -> usize {
    let (mut page, last) = (start / PAGE, end.div_ceil(PAGE));
    while page < last {
        let leaf = ROOT[(page / LEAF_ENTRIES) & (ROOT_ENTRIES - 1)].load(Ordering::Relaxed);
        let first = page % LEAF_ENTRIES;
        let count = (last - page).min(LEAF_ENTRIES - first);
        // SAFETY: a leaf, once set, stays mapped for ever.
        let entries = unsafe { leaf.as_ref() }.map_or(&[][..], |leaf| &leaf.0[first..first + count]);
        if let Some(ours) = first_entered(entries) {
            return (page + ours) * PAGE;
        }
        page += count;
    }
    end
}

/// The first page that has an entry. Checks eight pages at a time, since most have none.
fn first_entered(entries: &[AtomicPtr<Descriptor>]) -> Option<usize> {
    let at = |entry: &AtomicPtr<Descriptor>| entry.load(Ordering::Relaxed).addr();
    let (eights, _) = entries.as_chunks::<8>();
    let empty = eights.iter().take_while(|eight| eight.iter().fold(0, |any, entry| any | at(entry)) == 0);
    let from = empty.count() * 8;
    entries[from..].iter().position(|entry| at(entry) != 0).map(|more| from + more)
}

/// Makes sure that all addresses of a range can be entered. False if the kernel has no memory. Called under the lock of
/// `private_storage`, which counts what this takes.
pub fn prepare(start: usize, bytes: usize, own: &mut Own) -> bool {
    for entry in &ROOT[start >> LEAF_BITS..=((start + bytes - 1) >> LEAF_BITS)] {
        if entry.load(Ordering::Relaxed).is_null() {
            let Ok(leaf) = syscall::map_anonymous(size_of::<Leaf>()) else { return false };
            own.count_map(1, size_of::<Leaf>());
            entry.store(leaf.cast(), Ordering::Release);
        }
    }
    KNOWN[start >> LEAF_BITS & (KNOWN.len() - 1)].store(start, Ordering::Relaxed);
    true
}

/// Addresses of some of the last ranges that were prepared, in different leaves. Relaxed: hints.
static KNOWN: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

/// Maps memory at addresses that can be entered already: for a kernel that has room for it but not for another leaf.
pub fn map_known(bytes: usize) -> Option<usize> {
    let stack = stack_range();
    let known = KNOWN.iter().map(|known| known.load(Ordering::Relaxed)).filter(|&known| known != 0);
    for place in known.flat_map(|known| places(known, bytes, stack)).take(MOST_PLACES) {
        match syscall::map_anonymous_at(place, bytes) {
            Ok(mapped) if mapped as usize == place => {
                KNOWN[place >> LEAF_BITS & (KNOWN.len() - 1)].store(place, Ordering::Relaxed);
                return Some(place);
            }
            // SAFETY: no other code knows of the mapping yet.
            Ok(mapped) => drop(unsafe { syscall::munmap(mapped, bytes) }),
            Err(_) => {}
        }
    }
    None
}

/// The maximum number of system calls: a program that is out of address space asks again and again.
const MOST_PLACES: usize = 32;

/// Candidate places for `bytes` in the leaf of a known address: below it, as the kernel places mappings, then anywhere from the
/// top of the leaf, but not in the stack.
fn places(known: usize, bytes: usize, stack: (usize, usize)) -> impl Iterator<Item = usize> {
    const LEAF: usize = 1 << LEAF_BITS;
    const BELOW: usize = 6;
    const STEPS: usize = 16;
    let start = known / LEAF * LEAF;
    let below = (1..=BELOW).map_while(move |count| known.checked_sub(bytes.checked_mul(count)?));
    let anywhere = (0..STEPS).rev().map(move |step| start + LEAF / STEPS * step);
    below.chain(anywhere).filter(move |&place| {
        let ends = place.checked_add(bytes).filter(|&end| place >= start && end <= start + LEAF);
        ends.is_some_and(|end| end <= stack.0 || place >= stack.1)
    })
}

/// The addresses that the main thread's stack may grow into, with the gap that the kernel leaves below it.
fn stack_range() -> (usize, usize) {
    /// The kernel leaves 256 pages free below a stack, and moves its top by as much as 16 GiB when the program starts.
    const GUARD: usize = 1 << 20;
    /// Even a stack without a limit does not get all of the address space.
    const LARGEST: usize = 1 << 44;
    // The kernel puts the program's name at the very top of the stack.
    let top = crate::ledger::program::path_of_start().addr();
    if top == 0 {
        return (0, 0);
    }
    let limit = if sandbox::is_closed() { None } else { limit(Resource::Stack).ok().flatten() };
    let limit = limit.map_or(LARGEST, |bytes| LARGEST.min(bytes as usize));
    (top.saturating_sub(limit.saturating_add(GUARD)), top.next_multiple_of(PAGE))
}

/// Enters a descriptor (or null) for every page that begins in `[start, start + bytes)`. `start` is the
/// beginning of a page. What was not prepared, since there was no memory for it, is left out. Called under the space's lock.
pub fn enter(start: usize, bytes: usize, descriptor: *mut Descriptor) {
    let (mut page, end) = (start / PAGE, (start + bytes).div_ceil(PAGE));
    while page < end {
        // SAFETY: a leaf, once made, stays for ever.
        let leaf = unsafe { ROOT[page / LEAF_ENTRIES].load(Ordering::Relaxed).as_ref() };
        let first = page % LEAF_ENTRIES;
        let count = (end - page).min(LEAF_ENTRIES - first);
        for entry in leaf.map_or(&[][..], |leaf| &leaf.0[first..first + count]) {
            entry.store(descriptor, Ordering::Relaxed);
        }
        page += count;
    }
}

#[cfg(test)]
mod tests {
    use super::super::private_storage::OWN;
    use super::*;

    #[test]
    fn what_is_not_entered_is_not_ours() {
        assert!(lookup(0).is_null());
        assert!(lookup(usize::MAX & !0xfff).is_null());
        assert!(lookup(&raw const ROOT as usize).is_null());
    }

    #[test]
    fn places_of_known_leaves_are_few_and_not_in_the_stack() {
        const LEAF: usize = 1 << LEAF_BITS;
        let stack = (7 * LEAF + LEAF / 2, 8 * LEAF - LEAF / 8);
        for known in [7 * LEAF, 7 * LEAF + LEAF / 4, 7 * LEAF + LEAF / 2, 8 * LEAF - PAGE] {
            for bytes in [PAGE, 1 << 20, LEAF / 4, LEAF, 2 * LEAF, 1 << 47] {
                let all: std::vec::Vec<_> = places(known, bytes, stack).collect();
                assert!(all.len() < MOST_PLACES && (bytes > 1 << 20 || all.len() >= 4), "{}", all.len());
                for place in all {
                    assert!(place.is_multiple_of(PAGE) && place / LEAF == 7, "{place:#x}");
                    assert_eq!((place + bytes - 1) / LEAF, 7);
                    assert!(place + bytes <= stack.0 || place >= stack.1, "in the stack");
                }
            }
        }
        let first = places(7 * LEAF + LEAF / 4, 1 << 20, stack).next();
        assert_eq!(first, Some(7 * LEAF + LEAF / 4 - (1 << 20)), "downwards");
        let here = &raw const stack as usize;
        let (low, top) = stack_range();
        let is_main = std::thread::current().name() == Some("main");
        assert!(top > low && (!is_main || (low..top).contains(&here)));
    }

    #[test]
    fn a_range_across_two_leaves_is_entered_page_by_page() {
        let start = (5 << LEAF_BITS) - 2 * PAGE;
        let descriptor = 64 as *mut Descriptor;
        assert!(prepare(start, 4 * PAGE, &mut OWN.lock()));
        enter(start, 4 * PAGE, descriptor);
        for page in 0..4 {
            assert_eq!(lookup(start + page * PAGE + 17), descriptor);
        }
        assert!(lookup(start - 1).is_null() && lookup(start + 4 * PAGE).is_null());
        assert_eq!(next_ours(start - (3 << LEAF_BITS), start + PAGE), start);
        assert_eq!(next_ours(start + 4 * PAGE, start + (9 << LEAF_BITS)), start + (9 << LEAF_BITS));
        enter(start, 4 * PAGE, null_mut());
        assert!(lookup(start).is_null());
    }
}
