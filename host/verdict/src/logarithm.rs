//! Natural logarithm and exponential function, from the crate `libm`.
//!
//! Why not those of the standard library: they are the C library's, in a file of their own, `libm.so`. The command
//! would load that file before each run of a program, for two functions that `run` never calls: a tenth of a millisecond of
//! the one or two that a run is longer than the program. So intervals are the same figures everywhere, too.
//!
//! Invariant: within four units in the last place (tests), exact at ln 1 and exp 0.

pub use libm::{exp, log as ln};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn check(name: &str, x: f64, ours: f64, theirs: f64) {
        let most = 4.0 * f64::EPSILON * theirs.abs().max(f64::MIN_POSITIVE);
        assert!((ours - theirs).abs() <= most, "{name} {x}: {ours:e}, {theirs:e}");
    }

    #[test]
    fn they_are_those_of_the_c_library() {
        let mut random = Random::new(1);
        for _ in 0..100_000 {
            let bits = random.next_u64();
            let any = f64::from_bits(bits & !(1 << 63));
            if any.is_finite() {
                check("ln", any, ln(any), any.ln());
            }
            let near = 0.5 + (bits >> 11) as f64 / (1_u64 << 53) as f64;
            check("ln", near, ln(near), near.ln());
            let count = (bits >> (bits & 63)) as f64;
            check("ln", count + 1.0, ln(count + 1.0), (count + 1.0).ln());
            let power = (near - 1.0) * 1400.0;
            check("exp", power, exp(power), power.exp());
            check("exp", near - 1.0, exp(near - 1.0), (near - 1.0).exp());
        }
    }

    #[test]
    fn their_ends() {
        assert_eq!((ln(1.0), exp(0.0), exp(-0.0)), (0.0, 1.0, 1.0));
        assert_eq!((ln(0.0), ln(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!((exp(f64::NEG_INFINITY), exp(f64::INFINITY)), (0.0, f64::INFINITY));
        assert!(ln(-1.0).is_nan() && ln(f64::NAN).is_nan() && exp(f64::NAN).is_nan());
        check("ln", 5e-324, ln(5e-324), 5e-324_f64.ln());
        check("ln", f64::MAX, ln(f64::MAX), f64::MAX.ln());
        check("exp", 709.0, exp(709.0), 709_f64.exp());
    }
}
