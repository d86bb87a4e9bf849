//! `underbar heap` with programs that are hard to sample: signal handlers, filters of system calls, deep recursion, code made at run time,
//! sudden ends, forks. Each does the same as plain, and the report tells how many stacks could not be walked.

use std::fs;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{Left, code, compiled, left, scratch, skip, text, underbar};

/// Many samples, however fast the program is.
const OPTIONS: &str = "SITES(ON,16K,,0)";

fn awkward(name: &str, flags: &[&str]) -> String {
    let flags = [&["-O2", "-fomit-frame-pointer", "-pthread", "-fno-builtin"], flags].concat();
    text(&compiled("sites/awkward", &format!("awkward-{name}"), &flags)).to_owned()
}

/// Runs a line plain, and sampled with these options: status and output are the same. Returns the report; None if the program says that
/// this machine does not allow what it does.
fn sampled(options: &str, line: &[&str]) -> Option<Value> {
    const NOT_HERE: i32 = 77;
    let plain = left(Command::new(line[0]).args(&line[1..]));
    if code(plain.status) == NOT_HERE {
        return None;
    }
    let ran: Left =
        left(Command::new(underbar()).args(["heap", "--opts", options, "--json", "--"]).args(line));
    assert_eq!((ran.status, &ran.output), (plain.status, &plain.output), "{line:?}: {}", ran.error);
    let report: Value =
        serde_json::from_str(&ran.error).unwrap_or_else(|error| panic!("{line:?}: {error}: {}", ran.error));
    let walks = report["walks"].as_object().expect("walks");
    let all: u64 = walks.values().filter_map(Value::as_u64).sum();
    assert_eq!(report["samples"].as_u64(), Some(all), "each stack has its end: {}", report["walks"]);
    Some(report)
}

fn number(report: &Value, key: &str) -> u64 {
    report.pointer(key).and_then(Value::as_u64).unwrap_or_else(|| panic!("{key}: {report}"))
}

fn has_site(report: &Value, function: &str) -> bool {
    report["sites"].as_array().expect("sites").iter().any(|site| site["function"] == function)
}

#[test]
fn awkward_programs_do_the_same_as_plain() {
    let program = awkward("plain", &["-g"]);
    for (line, processes) in [
        (&["handlers"][..], 1),
        (&["filter"], 1),
        (&["filter-first"], 1),
        (&["recursion"], 1),
        (&["_exit"], 1),
        (&["kill"], 1),
        // Counted again behind the exec.
        (&["exec", &program, "_exit"], 2),
        (&["threads"], 1),
        (&["fork"], 21),
    ] {
        let line = [&[program.as_str()], line].concat();
        for options in [OPTIONS, "SITES(ON,2K)", "SITES(ON,16K,512,0),STORAGE(AA,55),HEAP(1M,64K,,FREE)"] {
            let Some(report) = sampled(options, &line) else {
                skip("call sites of programs that lock themselves in: seccomp is not allowed here");
                continue;
            };
            assert_eq!(number(&report, "/processes"), processes, "{line:?} {options}");
            assert!(has_site(&report, "request"), "{line:?} {options}: {}", report["sites"]);
            assert_eq!(number(&report, "/walks/unmapped"), 0, "{line:?} {options}: {}", report["walks"]);
        }
    }
}

/// The recursion is twice as deep as is common, and no stack of it is cut.
#[test]
fn a_recursion_is_walked_to_its_end() {
    for (name, flags) in [("raw", &["-g"][..]), ("frames", &["-g", "-fno-omit-frame-pointer"])] {
        let program = awkward(name, flags);
        let report = sampled(OPTIONS, &[&program, "recursion"]).expect("it runs");
        assert_eq!(number(&report, "/walks/whole"), number(&report, "/samples"), "{}", report["walks"]);
    }
}

/// Code without unwind tables: the site is known, its callers are not, and the report says so.
#[test]
fn what_cannot_be_walked_is_counted() {
    let program = awkward("made", &["-g"]);
    let report = sampled(OPTIONS, &[&program, "made"]).expect("it runs");
    let (samples, ended) = (number(&report, "/samples"), number(&report, "/walks/no_rules"));
    // A few requests of the C library are not made by that code.
    assert!(ended > 100 && ended + 5 > samples, "{}", report["walks"]);
    assert!(has_site(&report, "request"), "{}", report["sites"]);
    let words = left(Command::new(underbar()).args(["heap", "--opts", OPTIONS, "--", &program, "made"]));
    assert!(words.error.contains(" in code without unwind tables"), "{}", words.error);
}

/// Without lines a site is the function; of a stripped program its separate debug file has them.
#[test]
fn programs_without_debugging_data_have_functions_and_those_with_a_debug_file_lines() {
    let program = awkward("bare", &[]);
    let report = sampled(OPTIONS, &[&program, "_exit"]).expect("it runs");
    let site = |report: &Value| {
        let sites = report["sites"].as_array().expect("sites");
        sites.iter().find(|site| site["function"] == "request").cloned()
    };
    let bare = site(&report).unwrap_or_else(|| panic!("{}", report["sites"]));
    assert_eq!(bare["line"], Value::Null, "{bare}");

    let folder = scratch("awkward-debug");
    let [stripped, debug] = ["program", "program.debug"].map(|name| text(&folder.join(name)).to_owned());
    fs::copy(awkward("split", &["-g"]), &stripped).expect("copied");
    let link = format!("--add-gnu-debuglink={debug}");
    for arguments in
        [&["--only-keep-debug", &stripped, &debug][..], &["--strip-all", &stripped], &[&link, &stripped]]
    {
        if !Command::new("objcopy").args(arguments).status().is_ok_and(|status| status.success()) {
            return skip("separate debug files: there is no objcopy");
        }
    }
    let report = sampled(OPTIONS, &[&stripped, "_exit"]).expect("it runs");
    let split = site(&report).unwrap_or_else(|| panic!("{}", report["sites"]));
    assert!(split["line"].as_u64() > Some(0), "{split}");
    fs::remove_file(&debug).expect("removed");
    let report = sampled(OPTIONS, &[&stripped, "_exit"]).expect("it runs");
    assert!(site(&report).is_none() && number(&report, "/samples") > 0, "{}", report["sites"]);
}

/// The code that V8 makes, and what it carries along, has no unwind tables: the walk ends there, also if the code has names, and each such
/// stack is counted.
#[test]
fn stacks_of_node_end_in_its_made_code_and_are_counted() {
    const SCRIPT: &str = "require('fs').appendFileSync('processes', process.pid + '\\n'); let sum = 0; \
                          for (let i = 0; i < 3000; i++) sum += Buffer.allocUnsafeSlow(50000)[0] >= 0; console.log(sum);";
    if !Command::new("node").arg("--version").output().is_ok_and(|out| out.status.success()) {
        return skip("call sites of node: there is none");
    }
    let folder = scratch("awkward-node");
    for flags in ["--perf-basic-prof", ""] {
        // V8 leaves a log in its working folder.
        let line = format!("cd '{}' && exec node {flags} -e \"$0\"", text(&folder));
        let line = ["sh", "-c", &line, SCRIPT];
        let report = sampled("SITES(ON,64K,,0)", &line).expect("it runs");
        assert!(number(&report, "/walks/no_rules") > 20, "{flags:?}: {}", report["walks"]);
    }
    let processes = fs::read_to_string(folder.join("processes")).expect("it has run");
    processes.lines().for_each(|process| drop(fs::remove_file(format!("/tmp/perf-{process}.map"))));
}

#[test]
fn programs_without_samples_are_named_with_their_reasons() {
    // So far apart that none of the shell's few requests is sampled.
    let of = |script: &str| {
        left(Command::new(underbar()).args(["heap", "--mean", "1G", "--", "sh", "-c", script]))
    };
    let cleared = of("env -i /bin/true; :");
    assert_eq!(code(cleared.status), 0);
    let error = cleared.error.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(error.contains("No samples. Not followed: 1 environment without the library: "), "{error}");
    let daemon = of("tail -f /dev/null > /dev/null 2>&1 & echo $!");
    let process = daemon.output.trim().to_owned();
    let ended = left(Command::new("kill").arg(&process));
    let error = daemon.error.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        error.contains("Still running: 1 process. ") && error.contains(" Accounts: underbar report "),
        "{error}"
    );
    assert_eq!(code(ended.status), 0);
}
