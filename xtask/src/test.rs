//! `cargo xtask test`: packages, builds, every test of the workspace, the zoo with the release build of the command.
//!
//! A test that cannot run on this machine appends a line to the file that `UNDERBAR_SKIPS` names and returns; the
//! test runner counts that as passed, so it is subtracted from the passed here and counted as skipped. With `--require-all`
//! such a test fails by itself, since `UNDERBAR_REQUIRE_ALL` is set.

use crate::aside::Aside;
use crate::steps::{Sum, cargo, root, step, succeeds, target, watch};
use crate::{miri, models, oracle_tests, packages, release, web};
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
    let models = models::start_aside();
    tests(flags, &["--workspace", "--exclude", "underbar-zoo"], sum);
    tests(flags, &["--package", "underbar", "--features", "debug-locks"], sum);
    step("Miri", || miri::check(sum));
    step("xmi-reader", || oracle_tests::check(sum));
    models::join(models, sum);
    // The zoo apart, since its tests start many processes each: two at a time keep small machines calm.
    let mut zoo = vec!["--package", "underbar-zoo"];
    if web::provide(sum).is_none() {
        zoo.extend(["--", "--skip", "the_page_"]);
    }
    tests(flags, &zoo, sum);
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
