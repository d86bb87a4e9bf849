//! Children by fork and clone while other threads of their parents are in the middle of a call.

use std::fs;

use serde_json::Value;
use underbar_ledger::LedgerView;
use underbar_zoo::heap::{OPTIONS, check, on_heap, text};
use underbar_zoo::{code, compiled, fault, left, run, scratch};

/// By itself the program may wait for ever: the lock of the C library's loader, which its other thread has, is not released in the
/// child. On this heap it waits only if the first library is opened.
#[test]
fn a_fork_beside_a_library_that_is_bound_deeply_waits_for_it() {
    let below =
        text(compiled("heap/deep_below", "libheap-deep-below.so", &["-shared", "-fPIC", "-fno-builtin"]));
    let program = text(compiled("heap/deep_fork", "heap-deep_fork", &["-pthread", "-rdynamic", "-ldl"]));
    for options in OPTIONS {
        let left = on_heap(options, &[&program, &below]);
        assert!(left.status.success() && left.output == "done\n", "{options}: {left:?}");
    }
}

/// A lookup of a C library function by `dlsym` would change it.
#[test]
fn the_loaders_last_error_stays_the_programs() {
    let program = text(compiled("heap/last_error", "heap-last_error", &["-fno-builtin", "-pthread", "-ldl"]));
    let output = check(&[&program]);
    assert!(output.ends_with("done\n") && !output.contains("LOST") && !output.contains("WRONG"), "{output}");
}

/// A child that may not open a ledger of its own blocks no other process, nor do its children.
#[test]
fn no_more_children_come_than_were_on_their_way() {
    let file = scratch("nested").join("accounts");
    let file = file.to_str().expect("a path of text");
    assert_eq!(code(left(&mut run(&["--exec", "-o", file], &[&fault("nested")])).status), 0);
    let bytes = fs::read(file).expect("a ledger");
    assert!(!LedgerView::new(&bytes).expect("a good ledger").are_some_on_their_way());
}

/// A figure of the heap in a process's part of a report.
fn heap(section: &Value, key: &str) -> u64 {
    section["counters"]["heap"][key].as_u64().unwrap_or_else(|| panic!("{key} in {section}"))
}

/// The parts of the processes in the report of a program that prints "done".
fn processes(name: &str) -> Vec<Value> {
    let program = text(compiled(&format!("heap/{name}"), &format!("heap-{name}"), &["-fno-builtin"]));
    let file = scratch(name).join("report");
    let file = file.to_str().expect("a path of text");
    let left = left(&mut run(&["--json", "-o", file], &[&program]));
    assert_eq!((code(left.status), left.output.as_str()), (0, "done\n"), "{}", left.error);
    let report: Value = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    report["processes"].as_array().expect("processes").clone()
}

/// The parent frees all of it and ends while the child still looks for its place in the ledger, as `daemon` lets it.
#[test]
fn a_child_begins_with_what_its_parent_had_at_the_fork() {
    const CHILDREN: usize = 20;
    const BLOCKS: u64 = 2_000;
    let processes = processes("parent_goes_on");
    let had: Vec<u64> = processes.iter().map(|section| heap(section, "inherited")).collect();
    assert_eq!(had.iter().filter(|&&had| had >= BLOCKS).count(), CHILDREN, "{had:?}");
    for section in &processes {
        let (got, freed) = (heap(section, "gets") + heap(section, "inherited"), heap(section, "frees"));
        assert!(freed <= got, "{freed} freed of {got}: {section}");
    }
}

/// What the parent had not settled at the fork, since a signal was blocked, is not counted by its children once more.
#[test]
fn a_child_counts_only_what_it_does_itself_where_a_signal_is_blocked() {
    let processes = processes("fork_blocked");
    let (children, parents): (Vec<_>, Vec<_>) =
        processes.iter().partition(|section| heap(section, "inherited") > 0);
    assert_eq!((children.len(), parents.len()), (3, 1), "{processes:?}");
    for child in children {
        let figures = ["inherited", "gets", "frees"].map(|key| heap(child, key));
        // 400 blocks of the program, and a few of the C library.
        assert!((400..410).contains(&figures[0]) && figures[1] < 5, "{figures:?}");
        assert_eq!(figures[2], 10, "{figures:?}");
        let sizes = child["sizes"].as_object().expect("requests by size").values();
        let sizes: u64 = sizes.filter_map(Value::as_u64).sum();
        assert!(sizes == figures[1], "{sizes} requests by size of {figures:?}");
    }
    let parent = parents[0];
    assert!((700..720).contains(&heap(parent, "gets")), "{parent}");
    assert!((700..720).contains(&heap(parent, "frees")), "{parent}");
}
