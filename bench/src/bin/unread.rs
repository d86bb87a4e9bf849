//! `underbar-bench-unread RATE -- PROGRAM ARGS`: runs a program that the kernel samples at that rate, without reading a sample.
//!
//! The remaining cost of a profile is then the machine's: its timer interrupts.
#![forbid(unsafe_code)]

use std::process::{Command, ExitCode};
use underbar_profile::Sampler;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rate, dashes, program, arguments @ ..] = words.as_slice() else {
        return fail("RATE -- PROGRAM ARGS");
    };
    let (Ok(rate), "--") = (rate.parse(), dashes.as_str()) else { return fail("RATE -- PROGRAM ARGS") };
    let sampler = match Sampler::begin(rate) {
        Ok(sampler) => sampler,
        Err(refused) => return fail(&refused.to_string()),
    };
    let status = Command::new(program).args(arguments).status();
    drop(sampler);
    match status {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(125)),
        Err(error) => fail(&format!("{program}: {error}")),
    }
}

/// Prints the fault and ends with the status of an own failure.
fn fail(why: &str) -> ExitCode {
    eprintln!("underbar-bench-unread: {why}");
    ExitCode::from(125)
}
