//! The command's heap, which a child does not get.
//!
//! The kernel counts the memory of the process that calls exec as the first peak of the program. A child of fork has a copy
//! of our heap, which may be megabytes of reports, and would make a small program look larger than it is.
//!
//! Invariant: the heap is withheld only while a [`Withheld`] lives. A child forked in that time touches no byte of the heap,
//! and no other thread forks meanwhile.
//! Not here: the actions of the child ([`crate::process`]).

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::syscall::{MADV_DOFORK, MADV_DONTFORK, madvise, number, syscall3};

/// The start of this process's heap before `main`, rounded up to a page; 0 if it was not noted. Written once, by [`note`],
/// while there is one thread. Relaxed: no other data depends on it.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
const PAGE: usize = 4096;

/// Notes the start of the heap; before `main`.
pub(crate) fn note() {
    BEGIN.store(end().next_multiple_of(PAGE), Ordering::Relaxed);
}

fn end() -> usize {
    // SAFETY: an address at which no heap can end only queries the current end.
    unsafe { syscall3(number::BRK, 0, 0, 0) }.unwrap_or(0)
}

/// A part of our heap that no child gets, until it is dropped.
pub(crate) struct Withheld {
    begin: *mut u8,
    length: usize,
}

impl Withheld {
    /// Withholds the memory that the heap took since the start, except large blocks, which have separate mappings.
    pub(crate) fn heap() -> Withheld {
        let begin = BEGIN.load(Ordering::Relaxed);
        let length = if begin == 0 { 0 } else { (end() / PAGE * PAGE).saturating_sub(begin) };
        let withheld = Withheld { begin: core::ptr::with_exposed_provenance_mut(begin), length };
        withheld.advise(MADV_DONTFORK);
        withheld
    }

    fn advise(&self, advice: u32) {
        if self.length > 0 {
            // SAFETY: this advice changes no content.
            let _ = unsafe { madvise(self.begin, self.length, advice) };
        }
    }
}

impl Drop for Withheld {
    fn drop(&mut self) {
        self.advise(MADV_DOFORK);
    }
}
