//! Numbers for tests of the heap, by a seed: the same in each run.

/// A generator whose numbers depend on the seed alone.
pub struct Random(pub u64);

impl Random {
    /// A number below this limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// A size: mostly of up to `small` bits, one in so many of up to `large` ones.
    pub fn size(&mut self, small: usize, one_in: usize, large: usize) -> usize {
        let bits = if self.below(one_in) == 0 { large } else { small };
        let limit = 1 << self.below(bits);
        self.below(limit) + 1
    }
}
