//! A small deterministic source of numbers, for the order of runs.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood 2014): one 64-bit word of state, every seed good.
//! It is written here because the order of runs must be the same on every machine and in every version:
//! a reader who has the seed that a verdict prints can lay out the same plan again.
//!
//! Not here: entropy. The caller brings the seed, so this crate knows no clock and no kernel.

/// A stream of numbers fixed by its seed.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed`. Every value is a good seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound - 1`, each equally likely; 0 where `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Draws above the last whole multiple of `bound` would favour small numbers: draw again.
        let last_whole = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.next_u64();
            if draw < last_whole {
                return draw % bound;
            }
        }
    }

    /// Puts `items` in random order, each order equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_published_generator() {
        // First outputs for seed 1234567, as in the reference C code's test vectors.
        let mut random = Random::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_order_of_three_is_equally_likely() {
        let mut random = Random::new(7);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        // 10,000 expected of each, standard deviation 91.
        assert!(seen.values().all(|&n: &i32| (n - 10_000).abs() < 400), "seed 7: {seen:?}");
    }

    #[test]
    fn below_stays_below() {
        let mut random = Random::new(3);
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| random.below(5) < 5));
    }
}
