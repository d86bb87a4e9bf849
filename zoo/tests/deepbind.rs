//! Libraries that find the C library's functions before those of a preload: opened with RTLD_DEEPBIND, by the C library's own
//! handle, or in their own namespace.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use underbar_zoo::heap::{check, cpp, on_heap, text};
use underbar_zoo::{compiled, folder, left, run};

const LIBRARY: [&str; 3] = ["-shared", "-fPIC", "-fno-builtin"];

/// The library that the others depend on.
fn below() -> PathBuf {
    compiled("heap/deep_below", "libheap-deep-below.so", &LIBRARY)
}

/// The program, a library of C with its dependency, and one of C++.
fn deep() -> Vec<String> {
    let below = text(below());
    let flags = [&LIBRARY[..], &[&below, "-pthread"]].concat();
    let library = compiled("heap/deep_library", "libheap-deep.so", &flags);
    let program = cpp("deep", &["-rdynamic", "-ldl"]);
    vec![program, text(library), cpp("deep_new", &LIBRARY)]
}

/// The report of a run, one for each program.
fn report(line: &[&str]) -> Value {
    let program = Path::new(line[0]).file_name().and_then(|name| name.to_str()).expect("a name");
    let file = folder().join(format!("{program}-{}.json", std::process::id()));
    let left = left(&mut run(&["--json", "-o", file.to_str().expect("a path of text")], line));
    assert!(left.status.success() && left.output.ends_with("done\n"), "{left:?}");
    let report = fs::read(&file).expect("a report");
    fs::remove_file(file).expect("removed");
    serde_json::from_slice(&report).expect("JSON")
}

#[test]
fn deeply_bound_libraries_share_the_heap() {
    let words = deep();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(check(&words), "done\n");
    for options in ["LOCK(SIMPLE)", "LOCK(OFF)"] {
        let left = on_heap(options, &words);
        assert!(left.status.success() && left.output == "done\n", "{options}: {left:?}");
    }
    // Their storage is in the accounts, and the child that the library started.
    let report = report(&words);
    let process = &report["processes"][0]["counters"];
    let opens = process["process"]["deepbind_opens"].as_u64();
    assert!(opens > Some(50), "{process}");
    assert_eq!(process["process"]["deepbind_unbound"], 0, "{process}");
    assert_eq!(process["heap"]["foreign_frees"], 0, "{process}");
    assert!(process["heap"]["gets"].as_u64() > Some(10_000), "{process}");
    assert!(report["tree"]["programs"].as_u64() >= Some(2), "the children: {}", report["tree"]);
}

#[test]
fn the_c_librarys_own_handle_leads_to_the_heap() {
    assert_eq!(
        check(&[&text(compiled("heap/by_handle", "heap-by_handle", &["-fno-builtin", "-ldl"]))]),
        "done\n"
    );
}

/// The program's actions end some plain ones: glibc's heaps treat each other's blocks as their own.
#[test]
fn storage_of_another_namespace_is_left_alone_and_can_be_resized() {
    let program = text(compiled("heap/namespace", "heap-namespace", &["-fno-builtin", "-ldl"]));
    let words = [program.as_str(), &text(below())].map(str::to_owned);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for options in ["", "HEAP(64K,32K,,FREE)", "STORAGE(AA,55)"] {
        let left = on_heap(options, &words);
        assert!(left.status.success() && left.output == "done\n", "{options}: {left:?}");
    }
    let report = report(&words);
    let process = &report["processes"][0]["counters"];
    assert_eq!(process["process"]["namespaces"], 3, "{process}");
    assert_eq!(process["heap"]["foreign_frees"], 60, "those freed, and those resized: {process}");
}

/// A program with its own allocator, which precedes ours, is not changed: it behaves as plain, in any case.
#[test]
fn names_that_another_library_serves_are_left_to_it() {
    const JEMALLOC: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
    if !Path::new(JEMALLOC).exists() {
        return underbar_zoo::skip("another heap before ours: libjemalloc2 is missing");
    }
    let program = text(compiled("heap/by_handle", "heap-by_handle", &["-fno-builtin", "-ldl"]));
    let preload = |libraries: &str| {
        let mut command = underbar_zoo::command(underbar_zoo::Way::Bare, &[&program]);
        left(command.env("LD_PRELOAD", libraries))
    };
    let ours = underbar_zoo::heap::preload().to_str().expect("a path of text");
    let (plain, under) = (preload(JEMALLOC), preload(&format!("{JEMALLOC}:{ours}")));
    assert_eq!(under.status, plain.status, "{under:?}");
}
