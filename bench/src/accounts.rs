//! `bench accounts`: instructions per pair of malloc and free, counted by callgrind, not timed.
//!
//! The workload is run with two numbers of steps; the difference of the instruction counts, divided by the
//! difference of the steps, leaves start and end of the program out. What remains is malloc, free and the loop
//! around them, which is the same for all; so the difference of two rows is exact, to the instruction.
//!
//! Not here: time. Instructions say whether an account became dearer; only `bench heap` says whether it matters.

use crate::Error;
use crate::heap::{self, Request};
use crate::measure::Programs;
use crate::peers::Allocator;
use crate::workloads::{self, Workload};
use std::path::Path;
use std::process::{Command, Stdio};

/// The workloads that are counted, with the pairs of malloc and free in one step, and a step count that warms up.
const COUNTED: [(&str, usize, usize); 2] = [("lifo", 1, 20_000), ("random-order", 1_000, 20)];

/// Counts and prints one row per allocator.
///
/// # Errors
/// [`Error::Missing`] without valgrind, [`Error::Workload`] when a counted program failed.
pub fn run(request: &Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let (allocators, _) = heap::allocators(request, workspace, target)?;
    let programs = Programs::beside_us()?;
    println!("Instructions per malloc and free pair, with the workload's loop (callgrind)");
    print!("  {:<16}", "allocator");
    for (name, _, _) in COUNTED {
        print!("{name:>14}");
    }
    println!();
    // `underbar run` starts another process, which callgrind would not follow: the library itself is what is counted.
    for allocator in allocators.iter().filter(|allocator| allocator.before.is_empty()) {
        match row(&programs, allocator) {
            Ok(cells) => println!("  {:<16}{cells}", allocator.name),
            // Some allocators do not start under valgrind; that is no reason not to count the others.
            Err(error) if allocator.rival && !request.require_all => {
                let text = error.to_string();
                println!("  {:<16}NOT COUNTED: {}", allocator.name, text.lines().last().unwrap_or(&text));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// One allocator's figures, each in fourteen columns.
fn row(programs: &Programs, allocator: &Allocator) -> Result<String, Error> {
    let mut cells = String::new();
    for (name, pairs, steps) in COUNTED {
        let workload = workloads::find(name).ok_or_else(|| Error::Usage(format!("no workload {name}")))?;
        let fewer = instructions(programs, allocator, workload, steps)?;
        let more = instructions(programs, allocator, workload, 4 * steps)?;
        let per_pair = more.saturating_sub(fewer) as f64 / (3 * steps * pairs) as f64;
        cells.push_str(&format!("{per_pair:>14.2}"));
    }
    Ok(cells)
}

/// The instructions that one run executed.
fn instructions(
    programs: &Programs,
    allocator: &Allocator,
    workload: &Workload,
    steps: usize,
) -> Result<u64, Error> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.envs(allocator.variables.iter().copied());
    // Valgrind's launcher is preloaded too, and starts a static program. A library that follows programs knows itself
    // by its file's name, and would take itself out there; under another name it is one library among others.
    if let Some(preload) = &allocator.preload {
        let copy = programs.workload.with_file_name(format!("counted-{}.so", allocator.name));
        std::fs::copy(preload, &copy).map_err(|error| Error::system("copying a library", &error))?;
        command.env("LD_PRELOAD", copy);
    }
    let done = command
        .arg(&programs.workload)
        .args([workload.name, &steps.to_string(), "1"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::Missing(format!("valgrind: {error}; apt-get install valgrind")))?;
    let text = String::from_utf8_lossy(&done.stderr);
    let count = text
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .and_then(|(_, count)| count.trim().parse().ok());
    count.filter(|_| done.status.success()).ok_or_else(|| {
        let own: Vec<&str> =
            text.lines().filter(|line| !line.starts_with("==") && !line.is_empty()).collect();
        Error::Workload(format!("{} under callgrind: {} {}", workload.name, done.status, own.join(" ")))
    })
}
