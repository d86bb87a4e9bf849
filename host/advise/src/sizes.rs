//! Sizes: rounded for options, written as people write them, limited by the region, and judged by their use.

use underbar_listing::Region;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// At this size and above, no size grows unless the region is known.
pub const LINE: u64 = 16 * M;

/// The use of a set size, in percent, that counts as good: with less use, the size is lowered.
pub const WELL_USED: u64 = 62;

/// Whether enough of the set size is used, so that it need not be lowered.
pub fn is_well_used(used: u64, set: u64) -> bool {
    u128::from(used) * 100 >= u128::from(set) * u128::from(WELL_USED)
}

/// Rounds up to four binary digits and whole pages: at most an eighth more.
pub fn sensible(bytes: u64) -> u64 {
    const PAGE: u64 = 4096;
    let step = (1_u64 << bytes.max(1).ilog2().saturating_sub(3)).max(PAGE);
    bytes.max(1).checked_next_multiple_of(step).unwrap_or(u64::MAX - (PAGE - 1))
}

/// Rounds up to four binary digits after the first and to `unit`.
pub fn rounded(bytes: u64, unit: u64) -> u64 {
    let step = (1_u64 << bytes.max(1).ilog2().saturating_sub(4)).max(unit);
    bytes.max(1).checked_next_multiple_of(step).unwrap_or(bytes)
}

/// `100M`, `32K`, `4792`.
pub fn written(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(M) => format!("{}M", bytes / M),
        _ if bytes.is_multiple_of(K) => format!("{}K", bytes / K),
        _ => bytes.to_string(),
    }
}

/// The storage available above the line under this REGION; None if it requests all there is.
///
/// REGION of 16M or less is for storage below the line and leaves 32M above. Up to 32M there are also 32M above. A larger
/// value is the limit above the line.
pub fn above_the_line(region: &Region) -> Option<u64> {
    match region.region {
        None | Some(0) => None,
        Some(bytes) => Some(bytes.max(32 * M)),
    }
}

/// A size as in options: digits, optionally followed by K, M, G or T in either case; None if it is none.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[at..] {
        "" => 1,
        "K" | "k" => K,
        "M" | "m" => M,
        "G" | "g" => 1 << 30,
        "T" | "t" => 1 << 40,
        _ => return None,
    };
    text[..at].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_and_short() {
        assert_eq!(written(rounded(102_403_632, 4096)), "100M");
        assert_eq!(written(rounded(1, 4096)), "4K");
        assert_eq!(written(4_792), "4792");
        for bytes in [0, 1, 4_792, 32 << 10, 104 << 20, 5 << 30] {
            assert_eq!(size(&written(bytes)), Some(bytes));
        }
        assert_eq!((size("1OM"), size(""), size("KEEP"), size("4g")), (None, None, None, Some(4 << 30)));
    }

    #[test]
    fn sensible_sizes_are_close_and_few() {
        let check = |n, expected| assert_eq!(sensible(n), expected, "{n}");
        check(0, 4096);
        check(3_744, 4096);
        check(4097, 8192);
        check(915_832_832, 896 << 20);
        check(64 << 20, 64 << 20);
        for shift in 16..60 {
            for n in [(1_u64 << shift) + 1, (3 << (shift - 1)) - 5] {
                let rounded = sensible(n);
                assert!(
                    rounded >= n && rounded - n <= n / 8 && rounded.is_multiple_of(4096),
                    "{n} {rounded}"
                );
                assert_eq!(sensible(rounded), rounded);
            }
        }
        assert!(sensible(u64::MAX).is_multiple_of(4096));
    }

    #[test]
    fn what_is_well_used_is_the_same_everywhere() {
        let check = |used, set, expect| assert_eq!(is_well_used(used, set), expect, "{used} of {set}");
        check(62, 100, true);
        check(61, 100, false);
        check(619, 1000, false);
        check(u64::MAX / 2, u64::MAX, false);
        check(u64::MAX, u64::MAX, true);
        check(0, 0, true);
    }
}
