//! How many rows the next fetch takes: twice as many as the last one, up to a number of rows and of bytes.
//!
//! A program that stops after a few rows has read few in vain, and one that reads all makes few fetches more. The bytes bound what
//! waits in the process, by the largest row that came.
//!
//! Not here: the rows.

/// The growth of one cursor's fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Rows of the last fetch.
    last: u32,
    /// Bytes of the largest row so far.
    largest: u32,
}

impl Growth {
    /// Of a cursor whose last fetch took one row.
    #[must_use]
    pub const fn new() -> Self {
        Growth { last: 1, largest: 0 }
    }

    /// A row came that has so many bytes.
    pub fn saw(&mut self, bytes: usize) {
        self.largest = self.largest.max(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// Rows of the next fetch: at least 1, at most `factor`, and no more than `bytes` hold if all are as large as the largest yet.
    #[must_use]
    pub fn next(&mut self, factor: u32, bytes: u32) -> u32 {
        let held = bytes.checked_div(self.largest).unwrap_or(u32::MAX);
        self.last = self.last.saturating_mul(2).min(factor).min(held).max(1);
        self.last
    }
}

impl Default for Growth {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn fetches(growth: &mut Growth, factor: u32, bytes: u32, count: usize) -> Vec<u32> {
        (0..count).map(|_| growth.next(factor, bytes)).collect()
    }

    #[test]
    fn it_doubles_up_to_the_factor() {
        assert_eq!(fetches(&mut Growth::new(), 100, 1 << 18, 8), [2, 4, 8, 16, 32, 64, 100, 100]);
        assert_eq!(fetches(&mut Growth::new(), 1, 1 << 18, 2), [1, 1]);
        assert_eq!(fetches(&mut Growth::new(), 0, 1 << 18, 2), [1, 1]);
        assert_eq!(*fetches(&mut Growth::new(), u32::MAX, u32::MAX, 40).last().expect("40"), u32::MAX);
    }

    #[test]
    fn the_largest_row_bounds_it() {
        let mut growth = Growth::new();
        growth.saw(100);
        growth.saw(20);
        assert_eq!(fetches(&mut growth, 1000, 1000, 5), [2, 4, 8, 10, 10]);
        growth.saw(5000);
        assert_eq!(fetches(&mut growth, 1000, 1000, 2), [1, 1]);
        growth.saw(usize::MAX);
        assert_eq!(growth.next(1000, 1000), 1);
    }
}
