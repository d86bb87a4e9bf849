//! A pool: cells of one size, got from a heap by extents.
//!
//! Not here: which sizes waste least (`classes`).

use crate::figure::Figure;

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
