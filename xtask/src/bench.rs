//! `cargo xtask bench`: builds the benchmark and the command, then hands over to the runner in `bench/`.

use crate::steps::{self, cargo, step, succeeds, target};

/// Builds and runs; true when the runner ended well.
pub fn command(words: &[&str]) -> bool {
    let build = ["build", "--release", "--package", "underbar-bench", "--package", "underbar-cli"];
    if !step("cargo build --release", || succeeds(&mut cargo(&build))) {
        return false;
    }
    let runner = target().join("release/underbar-bench");
    succeeds(&mut steps::command(&runner.display().to_string(), words))
}
