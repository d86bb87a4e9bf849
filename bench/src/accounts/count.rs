//! Instructions, counted by callgrind.
//!
//! Per pair of malloc and free: a workload is run with two numbers of steps; the difference of the instruction
//! counts, divided by the difference of the pairs, excludes start and end of the program. The rest is malloc,
//! free and the loop around them, which is the same for all; so the difference of two allocators is exact.
//!
//! For a whole workload the count of a program without steps is subtracted.
//!
//! Valgrind runs one thread at a time, and switches at arbitrary points: the counts of workloads with threads vary a
//! little from run to run, and contain nothing of the cost that threads cause each other.
//! Not here: time.

use super::{Both, Counted, Pairs};
use crate::Error;
use crate::measure::Programs;
use crate::peers::Allocator;
use crate::workloads::{self, Workload};
use std::process::{Command, Stdio};

/// The workloads whose pairs are counted, with the pairs of malloc and free in one step, and a step count that warms up.
const COUNTED: [(&str, usize, usize); 2] = [("lifo", 1, 20_000), ("random-order", 1_000, 20)];

/// Instructions per pair, of those workloads that are among the `chosen`.
pub fn pairs(
    programs: &Programs,
    libraries: &Both<Allocator>,
    others: &[Allocator],
    chosen: &[&'static Workload],
    require_all: bool,
) -> Result<Vec<Pairs>, Error> {
    let mut rows = Vec::new();
    for (name, pairs, steps) in COUNTED {
        let Some(workload) = chosen.iter().find(|workload| workload.name == name) else { continue };
        let count = |allocator: &Allocator| {
            let fewer = instructions(programs, allocator, workload, steps)?;
            let more = instructions(programs, allocator, workload, 4 * steps)?;
            Ok::<f64, Error>(per_pair(fewer, more, 3 * steps * pairs))
        };
        let both = Both { with: count(&libraries.with)?, without: count(&libraries.without)? };
        let mut beside = Vec::new();
        for other in others {
            beside.push(match count(other) {
                Ok(figure) => Some(figure),
                // Some allocators do not start under valgrind; the others are still counted.
                Err(error) if other.rival && !require_all => {
                    let text = error.to_string();
                    eprintln!("NOT COUNTED: {}: {}", other.name, text.lines().last().unwrap_or(&text));
                    None
                }
                Err(error) => return Err(error),
            });
        }
        rows.push(Pairs { workload: workload.name, instructions: both, others: beside });
    }
    Ok(rows)
}

/// The cost of one pair, from two counts with this difference in pairs.
fn per_pair(fewer: u64, more: u64, pairs: usize) -> f64 {
    more.saturating_sub(fewer) as f64 / pairs as f64
}

/// Instructions of a program that starts, does nothing, and ends.
pub fn start(programs: &Programs, libraries: &Both<Allocator>) -> Result<Both<u64>, Error> {
    // This workload does nothing before its first step.
    let lifo = workloads::find("lifo").ok_or_else(|| Error::Usage("no workload lifo".to_owned()))?;
    both(programs, libraries, lifo, 0)
}

/// The fewest counted steps of a workload, if it has as many: fewer would be its beginning alone.
const LEAST: usize = 4;

/// Instructions of a workload: a tenth of the timed steps, a hundredth with `--quick`; callgrind takes fifty times as long.
pub fn whole(
    programs: &Programs,
    libraries: &Both<Allocator>,
    workload: &Workload,
    quick: bool,
) -> Result<Counted, Error> {
    let steps = (workload.steps / if quick { 100 } else { 10 }).max(workload.steps.min(LEAST));
    let instructions = both(programs, libraries, workload, steps)?;
    Ok(Counted { workload: workload.name, steps, instructions })
}

/// One count with accounts, one without.
fn both(
    programs: &Programs,
    libraries: &Both<Allocator>,
    workload: &Workload,
    steps: usize,
) -> Result<Both<u64>, Error> {
    Ok(Both {
        with: instructions(programs, &libraries.with, workload, steps)?,
        without: instructions(programs, &libraries.without, workload, steps)?,
    })
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
    // Valgrind's launcher is preloaded, too, and starts a static program. A library that follows programs recognises itself
    // by its file's name, and would remove itself there; under another name it is one library among others.
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
    // If a library cannot be preloaded the loader only prints a complaint: the count would be glibc's.
    let ended_well = done.status.success() && !text.contains("cannot be preloaded");
    collected(&text).filter(|_| ended_well).ok_or_else(|| {
        let own: Vec<&str> =
            text.lines().filter(|line| !line.starts_with("==") && !line.is_empty()).collect();
        Error::Workload(format!("{} under callgrind: {} {}", workload.name, done.status, own.join(" ")))
    })
}

/// The number in callgrind's last words.
pub fn collected(text: &str) -> Option<u64> {
    let (_, count) = text.lines().find_map(|line| line.split_once("Collected :"))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{COUNTED, collected, per_pair};
    use crate::workloads;

    #[test]
    fn a_pair_is_what_lies_between_two_counts() {
        assert!((per_pair(1_000, 61_000, 20_000) - 3.0).abs() < 1e-12);
        assert!(COUNTED.iter().all(|(name, _, _)| workloads::find(name).is_some()));
    }

    #[test]
    fn the_count_is_in_callgrinds_last_words() {
        let text =
            "==7== Events    : Ir\n==7== Collected : 31993900\n==7== \n==7== I   refs:      31,993,900\n";
        assert_eq!(collected(text), Some(31_993_900));
        assert_eq!(collected("==7== no such tool\n"), None);
    }
}
