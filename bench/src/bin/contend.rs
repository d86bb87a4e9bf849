//! `underbar-bench-contend ...`: one lock under one cell, in its own process; prints its figures on one line.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match underbar_contention::program(&words) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("underbar-bench-contend: {wrong}");
            ExitCode::from(2)
        }
    }
}
