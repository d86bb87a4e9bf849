//! Rules for listings of z/TPF, and their advice.
//!
//! ```text
//! Collected -> populations (sets of sizes, layouts) -> every rule for z/TPF -> Advice -> NAME=value
//! ```
//!
//! Invariant: the output is `NAME=value`, never a command: the syntax of ZCTKA is in no public source. Values that these
//! listings do not show are not set, and the advice says so.
//! Not here: how listings are read (`underbar_listing::ztpf`), what-if (`simulate`).

pub(crate) mod avl;
pub(crate) mod contention;
pub(crate) mod population;
pub(crate) mod preallocated;
pub(crate) mod remarks;
#[cfg(test)]
mod tests;

use super::simulate::grouped;
use crate::advice::{Advice, Kind, Line};

/// Lists that every system has: AVL1 to AVL4.
pub(crate) const LISTS: usize = 4;
/// The rule whose proposal can be tried without any change.
pub(crate) const AVL_SIZE: &str = "tpf-avl-size";

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

/// The advice of a rule on a set of sizes or on the system.
pub(crate) fn about(target: &str, kind: Kind, evidence: Vec<Line>) -> Advice {
    Advice { target: target.to_owned(), ..Advice::of_lines(kind, "", evidence, "") }
}
