//! WORKFILE and files that are read: what a program gets is what it gets plain, however it reads and whoever shares its place.
//!
//! ```text
//! programs/caches/reader HOW records.in ──┬─ plain          what it printed, and the file after it
//!                                         └─ underbar run   the same
//! ```
//!
//! Not here: files that are written ([`crate::cache_matrix`]).

use std::fs::{self, File};
use std::process::{Command, Stdio};

use underbar_zoo::{as_user, compiled, scratch, skip, text, underbar};

/// Caches of 300 KB and of less than a record.
const SIZES: [&str; 2] = ["WORKFILE('records.in*',300,0)", "WORKFILE('records.in*',1,0)"];
const RECORDS: usize = 2_000;

const HOWS: [&str; 18] = [
    "all",
    "fork",
    "exec",
    "system",
    "seek",
    "pread",
    "grows",
    "changed",
    "changed-by-child",
    "both",
    "dup",
    "streams",
    "mapped",
    "sendfile",
    "looks",
    "replaced",
    "threads",
    "shared",
];

fn reader() -> String {
    text(&compiled("caches/reader", "caches-reader", &["-pthread"])).to_owned()
}

/// What a command line printed, its exit status, and the files that it left.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    output: String,
    status: Option<i32>,
    files: Vec<(String, Vec<u8>)>,
}

fn left(name: &str, options: Option<&str>, line: &[String]) -> Outcome {
    let number = options.map_or(9, |options| SIZES.iter().position(|it| *it == options).unwrap_or(8));
    let folder = scratch(&format!("caches-reads-{name}-{number}"));
    let records: String =
        (0..RECORDS).map(|number| format!("{:<79}\n", format!("rec {number:06} of a file"))).collect();
    fs::write(folder.join("records.in"), records).expect("written");
    let mut command = match options {
        None => Command::new(&line[0]),
        Some(options) => {
            let mut run = Command::new(underbar());
            run.args(["run", "-q", "--opts", options, "--"]).arg(&line[0]);
            run
        }
    };
    command.args(&line[1..]).current_dir(&folder);
    command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS").env_remove("UNDERBAR_LEDGER");
    command.stdin(File::open(folder.join("records.in")).expect("there")).stderr(Stdio::inherit());
    let output = as_user(&mut command).output().expect("started");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("a folder")
        .flatten()
        .map(|file| (file.file_name().to_string_lossy().into_owned(), fs::read(file.path()).expect("read")))
        .collect();
    files.sort();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Outcome { output: text, status: output.status.code(), files }
}

fn same(name: &str, line: &[String]) {
    let plain = left(name, None, line);
    assert!(plain.status == Some(0) && !plain.output.is_empty(), "{name}: {}", plain.output);
    for options in SIZES {
        let ours = left(name, Some(options), line);
        assert_eq!((&plain.output, plain.status), (&ours.output, ours.status), "{name} under {options}");
        assert!(plain.files == ours.files, "{name} under {options}: other files");
    }
}

#[test]
fn each_way_of_reading_gets_the_same() {
    let reader = reader();
    for how in HOWS {
        same(how, &[reader.clone(), how.to_owned(), "records.in".to_owned()]);
    }
}

/// A shell and its children share the place in their standard input, and in a descriptor that the shell opened.
#[test]
fn shells_share_their_place() {
    let reader = reader();
    for (name, script) in [
        ("read", "while read -r line; do echo \"$line\"; dd bs=80 count=1 status=none; done < records.in"),
        ("descriptor", "exec 3< records.in; read -r line <&3; echo \"$line\"; cat <&3"),
        (
            "reader",
            &format!("{{ '{reader}' shared records.in; dd bs=80 count=1 status=none; }} < records.in"),
        ),
        (
            "killed",
            &format!("{{ '{reader}' killed records.in; dd bs=80 count=1 status=none; }} < records.in"),
        ),
    ] {
        for shell in ["sh", "bash"] {
            let line = [shell, "-c", script].map(str::to_owned);
            same(&format!("shell-{shell}-{name}"), &line);
        }
    }
}

/// Readers of other languages.
#[test]
fn other_languages_read_the_same() {
    let python = "import os\nf = open('records.in', 'rb', buffering=0)\nwhile r := f.read(80): print(r[:10], f.tell())\n\
                  print(os.stat('records.in').st_size, len(open('records.in').read()))\n\
                  g = open('records.in', 'r+b')\ng.seek(160)\ng.write(b'changed')\ng.flush()\nf.seek(80)\nprint(f.read(300))";
    let perl = "open(F, '<', 'records.in'); while (sysread(F, $r, 80)) { $n++; print substr($r, 0, 10), \"\\n\" } print $n, eof(F), \"\\n\"";
    for (name, line) in [
        ("python", &["python3", "-c", python][..]),
        ("perl", &["perl", "-e", perl]),
        ("awk", &["awk", "{ print $2 } END { print NR }", "records.in"]),
        ("sed", &["sed", "-n", "5p;7q", "records.in"]),
        ("dd", &["dd", "if=records.in", "bs=80", "status=none"]),
        ("tail", &["tail", "-n", "3", "records.in"]),
        ("sort", &["sort", "-r", "records.in"]),
    ] {
        let found = Command::new("sh").args(["-c", &format!("command -v {} > /dev/null", line[0])]).status();
        if !found.is_ok_and(|status| status.success()) {
            underbar_zoo::skip(&format!("records read by {name}: not installed"));
            continue;
        }
        same(name, &line.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
}

/// A program prints into a cache and reads another file line by line: its reads are the kernel's, and nothing else is asked of the kernel.
#[test]
fn reads_of_files_that_no_option_names_cost_nothing() {
    if !Command::new("strace").args(["-o", "/dev/null", "true"]).status().is_ok_and(|status| status.success())
    {
        return skip("reads of other files: strace is not allowed here");
    }
    let folder = scratch("caches-reads-others");
    fs::write(folder.join("in"), "a line\n".repeat(3_000)).expect("written");
    let shell = "while read -r line; do echo \"$line\"; done";
    let run =
        ["-f", "-o", "trace", "--", underbar().to_str().expect("text"), "run", "-q", "--opts", "PRINT(132)"];
    let mut command = Command::new("strace");
    command.args(run).args(["--", "/bin/sh", "-c", shell]).current_dir(&folder);
    command.stdin(File::open(folder.join("in")).expect("there"));
    command.stdout(File::create(folder.join("out")).expect("made"));
    command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS").env_remove("UNDERBAR_LEDGER");
    assert!(command.status().expect("started").success());
    assert_eq!(fs::read(folder.join("out")).expect("read"), fs::read(folder.join("in")).expect("read"));
    let trace = fs::read_to_string(folder.join("trace")).expect("a trace");
    let count = |name: &str| trace.lines().filter(|line| line.contains(&format!(" {name}("))).count();
    // The shell reads byte by byte, or by pieces after which it sets the place back.
    assert!(count("read") >= 3_000, "{} reads", count("read"));
    assert!(count("write") < 100, "{} writes", count("write"));
    assert!(count("fstat") + count("newfstatat") < 500, "{} looks at files", count("fstat"));
}
