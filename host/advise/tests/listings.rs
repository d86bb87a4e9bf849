//! Each layout and each kind of damage, recreated with invented values: the advice, in full.
//!
//! The listings are those of `host/listing/tests`. The expected texts are in `tests/advised/`. `UNDERBAR_BLESS=1 cargo test -p
//! underbar-advise` writes them; review them afterwards.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use underbar_advise::listing::{Collected, settings};
use underbar_advise::render::Form;
use underbar_advise::{advise_listing, check_texts};

fn advised(name: &str, bytes: &[u8]) -> String {
    let mut collected = Collected::default();
    collected.file(name);
    for item in underbar_listing::read(bytes) {
        collected.take(item);
    }
    let all = advise_listing(&collected);
    let mut text: String = all.iter().map(ToString::to_string).collect();
    for name in collected.names() {
        let settings = settings(&all, &name);
        let forms =
            [Form::Ceeopts, Form::Ceeuopt, Form::Parm, Form::CeeRunopts, Form::Values, Form::Underbar];
        let natural = [Form::Ceeopts, Form::Values, Form::Natparm];
        let is_natural = settings.iter().any(underbar_advise::render::parameters::is_parameter);
        for form in if is_natural { &natural[..] } else { &forms } {
            if let Some(options) = form.text(&settings) {
                let _ = write!(text, "-- {name} as {form:?}\n{options}");
            }
        }
    }
    text.extend(check_texts(&collected).iter().map(underbar_advise::render::text::check));
    text
}

#[test]
fn every_listing_gives_the_advice_it_should() {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/advised");
    let listings = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../listing/tests/listings");
    let mut names: Vec<String> = fs::read_dir(&listings)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    for name in names {
        let got = advised(&name, &fs::read(listings.join(&name)).expect("a listing"));
        let path = tests.join(&name);
        if std::env::var_os("UNDERBAR_BLESS").is_some() {
            fs::create_dir_all(&tests).expect("a folder");
            fs::write(&path, &got).expect("it can be written");
        }
        let expect = fs::read_to_string(&path).unwrap_or_default();
        assert!(got == expect, "{}:\n{got}", path.display());
    }
}

/// Advice that would be wrong: options from reports that are mixed, cut at the right, or only partly readable.
#[test]
fn what_cannot_be_trusted_sets_nothing() {
    let listings = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../listing/tests/listings");
    for name in ["interleaved.txt", "marks.txt"] {
        let text = advised(name, &fs::read(listings.join(name)).expect("a listing"));
        assert!(!text.contains(" -> STACK") && !text.contains("-- BILLING7"), "{name}:\n{text}");
    }
}
