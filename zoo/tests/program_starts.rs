//! Program starts: their storage from one reservation (THSIZE), and their CPU time under one watchdog (MT).
//!
//! Calls of the kernel are counted by `strace`; limits are told by the status of a program, whatever the time on the wall.

use std::fs;
use std::process::Command;

use underbar_zoo::{Left, code, compiled, left, scratch, skip, text, underbar};

/// Calls of the kernel for storage that a program makes from its exec on, as `strace` sees them.
fn storage_calls(name: &str, options: Option<&str>, line: &[&str]) -> u64 {
    let file = scratch(name).join("trace");
    let mut run = Command::new("strace");
    run.args(["-f", "-o", text(&file), "-e", "trace=execve,brk,mmap,munmap,mremap,madvise", "--"]);
    if let Some(options) = options {
        run.args([text(underbar()), "run", "-q", "--exec", "--opts", options, "--"]);
    }
    let left = left(run.args(line).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!((code(left.status), left.output.as_str()), (0, "sum 3040\n"), "{left:?}");
    let trace = fs::read_to_string(file).expect("a trace");
    let (_, ours) = trace.rsplit_once("execve(").expect("it was executed");
    ours.lines().skip(1).filter(|line| line.contains('(')).count() as u64
}

#[test]
fn buffers_that_come_and_go_call_the_kernel_once() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("storage of program starts: needs strace");
    }
    let program = compiled("figures/churn", "figures-churn", &["-fno-builtin-malloc"]);
    let line = [text(&program)];
    let plain = storage_calls("starts-plain", None, &line);
    let default = storage_calls("starts-default", Some(""), &line);
    let reserved = storage_calls("starts-reserved", Some("THSIZE(64M)"), &line);
    assert!(plain > 20_000, "the C library's heap grows and shrinks: {plain}");
    assert!(default <= 200 && reserved <= 50, "{default} by default, {reserved} of a reservation");
}

#[test]
fn a_reservation_costs_no_more_page_faults_than_its_buffers_have_pages() {
    let program = compiled("figures/churn", "figures-churn", &["-fno-builtin-malloc"]);
    let faults = |options: &str| {
        let run = ["run", "--json", "--opts", options, "--", text(&program)];
        let left = left(Command::new(underbar()).args(run).env_remove("UNDERBAR_OPTS"));
        let (_, report) = left.error.split_once('{').unwrap_or_else(|| panic!("{left:?}"));
        let report: serde_json::Value = serde_json::from_str(&format!("{{{report}")).expect("a report");
        report["steps"]["minor_faults"].as_u64().expect("page faults")
    };
    // Twenty buffers, whose first pages are written and whose neighbours are described, and the start of a program.
    for options in ["", "THSIZE(64M)"] {
        let found = faults(options);
        assert!(found < 1_000, "{options}: {found}");
    }
}

/// A program under MT, and its status: that of a signal is 128 more.
fn limited(flags: &[&str], seconds: &str, how: &str) -> (i32, Left) {
    let program = compiled("figures/burns", "figures-burns", &[]);
    let mut run = Command::new(underbar());
    run.arg("run").args(flags).args(["--opts", "MT(1)", "--", text(&program), seconds, how]);
    let left = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    (code(left.status), left)
}

const XCPU: i32 = -24;
const KILL: i32 = -9;

#[test]
fn a_program_beyond_its_limit_is_ended_as_it_chooses() {
    for (seconds, how, expected, told) in [
        ("0.2", "", 0, 0),
        ("9", "", XCPU, 1),
        ("9", "handled", 9, 1),
        ("9", "ignored", KILL, 2),
        // Each program that a process becomes is a start.
        ("0.7", "executed", 0, 0),
    ] {
        let (status, left) = limited(&["-q"], seconds, how);
        assert_eq!(status, expected, "{seconds} {how}: {left:?}");
        let lines = left.error.lines().filter(|line| line.contains("MT(1): process")).count();
        assert_eq!(lines, told, "{seconds} {how}: {left:?}");
    }
}

#[test]
fn a_child_by_fork_has_a_limit_of_its_own() {
    let (status, left) = limited(&["-q"], "1.8", "forked");
    assert_eq!((status, left.output.as_str()), (0, "child signal 24\n"), "{left:?}");
    assert_eq!(left.error.matches("and gets SIGXCPU").count(), 1, "{left:?}");
}

#[test]
fn without_the_command_the_kernel_keeps_the_limit() {
    for (seconds, how, expected) in [("0.2", "", 0), ("9", "", XCPU), ("9", "handled", 9)] {
        let (status, left) = limited(&["-q", "--exec"], seconds, how);
        assert_eq!(status, expected, "{seconds} {how}: {left:?}");
        assert_eq!(left.error, "", "{seconds} {how}");
    }
}

#[test]
fn the_summary_says_what_was_in_force() {
    let program = compiled("figures/churn", "figures-churn", &["-fno-builtin-malloc"]);
    let run = |options: &str| {
        let line = ["run", "--opts", options, "--", text(&program), "3"];
        left(Command::new(underbar()).args(line).env_remove("UNDERBAR_OPTS")).error
    };
    let said = run("MT(60),THSIZE(64M)");
    assert!(said.contains("\n  thsize    64M reserved, 3"), "{said}");
    assert!(said.contains(" of it reached, all buffers in it\n"), "{said}");
    assert!(said.contains("\n  CPU limit 60 s for each of 1 program start\n"), "{said}");
    let said = run("THSIZE(8M)");
    assert!(said.contains("besides it; THSIZE("), "{said}");
    let said = run("");
    assert!(!said.contains("thsize") && !said.contains("CPU limit"), "{said}");
}
