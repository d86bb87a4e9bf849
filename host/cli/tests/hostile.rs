//! Names that would control a terminal: of programs, files, folders, members, options, arguments. Every command prints them
//! escaped in text and in JSON.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Harmful parts of a name: a title, a cleared screen, a colour, a forged line, a carriage return, an override of direction,
/// controls of eight bits, and bytes that are no text.
const HOSTILE: [&[u8]; 6] = [
    b"a\x1b]0;owned\x07b",
    b"a\x1b[2J\x1b[31mb\x7f",
    b"a\nFORGED: line",
    b"a\rFORGED\tb",
    "a\u{202e}txt.\u{2066}b\u{200f}\u{61c}".as_bytes(),
    b"a\xc2\x9b31mb\xff\xfe",
];

/// Command lines; `@` is the hostile name, `%` a file of that name; with `/` at its end, a folder.
const LINES: &[&[&str]] = &[
    &["@"],
    &["run", "--@"],
    &["run", "--report", "@", "--", "true"],
    &["run", "--", "@"],
    &["run", "--", "%"],
    &["run", "--", "true", "@"],
    &["run", "--json", "--", "true", "@"],
    &["run", "--report", "le", "--", "%"],
    &["run", "--report", "lock", "--", "%"],
    &["run", "--report", "lock", "--", "true", "@"],
    &["run", "--color", "always", "--", "true", "@"],
    &["run", "--opts", "@", "--", "true"],
    &["run", "--opts-file", "%", "--", "true"],
    &["run", "--opts-file", "@", "--", "true"],
    &["run", "-o", "absent/@", "--", "true"],
    &["run", "--exec", "-o", "absent/@", "--", "true"],
    &["report", "@"],
    &["report", "%"],
    &["report", "--color", "always", "report-of-hostile"],
    &["report", "report-of-hostile"],
    &["report", "--report", "le", "report-of-hostile"],
    &["report", "--report", "lock", "report-of-hostile"],
    &["report", "--json", "report-of-hostile"],
    &["report", "-o", "absent/@", "report-of-hostile"],
    &["diff", "@", "%"],
    &["diff", "--all", "report-of-hostile", "report-of-hostile"],
    &["diff", "--all", "--json", "report-of-hostile", "report-of-hostile"],
    &["diff", "--fail-on", "@", "report-of-hostile", "report-of-hostile"],
    &["advise", "@"],
    &["advise", "%"],
    &["advise", "%", "%"],
    &["advise", "--html", "%"],
    &["advise", "listing-@"],
    &["advise", "listing-@", "listing-@"],
    &["advise", "--json", "listing-@"],
    &["advise", "--html", "listing-@"],
    &["advise", "--simulate", "@", "listing-@"],
    &["advise", "--as", "@", "%"],
    &["options", "--opts", "@"],
    &["options", "--json", "--opts", "@"],
    &["options", "--opts-file", "@"],
    &["options", "--opts-file", "%"],
    &["explain", "@"],
    &["man", "@"],
    &["man", "--dir", "%"],
    &["completions", "@"],
    &["doctor", "--", "@"],
    &["doctor", "--", "%"],
    &["doctor", "--json", "--", "%"],
    &["heap", "--", "@"],
    &["heap", "--", "%", "@"],
    &["heap", "--json", "--", "%"],
    &["heap", "--folded", "absent/@", "--pprof", "absent/@", "--", "%"],
    &["run", "--sites", "--", "%"],
    &["profile", "--", "@"],
    &["profile", "--folded", "absent/@", "--", "%"],
    &["profile", "--", "true", "@"],
    &["tune", "--time", "@", "--", "true"],
    &["tune", "--time", "1s", "--", "%"],
    &["tune", "--time", "1s", "--", "%", "@"],
    &["tune", "--json", "--time", "1s", "--", "%"],
    &["tune", "--time", "1s", "--try", "@", "--", "%"],
    &["tune", "--time", "1s", "--setup", "@", "--", "%"],
    &["tune", "--time", "1s", "--check", "@", "--", "%"],
    &["tune", "--time", "1s", "-o", "absent/@", "--", "%"],
    &["compare", "--runs", "2", "--opts", "HEAP(1M)", "--", "%"],
    &["compare", "--runs", "2", "--opts", "HEAP(1M),@", "--", "%"],
    &["tune", "--opts", "@", "--time", "1s", "--", "%"],
    &["advise", "--as", "underbar", "-o", "absent/@", "report-of-hostile"],
    &["advise", "report-of-hostile"],
    &["report", "--report", "all", "report-of-hostile"],
    &["report", "--report", "all", "--color", "always", "report-of-hostile"],
    &["run", "--report", "all", "--", "%", "@"],
    &["run", "-o", "-", "--", "%"],
    &["tune", "--", "@"],
    &["compare", "--opts", "@", "--", "@"],
    &["exec", "@", "PROG"],
    &["exec", "%", "@"],
    &["demo", "@"],
    &["lib", "@"],
    &["lib", "create", "absent/@"],
    &["lib", "ls", "@"],
    &["lib", "ls", "%"],
    &["lib", "ls", "--json", "%"],
    &["lib", "info", "library"],
    &["lib", "info", "library", "@"],
    &["lib", "info", "--json", "library", "@"],
    &["lib", "add", "library", "%"],
    &["lib", "add", "library", "@"],
    &["lib", "delete", "library", "@"],
    &["lib", "rename", "library", "@", "B"],
    &["lib", "verify", "%"],
    &["lib", "survey", "@"],
    &["lib", "survey", "folder-@"],
    &["lib", "survey", "--json", "folder-@"],
    &["lib", "survey", "%"],
    &["lib", "extract", "%"],
    &["lib", "extract", "library", "@"],
    &["lib", "extract", "--to", "%", "library"],
    &["lib", "extract", "--to", "folder-@", "library"],
    &["lib", "unload", "library", "absent/@"],
    &["lib", "copy", "%", "absent/@"],
];

fn joined(before: &[u8], name: &[u8]) -> OsString {
    OsString::from_vec([before, name].concat())
}

fn stage(number: usize, name: &[u8]) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{number}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join(joined(b"folder-", name))).expect("a folder");
    let program = folder.join(joined(b"file-", name));
    fs::write(&program, [b"#!/bin/sh\nexit 0\n".as_slice(), name, b"\n"].concat()).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("to be run");
    fs::write(
        folder.join(joined(b"listing-", name)),
        include_bytes!("../../listing/tests/listings/additional-heap.txt"),
    )
    .expect("a listing");
    let run = |line: &[OsString]| {
        let status = command(&folder).args(line).stderr(Stdio::null()).status().expect("underbar");
        assert!(status.success(), "{line:?}");
    };
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    run(&words(&["lib", "create", "library"]));
    let mut saved = words(&["run", "--json", "-o", "report-of-hostile", "--"]);
    saved.extend([program.into_os_string(), OsString::from_vec(name.to_vec())]);
    run(&saved);
    folder
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_underbar"));
    command.current_dir(folder).stdin(Stdio::null());
    for name in ["LD_PRELOAD", "UNDERBAR_OPTS", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// The fault in these printed bytes, if any.
fn fault(bytes: &[u8], may_be_coloured: bool) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some("no UTF-8".to_owned()) };
    let mut text = text.to_owned();
    if may_be_coloured {
        for colour in ["0", "1", "1;31", "1;33", "2", "31", "32", "33", "36", "4"] {
            text = text.replace(&format!("\x1b[{colour}m"), "");
        }
    }
    let hostile = |character: char| character != '\n' && underbar_shown::is_hostile(character);
    if let Some(character) = text.chars().find(|&character| hostile(character)) {
        return Some(format!("{character:?}"));
    }
    // An option text has its own lines, which are shown after a margin.
    text.lines().find(|line| line.starts_with("FORGED")).map(str::to_owned)
}

#[test]
fn no_name_steers_a_terminal() {
    let mut faults = Vec::new();
    for (number, name) in HOSTILE.iter().enumerate() {
        let folder = stage(number, name);
        for line in LINES {
            let words = line.iter().map(|word| match word.strip_suffix('@') {
                _ if *word == "%" => joined(b"file-", name),
                Some(before) => joined(before.as_bytes(), name),
                None => word.into(),
            });
            let output = command(&folder).args(words).output().expect("underbar");
            let is_coloured = line.contains(&"--color");
            for (stream, bytes) in [("output", &output.stdout), ("error", &output.stderr)] {
                if let Some(fault) = fault(bytes, is_coloured) {
                    faults.push(format!("{line:?} {number} {stream}: {fault}\n{}", bytes.escape_ascii()));
                }
            }
            let is_json = line.contains(&"--json") && !line.contains(&"run") && !output.stdout.is_empty();
            if is_json && serde_json::from_slice::<serde_json::Value>(&output.stdout).is_err() {
                faults.push(format!("{line:?} {number}: no JSON\n{}", output.stdout.escape_ascii()));
            }
        }
        fs::remove_dir_all(folder).expect("removed");
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
