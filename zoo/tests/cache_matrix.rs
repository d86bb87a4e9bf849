//! WORKFILE and PRINT: each language's way of writing lines, by each way of going on and ending, leaves what a plain run leaves.
//!
//! ```text
//! programs/caches/writer.* HOW ENDING LINES lines.out ──┬─ plain          folder A: all files, the exit status
//!                                                       └─ underbar run   folder B: the same, byte by byte
//! ```
//!
//! A line has its number, so what is lost, twice or in another place differs. What a program reads back goes to the file `seen`.
//! Not here: how many writes are left (`file_cache`), files that are shared with others and full disks (`cache_faults`).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use underbar_zoo::{as_user, code, compiled, folder, scratch, skip, text, underbar};

/// Caches all that the writers write, in a buffer that holds it.
pub const CACHED: &str = "PRINT(132) WORKFILE('lines.out*',132,132)";
/// The same in a buffer that is full again and again.
pub const SMALL: &str = "PRINT(1) WORKFILE('lines.out*',1,1)";
/// The file that they write.
pub const FILE: &str = "lines.out";

/// What a program left: its exit status, and all files of its folder but those of messages.
#[derive(PartialEq, Eq)]
pub struct Outcome {
    pub status: i32,
    pub files: BTreeMap<String, Vec<u8>>,
    /// Calls that caches took.
    pub cached: u64,
}

impl Outcome {
    /// The first difference in words; None: equal.
    pub fn difference(&self, other: &Outcome) -> Option<String> {
        if self.status != other.status {
            return Some(format!("status {} and {}", self.status, other.status));
        }
        let names = |outcome: &Outcome| outcome.files.keys().cloned().collect::<Vec<_>>().join(" ");
        if names(self) != names(other) {
            return Some(format!("files {} and {}", names(self), names(other)));
        }
        self.files.iter().zip(other.files.values()).find(|((_, a), b)| a != b).map(|((name, a), b)| {
            let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
            let around = |bytes: &[u8]| {
                String::from_utf8_lossy(&bytes[at.saturating_sub(20)..bytes.len().min(at + 60)]).into_owned()
            };
            format!(
                "{name}: {} and {} bytes, different at {at}: {:?} and {:?}",
                a.len(),
                b.len(),
                around(a),
                around(b)
            )
        })
    }
}

/// Runs a program in a folder of its own; with options under underbar. Standard output is `lines.out` if it `prints`.
pub fn outcome(name: &str, options: Option<&str>, line: &[String], prints: bool) -> Outcome {
    let kind = options.map_or("plain", |options| if options == SMALL { "small" } else { "ours" });
    let folder = scratch(&format!("caches-{name}-{kind}"));
    let report = folder.with_extension("json");
    let mut command = match options {
        None => Command::new(&line[0]),
        Some(options) => {
            // A program that waits for ever fails its test; it does not stop it.
            let mut run = Command::new("timeout");
            run.args(["--foreground", "60"])
                .arg(underbar())
                .args(["run", "--json", "-o", text(&report), "--opts", options, "--"])
                .arg(&line[0]);
            run
        }
    };
    let made = |name: &str| File::create(folder.join(name)).expect("created");
    fs::write(folder.join("input"), "the answer\n").expect("written");
    command.args(&line[1..]).current_dir(&folder);
    command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS").env_remove("UNDERBAR_LEDGER");
    command.stdin(File::open(folder.join("input")).expect("there"));
    command.stdout(made(if prints { FILE } else { "output" })).stderr(made("errors"));
    let status = code(as_user(&mut command).status().expect("started"));
    let errors = fs::read_to_string(folder.join("errors")).unwrap_or_default();
    assert!(status != 99 && !errors.contains("Traceback"), "{name}: {line:?}: {errors}");
    let files = fs::read_dir(&folder)
        .expect("a folder")
        .flatten()
        .map(|file| (file.file_name().to_string_lossy().into_owned(), fs::read(file.path()).expect("read")));
    let files = files.filter(|(name, _)| name != "errors").collect();
    Outcome { status, files, cached: options.map_or(0, |_| cached(&report)) }
}

/// Calls that caches of all processes took.
fn cached(report: &Path) -> u64 {
    let report: Value = serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
    let processes = report["processes"].as_array().expect("processes");
    let buffers = processes.iter().filter_map(|process| process["buffers"].as_array()).flatten();
    buffers.filter_map(|buffer| buffer["calls"].as_u64()).sum()
}

/// A way of writing: how to start its program for HOW, ENDING and LINES.
struct Writer {
    name: &'static str,
    hows: &'static [&'static str],
    endings: &'static [&'static str],
    /// The words before HOW; None: not on this machine.
    program: fn() -> Option<Vec<String>>,
    /// What to compare with a plain run.
    options: &'static [&'static str],
}

/// Endings after which at least the first lines must have been cached.
const CAN_BE_CACHED: [&str; 6] = ["exit", "return", "_exit", "abort", "kill", "segv"];
/// Ways that no cache may take: they open the file for appending, or duplicate its descriptor for each line.
const STAY_PLAIN: [&str; 3] = ["append", "redirected", "descriptor"];

const C_ENDINGS: &[&str] = &[
    "exit",
    "return",
    "_exit",
    "quick_exit",
    "abort",
    "kill",
    "segv",
    "term",
    "caught",
    "exec",
    "exec-fails",
    "fork",
    "fork-exit",
    "vfork",
    "spawn",
    "system",
    "popen",
    "threads",
    "main-ends-first",
    "reopened",
    "appended",
    "renamed",
    "renamed-open",
    "linked",
    "read-back",
    "stat",
    "cat",
    "mapped",
    "jumps",
    "dup",
    "dup2-away",
    "dup2-onto",
    "closed",
    "close_range",
    "fdopen",
    "handler",
    "seek",
    "pwrite",
    "truncate",
    "sync",
    "sendfile",
    "append-flag",
    "lock",
    "second-open",
    "passed",
    "input",
];
/// Endings that close the file, which a program does not do with its standard output.
const CLOSES: [&str; 3] = ["reopened", "appended", "renamed"];

const C: Writer = Writer {
    name: "c",
    options: &[CACHED, SMALL],
    hows: &["stdio", "write", "writev", "dprintf", "append", "print"],
    endings: C_ENDINGS,
    program: || {
        let flags = ["-pthread", "-fno-builtin"];
        Some(vec![text(&compiled("caches/writer", "caches-writer", &flags)).to_owned()])
    },
};
const CPP: Writer = Writer {
    name: "c++",
    options: &[CACHED],
    hows: &["endl", "cout", "nosync"],
    endings: C_ENDINGS,
    program: || {
        static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
        built(&BUILT, &["c++", "-O1", "-pthread"], "writer.cc", "caches-writer-c++")
    },
};
const RUST: Writer = Writer {
    name: "rust",
    options: &[CACHED],
    hows: &["file", "line", "print"],
    endings: &[
        "exit",
        "return",
        "_exit",
        "abort",
        "kill",
        "segv",
        "panic",
        "run",
        "threads",
        "reopened",
        "renamed",
        "read-back",
    ],
    program: || {
        static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
        built(&BUILT, &["rustc", "--edition=2024", "-O"], "writer.rs", "caches-writer-rust")
    },
};
const PYTHON: Writer = Writer {
    name: "python",
    options: &[CACHED],
    hows: &["flush", "unbuffered", "print"],
    endings: &[
        "exit",
        "_exit",
        "abort",
        "kill",
        "segv",
        "exec",
        "fork",
        "run",
        "threads",
        "reopened",
        "renamed",
        "read-back",
        "handler",
    ],
    program: || script(&["python3", "-u"], "writer.py"),
};
const PERL: Writer = Writer {
    name: "perl",
    options: &[CACHED],
    hows: &["flush", "print"],
    endings: &[
        "exit",
        "_exit",
        "abort",
        "kill",
        "segv",
        "exec",
        "fork",
        "run",
        "reopened",
        "renamed",
        "read-back",
    ],
    program: || script(&["perl"], "writer.pl"),
};
const SHELL: Writer = Writer {
    name: "shell",
    options: &[CACHED],
    hows: &["descriptor", "redirected", "print"],
    endings: &["exit", "abort", "kill", "segv", "exec", "fork", "run", "renamed", "trap"],
    program: || script(&["sh"], "writer.sh"),
};
const BASH: Writer = Writer { name: "bash", program: || script(&["bash"], "writer.sh"), ..SHELL };
const NODE: Writer = Writer {
    name: "node",
    options: &[CACHED],
    hows: &["file", "print"],
    endings: &["exit", "return", "abort", "kill", "segv", "run", "reopened", "renamed", "read-back"],
    program: || script(&["node"], "writer.js"),
};
const JAVA: Writer = Writer {
    name: "java",
    options: &[CACHED],
    hows: &["file", "print"],
    endings: &["exit", "return", "_exit", "kill", "run", "renamed"],
    program: || {
        static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
        let classes = text(folder()).to_owned();
        built(&BUILT, &["javac", "-d", &classes], "Writer.java", "Writer.class")?;
        Some(
            ["java", "-Xshare:auto", "-XX:-CreateCoredumpOnCrash", "-cp", &classes, "Writer"]
                .map(str::to_owned)
                .to_vec(),
        )
    },
};

fn source(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/caches").join(name);
    text(&file).to_owned()
}

fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program} > /dev/null")]).status();
    let is = found.is_ok_and(|status| status.success());
    if !is {
        skip(&format!("lines by {program}: not installed"));
    }
    is
}

fn script(before: &[&str], name: &str) -> Option<Vec<String>> {
    is_installed(before[0]).then(|| before.iter().map(ToString::to_string).chain([source(name)]).collect())
}

/// Compiles once. Any compiler that has `-o`, or that leaves `result` in the folder by itself.
fn built(
    once: &OnceLock<Option<PathBuf>>,
    compiler: &[&str],
    name: &str,
    result: &str,
) -> Option<Vec<String>> {
    let path = once.get_or_init(|| {
        let to = folder().join(result);
        let output = if compiler[0] == "javac" { vec![] } else { vec!["-o", text(&to)] };
        let mut command = Command::new(compiler[0]);
        command.args(&compiler[1..]).arg(source(name)).args(output);
        if !is_installed(compiler[0]) {
            return None;
        }
        assert!(command.status().expect("a compiler").success(), "{name}");
        Some(to)
    });
    Some(vec![text(path.as_ref()?).to_owned()])
}

/// Whether the way writes to standard output.
fn prints(how: &str) -> bool {
    matches!(how, "print" | "cout" | "nosync")
}

fn words(program: &[String], how: &str, ending: &str, lines: usize) -> Vec<String> {
    let more = [how, ending, &lines.to_string(), FILE].map(str::to_owned);
    program.iter().cloned().chain(more).collect()
}

/// All ways and endings of a writer.
fn check(writer: &Writer) {
    let Some(program) = (writer.program)() else { return };
    let mut wrong = Vec::new();
    for how in writer.hows {
        for ending in writer.endings {
            if prints(how) && CLOSES.contains(ending) {
                continue;
            }
            let line = words(&program, how, ending, 20);
            let name = format!("{}-{how}-{ending}", writer.name);
            let plain = outcome(&name, None, &line, prints(how));
            assert!(plain.files.values().any(|bytes| bytes.len() >= 1_000), "{name}: nothing was written");
            for options in writer.options {
                let ours = outcome(&name, Some(options), &line, prints(how));
                let differs = plain.difference(&ours).map(|words| format!("{name}, {options}: {words}"));
                wrong.extend(differs);
                // What is equal for want of a cache shows nothing.
                if CAN_BE_CACHED.contains(ending) && !STAY_PLAIN.contains(how) && ours.cached < 10 {
                    wrong.push(format!("{name}, {options}: {} calls were cached", ours.cached));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "plain and cached differ:\n{}", wrong.join("\n"));
}

#[test]
fn c() {
    check(&C);
}

#[test]
fn cpp() {
    check(&CPP);
}

#[test]
fn rust() {
    check(&RUST);
}

#[test]
fn python() {
    check(&PYTHON);
}

#[test]
fn perl() {
    check(&PERL);
}

#[test]
fn shells() {
    check(&SHELL);
    check(&BASH);
}

#[test]
fn node() {
    check(&NODE);
}

#[test]
fn java() {
    check(&JAVA);
}

/// awk has no number of its own process: a shell that becomes awk tells it.
#[test]
fn awk() {
    for awk in ["mawk", "gawk"] {
        if !is_installed(awk) {
            continue;
        }
        for (how, ending) in ["file", "print"]
            .into_iter()
            .flat_map(|how| ["exit", "kill", "abort", "segv", "run", "renamed"].map(|ending| (how, ending)))
        {
            if how == "print" && ending == "renamed" {
                continue;
            }
            let become_awk = format!(
                "exec {awk} -v how={how} -v ending={ending} -v count=20 -v path={FILE} -v me=$$ -f '{}'",
                source("writer.awk")
            );
            let line = ["sh", "-c", &become_awk].map(str::to_owned);
            let name = format!("{awk}-{how}-{ending}");
            let [plain, ours] =
                [None, Some(CACHED)].map(|options| outcome(&name, options, &line, prints(how)));
            assert_eq!(plain.difference(&ours), None, "{name}");
        }
    }
}

/// SIGKILL after every tenth line: nothing is lost, whatever the buffer holds at that moment.
#[test]
fn killed_at_every_tenth_line() {
    for writer in [C, CPP, RUST] {
        let Some(program) = (writer.program)() else { continue };
        for how in writer.hows {
            for lines in (10..=200).step_by(10) {
                let line = words(&program, how, "kill", lines);
                let name = format!("killed-{}-{how}-{lines}", writer.name);
                let ours =
                    outcome(&name, Some(if lines % 20 == 0 { CACHED } else { SMALL }), &line, prints(how));
                assert_eq!(ours.files[FILE].len(), lines * 133, "{name}");
                let plain = outcome(&name, None, &line, prints(how));
                assert_eq!(plain.difference(&ours), None, "{name}");
            }
        }
    }
    for writer in [PYTHON, PERL, SHELL] {
        let Some(program) = (writer.program)() else { continue };
        for lines in (10..=100).step_by(30) {
            let name = format!("killed-{}-{lines}", writer.name);
            let line = words(&program, writer.hows[0], "kill", lines);
            let [plain, ours] = [None, Some(CACHED)].map(|options| outcome(&name, options, &line, false));
            assert_eq!(plain.difference(&ours), None, "{name}");
        }
    }
}

/// Threads at the same time: lines are whole, and those of each thread in their order.
#[test]
fn threads_at_once() {
    let program = (C.program)().expect("a C compiler");
    for how in ["stdio", "write", "append", "print"] {
        let line = words(&program, how, "at-once", 20);
        let ours = outcome(&format!("at-once-{how}"), Some(CACHED), &line, prints(how));
        let text = String::from_utf8(ours.files[FILE].clone()).expect("text");
        assert_eq!(text.lines().count(), 20 + 4 * 50, "{how}");
        for thread in 0..4 {
            let of = format!("thread {thread}, ");
            let numbers: Vec<usize> = text
                .lines()
                .filter_map(|line| line.strip_prefix(&of))
                .map(|number| number.parse().expect("a number"))
                .collect();
            assert_eq!(numbers, (0..50).collect::<Vec<_>>(), "{how}, thread {thread}");
        }
    }
}

/// The comparison itself sees a lost byte, two that changed places, a file more and another status.
#[test]
fn differences_are_found() {
    let of = |status, bytes: &str| Outcome {
        status,
        cached: 0,
        files: [(FILE.to_owned(), bytes.as_bytes().to_vec())].into_iter().collect(),
    };
    let plain = of(0, "abc");
    assert_eq!(plain.difference(&of(0, "abc")), None);
    for other in [of(0, "ab"), of(0, "acb"), of(1, "abc")] {
        assert!(plain.difference(&other).is_some());
    }
    let mut more = of(0, "abc");
    more.files.insert("other".to_owned(), Vec::new());
    assert!(plain.difference(&more).is_some());
}
