//! WORKFILE and PRINT in a run of several processes: each has its buffers, and the files are as without.
//!
//! Not here: one process that writes (`file_cache`, `cache_matrix`), faults (`cache_faults`).

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use underbar_zoo::{as_user, code, compiled, scratch, skip, text, underbar};

const OPTIONS: &str = "WORKFILE('*.out',,132),PRINT(132)";

/// What a run leaves: its status, and its files by name.
#[derive(Debug, PartialEq, Eq)]
struct Leaves {
    status: i32,
    files: Vec<(String, Vec<u8>)>,
}

/// What all processes of a run did.
#[derive(Debug, Default)]
struct Counts {
    calls: u64,
    kernel: u64,
    processes: usize,
    /// Files that were left alone, by reasons.
    plain: String,
}

/// A line in a folder of its own, its output in the file 1.txt there.
fn start(name: &str, options: Option<&str>, line: &[&str]) -> (Command, std::path::PathBuf) {
    let way = if options.is_some() { "cached" } else { "plain" };
    let folder = scratch(&format!("cache-children-{name}-{way}"));
    let mut command = match options {
        None => Command::new(line[0]),
        Some(options) => {
            // A program that waits for ever fails its test; it does not stop it.
            let mut run = Command::new("timeout");
            run.args(["--foreground", "100"]).arg(underbar()).args(["run", "--json", "-o"]);
            run.arg(folder.with_extension("json")).args(["--opts", options, "--", line[0]]);
            run
        }
    };
    command.args(&line[1..]).current_dir(&folder).stdin(Stdio::null());
    command.stdout(File::create(folder.join("1.txt")).expect("a file"));
    command.stderr(File::create(folder.join("2.txt")).expect("a file"));
    command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS").env_remove("UNDERBAR_LEDGER");
    as_user(&mut command);
    (command, folder)
}

fn leaves(folder: &Path, status: i32) -> Leaves {
    let entries = fs::read_dir(folder).expect("the folder").flatten();
    let mut files: Vec<_> = entries
        .map(|entry| {
            (entry.file_name().into_string().expect("a name"), fs::read(entry.path()).expect("read"))
        })
        .collect();
    files.sort();
    Leaves { status, files }
}

fn counts(folder: &Path) -> Counts {
    let report = fs::read(folder.with_extension("json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let mut counts = Counts::default();
    for process in report["processes"].as_array().expect("processes") {
        let buffers: Vec<_> = process["buffers"].as_array().into_iter().flatten().collect();
        let sum = |name: &str| buffers.iter().filter_map(|buffer| buffer[name].as_u64()).sum::<u64>();
        counts.calls += sum("calls");
        counts.kernel += sum("passed_on");
        counts.plain += &buffers.iter().map(|buffer| buffer["plain"].to_string()).collect::<String>();
        counts.processes += usize::from(sum("calls") > 0);
    }
    counts
}

/// Runs it plain and cached; the files must be the same. Returns what the caches did.
fn same(name: &str, line: &[&str]) -> Counts {
    let [plain, cached] = [None, Some(OPTIONS)].map(|options| {
        let (mut command, folder) = start(name, options, line);
        let status = code(command.status().unwrap_or_else(|error| panic!("{line:?}: {error}")));
        leaves(&folder, status)
    });
    let shown = |leaves: &Leaves| {
        let file = |(name, bytes): &(String, Vec<u8>)| {
            format!("{name} {}: {}", bytes.len(), String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]))
        };
        leaves.files.iter().map(file).collect::<Vec<_>>().join("\n")
    };
    assert!(plain == cached, "{name}\n{}\n---\n{}", shown(&plain), shown(&cached));
    counts(&scratch_of(name))
}

fn scratch_of(name: &str) -> std::path::PathBuf {
    underbar_zoo::folder().join(format!("scratch-cache-children-{name}-cached"))
}

fn program() -> String {
    text(&compiled("caches/calls", "caches-calls", &["-pthread", "-fno-builtin", "-Wno-nonnull"])).to_owned()
}

fn has(program: &str) -> bool {
    let is = Command::new(program).arg("--version").output().is_ok();
    if !is {
        skip(&format!("caches of children: no {program}"));
    }
    is
}

/// What starts a writer: it has a buffer, whoever started it.
#[test]
fn a_child_has_buffers_whoever_starts_it() {
    let program = program();
    for (name, script) in [
        ("sh", "PROGRAM write a.out 3000; PROGRAM print-write - 3000"),
        ("two", "PROGRAM write a.out 3000 & PROGRAM write b.out 3000 & wait"),
        ("env", "env A=1 PROGRAM write a.out 3000; timeout 50 PROGRAM print-write - 3000"),
        // md5sum writes once: before each read of a pipe printed output is written, and how often cat reads is by chance.
        ("pipeline", "PROGRAM print-write - 3000 | { md5sum > c.out; PROGRAM write a.out 3000; }"),
        ("redirected", "PROGRAM print-write - 3000 > a.out; (PROGRAM print-write - 3000; echo end) > b.out"),
        ("subshell", "for i in 1 2 3; do echo $i; (PROGRAM print-write - 1000); done"),
    ] {
        for shell in ["sh", "bash"] {
            if !has(shell) {
                continue;
            }
            let script = script.replace("PROGRAM", &program);
            let counts = same(&format!("{name}-{shell}"), &[shell, "-c", &script]);
            assert!(counts.calls >= 3000 && counts.kernel < 200, "{name} {shell}: {counts:?}");
        }
    }
}

/// Two writers at a time under make.
#[test]
fn make_starts_two_writers() {
    if !has("make") {
        return;
    }
    let program = program();
    let rules = format!(
        "all: a.out b.out c.out\n%.out:\n\t@{program} write $@ 2000\n\t@{program} write $@.out 10 > /dev/null\n"
    );
    let rules = rules.replace('\n', "\\n").replace('\t', "\\t").replace('$', "\\$").replace('%', "%%");
    let script = format!("printf \"{rules}\" > Makefile; make -j2");
    let counts = same("make", &["sh", "-c", &script]);
    assert!(counts.processes >= 6 && counts.calls >= 6000 && counts.kernel < 100, "{counts:?}");
}

/// Two processes write one file in turn, and tell each other by pipes: the order of their writes is that of the file.
#[test]
fn processes_that_write_in_turn_keep_their_order() {
    if !has("python3") {
        return;
    }
    let turns = r#"
import os, sys
how, turns = sys.argv[1], int(sys.argv[2])
fd = 1 if how == "print" else os.open("turns.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
there, back = os.pipe(), os.pipe()
child = os.fork()
me, mine, theirs = ("child", back[1], there[0]) if child == 0 else ("parent", there[1], back[0])
for turn in range(turns):
    if child == 0: os.read(theirs, 1)
    for line in range(turn % 7 + 1):
        os.write(fd, b"%s %d %d\n" % (me.encode(), turn, line))
    if turn % 5 == 4: os.write(fd, b"at %d\n" % os.lseek(fd, 0, os.SEEK_CUR))
    if turn % 5 == 3: os.write(fd, b"has %d\n" % os.fstat(fd).st_size)
    os.write(mine, b".")
    if child: os.read(theirs, 1)
if child: os.wait()
else: os._exit(0)
"#;
    for how in ["print", "file"] {
        for turns_of in ["1", "2", "3", "40"] {
            let counts = same(&format!("turns-{how}-{turns_of}"), &["python3", "-c", turns, how, turns_of]);
            assert!(counts.calls > 0, "{how} {turns_of}: {counts:?}");
        }
    }
}

/// The same by a shell whose standard output is the file of its child's.
#[test]
fn a_shell_and_its_children_keep_their_order() {
    let program = program();
    for shell in ["sh", "bash"] {
        if !has(shell) {
            continue;
        }
        let script = format!(
            "mkfifo go; for i in 1 2 3 4; do {{ {program} print-write - 50; echo >go; sleep 0; }} & \
             read line <go; echo after $i; wait; done; \
             ({program} print-write - 9 2>&1 1>&3 | while read line; do echo \"$line\"; done) 3>&1; echo end; rm go"
        );
        same(&format!("order-{shell}"), &[shell, "-c", &script]);
    }
}

/// A shell that reads a command's output in a loop goes on with its buffer.
#[test]
fn a_command_substitution_leaves_the_buffer() {
    for shell in ["dash", "bash"] {
        if !has(shell) && shell == "bash" {
            continue;
        }
        let script = "i=0; while [ $i -lt 20 ]; do x=$(echo $i); for y in 1 2 3 4 5 6 7 8 9 10; do echo line $x $y; done; i=$((i+1)); done";
        let counts = same(&format!("substitution-{shell}"), &[shell, "-c", script]);
        // Ten lines to a write: each fork empties the buffer.
        assert!(counts.calls >= 200 && counts.kernel <= 25, "{shell}: {counts:?}");
    }
}

/// Workers by fork: those that touch the file get it in turn, the others leave it to their parent.
#[test]
fn workers_by_fork_and_their_parent() {
    let perl = r#"$| = 1; open(my $f, ">", "w.out"); select($f); $| = 1;
        for my $n (1..6) { my $p = fork; if (!$p) { open(my $g, ">", "g$n.out"); print $g "worker $n\n" for 1..50; close $g; exit 0 }
        print $f "parent $n $_\n" for 1..50; waitpid $p, 0; print $f "then $n $_\n" for 1..50 }"#;
    if has("perl") {
        let counts = same("perl-workers", &["perl", "-e", perl]);
        assert!(counts.calls >= 600 && counts.kernel <= 40, "{counts:?}");
    }
    let python = r#"
import os
f = os.open("w.out", os.O_WRONLY | os.O_CREAT)
for n in range(4):
    child = os.fork()
    if child == 0:
        for line in range(30): os.write(f, b"child %d %d\n" % (n, line))
        os._exit(0)
    os.waitpid(child, 0)
    for line in range(30): os.write(f, b"parent %d %d\n" % (n, line))
"#;
    if has("python3") {
        let counts = same("python-workers", &["python3", "-c", python]);
        assert!(counts.calls >= 120, "{counts:?}");
    }
    // A child that lives longer than its parent, which leaves bytes in its buffer.
    let longer = r#"
import os
f = os.open("w.out", os.O_WRONLY | os.O_CREAT)
r, w = os.pipe()
g, h = os.pipe()
middle = os.fork()
if middle == 0:
    if os.fork() == 0:
        os.close(w)
        os.read(r, 1)
        for line in range(30): os.write(f, b"last %d\n" % line)
        os._exit(0)
    for line in range(30): os.write(f, b"middle %d\n" % line)
    os.kill(os.getpid(), 9)
os.close(h)
os.waitpid(middle, 0)
os.write(f, b"first\n")
os.close(w)
os.read(g, 1)
os.write(f, b"end\n")
"#;
    if has("python3") {
        let counts = same("longer", &["python3", "-c", longer]);
        assert!(counts.calls >= 60, "{counts:?}");
    }
}

/// A grandchild is killed: its parent, which waits for it, finds all of its bytes in the file and writes behind them.
#[test]
fn a_grandchild_is_killed() {
    let program = program();
    for shell in ["sh", "bash"] {
        if !has(shell) {
            continue;
        }
        let script = format!(
            "for i in 1 2 3 4 5; do {program} kill $i.out 1000; wc -c < $i.out; {program} kill - 10 > two.out; cat two.out; done 2>/dev/null; \
             sh -c 'sh -c \"{program} kill - 100; echo after\"; echo then'"
        );
        let counts = same(&format!("killed-{shell}"), &[shell, "-c", &script]);
        assert!(counts.calls >= 5000, "{counts:?}");
    }
}

/// A process that outlives the command goes on, with the bytes of a plain run.
#[test]
fn a_daemon_outlives_the_command() {
    if !has("python3") {
        return;
    }
    let daemon = r#"
import os, sys
go = os.open("go", os.O_RDWR)
done = os.open("done", os.O_RDWR)
ready, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    f = os.open("d.out", os.O_WRONLY | os.O_CREAT)
    for line in range(100): os.write(f, b"before %d\n" % line)
    os.write(tell, b".")
    os.read(go, 1)
    for line in range(100): os.write(f, b"after %d\n" % line)
    g = os.open("e.out", os.O_WRONLY | os.O_CREAT)
    for line in range(100): os.write(g, b"new %d\n" % line)
    os.write(done, b".")
    os._exit(0)
os.read(ready, 1)
"#;
    let [plain, cached] = [None, Some(OPTIONS)].map(|options| {
        let (mut command, folder) = start("daemon", options, &["python3", "-c", daemon]);
        let fifos = ["go", "done"].map(|name| folder.join(name));
        assert!(Command::new("mkfifo").args(&fifos).status().expect("mkfifo").success());
        let mut ends =
            fifos.clone().map(|path| File::options().read(true).write(true).open(path).expect("opened"));
        assert!(command.status().expect("run").success());
        let lines = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default().lines().count();
        assert_eq!(lines("d.out"), 100, "what it wrote until then is there");
        ends[0].write_all(b".").expect("told");
        ends[1].read_exact(&mut [0]).expect("it is done");
        assert_eq!((lines("d.out"), lines("e.out")), (200, 100));
        fifos.iter().for_each(|path| fs::remove_file(path).expect("removed"));
        leaves(&folder, 0)
    });
    assert!(plain == cached);
}

/// A child that is stopped when the program ends: the run ends, with all that was written.
#[test]
fn a_stopped_child_does_not_keep_the_run() {
    if !has("python3") {
        return;
    }
    let stopped = r#"
import os, signal
child = os.fork()
if child == 0:
    os.setsid()
    f = os.open("s.out", os.O_WRONLY | os.O_CREAT)
    for line in range(100): os.write(f, b"line %d\n" % line)
    os.kill(os.getpid(), signal.SIGSTOP)
    for line in range(100): os.write(f, b"more %d\n" % line)
    os._exit(0)
os.waitpid(child, os.WUNTRACED)
os.write(1, b"%d\n" % child)
"#;
    let (mut command, folder) = start("stopped", Some(OPTIONS), &["python3", "-c", stopped]);
    assert!(command.status().expect("run").success());
    let lines = || fs::read_to_string(folder.join("s.out")).expect("read").lines().count();
    assert_eq!(lines(), 100);
    let child = fs::read_to_string(folder.join("1.txt")).expect("read").trim().to_owned();
    assert!(Command::new("kill").args(["-CONT", &child]).status().expect("kill").success());
    while Path::new("/proc").join(&child).join("cwd").exists() {
        std::thread::yield_now();
    }
    assert_eq!(lines(), 200);
}

/// Fifty children one after the other: their supervisor holds none of their descriptors and memory any more.
#[test]
fn nothing_stays_in_the_supervisor() {
    let program = program();
    let script = format!(
        "read line; for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5; do {program} write $i.out 10; done; done; echo done; read line"
    );
    let (mut command, folder) = start("fifty", Some(OPTIONS), &["sh", "-c", &script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut run = command.spawn().expect("started");
    let mut tell = run.stdin.take().expect("a pipe");
    let mut said = BufReader::new(run.stdout.take().expect("a pipe"));
    let held = || {
        let timeout = run.id();
        let children = fs::read_to_string(format!("/proc/{timeout}/task/{timeout}/children")).expect("read");
        let supervisor = children.split_whitespace().next().expect("the command").to_owned();
        let descriptors = fs::read_dir(format!("/proc/{supervisor}/fd")).expect("read").count();
        let maps = fs::read_to_string(format!("/proc/{supervisor}/maps")).expect("read");
        (descriptors, maps.lines().filter(|line| line.contains("underbar-cache")).count())
    };
    tell.write_all(b"go\n").expect("told");
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    let after = held();
    assert_eq!(after.1, 0);
    assert!(after.0 < 20, "{after:?}");
    tell.write_all(b"end\n").expect("told");
    assert!(run.wait().expect("our child").success());
    assert_eq!(counts(&folder).calls, 500);
}

/// A program that is not followed gets the file: nobody has a buffer of it from then on.
#[test]
fn a_program_without_the_library_gets_the_file() {
    if !has("python3") {
        return;
    }
    let unseen = r#"
import os
def run():
    os.execve("/bin/sh", ["sh", "-c", "echo unseen"], {})
for n in range(3):
    for line in range(20): os.write(1, b"before %d %d\n" % (n, line))
    child = os.fork()
    if child == 0: run()
    os.waitpid(child, 0)
    for line in range(20): os.write(1, b"after %d %d\n" % (n, line))
"#;
    let counts = same("unseen", &["python3", "-c", unseen]);
    assert_eq!(counts.calls, 20, "{counts:?}");
}
