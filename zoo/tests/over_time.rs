//! `run --every`: figures over time, taken from outside.
//!
//! Not here: how looks become points (unit tests of `host/report`).

use serde_json::Value;
use std::path::PathBuf;
use underbar_zoo::{code, compiled, json, left, run};

fn grows() -> PathBuf {
    compiled("grows", "grows", &[])
}

/// The report of a run with these flags.
fn report(flags: &[&str], line: &[&str]) -> Value {
    let flags: Vec<&str> = flags.iter().copied().chain(["--json", "-o", "-"]).collect();
    let left = left(&mut run(&flags, line));
    json(&left)
}

fn column(course: &Value, figure: &str, kind: &str) -> Vec<Option<u64>> {
    course[figure][kind].as_array().expect("a column").iter().map(Value::as_u64).collect()
}

#[test]
fn a_heap_that_grows_is_seen_to_grow() {
    let program = grows();
    let report = report(&["--every", "10ms"], &[program.to_str().expect("text"), "300"]);
    let over = &report["over_time"];
    assert!(over["looks"].as_u64().is_some_and(|looks| looks >= 3), "{over}");
    assert_eq!(over["every_ns"], 10_000_000);
    let course = &over["processes"][0]["course"];
    let high: Vec<u64> = column(course, "heap", "high").into_iter().flatten().collect();
    // While it grows: all but the last point, which has what the end left.
    assert!(high[..high.len() - 1].is_sorted(), "{high:?}");
    assert_eq!(high.iter().max(), report["processes"][0]["counters"]["heap"]["used_peak"].as_u64().as_ref());
    let last = column(course, "heap", "last");
    assert_eq!(last.last().copied().flatten(), report["processes"][0]["counters"]["heap"]["used"].as_u64());
    assert!(
        column(course, "resident", "high").into_iter().flatten().max().is_some_and(|bytes| bytes > 65_536)
    );
    assert!(course["at_ns"].as_array().expect("times").iter().map(Value::as_u64).is_sorted());
}

#[test]
fn a_program_that_ends_before_the_first_look_has_its_last_point() {
    let report = report(&["--every", "1h"], &["sh", "-c", "exit 3"]);
    let over = &report["over_time"];
    assert_eq!((over["looks"].as_u64(), over["processes"].as_array().map(Vec::len)), (Some(0), Some(1)));
    let course = &over["processes"][0]["course"];
    assert_eq!(course["at_ns"][0], report["processes"][0]["ended_ns"]);
    assert_eq!(
        column(course, "heap", "last")[0],
        report["processes"][0]["counters"]["heap"]["used"].as_u64()
    );
    assert_eq!(
        column(course, "heap", "high")[0],
        report["processes"][0]["counters"]["heap"]["used_peak"].as_u64()
    );
}

#[test]
fn each_process_of_the_tree_has_a_course() {
    let program = grows();
    let report = report(&["--every", "10ms"], &[program.to_str().expect("text"), "100", "3"]);
    let over = &report["over_time"];
    let processes = over["processes"].as_array().expect("processes");
    let grown = processes.iter().filter(|one| {
        column(&one["course"], "heap", "high")
            .into_iter()
            .flatten()
            .max()
            .is_some_and(|bytes| bytes >= 100 * 65_536)
    });
    assert_eq!(grown.count(), 4, "{over}");
    // Four grow side by side.
    let all = column(&over["all"], "heap", "high").into_iter().flatten().max();
    assert!(all.is_some_and(|bytes| bytes >= 100 * 65_536), "{all:?}");
}

#[test]
fn the_course_is_a_line_of_the_summary_and_costs_nothing_without_the_flag() {
    let program = grows();
    let program = program.to_str().expect("text");
    let with = left(&mut run(&["--every", "10ms"], &[program, "100"]));
    assert!(
        with.error.contains("\n  over time ") && with.error.contains(" heap in use, at most 6.2"),
        "{}",
        with.error
    );
    let without = left(&mut run(&[], &[program, "1"]));
    assert!(!without.error.contains("over time"), "{}", without.error);
    assert!(report(&[], &[program, "1"])["over_time"].is_null());
    let short = left(&mut run(&["--every", "1ms"], &["true"]));
    assert!(code(short.status) == 125 && short.error.contains("at least 10ms"), "{}", short.error);
}
