//! `cargo xtask bench`: builds the benchmark and the command, then hands over to the runner in `bench/`.

use crate::steps::{self, cargo, step, succeeds, target};

/// Builds and runs; true when the runner ended well.
pub fn command(words: &[&str]) -> bool {
    let build = ["build", "--release", "--package", "underbar-bench", "--package", "underbar-cli"];
    if !step("cargo build --release", || succeeds(&mut cargo(&build))) {
        return false;
    }
    let runner = target().join("release/underbar-bench");
    let mut run = steps::command(&runner.display().to_string(), words);
    // Set by Cargo for what it runs: the loader would look for the libraries of each program that is started in five folders
    // more, which is a sixth of a millisecond that no user has.
    run.env_remove("LD_LIBRARY_PATH");
    succeeds(&mut run)
}
