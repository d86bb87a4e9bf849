//! HEAPZONES and HEAPCHK in ECBs: a write past the end of a buffer is found, with the ECB, its class and the buffer's name.

use std::os::unix::process::ExitStatusExt;

use underbar_zoo::heap::{on_heap, plain, text};
use underbar_zoo::{Left, compiled};

const SIGABRT: i32 = 6;
const FLAGS: [&str; 6] = [
    "-fno-builtin",
    "-w",
    "-pthread",
    "-O1",
    "-fno-optimize-sibling-calls",
    concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include"),
];
/// Of each kind: a buffer of a list, with and without room behind it; of a list that is no available one; with pages of its own.
const SIZES: [&str; 6] = ["1", "24", "32", "1000", "40000", "3000000"];

fn under(options: &str, what: &str, bytes: &str) -> Left {
    let program = text(compiled("heap/ecb_zones", "heap-ecb-zones", &FLAGS));
    assert_eq!(plain(&[&program, what, bytes]).output, "none\n");
    on_heap(options, &[&program, what, bytes])
}

/// The program ends, with one line that has all these words.
fn is_ended(found: &Left, words: &[&str]) {
    assert_eq!(found.status.signal(), Some(SIGABRT), "{found:?}");
    assert_eq!((found.output.as_str(), found.error.lines().count()), ("begins\n", 1), "{found:?}");
    for word in words {
        assert!(found.error.contains(word), "{word}: {found:?}");
    }
}

#[test]
fn a_byte_past_the_end_of_a_buffer_is_found_when_it_is_given_up() {
    for bytes in SIZES {
        for (what, function) in [
            ("free", "free"),
            ("calloc", "free"),
            ("aligned", "free"),
            ("realloc", "realloc"),
            ("low", "free"),
            ("outside", "free"),
            ("thread", "free"),
            ("end", "underbar_ecb_end"),
        ] {
            for options in ["HEAPZONES(,,16)", "HEAPCHK(ON)"] {
                // Below 2 GiB the size of zones is that for there.
                let options = if what == "low" && options != "HEAPCHK(ON)" {
                    "HEAPZONES(16,ABEND,16)"
                } else {
                    options
                };
                let found = under(options, what, bytes);
                let block = format!(" ({bytes} bytes) was written past its end, in ECB ");
                is_ended(
                    &found,
                    &[&format!("{function}(): overflow: the block at 0x"), &block, " of class ZONES"],
                );
                if what != "low" {
                    assert!(found.error.contains(", got by the program itself+0x"), "{found:?}");
                }
            }
        }
    }
}

#[test]
fn the_name_of_the_buffer_and_its_new_size_are_told() {
    let found = under("HEAPZONES(,,16)", "named", "100");
    is_ended(
        &found,
        &[" (100 bytes) was written past its end, in ECB ", " of class ZONES, named SESSION, got by "],
    );
    let found = under("HEAPZONES(,,16)", "resized", "100");
    is_ended(&found, &[" (300 bytes) was written past its end, in ECB "]);
}

#[test]
fn a_walk_finds_what_is_not_given_up() {
    for bytes in SIZES {
        let found = under("HEAPCHK(ON,10)", "walk", bytes);
        is_ended(
            &found,
            &[&format!(" ({bytes} bytes) was written past its end, in ECB "), " of class ZONES"],
        );
    }
}

#[test]
fn under_msg_the_program_goes_on() {
    for what in ["free", "end", "outside"] {
        let found = under("HEAPZONES(,,16,MSG)", what, "100");
        assert_eq!((found.status.code(), found.output.as_str()), (Some(0), "begins\ngoes on\n"), "{found:?}");
        assert_eq!(found.error.lines().count(), 1, "once: {found:?}");
        let found = under("HEAPZONES(,,16,QUIET)", what, "100");
        assert_eq!((found.output.as_str(), found.error.as_str()), ("begins\ngoes on\n", ""), "{found:?}");
    }
}

#[test]
fn a_program_that_keeps_to_what_it_asked_for_sees_no_difference() {
    for options in ["HEAPZONES(,,16)", "HEAPCHK(ON,1)", "HEAPZONES(,,16),ECB(CHECK,TRACE(9))"] {
        for bytes in SIZES {
            let found = under(options, "asked", bytes);
            assert_eq!(
                (found.output.as_str(), found.error.as_str()),
                ("begins\n0\ngoes on\n", ""),
                "{found:?}"
            );
        }
        // All faults of `ecb_faults` are those without checks, and nothing else is found.
        let program = text(compiled("heap/ecb_faults", "heap-ecb-faults", &FLAGS));
        for case in
            ["busy", "own", "twice", "ends", "exits", "forks", "jumps", "tags", "resizes", "unmatched"]
        {
            let found = on_heap(options, &[&program, case]);
            let what = format!("{case} under {options}: {found:?}");
            assert_eq!((found.output.as_str(), found.error.as_str()), ("held\n", ""), "{what}");
            assert!(found.status.success(), "{what}");
        }
    }
}
