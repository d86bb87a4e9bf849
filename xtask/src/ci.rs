//! `cargo xtask ci`: the checks that a change must pass; `.ci/run` calls it.

use crate::policy::Policy;
use crate::steps::{self, Sum, cargo, on_path, output, root, step, succeeds, target};
use crate::{budget, circles, fuzz, licences, order, paths, test};
use std::path::PathBuf;

/// Runs all checks, then every test with nothing skipped, then every fuzz target for some seconds; true when green.
pub fn command() -> bool {
    let mut sum = Sum::default();
    let release = test::release_aside();
    checks(&mut sum);
    // With the last minute of the release build, which leaves a processor idle.
    let fuzz = fuzz::Build::start(Vec::new());
    test::everything(&test::Flags { require_all: true, quick: false }, Some(release), &mut sum);
    fuzz.check(fuzz::IN_CI, &mut sum);
    sum.close(true)
}

/// The checks that are not tests, cheap ones first.
fn checks(sum: &mut Sum) {
    let fmt = ["fmt", "--all", "--check"];
    sum.check("cargo fmt --check", step("cargo fmt --check", || succeeds(&mut cargo(&fmt))));
    step("paths of this machine", || paths::check(sum));
    step("licences, bans, budget", || dependencies(sum));
    step("advisories", || advisories(sum));
    let words = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    sum.check("clippy", step("cargo clippy --workspace", || succeeds(&mut cargo(&words))));
    step("cargo clippy of the preload library", || preload_clippy(sum));
    step("cargo doc --workspace", || documentation(sum));
}

/// The targets of `[...]` must exist. Links to private items are allowed:
/// the documents are also for those who read the code.
fn documentation(sum: &mut Sum) {
    let mut command =
        cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--locked", "--quiet"]);
    command.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");
    sum.check("cargo doc", succeeds(&mut command));
}

/// Licences, refused crates and the number of crates.
fn dependencies(sum: &mut Sum) {
    let (Some(metadata), Some(policy)) = (steps::metadata(), Policy::read()) else {
        println!("cargo metadata or deny.toml could not be read");
        sum.check("licences", false);
        return;
    };
    if let Some(deny) = cargo_deny() {
        let held = succeeds(&mut steps::command(&deny, &["--workspace", "check", "licenses", "bans"]));
        sum.check("cargo deny check licenses bans", held);
    } else {
        sum.check("licences", licences::check(&metadata, &policy));
        sum.check("refused crates", licences::refused(&metadata, &policy));
    }
    budget::check(sum);
    order::check(&metadata, sum);
    circles::check(sum);
}

/// Known vulnerabilities, by RustSec's database; cargo-deny, which reads it, is built if it is missing. If the
/// database cannot be reached, a message in capitals says so, here and in the last line; this is no skipped test, since a project
/// must be testable without a network.
fn advisories(sum: &mut Sum) {
    const DATABASE: &str = "https://github.com/RustSec/advisory-db";
    // Without a prompt for a name and a password.
    let words = ["ls-remote", "--quiet", "--exit-code", DATABASE, "HEAD"];
    let is_reached = succeeds(steps::command("git", &words).env("GIT_TERMINAL_PROMPT", "0"));
    if !is_reached {
        sum.not_checked("advisories: the RustSec database cannot be reached");
    } else if let Some(deny) = cargo_deny().or_else(install_cargo_deny) {
        let held = succeeds(&mut steps::command(&deny, &["--workspace", "check", "advisories"]));
        sum.check("cargo deny check advisories", held);
        return;
    } else {
        sum.check("cargo install cargo-deny", false);
    }
    println!("checked instead: the crates that deny.toml refuses, and the versions that are there twice");
    duplicates();
}

/// Cargo-deny: the one on the path, or one that an earlier run built.
fn cargo_deny() -> Option<String> {
    let path =
        on_path("cargo-deny").or_else(|| Some(tools().join("bin/cargo-deny")).filter(|path| path.is_file()));
    path.map(|path| path.to_string_lossy().into_owned())
}

fn install_cargo_deny() -> Option<String> {
    let mut install =
        cargo(&["install", "--quiet", "--locked", "cargo-deny", "--version", "^0.20", "--root"]);
    succeeds(install.arg(tools())).then(cargo_deny).flatten()
}

fn tools() -> PathBuf {
    root().join(target()).join("tools")
}

/// Names crates that are present in two versions; one of them is often old. This is no failure, but is always printed.
fn duplicates() {
    let words = ["tree", "--duplicates", "--locked", "--depth", "0", "--prefix", "none"];
    match output(&mut cargo(&words)) {
        Some(text) if text.lines().any(|line| !line.trim().is_empty()) => {
            println!("twice in the tree:\n{text}")
        }
        Some(_) => println!("no crate is in the command's tree twice"),
        None => println!("NOT CHECKED: crates that are there twice; cargo tree failed"),
    }
}

/// With its feature `artifact` the preload library is another program: with C symbols and a panic handler, so it is checked only
/// under the profile in which a panic aborts.
fn preload_clippy(sum: &mut Sum) {
    let has_artifact = steps::metadata().is_some_and(|metadata| {
        metadata["packages"].as_array().is_some_and(|packages| {
            packages.iter().any(|package| {
                package["name"] == "underbar-preload" && !package["features"]["artifact"].is_null()
            })
        })
    });
    if !has_artifact {
        println!("underbar-preload has no feature `artifact`: the workspace's clippy has seen all of it");
        return;
    }
    let words =
        ["clippy", "--locked", "--profile", "preload", "-p", "underbar-preload", "--features", "linked"];
    let mut command = cargo(&words);
    command.args(["--", "-D", "warnings"]);
    sum.check("clippy of the preload library", succeeds(&mut command));
}
