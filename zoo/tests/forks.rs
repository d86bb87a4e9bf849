//! Children by fork and clone while other threads of their parents are in the middle of a call.

use std::fs;

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
