//! A pool: cells of one size, got from a heap by extents; and the pools of a process.
//!
//! Not here: which sizes waste least (`cells`).

use crate::figure::Figure;
use crate::requests::Requests;

/// The pools of one process, in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pools {
    /// The initial size of the heap of which extents are a percentage; absent where extents have a size of their own.
    pub initial: Figure,
    /// The most threads at one time, among which the cells are divided.
    pub threads: Figure,
    /// The pools, the smallest cells first.
    pub each: Vec<Pool>,
    /// Requests by size; without rows if they are not counted.
    pub requests: Requests,
}

impl Pools {
    /// Bytes that the cells of all pools took at most.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.each.iter().map(Pool::taken).fold(0, u64::saturating_add)
    }
}

/// The figures of a pool in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Bytes of a cell.
    pub cell: Figure,
    /// Bytes of a cell with its control bytes.
    pub element: Figure,
    /// Size of an extent, in hundredths of the heap's initial size; unknown where extents have a size of their own.
    pub percent: Figure,
    /// Cells of an extent.
    pub cells_per_extent: Figure,
    /// Extents that were got.
    pub extents: Figure,
    /// Most cells in use at one time.
    pub used: Figure,
    /// Cells in use at the end.
    pub in_use: Figure,
}

impl Pool {
    /// Bytes that its cells took at most.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.used.value.saturating_mul(self.element.value)
    }

    /// The percentage of a heap of this initial size that holds the most cells in use, by the published formula. How it is rounded
    /// is not published: upwards, so that one extent is enough.
    #[must_use]
    pub fn percent_of(&self, initial: u64) -> u64 {
        self.taken().saturating_mul(100).div_ceil(initial.max(1)).clamp(1, 90)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_those_of_the_published_formula() {
        let figure = |value| Figure::counter("heap.gets", value, crate::Certainty::Certain);
        let pool = |element, used| Pool {
            cell: figure(element - 8),
            element: figure(element),
            percent: figure(10),
            cells_per_extent: figure(4),
            extents: figure(1),
            used: figure(used),
            in_use: figure(0),
        };
        // 170 cells of 16 bytes are 8.3 % of 32K.
        assert_eq!(pool(16, 170).percent_of(32_768), 9);
        assert_eq!(pool(16, 0).percent_of(32_768), 1);
        assert_eq!(pool(65_544, 1_000).percent_of(32_768), 90);
        assert_eq!(pool(16, 1).percent_of(0), 90);
    }
}
