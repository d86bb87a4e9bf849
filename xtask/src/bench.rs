//! `cargo xtask bench`: builds the benchmark and the command, then runs the runner in `bench/`.

use crate::steps::{self, cargo, step, succeeds, target};

/// Builds and runs; true when the runner ended well.
pub fn command(words: &[&str]) -> bool {
    let build = ["build", "--release", "--package", "underbar-bench", "--package", "underbar-cli"];
    if !step("cargo build --release", || succeeds(&mut cargo(&build))) {
        return false;
    }
    let runner = target().join("release/underbar-bench");
    let mut run = steps::command(&runner.display().to_string(), words);
    // Cargo sets this for the programs that it runs: the loader would search five more folders for the libraries of each
    // started program, which takes a sixth of a millisecond that no user has.
    run.env_remove("LD_LIBRARY_PATH");
    succeeds(&mut run)
}
