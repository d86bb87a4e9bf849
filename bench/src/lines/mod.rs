//! `bench lines`: how many cache lines threads take from each other in an allocator, from 2 to 64 threads, on any machine.
//!
//! ```text
//! underbar-bench-turns   threads in strict turn, so that each is on a core of its own in effect
//!   under valgrind       every load and store, and which thread made it ──> trace: a model of 64 caches ──> transfers per pair
//! ```
//!
//! What limits an allocator on many cores is the line that one core wants and another one has. This machine need not have the cores: the
//! model counts the accesses for which a line would move. The order of threads is fixed, so that counts repeat exactly.
//!
//! Invariant: start and end of the program are not counted, nor are the program's own shared words.
//! Not here: time; what threads wait for each other; a line that was evicted (the model's caches have no end).

mod trace;

use crate::Error;
use crate::goal::Goal;
use crate::host::Host;
use crate::measure::beside;
use crate::peers::Allocator;
use crate::{heap, results};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trace::{Counts, Own};

/// The most threads: one bit each in the model.
pub const LARGEST: usize = 64;
/// Gets and frees of one turn.
pub const PAIRS: usize = 8;
/// Blocks that may be on their way.
pub const SLOTS: usize = 2 * LARGEST * PAIRS;

/// Who frees what a thread got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Itself, at once.
    Own,
    /// The next thread, in its turn.
    Passed,
    /// Whoever comes to its place first, as in larson and in servers.
    Mixed,
}

impl Pattern {
    const ALL: [(Pattern, &'static str, &'static str); 3] = [
        (Pattern::Own, "own", "each thread frees what it got"),
        (Pattern::Passed, "passed", "each thread frees what the one before it got"),
        (Pattern::Mixed, "mixed", "each thread frees what some thread got, by chance"),
    ];

    /// By its name.
    #[must_use]
    pub fn of(name: &str) -> Option<Pattern> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(pattern, _, _)| *pattern)
    }
}

/// Bytes of the block with this number in a turn: eight classes of small ones.
#[must_use]
pub fn bytes_of(block: usize) -> usize {
    16 + 24 * (block % PAIRS)
}

/// The slot that a thread empties and fills.
#[must_use]
pub fn slot_of(pattern: Pattern, me: usize, threads: usize, turn: usize, block: usize) -> usize {
    match pattern {
        // What the thread before got in its last turn is where this thread puts its own now.
        Pattern::Own | Pattern::Passed => (me + threads - turn % threads) % threads * PAIRS + block,
        Pattern::Mixed => {
            // A number by chance, the same for each allocator.
            let seed = ((turn * LARGEST + me) * PAIRS + block) as u64 + 1;
            let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 33) as usize % (threads * PAIRS)
        }
    }
}

/// The request on the command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Allocators and whether all are required, as `bench heap` has them.
    pub heap: heap::Request,
}

/// Numbers of threads if none are given.
pub const THREADS: [usize; 4] = [2, 8, 32, 64];
/// Turns of each thread that count, and those before.
const TURNS: usize = 20;
const WARM: usize = 120;

/// One cell of the table.
#[derive(Debug, Clone)]
struct Cell {
    pattern: &'static str,
    threads: usize,
    allocator: usize,
    counts: Counts,
}

impl Cell {
    /// Of one get and one free.
    fn per_pair(&self, count: u64) -> f64 {
        count as f64 / (self.threads * TURNS * PAIRS) as f64
    }
}

/// Traces all, prints the table and writes the files.
///
/// # Errors
/// [`Error::Missing`] without valgrind, [`Error::Workload`] when a program failed.
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    if request.threads.iter().any(|&threads| threads > LARGEST) {
        return Err(Error::Usage(format!("--threads: at most {LARGEST}")));
    }
    let (allocators, _) = heap::allocators(&request.heap, workspace, target)?;
    // `underbar run` starts another process, which valgrind would not follow.
    let allocators: Vec<Allocator> =
        allocators.into_iter().filter(|allocator| allocator.before.is_empty()).collect();
    let program = beside("underbar-bench-turns")?;
    let mut cells = Vec::new();
    let mut left_out = vec![false; allocators.len()];
    for (_, pattern, _) in Pattern::ALL {
        for &threads in &request.threads {
            for (index, allocator) in allocators.iter().enumerate() {
                if left_out[index] {
                    continue;
                }
                eprintln!("{pattern}, {threads} threads: {}", allocator.name);
                match counted(&program, allocator, pattern, threads) {
                    Ok(counts) => cells.push(Cell { pattern, threads, allocator: index, counts }),
                    // Some allocators do not start under valgrind; the others are still counted.
                    Err(Error::Workload(why)) if allocator.rival && !request.heap.require_all => {
                        eprintln!("NOT COUNTED: {}: {why}", allocator.name);
                        left_out[index] = true;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    let host = Host::here();
    let goals = goals(&allocators, &request.threads, &cells);
    let text = text(&host, &allocators, &request.threads, &cells, &goals);
    print!("{text}");
    if request.heap.record {
        let rows: Vec<_> = cells.iter().map(|cell| json_of(cell, &allocators)).collect();
        let whole = json!({
            "host": host.kind(), "turns": TURNS, "pairs": PAIRS,
            "cells": rows, "goals": goals.iter().map(Goal::json).collect::<Vec<_>>(),
        });
        let files = [("lines.txt", text), ("lines.json", format!("{whole:#}\n"))];
        results::record(&host, &files, workspace)?;
    }
    Ok(())
}

/// The transfers of one program.
fn counted(program: &Path, allocator: &Allocator, pattern: &str, threads: usize) -> Result<Counts, Error> {
    let preload =
        allocator.preload.as_ref().map(|library| renamed(program, allocator, library)).transpose()?;
    let start = |command: &mut Command| {
        command.envs(allocator.variables.iter().copied()).stdin(Stdio::null());
        if let Some(preload) = &preload {
            command.env("LD_PRELOAD", preload);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(missing)
    };
    let found = start(Command::new("valgrind").args(["-q", "--tool=none"]).arg(program).arg("where"))?
        .wait_with_output()
        .map_err(missing)?;
    let own = Own::of(&String::from_utf8_lossy(&found.stdout));
    let own = own.ok_or_else(|| failed(allocator, &String::from_utf8_lossy(&found.stderr)))?;
    let numbers = [threads, TURNS, WARM].map(|number| number.to_string());
    let mut traced = start(
        Command::new("valgrind")
            .args(["--tool=lackey", "--trace-mem=yes", "--trace-sched=yes", "--log-fd=1"])
            .arg(program)
            .arg(pattern)
            .args(numbers),
    )?;
    let output = traced.stdout.take().ok_or_else(|| Error::Missing("valgrind's output".to_owned()))?;
    let counts = trace::read(std::io::BufReader::with_capacity(1 << 20, output), own);
    let ended = traced.wait_with_output().map_err(missing)?;
    let text = String::from_utf8_lossy(&ended.stderr);
    match counts {
        Ok(Some(counts)) if ended.status.success() && !text.contains("cannot be preloaded") => Ok(counts),
        _ => Err(failed(allocator, &text)),
    }
}

/// A copy under another name: valgrind's launcher is preloaded, too, and a library that follows programs would recognise itself there by
/// its file's name, and go.
fn renamed(program: &Path, allocator: &Allocator, library: &Path) -> Result<PathBuf, Error> {
    let copy = program.with_file_name(format!("traced-{}.so", allocator.name));
    std::fs::copy(library, &copy).map_err(|error| Error::system("copying a library", &error))?;
    Ok(copy)
}

fn missing(error: std::io::Error) -> Error {
    Error::Missing(format!("valgrind: {error}; apt-get install valgrind"))
}

fn failed(allocator: &Allocator, said: &str) -> Error {
    Error::Workload(format!("{} under valgrind: {}", allocator.name, said.lines().last().unwrap_or_default()))
}

/// Ours does not grow with the threads, and is level with the best.
fn goals(allocators: &[Allocator], threads: &[usize], cells: &[Cell]) -> Vec<Goal> {
    let Some(ours) = allocators.iter().position(|allocator| !allocator.rival) else { return Vec::new() };
    let (Some(&few), Some(&many)) = (threads.iter().min(), threads.iter().max()) else { return Vec::new() };
    let of = |pattern: &str, count: usize, allocator: usize| {
        let is_it =
            |cell: &&Cell| cell.pattern == pattern && cell.threads == count && cell.allocator == allocator;
        cells.iter().find(is_it).map(|cell| cell.per_pair(cell.counts.moved()))
    };
    let mut goals = Vec::new();
    for (_, pattern, _) in Pattern::ALL {
        let (Some(first), Some(last)) = (of(pattern, few, ours), of(pattern, many, ours)) else { continue };
        goals.push(Goal {
            wanted: format!(
                "{pattern}: no more transfers a pair with {many} threads than with {few}, but a tenth"
            ),
            held: last <= first * 1.1 + 0.05,
            found: vec![format!("{first:.2} with {few}, {last:.2} with {many}")],
        });
        let rivals = (0..allocators.len()).filter(|&index| allocators[index].rival);
        let best = rivals.filter_map(|index| Some((of(pattern, many, index)?, index)));
        if let Some((best, index)) = best.min_by(|one, other| one.0.total_cmp(&other.0)) {
            goals.push(Goal {
                wanted: format!("{pattern}: with {many} threads level with the best peer"),
                held: last <= best * 1.05 + 0.05,
                found: vec![format!("{last:.2}, {} {best:.2}", allocators[index].name)],
            });
        }
    }
    goals
}

fn json_of(cell: &Cell, allocators: &[Allocator]) -> serde_json::Value {
    json!({
        "pattern": cell.pattern, "threads": cell.threads, "allocator": allocators[cell.allocator].name,
        "loads_of_written": cell.counts.loads_of_written, "loads_of_clean": cell.counts.loads_of_clean,
        "stores": cell.counts.stores, "accesses": cell.counts.accesses,
    })
}

/// The table.
fn text(host: &Host, allocators: &[Allocator], threads: &[usize], cells: &[Cell], goals: &[Goal]) -> String {
    let mut text = format!("underbar bench lines: {host}\n");
    for allocator in allocators {
        let _ = writeln!(text, "  {:<16} {}", allocator.name, allocator.version);
    }
    text += "\nTransfers of a cache line from one thread's cache to another's, for one malloc and one free: loads of what another wrote, and\n\
             stores to what another has. Counted in a model of as many caches as threads; 0: nothing is shared.\n";
    for (_, pattern, what) in Pattern::ALL {
        let _ = writeln!(text, "\n{pattern}: {what}");
        let _ = write!(text, "  {:<16}", "threads");
        for count in threads {
            let _ = write!(text, "{count:>8}");
        }
        text.push('\n');
        for (index, allocator) in allocators.iter().enumerate() {
            let _ = write!(text, "  {:<16}", allocator.name);
            for count in threads {
                let is_it = |cell: &&Cell| {
                    cell.pattern == pattern && cell.threads == *count && cell.allocator == index
                };
                match cells.iter().find(is_it) {
                    Some(cell) => _ = write!(text, "{:>8.2}", cell.per_pair(cell.counts.moved())),
                    None => text += "       -",
                }
            }
            text.push('\n');
        }
    }
    text += "\nGoals\n";
    for goal in goals {
        let _ = write!(text, "{goal}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_passed_to_the_next_thread_and_to_no_other() {
        let threads = 5;
        for turn in 0..12 {
            for me in 0..threads {
                // Who had this slot last?
                let slot = slot_of(Pattern::Passed, me, threads, turn, 3);
                let (before, when) =
                    if me == 0 { (threads - 1, turn.wrapping_sub(1)) } else { (me - 1, turn) };
                if turn > 0 {
                    let had = (0..threads)
                        .filter(|&one| slot_of(Pattern::Passed, one, threads, turn - 1, 3) == slot);
                    assert_eq!(had.collect::<Vec<_>>(), [before], "{me} in turn {turn}, {when}");
                }
                assert!(slot < SLOTS);
            }
        }
        assert!((0..1000).all(|turn| slot_of(Pattern::Mixed, 63, 64, turn, 7) < SLOTS));
        assert_eq!(Pattern::of("mixed"), Some(Pattern::Mixed));
    }
}
