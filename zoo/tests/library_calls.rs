//! ZIIP(3GL(library)): calls of a library's functions by others are those that the program makes, and the program does the same as plain.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{code, compiled, left, scratch, text, underbar};

/// Times that a run calls each function, of a run that goes round so often, and who calls.
const CALLS: [(&str, u64); 11] = [
    ("twelve_3gl", 1),
    ("doubles_3gl", 1),
    ("large_3gl", 1),
    ("pair_3gl", 1),
    ("mixed_3gl", 1),
    ("longest_3gl", 1),
    ("sum_3gl", 1),
    ("back_3gl", 1),
    ("itself_3gl", 1),
    ("jump_3gl", 1),
    ("chosen_3gl", 2),
];

/// The library, and the program that is linked with it by these flags.
fn made(name: &str, flags: &[&str]) -> (PathBuf, PathBuf) {
    let library = compiled("switches/called", "switches-called.so", &["-shared", "-fPIC"]);
    let folder = library.parent().expect("a folder");
    let (from, run) = (format!("-L{}", folder.display()), format!("-Wl,-rpath,{}", folder.display()));
    let all: Vec<&str> =
        flags.iter().copied().chain([from.as_str(), "-l:switches-called.so", &run, "-pthread"]).collect();
    (compiled("switches/caller", name, &all), library)
}

/// Runs a program, and gives its report and its output.
fn run(name: &str, options: &str, line: &[&str]) -> (Value, String) {
    let file = scratch(&format!("library-calls-{name}")).join("report.json");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--opts", options, "--"]).args(line);
    let left = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!((code(left.status), left.error.as_str()), (0, ""), "{line:?}: {}", left.output);
    (serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON"), left.output)
}

/// Calls by function and caller, of a process.
fn calls(section: &Value) -> BTreeMap<(String, String), [u64; 3]> {
    let all = section["switches"]["library_calls"].as_array().unwrap_or_else(|| panic!("calls in {section}"));
    let word = |call: &Value, name: &str| call[name].as_str().expect("text").to_owned();
    let figure = |call: &Value, name: &str| call[name].as_u64().expect("a figure");
    all.iter()
        .map(|call| {
            assert_eq!(call["library"], "switches-called.so");
            let figures = ["count", "places", "busiest"].map(|name| figure(call, name));
            ((word(call, "function"), word(call, "caller")), figures)
        })
        .collect()
}

/// What a run of `times` rounds calls.
fn check(section: &Value, program: &str, times: u64) {
    let calls = calls(section);
    let of =
        |function: &str| calls.get(&(function.to_owned(), program.to_owned())).copied().unwrap_or_default();
    for (function, each) in CALLS {
        let [count, places, busiest] = of(function);
        assert_eq!((count, busiest, places), (each * times, times, each), "{function}: {calls:?}");
    }
    // By callbacks, the table, and the pointer that dlsym gave. What the library calls itself is not there.
    assert_eq!(of("two_3gl")[0], 4 * times + 1, "{calls:?}");
    assert_eq!(of("pointer_3gl")[0], 1);
    assert!(calls.keys().all(|(_, caller)| caller == program), "{calls:?}");
}

#[test]
fn counts_are_those_of_the_program() {
    for (name, flags) in [
        ("called-lazily", &["-Wl,-z,lazy"][..]),
        ("called-at-once", &["-Wl,-z,now"]),
        ("called-without-slots", &["-fno-plt"]),
        ("called-fixed", &["-no-pie"]),
    ] {
        let (program, _) = made(name, flags);
        let (report, output) = run(name, "ZIIP(3GL(switches-called))", &[text(&program), "2000"]);
        assert_eq!(output, "done 2000\n");
        check(&report["processes"][0], name, 2_000);
    }
}

/// Threads count on their own, and nothing is lost when they end; in a projection all calls go the slow way.
#[test]
fn threads_and_projections_count_the_same() {
    let (program, _) = made("called-threads", &[]);
    for options in ["ZIIP(3GL(switches-cal*))", "ZIIP(STAT,ELIGIBLE(called-threads),3GL(switches-called))"] {
        let (report, output) = run("threads", options, &[text(&program), "2000", "threads"]);
        assert_eq!(output, "done 8000\n");
        check(&report["processes"][0], "called-threads", 8_000);
    }
}

/// A child by fork has its own counts.
#[test]
fn a_child_has_its_own_counts() {
    let (program, _) = made("called-forked", &[]);
    let (report, _) = run("forked", "ZIIP(3GL(switches-called))", &[text(&program), "300", "fork"]);
    let sections = report["processes"].as_array().expect("processes");
    let of_children = sections.iter().map(calls).filter(|calls| !calls.is_empty());
    let twelve = |calls: BTreeMap<(String, String), [u64; 3]>| {
        calls.get(&("twelve_3gl".to_owned(), "called-forked".to_owned())).map_or(0, |figures| figures[0])
    };
    assert_eq!(of_children.map(twelve).collect::<Vec<_>>(), [0, 300], "{report}");
}

#[test]
fn without_the_option_nothing_is_counted() {
    let (program, _) = made("called-plain", &[]);
    for options in ["SWITCHES(ON)", "ZIIP(3GL(libother))"] {
        let (report, _) = run("plain", options, &[text(&program), "10"]);
        assert!(calls(&report["processes"][0]).is_empty(), "{options}: {report}");
    }
}

/// A library that the program opens by itself, closes and opens again: its functions keep their names and counts.
#[test]
fn libraries_that_are_opened_later_are_counted() {
    let library = compiled("switches/called", "switches-called.so", &["-shared", "-fPIC"]);
    let program = compiled("switches/opener", "called-opener", &["-ldl"]);
    let (report, output) =
        run("opened", "ZIIP(3GL(switches-called))", &[text(&program), text(&library), "1000"]);
    let sum = |times: u64| (0..times).map(|number| 5 * number).sum::<u64>();
    assert_eq!(output, format!("{}\n", sum(1_000) + sum(500)));
    let calls = calls(&report["processes"][0]);
    for function in ["two_3gl", "chosen_3gl"] {
        let of = calls.get(&(function.to_owned(), "called-opener".to_owned()));
        assert_eq!(of.map(|figures| figures[0]), Some(1_500), "{calls:?}");
    }
}

/// Exceptions pass through counted calls, both ways.
#[test]
fn exceptions_pass_as_without_the_option() {
    const LIBRARY: &str = "
        int ended;
        struct Ends { ~Ends() { ended++; } };
        void throw_3gl(int value) { Ends it; if (value % 2) throw value; }
        int through_3gl(int (*call)(int), int value) { Ends it; return call(value); }
    ";
    const PROGRAM: &str = "
        #include <cstdio>
        extern int ended;
        void throw_3gl(int value);
        int through_3gl(int (*call)(int), int value);
        static int thrown(int value) { if (value % 3 == 0) throw 7L; return value; }
        int main() {
            long sum = 0;
            for (int i = 0; i < 3000; i++) {
                try { throw_3gl(i); } catch (int value) { sum += value; }
                try { sum += through_3gl(thrown, i); } catch (long value) { sum += value; }
            }
            std::printf(\"%ld %d\\n\", sum, ended);
        }
    ";
    let folder = scratch("library-calls-exceptions-program");
    let path = |name: &str| text(&folder.join(name)).to_owned();
    fs::write(path("called.cc"), LIBRARY).expect("written");
    fs::write(path("prog.cc"), PROGRAM).expect("written");
    let compile = |words: &[&str]| Command::new("c++").args(["-O1", "-w"]).args(words).status();
    let made = compile(&["-shared", "-fPIC", "-o", &path("libthrows.so"), &path("called.cc")]);
    if !made.is_ok_and(|status| status.success()) {
        return underbar_zoo::skip("no C++ compiler");
    }
    let (program, run_path) = (path("prog"), format!("-Wl,-rpath,{}", folder.display()));
    let made = compile(&["-o", &program, &path("prog.cc"), &path("libthrows.so"), &run_path]);
    assert!(made.is_ok_and(|status| status.success()));
    let plain = left(&mut Command::new(&program));
    let (report, output) = run("exceptions", "ZIIP(3GL(libthrows))", &[&program]);
    assert_eq!(output, plain.output);
    let all = report["processes"][0]["switches"]["library_calls"].as_array().expect("calls").clone();
    for function in ["_Z9throw_3gli", "_Z11through_3glPFiiEi"] {
        let of = all.iter().find(|call| call["function"] == function).unwrap_or_else(|| panic!("{all:?}"));
        assert_eq!((of["count"].as_u64(), &of["caller"]), (Some(3_000), &"prog".into()), "{all:?}");
    }
}
