//! The addresses of a program's code: a heap serves the requests that come from there.
//!
//! Invariant: written while no thread is inside the heap, and read by threads that are.
//! Not here: the requests (`enclave`).

use core::sync::atomic::{AtomicUsize, Ordering};

/// A range of addresses; at first empty. Relaxed: the gate of the heap orders it.
pub struct Code {
    start: AtomicUsize,
    length: AtomicUsize,
}

impl Code {
    /// No code.
    pub const fn new() -> Self {
        Self { start: AtomicUsize::new(0), length: AtomicUsize::new(0) }
    }

    /// Sets the range. Before any thread is inside the heap.
    pub fn set(&self, start: usize, end: usize) {
        self.start.store(start, Ordering::Relaxed);
        self.length.store(end.saturating_sub(start), Ordering::Relaxed);
    }

    /// Whether there is any.
    pub fn is_some(&self) -> bool {
        self.length.load(Ordering::Relaxed) != 0
    }

    /// How far behind its start an address is; None: it is not in it.
    pub fn offset_of(&self, address: usize) -> Option<usize> {
        self.has(address).then(|| address.wrapping_sub(self.start.load(Ordering::Relaxed)))
    }

    /// Whether an address is in it.
    #[inline(always)]
    pub fn has(&self, address: usize) -> bool {
        address.wrapping_sub(self.start.load(Ordering::Relaxed)) < self.length.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_start_and_not_its_end() {
        let code = Code::new();
        assert!([0, 1, usize::MAX].iter().all(|address| !code.has(*address)));
        code.set(0x1000, 0x3000);
        assert_eq!([0xfff, 0x1000, 0x2fff, 0x3000].map(|at| code.has(at)), [false, true, true, false]);
        assert_eq!([0xfff, 0x1010, 0x3000].map(|at| code.offset_of(at)), [None, Some(0x10), None]);
        code.set(0x3000, 0x1000);
        assert!(!code.has(0x2000), "no range at all");
    }
}
