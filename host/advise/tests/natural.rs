//! A report of Natural that is cut anywhere: the advice sets only values that the whole report's advice sets, or that the
//! report contains.

use std::fs;
use std::path::PathBuf;

use underbar_advise::advise_listing;
use underbar_advise::listing::Collected;

#[test]
fn wherever_a_report_is_cut_nothing_else_is_set() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../listing/tests/listings/natural-bus.txt");
    let text = fs::read_to_string(path).expect("a listing");
    let set = |bytes: &[u8]| -> Vec<String> {
        let mut collected = Collected::default();
        collected.file("cut");
        underbar_listing::read(bytes).into_iter().for_each(|item| collected.take(item));
        advise_listing(&collected).into_iter().filter_map(|advice| Some(advice.option?.to_string())).collect()
    };
    let whole = set(text.as_bytes());
    assert_eq!(whole.len(), 2, "{whole:?}");
    let parts = |all: &[String]| -> Vec<String> {
        all.iter()
            .flat_map(|one| one.split(['(', ')', ',', '=']).map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    // Unused caches get the sizes of the tuning page; used ones keep theirs.
    let known = [parts(&whole), ["300", "200", "400"].map(str::to_owned).to_vec()].concat();
    for end in 0..text.len() {
        for part in parts(&set(&text.as_bytes()[..end])) {
            assert!(known.contains(&part), "cut at {end}: {part}");
        }
    }
}
