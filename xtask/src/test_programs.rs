//! The programs of tests: built together, then run side by side.
//!
//! ```text
//! cargo build --all-targets ──> paths of programs ──┐ longest first, as many at a time as there are processors
//! cargo test --doc ─────────────────────────────────┴──> output of each, in one piece, when it ends ──> results
//! ```
//!
//! Cargo runs them one after another: at the end of each, a processor waits for the last test.
//!
//! One call builds the libraries, the programs and the tests of all packages: in two calls Cargo would choose other features of
//! their dependencies, and compile these and all that use them twice.
//!
//! Invariant: each program that Cargo would run is run once, in its package's folder, as Cargo would.
//! Not here: which packages, and what the results add up to (`test`).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::side_by_side::{processors, side_by_side};
use crate::steps::{cargo, command, heard, output, root, taken};

/// What takes long, the longest first; others follow. This order changes only how long everything takes.
const LONG: [&str; 11] = [
    "host/store/src/lib.rs",
    "crates/fetch/tests/languages.rs",
    "crates/fetch/tests/machine.rs",
    "crates/lock/tests/torture.rs",
    "host/listing/tests/cuts.rs",
    "host/verdict/tests/simulation.rs",
    "bench/src/lib.rs",
    "crates/fetch/tests/programs.rs",
    "host/mainframe/src/lib.rs",
    "crates/fetch/tests/organised.rs",
    "host/cli/tests/hostile.rs",
];
/// The name of the tests in documentation, which Cargo builds and runs by itself.
const DOCUMENTATION: &str = "tests in the documentation";

/// A program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    /// Its source, in the workspace.
    name: String,
    path: PathBuf,
    /// The folder of its package.
    folder: PathBuf,
}

/// What is to be run.
#[derive(Debug)]
pub struct Programs {
    /// The choice of packages whose documentation is tested; none if it is not.
    documented: Option<Vec<String>>,
    programs: Vec<Program>,
}

/// The results of one program.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Results {
    /// Its name, for a reader.
    pub name: String,
    /// Numbers of tests.
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
    /// Names of failed tests; behind each the place of its first panic and the first line of what that said.
    pub failures: Vec<String>,
    /// Did it end with status 0?
    pub is_green: bool,
    /// Where the output is, between its lines.
    place: Place,
}

/// A place in the output of failed tests that matters for its next line.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Elsewhere,
    /// In what the failed test with this number said, before its panic.
    Said(usize),
    /// After the line that says where this one panicked.
    Panicked(usize),
}

/// Builds these packages with their tests; none if something does not compile.
pub fn build(which: &[&str]) -> Option<Programs> {
    let mut build =
        cargo(&["build", "--all-targets", "--quiet", "--message-format", "json-render-diagnostics"]);
    let messages = output(build.args(which))?;
    let mut programs: Vec<Program> =
        messages.lines().filter_map(|line| program(&serde_json::from_str(line).ok()?, &root())).collect();
    programs.sort_by_key(|program| place(&program.name));
    Some(Programs { documented: Some(which.iter().map(|word| (*word).to_owned()).collect()), programs })
}

/// The program that a message of Cargo's is about, if it is one of tests.
fn program(message: &serde_json::Value, root: &Path) -> Option<Program> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let source = Path::new(message["target"]["src_path"].as_str()?);
    Some(Program {
        name: source.strip_prefix(root).unwrap_or(source).display().to_string(),
        path: message["executable"].as_str()?.into(),
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
    })
}

/// Where a program comes in the order.
fn place(name: &str) -> usize {
    LONG.iter().position(|long| *long == name).unwrap_or(LONG.len())
}

impl Programs {
    /// Takes out the programs of the package in a folder of the workspace.
    pub fn take(&mut self, folder: &str) -> Self {
        let folder = root().join(folder);
        let (taken, left) =
            std::mem::take(&mut self.programs).into_iter().partition(|program| program.folder == folder);
        self.programs = left;
        Self { documented: None, programs: taken }
    }

    /// The program of one source, once more.
    pub fn of_source(&self, name: &str) -> Self {
        let of_source = self.programs.iter().filter(|program| program.name == name);
        Self { documented: None, programs: of_source.cloned().collect() }
    }

    /// Runs all of them with these arguments for each, in an environment that `prepare` sets.
    pub fn run(&self, arguments: &[&str], prepare: impl Fn(&mut Command) + Sync) -> Vec<Results> {
        // Among the first: its programs are built one by one.
        let documented = self.documented.iter().map(Work::Documentation);
        let all: Vec<Work<'_>> = documented.chain(self.programs.iter().map(Work::Program)).collect();
        side_by_side(&all, processors(), |work| {
            let (name, mut run) = match work {
                Work::Program(program) => (program.name.as_str(), program.command(arguments)),
                Work::Documentation(which) => (DOCUMENTATION, documentation(which, arguments)),
            };
            prepare(&mut run);
            results(name, &mut run)
        })
    }
}

/// What one thread does at a time.
enum Work<'a> {
    Program(&'a Program),
    Documentation(&'a Vec<String>),
}

fn documentation(which: &[String], arguments: &[&str]) -> Command {
    let mut test = cargo(&["test", "--no-fail-fast", "--doc", "--quiet"]);
    test.args(which).arg("--").args(arguments);
    test
}

impl Program {
    /// The call, with the variables of Cargo's that tests read.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut run = command(&self.path.to_string_lossy(), arguments);
        run.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        run
    }
}

/// Runs a program, prints its whole output when it ends, and reads its results.
fn results(name: &str, run: &mut Command) -> Results {
    let (began, mut text) = (Instant::now(), String::new());
    let mut results = Results { name: name.to_owned(), ..Results::default() };
    results.is_green = heard(run, |line| {
        text += line;
        text.push('\n');
        results.read(line);
    });
    print!("== {name}\n{text}");
    taken(name, began.elapsed());
    results
}

impl Results {
    /// Adds a line of output: that of a failed test, what it said, or the numbers of
    /// `test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
    fn read(&mut self, line: &str) {
        if let Some(test) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failures.push(format!("{}: {test}", self.name));
        }
        self.read_panic(line);
        let Some((_, numbers)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        let number = |word: &str| {
            let number = numbers.split("; ").find_map(|part| part.strip_suffix(word))?;
            number.trim_end().parse::<usize>().ok()
        };
        if let (Some(passed), Some(failed), Some(ignored)) =
            (number("passed"), number("failed"), number("ignored"))
        {
            self.passed += passed;
            self.failed += failed;
            self.ignored += ignored;
        }
    }

    /// Adds the first panic of a failed test to its name: who reads the end of a long log sees the reason.
    fn read_panic(&mut self, line: &str) {
        if let Some(test) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            let name = format!("{}: {test}", self.name);
            let failed = self.failures.iter().position(|failure| *failure == name);
            self.place = failed.map_or(Place::Elsewhere, Place::Said);
            return;
        }
        let (Place::Said(failed) | Place::Panicked(failed)) = self.place else { return };
        let Some(failure) = self.failures.get_mut(failed) else { return };
        if self.place == Place::Panicked(failed) {
            failure.push(' ');
            failure.push_str(line);
            self.place = Place::Elsewhere;
        } else if let Some((_, at)) = line.split_once("' panicked at ").or(line.split_once(") panicked at "))
        {
            failure.push_str(", ");
            failure.push_str(at);
            self.place = Place::Panicked(failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::command;
    use serde_json::json;
    use std::fs;

    #[test]
    fn result_lines_are_read_and_other_lines_are_not() {
        let mut results = Results { name: "a.rs".to_owned(), ..Results::default() };
        for line in [
            "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test numbers::result ... ok",
            "test numbers::other ... FAILED",
            "test numbers::ended ... FAILED",
            "test result: cut short",
            "---- numbers::other stdout ----",
            "it said something",
            "thread 'numbers::other' (17) panicked at a.rs:2:5:",
            "two tests have one folder",
            "note: run with `RUST_BACKTRACE=1`",
            "thread 'numbers::other' (18) panicked at a.rs:9:9:",
            "---- numbers::ended stdout ----",
            "Error: none",
            "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 2 filtered out; finished in 1s",
        ] {
            results.read(line);
        }
        assert_eq!((results.passed, results.failed, results.ignored), (16, 3, 1));
        let failures = ["a.rs: numbers::other, a.rs:2:5: two tests have one folder", "a.rs: numbers::ended"];
        assert_eq!(results.failures, failures);
    }

    #[test]
    fn only_programs_of_tests_are_run() {
        let message = |is_test: bool, executable: serde_json::Value| {
            json!({"reason": "compiler-artifact", "manifest_path": "/w/crates/a/Cargo.toml",
                "target": {"src_path": "/w/crates/a/tests/b.rs"}, "profile": {"test": is_test},
                "executable": executable})
        };
        let found = program(&message(true, json!("/t/b-1")), Path::new("/w")).expect("a program");
        assert_eq!(
            (found.name.as_str(), found.folder.to_str()),
            ("crates/a/tests/b.rs", Some("/w/crates/a"))
        );
        assert_eq!(
            program(&message(false, json!("/t/b")), Path::new("/w")),
            None,
            "a program of the package"
        );
        assert_eq!(program(&message(true, json!(null)), Path::new("/w")), None, "a library");
    }

    #[test]
    fn the_programs_of_a_package_are_taken_out_once() {
        let program = |folder: &str| Program {
            name: format!("{folder}/src/lib.rs"),
            path: "/t/a-1".into(),
            folder: root().join(folder),
        };
        let programs = vec![program("host/cli"), program("zoo"), program("zoology")];
        let mut all = Programs { documented: Some(Vec::new()), programs };
        let zoo = all.take("zoo");
        assert_eq!((zoo.programs, zoo.documented), (vec![program("zoo")], None));
        assert_eq!(all.programs, [program("host/cli"), program("zoology")]);
        assert!(all.documented.is_some() && all.take("zoo").programs.is_empty());
        assert_eq!(all.of_source("host/cli/src/lib.rs").programs, [program("host/cli")]);
        assert!(all.of_source("host/cli").programs.is_empty());
    }

    #[test]
    fn each_source_that_is_named_is_there() {
        for name in LONG.into_iter().chain([crate::oracle_tests::PROGRAM]) {
            assert!(root().join(name).is_file(), "{name}");
        }
    }

    /// `test = false` in a manifest spares the link of a program of tests without one.
    #[test]
    fn what_is_built_without_tests_has_none() {
        fn has_tests(path: &Path) -> bool {
            if path.is_dir() {
                return fs::read_dir(path).expect("a folder").flatten().any(|entry| has_tests(&entry.path()));
            }
            fs::read_to_string(path).is_ok_and(|text| text.contains("#[test]"))
        }
        let metadata = crate::steps::metadata().expect("metadata");
        let packages = metadata["packages"].as_array().expect("packages");
        let ours = packages.iter().filter(|package| package["source"].is_null());
        let targets = ours.flat_map(|package| package["targets"].as_array().expect("targets"));
        let without: Vec<&serde_json::Value> = targets
            .filter(|target| {
                target["test"] == false
                    && target["kind"][0] != "custom-build"
                    && target["kind"][0] != "example"
            })
            .collect();
        assert!(without.len() > 8, "{without:?}");
        for target in without {
            let source = Path::new(target["src_path"].as_str().expect("a path"));
            let of_library = source.ends_with("lib.rs").then(|| source.parent().expect("a folder"));
            assert!(!has_tests(of_library.unwrap_or(source)), "{}", source.display());
        }
    }

    #[test]
    fn a_program_that_ends_without_results_is_not_green() {
        let dies = results("dies", &mut command("sh", &["-c", "echo test a ... ok; kill -ABRT $$"]));
        assert_eq!((dies.is_green, dies.passed, dies.failed), (false, 0, 0));
        let words = "echo 'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured' >&2";
        let said = results("is green", &mut command("sh", &["-c", words]));
        assert_eq!((said.is_green, said.passed), (true, 2));
    }
}
