//! `cargo xtask try-libraries | try-listings | try-programs`: builds the program of `corpus/` and runs it.

use std::process::Command;

use crate::steps::{cargo, succeeds, target};

/// Builds and runs it, in the folder of the caller; true when it ended well.
pub fn command(words: &[&str]) -> bool {
    let is_built = succeeds(&mut cargo(&["build", "--quiet", "--package", "underbar-corpus"]));
    is_built && succeeds(Command::new(target().join("debug/underbar-corpus")).args(words))
}
