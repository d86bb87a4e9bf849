//! Shares in words.
//!
//! Not here: counts (`underbar_report::units`), sizes in bytes (`crate::sizes`).

/// A share in percent with two decimals, rounded.
pub(crate) fn share(part: u64, all: u64) -> String {
    let all = u128::from(all.max(1));
    let share = (u128::from(part) * 20_000 + all) / (2 * all);
    format!("{}.{:02} %", share / 100, share % 100)
}
