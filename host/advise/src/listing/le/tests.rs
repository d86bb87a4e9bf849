//! Each rule on listings made for it: its settings, and when it advises no change.

mod columns;
mod heaps;
mod pools;
mod reports;
mod stacks;

use super::super::{Collected, settings};
use super::*;
use crate::advice::Advice;
use crate::advise_listing;
use crate::render::Form;

fn listing(text: &str) -> Collected {
    let mut collected = Collected::default();
    collected.file("job.txt");
    for item in underbar_listing::read(text.as_bytes()) {
        collected.take(item);
    }
    collected
}

fn heap(name: &str, initial: u64, increment: u64, total: u64, counts: [u64; 4]) -> String {
    let [gets, frees, allocated, freed] = counts;
    format!(
        "Storage Report for Enclave {name} 11/20/26\nLanguage Environment V03 R01.00\n\n    HEAP statistics:\n      \
         Initial size: {initial}\n      Increment size: {increment}\n      Total heap storage used (sugg. initial size): \
         {total}\n      Successful Get Heap requests: {gets}\n      Successful Free Heap requests: {frees}\n      Number of \
         segments allocated: {allocated}\n      Number of segments freed: {freed}\nEnd of Storage Report\n"
    )
}

/// The option line for all programs, and the advice.
fn check(text: &str, expect: Option<&str>) -> Vec<Advice> {
    let collected = listing(text);
    let all = advise_listing(&collected);
    let name = &collected.programs[0].name;
    let line = Form::Ceeopts.text(&settings(&all, name));
    assert_eq!(line.as_deref().map(str::trim_end), expect, "{all:#?}");
    all
}

const INITIAL: &str = "Initial size";
const INCREMENT: &str = "Increment size";
const ALL: &str = "Maximum used by all concurrent threads";
const ANY: &str = "Largest used by any thread";
const USED: &str = "Total heap storage used (sugg. initial size)";
const GETS: &str = "Successful Get Heap requests";
const FREES: &str = "Successful Free Heap requests";
const ALLOCATED: &str = "Number of segments allocated";
const FREED: &str = "Number of segments freed";
const THREADS: &str = "    Largest number of threads concurrently active: 5\nEnd of Storage Report\n";

/// A report with these sections: title, and label with value.
fn report(sections: &[(&str, &[(&str, u64)])]) -> String {
    let mut text = "Storage Report for Enclave main 11/20/26\nLanguage Environment V03 R01.00\n\n".to_owned();
    for (title, lines) in sections {
        text += &format!("    {title} statistics:\n");
        for (label, value) in *lines {
            text += &format!("      {:<52}{value:>6}\n", format!("{label}:"));
        }
    }
    text
}

/// Checks that nothing is set, and that a sentence says why.
fn check_said(text: &str, words: &str) {
    let all = check(text, None);
    assert!(all.iter().any(|advice| advice.reason.contains(words)), "{words}: {all:#?}");
}

/// A report with the sections of stacks: for each its initial size, the largest use of a thread, and segments allocated and
/// freed.
fn stacks(threads: u64, sections: &[(&str, u64, u64, u64, u64)]) -> String {
    let mut text = "Storage Report for Enclave main 11/20/26\nLanguage Environment V03 R01.00\n\n".to_owned();
    for (title, initial, used, allocated, freed) in sections {
        text += &format!(
            "    {title} statistics:\n      Initial size: {initial}\n      Increment size: 4096\n      Maximum used by all \
             concurrent threads: {used}\n      Largest used by any thread: {used}\n      Number of segments allocated: \
             {allocated}\n      Number of segments freed: {freed}\n"
        );
    }
    text + &format!("    Largest number of threads concurrently active: {threads}\nEnd of Storage Report\n")
}
