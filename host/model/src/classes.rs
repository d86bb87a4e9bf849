//! The cell or list sizes that waste least for classes of requests.
//!
//! ```text
//! classes  u1 < u2 < ... < un, f1 ... fn requests each
//! sizes    cut them into at most k runs; a run's size s is its last class's limit, rounded up to a unit
//! least    sum over all requests of (s - u), by dynamic programming: exact
//! ```
//!
//! `best[j][i]`: the least waste of the first i classes in j runs = min over m of `best[j-1][m]` + cost(m, i).
//! Cost: sizes times classes squared.
//! Not here: which classes may be left without a size (`requests`), and how many cells of each size there should be.

/// Requests of a class of sizes: above `from`, up to `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The limit of the class below it, in bytes.
    pub from: u64,
    /// Its upper limit, in bytes.
    pub limit: u64,
    /// How many there were.
    pub count: u64,
}

/// Finds at most `most` sizes, multiples of `unit`, that hold all requests of the classes with the least waste.
/// The classes are in ascending order. If several choices waste equally little, it takes the one with the fewest sizes.
#[must_use]
pub fn least_waste(classes: &[Class], most: usize, unit: u64) -> Vec<u64> {
    let size = |class: &Class| class.limit.next_multiple_of(unit);
    let count = classes.len();
    // At index n: the number of requests in the first n classes, and the sum of their limits.
    let mut sums = vec![(0_u128, 0_u128)];
    for class in classes {
        let (requests, bytes) = sums.last().copied().unwrap_or_default();
        let f = u128::from(class.count);
        sums.push((requests + f, bytes + f * u128::from(class.limit)));
    }
    let cost = |from: usize, to: usize| {
        (sums[to].0 - sums[from].0) * u128::from(size(&classes[to - 1])) - (sums[to].1 - sums[from].1)
    };
    // For each number of sizes: the waste of the first classes, and the start of the last run.
    let mut best: Vec<Vec<Option<(u128, usize)>>> = vec![vec![None; count + 1]];
    best[0][0] = Some((0, 0));
    for runs in 1..=most.min(count) {
        let waste = |to: usize| {
            let before = |from: usize| best[runs - 1][from].map(|(waste, _)| (waste + cost(from, to), from));
            (runs - 1..to).filter_map(before).min()
        };
        let row = (0..=count).map(waste).collect();
        best.push(row);
    }
    let Some((_, mut runs)) =
        (0..best.len()).filter_map(|runs| best[runs][count].map(|(waste, _)| (waste, runs))).min()
    else {
        return Vec::new();
    };
    let (mut to, mut sizes) = (count, Vec::new());
    while runs > 0 && to > 0 {
        sizes.push(size(&classes[to - 1]));
        to = best[runs][to].map_or(0, |(_, from)| from);
        runs -= 1;
    }
    sizes.reverse();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(of: &[(u64, u64)]) -> Vec<Class> {
        let mut from = 0;
        of.iter()
            .map(|(limit, count)| {
                let class = Class { from, limit: *limit, count: *count };
                from = *limit;
                class
            })
            .collect()
    }

    fn waste(classes: &[Class], sizes: &[u64]) -> Option<u64> {
        classes
            .iter()
            .filter(|class| class.count > 0)
            .map(|class| {
                sizes.iter().find(|size| **size >= class.limit).map(|size| (size - class.limit) * class.count)
            })
            .sum()
    }

    #[test]
    fn sizes_are_the_best_of_all_that_are_possible() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |most: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % most
        };
        for _ in 0..200 {
            let count = 1 + random(9) as usize;
            let mut limit = 0;
            let of: Vec<(u64, u64)> = (0..count)
                .map(|_| {
                    limit += 32 * (1 + random(6));
                    (limit, 1 + random(500))
                })
                .collect();
            let classes = classes(&of);
            for lists in 1..=5 {
                let sizes = least_waste(&classes, lists, 32);
                assert!(sizes.len() <= lists && sizes.windows(2).all(|two| two[0] < two[1]));
                let got = waste(&classes, &sizes).expect("all are held");
                // Every set of classes that holds the last one.
                for set in 0..1_u32 << count {
                    let chosen: Vec<u64> =
                        (0..count).filter(|at| set >> at & 1 == 1).map(|at| of[at].0).collect();
                    if chosen.len() <= lists
                        && let Some(other) = waste(&classes, &chosen)
                    {
                        assert!(got <= other, "{of:?} {lists}: {sizes:?} {got}, {chosen:?} {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_more_sizes_than_needed_and_whole_units() {
        assert_eq!(least_waste(&classes(&[(32, 5), (100, 7)]), 4, 32), [32, 128]);
        assert_eq!(least_waste(&classes(&[(30, 5), (100, 7)]), 4, 8), [32, 104]);
        assert_eq!(least_waste(&[], 4, 32), [0; 0]);
    }
}
