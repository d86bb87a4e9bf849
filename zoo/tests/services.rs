//! Language Environment's callable services for storage, from C: the header, what they do, and what they answer.

use underbar_zoo::compiled;
use underbar_zoo::heap::{OPTIONS, on_heap, plain, text};

fn program() -> String {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include");
    text(compiled("heap/services", "heap-services", &["-pthread", include]))
}

/// One part of the program, under each of the options.
fn check(part: &str) {
    let program = program();
    for options in OPTIONS {
        let left = on_heap(options, &[&program, part]);
        assert!(left.status.success() && left.output == "all held\n", "{part} under {options:?}: {left:?}");
    }
}

#[test]
fn a_program_with_services_runs_without_underbar() {
    let left = plain(&[&program()]);
    assert!(left.status.success() && left.output == "no services\n", "{left:?}");
}

#[test]
fn the_six_services_do_what_the_books_say() {
    check("in-order");
}

#[test]
fn each_fault_is_a_feedback_code_and_nothing_else_changes() {
    check("faults");
}

#[test]
fn storage_that_the_machine_does_not_have_is_a_feedback_code() {
    let program = program();
    let left = on_heap("", &["sh", "-c", "ulimit -v 10000000 && exec \"$0\" too-much", &program]);
    assert!(left.status.success() && left.output == "all held\n", "{left:?}");
}

#[test]
fn a_hundred_thousand_heaps() {
    let left = on_heap("", &[&program(), "many"]);
    assert!(left.status.success() && left.output == "all held\n", "{left:?}");
}

#[test]
fn a_heap_goes_while_threads_get_from_it() {
    check("threads");
}

#[test]
fn a_child_discards_its_own_copy() {
    check("child");
}
