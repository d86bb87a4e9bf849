//! Pages of large elements: given back where they are not worth keeping, exchanged for zero ones.
//!
//! Only under AUTO: where KEEP or FREE was said, segments alone decide what goes back.
//! Invariant: only whole pages inside an element that holds nothing of worth are touched.

use underbar_ledger::Key;
use underbar_sys::syscall;

use super::super::map::PAGE;
use super::{Disposition, SPACE};
use crate::{ledger, sandbox};

/// From this size on a freed element is looked at: are its pages worth keeping?
pub const WORTH_A_PURGE: usize = 1 << 20;

/// Makes much storage zero by exchanging its pages for fresh ones: as cheap as writing all of it where all of it is
/// used then, and much cheaper where it is not. False, with nothing done, where pages are to be kept.
///
/// # Safety
/// The range is an element, or part of one, that belongs to the caller and holds nothing of worth.
pub unsafe fn clear_pages(start: usize, bytes: usize) -> bool {
    if SPACE.lock().policy.disposition != Disposition::Auto {
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
    ledger::add(Key::HeapPurges, 1);
    ledger::add(Key::HeapPurgedBytes, (last - first) as u64);
    true
}

/// Gives the pages of a large freed element back, if most of them were never touched: then the next user loses
/// little by touching them anew, and the memory is not held for what few were. Where most were touched, they are
/// kept for a while.
pub(super) fn purge_if_sparse(start: usize, end: usize) {
    if sandbox::is_closed() {
        return;
    }
    let (start, end) = (start.next_multiple_of(PAGE), end & !(PAGE - 1));
    if resident_share(start, end).is_none_or(|(found, seen)| found * 4 > seen) {
        return;
    }
    // SAFETY: whole pages of an element that was just freed; nobody relies on what is in them.
    if unsafe { syscall::madvise(start as *mut u8, end - start, syscall::MADV_DONTNEED) }.is_ok() {
        ledger::add(Key::HeapPurges, 1);
        ledger::add(Key::HeapPurgedBytes, (end - start) as u64);
    }
}

/// How many of the pages looked at are resident, and how many were looked at: sixteen looks, evenly spread, of 64 pages
/// each. None where a page is not mapped. The range begins and ends with a page.
pub(super) fn resident_share(start: usize, end: usize) -> Option<(usize, usize)> {
    let mut resident = [0_u8; 64];
    let (mut found, mut seen) = (0, 0);
    let step = ((end - start) / 16).max(64 * PAGE) & !(PAGE - 1);
    for at in (start..end.saturating_sub(64 * PAGE)).step_by(step) {
        syscall::mincore(at, &mut resident).ok()?;
        seen += resident.len();
        found += resident.iter().filter(|&&state| state & 1 != 0).count();
    }
    Some((found, seen))
}
