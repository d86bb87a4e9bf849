//! The cost of LOCK for a program: instructions of a free mutex, and the differences of its waits from plain ones.
//!
//! Counted by valgrind and strace, so that the tests hold on a busy machine.
//! Not here: that mutexes behave like plain ones (`locks`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use underbar_zoo::locks::{Run, sum};
use underbar_zoo::{code, compiled, folder, left, scratch, skip, text, underbar};

fn program() -> PathBuf {
    compiled("locks/cost", "locks-cost", &["-O2", "-pthread"])
}

/// The preload library, as `run` places it.
pub(crate) fn library() -> String {
    let result =
        left(Command::new(underbar()).args(["run", "-q", "--exec", "--", "env"]).env_remove("LD_PRELOAD"));
    let path = result.output.lines().find_map(|line| line.strip_prefix("LD_PRELOAD=")).expect("a preload");
    path.split(':').next().expect("one").to_owned()
}

/// Instructions of one lock and one unlock, by the difference of two runs; and of the shorter run.
///
/// By a copy of the library: valgrind's tools are static programs, before whose start the library removes its own path from
/// the environment.
fn pair(kind: &str, copy: &Path, options: Option<&str>) -> (u64, u64) {
    let instructions = |pairs: &str| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", text(&program()), kind, pairs]);
        command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
        if let Some(options) = options {
            command.env("LD_PRELOAD", copy).env("UNDERBAR_OPTS", options);
        }
        let result = left(&mut command);
        assert_eq!(code(result.status), 0, "{}", result.error);
        let line = result.error.lines().find(|line| line.contains("Collected :"));
        let count = line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("no count in {}", result.error))
    };
    let few = instructions("1000");
    ((instructions("11000") - few) / 10_000, few)
}

/// Kinds by their numbers: normal, recursive, error-checking, adaptive.
#[test]
fn a_free_mutex_costs_as_much_as_plain_or_a_few_instructions_more() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("instructions of free mutexes: needs valgrind");
    }
    let copy = scratch("lock-instructions").join("copy.so");
    fs::copy(library(), &copy).expect("a copy");
    for (kind, under_count) in [("0", 0), ("1", 0), ("2", 0), ("3", 10)] {
        let (plain, of_plain_run) = pair(kind, &copy, None);
        for (options, more) in [("LOCK(OFF)", 6), ("LOCK(COUNT)", under_count)] {
            let (found, of_run) = pair(kind, &copy, Some(options));
            assert!(of_run > of_plain_run, "kind {kind}: the library was not loaded");
            assert!(found <= plain + more, "kind {kind}, {options}: {found} instructions, plain {plain}");
        }
    }
}

/// Each recorded wait sleeps until a time, so that it can look at the holder meanwhile; plain ones do not.
/// From 2,500 waits a second
/// on some are plain. On a machine with other work, the program under strace may wait less often than that.
#[test]
fn where_threads_wait_all_the_time_waits_are_plain_ones_too() {
    const OFTEN: f64 = 5_000.0;
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("waits against strace: needs strace");
    }
    let calls = scratch("lock-cost").join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-ttt", "-e", "trace=futex", "-o", text(&calls)]);
    command.args(["-E", &format!("LD_PRELOAD={}", library()), text(&program()), "busy", "4000"]);
    let result = left(command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!(code(result.status), 0, "{}", result.error);
    let calls = fs::read_to_string(calls).expect("calls");
    let [timed, plain] = ["FUTEX_WAIT_BITSET", "FUTEX_WAIT_PRIVATE"]
        .map(|name| calls.lines().filter(|line| line.contains(name)).count());
    let moment = |line: Option<&str>| -> f64 {
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).expect("a time")
    };
    let seconds = moment(calls.lines().next_back()) - moment(calls.lines().next());
    let each_second = (timed + plain) as f64 / seconds;
    assert!(timed > 0, "none is recorded");
    assert!(
        plain > 1_000 || each_second < OFTEN,
        "{timed} waits until a time, {plain} without one, {each_second} a second"
    );
}

/// The recorded ones represent the rest.
#[test]
fn where_threads_wait_all_the_time_their_number_is_kept() {
    let program = program();
    let report = folder().join(format!("lock-cost-{}.json", std::process::id()));
    let run = |mode| Run { underbar: underbar(), mode, folder: folder(), report: &report, user: None };
    let (result, report) = run("COUNT").of(&[text(&program), "busy", "20000"]);
    assert_eq!(code(result.status), 0, "{}", result.error);
    let (contended, wait_ns) = (sum(&report, None, "contended"), sum(&report, None, "wait_ns"));
    // Two threads of eight are in a mutex at a time, of four; nearly all that come for one find it held.
    assert!((20_000..=160_000).contains(&contended), "{contended} of 160,000 waited");
    assert!(wait_ns > 0, "they waited for no time");
}

/// A hundredth of the waits takes nearly all of the time. It must not depend on which of them are recorded.
#[test]
fn the_time_that_threads_wait_is_that_of_the_programs_own_clock() {
    let program = program();
    let report = folder().join(format!("lock-time-{}.json", std::process::id()));
    let run = Run { underbar: underbar(), mode: "COUNT", folder: folder(), report: &report, user: None };
    for _ in 0..4 {
        let (result, report) = run.of(&[text(&program), "timed", "40000"]);
        assert_eq!(code(result.status), 0, "{}", result.error);
        let own: u64 = result.output.trim().parse().expect("a number");
        let recorded = sum(&report, None, "wait_ns");
        // Its calls that wait for nothing take time, too, and so does reading the clock.
        let without = 16 * 40_000 * 500;
        assert!(
            recorded + without >= own / 2 && recorded <= own * 2,
            "{recorded} ns, and by its own clock {own}"
        );
    }
}
