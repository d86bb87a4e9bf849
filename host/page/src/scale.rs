//! Scales of pictures: places in percent of the width, round steps for bytes and times.
//!
//! Pictures are as wide as the page lets them be. So places are in percent, heights in pixels, and lines are drawn in an inner picture of
//! 1000 by 1000 units that is stretched.

/// A part of a whole in percent, between 0 and 100, with three digits behind the point.
pub fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 { (100.0 * part / whole).clamp(0.0, 100.0) } else { 0.0 };
    short(share)
}

/// A number with at most three digits behind the point.
pub fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number with at most one digit behind the point.
pub fn one_digit(number: f64) -> String {
    let text = format!("{number:.1}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Values at which a scale of bytes has lines: powers of two, two to five of them.
pub fn byte_steps(most: u64) -> Vec<u64> {
    let mut step = 1_u64;
    while step < u64::MAX / 8 && most / step >= 5 {
        step *= 2;
    }
    (1..=most / step).map(|at| at * step).collect()
}

/// Values at which a scale of times has lines: 1, 2, 5 times a power of ten, or whole parts of minutes and hours; at most six.
pub fn time_steps(most_ns: u64) -> Vec<u64> {
    const SECOND: u64 = 1_000_000_000;
    let small = (3..10).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let large = [10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];
    let steps = small.chain(large.into_iter().map(|seconds| seconds * SECOND));
    let step = steps.into_iter().find(|step| most_ns / step <= 5).unwrap_or(most_ns / 5 + 1);
    (1..=most_ns / step).map(|at| at * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_short_and_within_the_picture() {
        assert_eq!(
            (percent(1.0, 3.0), percent(2.0, 1.0), percent(1.0, 0.0)),
            ("33.333".into(), "100".into(), "0".into())
        );
        assert_eq!(short(-0.5), "-0.5");
    }

    #[test]
    fn steps_are_round_and_few() {
        assert_eq!(byte_steps(10 << 20), [4 << 20, 8 << 20]);
        assert_eq!(byte_steps(3), [1, 2, 3]);
        assert!(byte_steps(u64::MAX).len() <= 9 && byte_steps(0).is_empty());
        assert_eq!(time_steps(3_600_000_000_000).len(), 4);
        assert_eq!(
            time_steps(2_500_000_000),
            [500_000_000, 1_000_000_000, 1_500_000_000, 2_000_000_000, 2_500_000_000]
        );
        assert!(time_steps(u64::MAX).len() <= 6 && time_steps(0).is_empty());
    }
}
