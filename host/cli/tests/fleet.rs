//! `fleet`, `diff` of several runs, and `--openmetrics`, as users call them.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use std::process::Stdio;

use common::{Folder, bad, command, good, run, said, saved};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_run_becomes_a_line_for_each_program() {
    let folder = Folder::new("fleet");
    let shell = saved(&folder, "sh.json", &["sh", "-c", "cat /dev/null; true"]);
    let (code, text, error) = run(&["fleet", &shell]);
    assert_eq!((code, error.as_str()), (0, "underbar: 1 report, 2 lines\n"));
    let found = lines(&text);
    assert!(found.iter().all(|line| line["schema"] == "underbar.fleet/1" && line["exit_status"] == 0));
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    assert!(found.iter().all(|line| line["host"] == machine.trim()), "{text}");
    let names: Vec<&str> = found.iter().filter_map(|line| line["program"].as_str()).collect();
    assert!(names.contains(&"cat"), "{names:?}");
    assert_eq!(found.iter().filter(|line| line["is_main"] == 1).count(), 1);
    // Once more, as a stream, in several lines, and after an earlier collection: the same.
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(&folder.read("sh.json")).expect("JSON"));
    let pretty = folder.file("pretty.json", pretty.expect("JSON"));
    assert_eq!(good(&["fleet", "-q", &pretty]), text);
    let day = folder.file("day.ndjson", &text);
    assert_eq!(good(&["fleet", "-q", &day, &shell, &pretty]), text);
    let input = std::fs::File::open(&shell).expect("there");
    let streamed = command(&["fleet", "-q", "-"]).stdin(Stdio::from(input)).output().expect("it runs");
    assert_eq!(said(&streamed), (0, text, String::new()));
}

#[test]
fn what_cannot_be_read_is_named_and_fails_at_the_end() {
    let folder = Folder::new("fleet-broken");
    let good_one = saved(&folder, "a.json", &["true"]);
    let cut = folder.file("b.json", &folder.read("a.json").as_bytes()[..300]);
    let mixed =
        folder.file("c.ndjson", format!("{}nonsense\n\n{{\"schema\":\"x/1\"}}\n", folder.read("a.json")));
    folder.file("README", "not read in a folder");
    std::fs::create_dir(folder.path().join("within")).expect("a folder");
    std::os::unix::fs::symlink("..", folder.path().join("within/circle")).expect("linked");
    let place = folder.name("");
    let (code, text, error) = run(&["fleet", &place, "/nowhere/x.json"]);
    assert_eq!((code, lines(&text).len()), (1, 1), "{error}");
    for expect in [
        format!("underbar: error: {cut}:1: the report is cut short"),
        format!("underbar: error: {mixed}:2: the report cannot be read: "),
        "underbar: error: /nowhere/x.json: No such file".to_owned(),
    ] {
        assert!(error.lines().any(|line| line.starts_with(&expect)), "{expect}\n{error}");
    }
    assert!(error.contains("; 1 more document of this file is refused\n"), "{error}");
    assert!(
        error.ends_with("underbar: 2 reports, 1 line; 1 left out, since they were there before; 4 refused\n"),
        "{error}"
    );
    // A binary file has one message, not one for each line.
    let binary: Vec<u8> = (0..60_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let binary = folder.file("binary.json", &binary);
    let (code, text, error) = run(&["fleet", &binary]);
    assert_eq!((code, text.as_str(), error.lines().count()), (1, "", 2), "{error}");
    assert!(
        error.starts_with(&format!("underbar: error: {binary}:1: the report cannot be read: ")),
        "{error}"
    );
    assert!(error.contains(" more documents of this file are refused\n"), "{error}");
    assert_eq!(run(&["fleet", "-q", "-o", "/nowhere/x", &good_one]).0, 2);
    assert!(bad(2, &["fleet"]).contains("FILE"));
}

#[test]
fn older_reports_lack_what_they_lack_and_have_the_host_of_the_flag() {
    let folder = Folder::new("fleet-older");
    let mut report: Value = serde_json::from_str(&folder.read_saved()).expect("JSON");
    report["host"].as_object_mut().expect("an object").remove("name");
    report["tree"]["counters"]["heap"].as_object_mut().expect("an object").remove("purges");
    for process in report["processes"].as_array_mut().expect("a list") {
        process["counters"]["heap"].as_object_mut().expect("an object").remove("purges");
    }
    let older = folder.file("older.json", report.to_string());
    let (code, text, error) = run(&["fleet", "--host", "h7", &older]);
    let line = &lines(&text)[0];
    assert_eq!((code, &line["host"], &line["heap_purges"]), (0, &Value::from("h7"), &Value::Null));
    let says = format!("(first {older}:1): lacks heap.purges, which become null\n");
    assert!(error.contains(&says), "{error}");
}

trait Saved {
    fn read_saved(&self) -> String;
}

impl Saved for Folder {
    fn read_saved(&self) -> String {
        saved(self, "saved.json", &["true"]);
        self.read("saved.json")
    }
}

/// Copies of a saved report with these peaks.
fn side(folder: &Folder, name: &str, peaks: &[u64]) -> Vec<String> {
    let report: Value = serde_json::from_str(&folder.read_saved()).expect("JSON");
    let write = |(at, peak): (usize, &u64)| {
        let mut report = report.clone();
        report["tree"]["counters"]["heap"]["used_peak"] = (*peak).into();
        folder.file(&format!("{name}{at}.json"), report.to_string())
    };
    peaks.iter().enumerate().map(write).collect()
}

#[test]
fn gates_over_several_runs_have_three_verdicts() {
    let folder = Folder::new("sides");
    let old = side(&folder, "old", &[1000, 1010, 990, 1005]);
    let same = side(&folder, "same", &[1002, 1011, 992, 1003]);
    let more = side(&folder, "more", &[1200, 1210, 1190, 1205]);
    let near = side(&folder, "near", &[1040, 1060, 1050, 1045]);
    let diff = |new: &[String], flags: &[&str]| {
        let mut words = vec!["diff", "--fail-on", "heap.used_peak > +5%"];
        words.extend(flags);
        words.push("--base");
        words.extend(old.iter().map(String::as_str));
        words.push("--new");
        words.extend(new.iter().map(String::as_str));
        let mut command = command(&words);
        command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
        said(&command.output().expect("it runs"))
    };
    for (new, code, word) in [(&same, 0, "passed"), (&more, 1, "failed"), (&near, 3, "undecided")] {
        let (found, text, error) = diff(new, &[]);
        assert_eq!((found, error.as_str()), (code, ""), "{text}");
        assert!(text.contains(&format!("\ngate heap.used_peak > +5%: {word}: ")), "{text}");
        assert_eq!(diff(new, &["-q"]), (code, String::new(), String::new()));
    }
    assert_eq!(diff(&near, &["-q", "--allow-undecided"]).0, 0);
    assert_eq!(diff(&more, &["-q", "--allow-undecided"]).0, 1);
    let (_, text, _) = diff(&more, &["--json"]);
    assert_eq!(lines(&text)[0]["gates"][0]["outcome"], "failed");
    let (_, text, error) = diff(&more, &["--annotate", "github", "--summary", &folder.name("s.md")]);
    assert!(error.starts_with("::error title=underbar gate failed%3A heap.used_peak > +5%25::"), "{error}");
    assert!(!text.contains("::error") && folder.read("s.md").starts_with("### underbar\n"));
    // One side without the other, and both forms together, are wrong usage.
    for words in [
        &["diff", "--base", "a", "b"][..],
        &["diff", "--new", "a"],
        &["diff", "x", "--base", "a", "--new", "b"],
        &["diff", "x"],
    ] {
        assert_eq!(run(words).0, 2, "{words:?}");
    }
    let missing = [old[0].clone(), folder.name("none.json")];
    assert_eq!(diff(&missing, &["-q"]).0, 2);
}

#[test]
fn a_single_pair_is_annotated_too() {
    let folder = Folder::new("pair");
    let pair = side(&folder, "r", &[1000, 2000]);
    let summary = folder.name("summary.md");
    let mut command = command(&["diff", "--fail-on", "heap.used_peak > +5%", &pair[0], &pair[1]]);
    command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary);
    let (code, text, error) = said(&command.output().expect("it runs"));
    assert_eq!(code, 1);
    assert!(text.contains("gate heap.used_peak > +5%: failed\n"), "{text}");
    assert!(error.ends_with("heap.used_peak was 1000, is 2000; one run a side\n"), "{error}");
    assert!(folder.read("summary.md").contains("| failed |"));
}

#[test]
fn metrics_are_written_by_run_and_by_report() {
    let folder = Folder::new("openmetrics");
    let file = folder.name("true.prom");
    assert_eq!(run(&["run", "-q", "--openmetrics", &file, "--", "true"]), (0, String::new(), String::new()));
    let text = folder.read("true.prom");
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    assert!(text.contains("\nunderbar_run_exit_status{program=\"true\"} 0\n"), "{text}");
    assert!(text.contains("\nunderbar_heap_gets{program=\"true\"} "), "{text}");
    let report = saved(&folder, "r.json", &["true"]);
    assert_eq!(good(&["report", "--openmetrics", &file, &report]), "");
    assert_ne!(folder.read("true.prom"), text, "another run");
    assert_eq!(good(&["report", "--openmetrics", "-", &report]), folder.read("true.prom"));
    // A place that cannot be written is a warning for a run, and the program's status stays.
    let (code, output, error) = run(&["run", "-q", "--openmetrics", "/nowhere/x.prom", "--", "false"]);
    assert_eq!((code, output.as_str()), (1, ""));
    assert!(error.starts_with("underbar: warning: /nowhere/x.prom: "), "{error}");
    assert_eq!(run(&["report", "--openmetrics", "/nowhere/x.prom", &report]).0, 2);
    // promtool, where there is one, finds nothing wrong with the form. It has its own taste for names: status 3.
    if let Ok(mut check) = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    {
        std::io::Write::write_all(&mut check.stdin.take().expect("a pipe"), text.as_bytes()).expect("read");
        let output = check.wait_with_output().expect("it ends");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(
            matches!(output.status.code(), Some(0 | 3)) && !told.contains("error while linting"),
            "{told}"
        );
    }
}
