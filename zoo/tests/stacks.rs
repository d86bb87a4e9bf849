//! THREADSTACK with increments: threads on stacks that underbar makes do what they do on those of the C library, and the segments
//! are counted.

use std::fs;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::heap::{on_heap, plain, text};
use underbar_zoo::{code, compiled, folder, left, underbar};

const KEEP: &str = "THREADSTACK(ON,64K,16K,,KEEP)";
const FREE: &str = "THREADSTACK(ON,64K,16K,,FREE)";
const OPTIONS: [&str; 5] =
    [KEEP, FREE, "THREADSTACK(ON,16M,4K)", "THREADSTACK(ON,,,,KEEP)", "THREADSTACK(ON,4M,,,FREE)"];

fn program() -> String {
    text(compiled("stacks/threads", "stacks-threads", &["-pthread", "-O1"]))
}

/// One part of the program, plain and under each of the options.
fn check(part: &str) {
    let program = program();
    let bare = plain(&[&program, part]);
    assert!(bare.status.success() && bare.output == "all held\n", "{part}: {bare:?}");
    for options in OPTIONS {
        let left = on_heap(options, &[&program, part]);
        assert!(left.status.success() && left.output == "all held\n", "{part} under {options}: {left:?}");
    }
}

#[test]
fn threads_run_together_and_in_turn() {
    for part in ["turns", "together", "deep"] {
        check(part);
    }
}

#[test]
fn threads_that_nobody_joins_or_that_are_cancelled() {
    for part in ["detached", "cancelled", "results"] {
        check(part);
    }
}

#[test]
fn a_child_has_none_of_the_stacks_of_its_parent_s_threads() {
    check("fork");
}

#[test]
fn a_thread_with_a_stack_a_size_or_a_guard_of_its_own_keeps_it() {
    check("brought");
}

#[test]
fn threads_for_whose_stacks_there_is_no_room_fail_as_plain() {
    check("exhausted");
}

/// The next thread gets the stack of the last one: a few in all, since a thread that was just joined may be the next but one.
#[test]
fn a_stack_is_used_again() {
    let left = on_heap(KEEP, &[&program(), "turns"]);
    let stacks: u64 = left.error.trim().parse().expect("a number");
    assert_eq!(stacks, 1);
}

/// The counters of the threads' stacks after a part of the program.
fn counted(options: &str, part: &str) -> (u64, u64, u64) {
    let file = folder().join(format!("stacks-{part}-{}-{}.json", options.len(), std::process::id()));
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "--opts", options, "-o"]).arg(&file).args(["--", &program(), part]);
    let result = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!(code(result.status), 0, "{part}: {}", result.error);
    let report: Value = serde_json::from_slice(&fs::read(&file).expect("a report")).expect("JSON");
    fs::remove_file(&file).expect("removed");
    let counters = &report["processes"][0]["counters"];
    let figure = |area: &str, key: &str| counters[area][key].as_u64().expect("a figure");
    (
        figure("threadstack", "segments_allocated"),
        figure("threadstack", "segments_freed"),
        figure("stack", "thread"),
    )
}

/// Frames of 200 KiB need nine increments of 16 KiB beyond the first 64 KiB; the thread's own data, and what its end needs, take
/// up to two more.
#[test]
fn segments_are_counted_as_they_are_reached() {
    let (kept, freed, deepest) = counted(KEEP, "deep");
    assert!((10..=12).contains(&kept) && freed == 0, "{kept} and {freed}");
    assert!((200 << 10..232 << 10).contains(&deepest), "{deepest}");
    let (allocated, freed, deepest) = counted(FREE, "deep");
    // Each of twenty threads reaches its increments anew.
    assert_eq!((allocated, freed), (20 * (kept - 1) + 1, 20 * (kept - 1)));
    assert!((200 << 10..232 << 10).contains(&deepest), "{deepest}");
    let (allocated, freed, _) = counted("THREADSTACK(ON,1M,,,KEEP)", "deep");
    assert_eq!((allocated, freed), (1, 0), "one segment holds it");
    let (allocated, freed, _) = counted("", "deep");
    assert_eq!((allocated, freed), (0, 0), "the stacks are the C library's");
    let (allocated, _, _) = counted(KEEP, "together");
    assert_eq!(allocated, 64, "a first segment each, used three times");
}

/// A first request that touched one page more would cost each thread 4 KiB and a page fault.
#[test]
fn the_heap_touches_no_page_of_a_stack_that_the_thread_does_not() {
    let program = text(compiled("stacks/shallow", "stacks-shallow", &["-pthread", "-O1"]));
    let pages = |output: &str| output.trim().parse::<u32>().expect("a number of pages");
    let (bare, ours) = (pages(&plain(&[&program]).output), pages(&on_heap("", &[&program]).output));
    assert!(bare > 0 && ours <= bare, "{ours} pages instead of {bare}");
}
