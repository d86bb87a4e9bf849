//! THREADSTACK: the size of the stacks of threads that set no size of their own, and never less than is safe.

use std::collections::BTreeMap;
use underbar_zoo::{Way, code, command, compiled, left};

/// The stack sizes of threads that are made in the ways of `sizes`.
fn sizes(options: &str) -> BTreeMap<String, u64> {
    let program = compiled("figures/sizes", "sizes", &["-pthread"]);
    let way = if options.is_empty() { Way::Bare } else { Way::Wrapped };
    let result = left(
        command(way, &[program.to_str().expect("a path of text")])
            .env("UNDERBAR_OPTS", options)
            .env_remove("LD_PRELOAD"),
    );
    assert_eq!((code(result.status), result.error.as_str()), (0, ""), "{options}");
    let line = |line: &str| {
        let (name, size) = line.split_once(' ').expect("name and size");
        (name.to_owned(), size.parse().expect("a size"))
    };
    result.output.lines().map(line).collect()
}

const MIB: u64 = 1 << 20;

#[test]
fn threads_that_ask_for_no_size_get_the_option_s() {
    let bare = sizes("");
    for (options, size) in [("THREADSTACK(ON,3M)", 3 * MIB), ("THREADSTACK(ON,32M)", 32 * MIB)] {
        let found = sizes(options);
        for name in ["null", "fresh", "after"] {
            assert_eq!(found[name], size, "{name} under {options}");
        }
        // A thread that sets a size gets it, also if it is that of the default: it may need it.
        for name in ["same", "less"] {
            assert_eq!(found[name], bare[name], "{name} under {options}");
        }
    }
    assert_eq!(sizes("THREADSTACK(OFF,3M)"), bare);
}

/// Threads could not be made at all.
#[test]
fn a_size_for_which_there_is_no_room_is_as_if_nothing_was_said() {
    assert_eq!(sizes("THREADSTACK(ON,5000G)"), sizes(""));
}

#[test]
fn no_stack_is_made_smaller_than_is_safe() {
    let found = sizes("THREADSTACK(ON,16K)");
    // 256 KiB for the program next to its 100,000 bytes of thread-local storage; then four times a thread's use.
    for name in ["null", "fresh"] {
        assert!((256 * 1024 + 100_000..MIB).contains(&found[name]), "{name}: {}", found[name]);
    }
    assert!((4 * 200 * 1024 + 100_000..2 * MIB).contains(&found["after"]), "{}", found["after"]);
}
