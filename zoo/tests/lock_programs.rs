//! Real programs under each mode of LOCK: those whose threads wait for mutexes of the C library are recorded with waits, and all
//! of them answer and end as they do by themselves.
//!
//! ```text
//! folder/seed  <- files; once: plain            results of long preparation: compiled programs, empty databases
//! folder/work  <- a copy of it; run plain                          ─┐ the same status and output, the same files;
//! folder/work  <- a copy; run under LOCK(OFF | COUNT | SIMPLE)     ─┘ and waits where there is contention
//! ```
//!
//! Servers are started by the scripts, on a socket in that folder, and ended by their process number. Their answers
//! do not depend on the order of requests.
//! Not here: kinds of mutex, one by one (`locks`); programs without threads (`real_programs`).

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use underbar_zoo::locks::{MODES, Run, sum};
use underbar_zoo::{
    Left, Way, code, command, compiled, executable, folder, is_superuser, left, skip, text, underbar,
};

/// The user for programs that root must not run: nobody.
const NOBODY: u32 = 65_534;
/// After this many seconds a run hangs. Never reached by a program that works.
const LIMIT: &str = "300";
/// Contention is random: it may take another run, but not this many.
const TRIES: usize = 8;

/// A program to be left unharmed.
#[derive(Clone, Copy, Default)]
struct Program<'a> {
    name: &'a str,
    /// Programs that must be there.
    needs: &'a [&'a str],
    /// Files in its folder, by name.
    files: &'a [(&'a str, &'a str)],
    /// The commands that run once, plain, before all else.
    once: &'a [&'a str],
    /// The command.
    line: &'a [&'a str],
    /// Files that must be the same afterwards.
    outputs: &'a [&'a str],
    /// The program whose threads must be recorded with waits.
    contends: Option<&'a str>,
    /// It refuses to be run by root.
    refuses_superuser: bool,
    /// Other requirements of the report.
    check: Option<fn(&Value)>,
}

impl Program<'_> {
    /// Runs it plain and under all modes. Returns its output; None if a requirement is not installed.
    fn is_left_unharmed(&self) -> Option<String> {
        if let Some(missing) = self.needs.iter().find(|program| !is_there(program)) {
            skip(&format!("real program {} under LOCK: {missing} is not installed", self.name));
            return None;
        }
        let place = Place::new(self);
        let once = place.plain("seed", self.once);
        assert_eq!(code(once.status), 0, "{}, at first: {once:?}", self.name);
        let (plain, files) = place.fresh(self, || place.plain("work", self.line));
        assert_eq!(code(plain.status), 0, "{} by itself: {plain:?}", self.name);
        for mode in MODES {
            for tries in 1.. {
                let ((left, report), made) = place.fresh(self, || place.under(mode, self.line));
                let (name, same) = (self.name, (left.status, &left.output) == (plain.status, &plain.output));
                assert!(same, "{name} under LOCK({mode}): {left:?}\nplain: {plain:?}");
                assert!(made == files, "{name} under LOCK({mode}): {:?} differ", self.outputs);
                self.tell(mode, &report);
                if let Some(check) = self.check {
                    check(&report);
                }
                if mode == "OFF" {
                    assert_eq!(sum(&report, None, "contended"), 0, "{name} under LOCK(OFF)");
                }
                if mode == "OFF" || self.contends.is_none() || sum(&report, self.contends, "contended") > 0 {
                    break;
                }
                assert!(
                    tries < TRIES,
                    "{name} contends, and no wait was seen in {TRIES} runs under LOCK({mode})"
                );
            }
        }
        Some(plain.output)
    }

    /// Past the test runner, which shows a test's output only if it fails.
    fn tell(&self, mode: &str, report: &Value) {
        let of = |key| sum(report, self.contends, key);
        let text = format!(
            "{} under LOCK({mode}): {} contended acquisitions of {} mutexes, {} by looking again, {} sleeps\n",
            self.contends.unwrap_or(self.name),
            of("contended"),
            of("locks"),
            of("spun"),
            of("parked")
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Whether a program is on the path, or in a folder outside of most users' path.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    std::env::split_paths(&path)
        .chain(versions.map(|version| version.path().join("bin")))
        .chain([PathBuf::from("/usr/sbin")])
        .any(|folder| folder.join(program).is_file())
}

/// A folder with a short name, since the paths of sockets are short; removed when the test passed.
struct Place {
    folder: PathBuf,
    underbar: PathBuf,
    user: Option<u32>,
}

impl Place {
    fn new(program: &Program) -> Place {
        let folder =
            std::env::temp_dir().join(format!("underbar-lock-{}-{}", program.name, std::process::id()));
        let seed = folder.join("seed");
        fs::create_dir_all(&seed).expect("a folder");
        for (name, text) in program.files {
            fs::write(seed.join(name), text).expect("a file");
        }
        let user = (program.refuses_superuser && is_superuser()).then_some(NOBODY);
        let mut own = underbar().to_path_buf();
        if user.is_some() {
            // The folder of the build outputs may be closed to others.
            own = folder.join("underbar");
            executable::copy(underbar(), &own);
            for path in [&folder, &seed] {
                chown(path, user, user).expect("given away");
            }
        }
        Place { folder, underbar: own, user }
    }

    fn plain(&self, work: &str, line: &[&str]) -> Left {
        if line.is_empty() {
            return self.plain(work, &["true"]);
        }
        let mut run = command(Way::Bare, &with_limit(line));
        run.current_dir(self.folder.join(work));
        if let Some(user) = self.user {
            run.uid(user).gid(user).env("HOME", &self.folder);
        }
        left(&mut run)
    }

    fn under(&self, mode: &str, line: &[&str]) -> (Left, Value) {
        let (folder, report) = (self.folder.join("work"), self.folder.join("report.json"));
        let run = Run { underbar: &self.underbar, mode, folder: &folder, report: &report, user: self.user };
        run.of(&with_limit(line))
    }

    /// Runs the function in a new copy of the seed; returns its files, too.
    fn fresh<T>(&self, program: &Program, does: impl Fn() -> T) -> (T, Vec<Vec<u8>>) {
        let work = self.folder.join("work");
        let status = Command::new("cp").arg("-a").arg(self.folder.join("seed")).arg(&work).status();
        assert!(status.expect("cp").success(), "copying {}", self.folder.display());
        let result = does();
        let read = |name: &&str| fs::read(work.join(name)).expect("a file that was written");
        let files = program.outputs.iter().map(read).collect();
        fs::remove_dir_all(work).expect("removed");
        (result, files)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("left for you to look at: {}", self.folder.display());
        } else {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// With a limit that also ends the line's descendants.
fn with_limit<'a>(line: &[&'a str]) -> Vec<&'a str> {
    [&["timeout", "--signal=KILL", LIMIT], line].concat()
}

const ONCE: &[&str] = &["sh", "-eu", "program.sh", "once"];
const RUN: &[&str] = &["sh", "-eu", "program.sh", "run"];

// ---- programs whose threads wait for mutexes ---------------------------------------------------------------------

#[test]
fn a_threaded_program_of_cpp_with_condition_variables() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/locks/threads.cpp");
    let flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", "threads", source];
    let output = Program {
        name: "threads",
        needs: &["g++"],
        once: &[&["g++"], &flags[..]].concat(),
        line: &["./threads"],
        contends: Some("threads"),
        ..Program::default()
    }
    .is_left_unharmed();
    if let Some(output) = output {
        assert_eq!(output, "total 3599940000, entries 480, begun 1, got 0\ndone\n");
    }
}

#[test]
fn pbzip2_packs_and_unpacks_the_same() {
    const STEPS: &str =
        "pbzip2 -k -p4 -b1 -1 -q numbers && pbzip2 -d -p4 -c numbers.bz2 | cmp - numbers && echo done";
    let numbers: String = (0..600_000_u64).map(|n| format!("{}\n", n * n % 1_000_003)).collect();
    let output = Program {
        name: "pbzip2",
        needs: &["pbzip2"],
        files: &[("numbers", &numbers)],
        line: &["sh", "-c", STEPS],
        outputs: &["numbers.bz2"],
        contends: Some("pbzip2"),
        ..Program::default()
    }
    .is_left_unharmed();
    assert!(output.is_none_or(|output| output == "done\n"));
}

#[test]
fn memcached_under_load() {
    let load = compiled("locks/load", "locks-load", &["-pthread"]);
    let output = Program {
        name: "memcached",
        needs: &["memcached"],
        files: &[("program.sh", include_str!("programs/memcached.sh"))],
        line: &["sh", "-eu", "program.sh", text(&load)],
        contends: Some("memcached"),
        ..Program::default()
    }
    .is_left_unharmed();
    if let Some(output) = output {
        assert!(output.contains("stored 160000, 8 connections got all\n"), "{output}");
        assert!(output.ends_with("done\n"), "{output}");
    }
}

/// Transactions of the tool's own, which get into each other's way, and some that count.
#[test]
fn mariadb_under_sysbench() {
    let output = Program {
        name: "mariadb",
        needs: &["mariadbd", "mariadb-install-db", "mariadb", "sysbench"],
        files: &[
            ("program.sh", include_str!("programs/mariadb.sh")),
            ("counters.lua", include_str!("programs/counters.lua")),
        ],
        once: ONCE,
        line: RUN,
        contends: Some("mariadbd"),
        ..Program::default()
    }
    .is_left_unharmed();
    if let Some(output) = output {
        assert_eq!(output.matches("transactions: 500\n").count(), 2, "{output}");
        for line in ["counted\t500\n", "entered\t500\t1\n", "rows\t1000\t1\t1000\n", "of text\t1000\n"] {
            assert!(output.contains(line), "{line}: {output}");
        }
        assert_eq!(output.matches("\tcheck\tstatus\tOK\n").count(), 3, "{output}");
        assert!(output.ends_with("the server ended with 0\ndone\n"), "{output}");
    }
}

// ---- programs that have other locks, or few ------------------------------------------------------------------------

#[test]
fn redis_under_its_benchmark() {
    let server = ["redis-server", "redis-check-rdb"].into_iter().find(|name| is_there(name));
    let output = Program {
        name: "redis",
        needs: &[server.unwrap_or("redis-server"), "redis-benchmark", "redis-cli"],
        files: &[("program.sh", include_str!("programs/redis.sh"))],
        line: &["sh", "-eu", "program.sh", "1500"],
        ..Program::default()
    }
    .is_left_unharmed();
    assert!(output.is_none_or(|output| output.ends_with("the server ended with 0\ndone\n")));
}

/// Processes that share memory, and locks of their own in it.
#[test]
fn postgres_under_pgbench() {
    let output = Program {
        name: "postgres",
        needs: &["postgres", "initdb", "pgbench", "psql"],
        files: &[("program.sh", include_str!("programs/postgres.sh"))],
        once: ONCE,
        line: RUN,
        refuses_superuser: true,
        ..Program::default()
    }
    .is_left_unharmed();
    if let Some(output) = output {
        assert!(output.starts_with("600/600\n"), "{output}");
        assert!(output.contains("\nin parallel|100000|5000050000\n"), "{output}");
        assert!(output.ends_with("the server ended with 0\ndone\n"), "{output}");
        let sums = output.lines().find(|line| line.starts_with("sums|")).expect("sums");
        let sums: Vec<&str> = sums.split('|').skip(1).collect();
        assert!(sums[..4].iter().all(|sum| *sum == sums[0]) && sums[4] == "600", "{output}");
    }
}

#[test]
fn java_with_threads_and_two_collectors() {
    let output = Program {
        name: "java",
        needs: &["java", "javac"],
        files: &[
            ("program.sh", include_str!("programs/java.sh")),
            ("Threads.java", include_str!("programs/Threads.java")),
        ],
        once: ONCE,
        line: RUN,
        ..Program::default()
    }
    .is_left_unharmed();
    if let Some(output) = output {
        assert_eq!(output.matches("taken 20000, together 199990000\n").count(), 2, "{output}");
        assert_eq!(output.matches("it ended with 5\n").count(), 2, "{output}");
    }
}

/// A program without C runs as if plain; for one that calls C its mutexes of C are recorded.
#[test]
fn go_without_c_and_with_it() {
    let cache = folder().join("go-cache");
    let output = Program {
        name: "go",
        needs: &["go", "cc"],
        files: &[
            ("program.sh", include_str!("programs/go.sh")),
            ("plain.go", include_str!("programs/plain.go")),
            ("cgo.go", include_str!("programs/cgo.go")),
        ],
        once: &[ONCE, &[text(&cache)]].concat(),
        line: RUN,
        contends: Some("cgo"),
        check: Some(|report| {
            let not_followed = &report["tree"]["counters"]["follow"]["static"];
            assert_eq!(not_followed, 1, "one of two is linked statically");
        }),
        ..Program::default()
    }
    .is_left_unharmed();
    if let Some(output) = output {
        let lines = [
            "taken 80000, together 3199960000",
            "./plain ended with 5",
            "together 449985000",
            "./cgo ended with 5",
            "done",
        ];
        assert_eq!(output.lines().collect::<Vec<_>>(), lines);
    }
}
