//! Language Environment's callable services for storage, from C and COBOL: the header, what they do, and what they answer.

use std::path::Path;
use std::process::Command;

use underbar_zoo::heap::{OPTIONS, on_heap, plain, text};
use underbar_zoo::{compiled, folder, left, run, skip};

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

/// A compiled COBOL program; None without a compiler.
fn cobol(name: &str) -> Option<String> {
    if Command::new("cobc").arg("--version").output().is_err() {
        skip("COBOL: no cobc");
        return None;
    }
    let program = folder().join(format!("cobol-{name}"));
    let made = program.with_extension(std::process::id().to_string());
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/cobol").join(name).with_extension("cob");
    let output = Command::new("cobc").args(["-x", "-Wall", "-o"]).arg(&made).arg(source).output();
    let output = output.expect("a COBOL compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(made, &program).expect("renamed");
    Some(text(program))
}

/// As the glossary says: data of one call are in the heap, and data that stay are in the program file, where no heap counts them.
#[test]
fn a_cobol_programs_data_are_where_the_glossary_says() {
    let used = |name: &str| -> Option<u64> {
        let left = left(&mut run(&["--report", "le"], &[&cobol(name)?]));
        assert!(left.status.success() && left.output == "ABAB\n", "{left:?}");
        let (_, heap) = left.error.split_once("    HEAP statistics:\n").expect("an area");
        let line = heap.lines().find(|line| line.contains("Total heap storage used")).expect("a line");
        Some(line.rsplit(' ').next().expect("a figure").parse().expect("a number"))
    };
    let (Some(stays), Some(of_a_call)) = (used("working"), used("local")) else { return };
    assert!(stays < 1_000_000 && of_a_call > 3_000_000, "{stays} {of_a_call}");
}

/// GnuCOBOL's CALL finds the services by their names.
#[test]
fn a_cobol_program_creates_uses_and_discards_a_heap() {
    let Some(program) = cobol("services") else { return };
    let without = plain(&[&program]);
    assert!(without.status.success() && without.output == "no services\n", "{without:?}");
    for options in OPTIONS {
        let left = on_heap(options, &[&program]);
        assert!(left.status.success() && left.output == "all held\n", "under {options:?}: {left:?}");
    }
    let left = left(&mut run(&["--report", "le"], &[&program]));
    assert!(left.status.success() && left.output == "all held\n", "{left:?}");
    assert!(
        left.error.contains("User defined report heading\nStorage Report for Enclave "),
        "{}",
        left.error
    );
    for line in [
        "      Successful Create Heap requests:                         1\n",
        "      Successful Discard Heap requests:                        1\n",
    ] {
        assert!(left.error.contains(line), "{}", left.error);
    }
}
