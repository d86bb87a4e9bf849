//! Programs that have the runtime in themselves: by `underbar::Alloc`, and by the static libraries for C and C++. The programs of
//! `docs/linking.md` are compiled from the page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use underbar_zoo::heap::{OPTIONS, preload};
use underbar_zoo::{folder, json, left, run, scratch, text, underbar};

/// The folder with `libunderbar.a` and `libunderbar-static.a`, made once.
fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let made = folder().join("static-library");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["run", "--quiet", "--package", "xtask", "--", "static-library", "--out", text(&made)])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .status();
        assert!(status.expect("cargo").success(), "building the libraries");
        made
    })
}

fn library(name: &str) -> String {
    text(&libraries().join(name)).to_owned()
}

/// Compiles a file of `zoo/programs/linked`, or another one, into the folder; returns the program and what the compiler printed.
fn compiled(source: &Path, folder: &Path, name: &str, flags: &[&str]) -> (String, String) {
    let program = folder.join(name);
    let is_cpp = source.extension().is_some_and(|ending| ending == "cpp");
    let compiler = if is_cpp { "c++" } else { "cc" };
    let (before, after): (Vec<&str>, Vec<&str>) = flags.iter().partition(|flag| flag.starts_with("-s"));
    let output = Command::new(compiler)
        .args(["-O1", "-Wall", "-Wextra", if is_cpp { "-std=c++17" } else { "-std=gnu17" }, "-pthread"])
        .args(before)
        .arg("-o")
        .args([&program, source])
        .args(after)
        .output()
        .expect("a compiler");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    (text(&program).to_owned(), said)
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/linked").join(name)
}

/// What it prints, with these variables.
fn printed(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
    let left = left(command.envs(variables.iter().copied()));
    assert!(left.status.success() && left.error.is_empty(), "{left:?}");
    left.output
}

/// The accounts that a program leaves in the file that MSGFILE names.
fn accounts(program: &str, folder: &Path, variables: &[(&str, &str)]) -> Value {
    let file = folder.join("accounts");
    let _ = fs::remove_file(&file);
    let options = format!("MSGFILE({})", text(&file));
    printed(program, &[], &[variables, &[("UNDERBAR_OPTS", &options)]].concat());
    json(&left(Command::new(underbar()).args(["report", "--json", text(&file)])))
}

/// The report of a run under the command.
fn report(program: &str) -> Value {
    let file = Path::new(program).with_extension("json");
    let left = left(&mut run(&["--json", "-o", text(&file)], &[program]));
    assert!(left.status.success(), "{left:?}");
    serde_json::from_str(&fs::read_to_string(file).expect("a report")).expect("JSON")
}

/// Gets, frees, failed gets and bytes of the largest request of the first process, and the number of processes.
fn figures(report: &Value) -> ([u64; 4], usize) {
    let processes = report["processes"].as_array().expect("processes");
    let figure = |process: &Value, key: &str| {
        process["counters"]["heap"][key].as_u64().unwrap_or_else(|| panic!("no {key}: {process}"))
    };
    let first = processes.iter().max_by_key(|process| figure(process, "gets")).expect("a process");
    (["gets", "frees", "failed_gets", "largest_request"].map(|key| figure(first, key)), processes.len())
}

/// The block of the page in that language.
fn block(language: &str) -> &'static str {
    let page = include_str!("../../docs/linking.md");
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("a block");
    rest.split_once("```").expect("its end").0
}

#[test]
fn the_programs_of_the_page_in_c_and_cpp_run() {
    let folder = scratch("linked-page");
    let [with_loader, without] = ["libunderbar.a", "libunderbar-static.a"].map(library);
    for (language, shown) in [("c", "5 words, the last one: rose\n"), ("cpp", "a\nis\nrose\n")] {
        let file = folder.join("words").with_extension(language);
        fs::write(&file, block(language)).expect("written");
        for (name, flags) in
            [("words", vec![with_loader.as_str()]), ("words-static", vec!["-static", &without])]
        {
            let (program, said) = compiled(&file, &folder, name, &flags);
            assert_eq!(said, "");
            assert_eq!(printed(&program, &[], &[]), shown);
            let accounts = accounts(&program, &folder, &[]);
            assert!(figures(&accounts).0[0] > 1, "{language}, {name}");
        }
    }
}

#[test]
fn the_program_of_the_page_in_rust_is_that_of_the_crate() {
    assert_eq!(block("rust"), include_str!("../../api/underbar/examples/words.rs"));
    let target = folder().join("../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", "underbar", "--features", "global-allocator"])
        .args(["--example", "words", "--target-dir", text(&target)])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status();
    assert!(status.expect("cargo").success());
    let program = target.join("debug/examples/words").canonicalize().expect("the program");
    assert_eq!(printed(text(&program), &[], &[]), "a is rose\n");
    let accounts = accounts(text(&program), &scratch("linked-rust"), &[]);
    assert!(figures(&accounts).0[0] >= 7, "a vector and its words");
    assert_eq!(accounts["processes"][0]["allocator"], Value::Null);
    // Under the command C's requests are counted, too.
    let under = report(text(&program));
    assert!(figures(&under).0[0] > figures(&accounts).0[0]);
    assert_eq!(under["processes"][0]["state"], "ended");
}

#[test]
fn the_figures_are_those_of_the_program_under_the_command() {
    let folder = scratch("linked-figures");
    let (plain, _) = compiled(&source("ends.cpp"), &folder, "plain", &[]);
    let (linked, _) = compiled(&source("ends.cpp"), &folder, "linked", &[&library("libunderbar.a")]);
    let expected = figures(&report(&plain));
    assert!(expected.0[0] > 10_000 && expected.0[2] > 0 && expected.1 == 2, "{expected:?}");
    let under = report(&linked);
    assert_eq!(figures(&under), expected);
    assert_eq!(under["processes"][0]["allocator"], Value::Null);
    assert_eq!(figures(&accounts(&linked, &folder, &[])), expected, "without the command");
    let by_hand = [("LD_PRELOAD", text(preload()))];
    assert_eq!(figures(&accounts(&linked, &folder, &by_hand)), expected, "with a preload library");
}

#[test]
fn a_program_without_a_loader_has_the_heap_and_its_accounts() {
    let folder = scratch("linked-static");
    let flags = ["-static", &library("libunderbar-static.a")];
    let (program, said) = compiled(&source("ends.cpp"), &folder, "ends", &flags);
    assert_eq!(said, "");
    assert_eq!(printed(&program, &[], &[]), "done 1000\n");
    let report = report(&program);
    let ([gets, frees, failed, _], processes) = figures(&report);
    assert!(gets > 10_000 && frees > 10_000 && failed > 0 && processes == 2, "{report}");
    // The linker names the right library.
    let (_, said) = compiled(&source("filled.c"), &folder, "wrong", &["-static", &library("libunderbar.a")]);
    assert!(said.contains("libunderbar.a needs a loader: link libunderbar-static.a"), "{said}");
}

#[test]
fn options_and_children_are_those_of_any_program() {
    let folder = scratch("linked-options");
    for (name, flags) in [
        ("filled", vec![library("libunderbar.a")]),
        ("filled-static", vec!["-static".to_owned(), library("libunderbar-static.a")]),
    ] {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let (program, _) = compiled(&source("filled.c"), &folder, name, &flags);
        for (options, shown) in [("STORAGE(AA)", "aa\n"), ("STORAGE(5C)", "5c\n")] {
            assert_eq!(printed(&program, &[], &[("UNDERBAR_OPTS", options)]), shown, "{name}");
            let under = left(&mut run(&["-q", "--opts", options], &[&program]));
            assert_eq!(under.output, shown, "{name} under the command");
        }
        let report = report(&program);
        assert_eq!(report["processes"].as_array().map(Vec::len), Some(2), "{name} and its child: {report}");
    }
}

#[test]
fn a_shared_library_with_the_runtime_takes_the_heap_of_its_process() {
    let folder = scratch("linked-shared");
    let linked = library("libunderbar.a");
    let (plugin, _) = compiled(&source("plugin.c"), &folder, "plugin.so", &["-shared", "-fPIC", &linked]);
    let (plain, _) = compiled(&source("loads.c"), &folder, "plain", &["-ldl"]);
    let (both, _) = compiled(&source("loads.c"), &folder, "both", &[&linked, "-ldl"]);
    for program in [&plain, &both] {
        for variables in [&[][..], &[("LD_PRELOAD", text(preload()))]] {
            assert_eq!(printed(program, &[&plugin], variables), "loaded\n");
        }
    }
}

/// Threads, signals, forks, and exceptions, under each option text.
#[test]
fn programs_that_are_awkward_for_a_heap_do_the_same() {
    let folder = scratch("linked-awkward");
    let heap = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/heap");
    for file in ["ends.c", "interrupted.c", "forks_in_handler.c", "forks.c", "streams.c", "new.cpp"] {
        let (plain, _) = compiled(&heap.join(file), &folder, "plain", &["-fno-builtin"]);
        let expected = printed(&plain, &[], &[]);
        let (linked, _) =
            compiled(&heap.join(file), &folder, "linked", &["-fno-builtin", &library("libunderbar.a")]);
        for options in OPTIONS {
            assert_eq!(printed(&linked, &[], &[("UNDERBAR_OPTS", options)]), expected, "{file}, {options}");
        }
    }
}

/// A program that exports functions of its own, next to the runtime's; and libraries that find theirs first.
#[test]
fn deeply_bound_libraries_share_the_heap_and_keep_their_own_functions() {
    let folder = scratch("linked-deep");
    let heap = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/heap");
    let library_of = |file: &str, name: &str, flags: &[&str]| {
        let flags = [&["-shared", "-fPIC", "-fno-builtin"], flags].concat();
        compiled(&heap.join(file), &folder, name, &flags).0
    };
    let below = library_of("deep_below.c", "libdeep-below.so", &[]);
    let deep = library_of("deep_library.c", "libdeep.so", &[&below]);
    let new = library_of("deep_new.cpp", "libdeep-new.so", &[]);
    let flags = ["-fno-builtin", "-rdynamic", &library("libunderbar.a"), "-ldl"];
    let (program, _) = compiled(&heap.join("deep.cpp"), &folder, "deep", &flags);
    for variables in [&[][..], &[("LD_PRELOAD", text(preload()))]] {
        assert_eq!(printed(&program, &[&deep, &new], variables), "done\n");
    }
}

/// Names of functions in a file, as `nm` prints them with these flags.
fn names(file: &str, flags: &[&str]) -> BTreeSet<String> {
    let left = left(Command::new("nm").args(flags).arg(file));
    let function = |line: &str| {
        let mut words = line.split_whitespace().rev();
        let name = words.next()?.split('@').next()?.to_owned();
        (words.next() == Some("T")).then_some(name)
    };
    left.output.lines().filter_map(function).collect()
}

#[test]
fn the_library_has_the_functions_of_the_preload_library_and_nothing_else_for_others() {
    let [dynamic, linked] = [
        names(text(preload()), &["-D", "--defined-only"]),
        names(&library("libunderbar.a"), &["-g", "--defined-only"]),
    ];
    assert!(dynamic.len() > 100 && dynamic.contains("malloc"), "{dynamic:?}");
    assert_eq!(linked.symmetric_difference(&dynamic).collect::<Vec<_>>(), ["underbar_linked"]);
    let alone = names(&library("libunderbar-static.a"), &["-g", "--defined-only"]);
    assert!(alone.contains("_ZdaPvm") && !alone.contains("pthread_create") && !alone.contains("mmap"));
}
