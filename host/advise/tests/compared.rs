//! Listings of z/TPF and Natural before and after, with invented values: the output of `underbar diff`, in full.
//!
//! The listings before are those of `host/listing/tests`. The listings after are in `tests/after/`, or are also in
//! `host/listing/tests`. The expected texts are in `tests/compared/`. `UNDERBAR_BLESS=1 cargo test -p underbar-advise` writes
//! them; review them afterwards.

use std::fs;
use std::path::PathBuf;

use underbar_advise::listing::{Amount, Collected, Comparison, Known, Row};

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
        // The damaged listing holds nothing else: no compared class can be another one.
        for row in rows(&comparison).filter(|row| row.label.contains("up to")) {
            let within = range(&row.old).zip(range(&row.new)).is_none_or(|(old, new)| meet(old, new));
            assert!(within, "{damaged}: {row:?}");
        }
    }
}

fn rows(comparison: &Comparison) -> impl Iterator<Item = &Row> {
    comparison.subjects.iter().flat_map(|one| &one.groups).flat_map(|group| &group.rows)
}

/// The bounds of a count.
fn range(side: &Option<Known>) -> Option<(u64, u64)> {
    match side.as_ref()?.value {
        Amount::Count(value) => Some((value, value)),
        Amount::Span { least, most } => Some((least, most.unwrap_or(u64::MAX))),
        Amount::Share { .. } | Amount::Text(_) => None,
    }
}

fn meet(one: (u64, u64), two: (u64, u64)) -> bool {
    one.0 <= two.1 && two.0 <= one.1
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
        for row in rows(&comparison) {
            assert_eq!(row.old, row.new, "{name}: {}", row.label);
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

/// The listing after is cut anywhere, or loses any line: each count that is still compared equals the listing's count, or is
/// within its possible range.
#[test]
fn whatever_is_cut_or_lost_no_class_is_invented() {
    for name in ["ztpf-requests", "ztpf-usage"] {
        let path = format!("tests/after/{name}.txt");
        let text = fs::read_to_string(folder(&path)).expect("a listing");
        // The whole listing is compared with its damaged copy: for every compared count, the two ranges must meet.
        let whole = read(&path);
        let check = |what: &str, bytes: &[u8]| {
            let mut new = Collected::default();
            new.file("cut");
            underbar_listing::read(bytes).into_iter().for_each(|item| new.take(item));
            let comparison = Comparison::new(&whole, &new);
            for row in rows(&comparison).filter(|row| row.label.contains("up to")) {
                let within = range(&row.old).zip(range(&row.new)).is_none_or(|(old, new)| meet(old, new));
                assert!(within, "{what}: {row:?}");
            }
        };
        for end in 0..text.len() {
            check(&format!("{name} cut at {end}"), &text.as_bytes()[..end]);
        }
        let lines: Vec<&str> = text.lines().collect();
        for lost in 0..lines.len() {
            let rest = [&lines[..lost], &lines[lost + 1..]].concat().join("\n") + "\n";
            check(&format!("{name} without line {}", lost + 1), rest.as_bytes());
        }
    }
}

#[test]
fn the_object_of_simple_locks_is_found_again_where_print_broke_its_name() {
    let profile = |name: &str, rows: &str| {
        let mut collected = Collected::default();
        collected.file("profile");
        let text = format!("SSU PROG DISP INST COUNT\nHPN CFVS - {name}\n{rows}");
        underbar_listing::read(text.as_bytes()).into_iter().for_each(|item| collected.take(item));
        collected
    };
    let old = profile("slo ockc.goff", "P 000 000000001A E CSG 4100\nP 000 000000001B 4 BRC 90 \n");
    let new = profile("slockc.goff", "P 0000000000000150 TM 80 31\nP 0000000000000158 BRCTG 44 \n");
    let comparison = Comparison::new(&old, &new);
    assert_eq!(comparison.subjects[0].names[1], "z/TPF: instructions of CFVS - slockc.goff");
    let share = rows(&comparison).find(|row| row.label == "Share of compare-and-swap").expect("a share");
    let value = |side: &Option<Known>| side.as_ref().map(|known| known.value.clone());
    assert_eq!(value(&share.old), Some(Amount::Share { percent_hundredths: [9785, 9785] }));
    assert_eq!(value(&share.new), Some(Amount::Share { percent_hundredths: [0, 0] }));
    // An object with a similar name is still another one.
    let other = Comparison::new(&old, &profile("slock.goff", "P 0000000000000150 TM 80 31\n"));
    assert!(other.subjects.is_empty() && other.only_old.len() == 1 && other.only_new.len() == 1);
}
