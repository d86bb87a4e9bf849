//! Stacks that were written to the ring a short while ago, by their numbers: they need not be copied again.
//!
//! Invariant: a number is here only if a record with its stack was committed before, so that the host has read it, or reads it first.
//! Not here: how a number follows from a stack (`walk`).

use core::sync::atomic::{AtomicU64, Ordering};

/// Places: a power of two. The host keeps a stack for each, and the one before.
const PLACES: usize = underbar_ledger::sites::KNOWN_STACKS;

/// Numbers, each in the place that its upper bits name; 0: none. Stored with Release after the record; read with Acquire before a record
/// that refers to it, by any thread.
static TABLE: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

/// Whether a stack of this number has been written.
pub(super) fn has(number: u64) -> bool {
    number != 0 && TABLE[underbar_ledger::sites::place_of(number)].load(Ordering::Acquire) == number
}

/// It has been written now.
pub(super) fn add(number: u64) {
    TABLE[underbar_ledger::sites::place_of(number)].store(number, Ordering::Release);
}

/// In a child, which writes to another ring.
pub(super) fn forget() {
    TABLE.iter().for_each(|place| place.store(0, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_known_until_another_one_takes_its_place() {
        let (one, same_place) = (7 << 32 | 1, 7 << 32 | 2);
        assert!(!has(one) && !has(0));
        add(one);
        assert!(has(one) && !has(same_place));
        add(same_place);
        assert!(!has(one) && has(same_place));
        forget();
        assert!(!has(same_place));
    }
}
