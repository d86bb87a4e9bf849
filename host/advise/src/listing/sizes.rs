//! Sizes: rounded as options want them, written as people do, and what the region allows.

use underbar_listing::Region;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// At this size and above, nothing grows without a region in sight.
pub const LINE: u64 = 16 * M;

/// Rounds up to four binary digits behind the first and to `unit`.
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

/// What may be taken above the line under this REGION; None where it asks for all there is.
///
/// REGION of 16M or less is for below the line and leaves 32M above; up to 32M the same; more is for above.
pub fn above_the_line(region: &Region) -> Option<u64> {
    match region.region {
        None | Some(0) => None,
        Some(bytes) => Some(bytes.max(32 * M)),
    }
}

/// A size as options have it: digits, in any case with K, M, G or T; None where it is none.
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
}
