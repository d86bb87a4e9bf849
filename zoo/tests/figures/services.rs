//! Additional heaps, against what a program counts of its own calls.

use super::*;

pub(super) fn additional_heaps_are_those_that_the_program_counts() {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include");
    let program = compiled("figures/services", "figures-services", &[include]);
    let account = account("", &[text(&program)]);
    assert_eq!((code(account.left.status), account.left.error.as_str()), (0, ""));
    for (key, word) in [
        (Key::AdditionalCreates, "creates"),
        (Key::AdditionalDiscards, "discards"),
        (Key::AdditionalGets, "gets"),
        (Key::AdditionalFrees, "frees"),
        (Key::AdditionalUsed, "used"),
        (Key::AdditionalUsedPeak, "peak"),
        (Key::AdditionalSegmentsAllocated, "allocated"),
        (Key::AdditionalSegmentsFreed, "freed"),
    ] {
        exact(&account, key, account.said(word));
    }
    assert_eq!(account.section["heading"], "Heaps of our own");
    let heaps = account.section["heaps"].as_array().expect("heaps");
    assert_eq!(heaps.len(), 4, "the default one and three more");

    // The storage report has the same figures, under the heading.
    let left = left(Command::new(underbar()).args(["run", "--report", "le", "--"]).arg(&program));
    let report = &left.error;
    let area = report.split("    Additional Heap statistics:\n").nth(1).expect("an area");
    let figures: Vec<u64> = area
        .lines()
        .take_while(|line| line.starts_with("      "))
        .map(|line| line.rsplit(' ').next().and_then(|figure| figure.parse().ok()).expect("a figure"))
        .collect();
    let said = ["creates", "discards", "peak", "gets", "frees", "allocated", "freed"];
    assert_eq!(figures, said.map(|word| account.said(word)));
    assert!(report.contains("Heaps of our own\nStorage Report for Enclave "), "{report}");
}
