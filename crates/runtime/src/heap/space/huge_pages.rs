//! HUGEPAGES(AUTO): huge pages where they are faster.
//!
//! ```text
//! segment before: nearly every page touched?  no --> small pages for this one
//!                        | yes
//! as it fills, huge page by huge page:        ask, touch, take the time --> next
//!                                                    | dear
//!                                                    small pages for the rest, and for the next segments
//! ```
//!
//! A huge page costs one fault in place of 512, but it is resident whole. So the heap asks for one only if the program was seen to
//! touch everything, and only for the 2 MiB that are filled next. Clearing 2 MiB is fast only if the memory is available at once.
//! On a virtual machine whose host must first find it, one fault took longer than ten thousand small ones, next to others that
//! took a twentieth of the time of 512. No setting tells which case applies at the moment. So each huge page is timed, and the
//! first dear one is the last.
//!
//! Invariant: the bytes touched here are zeros behind everything ever written.
//! Not here: HUGEPAGES(ON), which asks for whole segments (`supply`).

use underbar_ledger::Key;
use underbar_sys::syscall;

use super::super::map::PAGE;
use super::pages::resident_share;
use super::segment::Segment;
use super::supply::HUGE_PAGE;
use super::{Disposition, HugePages, Space};
use crate::sandbox;

/// A segment is a quarter of what the heap had before it: of one as large as this, a huge page is a twentieth of the heap, and the last one
/// asked for may be empty.
const LEAST_SEGMENT: usize = 5 * HUGE_PAGE;
/// Small pages whose faults are timed.
const SAMPLE: usize = 32;
/// After a dear huge page, this many segments ask for none.
const PAUSE: u32 = 2;

/// Findings about the machine and the previous segment.
pub struct Findings {
    /// The newest shared segment: start and bytes.
    last: (usize, usize),
    pause: u32,
    /// Nanoseconds that a huge page may take: as long as the small ones that it replaces.
    dear: u64,
}

impl Findings {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self { last: (0, 0), pause: 0, dear: 0 }
    }
}

impl Space {
    /// The address from which a new segment, shared by many requests, asks for huge pages; `usize::MAX`: nowhere.
    pub(super) fn huge_from(&mut self, start: usize, size: usize) -> usize {
        const NOWHERE: usize = usize::MAX;
        let (before, before_size) = core::mem::replace(&mut self.findings.last, (start, size));
        if self.policy.huge_pages != HugePages::Auto
            || self.policy.disposition != Disposition::Auto
            || size < LEAST_SEGMENT
            || before == 0
            || sandbox::is_closed()
        {
            return NOWHERE;
        }
        if self.findings.pause > 0 {
            self.findings.pause -= 1;
            return NOWHERE;
        }
        // Seven eighths: the part that was carved last may not be in use yet.
        if resident_share(before, before + before_size).is_none_or(|(found, seen)| found * 8 < seen * 7) {
            return NOWHERE;
        }
        self.findings.dear = time_of_small_pages() / SAMPLE as u64 * (HUGE_PAGE / PAGE) as u64;
        start.next_multiple_of(HUGE_PAGE)
    }

    /// The segment is about to be used up to an address: asks for the huge page that begins before it.
    #[cold]
    pub(super) fn ask_for_huge(&mut self, segment: &mut Segment, up_to: usize) {
        let at = segment.huge_at;
        segment.huge_at += HUGE_PAGE;
        // The program may have locked itself in since the segment was made.
        if at + HUGE_PAGE > segment.start + segment.size || sandbox::is_closed() {
            segment.huge_at = usize::MAX;
            return;
        }
        if up_to > at + HUGE_PAGE {
            // One request takes more than that; it may never touch this storage.
            segment.huge_at = up_to.next_multiple_of(HUGE_PAGE);
            return;
        }
        // SAFETY: inside the segment, behind everything written; the advice drops nothing.
        unsafe {
            if syscall::madvise(at as *mut u8, HUGE_PAGE, syscall::MADV_HUGEPAGE).is_err() {
                segment.huge_at = usize::MAX;
                return;
            }
            if time_of(|| (at as *mut u8).write_volatile(0)) > self.findings.dear {
                segment.huge_at = usize::MAX;
                self.findings.pause = PAUSE;
            }
        }
        self.owner().add(Key::HeapHugeBytes, HUGE_PAGE as u64);
    }
}

/// Nanoseconds for the first touch of [`SAMPLE`] small pages; 0 if there is no memory for it.
fn time_of_small_pages() -> u64 {
    let bytes = SAMPLE * PAGE;
    let Ok(pages) = syscall::map_anonymous(bytes) else { return 0 };
    let time = time_of(|| {
        for at in (0..bytes).step_by(PAGE) {
            // SAFETY: inside the mapping, which is ours alone.
            unsafe { pages.add(at).write_volatile(0) };
        }
    });
    // SAFETY: no other code knows of it.
    let _ = unsafe { syscall::munmap(pages, bytes) };
    time
}

fn time_of(work: impl FnOnce()) -> u64 {
    let before = syscall::clock_nanoseconds(syscall::CLOCK_MONOTONIC);
    work();
    syscall::clock_nanoseconds(syscall::CLOCK_MONOTONIC).saturating_sub(before)
}
