//! `cargo xtask ci`: what a change must pass, and what `.ci/run` calls.

use crate::policy::Policy;
use crate::steps::{self, Sum, cargo, on_path, output, step, succeeds};
use crate::{budget, fuzz, licences, paths, test};

/// Runs all checks, then every test with nothing skipped, then every fuzz target for a minute; true when green.
pub fn command() -> bool {
    let mut sum = Sum::default();
    checks(&mut sum);
    test::everything(&test::Flags { require_all: true, quick: false }, &mut sum);
    fuzz::check(fuzz::IN_CI, &[], &mut sum);
    sum.close(true)
}

/// The checks that are no tests, cheap ones first.
fn checks(sum: &mut Sum) {
    let fmt = ["fmt", "--all", "--check"];
    sum.check("cargo fmt --check", step("cargo fmt --check", || succeeds(&mut cargo(&fmt))));
    step("paths of this machine", || paths::check(sum));
    step("licences, bans, budget", || dependencies(sum));
    step("advisories", || advisories(sum));
    let words = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    sum.check("clippy", step("cargo clippy --workspace", || succeeds(&mut cargo(&words))));
    step("cargo clippy of the preload library", || preload_clippy(sum));
}

/// Licences, refused crates and the number of crates.
fn dependencies(sum: &mut Sum) {
    let (Some(metadata), Some(policy)) = (steps::metadata(), Policy::read()) else {
        println!("cargo metadata or deny.toml could not be read");
        sum.check("licences", false);
        return;
    };
    if on_path("cargo-deny").is_some() {
        let words = ["deny", "--workspace", "check", "licenses", "bans"];
        sum.check("cargo deny check licenses bans", succeeds(&mut cargo(&words)));
    } else {
        sum.check("licences", licences::check(&metadata, &policy));
        sum.check("refused crates", licences::refused(&metadata, &policy));
    }
    budget::check(sum);
}

/// Known vulnerabilities. They can only be checked against RustSec's database, so where cargo-deny or the database cannot
/// be had this is said in capitals, here and in the last line; it is no skipped test, since a project must be testable
/// without a network.
fn advisories(sum: &mut Sum) {
    if on_path("cargo-deny").is_none() {
        sum.not_checked(
            "advisories of the RustSec database; cargo-deny is not installed (cargo install cargo-deny)",
        );
        println!("checked instead: the crates that deny.toml refuses, and the versions that are there twice");
        duplicates();
        return;
    }
    if succeeds(&mut cargo(&["deny", "--workspace", "fetch", "db"])) {
        let held = succeeds(&mut cargo(&["deny", "--workspace", "check", "--disable-fetch", "advisories"]));
        sum.check("cargo deny check advisories", held);
    } else {
        sum.not_checked("advisories; cargo-deny is there, but the RustSec database could not be fetched");
        duplicates();
    }
}

/// Names crates that are there in two versions; one of them is often old. No failure, but never unseen.
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

/// The preload library is another program with its feature `artifact`: with C symbols and a panic handler, so only
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
        ["clippy", "--locked", "--profile", "preload", "-p", "underbar-preload", "--features", "artifact"];
    let mut command = cargo(&words);
    command.args(["--", "-D", "warnings"]);
    sum.check("clippy of the preload library", succeeds(&mut command));
}
