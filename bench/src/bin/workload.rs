//! `underbar-bench-workload NAME STEPS SEED`: runs one workload and prints its checksum.
//!
//! Invariant: its output depends on its arguments alone, so that two allocators can be compared byte for byte.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use underbar_bench::workloads;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match words.as_slice() {
        [name, steps, seed] => workloads::find(name).zip(steps.parse().ok()).zip(seed.parse().ok()),
        _ => None,
    };
    let Some(((workload, steps), seed)) = parsed else {
        eprintln!("usage: underbar-bench-workload NAME STEPS SEED; names:");
        for workload in workloads::TABLE {
            eprintln!("  {:<16} {} ({} steps)", workload.name, workload.about, workload.steps);
        }
        return ExitCode::from(2);
    };
    println!("{} {steps} {seed} {:016x}", workload.name, (workload.run)(steps, seed));
    ExitCode::SUCCESS
}
