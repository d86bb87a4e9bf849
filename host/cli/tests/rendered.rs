//! The complete output of `advise` for some listings and a saved report: words, JSON, page, options file.
//!
//! The listings are those of `host/listing/tests`. The expected texts are in `tests/rendered/`; `UNDERBAR_BLESS=1 cargo test -p
//! underbar-cli --test rendered` writes them. Read them afterwards.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, good};

/// One of each kind: sizes and pools, options in force, carriers with their faults, Natural, z/TPF.
const LISTINGS: [&str; 7] = [
    "storage-31",
    "pools-sizes",
    "options",
    "carriers",
    "natural-bus",
    "natural-parameters",
    "ztpf-requests",
];

fn check(name: &str, got: &str) {
    let path = format!("{}/tests/rendered/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UNDERBAR_BLESS").is_some() {
        std::fs::write(&path, got).expect("it can be written");
    }
    let expect = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expect, "{path}:\n{got}");
}

#[test]
fn listings_are_answered_in_words_json_and_pages() {
    for name in LISTINGS {
        let file = format!("../listing/tests/listings/{name}.txt");
        check(&format!("{name}.txt"), &good(&["advise", &file]));
        check(&format!("{name}.json"), &good(&["advise", "--json", &file]));
        let page = good(&["advise", "--html", &file]);
        let (start, rest) = page.split_once("<style>").expect("a style");
        let (_, end) = rest.split_once("</style>").expect("its end");
        check(&format!("{name}.html"), &format!("{start}{end}"));
    }
}

#[test]
fn saved_reports_are_answered_in_words_json_and_an_options_file() {
    let folder = Folder::new("rendered");
    let file = "tests/rendered/saved-report.json";
    check("saved-report.words", &good(&["advise", file]));
    check("saved-report.risky.words", &good(&["advise", "--risky", file]));
    check("saved-report.advice.json", &good(&["advise", "--json", file]));
    good(&["advise", "-o", &folder.name("opts"), file]);
    check("saved-report.opts", &folder.read("opts"));
    check("saved-report.summary", &good(&["report", file]));
}
