//! Listings of z/TPF and Natural before and after, with values of our own: what `underbar diff` says, in full.
//!
//! The listings before are those of `host/listing/tests`, those after stand in `tests/after/`, or are before's, too. The
//! expected texts stand in `tests/compared/`; `UNDERBAR_BLESS=1 cargo test -p underbar-advise` writes them, and whoever does so
//! reads them.

use std::fs;
use std::path::PathBuf;

use underbar_advise::listing::{Collected, Comparison};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(path: &str) -> Collected {
    let mut collected = Collected::default();
    collected.file(path);
    let bytes = fs::read(folder(path)).expect("a listing");
    underbar_listing::read(&bytes).into_iter().for_each(|item| collected.take(item));
    collected
}

fn before(name: &str) -> Collected {
    read(&format!("../listing/tests/listings/{name}.txt"))
}

fn check(name: &str, comparison: &Comparison) {
    let got = comparison.to_text(false);
    let path = folder(&format!("tests/compared/{name}.txt"));
    if std::env::var_os("UNDERBAR_BLESS").is_some() {
        fs::write(&path, &got).expect("it can be written");
    }
    let expect = fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expect, "{}:\n{got}", path.display());
}

#[test]
fn each_kind_is_compared_with_what_came_after() {
    for name in [
        "ztpf-requests",
        "ztpf-usage",
        "ztpf-profile",
        "ztpf-displays",
        "natural-bus",
        "natural-parameters",
        "natural-switches",
    ] {
        check(name, &Comparison::new(&before(name), &read(&format!("tests/after/{name}.txt"))));
    }
}

#[test]
fn two_layouts_are_compared_where_both_can_say_something() {
    check("layouts", &Comparison::new(&before("ztpf-requests-old"), &before("ztpf-requests")));
}

#[test]
fn of_what_is_damaged_it_is_said_what_was_not_compared() {
    for (damaged, sound) in [
        ("ztpf-requests-damaged", "ztpf-requests"),
        ("ztpf-requests-wrong", "ztpf-requests"),
        ("ztpf-requests-interleaved", "ztpf-requests"),
        ("ztpf-usage-damaged", "ztpf-usage"),
        ("natural-bus-damaged", "natural-bus"),
        ("natural-bus-mixed", "natural-bus"),
    ] {
        let comparison = Comparison::new(&before(damaged), &before(sound));
        check(damaged, &comparison);
        let text = comparison.to_text(false);
        assert!(text.contains("not compared") && text.contains("  old: line "), "{text}");
        // The damaged one holds nothing else: no figure of a row that was read is another one.
        let rows = comparison.subjects.iter().flat_map(|one| &one.groups).flat_map(|group| &group.rows);
        for row in rows.filter(|row| row.label.starts_with("above") || row.label.starts_with("up to")) {
            let number = |side: &Option<underbar_advise::listing::Known>| match side {
                Some(known) => match known.value {
                    underbar_advise::listing::Amount::Count(value) => Some(value),
                    _ => None,
                },
                None => None,
            };
            if let (Some(old), Some(new)) = (number(&row.old), number(&row.new)) {
                assert_eq!(old, new, "{damaged}: {}", row.label);
            }
        }
    }
}

#[test]
fn a_listing_against_itself_shows_no_difference() {
    let mut compared = 0;
    for entry in fs::read_dir(folder("../listing/tests/listings")).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        let path = format!("../listing/tests/listings/{name}");
        let comparison = Comparison::new(&read(&path), &read(&path));
        assert!(comparison.only_old.is_empty() && comparison.only_new.is_empty(), "{name}");
        compared += comparison.subjects.len();
        for subject in &comparison.subjects {
            for row in subject.groups.iter().flat_map(|group| &group.rows) {
                assert_eq!(row.old, row.new, "{name}: {}: {}", subject.names[0], row.label);
            }
        }
        let text = comparison.to_text(false);
        assert!(!text.contains("  ratio\n") || text.contains("STEP TIMINGS"), "{name}: {text}");
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn what_only_one_of_them_holds_is_named() {
    let comparison = Comparison::new(&before("ztpf-usage"), &before("natural-bus"));
    assert!(comparison.is_empty());
    let text = comparison.to_text(false);
    for words in [
        "Only in the old listing: z/TPF: use of the preallocated 31-bit heap, z/TPF: ECBs that exceeded",
        "Only in the new listing: Natural NIGHT1: buffer usage (BUS).",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let json = comparison.to_json().expect("it can be written");
    assert!(json.contains("\"subjects\":[]") && json.contains("Natural NIGHT1"), "{json}");
}

/// Wherever the listing after is cut, what is still compared is what stands there, or is between what it can be.
#[test]
fn wherever_a_table_is_cut_no_class_is_invented() {
    use underbar_advise::listing::Amount;
    let old = before("ztpf-requests");
    let bytes = fs::read(folder("tests/after/ztpf-requests.txt")).expect("a listing");
    let compare = |bytes: &[u8]| {
        let mut new = Collected::default();
        new.file("cut");
        underbar_listing::read(bytes).into_iter().for_each(|item| new.take(item));
        Comparison::new(&old, &new)
    };
    let whole = compare(&bytes);
    let counts = |comparison: &Comparison| -> Vec<(String, u64)> {
        let groups = comparison.subjects.iter().flat_map(|one| &one.groups);
        let rows = groups.filter(|group| group.heading.contains("BY CLASS")).flat_map(|group| &group.rows);
        rows.filter_map(|row| match row.new.as_ref()?.value {
            Amount::Count(value) => Some((row.label.clone(), value)),
            _ => None,
        })
        .collect()
    };
    let all = counts(&whole);
    assert_eq!(all.len(), 8);
    for end in 0..bytes.len() {
        for count in counts(&compare(&bytes[..end])) {
            assert!(all.contains(&count), "cut at {end}: {count:?}");
        }
    }
}
