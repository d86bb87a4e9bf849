//! How much of a stack was used, to the page: the pages in memory, as the kernel reports them.
//!
//! A page of stack becomes resident when it is first touched and stays so. So the lowest resident page shows how deep a
//! thread ever went (a frame of more than half a MiB that is not touched hides the pages below it).
//!
//! Invariant: nothing is written to a stack, and the part of one that is given back is below the code that runs on it.
//! Not here: which stacks are measured, when, and the use of the results (the parent module).

use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall;

use super::PAGE;
use crate::{ledger, resident, sandbox};

/// Start of the first thread's stack, before `main`. Written once, by the constructor; relaxed.
pub(super) static MAIN_BASE: AtomicUsize = AtomicUsize::new(0);

/// Gives back the pages that the last thread on a recycled stack left just below: the C library gives back the rest.
pub(super) fn forget_last_user(low: usize, base: usize) {
    // Two pages for the code that runs now.
    let top = (base & !(PAGE - 1)).saturating_sub(2 * PAGE);
    let mut states = [0_u8; 16];
    if sandbox::is_closed() {
        return;
    }
    let looked_at = top.saturating_sub(states.len() * PAGE);
    let mut is_used = || {
        resident::is_filtered()
            || (resident::states(looked_at, &mut states).is_ok() && states.iter().any(|state| state & 1 != 0))
    };
    if looked_at >= low && is_used() {
        // SAFETY: below the stack pointer and its red zone, on a stack that the C library made, nothing lives.
        let _ = unsafe { syscall::madvise(low as *mut u8, top - low, syscall::MADV_DONTNEED) };
    }
}

/// The lowest page in memory, as the thread begins, of a stack that the program brought. 0 if that is no lower than the
/// code that runs now: the stack is fresh.
pub(super) fn used_before(low: usize, base: usize) -> usize {
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

/// Bytes used of a stack that begins at `base` and may go down to `low`. Searches downwards, a MiB at a time, until half of
/// one was not used. If a thread jumped over that much of its stack, the count may end there.
pub(super) fn used(low: usize, base: usize) -> usize {
    let mut states = [0_u8; 256];
    let mut lowest = base;
    let mut end = base.next_multiple_of(PAGE);
    while end > low {
        let start = end.saturating_sub(states.len() * PAGE).max(low & !(PAGE - 1));
        let states = &mut states[..(end - start) / PAGE];
        if resident::states(start, states).is_err() {
            return base - lowest;
        }
        match states.iter().position(|state| state & 1 != 0) {
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

/// The same, for a stack whose residency tells nothing because it reaches the very end: under `mlockall` all of a stack is
/// resident from the start, and zero until it is used. A stack that was used to its end has data there.
pub(super) fn used_of_locked(low: usize, base: usize) -> usize {
    let bytes = used(low, base);
    if base - bytes > low + PAGE {
        return bytes;
    }
    let mut words = (low.next_multiple_of(8)..base).step_by(8);
    // SAFETY: a stack that is mapped, between its ends, word by word; the thread that runs on it may write meanwhile, so it
    // is read as memory that changes.
    let written = words.find(|word| unsafe { (*word as *const u64).read_volatile() } != 0);
    base - written.map_or(base, |word| word & !(PAGE - 1)).min(base)
}

/// Bytes used of the first thread's stack.
pub(super) fn used_by_main() -> usize {
    let base = MAIN_BASE.load(Ordering::Relaxed);
    lowest_resident(base).map_or(0, |lowest| base - lowest)
}

/// The lowest resident page of the first thread's stack. Its mapping grows downwards; steps that double, and bisection, find its end.
pub(super) fn lowest_resident(base: usize) -> Option<usize> {
    const LARGEST: usize = 64 << 20;
    let is_mapped = |page: usize| resident::is_mapped(page) == Some(true);
    let top = base & !(PAGE - 1);
    if base == 0 || !is_mapped(top) {
        return None;
    }
    let mapped = mapped_pages(LARGEST / PAGE, |page| is_mapped(top - page * PAGE));
    /// Pages that the kernel maps for it before it grows, page by page as it is used.
    const AT_FIRST: usize = 40;
    let measure = if mapped <= AT_FIRST { used_of_locked } else { used };
    let bytes = measure(top - mapped * PAGE, base);
    (bytes > 0).then(|| base - bytes)
}

/// How many pages below the first one are mapped, of which at most `most` are looked at. The kernel keeps other mappings away from a
/// stack by much more than a page, so the mapped part is one run of pages.
fn mapped_pages(most: usize, is_mapped: impl Fn(usize) -> bool) -> usize {
    // Most programs have no more than the kernel mapped at the start, 33 pages less the few that are above the base. So its end is
    // first looked for page by page.
    const FIRST: usize = 32;
    const FEW: usize = 4;
    let (mut unmapped, mut mapped) = (FIRST, 0);
    while unmapped < most && is_mapped(unmapped) {
        mapped = unmapped;
        unmapped *= 2;
    }
    while unmapped - mapped > 1 {
        let is_near = mapped == 0 && FIRST - unmapped < FEW;
        let middle = if is_near { unmapped - 1 } else { usize::midpoint(unmapped, mapped) };
        if is_mapped(middle) { mapped = middle } else { unmapped = middle }
    }
    mapped
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_end_of_the_mapping_is_found_with_few_questions() {
        for end in (0..200).chain([4_095, 4_096, 16_383]) {
            let asked = Cell::new(0);
            let found = mapped_pages(16_384, |page| {
                asked.set(asked.get() + 1);
                page <= end
            });
            assert_eq!(found, end);
            if matches!(end, 29..=31) {
                assert!(asked.get() <= 4, "{end}: {}", asked.get());
            }
            assert!(asked.get() <= 24, "{end}: {}", asked.get());
        }
    }

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
}
