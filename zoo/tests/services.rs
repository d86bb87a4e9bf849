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

/// GnuCOBOL's CALL finds the services by their names.
#[test]
fn a_cobol_program_creates_uses_and_discards_a_heap() {
    if Command::new("cobc").arg("--version").output().is_err() {
        return skip("COBOL: no cobc");
    }
    let (made, program) = (folder().join(format!("cobol.{}", std::process::id())), folder().join("cobol"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/cobol/services.cob");
    let output = Command::new("cobc").args(["-x", "-Wall", "-o"]).arg(&made).arg(source).output();
    let output = output.expect("a COBOL compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(made, &program).expect("renamed");
    let program = text(program);
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
