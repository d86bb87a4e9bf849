//! Input without an end: every command that reads reports or listings stops with an error within 64 MiB.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{Folder, command, said, saved};

/// Bytes that are read of a file without a listing.
const READ: usize = 64 << 20;
/// Bytes that a pipe and the reader's buffer may hold in addition.
const HELD: usize = 2 << 20;
/// Bytes that are offered: more than a correct command takes.
const OFFERED: usize = 3 * READ;

/// Offers the command this beginning, and then the pattern repeatedly. Returns the bytes that it took, its exit status and its
/// message.
fn offer(arguments: &[&str], beginning: &[u8], pattern: &[u8]) -> (usize, i32, String) {
    let mut command = command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    let piece = pattern.repeat((1 << 16) / pattern.len());
    let mut taken = 0;
    let mut next = beginning;
    while taken < OFFERED && input.write_all(next).is_ok() {
        taken += next.len();
        next = &piece;
    }
    drop(input);
    let (code, output, error) = said(&child.wait_with_output().expect("it ends"));
    assert_eq!(output, "", "{arguments:?}");
    (taken, code, error)
}

#[test]
fn what_has_no_end_is_refused_after_its_first_64_mib() {
    const NO_LISTING: &str = "underbar: error: -: no known listing in its first 64 MiB, ";
    const TOO_LONG: &str = "underbar: error: -: not an underbar report: it is longer than any report\n";
    let folder = Folder::new("endless");
    let good = saved(&folder, "r.json", &["true"]);
    let commands = [&["advise", "-"][..], &["diff", "-", &good], &["diff", &good, "-"]];
    let inputs: [(&[u8], &[u8], &str); 6] = [
        (b"", b"y\n", NO_LISTING),
        (b"", b"\0", NO_LISTING),
        (b"", b"\n", NO_LISTING),
        (b"", b"x", NO_LISTING),
        (b"{\"of\": [1", b",1", TOO_LONG),
        (b"{\"schema\": \"underbar.report/1\", \"of\": [1", b",1", TOO_LONG),
    ];
    let check = |arguments: &[&str], (beginning, pattern, expected): (&[u8], &[u8], &str)| {
        let (taken, code, error) = offer(arguments, beginning, pattern);
        let what = String::from_utf8_lossy(pattern);
        assert!(taken <= READ + HELD, "{arguments:?} took {taken} bytes of {what:?}");
        assert!(code == 2 && error.starts_with(expected), "{arguments:?}, {what:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    for input in inputs {
        check(&["advise", "-"], input);
    }
    for arguments in commands {
        check(arguments, inputs[1]);
    }
    check(&["report", "-"], (b"", b"y\n", TOO_LONG));
}

#[test]
fn a_device_without_an_end_is_refused_by_its_name() {
    let folder = Folder::new("endless-device");
    let good = saved(&folder, "r.json", &["true"]);
    for arguments in ["advise /dev/zero", "diff OLD /dev/zero", "diff /dev/zero OLD"] {
        // A command that reads on reaches its limit of processor time, and the test ends.
        let line = format!("ulimit -t 120; exec \"$0\" {}", arguments.replace("OLD", "\"$1\""));
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", &line, env!("CARGO_BIN_EXE_underbar"), &good]).output();
        let (code, output, error) = said(&output.expect("a shell"));
        assert_eq!((code, output.as_str()), (2, ""), "{arguments}: {error}");
        let expected = "underbar: error: /dev/zero: no known listing in its first 64 MiB, ";
        assert!(error.starts_with(expected), "{arguments}: {error}");
    }
}
