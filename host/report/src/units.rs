//! Numbers for people: bytes, times and counts in few characters; and sizes as options write them.
//!
//! Exact figures are in JSON and in the Language Environment layout. K, M, G are powers of 1024.

use underbar_ledger::Unit;

/// A figure in its unit, for people.
#[must_use]
pub fn figure(unit: Unit, figure: u64) -> String {
    match unit {
        Unit::Bytes => bytes(figure),
        Unit::Count => count(figure),
        Unit::Nanoseconds => nanoseconds(figure),
    }
}

/// Three significant digits: `1.21`, `12.1`, `812`.
fn three_digits(value: f64) -> String {
    let places = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.places$}")
}

/// Bytes, such as `812 MiB`; exact below 1 KiB.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    // Whole numbers of a unit lose their zeros: 32 KiB, not 32.0 KiB.
    let text = if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) };
    format!("{text} {}", UNITS[unit])
}

/// A time, such as `1.45 s`, `12.3 ms`, `3 min 20 s`.
#[must_use]
pub fn nanoseconds(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_500 => format!("{} us", three_digits(ns as f64 / 1e3)),
        999_500..999_500_000 => format!("{} ms", three_digits(ns as f64 / 1e6)),
        _ if seconds < 120 => format!("{} s", three_digits(ns as f64 / 1e9)),
        _ if seconds < 7_200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", count(seconds / 3_600), seconds / 60 % 60),
    }
}

/// A count with a comma after each three digits: `50,002`.
#[must_use]
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: `1 segment`, `3 segments`.
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A size as options write it, exact: `64M`, `4K`, `4080`.
#[must_use]
pub fn size(bytes: u64) -> String {
    for (shift, letter) in [(30, 'G'), (20, 'M'), (10, 'K')] {
        if bytes != 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{letter}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// Reads a size as options write it: `n`, `nK`, `nM`, `nG`. None for any other text, also AUTO.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A part of a whole in percent, rounded down, so that 100 means all.
#[must_use]
pub fn percent(part: u64, whole: u64) -> u64 {
    if whole == 0 { 0 } else { u64::try_from(u128::from(part) * 100 / u128::from(whole)).unwrap_or(u64::MAX) }
}

/// A part in words: `13 %`, or `below 1 %` if it is more than nothing and less than a hundredth.
#[must_use]
pub fn share(part: u64, whole: u64) -> String {
    match percent(part, whole) {
        0 if part > 0 && whole > 0 => "below 1 %".to_owned(),
        share => format!("{share} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_digits_and_a_unit() {
        let check = |n, text: &str| assert_eq!(bytes(n), text, "{n}");
        check(0, "0 B");
        check(1023, "1023 B");
        check(1024, "1 KiB");
        check(204_184, "199 KiB");
        check(32 << 10, "32 KiB");
        check(819_229_056, "781 MiB");
        check((1 << 20) - 1, "1.00 MiB");
        check(3 << 29, "1.50 GiB");
        check(u64::MAX, "16 EiB");
    }

    #[test]
    fn times_change_their_unit() {
        let check = |n, text: &str| assert_eq!(nanoseconds(n), text, "{n}");
        check(999, "999 ns");
        check(1_234, "1.23 us");
        check(999_600, "1.00 ms");
        check(12_340_000, "12.3 ms");
        check(999_900_000, "1.00 s");
        check(1_450_000_000, "1.45 s");
        check(119_990_000_000, "120 s");
        check(200_000_000_000, "3 min 20 s");
        check(7_260_000_000_000, "2 h 1 min");
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!([count(0), count(999), count(1_000), count(50_002)], ["0", "999", "1,000", "50,002"]);
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(
            [counted(1, "thread", "threads"), counted(0, "thread", "threads")],
            ["1 thread", "0 threads"]
        );
    }

    #[test]
    fn sizes_are_exact_both_ways() {
        for (n, text) in
            [(0, "0"), (4080, "4080"), (4096, "4K"), (3 << 20, "3M"), (5 << 30, "5G"), (1 << 40, "1024G")]
        {
            assert_eq!(size(n), text);
            assert_eq!(parse_size(text), Some(n));
        }
        assert_eq!(parse_size(" 64m "), Some(64 << 20));
        for wrong in ["", "K", "AUTO", "-1", "1T", "1é", "99999999999999999999", "17179869184G"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn percent_never_says_all_too_early() {
        assert_eq!(
            [share(0, 9), share(1, 200), share(1, 100), share(3, 0)],
            ["0 %", "below 1 %", "1 %", "0 %"]
        );
        assert_eq!([percent(999, 1000), percent(1, 0), percent(u64::MAX, u64::MAX)], [99, 0, 100]);
    }
}
