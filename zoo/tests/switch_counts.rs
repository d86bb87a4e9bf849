//! SWITCHES(ON) and strace: real programs, each traced plain by strace and counted by underbar.
//!
//! ```text
//! strace -f PROGRAM ──────────> writes, reads, fsyncs, ... less those before the program's own code (the loader's)
//! underbar run -- PROGRAM ────> the same by our stubs, and the kernel's own counts of the types read and write
//! ```
//!
//! Invariant: what a report calls complete is what strace saw. Programs are chosen so that two runs make the same calls.
//! Not here: programs of known numbers (`switches`).

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{left, run, scratch, skip, text};

/// System calls as strace names them, and the names of the functions that count as each.
const WRITES: [&str; 4] = ["write", "pwrite64", "writev", "pwritev"];
const READS: [&str; 4] = ["read", "pread64", "readv", "preadv"];
/// Calls that are never made inside the C library, for none but the program: function and system call have one name.
const PLAIN: [&str; 9] =
    ["fsync", "fdatasync", "ftruncate", "fchmod", "rename", "symlink", "getppid", "socketpair", "sendfile"];

/// What strace counted, by system call.
fn traced(name: &str, line: &[String]) -> Option<BTreeMap<String, u64>> {
    let folder = scratch(&format!("switch-counts-{name}-traced"));
    let file = folder.join("trace");
    let calls = [&WRITES[..], &READS, &PLAIN].concat().join(",");
    let result = left(
        Command::new("strace")
            .args(["-f", "-qq", "-o", text(&file), "-e", &format!("trace={calls},openat,close"), "--"])
            .args(line)
            .current_dir(&folder),
    );
    if result.error.contains("ptrace") {
        skip(&format!("{name}: strace is not allowed here"));
        return None;
    }
    assert!(result.status.success(), "{name}: {result:?}");
    let mut counts = BTreeMap::new();
    let trace = fs::read_to_string(file).expect("text");
    // The loader reads the head of each library, from the descriptor that it opened for it.
    let mut loading: BTreeMap<&str, &str> = BTreeMap::new();
    for line in trace.lines() {
        let (process, rest) = line.split_once(' ').expect("a process and its call");
        // A call that was interrupted by another thread's is in two lines.
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        let descriptor = arguments.split([',', ')']).next().unwrap_or_default();
        match call {
            "openat" if arguments.contains(".so") => {
                let opened = arguments.rsplit("= ").next().unwrap_or_default();
                loading.insert(process, opened);
            }
            "close" if loading.get(process) == Some(&descriptor) => {
                loading.remove(process);
            }
            "openat" | "close" => {}
            _ if loading.get(process) == Some(&descriptor) => {}
            _ => *counts.entry(call.to_owned()).or_default() += 1,
        }
    }
    Some(counts)
}

/// What underbar counted: by function; and for reads and writes its own sum and the kernel's.
fn counted(name: &str, line: &[String]) -> (BTreeMap<String, u64>, [u64; 4]) {
    let folder = scratch(&format!("switch-counts-{name}-counted"));
    let report = folder.join("report.json");
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    let mut run = run(&["--json", "-o", text(&report), "--opts", "SWITCHES(ON)"], &words);
    let result = left(run.current_dir(&folder));
    assert!(result.status.success(), "{name}: {result:?}");
    let report: Value = serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
    let mut counts = BTreeMap::new();
    let mut sums = [0; 4];
    for process in report["processes"].as_array().expect("processes") {
        for call in process["switches"]["calls"].as_array().expect("calls") {
            let function = call["function"].as_str().expect("a name").trim_end_matches("64").to_owned();
            *counts.entry(function).or_default() += call["count"].as_u64().expect("a count");
        }
        let names = ["read_calls", "kernel_read_calls", "write_calls", "kernel_write_calls"];
        for (sum, name) in sums.iter_mut().zip(names) {
            let figure = &process["counters"]["switches"][name];
            *sum += figure["value"].as_u64().or(figure.as_u64()).expect("a figure");
        }
    }
    (counts, sums)
}

/// The programs: a name, and a command line of the shell; `{}` is an input of many lines.
const PROGRAMS: [(&str, &str, &str); 14] = [
    (
        "perl",
        "perl",
        "perl -e '$|=1; print \"line $_\\n\" for 1..500; rename \"a\", \"b\"; getppid for 1..7'",
    ),
    (
        "python",
        "python3",
        "exec /usr/bin/env python3 -u -c 'import os\nf = open(\"out\", \"wb\", buffering=0)\nfor i in range(300): f.write(b\"x\" * 100)\nos.fsync(f.fileno())'",
    ),
    ("bash", "bash", "exec bash -c 'for ((i=0;i<300;i++)); do echo $i; done'"),
    ("dash", "dash", "exec dash -c 'i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done > out'"),
    ("mawk", "mawk", "exec mawk '{ print > \"out\"; fflush(\"out\") }' {}"),
    ("gawk", "gawk", "exec gawk '{ print; fflush() }' {}"),
    ("tar", "tar", "exec tar -cf out.tar {} {} {}"),
    ("gzip", "gzip", "exec gzip -c {} > out.gz"),
    ("bzip2", "bzip2", "exec bzip2 -c {} > out.bz2"),
    ("sort", "sort", "exec sort -r -o out {}"),
    ("sed", "sed", "exec sed -u 's/1/2/' {}"),
    ("dd", "dd", "exec dd if={} of=out bs=133 conv=fsync status=none"),
    ("grep", "grep", "exec grep --line-buffered 7 {}"),
    (
        "sqlite3",
        "sqlite3",
        "exec sqlite3 new.db 'create table t(a); insert into t values (1),(2); select * from t;'",
    ),
];

#[test]
fn real_programs_make_the_calls_that_strace_sees() {
    let input = scratch("switch-counts").join("input");
    let lines: String = (0..2_000).map(|number| format!("{number:010} a line of some length\n")).collect();
    fs::write(&input, lines).expect("written");
    let mut compared = 0;
    for (name, program, command) in PROGRAMS {
        let is_there = |program: &str| {
            let found =
                Command::new("sh").args(["-c", &format!("command -v {program} > /dev/null")]).status();
            found.is_ok_and(|status| status.success())
        };
        if !is_there("strace") {
            return skip("calls of real programs: strace is not installed");
        }
        if !is_there(program) {
            skip(&format!("calls of {program}: not installed"));
            continue;
        }
        let command = command.replace("{}", text(&input));
        let line = ["sh", "-c", &command].map(str::to_owned);
        let Some(traced) = traced(name, &line) else { return };
        let (counts, [read, kernel_read, wrote, kernel_wrote]) = counted(name, &line);
        let of = |calls: &[&str]| calls.iter().filter_map(|call| traced.get(*call)).sum::<u64>();
        let all = format!("{name}: strace {traced:?}, ours {counts:?}");
        let (writes, reads) = (of(&WRITES), of(&READS));
        assert!(writes + reads > 0, "{all}");
        // Where our sum is the kernel's, it is strace's: the line "complete" is true, which allows for four calls. (What the C
        // library writes after the last look, at the end of the process, is in strace's only.)
        assert!(wrote.abs_diff(writes) <= (writes / 100).max(4), "{wrote} writes of {writes}; {all}");
        assert!(
            kernel_wrote.abs_diff(writes) <= (writes / 100).max(4),
            "{kernel_wrote} by the kernel; {all}"
        );
        if read == kernel_read {
            // libselinux reads twice before underbar begins; a report calls four calls complete, too.
            assert!(read.abs_diff(reads) <= (reads / 100).max(4), "{read} reads of {reads}; {all}");
        } else {
            // The C library's own reads, as of a file of locales, are in the kernel's figure and strace's only.
            assert!(
                read < kernel_read && reads + 1 >= kernel_read - kernel_read / 10,
                "{kernel_read}: {all}"
            );
        }
        for call in PLAIN {
            let ours = counts.get(call).copied().unwrap_or(0);
            assert_eq!(ours, traced.get(call).copied().unwrap_or(0), "{call}; {all}");
        }
        compared += 1;
    }
    assert!(compared >= 10, "only {compared} programs");
}
