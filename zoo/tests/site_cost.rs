//! The cost of SITES between samples: instructions of malloc and free, as long as no request is sampled.
//!
//! Counted by valgrind, so that it holds on a busy machine.
//! Not here: what a sample costs, which the sampler limits (`bench sites` measures it), and what samples say (`heap_sites`).

use std::fs;
use std::path::Path;
use std::process::Command;

use underbar_zoo::{code, compiled, left, scratch, skip, text};

use crate::lock_cost::library;

/// Instructions of so many pairs of a request and its free, by the difference of two runs.
///
/// By a copy of the library: valgrind's launcher is a static program, before whose start the library removes its own path from the
/// environment.
fn pairs(kind: &str, folder: &Path, copy: &Path, options: &str) -> u64 {
    const FEW: u64 = 20_000;
    let ledger = folder.join(format!("ledger-{kind}"));
    let instructions = |count: u64| {
        let _ = fs::remove_file(&ledger);
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.args([text(&compiled("sites/pairs", "site-pairs", &["-O2"])), kind, &count.to_string()]);
        command.env("LD_PRELOAD", copy);
        command.env("UNDERBAR_OPTS", format!("MSGFILE({}),{options}", text(&ledger)));
        let result = left(&mut command);
        assert_eq!(code(result.status), 0, "{}", result.error);
        assert!(ledger.exists(), "the library was not loaded");
        let line = result.error.lines().find(|line| line.contains("Collected :"));
        let count = line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("no count in {}", result.error))
    };
    // One run in eighty has a sample, in spite of its distance; of three runs, the one with the fewest instructions has none.
    let fewest = |count| (0..3).map(|_| instructions(count)).min().unwrap_or_default();
    fewest(FEW + COUNT) - fewest(FEW)
}

const COUNT: u64 = 200_000;

/// A sample waits at the end of a thread's list of cells. To find that a list has none cost 5 % once.
#[test]
fn lists_without_a_sample_cost_two_percent_at_most() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("instructions of lists under SITES: needs valgrind");
    }
    let folder = scratch("site-cost");
    let copy = folder.join("copy.so");
    fs::copy(library(), &copy).expect("a copy");
    for kind in ["0", "1"] {
        let without = pairs(kind, &folder, &copy, "SITES(OFF)");
        let with = pairs(kind, &folder, &copy, "SITES(ON,1G)");
        assert!(with * 100 <= without * 102, "kind {kind}: {with} instructions, {without} without SITES");
    }
}
