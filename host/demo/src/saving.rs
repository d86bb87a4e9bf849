//! What a cut saves, in words: microseconds for each line, record or row; of pairs of runs with their interval, of two times without.
//!
//! ```text
//! C++ endl: 0.35 us saved for each line (0.31 to 0.39), 72 % of the time
//! C puts: not worth it here, at most 0.4 % of the time
//! it saves 9.27 us a call, from 9.36 us to 83 ns (99 %)
//! ```
//!
//! Not here: what is cut, and whether counts are right.

use underbar_report::units::nanoseconds;
use underbar_verdict::interval::{Interval, TooFewPairs};

/// Below this share of the time a saving is not worth an option.
const LEAST: f64 = 0.01;

/// A saving in words: `ratio` is the time with the cut to the plain time, which was `plain_ns` for so many units.
pub fn words(
    what: &str,
    unit: &str,
    units: u64,
    plain_ns: u64,
    ratio: &Result<Interval, TooFewPairs>,
) -> String {
    let each = plain_ns as f64 / units.max(1) as f64 / 1_000.0;
    match ratio {
        Err(few) => format!("{what}: no interval, {few}"),
        Ok(ratio) if 1.0 - ratio.low < LEAST => {
            let most = (1.0 - ratio.low).max(0.0) * 100.0;
            format!("{what}: not worth it here, at most {most:.1} % of the time")
        }
        Ok(ratio) if ratio.high >= 1.0 => format!(
            "{what}: undecided, between {:.3} us saved and {:.3} us more for each {unit}",
            (1.0 - ratio.low) * each,
            (ratio.high - 1.0) * each
        ),
        Ok(ratio) => format!(
            "{what}: {:.3} us saved for each {unit} ({:.3} to {:.3}), {:.0} % of the time",
            (1.0 - ratio.ratio) * each,
            (1.0 - ratio.high) * each,
            (1.0 - ratio.low) * each,
            (1.0 - ratio.ratio) * 100.0
        ),
    }
}

/// Nanoseconds saved for each unit: `before` and `after` are the times of all.
pub fn between(unit: &str, units: u64, before: u64, after: u64) -> String {
    let each = |time: u64| time / units.max(1);
    let saved = before.saturating_sub(after);
    let figures = format!(
        "{} a {unit}, from {} to {}",
        microseconds(each(saved)),
        nanoseconds(each(before)),
        nanoseconds(each(after))
    );
    if (saved as f64) < before as f64 * LEAST {
        return format!("not worth it here: it saves {figures}, less than 1 %");
    }
    format!("it saves {figures} ({} %)", saved.saturating_mul(100) / before.max(1))
}

/// Nanoseconds as microseconds with two digits behind the point.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:02} us", nanoseconds / 1_000, nanoseconds % 1_000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(low: f64, ratio: f64, high: f64) -> String {
        let interval = Interval { ratio, low, high, confidence: 0.95, pairs: 8 };
        words("endl", "line", 10_000, 5_000_000, &Ok(interval))
    }

    #[test]
    fn a_saving_has_its_interval_and_its_share() {
        assert_eq!(
            of(0.2, 0.3, 0.4),
            "endl: 0.350 us saved for each line (0.300 to 0.400), 70 % of the time"
        );
        assert_eq!(
            of(0.9, 1.0, 1.1),
            "endl: undecided, between 0.050 us saved and 0.050 us more for each line"
        );
    }

    #[test]
    fn less_than_a_hundredth_is_not_worth_it() {
        assert_eq!(of(0.992, 0.995, 0.999), "endl: not worth it here, at most 0.8 % of the time");
        assert_eq!(of(1.1, 1.2, 1.3), "endl: not worth it here, at most 0.0 % of the time");
        let few = Err(TooFewPairs { have: 1, need: 6 });
        assert!(words("endl", "line", 1, 1, &few).starts_with("endl: no interval, "));
    }

    #[test]
    fn savings_have_microseconds_and_small_ones_a_warning() {
        assert_eq!(
            between("line", 1_000, 5_000_000, 1_250_000),
            "it saves 3.75 us a line, from 5.00 us to 1.25 us (75 %)"
        );
        assert!(
            between("line", 10, 1_000_000, 995_000).starts_with("not worth it here: it saves 0.50 us a line")
        );
        assert!(between("line", 0, 0, 7).starts_with("it saves 0.00 us"));
        assert!(between("line", 10, 100, 200).starts_with("not worth it here: "));
    }
}
