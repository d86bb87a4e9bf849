//! Chance: the distance to the next sample, and the probability of a request of some size to be one.
//!
//! ```text
//! samples are points on the line of all bytes that a thread requests: in each byte with the same probability, whatever was before
//!
//! distance to the next point    -mean * ln(u), rounded up
//! a request of s bytes          holds a point with the probability p(s) = 1 - exp(-s/mean)
//! ```
//!
//! Functions of mathematics come from libraries that are not here, so the two that are needed are series.
//!
//! Invariant: a probability is in 0..=1, a distance at least 1.
//! Not here: what is done at a point (`heap::sampled`).

use core::arch::asm;
use core::hint::black_box;

/// Numbers between 0 and 1 are multiples of 1/STEPS: as many as a number of 64 bits with a point tells apart.
const STEPS: u64 = 1 << 53;

/// Numbers of one thread: xorshift64*, whose state is never 0.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins at a seed.
    pub const fn new(seed: u64) -> Self {
        // Seeds that differ in a few bits give states that differ in many (splitmix64).
        let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((mixed ^ mixed >> 31) | 1 << 63)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number above 0 and at most 1: a whole number of [`STEPS`].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / STEPS as f64
    }

    /// Bytes up to the next point, the byte with the point included.
    pub fn distance(&mut self, mean: u64) -> u64 {
        quietly(|| {
            let exact = -ln(self.unit()) * mean as f64;
            let down = exact as u64;
            down + u64::from((down as f64) < exact || down == 0)
        })
    }

    /// Whether a request of so many bytes is a sample, if it would get a cell that holds a point: that is in the bytes that were requested,
    /// or behind them.
    pub fn is_chosen(&mut self, bytes: u64, cell: u64, mean: u64) -> bool {
        bytes >= cell || quietly(|| self.chance(probability(bytes, mean) / probability(cell, mean)))
    }

    /// True with that probability.
    fn chance(&mut self, probability: f64) -> bool {
        self.unit() <= probability
    }
}

/// The probability of a request of so many bytes to hold a point: 1 - exp(-bytes/mean).
fn probability(bytes: u64, mean: u64) -> f64 {
    /// Beyond it the probability is 1 as a number of 64 bits.
    const CERTAIN: f64 = 40.0;
    let mut part = bytes as f64 / mean.max(1) as f64;
    if part >= CERTAIN {
        return 1.0;
    }
    // 1 - exp(-t) of a half is squared to that of the whole.
    let mut halves = 0;
    while part > 0.25 {
        part /= 2.0;
        halves += 1;
    }
    let (mut sum, mut term) = (0.0, 1.0);
    for number in 1..12 {
        term *= part / f64::from(number);
        sum += if number % 2 == 1 { term } else { -term };
    }
    for _ in 0..halves {
        sum *= 2.0 - sum;
    }
    sum.clamp(0.0, 1.0)
}

/// Calculates with the usual rounding and without traps, whatever the program has set, and leaves no flags in its register.
#[inline(never)]
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static USUAL: u32 = 0x1f80;
    let mut before = 0_u32;
    // SAFETY: stores and loads the register of floating-point control, whose value is valid; the memory is this function's. Each is a
    // barrier to memory, and what is calculated depends on memory behind it.
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack));
        asm!("ldmxcsr [{}]", in(reg) &raw const USUAL, options(nostack));
    }
    let result = black_box(black_box(work)());
    // SAFETY: as above.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const before, options(nostack)) };
    result
}

/// The natural logarithm of a number above 0 and at most 1, not denormal.
fn ln(number: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    const ONE: u64 = 1023 << 52;
    let bits = number.to_bits();
    let mut exponent = f64::from((bits >> 52) as i32 - 1023);
    let mut fraction = f64::from_bits(bits & FRACTION | ONE);
    if fraction > core::f64::consts::SQRT_2 {
        (fraction, exponent) = (fraction / 2.0, exponent + 1.0);
    }
    // ln((1 + s) / (1 - s)) = 2 (s + s^3/3 + s^5/5 ...), with |s| below 0.172.
    let part = (fraction - 1.0) / (fraction + 1.0);
    let square = part * part;
    let (mut sum, mut power) = (0.0, part);
    for number in 0..10 {
        sum += power / f64::from(2 * number + 1);
        power *= square;
    }
    2.0 * sum + exponent * core::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_as_good_as_the_library() {
        for step in 1..=4000_u32 {
            let number = f64::from(step) / 4000.0;
            assert!((ln(number) - number.ln()).abs() < 1e-14 * (1.0 + number.ln().abs()), "{number}");
        }
        let smallest = 1.0 / (1_u64 << 53) as f64;
        assert!((ln(smallest) - smallest.ln()).abs() < 1e-13);
        for bytes in [1, 16, 100, 4095, 4096, 10_000, 100_000, 1 << 20, 1 << 40] {
            let exact = -(-(bytes as f64) / 4096.0).exp_m1();
            let found = probability(bytes, 4096);
            assert!((found - exact).abs() <= 1e-14 * exact, "{bytes}: {found} {exact}");
        }
        assert_eq!(
            (probability(0, 10), probability(u64::MAX, 1), probability(5, 0)),
            (0.0, 1.0, probability(5, 1))
        );
    }

    #[test]
    fn the_programs_flags_and_rounding_stay() {
        let control = || {
            let mut word = 0_u32;
            // SAFETY: as in `quietly`.
            unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack)) };
            word
        };
        // Rounding down, no flags, a trap for each inexact result.
        let (own, strict) = (control(), 0x2f80_u32 & !(1 << 12));
        // SAFETY: as in `quietly`.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const strict, options(nostack)) };
        let distance = Random::new(7).distance(1000);
        let after = control();
        // SAFETY: as in `quietly`.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const own, options(nostack)) };
        assert_eq!((after, distance), (strict, Random::new(7).distance(1000)));
    }

    #[test]
    fn distances_have_their_mean_and_are_above_zero() {
        const COUNT: u64 = 100_000;
        let mut random = Random::new(7);
        for mean in [1, 16, 4096, 512 << 10] {
            let distances: std::vec::Vec<u64> = (0..COUNT).map(|_| random.distance(mean)).collect();
            assert!(distances.iter().all(|&distance| distance > 0));
            // Of a geometric distribution with p = 1 - exp(-1/mean).
            let expected = 1.0 / probability(1, mean);
            let found = distances.iter().sum::<u64>() as f64 / COUNT as f64;
            assert!(
                (found / expected - 1.0).abs() < 5.0 / (COUNT as f64).sqrt(),
                "{mean}: {found} {expected}"
            );
        }
    }

    /// A chance is as frequent as a point among so many bytes.
    #[test]
    fn a_chance_is_as_frequent_as_a_point() {
        const COUNT: u32 = 100_000;
        let mut random = Random::new(8);
        let p = probability(1000, 4096);
        let by_chance = (0..COUNT).filter(|_| random.chance(p)).count() as f64;
        let by_distance = (0..COUNT).filter(|_| random.distance(4096) <= 1000).count() as f64;
        let (expected, error) = (p * f64::from(COUNT), (p * (1.0 - p) * f64::from(COUNT)).sqrt());
        for found in [by_chance, by_distance] {
            assert!((found - expected).abs() < 4.0 * error, "{found} {expected}");
        }
        assert!(!random.chance(0.0) && random.chance(1.0));
    }

    #[test]
    fn seeds_next_to_each_other_begin_apart() {
        let firsts: std::collections::HashSet<u64> =
            (0..1000).map(|seed| Random::new(seed).next() >> 44).collect();
        assert!(firsts.len() > 950, "{}", firsts.len());
    }
}
