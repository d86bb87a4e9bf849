//! The numbers of every workload: sizes and orders from the generator that fixes the order of runs, too (`underbar_verdict`).
//!
//! Invariant: equal seeds give equal sequences, so that every allocator is asked for the same sizes.

use underbar_verdict::random::Random as Generator;

/// A sequence of pseudo-random numbers that its seed decides.
#[derive(Debug, Clone)]
pub struct Random(Generator);

impl Random {
    /// A sequence that starts at `seed`; any seed is valid, zero too.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Generator::new(seed))
    }

    /// The next number, from the whole range of 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `bound - 1`; `bound` must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        debug_assert!(bound > 0);
        // The multiplication takes the high bits; the bias is below 2^-32 for the bounds used here.
        ((u128::from(self.draw()) * bound as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// A size from `low` to `high` whose logarithm is spread evenly: small sizes are as frequent as in real programs.
    pub fn size_between(&mut self, low: usize, high: usize) -> usize {
        let octaves = (high / low).ilog2() as usize;
        let floor = low << self.below(octaves.max(1));
        (floor + self.below(floor)).min(high)
    }

    /// Puts `items` into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The first three numbers of SplitMix64 for seed 1234567, from the reference implementation.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.draw(), 6_457_827_717_110_365_317);
        assert_eq!(random.draw(), 3_203_168_211_198_807_973);
        assert_eq!(random.draw(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut random = Random::new(1);
        let drawn: Vec<usize> = (0..10_000).map(|_| random.between(3, 7)).collect();
        assert_eq!(drawn.iter().min(), Some(&3));
        assert_eq!(drawn.iter().max(), Some(&7));
        assert!((0..10_000).all(|_| (16..=32_768).contains(&random.size_between(16, 32_768))));
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<usize> = (0..100).collect();
        Random::new(5).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
