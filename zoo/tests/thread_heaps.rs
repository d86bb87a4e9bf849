//! Heaps of threads (THREADHEAP): they end with their threads, and what the C library, the loader and the C++ library keep does not.

use serde_json::Value;
use underbar_zoo::heap::{cpp, on_heap, plain, text};
use underbar_zoo::{compiled, left, run, scratch};

const OPTIONS: [&str; 6] = [
    "THREADHEAP(4K,4K)",
    "THREADHEAP(64K,64K,,FREE)",
    "THREADHEAP(1M)",
    "THREADHEAP(4K,4K),STORAGE(AA,55)",
    "THREADHEAP(64K),HEAPCHK(ON,10),HEAPZONES(,,16)",
    "THREADHEAP(1M),HEAPPOOLS(ON),RPTSTG(ON)",
];

#[test]
fn what_libraries_keep_survives_the_threads_in_which_they_got_it() {
    let program = text(compiled("heap/thread_heaps", "heap-thread_heaps", &["-pthread", "-ldl"]));
    let library = cpp("thread_heaps", &["-shared", "-fPIC"]);
    let line = [program.as_str(), &library];
    assert_eq!(plain(&line).output, "done\n");
    for options in ["", "LOCK(SIMPLE)"].into_iter().chain(OPTIONS) {
        let left = on_heap(options, &line);
        assert!(
            left.status.success() && left.output == "done\n" && left.error.is_empty(),
            "{options}: {left:?}"
        );
    }

    let folder = scratch("thread_heaps");
    let file = folder.join("report");
    let path = file.to_str().expect("a path of text");
    let found = left(&mut run(&["--opts", OPTIONS[0], "--json", "-o", path], &line));
    assert!(found.status.success(), "{found:?}");
    let report: Value = serde_json::from_slice(&std::fs::read(&file).expect("a report")).expect("JSON");
    let process = &report["processes"][0];
    assert_eq!(process["counters"]["threadheap"]["left"], 0, "of five heaps nothing is left: {process}");
    let heaps = process["heaps"].as_array().expect("heaps");
    let of_threads = heaps.iter().find(|heap| heap["kind"] == "thread").expect("a row");
    assert_eq!((&of_threads["created"], &of_threads["ended"]), (&5.into(), &true.into()), "{of_threads}");
    let heap = &of_threads["counters"]["heap"];
    assert!(heap["gets"].as_u64() > Some(15) && heap["gets"] == heap["frees"], "{heap}");
}

#[test]
fn storage_that_a_thread_hands_on_stays_until_it_is_freed() {
    let program = text(compiled("heap/torture", "heap-torture", &["-pthread"]));
    let plain = plain(&[&program]);
    for options in OPTIONS {
        let left = on_heap(options, &[&program]);
        assert_eq!(
            (left.status, left.output, left.error),
            (plain.status, plain.output.clone(), plain.error.clone())
        );
    }
}
