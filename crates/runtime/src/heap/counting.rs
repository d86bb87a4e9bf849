//! Counting in a heap: for the process, and in the heap's own account.
//!
//! Not here: the account (`account`), and figures that threads count before they publish them (`thread::figures`).

use underbar_ledger::Key;

use super::object::Heap;
use crate::ledger;

impl Heap {
    /// Adds to a counter, of the process and of this heap.
    #[inline]
    pub fn add(&self, key: Key, amount: u64) {
        ledger::add(key, amount);
        self.account.add(key, amount);
    }

    /// Raises a peak, of the process and of this heap.
    #[inline]
    pub fn raise(&self, key: Key, value: u64) {
        ledger::raise(key, value);
        self.account.raise(key, value);
    }
}
