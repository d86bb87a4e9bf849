//! What samples say of all requests: weights, sums of them, and intervals.
//!
//! A request of `size` bytes is sampled with the chance p = 1 - exp(-size / mean), each by itself. So a sample stands for 1 / p requests
//! and size / p bytes (Horvitz and Thompson), and the variance of a sum is estimated without bias by the sum of (1 - p) (size / p)².
//!
//! Intervals (95 %) are those of Fay and Feuer (1997) for weighted sums of rare events, which hold for few samples, too; the quantiles of
//! chi-squared are Wilson and Hilferty's. The low end is at least what was sampled, which is certain. Where the mean grew, the high end
//! allows for a request at the largest mean. For a share of a sum, the intervals of the part and of the rest are combined by their
//! distances (Zou and Donner's MOVER, on the linearised ratio).
//!
//! Invariant: 0 <= low <= bytes <= high; a sum of requests that are surely sampled has an interval of no width.
//! Not here: means, which the sampler chooses.

/// A sum over samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Samples.
    pub samples: u64,
    /// Bytes that were sampled.
    pub sampled: u64,
    /// Estimated bytes.
    pub bytes: f64,
    /// Estimated requests.
    pub requests: f64,
    /// Estimated variance of the bytes.
    pub variance: f64,
    /// The most by which one request more changes the bytes: the largest weight, as far as it is by chance.
    pub largest: f64,
}

/// A range with the estimate in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The low end.
    pub low: f64,
    /// The high end.
    pub high: f64,
}

/// The two-sided quantile of a normal distribution for 95 %.
const Z: f64 = 1.959_963_985;

/// The chance that a request of this size is sampled.
#[must_use]
pub fn chance(size: u64, mean: u64) -> f64 {
    // A mean of 0 samples everything. One of 1 byte for a request of none keeps the weight finite.
    if mean == 0 { 1.0 } else { -libm::expm1(-(size.max(1) as f64) / mean as f64) }
}

impl Sum {
    /// One sample more.
    pub fn add(&mut self, size: u64, mean: u64) {
        let one = Sum::of(size, mean);
        self.join(&one);
    }

    /// A sample that stands for itself alone: the sum is of the moment at which it was taken, so it is surely part of it.
    #[must_use]
    pub fn itself(size: u64, mean: u64) -> Sum {
        Sum { bytes: size as f64, requests: 1.0, variance: 0.0, ..Sum::of(size, mean) }
    }

    /// One sample less: its storage was freed.
    pub fn remove(&mut self, size: u64, mean: u64) {
        let one = Sum::of(size, mean);
        if self.samples <= 1 {
            *self = Sum::default();
            return;
        }
        self.samples -= 1;
        self.sampled = self.sampled.saturating_sub(one.sampled);
        self.bytes = (self.bytes - one.bytes).max(self.sampled as f64);
        self.requests = (self.requests - one.requests).max(self.samples as f64);
        self.variance = (self.variance - one.variance).max(0.0);
    }

    /// All samples of another sum more.
    pub fn join(&mut self, other: &Sum) {
        self.samples += other.samples;
        self.sampled = self.sampled.saturating_add(other.sampled);
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.variance += other.variance;
        self.largest = self.largest.max(other.largest);
    }

    /// The mean has been this large for a time. A request of that time, of which no sample tells, may stand for as many bytes. So the sum may
    /// be that much larger, also if all of its samples are of a time with a small mean. Sums that are exact stay so.
    pub fn allow_for(&mut self, mean: u64) {
        if self.largest > 0.0 {
            self.largest = self.largest.max(mean as f64);
        }
    }

    /// Of one sample, with its weight.
    #[must_use]
    pub fn of(size: u64, mean: u64) -> Sum {
        let chance = chance(size, mean);
        let bytes = size as f64 / chance;
        let variance = (1.0 - chance) * bytes * bytes;
        Sum {
            samples: 1,
            sampled: size,
            bytes,
            requests: 1.0 / chance,
            variance,
            largest: (1.0 - chance) * bytes,
        }
    }

    /// The interval of the bytes.
    #[must_use]
    pub fn interval(&self) -> Interval {
        let Sum { bytes, variance, largest, sampled, .. } = *self;
        // As good as exact.
        let is_exact = |variance: f64| variance <= bytes * bytes * 1e-12;
        if is_exact(variance) && is_exact(largest * largest) {
            return Interval { low: bytes, high: bytes };
        }
        let low = if is_exact(variance) {
            bytes
        } else {
            variance / (2.0 * bytes) * chi_squared(-Z, 2.0 * bytes * bytes / variance)
        };
        let (more, wider) = (bytes + largest, variance + largest * largest);
        let high = wider / (2.0 * more) * chi_squared(Z, 2.0 * more * more / wider);
        Interval { low: low.max(sampled as f64).min(bytes), high: high.max(bytes) }
    }
}

/// The quantile of chi-squared with this many degrees of freedom that belongs to one of the normal distribution.
fn chi_squared(normal: f64, freedom: f64) -> f64 {
    let part = 2.0 / (9.0 * freedom);
    let root = (1.0 - part + normal * part.sqrt()).max(0.0);
    freedom * root * root * root
}

/// The share of a part in a whole, and its interval, percent. None if the whole is nothing.
#[must_use]
pub fn share(part: &Sum, whole: &Sum) -> Option<(f64, Interval)> {
    if whole.bytes <= 0.0 {
        return None;
    }
    let rest = Sum {
        samples: whole.samples.saturating_sub(part.samples),
        sampled: whole.sampled.saturating_sub(part.sampled),
        bytes: (whole.bytes - part.bytes).max(0.0),
        requests: 0.0,
        variance: (whole.variance - part.variance).max(0.0),
        largest: whole.largest,
    };
    let ratio = (part.bytes / whole.bytes).min(1.0);
    let (of_part, of_rest) = (part.interval(), rest.interval());
    let distance = |of_part: f64, of_rest: f64| {
        (((1.0 - ratio) * of_part).powi(2) + (ratio * of_rest).powi(2)).sqrt() / whole.bytes
    };
    let below = distance(part.bytes - of_part.low, of_rest.high - rest.bytes);
    let above = distance(of_part.high - part.bytes, rest.bytes - of_rest.low);
    // The distances assume that both vary little. A part at its low end beside a rest at its high end is a bound for all others.
    let least = of_part.low / (of_part.low + of_rest.high).max(f64::MIN_POSITIVE);
    let most = if of_part.high > 0.0 { of_part.high / (of_part.high + of_rest.low) } else { 0.0 };
    let percent = |value: f64| (value * 100.0).clamp(0.0, 100.0);
    let low = percent((ratio - below).max(least).min(ratio));
    Some((percent(ratio), Interval { low, high: percent((ratio + above).min(most).max(ratio)) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in 0..1, the same in each run (xorshift).
    struct Chance(u64);

    impl Chance {
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    const MEAN: u64 = 512 << 10;

    fn drawn(chance_of: &mut Chance, sizes: &[u64]) -> Sum {
        let mut sum = Sum::default();
        for &size in sizes {
            if chance_of.next() < chance(size, MEAN) {
                sum.add(size, MEAN);
            }
        }
        sum
    }

    #[test]
    fn sums_are_right_on_average_and_intervals_hold_the_truth() {
        // The mean number of samples: about 1, 5, 40, and a mix with large ones.
        let groups: [Vec<u64>; 4] = [
            vec![1 << 10; 512],
            vec![64; 40_960],
            vec![8 << 10; 2_560],
            [vec![4 << 10; 256], vec![1 << 20; 3], vec![300 << 10; 6]].concat(),
        ];
        let mut chance = Chance(88_172_645_463_325_252);
        for sizes in groups {
            let truth: f64 = sizes.iter().map(|size| *size as f64).sum();
            let (mut sum, mut inside) = (0.0, 0);
            const RUNS: usize = 2_000;
            for _ in 0..RUNS {
                let one = drawn(&mut chance, &sizes);
                sum += one.bytes;
                let Interval { low, high } = one.interval();
                assert!(low <= one.bytes && one.bytes <= high);
                inside += usize::from(one.samples == 0 || (low <= truth && truth <= high));
            }
            let mean = sum / RUNS as f64;
            assert!((mean / truth - 1.0).abs() < 0.08, "{truth}: {mean}");
            assert!(inside >= RUNS * 93 / 100, "{truth}: {inside} of {RUNS}");
        }
    }

    /// The mean grows while a program requests fast: 32 samples of small weight, and then few of a large one.
    #[test]
    fn intervals_hold_the_truth_when_the_mean_grows() {
        const LARGE: u64 = 8 * MEAN;
        let mut chance_of = Chance(7_046_029_254_386_353_131);
        let (first, later) = (vec![8 << 10; 512], vec![8 << 10; 640]);
        let truth = ((first.len() + later.len()) << 13) as f64;
        let (mut inside, mut without) = (0, 0);
        for _ in 0..2_000 {
            let mut sum = drawn(&mut chance_of, &first);
            for &size in &later {
                if chance_of.next() < chance(size, LARGE) {
                    sum.add(size, LARGE);
                }
            }
            let holds = |sum: &Sum| (sum.interval().low..=sum.interval().high).contains(&truth);
            without += usize::from(holds(&sum));
            sum.allow_for(LARGE);
            inside += usize::from(holds(&sum));
        }
        assert!(inside >= 1_900 && without < 1_800, "{inside}, and {without} by the samples' own weights");
    }

    #[test]
    fn shares_hold_the_truth() {
        let mut chance = Chance(2_463_534_242);
        let (part, rest) = (vec![2 << 10; 12_800], vec![16 << 10; 1_600]);
        let mut inside = 0;
        for _ in 0..1_000 {
            let part = drawn(&mut chance, &part);
            let mut whole = drawn(&mut chance, &rest);
            whole.join(&part);
            let (ratio, Interval { low, high }) = share(&part, &whole).expect("a share");
            assert!(low <= ratio && ratio <= high);
            inside += usize::from(low <= 50.0 && 50.0 <= high);
        }
        assert!(inside >= 930, "{inside}");
        assert!(share(&Sum::default(), &Sum::default()).is_none());
        // Many samples of a small mean, and a large one that may have missed something: no reason to believe in nothing.
        let mut part = Sum::default();
        (0..32).for_each(|_| part.add(8 << 10, 16 << 10));
        let mut whole = part;
        (0..4).for_each(|_| whole.add(8 << 10, 16 * MEAN));
        [&mut part, &mut whole].into_iter().for_each(|sum| sum.allow_for(16 * MEAN));
        let (ratio, Interval { low, high }) = share(&part, &whole).expect("a share");
        assert!(0.0 < low && low < ratio && ratio < high && high < 100.0, "{low} {ratio} {high}");
    }

    #[test]
    fn what_is_surely_sampled_is_exact_and_what_was_freed_is_gone() {
        let mut sum = Sum::default();
        sum.add(1 << 33, MEAN);
        sum.add(7, 0);
        assert_eq!(sum.interval(), Interval { low: sum.bytes, high: sum.bytes });
        assert!((sum.bytes - ((1_u64 << 33) + 7) as f64).abs() < 1.0);
        sum.allow_for(MEAN);
        assert_eq!(sum.interval(), Interval { low: sum.bytes, high: sum.bytes }, "exact stays exact");
        sum.add(100, MEAN);
        let Interval { low, high } = sum.interval();
        assert!(low < sum.bytes && high > sum.bytes && low >= sum.sampled as f64);
        for (size, mean) in [(100, MEAN), (7, 0), (1 << 33, MEAN)] {
            sum.remove(size, mean);
        }
        assert_eq!(sum, Sum::default());
        for (size, mean) in [(0, MEAN), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX), (0, 0)] {
            sum.add(size, mean);
            assert!(sum.bytes.is_finite() && sum.interval().high.is_finite(), "{size} {mean}");
        }
    }
}
