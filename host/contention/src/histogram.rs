//! Waits, counted by length: sixteen steps to each doubling, so that a figure is off by at most 1/16.

/// Distinct doublings from 16 ns on; the longest is more than half an hour.
const DOUBLINGS: usize = 38;
const STEPS: usize = 16;

/// Counts of waits.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Box<[u32; STEPS * (DOUBLINGS + 1)]>,
    number: u64,
    sum: u64,
    longest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; STEPS * (DOUBLINGS + 1)]), number: 0, sum: 0, longest: 0 }
    }
}

impl Histogram {
    /// One wait, in nanoseconds.
    pub fn add(&mut self, nanoseconds: u64) {
        self.counts[place(nanoseconds)] += 1;
        self.number += 1;
        self.sum += nanoseconds;
        self.longest = self.longest.max(nanoseconds);
    }

    /// Adds all of another's.
    pub fn merge(&mut self, other: &Self) {
        for (mine, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine += more;
        }
        self.number += other.number;
        self.sum += other.sum;
        self.longest = self.longest.max(other.longest);
    }

    /// Their number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Their sum, in nanoseconds.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The longest, exactly.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// The wait that this many of a million do not exceed, in nanoseconds; rounded up, and never above the longest.
    #[must_use]
    pub fn quantile(&self, of_a_million: u64) -> u64 {
        let wanted = (self.number * of_a_million).div_ceil(1_000_000);
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted && seen > 0 {
                return last(place).min(self.longest);
            }
        }
        self.longest
    }
}

/// Each wait below 16 ns has its own entry; above that, each doubling has sixteen entries.
fn place(nanoseconds: u64) -> usize {
    if nanoseconds < STEPS as u64 {
        return nanoseconds as usize;
    }
    let doubling = nanoseconds.ilog2() as usize - 4;
    let step = (nanoseconds >> doubling) as usize - STEPS;
    ((doubling + 1) * STEPS + step).min(STEPS * (DOUBLINGS + 1) - 1)
}

/// The longest wait of an entry.
fn last(place: usize) -> u64 {
    if place < STEPS {
        return place as u64;
    }
    let (doubling, step) = (place / STEPS - 1, place % STEPS);
    (((STEPS + step + 1) as u64) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::{Histogram, last, place};

    #[test]
    fn every_wait_lies_in_its_place_and_no_sixteenth_above_it() {
        for wait in (0..2_000).chain((1..36).map(|shift| 12_345 << shift >> 8)).chain([1 << 40]) {
            let last = last(place(wait));
            assert!(last >= wait && last - wait <= wait / 16, "{wait}: {last}");
            assert_eq!(place(last), place(wait));
        }
    }

    #[test]
    fn quantiles_count_what_was_merged() {
        let mut all = Histogram::default();
        for part in 0..10 {
            let mut one = Histogram::default();
            (0..100).for_each(|wait| one.add(part * 100 + wait));
            all.merge(&one);
        }
        assert_eq!((all.number(), all.longest(), all.sum()), (1_000, 999, 999 * 500));
        assert!((499..=531).contains(&all.quantile(500_000)));
        assert_eq!(all.quantile(1_000_000), 999);
        assert_eq!(Histogram::default().quantile(999_000), 0);
    }
}
