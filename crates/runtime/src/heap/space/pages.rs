//! Pages of large elements: exchange for zero ones, and residency.
//!
//! Only under AUTO: under KEEP or FREE, segments alone decide what goes back.
//! Invariant: only whole pages inside an element whose content is not needed are touched.

use underbar_ledger::Key;
use underbar_sys::syscall;

use super::super::map::PAGE;
use super::super::object::Heap;
use super::Disposition;
use crate::{resident, sandbox};

/// From this size on, storage is made zero by exchanging its pages.
pub const WORTH_A_PURGE: usize = 1 << 20;

/// Makes large storage zero by exchanging its pages for fresh ones: as cheap as writing all of it if all of it is used afterwards,
/// and much cheaper if not. False, with nothing done, if pages must be kept, or the program has
/// locked itself in: other heaps clear storage without a system call.
///
/// # Safety
/// The range is an element of that heap, or part of one, that belongs to the caller and holds nothing of value.
pub unsafe fn clear_pages(heap: &Heap, start: usize, bytes: usize) -> bool {
    if heap.space.lock().policy.disposition != Disposition::Auto || sandbox::is_closed() {
        return false;
    }
    let (first, last) = (start.next_multiple_of(PAGE), (start + bytes) & !(PAGE - 1));
    // SAFETY: the caller's promise.
    unsafe {
        if syscall::madvise(first as *mut u8, last - first, syscall::MADV_DONTNEED).is_err() {
            return false;
        }
        (start as *mut u8).write_bytes(0, first - start);
        (last as *mut u8).write_bytes(0, start + bytes - last);
    }
    heap.add(Key::HeapPurges, 1);
    heap.add(Key::HeapPurgedBytes, (last - first) as u64);
    true
}

/// How many of the sampled pages are resident, and how many were sampled: sixteen samples, evenly spread, of 64 pages each. None
/// if a page is not mapped. The range begins and ends with a page.
pub(super) fn resident_share(start: usize, end: usize) -> Option<(usize, usize)> {
    let mut states = [0_u8; 64];
    let (mut found, mut seen) = (0, 0);
    let step = ((end - start) / 16).max(64 * PAGE) & !(PAGE - 1);
    for at in (start..end.saturating_sub(64 * PAGE)).step_by(step) {
        resident::states(at, &mut states).ok()?;
        seen += states.len();
        found += states.iter().filter(|&&state| state & 1 != 0).count();
    }
    Some((found, seen))
}
