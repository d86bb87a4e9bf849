//! Cell sizes that fit the requests: the set of up to twelve sizes with the least waste.
//!
//! ```text
//! requests by ranges of 8 bytes, each served by the smallest cell that holds it:
//! waste = sum over ranges of count x (cell - upper end of the range)
//! ```
//!
//! Invariant: every size is a multiple of the unit and at most 65,536; the largest holds every request that a cell can hold.
//! Cost: 12 x n x n steps for n ranges, with n at most [`FINEST`]: if there are more ranges, neighbours are merged.
//! Not here: how many cells of each size are needed.

use crate::classes::{Class, least_waste};

/// The largest number of sizes in a pool.
pub const MOST: usize = 12;
/// The largest cell.
const LARGEST: u64 = 65_536;
/// If there are more ranges, neighbours are merged.
const FINEST: usize = 256;

/// Requests of up to `to` bytes, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The largest size.
    pub to: u64,
    /// Their number.
    pub count: u64,
}

/// Bytes of the cells beyond the requests, and bytes of all cells; None if no request fits into any cell.
#[must_use]
pub fn waste(ranges: &[Range], cells: &[u64]) -> Option<(u64, u64)> {
    let (mut beyond, mut bytes) = (0_u64, 0_u64);
    for range in ranges.iter().filter(|range| range.to > 0) {
        let Some(cell) = cells.iter().filter(|cell| **cell >= range.to).min() else { continue };
        beyond = beyond.saturating_add((cell - range.to).saturating_mul(range.count));
        bytes = bytes.saturating_add(cell.saturating_mul(range.count));
    }
    (bytes > 0).then_some((beyond, bytes))
}

/// The best sizes, in order, multiples of a unit: 8 on z/OS, 16 on Linux. None without requests that a cell can hold.
#[must_use]
pub fn best(ranges: &[Range], unit: u64) -> Option<Vec<u64>> {
    let class = |range: &Range| Class { from: 0, limit: range.to, count: range.count };
    let classes: Vec<Class> = merged(ranges).iter().map(class).collect();
    (!classes.is_empty()).then(|| least_waste(&classes, MOST, unit))
}

/// The sizes to suggest where cells of up to `largest` bytes are in use: the best ones, and `largest` as the last if there is room,
/// as Language Environment documents it.
#[must_use]
pub fn suggested(ranges: &[Range], largest: u64, unit: u64) -> Option<Vec<u64>> {
    let mut chosen = best(ranges, unit)?;
    if chosen.len() < MOST && chosen.last().is_some_and(|last| *last < largest) {
        chosen.push(largest);
    }
    Some(chosen)
}

/// The ranges in order, without empty ones, merged to at most [`FINEST`].
fn merged(ranges: &[Range]) -> Vec<Range> {
    let mut all: Vec<Range> =
        ranges.iter().copied().filter(|range| range.count > 0 && (1..=LARGEST).contains(&range.to)).collect();
    all.sort_unstable_by_key(|range| range.to);
    all.dedup_by(|later, first| {
        let same = later.to == first.to;
        if same {
            first.count = first.count.saturating_add(later.count);
        }
        same
    });
    let each = all.len().div_ceil(FINEST).max(1);
    let put_together = |some: &[Range]| Range {
        to: some.last().map_or(0, |range| range.to),
        count: some.iter().fold(0, |sum, range| sum.saturating_add(range.count)),
    };
    all.chunks(each).map(put_together).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(all: &[(u64, u64)]) -> Vec<Range> {
        all.iter().map(|&(to, count)| Range { to, count }).collect()
    }

    #[test]
    fn few_ranges_get_a_size_each_and_waste_nothing() {
        let all = ranges(&[(24, 10), (8, 5), (104, 1), (0, 9), (70_000, 9)]);
        assert_eq!(best(&all, 8), Some(vec![8, 24, 104]));
        assert_eq!(waste(&all, &[8, 24, 104]), Some((0, 5 * 8 + 10 * 24 + 104)));
        assert_eq!(best(&[], 8), None);
        assert_eq!(best(&all, 16), Some(vec![16, 32, 112]));
        assert_eq!(suggested(&all, 2_048, 8), Some(vec![8, 24, 104, 2_048]));
        assert_eq!(suggested(&all, 64, 8), Some(vec![8, 24, 104]));
    }

    #[test]
    fn no_other_set_wastes_less() {
        // Every set of three sizes, tried.
        let sizes: Vec<u64> = (1..=14).map(|n| n * 8).collect();
        let counts = [9, 1, 1, 30, 2, 1, 1, 50, 1, 3, 4, 20, 1, 2];
        let all: Vec<Range> = sizes.iter().zip(counts).map(|(&to, count)| Range { to, count }).collect();
        let chosen = best(&all, 8).expect("requests");
        let got = waste(&all, &chosen).expect("requests").0;
        assert_eq!(chosen.len(), MOST);
        for one in 0..sizes.len() - 1 {
            for two in one + 1..sizes.len() - 1 {
                let without: Vec<u64> = sizes
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != one && *at != two)
                    .map(|(_, size)| *size)
                    .collect();
                assert!(got <= waste(&all, &without).expect("requests").0, "{without:?}");
            }
        }
    }

    #[test]
    fn many_ranges_are_put_together() {
        let all: Vec<Range> = (1..=8192).map(|n| Range { to: n * 8, count: 1 }).collect();
        let chosen = best(&all, 8).expect("requests");
        assert_eq!((chosen.len(), chosen.last()), (MOST, Some(&LARGEST)));
        assert!(chosen.iter().all(|cell| cell.is_multiple_of(8)));
    }
}
