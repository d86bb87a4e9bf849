//! `cargo xtask test`: packages, builds, every test of the workspace, the zoo with the release build of the command.
//!
//! A test that cannot run on this machine appends a line to the file that `UNDERBAR_SKIPS` names and returns; the
//! test runner counts that as passed, so it is subtracted from the passed here and counted as skipped. With `--require-all`
//! such a test fails by itself, since `UNDERBAR_REQUIRE_ALL` is set.

use crate::aside::Aside;
use crate::steps::{self, Sum, cargo, output, root, step, succeeds, target, watch};
use crate::{miri, oracle_tests, packages, release, web};
use std::fs;

/// The flags of the command.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Flags {
    /// Skipped tests count as failed.
    pub require_all: bool,
    /// No release build and no zoo.
    pub quick: bool,
}

impl Flags {
    /// Parses the arguments; the error is the message for the user.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut flags = Self::default();
        for word in words {
            match *word {
                "--require-all" => flags.require_all = true,
                "--quick" => flags.quick = true,
                _ => return Err(format!("unknown flag {word}; test knows --require-all and --quick")),
            }
        }
        Ok(flags)
    }
}

/// Runs everything and prints the closing line; true when green.
pub fn command(flags: &Flags) -> bool {
    let mut sum = Sum::default();
    let release = (!flags.quick).then(release_aside);
    everything(flags, release, &mut sum);
    sum.close(flags.require_all)
}

/// Starts the release build of the command: its last minute keeps one processor busy, other steps have the other one.
pub fn release_aside() -> Aside {
    Aside::start("release build", &mut cargo(&["build", "--release", "--package", "underbar-cli"]))
}

/// Runs everything and adds to `sum`. Without a release build, neither the models nor the zoo.
pub fn everything(flags: &Flags, release: Option<Aside>, sum: &mut Sum) {
    step("packages", || packages::provide(sum));
    if !step("cargo build --workspace", || succeeds(&mut cargo(&["build", "--workspace"]))) {
        sum.check("cargo build --workspace", false);
        return;
    }
    let Some(release) = release else {
        tests(flags, &["--workspace", "--exclude", "underbar-zoo"], sum);
        sum.skip("the zoo and the release build, by --quick".to_owned());
        return;
    };
    if !release.join().0 {
        sum.check("release build of the command", false);
        return;
    }
    release::check(sum);
    let models = models_aside();
    tests(flags, &["--workspace", "--exclude", "underbar-zoo"], sum);
    tests(flags, &["--package", "underbar", "--features", "debug-locks"], sum);
    step("Miri", || miri::check(sum));
    step("xmi-reader", || oracle_tests::check(sum));
    join_models(models, sum);
    // The zoo apart, since its tests start many processes each: two at a time keep small machines calm.
    let mut zoo = vec!["--package", "underbar-zoo"];
    if web::provide(sum).is_none() {
        zoo.extend(["--", "--skip", "the_page_"]);
    }
    tests(flags, &zoo, sum);
}

/// Faults that the sources plant on request, by package; each test of a model must find them then, and passes if it does.
const PLANTED: [(&str, &[&str]); 3] = [
    ("underbar-sys", &["relaxed_unlock", "forgotten_sleeper"]),
    (
        "underbar-lock",
        &[
            "relaxed_release",
            "forgotten_sleeper",
            "reservation_dropped",
            "common_room",
            "kept_wake",
            "kept_next",
            "forgotten_first",
        ],
    ),
    ("underbar-runtime", &["relaxed_push", "torn_take", "late_leave", "unpinned_close", "late_pin"]),
];

/// Runs the models and prints the closing line; true when green.
pub fn models_command() -> bool {
    let mut sum = Sum::default();
    models(&mut sum);
    sum.close(true)
}

/// Starts this program once more, for the models alone. By its image, not by its path: a build may have put another one there.
fn models_aside() -> Aside {
    Aside::start("models", &mut steps::command("/proc/self/exe", &["models"]))
}

fn join_models(aside: Aside, sum: &mut Sum) {
    let (held, output) = aside.join();
    let failed = sum.failed;
    if !sum.add(&output) || (!held && sum.failed == failed) {
        sum.check("models", false);
    }
}

/// The lock and the lock-free structures, by a model checker that tries every order of events; then with a fault
/// planted, which it must find. They have a target folder of their own, as the atomics of every crate are others.
fn models(sum: &mut Sum) {
    for (package, planted) in PLANTED {
        for planted in [None].into_iter().chain(planted.iter().copied().map(Some)) {
            let name = format!("models of {package}, {}", planted.unwrap_or("as they are"));
            let green = step(&name, || {
                model(package, planted).is_some_and(|path| succeeds(&mut steps::command(&path, &["loom"])))
            });
            sum.check(&name, green);
        }
    }
}

/// Builds a package's models, with a fault or none, and returns the program's path. The fault is passed to that package
/// alone, so that its dependencies are built once. `bench` is Cargo's name for optimised tests.
fn model(package: &str, planted: Option<&str>) -> Option<String> {
    let mut build = cargo(&[
        "rustc",
        "--quiet",
        "--package",
        package,
        "--lib",
        "--profile",
        "bench",
        "--message-format",
        "json",
        "--",
    ]);
    if let Some(fault) = planted {
        build.arg("--cfg").arg(format!("seeded_bug=\"{fault}\""));
    }
    // Seventeen programs, each of which runs for a moment: the shipped program's link options cost more time than they save.
    for (name, value) in [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("DEBUG", "none")] {
        build.env(format!("CARGO_PROFILE_BENCH_{name}"), value);
    }
    build.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", root().join(target()).join("models"));
    let messages = output(&mut build)?;
    let message = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    let path = |message: serde_json::Value| message["executable"].as_str().map(str::to_owned);
    messages.lines().filter_map(message).filter_map(path).next_back()
}

/// One call of `cargo test`; its result lines are added up.
fn tests(flags: &Flags, which: &[&str], sum: &mut Sum) {
    let name = format!("cargo test {}", which.join(" "));
    let skips = target().join("skipped-tests.txt");
    // The list of an earlier run is removed.
    let _ = fs::remove_file(&skips);
    let mut command = cargo(&["test", "--no-fail-fast"]);
    command.args(which).env("UNDERBAR_SKIPS", &skips);
    let release = target().join("release/underbar");
    if !flags.quick && std::env::var_os("UNDERBAR_BIN").is_none() {
        command.env("UNDERBAR_BIN", root().join(release));
    }
    if flags.require_all {
        command.env("UNDERBAR_REQUIRE_ALL", "1");
    }
    let mut found = Counts::default();
    let mut failures = Vec::new();
    let green = step(&name, || {
        watch(&mut command, |line| {
            if let Some(counts) = parse(line) {
                found.add(counts);
            } else if let Some(test) =
                line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
            {
                failures.push(test.to_owned());
            }
        })
    });
    let skipped = fs::read_to_string(&skips).unwrap_or_default();
    let skipped: Vec<&str> = skipped.lines().collect();
    sum.passed += found.passed.saturating_sub(skipped.len());
    sum.failed += found.failed;
    sum.failures.append(&mut failures);
    for reason in skipped {
        sum.skip(reason.to_owned());
    }
    for _ in 0..found.ignored {
        sum.skip(format!("a test marked #[ignore] in {name}"));
    }
    // It did not compile, or a test ended the whole process: there is no result line.
    if !green && found.failed == 0 {
        sum.check(&name, false);
    }
    if green && found.passed == 0 {
        println!("{name} ran no test");
        sum.check(&name, false);
    }
}

/// The numbers of one "test result:" line.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// Reads `test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
fn parse(line: &str) -> Option<Counts> {
    let rest = line.strip_prefix("test result: ")?;
    let (_, numbers) = rest.split_once(". ")?;
    let number = |word: &str| {
        numbers.split("; ").find_map(|part| part.strip_suffix(word)?.trim_end().parse::<usize>().ok())
    };
    Some(Counts { passed: number("passed")?, failed: number("failed")?, ignored: number("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::{Counts, Flags, parse};

    #[test]
    fn result_lines_are_read_and_other_lines_are_not() {
        let line =
            "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(parse(line), Some(Counts { passed: 4, failed: 0, ignored: 1 }));
        let line =
            "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 2 filtered out; finished in 1s";
        assert_eq!(parse(line), Some(Counts { passed: 12, failed: 3, ignored: 0 }));
        assert_eq!(parse("test numbers::result ... ok"), None);
        assert_eq!(parse("test result: cut short"), None);
    }

    #[test]
    fn flags_are_known_or_refused() {
        assert_eq!(Flags::parse(&["--quick"]), Ok(Flags { require_all: false, quick: true }));
        assert!(Flags::parse(&["--fast"]).is_err());
    }
}
