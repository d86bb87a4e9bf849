//! Requests of a program or a population by size: each row with its certainty and its evidence.
//!
//! ```text
//! all       every request
//! rows      (0, 32] 40   (32, 64] 9   (64, 128] 1 ...        smallest first, none overlaps another
//! missing   the most requests in rows that are not here
//! ```
//!
//! The size of a request is known to its row. So a number of requests above some size is a span: the row that holds the size may
//! belong to it or not.
//!
//! Invariant: [`Larger::least`] <= the requests that are larger <= [`Larger::most`].
//! Not here: the search for the sizes that waste least (`classes`), and where rows come from (`report`, `advise`).

use crate::classes::{Class, least_waste};
use crate::figure::Figure;

/// [`Requests::fitting`] leaves out one request in this many: the largest ones.
pub const RARE: u64 = 1_000;

/// Requests by size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    /// The number of all requests.
    pub all: Figure,
    /// Requests by size, smallest first.
    pub rows: Vec<Row>,
    /// At most this many are in rows that are not here. None: any number.
    pub missing: Option<u64>,
}

/// Requests larger than `from`, up to `limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The limit of the row below it, in bytes.
    pub from: u64,
    /// Its upper limit, in bytes.
    pub limit: u64,
    /// The number of requests.
    pub count: Figure,
}

/// Requests that are larger than some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Larger {
    /// Certainly no fewer.
    pub least: u64,
    /// Certainly no more. None: not known.
    pub most: Option<u64>,
}

impl Requests {
    /// Nothing is known but their number.
    #[must_use]
    pub fn without_rows(all: Figure) -> Self {
        Self { all, rows: Vec::new(), missing: None }
    }

    /// The rows without their evidence.
    #[must_use]
    pub fn classes(&self) -> Vec<Class> {
        let class = |row: &Row| Class { from: row.from, limit: row.limit, count: row.count.value };
        self.rows.iter().map(class).collect()
    }

    /// Requests in the rows.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.count.value))
    }

    /// The rows of which each request is larger than `size`.
    pub fn rows_above(&self, size: u64) -> impl DoubleEndedIterator<Item = &Row> + Clone {
        self.rows.iter().filter(move |row| row.count.value > 0 && row.from >= size)
    }

    /// How many are larger than `size`.
    #[must_use]
    pub fn larger_than(&self, size: u64) -> Larger {
        let least = self.rows_above(size).fold(0_u64, |sum, row| sum.saturating_add(row.count.value));
        let possible = self.rows.iter().filter(|row| row.limit > size);
        let most = possible
            .map(|row| row.count.at_most())
            .try_fold(0_u64, |sum, row| Some(sum.saturating_add(row?)));
        Larger { least, most: most.zip(self.missing).map(|(sum, missing)| sum.saturating_add(missing)) }
    }

    /// At most `most` sizes, multiples of `unit`, that hold all requests but one in [`RARE`] with the least waste. If so many
    /// sizes are enough for every row, they hold all.
    #[must_use]
    pub fn fitting(&self, most: usize, unit: u64) -> Vec<u64> {
        let mut used = self.classes();
        used.retain(|class| class.count > 0);
        let covered = if used.len() <= most {
            used.len()
        } else {
            covered(&used, self.counted().saturating_add(self.missing.unwrap_or(0)))
        };
        least_waste(&used[..covered], most, unit)
    }
}

/// The number of classes that hold all requests but one in [`RARE`].
fn covered(used: &[Class], all: u64) -> usize {
    let mut sum = 0_u64;
    let mut is_enough = |class: &Class| {
        sum = sum.saturating_add(class.count);
        u128::from(sum) * u128::from(RARE) >= u128::from(all) * u128::from(RARE - 1)
    };
    used.iter().position(&mut is_enough).map_or(used.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Certainty;

    fn requests(of: &[(u64, u64, Certainty)], missing: Option<u64>) -> Requests {
        let mut from = 0;
        let mut row = |(limit, count, certainty): &(u64, u64, Certainty)| {
            let row = Row { from, limit: *limit, count: Figure::counter("sizes", *count, *certainty) };
            from = *limit;
            row
        };
        let rows: Vec<Row> = of.iter().map(&mut row).collect();
        Requests { all: Figure::absent("not needed"), rows, missing }
    }

    fn certain(of: &[(u64, u64)]) -> Requests {
        let of: Vec<_> = of.iter().map(|&(limit, count)| (limit, count, Certainty::Certain)).collect();
        requests(&of, Some(0))
    }

    /// Every number of requests above every size is within the span.
    #[test]
    fn a_span_holds_what_is_larger() {
        let sizes: [u64; 7] = [1, 8, 9, 20, 24, 25, 40];
        let rows = [(8, 2), (24, 3), (40, 2)];
        for size in 0..50 {
            let true_number = sizes.iter().filter(|of| **of > size).count() as u64;
            let Larger { least, most } = certain(&rows).larger_than(size);
            assert!(least <= true_number && most.is_some_and(|most| true_number <= most), "{size}");
        }
        let at = |size| certain(&rows).larger_than(size);
        assert_eq!(at(24), Larger { least: 2, most: Some(2) });
        assert_eq!(at(23), Larger { least: 2, most: Some(5) });
        assert_eq!(at(40), Larger { least: 0, most: Some(0) });
    }

    #[test]
    fn a_row_that_may_lack_requests_has_no_upper_bound() {
        let rows = [(32, 7, Certainty::AtLeast), (64, 5, Certainty::Certain)];
        let of = requests(&rows, Some(3));
        assert_eq!(of.larger_than(32), Larger { least: 5, most: Some(8) });
        assert_eq!(of.larger_than(31), Larger { least: 5, most: None });
        let unknown = Requests { missing: None, ..of };
        assert_eq!(unknown.larger_than(32), Larger { least: 5, most: None });
        let none = Requests::without_rows(Figure::counter("heap.gets", 9, Certainty::Certain));
        assert_eq!(none.larger_than(0), Larger { least: 0, most: None });
    }

    #[test]
    fn rare_requests_are_left_out() {
        let classes = certain(&[(32, 9_990), (64, 9), (4096, 1)]).classes();
        assert_eq!(covered(&classes, 10_000), 1);
        assert_eq!(covered(&classes, 20_000), 3);
        let of = certain(&[(32, 9_990), (64, 9), (4096, 1)]);
        assert_eq!(of.fitting(2, 32), [32]);
        assert_eq!(of.fitting(3, 32), [32, 64, 4096]);
    }
}
