//! `underbar profile` against programs with a known distribution of time, and against `perf record`.
//!
//! If the machine allows no samples, all tests but the refusal are skipped. Samples by timers: `timers.rs`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{
    Left, Running, code, compiled, left, program, scratch, skip, text, try_compiled, underbar,
};

const TERM: i32 = 15;

/// About a third of a second on a machine of 3 GHz.
const COUNT: &str = "60000000";

fn hot() -> String {
    text(&compiled("hot", "hot", &["-pthread"])).to_owned()
}

/// `underbar profile FLAGS -- WORDS`.
fn profiled(flags: &[&str], words: &[&str]) -> Left {
    left(Command::new(underbar()).args(["profile", "--sampler", "perf"]).args(flags).arg("--").args(words))
}

/// Whether samples can be taken here. If not, reports the skip.
fn is_sampled(what: &str) -> bool {
    let tried = profiled(&["-q"], &["true"]);
    if code(tried.status) == 0 {
        return true;
    }
    skip(&format!("{what}: {}", tried.error.trim()));
    false
}

/// The profile of a run of `hot`, which ends as always; the sum of all counts is the number of samples.
fn profile(flags: &[&str], words: &[&str]) -> Value {
    let left = profiled(&[flags, &["--json"]].concat(), words);
    assert_eq!((code(left.status), left.output.lines().last()), (5, Some(words[1])), "{}", left.error);
    let profile: Value =
        serde_json::from_str(&left.error).unwrap_or_else(|error| panic!("{error}: {}", left.error));
    assert_eq!(profile["schema"], "underbar.profile/1");
    assert_eq!(rows(&profile).map(|row| number(&row["count"])).sum::<u64>(), number(&profile["samples"]));
    assert_eq!(number(&profile["lost"]), 0);
    profile
}

fn rows(profile: &Value) -> impl Iterator<Item = &Value> {
    profile["instructions"].as_array().expect("rows").iter()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// The share of samples in rows that match.
fn part(profile: &Value, holds: impl Fn(&Value) -> bool) -> f64 {
    let counted: u64 = rows(profile).filter(|row| holds(row)).map(|row| number(&row["count"])).sum();
    counted as f64 / number(&profile["samples"]) as f64
}

#[test]
fn the_slow_instruction_has_the_samples() {
    if !is_sampled("where samples lie") {
        return;
    }
    // In the loop that divides, four of a hundred samples are at its other instructions; in the one that locks, hardly one.
    for (what, function, instruction, least) in
        [("lock", "locked", "lock inc", 0.95), ("divide", "divided", "div", 0.9)]
    {
        let profile = profile(&["--rate", "4000"], &[&hot(), what, COUNT]);
        assert!(number(&profile["samples"]) > 100, "{profile}");
        let is_it = |row: &Value| {
            row["function"] == function
                && row["instruction"].as_str().is_some_and(|text| text.starts_with(instruction))
        };
        assert!(part(&profile, is_it) > least, "{what}: {profile}");
        let first = rows(&profile).next().expect("a row");
        assert!(
            first["program"].as_str().expect("a path").ends_with("/hot")
                && number(&first["displacement"]) < 64
        );
    }
}

#[test]
fn raw_samples_stay_where_they_were_taken() {
    if !is_sampled("raw samples") {
        return;
    }
    let profile = profile(&["--raw"], &[&hot(), "lock", COUNT]);
    assert!(rows(&profile).all(|row| number(&row["charged"]) == 0), "{profile}");
    assert!(part(&profile, |row| row["function"] == "locked") > 0.95, "{profile}");
}

#[test]
fn samples_are_cpu_time() {
    if !is_sampled("the number of samples") {
        return;
    }
    let profile = profile(&[], &[&hot(), "threads", COUNT]);
    let sampled = number(&profile["samples"]) as f64 / number(&profile["rate_hz"]) as f64;
    let used = number(&profile["user_ns"]) as f64 / 1e9;
    // Fewer if the processor itself was taken away (a virtual machine's): the clock then ticks once for several periods.
    assert!((0.5..1.1).contains(&(sampled / used)), "{sampled} s of {used} s");
    // The first thread may have been met as well, or not.
    assert!((4..=5).contains(&number(&profile["threads"])), "{profile}");
}

#[test]
fn children_and_what_they_execute_are_sampled() {
    if !is_sampled("children") {
        return;
    }
    let profile = profile(&[], &[&hot(), "tree", COUNT]);
    assert!((2..=3).contains(&number(&profile["processes"])), "{profile}");
    assert!(part(&profile, |row| row["function"] == "locked") > 0.9, "{profile}");
}

#[test]
fn static_and_stripped_programs_are_sampled() {
    if !is_sampled("static and stripped programs") {
        return;
    }
    for (name, flags) in [("hot-static", &["-pthread", "-static"][..]), ("hot-stripped", &["-pthread", "-s"])]
    {
        match try_compiled("hot", name, flags) {
            Ok(program) => {
                let profile = profile(&["--rate", "4000"], &[text(&program), "lock", COUNT]);
                let is_locked = |row: &Value| {
                    row["instruction"].as_str().is_some_and(|text| text.starts_with("lock inc"))
                };
                assert!(part(&profile, is_locked) > 0.95, "{name}: {profile}");
                let has_name = rows(&profile).any(|row| row["function"] == "locked");
                assert_eq!(has_name, name == "hot-static");
            }
            Err(error) => skip(&format!("{name}: {}", error.lines().next().unwrap_or_default())),
        }
    }
}

/// Shares of functions by `perf record`; None if it does not work here.
fn by_perf(words: &[&str]) -> Option<HashMap<String, f64>> {
    let file = scratch("perf").join("perf.data");
    let record = ["record", "-q", "-e", "cpu-clock:u", "-F", "997", "-o", text(&file), "--"];
    let status = Command::new("perf").args(record).args(words).output().ok()?.status;
    if status.code() != Some(5) {
        return None;
    }
    let script = Command::new("perf").args(["script", "-F", "ip,sym", "-i", text(&file)]).output().ok()?;
    let lines = String::from_utf8_lossy(&script.stdout).into_owned();
    let names: Vec<&str> = lines.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    let mut parts = HashMap::new();
    for name in &names {
        *parts.entry((*name).to_owned()).or_default() += 1.0 / names.len() as f64;
    }
    (names.len() > 100).then_some(parts)
}

#[test]
fn perf_record_sees_the_same() {
    if !is_sampled("beside perf record") {
        return;
    }
    let hot = hot();
    let words = [hot.as_str(), "two", "120000000"];
    let mut differences = HashMap::from([("first", Vec::new()), ("second", Vec::new())]);
    for _ in 0..5 {
        let Some(by_perf) = by_perf(&words) else {
            skip("beside perf record: perf does not work here");
            return;
        };
        let profile = profile(&[], &words);
        for (function, differences) in &mut differences {
            let ours = part(&profile, |row| row["function"] == *function);
            differences.push(100.0 * (ours - by_perf.get(*function).copied().unwrap_or(0.0)));
        }
    }
    for (function, mut differences) in differences {
        differences.sort_by(f64::total_cmp);
        // The median: another program may take a processor's time from either.
        assert!(differences[2].abs() < 2.0, "{function}: {differences:?} points");
    }
}

#[test]
fn the_program_is_seen_as_without_it() {
    if !is_sampled("manners") {
        return;
    }
    let of = |script: &str| code(profiled(&["-q"], &["sh", "-c", script]).status);
    assert_eq!((of("exit 3"), of("kill -TERM $$"), of("kill -SEGV $$")), (3, -TERM, -11));
    for (program, expect) in [("/no/such/program", 127), ("/etc/passwd", 126), ("/", 126)] {
        let left = profiled(&[], &[program]);
        assert_eq!((code(left.status), left.output.as_str()), (expect, ""), "{}", left.error);
    }
    let same = profiled(&["-q"], &["sh", "-c", "echo out; echo error >&2; env | grep -c LD_PRELOAD"]);
    assert_eq!((code(same.status), same.output.as_str(), same.error.as_str()), (1, "out\n0\n", "error\n"));
    let script = "trap 'echo caught; exit 4' TERM; echo ready; while :; do sleep 0.01; done";
    let mut running = Running::start(Command::new(underbar()).args([
        "profile",
        "--sampler",
        "perf",
        "-q",
        "--",
        "sh",
        "-c",
        script,
    ]));
    assert_eq!(running.line(), "ready");
    running.send(TERM);
    assert_eq!((running.line().as_str(), running.end()), ("caught", 4));
}

#[test]
fn tables_and_stacks_go_where_they_are_asked_for() {
    if !is_sampled("files") {
        return;
    }
    let folder = scratch("profile");
    let (table, folded) = (folder.join("%e.txt"), folder.join("%e.folded"));
    let hot = hot();
    let left = profiled(&["-o", text(&table), "--folded", text(&folded)], &[&hot, "lock", COUNT]);
    assert_eq!((code(left.status), left.output.as_str(), left.error.as_str()), (5, "lock\n", ""));
    let table = fs::read_to_string(folder.join("hot.txt")).expect("the table");
    assert!(
        table.contains("PROG DISP") && table.contains("hot - locked") && table.contains("lock inc"),
        "{table}"
    );
    let folded = fs::read_to_string(folder.join("hot.folded")).expect("the stacks");
    let line = folded.lines().find(|line| line.starts_with("hot;locked ")).expect("a line of the function");
    assert!(line.rsplit(' ').next().expect("a count").parse::<u64>().expect("a number") > 10);
}

#[test]
fn where_samples_are_forbidden_nothing_is_run_and_the_reason_is_said() {
    let (unsampled, hot) = (program("unsampled"), hot());
    let words = [text(underbar()), "profile", "--sampler", "perf", "--", &hot, "lock", "1"];
    let left = left(Command::new(unsampled).args(words));
    assert_eq!((code(left.status), left.output.as_str()), (125, ""), "{}", left.error);
    assert!(left.error.starts_with("underbar: error: nothing was run: "), "{}", left.error);
    for words in ["filter", "perf_event_paranoid"] {
        if left.error.contains(words) {
            return;
        }
    }
    panic!("{}", left.error);
}

/// A library with `hot` as its member HOT, which exports only `main`.
fn library(name: &str, organisation: &str) -> String {
    let folder = scratch(name);
    let script = folder.join("exports");
    fs::write(&script, "{ global: main; local: *; };\n").expect("written");
    let script = format!("-Wl,--version-script={}", script.display());
    let member = compiled("hot", &format!("{name}.so"), &["-pthread", "-shared", "-fPIC", &script]);
    let library = folder.join("library");
    let _ = fs::remove_file(&library);
    for words in [
        &["create", text(&library), "--organisation", organisation][..],
        &["add", "--name", "HOT", text(&library), text(&member)],
    ] {
        let left = left(Command::new(underbar()).arg("lib").args(words));
        assert_eq!(code(left.status), 0, "{}", left.error);
    }
    format!("{}(HOT)", text(&library))
}

/// Members have no file of their own: those of a PDSE are mapped out of the library, those of a PDS are read into memory.
#[test]
fn functions_of_members_of_libraries_have_their_names() {
    for organisation in ["pds", "pdse"] {
        let member = library(&format!("profile-{organisation}"), organisation);
        for sampler in ["perf", "timer"] {
            if sampler == "perf" && !is_sampled("names of members, by perf") {
                continue;
            }
            // Of a forked child, too.
            for what in ["lock", "tree"] {
                let program = underbar();
                let words = ["exec", &member, what, "120000000"];
                let mut command = Command::new(program);
                command.args(["profile", "--json", "--sampler", sampler, "--"]).arg(program).args(words);
                let left = left(&mut command);
                assert_eq!(code(left.status), 5, "{}", left.error);
                let profile: Value = serde_json::from_str(&left.error).expect("JSON");
                let is_it = |row: &Value| {
                    row["function"] == "locked" && row["program"].as_str().is_some_and(|name| name == member)
                };
                assert!(number(&profile["samples"]) > 20, "{profile}");
                let part = part(&profile, is_it);
                assert!(part > 0.8, "{organisation}, {sampler}, {what}: {part}\n{profile}");
            }
        }
    }
}

/// perf itself reads such names for memory without a file: for members of a PDS.
#[test]
fn perf_names_functions_of_members_that_were_read() {
    if !is_sampled("names of members in perf") {
        return;
    }
    let member = library("perf-library", "pds");
    let file = scratch("perf-names").join("perf.data");
    let program = underbar();
    let record = ["record", "-q", "-e", "cpu-clock:u", "-F", "997", "-o", text(&file), "--"];
    let mut command = Command::new("perf");
    command.args(record).arg(program).args(["exec", &member, "lock", "120000000"]);
    let started = command.env("UNDERBAR_PERF_MAP", "/tmp").output();
    let Ok(output) = started.as_ref().map_err(|_| ()).and_then(|output| output.status.code().ok_or(()))
    else {
        return skip("names of members in perf: perf does not work here");
    };
    if output != 5 {
        return skip("names of members in perf: perf does not work here");
    }
    let script =
        Command::new("perf").args(["script", "-F", "pid,ip,sym", "-i", text(&file)]).output().expect("perf");
    let lines = String::from_utf8_lossy(&script.stdout).into_owned();
    let named = lines.lines().filter(|line| line.contains("locked [") && line.contains("(HOT)]")).count();
    let process = lines.split_whitespace().next().expect("a process").to_owned();
    let _ = fs::remove_file(format!("/tmp/perf-{process}.map"));
    assert!(named * 10 > lines.lines().filter(|line| !line.is_empty()).count() * 8, "{lines}");
}
