//! Storage that a program gives back wrongly: the heap notices it, names it on standard error and in the report, and the
//! program ends with SIGABRT, as plain malloc ends it.

use std::os::unix::process::ExitStatusExt;

use underbar_zoo::heap::{check as check_all, on_heap, plain, text};
use underbar_zoo::{compiled, left, run, scratch};

/// Policies of the heap under which every block is an element, whose header shows the fault.
const ELEMENTS: [&str; 2] = ["HEAPCHK(ON)", "HEAP(1M,512K,,FREE)"];
/// All: cells, elements only, small increments, and filled storage.
const ALL: [&str; 5] = ["", "HEAPCHK(ON)", "HEAP(1M,512K,,FREE)", "HEAP(64K,64K,,KEEP)", "STORAGE(AA,BB)"];
/// Under every policy an element of which most pages are not in the page map.
const HUGE: [usize; 1] = [96 << 20];
const SIGABRT: i32 = 6;

fn program() -> String {
    // The compiler recognises the faults of this program.
    text(compiled("faults/misuse", "faults-misuse", &["-fno-builtin", "-w", "-pthread"]))
}

/// Each case under those policies: the program ends with SIGABRT, and the one line on standard error has these words.
fn check(what: &str, policies: &[&str], sizes: &[usize], says: &str) {
    let program = program();
    for bytes in sizes.iter().map(ToString::to_string) {
        for options in policies {
            let found = on_heap(options, &[&program, what, &bytes]);
            let case = format!("{what} of {bytes} under {options:?}: {found:?}");
            assert_eq!(found.status.signal(), Some(SIGABRT), "{case}");
            assert!(found.error.starts_with("underbar: ") && found.error.contains(says), "{case}");
            assert!(!found.output.contains("not noticed"), "{case}");
            assert_eq!(found.error.lines().count(), 1, "{case}");
        }
    }
}

/// A cell, two large ones, an element, one with a segment to itself.
const EVERY: [usize; 5] = [24, 1000, 5000, 40_000, 3_000_000];
/// Under every policy an element.
const LARGE: [usize; 3] = [40_000, 300_000, 3_000_000];

#[test]
fn what_is_freed_twice_is_a_double_free() {
    for (what, says) in [
        ("twice", "free(): double free of 0x"),
        ("twice-elsewhere", "free(): double free of 0x"),
        ("realloc-freed", "realloc(): double free of 0x"),
        ("after-realloc", "free(): double free of 0x"),
    ] {
        check(what, &ELEMENTS, &EVERY, says);
        check(what, &ALL, &LARGE, says);
    }
    // A cell is compared with the one that was freed last.
    for what in ["twice", "twice-and-on", "realloc-freed"] {
        check(what, &ALL, &EVERY, "double free of 0x");
    }
}

#[test]
fn an_address_inside_a_block_is_named_with_the_block() {
    for (what, says) in [
        ("inside", ", 16 bytes into the block at 0x"),
        ("inside-unaligned", ", 8 bytes into the block at 0x"),
        ("inside-elsewhere", ", 16 bytes into the block at 0x"),
        ("realloc-inside", "realloc(): invalid pointer 0x"),
    ] {
        check(what, &ELEMENTS, &EVERY, says);
        check(what, &ALL, &LARGE, says);
    }
    // In another thread's free, and in realloc, it is noticed in cells, too.
    check("inside-elsewhere", &ALL, &EVERY, ", 16 bytes into the block at 0x");
    check("realloc-inside", &ALL, &EVERY, "realloc(): invalid pointer 0x");
}

#[test]
fn the_same_of_a_block_that_the_page_map_has_in_part() {
    for (what, says) in [
        ("inside", "free(): invalid pointer 0x"),
        ("middle", ", 50331648 bytes into the block at 0x"),
        ("realloc-middle", "realloc(): invalid pointer 0x"),
        ("past-end", "free(): overflow: the block at 0x"),
        ("twice", "free(): double free of 0x"),
    ] {
        check(what, &["", "HEAPCHK(ON)"], &HUGE, says);
    }
}

#[test]
fn a_block_written_past_its_end_is_an_overflow() {
    for (what, says) in [
        ("past-end", "free(): overflow: the block at 0x"),
        ("past-end-by-a-byte", "free(): overflow: the block at 0x"),
        ("past-end-realloc", "realloc(): overflow: the block at 0x"),
    ] {
        check(what, &ELEMENTS, &EVERY, says);
        check(what, &ALL, &LARGE, says);
    }
}

/// It ends with SIGABRT by itself, too: the program sees no difference.
#[test]
fn plain_ends_the_same_misuse() {
    let program = program();
    for what in ["twice", "inside", "after-realloc"] {
        let found = plain(&[&program, what, "5000"]);
        assert_eq!(found.status.signal(), Some(SIGABRT), "{what}: {found:?}");
    }
}

/// A false alarm would end a correct program.
#[test]
fn threads_forks_and_every_usable_byte_are_no_misuse() {
    let program = text(compiled("faults/careful", "faults-careful", &["-fno-builtin", "-pthread"]));
    assert_eq!(check_all(&[&program, "5000"]), "done\n");
    let found = on_heap("HEAPCHK(ON)", &[&program, "5000"]);
    assert_eq!((found.output.as_str(), found.error.as_str()), ("done\n", ""), "{found:?}");
}

/// The report names the caller; otherwise the program's end is that of plain.
#[test]
fn the_report_begins_with_the_fault() {
    let program = program();
    let folder = scratch("misuse");
    let file = folder.join("report.json");
    let path = file.to_str().expect("a path of text");
    let found = left(&mut run(&["--json", "-o", path], &[&program, "twice", "40000"]));
    let line = found.error.lines().find(|line| line.contains("double free of 0x")).expect("the message");
    assert!(line.contains("called by ") && line.contains("+0x"), "{found:?}");
    let report = std::fs::read_to_string(&file).expect("a report");
    assert!(report.contains("\"double_free\"") && report.contains("\"faults\":1"), "{report}");

    let found = left(&mut run(&["--opts", "HEAPCHK(ON)", "-o", path], &[&program, "inside", "64"]));
    let report = std::fs::read_to_string(&file).expect("a report");
    let first = report.lines().next().unwrap_or_default();
    assert!(first.starts_with("underbar ended faults-misuse: free(): invalid pointer 0x"), "{first}");
    assert!(found.error.contains("16 bytes into the block"), "{found:?}");
}
