//! Requests by size in reports, against a count that the program itself makes of every request.
//!
//! After an orderly end the report has the program's figures. While it runs, and after SIGKILL, each row is a lower bound, and the
//! rows of requests larger than a cell are exact.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{Running, code, compiled, left, scratch, underbar};

/// Requests by the limit of their row.
type Rows = BTreeMap<u64, u64>;

const KILLED: i32 = -9;
const LARGEST_CELL: u64 = 32_768;
/// Threads whose last requests may be missing: the one that runs, and the four that have ended.
const THREADS: u64 = 5;

fn program() -> String {
    let path = compiled("requests", "requests", &["-pthread", "-fno-builtin"]);
    path.into_os_string().into_string().expect("a path of text")
}

/// The limit of the row that counts a size, as the manual describes them.
fn row(size: u64) -> u64 {
    let size = size.max(1);
    let step = match size {
        ..=256 => 16,
        257..=LARGEST_CELL => size.next_power_of_two() / 16,
        _ => return size.next_power_of_two(),
    };
    size.next_multiple_of(step)
}

/// What each process printed: process, size, count.
fn counted(output: &str) -> BTreeMap<u64, Rows> {
    let mut all: BTreeMap<u64, Rows> = BTreeMap::new();
    for line in output.lines().filter(|line| *line != "end") {
        let words: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        let [process, size, count] = words[..] else { panic!("{line}") };
        *all.entry(process).or_default().entry(row(size)).or_default() += count;
    }
    all
}

/// The rows of a section of a report.
fn rows(section: &Value) -> Rows {
    let sizes = section["sizes"].as_object().unwrap_or_else(|| panic!("sizes in {section}"));
    let row = |(name, count): (&String, &Value)| {
        let limit = name.strip_prefix("up_to_").and_then(|limit| limit.parse().ok());
        (limit.unwrap_or_else(|| panic!("{name}")), count.as_u64().expect("a count"))
    };
    sizes.iter().map(row).collect()
}

fn gets(section: &Value) -> u64 {
    section["counters"]["heap"]["gets"].as_u64().expect("gets")
}

fn section(report: &Value, process: u64) -> &Value {
    let all = report["processes"].as_array().expect("processes");
    all.iter().find(|section| section["process"] == process).unwrap_or_else(|| panic!("{process}: {report}"))
}

/// Runs the program, and gives its report and what each process printed.
fn run(mode: &str, options: &str, end: i32) -> (Value, BTreeMap<u64, Rows>) {
    let file = scratch(&format!("request-sizes-{mode}")).join("report.json");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--opts", options, "--", &program(), mode]);
    let left = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!((code(left.status), left.error.as_str()), (end, ""), "{mode} under {options:?}");
    let report = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    (report, counted(&left.output))
}

/// Checks rows that may lack the last requests of each running thread.
fn check_lower_bound(found: &Rows, true_rows: &Rows) {
    for (limit, requests) in found {
        assert!(true_rows.get(limit) >= Some(requests), "up to {limit}: {requests}, {true_rows:?}");
    }
    for (limit, requests) in true_rows {
        // 1,024 requests, and a list of cells: of at most 4 KiB, or one cell.
        let missing = if *limit > LARGEST_CELL { 0 } else { THREADS * (1024 + 4096 / limit + 1) };
        let seen = found.get(limit).copied().unwrap_or(0);
        assert!(seen + missing >= *requests, "up to {limit}: {seen} of {requests}");
    }
}

#[test]
fn after_an_orderly_end_the_report_has_what_the_program_counted() {
    for options in ["", "HEAP(64K,32K,,FREE)", "HEAP(4M,1M,,KEEP)", "STORAGE(AA,55)"] {
        let (report, counted) = run("ends", options, 0);
        let [(process, true_rows)] = &Vec::from_iter(counted)[..] else { panic!("one process") };
        let section = section(&report, *process);
        // Under FREE each request is an element, which counts with its own size.
        if !options.contains("FREE") {
            assert_eq!(&rows(section), true_rows, "under {options:?}");
        }
        assert_eq!(rows(section).values().sum::<u64>(), gets(section), "under {options:?}");
        assert_eq!(rows(&report["tree"]), rows(section));
        assert!(true_rows.len() > 40 && true_rows.values().sum::<u64>() > 100_000, "{true_rows:?}");
    }
}

#[test]
fn a_child_made_by_fork_has_its_own_requests() {
    let (report, counted) = run("forks", "", 0);
    assert_eq!(counted.len(), 2);
    let mut sum = Rows::new();
    for (process, true_rows) in &counted {
        assert_eq!(&rows(section(&report, *process)), true_rows, "{process}");
        for (limit, requests) in true_rows {
            *sum.entry(*limit).or_default() += requests;
        }
    }
    assert_eq!(rows(&report["tree"]), sum);
}

/// More processes than the ledger has slots: those of ended ones are added to their program's.
#[test]
fn folded_processes_keep_their_requests() {
    let file = scratch("request-sizes-folded").join("report.json");
    let mut run = Command::new(underbar());
    let line = "i=0; while [ $i -lt 300 ]; do env true; i=$((i+1)); done";
    run.args(["run", "--json", "-o"]).arg(&file).args(["--", "sh", "-c", line]);
    assert_eq!(code(left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS")).status), 0);
    let report: Value = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    let sections = report["processes"].as_array().expect("processes");
    let folded: Vec<&Value> = sections.iter().filter(|section| section["state"] == "folded").collect();
    assert!(!folded.is_empty(), "{} sections", sections.len());
    for section in sections.iter().chain([&report["tree"]]) {
        assert_eq!(rows(section).values().sum::<u64>(), gets(section), "{section}");
    }
}

#[test]
fn after_sigkill_the_report_has_a_lower_bound() {
    let (report, counted) = run("killed", "", KILLED);
    let [(process, true_rows)] = &Vec::from_iter(counted)[..] else { panic!("one process") };
    let section = section(&report, *process);
    assert_eq!(section["state"], "killed");
    check_lower_bound(&rows(section), true_rows);
}

#[test]
fn while_the_program_runs_the_report_has_a_lower_bound() {
    let ledger = scratch("request-sizes-waits").join("ledger");
    let mut run = Command::new(underbar());
    run.args(["run", "--exec", "-o"]).arg(&ledger).args(["--", &program(), "waits"]);
    let mut running = Running::start(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    let mut output = String::new();
    while !output.ends_with("end\n") {
        let line = running.line();
        assert!(!line.is_empty(), "{output}");
        output += &line;
        output.push('\n');
    }
    let report = |form: &[&str]| left(Command::new(underbar()).arg("report").args(form).arg(&ledger)).output;
    let json: Value = serde_json::from_str(&report(&["--json"])).expect("a report");
    let counted = counted(&output);
    let [(process, true_rows)] = &Vec::from_iter(counted)[..] else { panic!("one process") };
    let section = section(&json, *process);
    assert_eq!(section["state"], "running");
    check_lower_bound(&rows(section), true_rows);
    // The forms for people say that there may be more.
    let total: u64 = rows(section).values().sum();
    let summary = report(&["--report", "summary"]);
    assert!(summary.contains("\n  sizes     of at least ") && summary.contains(" %, others "), "{summary}");
    let all = report(&["--report", "all"]);
    let heading = "requests, request sizes: at least ";
    assert!(all.contains(heading) && total > 0, "{all}");
    assert!(all.contains("\n  cells     12 sizes waste least for requests of up to 64 KiB, "), "{all}");
    running.send(9);
    assert_eq!(running.end(), KILLED);
}

/// The picture is on the terminal only, and only if its encoding has block characters.
#[test]
fn a_terminal_with_unicode_shows_a_picture() {
    let file = scratch("request-sizes-terminal").join("report.json");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--", &program(), "ends"]);
    assert_eq!(code(left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS")).status), 0);
    let terminal = compiled("on_terminal", "on-terminal", &["-lutil"]);
    let shown = |locale: &str, form: &str| {
        let mut command = Command::new(&terminal);
        command.arg("120").arg(underbar()).args(["report", "--color", "never", "--report", form]).arg(&file);
        let left = left(command.env("LC_ALL", locale).env("TERM", "xterm"));
        assert_eq!(code(left.status), 0, "{left:?}");
        left.output
    };
    let is_block = |character: char| ('\u{2581}'..='\u{258f}').contains(&character);
    for form in ["summary", "all"] {
        let with_blocks = shown("C.UTF-8", form);
        assert!(with_blocks.contains(is_block), "{with_blocks}");
        let without = shown("C", form);
        assert!(without.contains("sizes") && !without.contains(is_block), "{without}");
    }
    let summary = left(Command::new(underbar()).arg("report").arg(&file).env("LC_ALL", "C.UTF-8")).output;
    assert!(summary.contains("\n  sizes     up to ") && !summary.contains(is_block), "{summary}");
}
