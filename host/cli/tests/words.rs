//! `options`, `explain`, `doctor`: their output and exit status.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, bad, command, good, run, said};

#[test]
fn an_option_text_is_checked_with_carets() {
    let (code, output, error) = run(&["options", "HEPA(1M),HEAP(1OM)"]);
    assert_eq!(code, 1);
    assert_eq!(
        error,
        "underbar: warning: TEXT: column 1: HEPA is no run-time option and was left out; did you mean HEAP?\n\
         \x20 | HEPA(1M),HEAP(1OM)\n\
         \x20 | ^^^^\n\
         underbar: warning: TEXT: column 16: the letter O stands where the digit 0 belongs; init of HEAP keeps the \
         value it had\n\
         \x20 | HEPA(1M),HEAP(1OM)\n\
         \x20 |                ^\n"
    );
    assert!(output.contains("HEAP(AUTO,AUTO,ANYWHERE,AUTO,8192,4096)\n"), "{output}");
    let (code, _, error) = run(&["options", "HEAP(-1)"]);
    assert!(code == 1 && error.contains("\n  |      ^^\n"), "{error}");
    let (code, _, error) = run(&["options", &"(".repeat(10_000)]);
    assert!(code == 1 && error.len() < 20_000, "{}", error.len());
}

#[test]
fn what_is_in_force_and_where_it_was_set() {
    let folder = Folder::new("options");
    let file = folder.file("opts", "HEAP(1M)\n[cc1plus]\nHEAP(8M)\n");
    let arguments = ["options", "HEAP(,2M),ALL31(ON)", "--opts-file", &file, "--program", "cc1plus"];
    let output = command(&arguments).env("UNDERBAR_OPTS", "RPTSTG(ON)").output().expect("it runs");
    let (code, text, error) = said(&output);
    assert_eq!((code, error.as_str()), (0, ""));
    for part in [
        "Options Report for Enclave cc1plus ",
        "\nunderbar V",
        "\nLAST WHERE SET                 OPTION\n",
        "\ncommand line (--opts)            HEAP(8388608,2097152,ANYWHERE,AUTO,8192,4096)\n",
        "\nUNDERBAR_OPTS                    RPTSTG(ON)\n",
        "\nunderbar default                 RPTOPTS(OFF)\n",
        "\nSet by TEXT:\n  ALL31 ",
        "\nAccepted, but:\n  TEXT: column 11: ALL31 is accepted and has no effect: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains(&format!("\nRead, weakest first: UNDERBAR_OPTS, {file}, TEXT\n")), "{text}");
    // Without a program, its sections do not apply.
    assert!(good(&["options", "--opts-file", &file]).contains("HEAP(1048576,AUTO,"));
    let defaults = good(&["options", "--opts-base", "le"]);
    assert!(
        defaults.contains("\nIBM-supplied default             HEAP(32768,32768,ANYWHERE,KEEP,8192,4096)\n")
    );
}

#[test]
fn options_as_json() {
    let (code, json, error) = run(&["options", "--json", "HEPA(1M),HEAP(64M)"]);
    assert_eq!((code, error.as_str()), (1, ""));
    for part in [
        "\"schema\":\"underbar.options/1\"",
        "\"shortest\":\"HEAP(64M)\"",
        "\"severity\":\"warning\"",
        "\"column\":1",
        "\"number\":\"CEE3611I\"",
        "\"where_set\":\"command line (--opts)\"",
    ] {
        assert!(json.contains(part), "{part}: {json}");
    }
    assert_eq!(json.lines().count(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_said() {
    let folder = Folder::new("unread");
    let missing = folder.name("missing");
    let (code, output, error) = run(&["options", "--opts-file", &missing]);
    assert_eq!(code, 1);
    assert!(output.starts_with("Options Report"), "{output}");
    assert_eq!(
        error,
        format!(
            "underbar: warning: options file {missing} was left out: No such file or directory (os error 2)\n"
        )
    );
}

#[test]
fn bytes_that_are_no_text_are_pointed_at() {
    use std::os::unix::ffi::OsStrExt;
    let text = std::ffi::OsStr::from_bytes(b"RPTOPTS(OFF),\xff");
    let (code, _, error) = said(&command(&["options"]).arg(text).output().expect("it runs"));
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("TEXT: column 14: "), "{error}");
}

#[test]
fn sections_of_programs_are_said_where_no_program_is_named() {
    let folder = Folder::new("sections");
    let file = folder.file("x.opts", "HEAP(1M)\n[perl]\nHEAP(2M)\n");
    let says =
        |more: &[&str]| good(&[&["options", "--opts-file", &file], more].concat()).contains("--program NAME");
    assert!(says(&[]));
    assert!(!says(&["--program", "perl"]));
}

#[test]
fn names_are_explained_and_unknown_ones_lead_to_the_nearest() {
    // Labels of the storage report, also those without a counterpart on Linux.
    for (label, key) in [
        ("Successful Get Heap requests", "heap.gets"),
        ("Successful Create Heap requests", "additional_heap.creates"),
        ("Extents Allocated", "pools.extents"),
    ] {
        assert!(good(&["explain", label]).contains(key), "{label}");
    }
    assert!(good(&["explain", "heap"]).starts_with("HEAP("));
    assert!(good(&["explain", "heap.gets"]).starts_with("heap.gets: "));
    assert!(good(&["explain", "heap-size"]).starts_with("heap-size: "));
    let both = good(&["explain", "stack"]);
    assert!(both.starts_with("STACK(") && both.contains("\nstack: "), "{both}");
    let topics = good(&["explain"]);
    for title in ["Options with an effect on Linux: ", "\nRules of suggestions: ", "\nFigures of a report: "]
    {
        assert!(topics.contains(title), "{title}");
    }
    assert_eq!(
        bad(2, &["explain", "heap.getz"]),
        "underbar: error: no option, figure, rule or word is called \"heap.getz\"; did you mean heap.gets? `underbar explain` \
         lists all\n"
    );
    let (code, output, error) = run(&["explain", "HEPA", "RPTSTG"]);
    assert_eq!(code, 2);
    assert!(output.starts_with("RPTSTG("), "{output}");
    assert!(error.contains("did you mean HEAP?"), "{error}");
}

/// The state of a check in the doctor's words.
fn state<'t>(text: &'t str, name: &str) -> &'t str {
    let line = text.lines().find(|line| line.get(9..).is_some_and(|rest| rest.starts_with(name)));
    line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().next().expect("a state")
}

#[test]
fn the_doctor_sees_this_machine() {
    let text = good(&["doctor"]);
    for name in ["library", "ledger", "trial run", "C library"] {
        assert_eq!(state(&text, name), "ok", "{text}");
    }
    for name in [
        "huge pages",
        "mappings",
        "low addresses",
        "overcommit",
        "address space",
        "seccomp",
        "ptrace",
        "samples",
    ] {
        state(&text, name);
    }
    for name in ["page of 4K", "page of 2M", "system call", "clock read", "hand-over", "ledger page"] {
        assert_eq!(state(&text, name), "cost", "{text}");
    }
    let json = good(&["doctor", "--json"]);
    assert!(json.contains("\"name\":\"system call\",\"nanoseconds\":"), "{json}");
    assert!(json.starts_with('{') && json.contains("\"schema\":\"underbar.doctor/1\""), "{json}");
    assert_eq!(json.lines().count(), 1);
}

#[test]
fn the_doctor_looks_at_a_program_without_running_it() {
    let folder = Folder::new("doctor");
    let script = folder.file("script", format!("#!/bin/sh\ntouch {}\n", folder.name("ran")));
    assert_eq!(
        bad(2, &["doctor", "--", &script]),
        format!("underbar: error: {script}: it may not be executed\n")
    );
    let executable = |path: &str| {
        let mut mode = std::fs::metadata(path).expect("there").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(path, mode).expect("executable");
    };
    executable(&script);
    let text = good(&["doctor", "--", &script, "its", "--own=arguments"]);
    assert_eq!((state(&text, "carries"), state(&text, "script")), ("ok", "ok"), "{text}");
    assert!(text.contains("run by /bin/sh"), "{text}");
    assert!(!folder.path().join("ran").exists(), "it was run");

    // An ELF file for another processor, as far as its header goes.
    let mut foreign = vec![0_u8; 64];
    foreign[..6].copy_from_slice(b"\x7fELF\x02\x01");
    foreign[18] = 183;
    let foreign = folder.file("foreign", foreign);
    executable(&foreign);
    let (code, text, _) = run(&["doctor", "--", &foreign]);
    assert_eq!((code, state(&text, "carries")), (1, "no"), "{text}");
    let verdict = format!("{foreign} will not be served: made for another processor: it runs plain");
    assert!(text.starts_with(&verdict), "{text}");

    assert_eq!(
        bad(2, &["doctor", "--", "/no/such/program"]),
        "underbar: error: /no/such/program: no such program\n"
    );
}

#[test]
fn the_doctor_says_where_an_address_space_is_limited() {
    let limited = format!("ulimit -v 4000000; exec {} doctor", env!("CARGO_BIN_EXE_underbar"));
    let output = std::process::Command::new("sh").args(["-c", &limited]).output().expect("a shell");
    let (code, text, _) = said(&output);
    assert_eq!(code, 0);
    assert_eq!(state(&text, "address space"), "limited", "{text}");
}

/// The output of a command on a terminal with this many columns; None if there is no `script` to make one.
fn on_terminal(columns: u16, arguments: &[&str]) -> Option<String> {
    let line =
        format!("stty cols {columns}; exec {} {}", env!("CARGO_BIN_EXE_underbar"), arguments.join(" "));
    let mut script = std::process::Command::new("script");
    script
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null());
    match script.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")),
        Err(error) => {
            eprintln!("skipped: script: {error}");
            None
        }
    }
}

#[test]
fn answers_are_as_wide_as_the_terminal() {
    let folder = Folder::new("wide");
    let listing =
        folder.file("listing.txt", include_str!("../../listing/tests/listings/additional-heap.txt"));
    let lines: [&[&str]; 9] = [
        &["--help"],
        &["run", "--help"],
        &["explain", "HEAP", "heap.gets", "heap-size", "stack"],
        &["explain"],
        &["doctor"],
        &["doctor", "--", "sh"],
        &["advise", &listing],
        &["run", "--", "sort", "/dev/null"],
        &["report", "--report", "all"],
    ];
    for arguments in lines {
        let mut widest = Vec::new();
        for columns in [70_u16, 132] {
            let Some(text) = on_terminal(columns, arguments) else { return };
            assert!(text.lines().count() > 3, "{arguments:?}: {text}");
            // A command to copy is never broken, nor is a path.
            let is_copied = |line: &&str| line.contains("underbar report") || line.contains('/');
            let widths = text.lines().filter(|line| !is_copied(line)).map(|line| line.chars().count());
            widest.push(widths.max().expect("lines"));
        }
        assert!(widest[0] <= 70 && widest[0] < widest[1] && widest[1] <= 132, "{arguments:?}: {widest:?}");
    }
}
