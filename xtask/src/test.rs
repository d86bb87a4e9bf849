//! `cargo xtask test`: packages, builds, every test of the workspace, the zoo with the release build of the command.
//!
//! A test that cannot run on this machine appends a line to the file that `UNDERBAR_SKIPS` names and returns; the
//! test runner counts that as passed, so it is subtracted from the passed here and counted as skipped. With `--require-all`
//! such a test fails by itself, since `UNDERBAR_REQUIRE_ALL` is set.

use crate::aside::Aside;
use crate::steps::{Sum, cargo, root, step, target};
use crate::test_programs::Programs;
use crate::{miri, models, oracle_tests, packages, release, test_programs, web};
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
    let all: &[&str] =
        if release.is_some() { &["--workspace"] } else { &["--workspace", "--exclude", "underbar-zoo"] };
    let Some(mut programs) = built(all, sum) else { return };
    // They need a package, which is got in the background.
    let without_oracle: &[&str] = &["--skip", oracle_tests::XMI_READER.tests];
    let Some(release) = release else {
        run(flags, "tests", &programs, without_oracle, sum);
        sum.skip("the zoo and the release build, by --quick".to_owned());
        return;
    };
    if !release.join().0 {
        sum.check("release build of the command", false);
        return;
    }
    release::check(sum);
    let (models, page) = (models::start_aside(), web::start_aside(sum));
    let [oracle, duckdb] = oracle_tests::ALL.map(oracle_tests::Oracle::start_aside);
    let zoo = programs.take("zoo");
    run(flags, "tests", &programs, without_oracle, sum);
    // One that has its tests' allocator in itself, and locks that check themselves.
    if let Some(programs) =
        built(&["--package", "underbar", "--features", "debug-locks,global-allocator"], sum)
    {
        run(flags, "tests of debug-locks and Alloc", &programs, &[], sum);
    }
    step("Miri", || miri::check(sum));
    if oracle_tests::XMI_READER.join(oracle, sum) {
        let program = programs.of_source(oracle_tests::PROGRAM);
        run(flags, "tests with xmi-reader", &program, &["--ignored", oracle_tests::XMI_READER.tests], sum);
    }
    models::join(models, sum);
    let mut without: Vec<&str> = if web::join(page, sum) { Vec::new() } else { vec!["--skip", "the_page_"] };
    if !oracle_tests::DUCKDB.join(duckdb, sum) {
        without.extend(["--skip", oracle_tests::DUCKDB.tests]);
    }
    // The zoo apart, since its tests start many processes each: two at a time keep small machines calm.
    run(flags, "tests of the zoo", &zoo, &without, sum);
}

/// The programs of tests of these packages; none, and a failure, if something does not compile.
fn built(which: &[&str], sum: &mut Sum) -> Option<Programs> {
    let name = format!("cargo build --all-targets {}", which.join(" "));
    let programs = step(&name, || test_programs::build(which));
    if programs.is_none() {
        sum.check(&name, false);
    }
    programs
}

/// Runs programs of tests; their results are added up.
fn run(flags: &Flags, name: &str, programs: &Programs, arguments: &[&str], sum: &mut Sum) {
    let skips = target().join("skipped-tests.txt");
    // The list of an earlier run is removed.
    let _ = fs::remove_file(&skips);
    let all = step(name, || {
        programs.run(arguments, |program| {
            program.env("UNDERBAR_SKIPS", root().join(&skips));
            for oracle in oracle_tests::ALL {
                program.env(oracle.variable, oracle.python());
            }
            if !flags.quick && std::env::var_os("UNDERBAR_BIN").is_none() {
                program.env("UNDERBAR_BIN", root().join(target()).join("release/underbar"));
            }
            if flags.require_all {
                program.env("UNDERBAR_REQUIRE_ALL", "1");
            }
        })
    });
    let skipped = fs::read_to_string(&skips).unwrap_or_default();
    let skipped: Vec<&str> = skipped.lines().collect();
    let passed: usize = all.iter().map(|results| results.passed).sum();
    sum.passed += passed.saturating_sub(skipped.len());
    for reason in skipped {
        sum.skip(reason.to_owned());
    }
    let is_green = all.iter().all(|results| results.is_green);
    for results in all {
        sum.failed += results.failed;
        sum.failures.extend(results.failures);
        for _ in 0..results.ignored {
            sum.skip(format!("a test marked #[ignore] in {}", results.name));
        }
        // It does not compile, or a test ended the whole process: there is no result line.
        if !results.is_green && results.failed == 0 {
            sum.check(&results.name, false);
        }
    }
    if is_green && passed == 0 {
        println!("{name} ran no test");
        sum.check(name, false);
    }
}

#[cfg(test)]
mod tests {
    use super::Flags;

    #[test]
    fn flags_are_known_or_refused() {
        assert_eq!(Flags::parse(&["--quick"]), Ok(Flags { require_all: false, quick: true }));
        assert!(Flags::parse(&["--fast"]).is_err());
    }
}
