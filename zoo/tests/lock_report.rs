//! The lock report of a program with a known order of waits: names, places, calls, cycles; in text, in JSON,
//! from a kept ledger; and no file is left behind.
//!
//! Not here: the figures themselves (`figures`), kinds of mutex (`locks`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{Left, code, compiled, ledger_files, left, scratch, underbar};

fn program() -> PathBuf {
    compiled("locks/report", "locks-report", &["-pthread", "-O1"])
}

fn run(folder: &Path, flags: &[&str]) -> Left {
    let mut command = Command::new(underbar());
    command.args(["run"]).args(flags).arg("--").arg(program());
    left(command.current_dir(folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"))
}

fn read(folder: &Path, arguments: &[&str]) -> String {
    let left = left(Command::new(underbar()).args(arguments).current_dir(folder));
    assert_eq!(code(left.status), 0, "{left:?}");
    left.output
}

fn report(folder: &Path, mode: &str) -> Value {
    let left = run(folder, &["--opts", mode, "--json", "-o", "report.json"]);
    assert_eq!((code(left.status), left.output.as_str()), (0, "done\n"), "{left:?}");
    serde_json::from_slice(&fs::read(folder.join("report.json")).expect("a report")).expect("JSON")
}

fn of<'a>(list: &'a Value, what: &str) -> &'a Vec<Value> {
    list.as_array().unwrap_or_else(|| panic!("{what}: {list}"))
}

#[test]
fn locks_are_named_with_who_waits_and_who_holds() {
    let folder = scratch("lock-report");
    for mode in ["LOCK(COUNT)", "LOCK(SIMPLE)"] {
        let report = report(&folder, mode);
        let locks = &report["processes"][0]["locks"];
        let mut names: Vec<&str> = Vec::new();
        for lock in of(&locks["locks"], "locks") {
            names.push(lock["place"]["symbol"].as_str().expect("a variable"));
            assert_eq!(lock["contended"], 5, "{mode}: {lock}");
            assert!(lock["wait_ns"].as_u64() >= Some(5 * 50_000_000), "{mode}: {lock}");
            assert!(lock["p50_ns"]["at_most"].as_u64() >= Some(50_000_000), "{mode}: {lock}");
            assert_eq!(lock["waiters"][0]["place"]["symbol"], "wanting", "{mode}: {lock}");
            assert_eq!(lock["holders"][0]["place"]["symbol"], "holding", "{mode}: {lock}");
            assert_eq!(lock["blocked"][0]["name"], "clock_nanosleep", "{mode}: {lock}");
            assert_eq!(lock["parked"].is_null(), mode == "LOCK(COUNT)", "{mode}: {lock}");
        }
        names.sort_unstable();
        assert_eq!(names, ["first_lock", "second_lock"], "{mode}");
        let circles = of(&locks["circles"], "circles");
        assert_eq!(circles.len(), 1, "{mode}: {locks}");
        let edge = &locks["edges"][circles[0][0].as_u64().expect("a place") as usize];
        assert_eq!(edge["site"]["symbol"], "wanting", "{mode}: {edge}");
        // Each wait counts once, however long it is and however many looks it has.
        assert!((1..=5).contains(&edge["count"].as_u64().expect("a number")), "{mode}: {edge}");

        let advice = read(&folder, &["advise", "report.json"]);
        for said in [
            "LOCK: change, for locks-report (lock-order)",
            "LOCK: change, for locks-report (lock-holder-blocks)",
        ] {
            assert!(advice.contains(said), "{mode}: {advice}");
        }
        let gate = Command::new(underbar())
            .args(["diff", "-q", "--fail-on", "locks.circles > 0", "report.json", "report.json"])
            .current_dir(&folder)
            .status();
        assert_eq!(gate.expect("a gate").code(), Some(1), "{mode}");
    }
    assert!(report(&folder, "LOCK(OFF)")["processes"][0]["locks"].is_null());
}

#[test]
fn a_kept_ledger_keeps_its_lock_areas() {
    let folder = scratch("lock-ledger");
    let kept = run(&folder, &["--exec", "-o", "kept.ledger"]);
    assert_eq!((code(kept.status), kept.output.as_str()), (0, "done\n"), "{kept:?}");
    let areas =
        || fs::read_dir(&folder).expect("a folder").flatten().filter(|file| is_area(&file.path())).count();
    assert_eq!(areas(), 1);
    for part in ["first_lock (locks-report)", "Possible deadlock", "holder in clock_nanosleep"] {
        let text = read(&folder, &["report", "--report", "lock", "kept.ledger"]);
        assert!(text.contains(part), "{part}: {text}");
    }
    let summary = read(&folder, &["report", "kept.ledger"]);
    assert!(summary.contains("  locks     possible deadlock; 2 locks, 10 waits of "), "{summary}");
    // A new ledger of that name begins without the old one's contents.
    fs::remove_file(folder.join("kept.ledger")).expect("removed");
    let again = run(&folder, &["--exec", "--opts", "LOCK(OFF)", "-o", "kept.ledger"]);
    assert_eq!(code(again.status), 0, "{again:?}");
    assert_eq!(areas(), 0);
}

fn is_area(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "locks")
}

#[test]
fn areas_go_with_the_ledger_of_their_run() {
    let folder = scratch("lock-areas");
    let mut command = Command::new(underbar());
    command.args(["run", "--report", "lock", "--"]).arg(program());
    let left =
        left(command.env("XDG_RUNTIME_DIR", &folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert!(left.error.contains("first_lock (locks-report)"), "{left:?}");
    assert_eq!(ledger_files(&folder), 0);
}
