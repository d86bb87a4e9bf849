//! Requests by size that a thread has counted and not yet published.
//!
//! ```text
//! a list of cells is used up ──> so many of its class ──> 1,024 of the class? ──> the ledger's row
//! ```
//!
//! The lists of cells tell how many were got of each class, so a request costs nothing. A list costs a subtraction and a test of
//! its sign.
//!
//! Invariant: row + by_size == cells of the class that were got when its list was last looked at.
//! Not here: when a list is looked at (the parent), and requests without a cell (`heap::get_element`).

use super::super::pools;
use super::super::size::Cells;
use super::CLASSES;
use crate::ledger;

/// Requests of a class are published when more than this many have gathered.
const REQUESTS: i32 = 1023;

/// For each class, how many more requests may gather.
pub struct BySize([i32; CLASSES]);

impl BySize {
    /// Nothing counted.
    pub const NEW: Self = Self([REQUESTS; CLASSES]);

    /// Counts cells of a class that were got. True if so many have gathered that they must be published.
    #[inline(always)]
    pub fn got(&mut self, class: usize, cells: u32) -> bool {
        if cfg!(feature = "no-accounts") {
            return false;
        }
        let until_full = &mut self.0[class];
        *until_full -= cells as i32;
        *until_full < 0
    }

    /// Takes back a cell for which there was no room.
    pub fn not_got(&mut self, class: usize) {
        self.0[class] += 1;
    }

    /// In a forked child: what was counted of a class, and `more` cells that will be, are its parent's.
    pub fn owe(&mut self, class: usize, more: u32) {
        if !cfg!(feature = "no-accounts") {
            self.0[class] = REQUESTS + more as i32;
        }
    }

    /// Adds the requests of a class to the ledger: to the row of its size, and to its pool, if the heap has pools.
    #[cold]
    #[inline(never)]
    pub fn publish(&mut self, class: usize, cells: &Cells, pool: Option<u32>) {
        // Below zero if the last one was taken back after it had been published.
        let requests = i64::from(REQUESTS - self.0[class]);
        self.0[class] = REQUESTS;
        ledger::add_requests(cells.rows[class] as usize, requests as u64);
        if let Some(pool) = pool {
            pools::count_gets(pool, class, requests);
        }
    }

    /// Adds all requests to the ledger.
    pub fn publish_all(&mut self, cells: &Cells, pool: Option<u32>) {
        for class in 1..CLASSES {
            if self.0[class] != REQUESTS {
                self.publish(class, cells, pool);
            }
        }
    }
}
