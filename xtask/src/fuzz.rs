//! `cargo xtask fuzz`: every parser against bytes that nobody wrote, guided by the code that they reach.
//!
//! ```text
//! fuzz/fuzz_targets/*.rs ── built with the compiler's coverage counters ──> one program each, libFuzzer inside
//! seeds (listings and programs of the repository) ──┐
//! what earlier runs found worth keeping ────────────┴──> program, for so many seconds ──> held, or an input that breaks it
//! ```
//!
//! `cargo fuzz` does the same with a nightly compiler and its sanitizers; these flags are stable, and every check of Rust's
//! own is on, overflow too.
//!
//! Not here: the targets, and what they assert (`fuzz/`).

use crate::steps::{Sum, cargo, on_path, root, step, succeeds, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// Seconds for each target in `cargo xtask ci`: enough to read all seeds and what once broke a target, and to go on a little.
pub const IN_CI: u32 = 5;
/// Seconds for each target in `cargo xtask fuzz`.
const BY_HAND: u32 = 60;
/// For a build of its own, apart from build scripts.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// The counters that libFuzzer reads, and comparisons, from which it learns words.
const FLAGS: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "--cfg=fuzzing",
];

/// Runs the targets that are named, or all, and prints the closing line; true when green.
pub fn command(words: &[&str]) -> Result<bool, String> {
    let (mut seconds, mut chosen) = (BY_HAND, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--seconds" => {
                let number = words.next().and_then(|text| text.parse().ok());
                seconds = number.ok_or("--seconds needs a number")?;
            }
            name if targets().iter().any(|target| target == name) => chosen.push(name.to_owned()),
            other => {
                return Err(format!("no flag and no target: {other}; targets: {}", targets().join(", ")));
            }
        }
    }
    let mut sum = Sum::default();
    check(seconds, &chosen, &mut sum);
    Ok(sum.close(true))
}

/// Builds the targets, runs each for so many seconds, as many at a time as there are processors, and adds to `sum`.
pub fn check(seconds: u32, chosen: &[String], sum: &mut Sum) {
    if on_path("c++").is_none() {
        return sum.skip("fuzzing; libFuzzer is built with a C++ compiler (apt-get install g++)".to_owned());
    }
    let targets = if chosen.is_empty() { targets() } else { chosen.to_vec() };
    let words = ["build", "--quiet", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"];
    let mut build = cargo(&words);
    build.args(["--target", TRIPLE]).env("RUSTFLAGS", FLAGS.join(" ")).env("CARGO_TARGET_DIR", folder());
    build.args(targets.iter().flat_map(|name| ["--bin", name]));
    if !step("fuzz targets", || succeeds(&mut build)) {
        return sum.check("fuzz targets are built", false);
    }
    let all = Mutex::new((targets.into_iter(), sum));
    let next = || all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0.next();
    step(&format!("fuzzing, {seconds} s each"), || {
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(name) = next() {
                        let held = fuzz(&name, seconds);
                        let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        all.1.check(&format!("fuzz {name}"), held);
                    }
                });
            }
        });
    });
}

/// One target; what it says is shown where it broke, else its last line alone.
fn fuzz(name: &str, seconds: u32) -> bool {
    let found = folder().join("found").join(name);
    let broken = folder().join("broken").join("");
    if let Err(error) = fs::create_dir_all(&found).and_then(|()| fs::create_dir_all(&broken)) {
        println!("{}: {error}", found.display());
        return false;
    }
    let mut run = Command::new(folder().join(TRIPLE).join("release").join(name));
    run.arg(format!("-max_total_time={seconds}")).args(["-timeout=20", "-rss_limit_mb=3000", "-verbosity=1"]);
    run.arg(format!("-artifact_prefix={}{name}-", broken.display())).arg(&found).args(seeds(name));
    match run.current_dir(root()).stdin(Stdio::null()).stdout(Stdio::null()).output() {
        Ok(done) if done.status.success() => {
            let text = String::from_utf8_lossy(&done.stderr);
            println!("fuzz {name}: {}", text.lines().next_back().unwrap_or_default());
            true
        }
        Ok(done) => {
            let text = String::from_utf8_lossy(&done.stderr);
            let lines: Vec<&str> = text.lines().collect();
            println!("fuzz {name}: {}\n{}", done.status, lines[lines.len().saturating_sub(40)..].join("\n"));
            false
        }
        Err(error) => {
            println!("fuzz {name}: {error}");
            false
        }
    }
}

/// Folders of files that a target begins with: what it once broke at, and what is in the repository anyhow, or was built.
fn seeds(name: &str) -> Vec<PathBuf> {
    let broke = root().join("fuzz/broke").join(name);
    let other = match name {
        "listing" => Some(root().join("host/listing/tests/listings")),
        "symbols" | "programs" => program_seed(name),
        _ => None,
    };
    [Some(broke), other].into_iter().flatten().filter(|folder| folder.is_dir()).collect()
}

/// A folder with the smallest shared object that the C compiler makes.
fn program_seed(name: &str) -> Option<PathBuf> {
    let seeds = folder().join("seeds").join(name);
    fs::create_dir_all(&seeds).ok()?;
    let source = folder().join(format!("{name}.c"));
    fs::write(&source, "static int one = 1; int *where = &one; int main(void) { return *where; }\n").ok()?;
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-nostdlib", "-s", "-Wl,-z,noseparate-code", "-o"]);
    succeeds(compile.arg(seeds.join("seed.so")).arg(&source)).then_some(seeds)
}

/// Names of the targets.
fn targets() -> Vec<String> {
    let Ok(files) = fs::read_dir(root().join("fuzz/fuzz_targets")) else { return Vec::new() };
    let name = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = files.flatten().filter_map(|file| name(&file.path())).collect();
    names.sort();
    names
}

fn folder() -> PathBuf {
    target().join("fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_is_in_the_manifest() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a manifest");
        for name in targets() {
            assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        }
        assert!(targets().len() > 10);
    }

    #[test]
    fn what_is_no_target_is_said() {
        assert!(command(&["no-such"]).is_err_and(|text| text.contains("options")));
        assert!(command(&["--seconds"]).is_err());
    }
}
