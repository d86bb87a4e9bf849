//! What was saved for each unit of work, and whether it is worth it, in words.
//!
//! Not here: which units there are.

use underbar_report::units::nanoseconds;

/// Below one of so many parts, a saving is not worth it.
const PARTS: u64 = 100;

/// Nanoseconds saved for each unit: `before` and `after` are the times of all.
pub fn saved(unit: &str, units: u64, before: u64, after: u64) -> String {
    let each = |time: u64| time / units.max(1);
    let saved = before.saturating_sub(after);
    let figures = format!(
        "{} a {unit}, from {} to {}",
        microseconds(each(saved)),
        nanoseconds(each(before)),
        nanoseconds(each(after))
    );
    if saved.saturating_mul(PARTS) < before {
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
    use super::saved;

    #[test]
    fn savings_have_microseconds_and_small_ones_a_warning() {
        assert_eq!(
            saved("line", 1_000, 5_000_000, 1_250_000),
            "it saves 3.75 us a line, from 5.00 us to 1.25 us (75 %)"
        );
        assert!(
            saved("line", 10, 1_000_000, 995_000).starts_with("not worth it here: it saves 0.50 us a line")
        );
        assert!(saved("line", 0, 0, 7).starts_with("it saves 0.00 us"));
        assert!(saved("line", 10, 100, 200).starts_with("not worth it here: "));
    }
}
