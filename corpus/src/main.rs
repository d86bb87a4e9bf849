//! Readers and loader over folders of other people's files: `cargo xtask try-libraries | try-listings | try-programs`.
//!
//! A program of its own, so that the checks of `xtask` do not wait for the readers to be built.
//!
//! Not here: the files, which are kept outside of the project.
#![forbid(unsafe_code)]

mod libraries;
mod listings;
mod programs;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["try-libraries", rest @ ..] => libraries::command(rest),
        ["try-listings", rest @ ..] => listings::command(rest),
        ["try-programs", "--one", way, path] => return programs::one(way, path),
        ["try-programs", rest @ ..] => programs::command(rest),
        _ => Err("cargo xtask try-libraries | try-listings | try-programs DIR".to_owned()),
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
