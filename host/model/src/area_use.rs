//! How much of an area its users need, where each user gets one: on z/TPF, the preallocated heap of each ECB.
//!
//! ```text
//! rows    up to 0 90    up to 24K 4    up to 64K 5      users by their need, smallest first
//! above   1                                            users that need more than the last row's limit
//! ```
//!
//! Invariant: the users of all rows and those above are all users.
//! Not here: requests by size (`requests`), and which area is advised (the rules).

use crate::figure::Figure;

/// The use of one area, in one collection of figures or over several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AreaUse {
    /// Bytes of the area that each user gets.
    pub area: Figure,
    /// Users by their need, smallest first.
    pub rows: Vec<Need>,
    /// Users that need more than the last row's limit.
    pub above: Figure,
    /// Collections of figures that are added up.
    pub collections: u64,
}

/// Users that need up to so many bytes, and more than the row below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The upper limit, in bytes.
    pub limit: u64,
    /// The number of users.
    pub users: Figure,
}

impl AreaUse {
    /// All users.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.rows.iter().fold(self.above.value, |sum, row| sum.saturating_add(row.users.value))
    }

    /// Users that need more than this.
    #[must_use]
    pub fn exceed(&self, bytes: u64) -> u64 {
        let more = self.rows.iter().filter(|row| row.limit > bytes);
        more.fold(self.above.value, |sum, row| sum.saturating_add(row.users.value))
    }

    /// The smallest limit that holds this many of a hundred users; None if the rows do not reach so far.
    #[must_use]
    pub fn holding(&self, of_hundred: u64) -> Option<u64> {
        let all = u128::from(self.all());
        let mut sum = 0_u128;
        let smallest = self.rows.iter().map(|row| row.limit).find(|limit| *limit > 0)?;
        let mut reach = self.rows.iter().filter(|row| {
            sum += u128::from(row.users.value);
            sum * 100 >= all * u128::from(of_hundred)
        });
        reach.next().map(|row| row.limit.max(smallest))
    }

    /// Adds another collection of figures on the same area.
    pub fn add(&mut self, other: AreaUse) {
        self.collections = self.collections.saturating_add(other.collections);
        self.above.add(&other.above);
        for row in other.rows {
            match self.rows.binary_search_by_key(&row.limit, |known| known.limit) {
                Ok(at) => self.rows[at].users.add(&row.users),
                Err(at) => self.rows.insert(at, row),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Certainty;

    fn figure(value: u64) -> Figure {
        Figure::counter("test", value, Certainty::Certain)
    }

    fn area(rows: &[(u64, u64)], above: u64) -> AreaUse {
        let rows = rows.iter().map(|&(limit, users)| Need { limit, users: figure(users) }).collect();
        AreaUse { area: figure(64 << 10), rows, above: figure(above), collections: 1 }
    }

    #[test]
    fn the_smallest_limit_that_holds_the_share() {
        let mut of = area(&[(0, 90), (16 << 10, 4), (64 << 10, 5)], 1);
        let held = (of.holding(90), of.holding(95), of.holding(100));
        assert_eq!(held, (Some(16 << 10), Some(64 << 10), None));
        assert_eq!((of.exceed(64 << 10), of.exceed(16 << 10), of.all()), (1, 6, 100));
        of.add(area(&[(16 << 10, 6), (24 << 10, 1)], 3));
        assert_eq!((of.exceed(16 << 10), of.all(), of.collections), (10, 110, 2));
    }

    #[test]
    fn a_doubtful_collection_makes_the_sum_doubtful() {
        let mut of = area(&[(16, 6)], 1);
        let mut other = area(&[(16, 6), (32, 1)], 1);
        other.rows[0].users.certainty = Certainty::Likely;
        of.add(other);
        let certainty: Vec<_> = of.rows.iter().map(|row| (row.users.value, row.users.certainty)).collect();
        assert_eq!(certainty, [(12, Certainty::Likely), (1, Certainty::Certain)]);
        assert_eq!((of.above.certain(), of.all()), (Some(2), 15));
    }
}
