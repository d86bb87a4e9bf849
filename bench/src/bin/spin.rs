//! `underbar-bench-spin TURNS`: computes TURNS turns, and touches no memory: additional time is due to other programs.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(turns) = std::env::args().nth(1).and_then(|word| word.parse::<u64>().ok()) else {
        eprintln!("underbar-bench-spin: TURNS");
        return ExitCode::from(125);
    };
    let mut number = 1_u64;
    for _ in 0..turns {
        number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    println!("{number:x}");
    ExitCode::SUCCESS
}
