//! Cell sizes: which class serves a request.
//!
//! ```text
//! class   1..8    16, 32 ... 128         steps of 16
//!         9..16   144 ... 256            steps of 16
//!        17..24   288 ... 512            steps of 32
//!        25..32   576 ... 1024           steps of 64
//!        33..72   1152, 1280 ... 32768   eight steps for each doubling
//! ```
//!
//! Invariant: `cell_bytes(class_of(n)) >= n`, and every cell size is a multiple of 16. Past 128
//! bytes a cell is at most an eighth larger than the request.
//! Not here: the sizes themselves, by which the ledger counts requests (`underbar_ledger::sizes`); requests above [`LARGEST_CELL`],
//! which are elements of a segment.

pub use underbar_ledger::sizes::{CLASSES, LARGEST_CELL};
use underbar_ledger::sizes::{cell_bytes, row_of_class, row_of_large};

/// Up to here the class comes from a table with one entry for every 16 bytes.
pub const LARGEST_SMALL: usize = 1024;
/// Entries of [`CLASS_OF_UNITS`], rounded up to a whole number of words.
pub const UNITS: usize = 72;

/// Bytes of a cell of each class.
pub static CELL_BYTES: [u32; CLASSES] = {
    let mut table = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        table[class] = cell_bytes(class) as u32;
        class += 1;
    }
    table
};

/// The class for a small request of `16 * units - 15` to `16 * units` bytes. A request of no bytes is served as one of one byte.
pub const CLASS_OF_UNITS: [u8; UNITS] = {
    let mut table = [0; UNITS];
    let mut class = 1;
    let mut units = 0;
    while units <= LARGEST_SMALL / 16 {
        if units * 16 > cell_bytes(class) {
            class += 1;
        }
        table[units] = class as u8;
        units += 1;
    }
    table
};

/// The class that serves `size` bytes, for `size <= LARGEST_CELL`.
#[inline]
pub fn class_of(size: usize) -> usize {
    if size <= LARGEST_SMALL {
        return CLASS_OF_UNITS[size.div_ceil(16)] as usize;
    }
    class_of_large(size)
}

/// The sizes of a heap's cells, and what follows from them: one entry for each class. A class without cells has none.
pub struct Cells {
    /// Bytes of a cell.
    pub bytes: [u32; CLASSES],
    /// Cells that are carved at a time.
    pub carved: [u32; CLASSES],
    /// See the drawing in `extent`.
    pub scales: [usize; CLASSES],
    /// The row of the ledger that counts requests for these cells.
    pub rows: [u8; CLASSES],
    /// The bytes of an extent and its cells, in a heap with pools; 0: as its policy says.
    pub extents: [(u32, u32); CLASSES],
}

/// Bytes of cells that are carved at a time.
const CARVE: u32 = 4096;

impl Cells {
    /// No cells.
    pub const NONE: Self = Self {
        bytes: [0; CLASSES],
        carved: [0; CLASSES],
        scales: [0; CLASSES],
        rows: [0; CLASSES],
        extents: [(0, 0); CLASSES],
    };

    /// With cells of a size, which is above 0 and a multiple of 16, as a class.
    pub const fn with(mut self, class: usize, bytes: u32, row: usize) -> Self {
        self.bytes[class] = bytes;
        self.carved[class] = CARVE / bytes;
        // The error must be above zero, so a power of two has one more.
        self.scales[class] = usize::MAX / bytes as usize + 1 + bytes.is_power_of_two() as usize;
        self.rows[class] = row as u8;
        self
    }
}

/// The cells of a heap without pools.
pub static STANDARD: Cells = {
    let mut cells = Cells::NONE;
    // Class 0 has no cells.
    let mut class = 1;
    while class < CLASSES {
        cells = cells.with(class, cell_bytes(class) as u32, row_of_class(class));
        class += 1;
    }
    cells
};

/// The row of the ledger that counts a request of `size` bytes which takes no cell.
pub fn row_of(size: usize) -> usize {
    if size > LARGEST_CELL { row_of_large(size) } else { row_of_class(class_of(size.max(1))) }
}

/// As `class_of`, for a size that is not small.
#[inline(always)]
pub fn class_of_large(size: usize) -> usize {
    let last = size - 1;
    let doubling = last.ilog2() as usize;
    33 + (doubling - 10) * 8 + ((last >> (doubling - 3)) & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_the_smallest_class_that_holds_it() {
        for size in 0..=LARGEST_CELL {
            let class = class_of(size);
            let bytes = CELL_BYTES[class] as usize;
            assert!(bytes >= size && bytes.is_multiple_of(16), "{size}: class {class} of {bytes}");
            assert!(
                class == 1 || (CELL_BYTES[class - 1] as usize) < size,
                "{size}: class {class} is too large"
            );
        }
        assert_eq!(CELL_BYTES[CLASSES - 1] as usize, LARGEST_CELL);
    }

    #[test]
    fn a_request_counts_in_the_row_that_holds_it() {
        for size in (0..=LARGEST_CELL + 9).chain([usize::MAX >> 17, usize::MAX]) {
            let row = underbar_ledger::sizes::TABLE[row_of(size)];
            let is_held = size as u64 <= row.limit || size > 1 << 47;
            assert!(is_held && (row.from < size as u64 || size == 0), "{size}: {row:?}");
        }
    }

    #[test]
    fn little_is_lost_to_rounding() {
        for size in 17..=LARGEST_CELL {
            let lost = CELL_BYTES[class_of(size)] as usize - size;
            let bound = if size <= 128 { 15 } else { size / 8 };
            assert!(lost <= bound, "{size} loses {lost}");
        }
    }
}
