//! Stack overflows are named in the report, under options that set stacks; the program dies as plain.

use underbar_zoo::heap::text;
use underbar_zoo::{Left, Way, code, command, compiled, left, run, scratch};

const THREADS: &str = "THREADSTACK(ON,64K,16K,,KEEP)";
const FIRST: &str = "STACK(64K,16K)";
const SIGSEGV: i32 = 11;

fn program() -> String {
    // The frames stay, whatever the compiler makes of the recursion.
    text(compiled("stacks/overflow", "stacks-overflow", &["-pthread", "-O0", "-Wno-infinite-recursion"]))
}

/// The end of a part of the program, and the first line of its report.
fn reported(options: &str, part: &str) -> (Left, String) {
    let file = scratch(&format!("overflows-{part}-{}", options.len())).join("report");
    let result = left(&mut run(&["--opts", options, "-o", &text(file.clone())], &[&program(), part]));
    let report = std::fs::read_to_string(&file).expect("a report");
    (result, report.lines().next().unwrap_or_default().to_owned())
}

/// The part ends as plain. The first line of its report.
fn check(options: &str, part: &str) -> String {
    let bare = left(&mut command(Way::Bare, &[&program(), part]));
    let (wrapped, line) = reported(options, part);
    assert_eq!(code(wrapped.status), code(bare.status), "{part} under {options}");
    assert_eq!((&wrapped.output, &wrapped.error), (&bare.output, &bare.error), "{part} under {options}");
    line
}

#[test]
fn the_overflow_of_the_first_thread_is_named() {
    for options in [FIRST, THREADS] {
        let line = check(options, "first");
        let begins = "stacks-overflow: the first thread overflowed its ";
        assert!(line.starts_with(begins) && line.contains("iB stack; try ulimit -s "), "{line}");
    }
}

#[test]
fn the_overflow_of_another_thread_is_named() {
    for part in ["thread", "late"] {
        let line = check(THREADS, part);
        assert!(line.starts_with("stacks-overflow: thread "), "{line}");
        assert!(line.contains(" (diver) overflowed its "), "{line}");
        assert!(line.contains("iB stack; try THREADSTACK(ON,"), "{line}");
    }
}

/// Threads on stacks of the C library, where no option makes underbar's.
#[test]
fn the_overflow_of_a_thread_on_a_stack_of_the_c_library_is_named() {
    let by_size = "; the program sets its size";
    let by_option = "; try THREADSTACK(ON,";
    for (part, how) in [
        ("thread", by_option),
        ("late", by_option),
        ("small", " (diver) overflowed its 64 KiB stack; the program sets its size"),
        ("guarded", by_size),
        ("kept", by_size),
    ] {
        let line = check(FIRST, part);
        let names = line.starts_with("stacks-overflow: thread ") && line.contains(" (diver) overflowed its ");
        assert!(names && line.contains(how), "{part}: {line}");
    }
    let line = check(THREADS, "small");
    assert!(line.contains(by_size), "it has a size of its own: {line}");
}

/// What is not a stack of the C library, and who sets an alternate stack, keep what they have.
#[test]
fn other_stacks_of_threads_stay_as_they_are() {
    for options in [FIRST, THREADS] {
        for part in ["brought", "inside"] {
            let line = check(options, part);
            assert!(!line.contains("overflowed"), "{part} under {options}: {line}");
        }
    }
}

#[test]
fn alternate_stacks_of_threads_go_with_them() {
    for options in [FIRST, THREADS, ""] {
        let line = check(options, "many");
        assert!(!line.contains("overflowed"), "{line}");
    }
}

#[test]
fn a_child_s_overflow_is_named() {
    let line = check(FIRST, "child");
    assert!(line.contains("the first thread overflowed its "), "{line}");
}

#[test]
fn other_ends_are_not_overflows() {
    for (part, end) in [("null", -SIGSEGV), ("sent", -SIGSEGV), ("handled", 3), ("asked", 0)] {
        for options in [FIRST, THREADS, ""] {
            let line = check(options, part);
            assert!(!line.contains("overflowed"), "{part} under {options}: {line}");
            assert_eq!(code(reported(options, part).0.status), end, "{part}");
        }
    }
}

/// Without such an option nothing is installed.
#[test]
fn without_the_option_nothing_is_named() {
    for part in ["first", "thread"] {
        let line = check("", part);
        assert!(!line.contains("overflowed"), "{line}");
    }
}
