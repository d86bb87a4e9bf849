//! `cargo xtask models`: the lock and the lock-free structures by a model checker, as they are and with planted faults.
//!
//! ```text
//! one program of models for each package ── as it is ───────────────────────> each model holds
//!   built once, with the checker's atomics └ UNDERBAR_PLANTED=fault, each ──> "found the planted fault ..."
//! ```
//!
//! The programs have a target folder of their own, as the atomics of every crate are others. The faults of a package are those that
//! its sources plant: `planted!(name)`.
//!
//! Invariant: a fault that no model finds is a failure, and so is a package without faults.
//! Not here: the models, next to the code that they check, and how a fault is planted (`crates/sys/src/planted.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::aside::Aside;
use crate::steps::{self, Sum, cargo, output, root, step, target};

/// Packages with models, and their folders. A model of the package must find each fault that its sources plant.
const PACKAGES: [(&str, &str); 4] = [
    ("underbar-sys", "crates/sys"),
    ("underbar-filecache", "crates/filecache"),
    ("underbar-lock", "crates/lock"),
    ("underbar-runtime", "crates/runtime"),
];

/// Runs the models and prints the closing line; true when green.
pub fn command() -> bool {
    let mut sum = Sum::default();
    check(&mut sum);
    sum.close(true)
}

/// Starts this program once more, for the models alone. By its image, not by its path: a build may have put another one there.
pub fn start_aside() -> Aside {
    Aside::start("models", &mut steps::command("/proc/self/exe", &["models"]))
}

/// Adds the results of the models that run in the background.
pub fn join(aside: Aside, sum: &mut Sum) {
    let (held, output) = aside.join();
    let failed = sum.failed;
    if !sum.add(&output) || (!held && sum.failed == failed) {
        sum.check("models", false);
    }
}

/// Builds the program of each package, runs it as it is and once with each fault, and adds to `sum`.
fn check(sum: &mut Sum) {
    for (package, folder) in PACKAGES {
        let mut faults = BTreeSet::new();
        planted_below(&root().join(folder).join("src"), &mut faults);
        let name = format!("models of {package}");
        let Some(program) = step(&format!("{name}: build"), || build(package)) else {
            sum.check(&format!("{name}: build"), false);
            continue;
        };
        if faults.is_empty() {
            sum.check(&format!("{name}: planted faults"), false);
        }
        for fault in [None].into_iter().chain(faults.iter().map(|fault| Some(fault.as_str()))) {
            let name = format!("{name}, {}", fault.unwrap_or("as they are"));
            let held = step(&name, || holds(&program, fault));
            sum.check(&name, held);
        }
    }
}

/// Runs a program of models. Without a fault each model must hold; with one, a model must find it.
fn holds(program: &Path, fault: Option<&str>) -> bool {
    let mut run = steps::command(&program.to_string_lossy(), &["loom"]);
    run.env_remove("UNDERBAR_PLANTED").envs(fault.map(|fault| ("UNDERBAR_PLANTED", fault)));
    let Ok(done) = run.stderr(std::process::Stdio::inherit()).output() else { return false };
    let text = String::from_utf8_lossy(&done.stdout);
    print!("{text}");
    // A package whose models have names without the word would hold without one.
    let has_models = !text.contains("running 0 tests");
    done.status.success() && has_models && fault.is_none_or(|fault| is_found(&text, fault))
}

/// Does a test say that it found the fault? The harness may have begun a line before.
fn is_found(text: &str, fault: &str) -> bool {
    let sentence = format!("found the planted fault {fault}");
    text.lines().any(|line| line.ends_with(&sentence))
}

/// The faults that the sources below a folder plant.
fn planted_below(folder: &Path, faults: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            planted_below(&path, faults);
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && !path.ends_with("sys/src/planted.rs")
        {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let names = text.split("planted!(").skip(1).filter_map(|rest| rest.split(')').next());
            faults.extend(names.map(str::to_owned));
        }
    }
}

/// Builds a package's models and returns the program's path. `bench` is Cargo's name for optimised tests.
fn build(package: &str) -> Option<PathBuf> {
    let words = ["rustc", "--quiet", "--package", package, "--lib", "--profile", "bench"];
    let mut build = cargo(&words);
    build.args(["--message-format", "json-render-diagnostics"]);
    // Each program runs for a moment: the shipped program's link options cost more time than they save.
    for (name, value) in [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("DEBUG", "none")] {
        build.env(format!("CARGO_PROFILE_BENCH_{name}"), value);
    }
    build.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", root().join(target()).join("models"));
    let messages = output(&mut build)?;
    let message = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    let path = |message: serde_json::Value| message["executable"].as_str().map(PathBuf::from);
    messages.lines().filter_map(message).filter_map(path).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sentence_about_that_fault_counts() {
        assert!(is_found("test a ... found the planted fault torn_take\nok\n", "torn_take"));
        assert!(!is_found("found the planted fault torn_take_too\n", "torn_take"));
        assert!(!is_found("test result: ok. 4 passed\n", "torn_take"));
    }

    #[test]
    fn the_faults_of_a_package_are_those_that_its_sources_plant() {
        let of = |folder: &str| {
            let mut faults = BTreeSet::new();
            planted_below(&root().join(folder).join("src"), &mut faults);
            faults
        };
        assert!(PACKAGES.iter().all(|(_, folder)| of(folder).len() >= 2));
        assert_eq!(of("crates/sys").into_iter().collect::<Vec<_>>(), ["forgotten_sleeper", "relaxed_unlock"]);
        assert!(of("crates/options").is_empty());
    }
}
