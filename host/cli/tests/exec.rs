//! `underbar exec`: a program of a library in the place of the command.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use std::path::PathBuf;
use std::process::{Command, Output};

const SOURCE: &str = r#"#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void at_exit(void) { puts("at exit"); }
int main(int argc, char **argv) {
    struct sigaction action;
    int others = 0;
    for (int signal = 1; signal < 32; signal++)
        if (sigaction(signal, NULL, &action) == 0)
            others += action.sa_handler != SIG_DFL;
    atexit(at_exit);
    printf("%s %d %s %s %d\n", argv[0], argc, argc > 1 ? argv[1] : "", getenv("WORD"), others);
    if (argc > 2 && strcmp(argv[2], "abort") == 0)
        abort();
    if (argc > 2 && strcmp(argv[2], "raise") == 0)
        raise(atoi(argv[3]));
    if (argc > 2)
        exit(atoi(argv[2]));
    return 3;
}
"#;

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("exec");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("source.c"), SOURCE).expect("written");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([folder.join("REPORT.so"), folder.join("source.c")])
        .status();
    assert!(made.expect("a compiler").success());
    folder
}

fn exec(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_underbar"));
    command.arg("exec").args(arguments).env("WORD", "given").output().expect("run")
}

/// The number of signals that a program started here ignores, as after nohup or with `&`. Rust's own, SIGPIPE, is restored.
fn ignored() -> u32 {
    const PIPE: u64 = 1 << 12;
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("digits");
    (mask & 0x7fff_ffff & !PIPE).count_ones()
}

#[test]
fn the_program_runs_in_the_place_of_the_command() {
    use std::os::unix::process::ExitStatusExt as _;
    let others = ignored();
    let folder = folder();
    let place = folder.to_str().expect("a path");
    let word = format!("{place}(REPORT)");
    let told = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();

    let output = exec(&[&word]);
    assert_eq!(
        (output.status.code(), told(&output)),
        (Some(3), format!("REPORT 1  given {others}\nat exit\n"))
    );
    let output = exec(&[&word, "--help", "17"]);
    assert_eq!(
        (output.status.code(), told(&output)),
        (Some(17), format!("REPORT 3 --help given {others}\nat exit\n"))
    );
    let output = exec(&["--library", "/tmp", "--library", place, "REPORT", "x", "300"]);
    assert_eq!(output.status.code(), Some(44));
    let output = exec(&[&word, "x", "abort"]);
    assert_eq!(output.status.signal(), Some(6));
    for signal in ["11", "7", "13", "25"] {
        let output = exec(&[&word, "x", "raise", signal]);
        assert_eq!(output.status.signal(), signal.parse().ok());
    }

    let sheet = folder.join("sheet.txt");
    std::fs::write(&sheet, "no library\n").expect("written");
    let mainframe = common::transmission(&folder);
    for (arguments, code, says) in [
        (&[&*format!("{}(X)", sheet.display())][..], 127, "this is no program library"),
        (
            &[&format!("{mainframe}(A)")],
            126,
            "this is a mainframe's library, and its programs cannot run here",
        ),
        (&["/no/such/library(X)"], 127, "there is no such file"),
        (&["REPORT"], 125, "no library was named"),
        (&[&format!("{place}(NOBODY)")], 127, "no program NOBODY"),
        (&[&format!("{place}(Report)")], 127, "no program Report in the libraries; there is REPORT\n"),
        (&["/no/such/library(REPORT)"], 127, "/no/such/library"),
        (&[&format!("{place}(source.c)")], 126, "not an ELF file"),
    ] {
        let output = exec(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(says) && error.starts_with("underbar: error:"), "{error}");
    }
}
