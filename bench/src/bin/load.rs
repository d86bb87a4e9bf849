//! `underbar-bench-load WAY LIBRARY MEMBER TIMES`: one way of loading, TIMES times, in its own process.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match underbar_loading::program(&words) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("underbar-bench-load: {wrong}");
            ExitCode::from(2)
        }
    }
}
