//! Caches of files: the kernel is entered rarely, and the files, all that the program sees of them, and its end are as without.
//!
//! Not here: writers of many languages by all endings (`cache_matrix`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{code, compiled, left, scratch, skip, text, underbar};

/// What a program leaves: its files by name, its standard streams, how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Leaves {
    files: Vec<(String, Vec<u8>)>,
    status: i32,
}

/// Runs a line in a folder of its own, its standard output and error in files there. With options: under underbar, with the report.
fn run(name: &str, options: Option<&str>, line: &[&str]) -> (Leaves, Value) {
    let way = if options.is_some() { "cached" } else { "plain" };
    let folder = scratch(&format!("file-cache-{name}-{way}"));
    let report = scratch(&format!("file-cache-{name}-report")).join("report.json");
    let mut command = match options {
        None => Command::new(line[0]),
        Some(options) => {
            let mut run = Command::new(underbar());
            run.args(["run", "--json", "-o"]).arg(&report).args(["--opts", options, "--", line[0]]);
            run
        }
    };
    let file = |name: &str| File::create(folder.join(name)).expect("a file");
    command.args(&line[1..]).current_dir(&folder).stdin(std::process::Stdio::null());
    command.stdout(file("1.txt")).stderr(file("2.txt"));
    command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
    let status = command.status().unwrap_or_else(|error| panic!("{line:?}: {error}"));
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the folder")
        .flatten()
        .map(|entry| {
            (entry.file_name().into_string().expect("a name"), fs::read(entry.path()).expect("read"))
        })
        .collect();
    files.sort();
    let report = fs::read(report).ok().map_or(Value::Null, |it| serde_json::from_slice(&it).expect("JSON"));
    (Leaves { files, status: code(status) }, report)
}

fn counter(report: &Value, name: &str) -> u64 {
    report["tree"]["counters"]["cache"][name].as_u64().unwrap_or_else(|| panic!("{name} in {report}"))
}

fn program() -> PathBuf {
    compiled("caches/calls", "caches-calls", &["-pthread", "-fno-builtin", "-Wno-nonnull"])
}

/// The writer of C++; None if there is no compiler.
fn endl() -> Option<PathBuf> {
    let result = underbar_zoo::folder().join("caches-endl");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/caches/endl.cc");
    let made = Command::new("g++").args(["-O1", "-o"]).arg(&result).arg(source).status();
    if !made.is_ok_and(|status| status.success()) {
        skip("file caches of C++: no g++");
        return None;
    }
    Some(result)
}

const OPTIONS: &str = "WORKFILE(*.out,,132),PRINT(132)";

/// A program by all ways of ending and of touching the file.
const MODES: &[&str] = &[
    "write",
    "print-write",
    "stream",
    "reopen",
    "update",
    "append",
    "exit",
    "_exit",
    "abort",
    "kill",
    "segv",
    "exec",
    "exec-inherits",
    "exec-fails",
    "fork",
    "fork-turns",
    "fork-before",
    "vfork",
    "system",
    "system-cloexec",
    "popen",
    "spawn",
    "cloexec",
    "dup",
    "dup2",
    "dupfd",
    "close",
    "close_range",
    "closefrom",
    "syscall-close",
    "syscall-write",
    "fsync",
    "seek",
    "pwrite",
    "readwrite",
    "stat",
    "read-back",
    "truncate",
    "fallocate",
    "mmap",
    "sendfile",
    "copy",
    "lock",
    "flags",
    "rename",
    "link",
    "dprintf",
    "fdopen",
    "writev",
    "large",
    "send",
    "limit",
    "limit-signal",
    "null",
];

#[test]
fn files_and_all_that_is_seen_of_them_are_as_plain() {
    let program = program();
    for mode in MODES {
        for lines in ["10", "3000"] {
            let line = [text(&program), mode, "w.out", lines];
            let (plain, _) = run(&format!("calls-{mode}"), None, &line);
            let (cached, report) =
                run(&format!("calls-{mode}"), Some("WORKFILE(*.out,,16),PRINT(16)"), &line);
            assert_eq!(plain.status, cached.status, "{mode}");
            for (plain, cached) in plain.files.iter().zip(&cached.files) {
                let shown = |file: &(String, Vec<u8>)| String::from_utf8_lossy(&file.1).into_owned();
                assert!(plain == cached, "{mode} {lines}, {}: {} {}", plain.0, shown(plain), shown(cached));
            }
            assert_eq!(plain.files.len(), cached.files.len(), "{mode}");
            if *mode == "write" {
                assert_eq!(counter(&report, "calls"), lines.parse::<u64>().expect("a number"));
            }
        }
    }
}

#[test]
fn ten_thousand_lines_take_ten_or_eleven_writes() {
    let program = program();
    let mut lines: Vec<(&str, Vec<String>)> = ["fputs", "puts"]
        .into_iter()
        .map(|mode| (mode, vec![text(&program).into(), mode.into(), "-".into(), "10000".into()]))
        .collect();
    let endl = endl();
    for mode in ["ofstream", "cout", "cout-alone"] {
        if let Some(endl) = &endl {
            lines.push((mode, vec![text(endl).into(), mode.into(), "w.out".into()]));
        }
    }
    let python = "import sys\nfor _ in range(10000): print('x' * 132, flush=True)";
    lines.push(("python", ["python3", "-u", "-c", python].map(String::from).into()));
    lines.push((
        "perl",
        ["perl", "-e", "$| = 1; print 'x' x 132, \"\\n\" for 1..10000"].map(String::from).into(),
    ));
    for (name, line) in lines {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        if Command::new(line[0]).arg("--version").output().is_err() {
            skip(&format!("file caches: no {}", line[0]));
            continue;
        }
        // 129 KiB are 132,096 bytes.
        for options in [OPTIONS, "WORKFILE(w.out,,129),PWCSIZE(129)"] {
            let (plain, _) = run(&format!("ten-{name}"), None, &line);
            let (cached, report) = run(&format!("ten-{name}"), Some(options), &line);
            assert!(plain == cached, "{name}");
            let writes = counter(&report, "kernel_calls");
            assert!((1..=11).contains(&writes), "{name}: {writes}");
            // The C library writes what is left in its streams after the last destructor, past the cache.
            let bytes = counter(&report, "bytes");
            assert!((1_325_000..=1_330_000).contains(&bytes), "{name}: {bytes}");
        }
    }
}

#[test]
fn a_killed_writer_loses_nothing() {
    let Some(endl) = endl() else { return };
    for mode in ["ofstream", "cout", "cout-alone"] {
        for last in ["0", "1", "1015", "1016", "1017", "5000", "9999"] {
            let line = [text(&endl), mode, "w.out", last];
            let (plain, _) = run(&format!("killed-{mode}"), None, &line);
            let (cached, _) = run(&format!("killed-{mode}"), Some(OPTIONS), &line);
            assert_eq!(plain.status, -9, "{mode}");
            assert!(plain == cached, "{mode} {last}");
        }
    }
}

/// Handlers and threads: the order among them is theirs, but each line is whole, and none is missing or doubled.
#[test]
fn lines_of_threads_and_signal_handlers_are_whole() {
    let program = program();
    let count = |leaves: &Leaves, line: &str| {
        let file = leaves.files.iter().find(|file| file.0 == "w.out").expect("the file");
        let content = String::from_utf8(file.1.clone()).expect("text");
        (content.lines().filter(|other| *other == line).count(), content.lines().count())
    };
    for mode in ["handler", "jumps", "threads"] {
        let (cached, _) = run(mode, Some("WORKFILE(*.out,,4)"), &[text(&program), mode, "w.out", "1"]);
        assert_eq!(cached.status, 0, "{mode}");
        match mode {
            "threads" => {
                for thread in 0..4 {
                    assert_eq!(count(&cached, &format!("thread {thread}")), (2000, 8001));
                }
            }
            _ => {
                let (numbers, all) = count(&cached, "0123456789");
                let (handlers, _) = count(&cached, "handler");
                assert_eq!(numbers + handlers + 1, all, "{mode}");
                assert!(mode == "jumps" || numbers == 200_000, "{mode}: {numbers}");
            }
        }
    }
}

/// Standard output and standard error in one file have one buffer.
#[test]
fn two_streams_in_one_file_keep_their_order() {
    let program = program();
    let folder = scratch("file-cache-both");
    let mut contents = Vec::new();
    for (name, options) in [("plain", None), ("cached", Some("PRINT(132)"))] {
        let report = folder.join("report.json");
        let path = folder.join(name);
        let file = File::create(&path).expect("a file");
        let mut command = match options {
            None => Command::new(&program),
            Some(options) => {
                let mut run = Command::new(underbar());
                run.args(["run", "--json", "-o"]).arg(&report).args(["--opts", options, "--"]).arg(&program);
                run
            }
        };
        command.args(["both", "-", "2000"]).stdout(file.try_clone().expect("one more")).stderr(file);
        assert!(command.status().expect("run").success());
        contents.push(fs::read(path).expect("read"));
    }
    assert!(contents[0] == contents[1]);
    let report =
        serde_json::from_slice(&fs::read(folder.join("report.json")).expect("a report")).expect("JSON");
    // Two that are full, one before `perror`, one at the end.
    assert!(counter(&report, "kernel_calls") <= 4, "{report}");
}

#[test]
fn without_a_supervisor_files_stay_plain_and_so_do_files_that_no_option_names() {
    let program = program();
    let line = [text(&program), "write", "w.out", "100"];
    let (_, report) = run("unnamed", Some("WORKFILE(other.out),PRINT(132)"), &line);
    assert_eq!(counter(&report, "calls"), 0);
    let folder = scratch("file-cache-alone");
    let mut exec = Command::new(underbar());
    exec.args(["run", "--exec", "-o"]).arg(folder.join("ledger")).args(["--opts", OPTIONS, "--"]).args(line);
    assert_eq!(code(left(exec.current_dir(&folder)).status), 0);
    let lines = fs::read_to_string(folder.join("w.out")).expect("read").lines().count();
    let told = left(Command::new(underbar()).args(["report", "--json"]).arg(folder.join("ledger")));
    let report: Value = serde_json::from_str(&told.output).expect("JSON");
    assert_eq!((lines, counter(&report, "calls"), counter(&report, "left_plain")), (100, 0, 1));
}

#[test]
fn main_printer_gets_standard_output() {
    let program = program();
    let line = [text(&program), "print-write", "-", "100"];
    let (plain, _) = run("main-printer", None, &line);
    let (cached, report) = run("main-printer", Some("MAINPR(printed.%e)"), &line);
    let content = |leaves: &Leaves, name: &str| {
        leaves.files.iter().find(|file| file.0 == name).map(|file| file.1.clone()).expect("the file")
    };
    assert_eq!(content(&cached, "1.txt"), b"");
    assert!(content(&plain, "1.txt") == content(&cached, "printed.caches-calls"));
    assert_eq!(counter(&report, "calls"), 100);
}
