//! Counts and shares in words.
//!
//! Not here: sizes in bytes (`crate::sizes`).

/// `1,234,567`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 request`, `5,000 requests`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A share in percent with two decimals, rounded.
pub(crate) fn share(part: u64, all: u64) -> String {
    let all = u128::from(all.max(1));
    let share = (u128::from(part) * 20_000 + all) / (2 * all);
    format!("{}.{:02} %", share / 100, share % 100)
}
