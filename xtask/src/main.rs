//! Project tasks: `cargo xtask test | ci | models | fuzz | bench | layout | release | web | try-libraries | try-listings |
//! try-programs | glibc-tests`.
//!
//! Reading order: [`steps`] (run a command, say how long it took, keep the sum), [`aside`] and [`side_by_side`] (next to others),
//! [`packages`] (what tests need from the distribution), [`mod@test`] with [`test_programs`] and [`models`], then the checks of [`ci`]: [`licences`], [`budget`],
//! [`order`], [`circles`], [`paths`]; then [`web`], the page for
//! browsers, [`fuzz`]; last [`mod@bench`], [`layout`] (where the linker lays functions), [`release`], and [`libraries`], [`listings`], [`programs`] and [`glibc`],
//! which are run by hand.
//!
//! Invariant: an omitted check is reported. A check that is not possible here is counted as skipped and named, and
//! with `--require-all` a skipped one is a failure.
//! What is absent: no measured time decides anything, except that tests without output for a quarter of an hour
//! count as hanging ([`processes`] shows where); durations are printed for the reader.
#![forbid(unsafe_code)]

mod aside;
mod bench;
mod budget;
mod ci;
mod circles;
mod encode;
mod fuzz;
mod glibc;
mod layout;
mod libraries;
mod licences;
mod listings;
mod miri;
mod models;
mod oracle_tests;
mod order;
mod packages;
mod paths;
mod policy;
mod processes;
mod programs;
mod release;
mod side_by_side;
mod steps;
mod test;
mod test_programs;
#[cfg(test)]
mod walks;
mod web;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [--require-all] [--quick]   build everything, run every test, the zoo's too
cargo xtask ci                               format, lints, licences, advisories, budget, then test --require-all, fuzz
cargo xtask models                           the lock-free structures by a model checker, as they are and with planted faults
cargo xtask fuzz [--seconds N] [TARGET]...   every parser, or these, against bytes that nobody wrote
cargo xtask bench WHAT [FLAGS]               measure, side by side with others; --help for what and flags
cargo xtask layout                           which functions a run passes through, for the linker
cargo xtask release                          the command as it is given away, and its lines of source
cargo xtask web [--out FILE]                 the page that gives advice in a browser, as one file
cargo xtask try-libraries DIR [FLAGS]        every reader of mainframe libraries over a folder of real files
cargo xtask try-listings DIR [--advice]      the reader of listings over a folder, and what it understood
cargo xtask glibc-tests [--jobs N] [TEST]...    the C library's own tests of heap and threads, plain and under us
cargo xtask try-programs DIR... [--all]      LOAD of every shared object below the folders, compared with dlopen

  --require-all   what was skipped counts as failed
  --quick         no release build and no zoo";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test", flags @ ..] => test::Flags::parse(flags).map(|flags| test::command(&flags)),
        ["models"] => Ok(models::command()),
        ["ci"] => Ok(ci::command()),
        ["layout"] => Ok(layout::write()),
        ["release"] => Ok(release::make()),
        ["web", rest @ ..] => web::page(rest),
        ["try-libraries", rest @ ..] => libraries::command(rest),
        ["fuzz", rest @ ..] => fuzz::command(rest),
        ["glibc-tests", rest @ ..] => glibc::command(rest),
        ["try-listings", rest @ ..] => listings::command(rest),
        ["try-programs", "--one", way, path] => return programs::one(way, path),
        ["try-programs", rest @ ..] => programs::command(rest),
        ["bench", rest @ ..] => Ok(bench::command(rest)),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(2)
        }
    }
}
