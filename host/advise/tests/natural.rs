//! The advice on each listing of Natural, in words, and the parameters to set.
//!
//! The listings are those of `underbar-listing`; the expected texts stand in `tests/advised/`.
//! `UNDERBAR_BLESS=1 cargo test -p underbar-advise` writes them, and whoever does so reads them.

use std::fs;
use std::path::PathBuf;

use underbar_advise::listing::{Collected, Form, advise_listing, settings};

fn advised(files: &[(&str, &[u8])]) -> String {
    let mut collected = Collected::default();
    for (name, bytes) in files {
        collected.file(name);
        for item in underbar_listing::read(bytes) {
            collected.take(item);
        }
    }
    let all = advise_listing(&collected);
    let mut text: String = all.iter().map(|advice| format!("{advice}\n")).collect();
    for name in collected.names() {
        if let Some(options) = Form::Natparm.text(&settings(&all, &name)) {
            text += &format!("For {name}:\n{options}");
        }
    }
    for (file, line, why) in &collected.unread {
        text += &format!("{}:{line}: {why}\n", collected.files[*file]);
    }
    text
}

#[test]
fn every_listing_is_advised_upon_as_it_should_be() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let from = here.join("../listing/tests/listings");
    let mut names: Vec<String> = fs::read_dir(&from)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name.starts_with("natural-") || name.starts_with("data-set-"))
        .collect();
    names.sort();
    assert!(names.len() >= 8);
    for name in names {
        let bytes = fs::read(from.join(&name)).expect("a listing");
        let got = advised(&[(&name, &bytes)]);
        let path = here.join("tests/advised").join(&name);
        if std::env::var_os("UNDERBAR_BLESS").is_some() {
            fs::write(&path, &got).expect("it can be written");
        }
        let expect = fs::read_to_string(&path).unwrap_or_default();
        assert!(got == expect, "{}:\n{got}", path.display());
    }
}

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
    // Caches that are not used get the sizes of the tuning page; those that are, keep theirs.
    let known = [parts(&whole), ["300", "200", "400"].map(str::to_owned).to_vec()].concat();
    for end in 0..text.len() {
        for part in parts(&set(&text.as_bytes()[..end])) {
            assert!(known.contains(&part), "cut at {end}: {part}");
        }
    }
}
