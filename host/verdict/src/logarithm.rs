//! Natural logarithm and exponential function, of our own.
//!
//! Why not those of the standard library: they are the C library's, and lie in a file of their own, `libm.so`. The command
//! would load that file before each run of a program, for two functions that `run` never calls: a tenth of a millisecond of
//! the one or two that a run is longer than the program. So intervals are the same figures everywhere, too.
//!
//! ```text
//! ln x  = e ln 2 + ln(1 + f)      x = 2^e (1 + f), 1 + f between the square roots of 1/2 and 2
//! exp x = 2^k exp r               x = k ln 2 + r, r between the halves of -ln 2 and ln 2
//! ```
//!
//! Invariant: within four units in the last place (tests), exact at ln 1 and exp 0.
//! Known limit: results too small for a normal number are 0.

/// ln 2 in two parts; the first has zeros at its end, so that its product with an exponent is exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// The natural logarithm.
#[must_use]
pub fn ln(x: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    const ONE: u64 = 1023 << 52;
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    if !x.is_normal() {
        return ln(x * 2_f64.powi(54)) - 54.0 * (LN_2[0] + LN_2[1]);
    }
    let mut exponent = (x.to_bits() >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(x.to_bits() & FRACTION | ONE);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln(1 + f) = 2 artanh s, its first term split up so that f itself, which is exact, leads.
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let square = s * s;
    let rest = (1..=12).rev().fold(0.0, |sum, n| (sum + 2.0 / f64::from(2 * n + 1)) * square);
    let half = f * f / 2.0;
    let exponent = f64::from(exponent);
    exponent * LN_2[0] - ((half - (s * (half + rest) + exponent * LN_2[1])) - f)
}

/// The exponential function.
#[must_use]
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 709.78 {
        return f64::INFINITY;
    }
    if x < -708.0 {
        return 0.0;
    }
    // The nearest whole number: a cast cuts off.
    let exponent = (x / std::f64::consts::LN_2 + if x < 0.0 { -0.5 } else { 0.5 }) as i32;
    let k = f64::from(exponent);
    let r = x - k * LN_2[0] - k * LN_2[1];
    // 1 + r + r^2/2! + ... , from its end.
    let series = (2..=14).rev().fold(1.0, |sum, n| 1.0 + sum * r / f64::from(n));
    // In two steps, since 2^1024 is no number.
    (1.0 + r * series) * 2_f64.powi(exponent - 1) * 2.0
}

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
