//! Rules for listings of z/TPF, and their advice.
//!
//! ```text
//! Collected -> populations (sets of sizes, layouts) -> every rule for z/TPF -> Advice -> NAME=value
//! ```
//!
//! Invariant: the output is `NAME=value`, never a command: the syntax of ZCTKA is in no public source. Values that these
//! listings do not show are not set, and the advice says so.
//! Not here: how listings are read (`underbar_listing::ztpf`), what-if (`simulate`).

pub(crate) mod area_use;
pub(crate) mod avl;
pub(crate) mod configuration;
pub(crate) mod contention;
pub(crate) mod displays;
pub(crate) mod population;
pub(crate) mod preallocated;
pub(crate) mod remarks;
#[cfg(test)]
mod tests;
pub(crate) mod unusable;

use crate::advice::{Advice, Kind, Line};

/// Lists that every system has: AVL1 to AVL4.
pub(crate) const LISTS: usize = 4;
/// The rule whose proposal can be tried without any change.
pub(crate) const AVL_SIZE: &str = "tpf-avl-size";

/// The advice of a rule on a set of sizes or on the system.
pub(crate) fn about(target: &str, kind: Kind, evidence: Vec<Line>) -> Advice {
    Advice { target: target.to_owned(), ..Advice::of_lines(kind, "", evidence, "") }
}
