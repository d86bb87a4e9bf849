//! Heaps of threads, against what a program counts in its threads.

use super::*;

pub(super) fn heaps_of_threads_are_those_that_the_program_counts() {
    let program = compiled("figures/thread_heaps", "figures-thread_heaps", &["-pthread"]);
    let program = text(&program);
    let account = account("THREADHEAP(4K,4K)", &[program]);
    assert_eq!((code(account.left.status), account.left.error.as_str()), (0, ""));
    exact(&account, Key::ThreadHeapLargest, account.said("largest"));
    exact(&account, Key::ThreadHeapsLeft, account.said("left"));
    let heaps = account.section["heaps"].as_array().expect("heaps");
    let heap = heaps.iter().find(|heap| heap["kind"] == "thread").expect("a row");
    assert_eq!((&heap["created"], &heap["ended"]), (&5.into(), &true.into()));
    for (name, word) in [
        ("gets", "gets"),
        ("frees", "frees"),
        ("used_peak", "peak"),
        ("segments_allocated", "allocated"),
        ("segments_freed", "freed"),
    ] {
        assert_eq!(heap["counters"]["heap"][name], account.said(word), "{name}");
    }

    // The storage report has the same figures.
    let left = left(Command::new(underbar()).args([
        "run",
        "--opts",
        "THREADHEAP(4K,4K)",
        "--report",
        "le",
        "--",
        program,
    ]));
    let area = left.error.split("    THREADHEAP statistics:\n").nth(1).expect("an area");
    let figures: Vec<u64> = area
        .lines()
        .take_while(|line| line.starts_with("      "))
        .map(|line| line.rsplit(' ').next().and_then(|figure| figure.parse().ok()).expect("a figure"))
        .collect();
    let said = ["peak", "largest", "gets", "frees", "allocated", "freed"].map(|word| account.said(word));
    assert_eq!(figures, [[4096, 4096].as_slice(), &said].concat());
    assert!(
        left.error.contains("* THREADHEAP: the heaps of threads. Of 1 something was in use"),
        "{}",
        left.error
    );
}
