//! Listings of z/TPF, changed and cut in every place: no figure is read that the whole does not hold.

use std::fs;
use std::path::PathBuf;

use underbar_listing::model::ztpf::Found;
use underbar_listing::{Figure, Item, Reader, read, shown};

/// The meaning of a figure, its value, and whether it is doubtful.
type Known = (String, u64, bool);

const GOOD: [&str; 6] = [
    "ztpf-requests.txt",
    "ztpf-requests-pages.txt",
    "ztpf-requests-old.txt",
    "ztpf-usage.txt",
    "ztpf-displays.txt",
    "ztpf-profile.txt",
];

fn listing(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/listings").join(name);
    fs::read_to_string(path).expect("a listing")
}

fn found(text: &[u8]) -> Vec<Found> {
    read(text)
        .into_iter()
        .filter_map(|item| if let Item::Ztpf(found) = item { Some(found) } else { None })
        .collect()
}

fn figures(text: &[u8]) -> Vec<Known> {
    let mut all: Vec<Known> = Vec::new();
    let mut add =
        |what: String, figure: &Figure, sound: bool| all.push((what, figure.value, figure.likely || !sound));
    for found in found(text) {
        match &found {
            Found::Frequencies(report) => {
                for (list, size) in &report.sizes {
                    add(format!("{:?} AVL{list}", report.table), size, report.sound);
                }
                for row in &report.rows {
                    add(format!("{:?} {} {}", report.table, row.limit, row.over), &row.count, report.sound);
                }
            }
            Found::Lists(lists) => {
                for (list, size) in &lists.sizes {
                    add(format!("set {:?} AVL{list}", lists.set), size, lists.set.is_some());
                }
            }
            Found::SystemHeap(heap) => {
                for (row, low, high) in &heap.rows {
                    for (what, figure) in [("31", low), ("64", high)] {
                        figure.iter().for_each(|figure| add(format!("{row:?} {what}"), figure, true));
                    }
                }
            }
            Found::Profile(profile) => {
                for sample in &profile.samples {
                    // Without its headline the object of a row is not known.
                    let known = !sample.object.is_empty();
                    add(format!("{} {}", sample.object, sample.mnemonic), &sample.count, known);
                }
            }
            Found::Values(values) => {
                values.values.iter().for_each(|(name, figure)| add(name.clone(), figure, true))
            }
            Found::Metrics(_) => {}
        }
    }
    all
}

fn holds(whole: &[Known], part: &[Known], how: &str) {
    for (what, value, doubtful) in part {
        let known = whole.iter().any(|(other, figure, _)| other == what && figure == value);
        assert!(*doubtful || known, "{how}: {what} is {value}");
    }
}

#[test]
fn the_form_around_changes_nothing() {
    for name in GOOD {
        let text = listing(name);
        let expect = figures(text.as_bytes());
        assert!(expect.len() >= 11, "{name}");
        let with = |change: &dyn Fn(&str) -> String| -> String { text.lines().map(change).collect() };
        let mut forms = vec![
            ("crlf", with(&|line| format!("{line}\r\n"))),
            ("mixed", with(&|line| format!("{line}\nPAYMENT RUN 17 OF 99 IS DONE: 12 RECORDS\n\n"))),
            ("records", with(&|line| format!("{line:<133}"))),
            (
                "commas",
                text.replace("30417", "30,417").replace("48000", "48,000").replace("1048576", "1,048,576"),
            ),
        ];
        if name != "ztpf-requests-pages.txt" {
            let asa = |line: &str| format!("{}{line}\n", if line.contains("REPORT") { '1' } else { ' ' });
            forms.push(("asa", with(&asa)));
            forms.push((
                "zero",
                with(&|line| format!("{} {line}\n", if line.contains('0') { '0' } else { '-' })),
            ));
        }
        if !name.contains("profile") {
            forms.push((
                "paged",
                with(&|line| format!("{line}\n1PAGE 7           MY SHOP        11/20/26\n0\n")),
            ));
            forms.push(("log", with(&|line| format!("10.15.07 JOB01234  {line}\n"))));
            forms.push(("upper", text.to_uppercase()));
            forms.push(("lower", text.to_lowercase()));
        }
        if !name.contains("displays") {
            forms.push(("tabs", with(&|line| format!("{}\n", line.replace("     ", "\t")))));
        }
        for (how, changed) in forms {
            let got = figures(changed.as_bytes());
            let values = |all: &[Known]| {
                all.iter().map(|(what, value, _)| (what.to_lowercase(), *value)).collect::<Vec<_>>()
            };
            assert_eq!(values(&got), values(&expect), "{name}: {how}");
        }
    }
}

#[test]
fn wherever_a_listing_is_cut_nothing_is_invented() {
    for name in GOOD {
        let text = listing(name);
        let whole = figures(text.as_bytes());
        for end in 0..text.len() {
            holds(&whole, &figures(&text.as_bytes()[..end]), &format!("{name} cut at {end}"));
        }
    }
}

#[test]
fn wherever_lines_are_cut_at_the_right_nothing_is_invented() {
    for name in GOOD {
        let text = listing(name);
        // Lines of a profile that are shorter than any record count as whole.
        let text = match name.contains("profile") {
            true => text.lines().map(|line| format!("{}{line}\n", " ".repeat(60))).collect(),
            false => text,
        };
        let whole = figures(text.as_bytes());
        for width in 5..130 {
            let cut: String =
                text.lines().map(|line| format!("{}\n", line.get(..width).unwrap_or(line))).collect();
            let mut part = figures(cut.as_bytes());
            // These are written, not printed in columns.
            part.retain(|(what, _, _)| !what.starts_with("HAV") && !what.starts_with("PEH"));
            holds(&whole, &part, &format!("{name} cut to {width}"));
        }
    }
}

#[test]
fn wherever_the_start_is_missing_nothing_is_invented() {
    for name in GOOD {
        let text = listing(name);
        let whole = figures(text.as_bytes());
        for (at, _) in text.match_indices('\n') {
            holds(&whole, &figures(&text.as_bytes()[at + 1..]), &format!("{name} from {at}"));
        }
    }
}

#[test]
fn a_missing_line_invents_nothing() {
    for name in GOOD {
        let text = listing(name);
        let whole = figures(text.as_bytes());
        for gone in 0..text.lines().count() {
            let rest: String = text
                .lines()
                .enumerate()
                .filter(|(at, _)| *at != gone)
                .map(|(_, line)| format!("{line}\n"))
                .collect();
            let mut part = figures(rest.as_bytes());
            if name.contains("profile") {
                // Rows without their own headline go to the object before them: no reader can tell.
                part.retain(|(what, _, _)| whole.iter().any(|(other, _, _)| other == what));
            }
            holds(&whole, &part, &format!("{name} without line {}", gone + 1));
        }
    }
}

#[test]
fn blanks_and_marks_in_numbers_invent_nothing() {
    for name in GOOD {
        let text = listing(name);
        let whole = figures(text.as_bytes());
        let digits: Vec<usize> =
            text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
        for at in digits {
            // The digits of a label, of a title, of a displacement are not a figure's.
            let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
            let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
            let (before, row) = (&text[line..at], &text[line..end]);
            let label = before.ends_with("AVL")
                || before.ends_with("avl")
                || before.ends_with("HAVL")
                || before.ends_with("HAVSZ");
            let heading = row.contains("REPORT")
                || row.contains("HEAP   ")
                || row.contains("DECB0")
                || row.contains("PAGE");
            for (what, change) in [
                ("blank", format!("{} {}", &text[..at], &text[at..])),
                ("letter", format!("{}O{}", &text[..at], &text[at + 1..])),
                ("mark", format!("{}$\\cap${}", &text[..at], &text[at + 1..])),
            ] {
                if !label && !heading {
                    holds(&whole, &figures(change.as_bytes()), &format!("{name}: {what} at {at} in {row}"));
                }
            }
        }
    }
}

#[test]
fn what_is_missing_is_told_by_the_percentages() {
    let text = listing("ztpf-requests.txt");
    let total = |text: &str| -> Option<(u64, u64, Option<u64>)> {
        found(text.as_bytes()).iter().find_map(|found| match found {
            Found::Frequencies(report) => report.total.map(|total| (report.read(), total.least, total.most)),
            _ => None,
        })
    };
    let (all, _, _) = total(&text).expect("a total");
    for (end, _) in text.match_indices("%\n") {
        if let Some((read, least, most)) = total(&text[..end + 2]) {
            assert!(
                least <= all && most.is_none_or(|most| all <= most),
                "{read} of {least} to {most:?}, not {all}"
            );
        }
    }
}

#[test]
fn pages_are_one_report_and_reports_are_not_pages() {
    let tables = |text: &str| found(text.as_bytes()).len();
    assert_eq!(tables(&listing("ztpf-requests-pages.txt")), 1);
    let one = listing("ztpf-requests.txt");
    assert_eq!(tables(&format!("{one}{one}")), 2);
    // The second begins where the first was cut, but it is a collection of its own.
    let first = &one[..one.find("        128 ").expect("a row")];
    let second = one.replace("14 NOV 26", "15 NOV 26");
    let at = second.find("         32 ").expect("a row");
    let rest = format!("{}{}", &second[..at], &second[second.find("        128 ").expect("a row")..]);
    assert_eq!(tables(&format!("{first}{rest}")), 2);
}

#[test]
fn a_mention_in_a_text_is_no_report() {
    let text = "A new TPF 31-BIT VIRTUAL ECB HEAP STORAGE USAGE REPORT will be made in 4 KB increments.\n\
                It shows 95 of 100 ECBs, 12 more, and is useful.\nThe TPF ECB HEAP REQUEST SIZE REPORT has 5 100 1.00%\n";
    assert!(read(text.as_bytes()).is_empty(), "{:?}", read(text.as_bytes()));
    assert_eq!(found(b"TPF ECB HEAP REQUEST SIZE REPORT      SYSTEM  WIDE\n").len(), 1);
}

#[test]
fn noise_and_pieces_change_nothing_and_crash_nothing() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    for name in GOOD.iter().chain(&["ztpf-pairs.txt", "ztpf-requests-damaged.txt", "ztpf-usage-damaged.txt"])
    {
        let mut text = listing(name).into_bytes();
        for round in 0..60 {
            for _ in 0..round {
                let at = random(text.len());
                text[at] = b" 0129O|%{}\"<>=,\t\nAZ\xff"[random(20)];
            }
            let whole: String = read(&text).iter().map(shown).collect();
            let mut pieces = String::new();
            let mut reader = Reader::new();
            for piece in text.chunks(1 + random(99)) {
                reader.feed(piece, &mut |item| pieces += &shown(&item));
            }
            reader.finish(&mut |item| pieces += &shown(&item));
            assert_eq!(whole, pieces, "{name}");
        }
    }
}
