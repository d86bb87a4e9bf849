//! Mutexes of every kind do the same however they are waited for; and real programs that contend are seen to.
//!
//! ```text
//! programs/locks/kinds.c CASE ──┬─ bare
//!                               └─ underbar run --opts LOCK(OFF | COUNT | SIMPLE)      the same output
//! a real program ───────────────┬─ bare
//!                               └─ underbar run --opts LOCK(SIMPLE) --json             the same output, and it contended
//! ```

use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use underbar_ledger::locks::{Area, Call, EDGES, Edge, LOCKS, LockRecord, MODULES, Module, Site, Sort};
use underbar_zoo::{Left, Way, code, command, compiled, folder, left, scratch, skip, underbar};

const MODES: [&str; 3] = ["OFF", "COUNT", "SIMPLE"];

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Runs a line under underbar, in a folder; returns what it left, and the report.
fn under(mode: &str, name: &str, place: &Path, line: &[&str]) -> (Left, Value) {
    let file = folder().join(format!("locks-{name}-{mode}-{}.json", std::process::id()));
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--opts", &format!("LOCK({mode})"), "--"]).args(line);
    run.current_dir(place).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
    let left = left(&mut run);
    let report = fs::read(&file).unwrap_or_else(|error| panic!("{name}: {error}: {left:?}"));
    fs::remove_file(file).expect("removed");
    (left, serde_json::from_slice(&report).expect("a report"))
}

/// A figure of locks, over all processes.
fn sum(report: &Value, key: &str) -> u64 {
    let of = |process: &Value| process["counters"]["lock"][key].as_u64().expect("a figure");
    report["processes"].as_array().expect("processes").iter().map(of).sum()
}

// ---- kinds -------------------------------------------------------------------------------------------------------

/// One row of the table of kinds. Where mutexes of it are ours and contend, waits are seen.
fn kind(case: &str, is_seen: bool) {
    let program = compiled("locks/kinds", "locks-kinds", &["-pthread"]);
    let line = [text(&program), case];
    let plain = left(&mut command(Way::Bare, &line));
    assert_eq!((code(plain.status), plain.error.as_str()), (0, ""), "{case} by itself: {plain:?}");
    assert!(plain.output.ends_with("done\n"), "{case}: {plain:?}");
    for mode in MODES {
        let (left, report) = under(mode, &format!("kind-{case}"), folder(), &line);
        assert_eq!(left, plain, "{case} under LOCK({mode})");
        let contended = sum(&report, "contended");
        if mode == "OFF" {
            assert_eq!(contended, 0, "{case} under LOCK(OFF)");
        } else if is_seen {
            assert!(contended > 0, "{case} under LOCK({mode}): no wait was seen");
        }
    }
}

macro_rules! kinds {
    ($($name:ident: $case:literal, $is_seen:literal;)*) => { $(#[test] fn $name() { kind($case, $is_seen); })* };
}

kinds! {
    normal_mutexes: "normal", true;
    mutexes_of_the_default_kind: "default", true;
    adaptive_mutexes: "adaptive", true;
    recursive_mutexes_are_the_c_library_s: "recursive", false;
    error_checking_mutexes_are_the_c_library_s: "errorcheck", false;
    static_initialisers_of_all_kinds: "static", true;
    owners_are_checked_where_they_are: "owners", false;
    robust_mutexes_outlive_their_holders: "robust", false;
    shared_mutexes_are_shared_by_processes: "shared", false;
    priority_inheritance_and_protection: "protocols", false;
    times_that_come_that_are_over_and_that_are_none: "timed", false;
    condition_variables: "conditions", true;
    mutexes_of_c11: "c11", false;
    forks_while_held_and_contended: "forks", true;
    unmapped_right_after_unlock: "unmaps", false;
    after_thread_specific_destructors_began: "ends", false;
    interrupted_by_signals: "interrupted", true;
}

// ---- real programs -----------------------------------------------------------------------------------------------

/// Runs a line plain and under LOCK(SIMPLE), each in a folder of its own that `prepare` fills; the output and these files
/// must be the same, and the report must have seen waits. Returns what the plain run wrote.
fn contends(name: &str, line: &[&str], files: &[&str], prepare: impl Fn(&Path)) -> String {
    let (here, there) = (scratch(&format!("{name}-plain")), scratch(&format!("{name}-under")));
    prepare(&here);
    prepare(&there);
    let plain = left(command(Way::Bare, line).current_dir(&here));
    assert_eq!(code(plain.status), 0, "{name} by itself: {plain:?}");
    // Whether threads meet is chance: it may take another run, but not ten.
    let mut tries = 0;
    loop {
        tries += 1;
        let (left, report) = under("SIMPLE", name, &there, line);
        assert_eq!((left.status, &left.output), (plain.status, &plain.output), "{name}: {left:?}");
        for file in files {
            let read = |folder: &Path| fs::read(folder.join(file)).expect("a file that was written");
            assert!(read(&here) == read(&there), "{name}: {file} differs");
        }
        let contended = sum(&report, "contended");
        eprintln!(
            "{name}: {contended} contended acquisitions of {} mutexes, {} by looking again, {} sleeps",
            sum(&report, "locks"),
            sum(&report, "spun"),
            sum(&report, "parked")
        );
        if contended > 0 {
            break;
        }
        assert!(tries < 10, "{name} contends, and no wait was seen in ten runs");
    }
    let _ = (fs::remove_dir_all(here), fs::remove_dir_all(there));
    plain.output
}

fn is_there(program: &str) -> bool {
    let there = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()));
    if !there {
        skip(&format!("real program {program} under LOCK(SIMPLE): it is not installed"));
    }
    there
}

#[test]
fn a_threaded_program_of_cpp_with_condition_variables() {
    if !is_there("g++") {
        return;
    }
    let program = folder().join("locks-threads-cpp");
    let beside = program.with_extension(std::process::id().to_string());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/locks/threads.cpp");
    let status = Command::new("g++")
        .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(&beside)
        .arg(source)
        .status()
        .expect("a C++ compiler");
    assert!(status.success(), "compiling threads.cpp");
    fs::rename(beside, &program).expect("renamed");
    let output = contends("threads-cpp", &[text(&program)], &[], |_| ());
    assert_eq!(output, "total 3599940000, entries 480, begun 1, got 0\ndone\n");
}

#[test]
fn pbzip2_packs_and_unpacks_the_same() {
    if !is_there("pbzip2") {
        return;
    }
    const STEPS: &str =
        "pbzip2 -k -p4 -b1 -1 -q numbers && pbzip2 -d -p4 -c numbers.bz2 | cmp - numbers && echo done";
    let output = contends("pbzip2", &["sh", "-c", STEPS], &["numbers.bz2"], |folder| {
        let numbers: String = (0..900_000_u64).map(|n| format!("{}\n", n * n % 1_000_003)).collect();
        fs::write(folder.join("numbers"), numbers).expect("an input");
    });
    assert_eq!(output, "done\n");
}

#[test]
fn memcached_under_load() {
    if !is_there("memcached") {
        return;
    }
    let load = compiled("locks/load", "locks-load", &["-pthread"]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/memcached.sh");
    // A socket's path is short.
    let folder = std::env::temp_dir().join(format!("underbar-memcached-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let inside = format!("cd {} && . {script}", text(&folder));
    let line = ["sh", "-eu", "-c", &inside, "sh", text(&load)];
    let output = contends("memcached", &line, &[], |_| ());
    fs::remove_dir_all(folder).expect("removed");
    assert!(
        output.contains("stored 160000, 8 connections got all\n") && output.ends_with("done\n"),
        "{output}"
    );
}

// ---- the area ----------------------------------------------------------------------------------------------------

/// A lock area as a program left it, beside a ledger of its own.
struct Recorded {
    bytes: Vec<u8>,
    output: String,
}

impl Recorded {
    fn of(mode: &str, case: &str) -> Recorded {
        let folder = scratch(&format!("area-{mode}-{case}"));
        let ledger = folder.join("ledger");
        let program = compiled("locks/seen", "locks-seen", &["-pthread"]);
        let mut run = Command::new(&program);
        run.arg(case).env("LD_PRELOAD", underbar_zoo::heap::preload());
        run.env("UNDERBAR_OPTS", format!("MSGFILE('{}'),LOCK({mode})", text(&ledger)));
        let left = left(&mut run);
        assert_eq!((code(left.status), left.error.as_str()), (0, ""), "{mode} {case}");
        let areas: Vec<_> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "locks"))
            .collect();
        assert_eq!(areas.len(), 1, "{mode} {case}: {areas:?}");
        let bytes = fs::read(&areas[0]).expect("an area");
        assert_eq!(bytes.len(), size_of::<Area>());
        fs::remove_dir_all(folder).expect("removed");
        Recorded { bytes, output: left.output }
    }

    fn wide(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    fn half(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// The address behind this word in what the program said.
    fn said(&self, word: &str) -> u64 {
        let mut words = self.output.split_whitespace().skip_while(|other| *other != word);
        let address = words.nth(1).and_then(|address| address.strip_prefix("0x")).expect("an address");
        u64::from_str_radix(address, 16).expect("an address")
    }

    /// Number of the record of the lock at this address, and where it lies.
    fn record(&self, address: u64) -> (usize, usize) {
        let place = |number: usize| offset_of!(Area, locks) + number * size_of::<LockRecord>();
        let is_it = |number: &usize| self.wide(place(*number) + offset_of!(LockRecord, address)) == address;
        let number = (0..LOCKS).find(is_it).unwrap_or_else(|| panic!("no record of {address:x}"));
        (number, place(number))
    }

    /// Is this address in a module that is the program itself?
    fn is_in_the_program(&self, address: u64) -> bool {
        (0..MODULES).map(|number| offset_of!(Area, modules) + number * size_of::<Module>()).any(|at| {
            let (start, end) =
                (self.wide(at + offset_of!(Module, start)), self.wide(at + offset_of!(Module, end)));
            (start..end).contains(&address) && self.bytes[at + offset_of!(Module, path)] == 0
        })
    }
}

#[test]
fn a_holder_that_reads_while_others_wait_is_seen_there() {
    for mode in ["COUNT", "SIMPLE"] {
        let area = Recorded::of(mode, "blocked");
        let hot = area.said("hot");
        let (_, at) = area.record(hot);
        assert_eq!(area.half(at + offset_of!(LockRecord, sort)), Sort::MutexNormal as u32);
        assert_eq!(area.wide(at + offset_of!(LockRecord, contended)), 1, "{mode}");
        assert_eq!(area.half(at + offset_of!(LockRecord, waiting)), 0, "{mode}");
        let wait = area.wide(at + offset_of!(LockRecord, wait_ns));
        assert!(wait >= 1_000_000, "{mode}: {wait}");
        assert_eq!(wait, area.wide(at + offset_of!(LockRecord, wait_max_ns)));
        let waiters = at + offset_of!(LockRecord, waiters);
        let site = area.wide(waiters + offset_of!(Site, address));
        assert_eq!(site, area.wide(at + offset_of!(LockRecord, first_site)));
        assert!(area.is_in_the_program(site) && area.is_in_the_program(hot), "{mode}: {site:x}");
        assert_eq!(area.wide(waiters + offset_of!(Site, ns)), wait);
        // The holder is to blame for most of it, from another place.
        let holders = at + offset_of!(LockRecord, holders);
        let blamed = area.wide(holders + offset_of!(Site, ns));
        assert!(blamed >= 1_000_000 && blamed <= wait, "{mode}: {blamed} of {wait}");
        let holder = area.wide(holders + offset_of!(Site, address));
        assert!(area.is_in_the_program(holder) && holder != site);
        let blocked = at + offset_of!(LockRecord, blocked);
        assert_eq!(area.half(blocked + offset_of!(Call, number)), 1, "{mode}: read, and one");
        assert!(area.half(blocked + offset_of!(Call, count)) > 0);
        let intervals = at + offset_of!(LockRecord, histogram);
        assert_eq!(area.half(intervals + 4 * wait.ilog2() as usize), 1);
    }
}

#[test]
fn locks_that_two_threads_take_in_different_orders_are_seen() {
    for mode in ["COUNT", "SIMPLE"] {
        let area = Recorded::of(mode, "crossed");
        let (first, second) = (area.record(area.said("first")).0, area.record(area.said("second")).0);
        let pairs: Vec<_> = (0..EDGES)
            .filter_map(|n| Edge::locks_of(area.wide(offset_of!(Area, edges) + n * size_of::<Edge>())))
            .collect();
        for edge in [(first, second), (second, first)] {
            assert!(pairs.contains(&edge), "{mode}: {edge:?} in {pairs:?}");
        }
        assert_eq!(pairs.len(), 2, "{mode}");
    }
}
