//! What may go wrong with ECBs, by the public calls alone: each error is named, and nothing else changes.
//!
//! The same program under `underbar run`, with the library linked into it, and without underbar. What ends the program is in `ecb`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use underbar_zoo::heap::{on_heap, plain, preload, text};
use underbar_zoo::{Way, command, compiled, executable, left, run, scratch};

const FLAGS: [&str; 4] =
    ["-fno-builtin", "-w", "-pthread", concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include")];

/// A folder with the library under the name by which programs that are linked with it look for it.
fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch("ecb-linked");
        executable::copy(preload(), folder.join("libunderbar.so"));
        folder
    })
}

/// Options that change how storage is kept.
const OPTIONS: [&str; 4] = ["", "STORAGE(AA,55)", "HEAP(64K,32K,,FREE)", "RPTSTG(ON)"];

/// The case holds each way, and under these options.
fn holds(case: &str, options: &[&str]) {
    let program = text(compiled("heap/ecb_faults", "heap-ecb-faults", &FLAGS));
    assert_eq!(plain(&[&program, case]).output, "none\n", "weak: the program runs without underbar");
    let mut all = vec![("underbar run", left(&mut run(&["-q"], &[&program, case])))];
    for &options in options {
        all.push((options, on_heap(options, &[&program, case])));
    }
    let folder = library();
    let library = text(folder.join("libunderbar.so"));
    let linked = compiled("heap/ecb_faults", "heap-ecb-faults-linked", &[&FLAGS[..], &[&library]].concat());
    let mut command = command(Way::Bare, &[&text(linked), case]);
    all.push(("linked", left(command.env("LD_LIBRARY_PATH", folder))));
    for (way, found) in all {
        let what = format!("{case}, {way}: {found:?}");
        assert_eq!((found.output.as_str(), found.error.as_str()), ("held\n", ""), "{what}");
        assert!(found.status.success(), "{what}");
    }
}

macro_rules! cases {
    ($($name:ident: $case:literal;)*) => {
        $(#[test]
        fn $name() {
            holds($case, &OPTIONS);
        })*
    };
}

cases! {
    an_end_while_a_thread_is_inside_is_refused: "busy";
    an_end_is_refused_while_the_caller_is_deeper_inside: "own";
    an_ecb_ends_once: "twice";
    a_thread_that_ends_has_left_its_ecbs: "ends";
    a_program_may_exit_in_an_ecb: "exits";
    a_child_goes_on_in_the_ecb_of_its_parent: "forks";
    a_jump_out_of_ecbs_leaves_the_thread_inside: "jumps";
    names_of_wrong_lengths_and_buffers_that_are_none_are_refused: "tags";
    a_buffer_that_is_resized_stays_in_its_ecb: "resizes";
    without_memory_calls_fail_and_ecbs_can_be_ended: "exhausts";
    calls_that_do_not_match_are_refused: "unmatched";
}

// These touch hundreds of megabytes each time.

#[test]
fn what_an_ecb_had_is_there_for_others_and_the_process() {
    holds("returns", &["RPTSTG(ON)"]);
}

#[test]
fn a_large_ecb_leaves_no_memory_behind() {
    holds("shrinks", &[]);
}
