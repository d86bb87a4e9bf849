//! Natural: text around it changes nothing, and wherever it is cut no figure is made up.

use std::fs;
use std::path::PathBuf;

use underbar_listing::natural::Natural;
use underbar_listing::{Figure, Item, Reader, read, shown};

fn listing(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/listings").join(name);
    fs::read_to_string(path).expect("a listing")
}

/// Every figure and value, without lines; likely ones, and those of unsound reports, apart.
fn figures(bytes: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    for item in read(bytes) {
        match item {
            Item::Natural(Natural::Buffers(report)) if report.is_sound() => {
                for row in &report.rows {
                    all.push(format!("{} {} {}", row.name, row.kind, row.size));
                    all.push(format!("{} used {}", row.name, row.used));
                    all.extend(row.max_used.map(|most| format!("{} at most {most}", row.name)));
                }
                let thread = report.thread.unwrap_or_default();
                let mut push = |name: &str, figure: &Option<Figure>| {
                    all.extend(
                        figure
                            .iter()
                            .filter(|figure| !figure.likely)
                            .map(|figure| format!("{name} {}", figure.value)),
                    );
                };
                push("thread", &thread.thread);
                push("total", &thread.total);
                push("used", &thread.used);
                push("most", &thread.max_used);
            }
            Item::Natural(Natural::Parameters(text)) => {
                all.extend(text.rows.iter().map(|row| format!("{}={}", row.name, row.value)));
            }
            Item::Natural(Natural::Switches(table)) => {
                let way = |way: &underbar_listing::natural::Way| format!("{} {}", way.records, way.switches);
                all.push(format!(
                    "{:?} {}",
                    table.counted,
                    table.ways.iter().map(way).collect::<Vec<_>>().join(", ")
                ));
                all.extend(table.ways.iter().filter_map(|way| Some(format!("{} ms", way.cpu?))));
            }
            Item::Natural(Natural::Fetch(clause)) => all.push(format!("{:?}", clause.factor)),
            _ => {}
        }
    }
    all
}

const ALL: [&str; 4] =
    ["natural-bus.txt", "natural-bus-pages.txt", "natural-parameters.txt", "natural-switches.txt"];

fn known(what: &str, part: &[String], whole: &[String]) {
    for one in part {
        assert!(whole.contains(one), "{what}: {one}\n{whole:#?}");
    }
}

#[test]
fn the_form_around_it_changes_nothing() {
    let text = listing("natural-bus.txt");
    let expect = figures(text.as_bytes());
    assert!(expect.len() >= 16, "{expect:#?}");
    let with = |change: &dyn Fn(&str) -> String| -> String { text.lines().map(change).collect() };
    for (what, changed) in [
        ("asa", with(&|line| format!(" {line}\n"))),
        ("zero", with(&|line| format!("0{line}\n"))),
        ("crlf", with(&|line| format!("{line}\r\n"))),
        ("log", with(&|line| format!("10.15.07 JOB01234  {line}\n"))),
        ("mixed", with(&|line| format!("{line}\nPAYMENT RUN 17 OF 99 IS DONE: 12 RECORDS\n\n"))),
        ("paged", with(&|line| format!("{line}\n1PAGE 7   MY SHOP        11/20/26\n0\n"))),
        ("tabs", with(&|line| format!("{}\n", line.trim().replace("  ", "\t")))),
        ("upper", text.to_uppercase()),
        ("lower", text.to_lowercase()),
        ("records", with(&|line| format!("{line:<133}"))),
    ] {
        assert_eq!(figures(changed.as_bytes()), expect, "{what}");
    }
}

#[test]
fn wherever_it_is_cut_nothing_is_made_up() {
    for name in ALL {
        let text = listing(name);
        let whole = figures(text.as_bytes());
        assert!(whole.len() > 5, "{name}: {whole:#?}");
        for end in 0..text.len() {
            known(&format!("{name} cut at {end}"), &figures(&text.as_bytes()[..end]), &whole);
        }
        for (start, _) in text.match_indices('\n') {
            known(&format!("{name} from {start}"), &figures(&text.as_bytes()[start + 1..]), &whole);
        }
    }
}

#[test]
fn wherever_lines_are_cut_or_missing_nothing_is_made_up() {
    for name in ["natural-bus.txt", "natural-bus-pages.txt"] {
        let text = listing(name);
        let whole = figures(text.as_bytes());
        for width in 10..100 {
            let cut: String =
                text.lines().map(|line| format!("{}\n", line.get(..width).unwrap_or(line))).collect();
            known(&format!("{name} cut to {width}"), &figures(cut.as_bytes()), &whole);
        }
        for gone in 0..text.lines().count() {
            let rest = text.lines().enumerate().filter(|(at, _)| *at != gone);
            let rest: String = rest.map(|(_, line)| format!("{line}\n")).collect();
            known(&format!("{name} without line {gone}"), &figures(rest.as_bytes()), &whole);
        }
    }
}

#[test]
fn letters_for_digits_are_never_read_as_them() {
    let text = listing("natural-bus.txt");
    let whole = figures(text.as_bytes());
    for (at, digit) in text.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        for mark in ["O", "l", "$\\cap$", " "] {
            let damaged = format!("{}{mark}{}", &text[..at], &text[at + digit.len_utf8()..]);
            // The storage in use is small: a lost first digit shows in no share.
            let shows = |one: &String| mark != " " || !one.contains(" used ");
            for one in figures(damaged.as_bytes()).into_iter().filter(shows) {
                // A name may be damaged: then it is another buffer's, with figures of its own.
                let is_known = whole.contains(&one);
                let renamed = whole.iter().any(|other| {
                    let rest = |text: &str| text.split_once(' ').map(|(_, rest)| rest.to_owned());
                    rest(other) == rest(&one)
                });
                assert!(is_known || renamed, "{mark} at {at}: {one}\n{damaged}");
            }
        }
    }
}

#[test]
fn two_reports_in_one_another_are_never_trusted() {
    let text = listing("natural-bus.txt");
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(" V ") || line.contains(" F ")).collect();
    let head: Vec<&str> = text.lines().skip(2).take(5).collect();
    for step in 1..rows.len() {
        let mut lines = head.clone();
        for chunk in rows.chunks(step) {
            lines.extend(chunk);
            lines.extend(chunk);
        }
        assert_eq!(figures(lines.join("\n").as_bytes()), [""; 0], "step {step}");
    }
}

#[test]
fn in_any_pieces_it_is_the_same() {
    for name in ALL {
        let text = listing(name);
        let whole: String = read(text.as_bytes()).iter().map(shown).collect();
        for size in [1, 7, 61, 1000] {
            let (mut reader, mut pieces) = (Reader::new(), String::new());
            for piece in text.as_bytes().chunks(size) {
                reader.feed(piece, &mut |item| pieces += &shown(&item));
            }
            reader.finish(&mut |item| pieces += &shown(&item));
            assert_eq!(pieces, whole, "{name} in pieces of {size}");
        }
    }
}

#[test]
fn damage_of_any_kind_is_no_crash() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for name in ALL {
        let mut text = listing(name).into_bytes();
        for round in 0..2_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let at = (state >> 8) as usize % text.len();
            match state >> 62 {
                0 => text[at] = b"(),'=K. \n\0*"[(state >> 20) as usize % 11],
                1 if text.len() > 100 => drop(text.remove(at)),
                2 => text.insert(at, text[(state >> 30) as usize % text.len()]),
                _ => text[at] = (state >> 40) as u8,
            }
            if round % 20 == 0 {
                let _: String = read(&text).iter().map(shown).collect();
            }
        }
    }
}

#[test]
fn operands_of_a_macro_are_no_parameters() {
    let first = format!("{:<71}X\n", "         CEEXOPT HEAP=(48K,16K),");
    let text = format!("{first}               STACK=(96K,64K)\n         END\n");
    let items = underbar_listing::read(text.as_bytes());
    let natural = |item: &underbar_listing::Item| matches!(item, underbar_listing::Item::Natural(_));
    assert!(!items.is_empty() && !items.iter().any(natural), "{items:#?}");
}
