//! Requests of each heap by steps of 8 bytes: a page for each row of heaps, behind the traces of all slots of the file.
//!
//! ```text
//! slots | classes | traces | slot 0: row 0 | row 1 | ... | row 14 | others | slot 1: ...     a page is allocated when its row is first used
//! ```
//!
//! Only under RPTSTG(ON), which counts each request, and in a process with more than its default heap: else nothing is allocated, mapped
//! or touched. The default heap has what is left of the process's steps ([`crate::pools`]).
//!
//! Invariant: a page has the requests of the heaps of its row; those of a row that was given to another heap are in the last page.
//! Not here: when requests are counted (`runtime`), and their display (`report`).

use core::sync::atomic::{AtomicU64, Ordering};

use crate::heaps;
use crate::layout::HEAP_STEPS_BYTES;
use crate::pools::STEPS;

/// Pages of a process: one for each row, and that of `others`.
pub const ROWS: usize = heaps::ROWS + 1;

/// The requests of a row, by step. Any thread of the process adds; relaxed.
#[repr(C, align(4096))]
pub struct HeapSteps(pub [AtomicU64; STEPS]);

const _: () = assert!(size_of::<HeapSteps>() * ROWS == HEAP_STEPS_BYTES);

impl HeapSteps {
    /// Makes all figures 0.
    pub fn wipe(&self) {
        self.0.iter().for_each(|step| step.store(0, Ordering::Relaxed));
    }

    /// Adds another page's figures to this one.
    pub fn fold(&self, other: &HeapSteps) {
        for (mine, theirs) in self.0.iter().zip(&other.0) {
            let more = theirs.load(Ordering::Relaxed);
            if more != 0 {
                mine.fetch_add(more, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_added_and_wiped() {
        let page = || HeapSteps([const { AtomicU64::new(2) }; STEPS]);
        let (one, other) = (page(), page());
        one.fold(&other);
        assert!(one.0.iter().all(|step| step.load(Ordering::Relaxed) == 4));
        one.wipe();
        assert!(one.0.iter().all(|step| step.load(Ordering::Relaxed) == 0));
    }
}
