//! `underbar-bench-bump unit|reset SCRIPT TURNS`: units of work over bumpalo, in a process of their own.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match underbar_bumping::program(&words) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("underbar-bench-bump: {wrong}");
            ExitCode::from(2)
        }
    }
}
