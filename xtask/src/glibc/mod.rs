//! `cargo xtask glibc-tests`: the test programs of the installed C library, plain and under underbar.
//!
//! ```text
//! Debian's source ──> malloc/, nptl/, sysdeps/pthread/ ──> a program for each test
//!                         plain ── passes ──> LOCK(COUNT), LOCK(SIMPLE) ──> passes | FAILS | exception
//!                               └─ fails or cannot run here ──> no result about us
//! ```
//!
//! The tests are compiled outside of the C library's own build, against the installed library. The source comes from this
//! machine's Debian mirrors, by `apt-get source` with its own folder, and is never committed.
//!
//! Invariant: a test that passes plain passes under each way, or [`table::EXCEPTIONS`] has the reason. Nothing is retried.
//! Not here: faults of the C library itself; a test that fails plain is named and not counted.

mod compile;
mod run;
mod source;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::side_by_side::{processors, side_by_side};
use crate::steps::{cargo, root, step, succeeds, target};
use run::{Outcome, WAYS};

const USAGE: &str = "cargo xtask glibc-tests [--jobs N] [TEST]...";

/// The results of a test: plain, then in each way.
type Row = (Outcome, Vec<Outcome>);

/// Runs all tests, or the named ones; true if none that passes plain fails under underbar.
pub fn command(words: &[&str]) -> Result<bool, String> {
    let (jobs, names) = parse(words)?;
    let library = step("the command", build).ok_or("the command was not built")?;
    let folder = root().join(target()).join("glibc-tests");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let source = step("the source of the C library", || source::provide(&folder))?;
    let mut tests = compile::find(&source)?;
    if !names.is_empty() {
        tests.retain(|test| names.contains(&test.name.as_str()));
        if tests.is_empty() {
            return Err("no test of these names".to_owned());
        }
    }
    let programs = folder.join("programs");
    let refused = step("compile", || compile::all(&source, &programs, &tests, jobs))?;
    tests.retain(|test| !refused.contains_key(&test.name));
    let written = folder.join("output");
    fs::create_dir_all(&written).map_err(|error| format!("{}: {error}", written.display()))?;
    let rows = step("run", || {
        side_by_side(&tests, jobs, |test| {
            let runner = run::Runner { command: &library, programs: &programs, written: &written };
            let row = runner.row(test);
            if let Some(text) = failure(&test.name, &row) {
                println!("{text}");
            }
            (test.name.clone(), row)
        })
    });
    let rows: BTreeMap<String, Row> = rows.into_iter().collect();
    let (text, held) = summary(&rows, &refused);
    print!("{text}");
    let results = folder.join("results.txt");
    fs::write(&results, &text).map_err(|error| format!("{}: {error}", results.display()))?;
    println!("results: {}; what the tests printed: {}", results.display(), written.display());
    Ok(held)
}

fn parse<'a>(words: &[&'a str]) -> Result<(usize, Vec<&'a str>), String> {
    let (mut jobs, mut names) = (processors(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--jobs" => {
                let number = words.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                jobs = number.ok_or("--jobs needs a number from 1 on")?;
            }
            flag if flag.starts_with('-') => return Err(USAGE.to_owned()),
            name => names.push(name),
        }
    }
    Ok((jobs, names))
}

/// The command, optimised: `UNDERBAR_BIN` if it is set, otherwise built now.
fn build() -> Option<std::path::PathBuf> {
    if let Some(command) = std::env::var_os("UNDERBAR_BIN") {
        return Some(command.into());
    }
    let built = succeeds(&mut cargo(&["build", "--quiet", "--release", "-p", "underbar-cli"]));
    built.then(|| root().join(target()).join("release/underbar"))
}

/// The entry of a test that passes plain and not under underbar.
fn failure(name: &str, (plain, ours): &Row) -> Option<String> {
    if *plain != Outcome::Passed || ours.iter().all(|outcome| *outcome == Outcome::Passed) {
        return None;
    }
    let known = table::exception(name);
    let mut text = format!("{} {name}:", if known.is_some() { "exception" } else { "FAILS" });
    for (way, outcome) in WAYS.iter().zip(ours) {
        text += &format!(" {way} {outcome};");
    }
    if let Some(why) = known {
        text += &format!(" {why}");
    }
    Some(text)
}

/// The table, and whether it is as required.
fn summary(rows: &BTreeMap<String, Row>, refused: &BTreeMap<String, String>) -> (String, bool) {
    let mut text = String::new();
    for (name, reason) in refused {
        text += &format!("not compiled {name}: {}\n", table::not_compiled(name).unwrap_or(reason));
    }
    for (name, (plain, _)) in rows {
        match plain {
            Outcome::Passed => {}
            Outcome::Unsupported => text += &format!("not supported here {name}\n"),
            Outcome::Failed(how) => text += &format!("fails plain {name}: {how}\n"),
        }
    }
    let mut held = refused.keys().all(|name| table::not_compiled(name).is_some());
    for (name, row) in rows {
        if let Some(line) = failure(name, row) {
            held &= table::exception(name).is_some();
            text += &format!("{line}\n");
        } else if row.0 == Outcome::Passed && table::exception(name).is_some() {
            text += &format!("passes, though the table has it as an exception: {name}\n");
        }
    }
    let passed = rows.values().filter(|(plain, _)| *plain == Outcome::Passed).count();
    text += &format!(
        "{} tests: {} not compiled, {passed} of {} pass plain\n",
        rows.len() + refused.len(),
        refused.len(),
        rows.len()
    );
    for (at, way) in WAYS.iter().enumerate() {
        let passes = |row: &&Row| row.1.get(at) == Some(&Outcome::Passed);
        text += &format!("{way}: {} of {passed}\n", rows.values().filter(passes).count());
    }
    (text, held)
}

/// A file's name without its extension.
fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Outcome, failure, parse, summary, table};
    use std::collections::BTreeMap;

    #[test]
    fn only_what_passes_plain_can_fail_under_us() {
        let fails = || Outcome::Failed("status 1".to_owned());
        assert!(failure("a", &(fails(), Vec::new())).is_none());
        assert!(failure("a", &(Outcome::Passed, vec![Outcome::Passed, Outcome::Passed])).is_none());
        let said = failure("a", &(Outcome::Passed, vec![Outcome::Passed, fails()])).unwrap_or_default();
        assert!(said.starts_with("FAILS a:"), "{said}");

        let rows: BTreeMap<_, _> = [
            ("a".to_owned(), (Outcome::Passed, vec![Outcome::Passed, fails()])),
            ("b".to_owned(), (fails(), Vec::new())),
        ]
        .into();
        let (text, held) = summary(&rows, &BTreeMap::new());
        assert!(!held && text.contains("1 of 2 pass plain"), "{text}");
        assert!(text.contains("LOCK(COUNT): 1 of 1") && text.contains("LOCK(SIMPLE): 0 of 1"), "{text}");
    }

    #[test]
    fn an_exception_is_named_and_does_not_fail() {
        let Some((name, why)) = table::EXCEPTIONS.first() else { return };
        let row = (Outcome::Passed, vec![Outcome::Failed("status 1".to_owned()), Outcome::Passed]);
        let (text, held) = summary(&[((*name).to_owned(), row)].into(), &BTreeMap::new());
        assert!(held && text.contains(why), "{text}");
    }

    #[test]
    fn words_are_jobs_and_names() {
        assert_eq!(parse(&["--jobs", "3", "tst-key2"]), Ok((3, vec!["tst-key2"])));
        assert!(parse(&["--jobs"]).is_err() && parse(&["--jobs", "0"]).is_err() && parse(&["-x"]).is_err());
    }
}
