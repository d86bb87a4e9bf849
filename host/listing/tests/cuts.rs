//! Whatever part of a report is lost, no figure is read that the whole does not hold in the same place.
//!
//! ```text
//! every report that is printed here and every layout  x  cut at every byte of either end
//!                                                     x  any one line dropped
//!                                                     x  any columns cut off, left or right
//! ```
//!
//! The test checks the figures that advice may use: those that are certain, of sound reports. A figure that is only
//! likely must at least be a number of the whole.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use underbar_listing::sections::{LABELS, SECTIONS};
use underbar_listing::{Item, read, shown};
use underbar_report::{le, sample};

type Figures = HashSet<(String, u64)>;

/// Figures by section and label: certain ones of sound reports, and the values of all others.
fn figures(bytes: &[u8]) -> (Figures, HashSet<u64>) {
    let (mut certain, mut other) = (Figures::new(), HashSet::new());
    for item in read(bytes) {
        let Item::Storage(report) = item else { continue };
        let sound = report.is_sound();
        for section in &report.sections {
            for (field, figure) in &section.figures {
                let what = format!("{} {field:?}", section.kind.title());
                if figure.likely || !sound {
                    other.insert(figure.value);
                } else {
                    certain.insert((what, figure.value));
                }
            }
        }
        let counted = report.ranges.iter().map(|(from, to, figure)| (format!("{from}-{to}"), figure));
        let counted = counted.chain(report.threads.iter().map(|figure| ("threads".to_owned(), figure)));
        let counted =
            counted.chain(report.larger_than_cells.iter().map(|figure| ("large".to_owned(), figure)));
        for (what, figure) in counted.filter(|_| sound) {
            certain.insert((what, figure.value));
        }
        for pool in report.pools.iter().filter(|_| sound) {
            certain.insert((format!("pool {} {}", pool.cell, pool.extents), pool.used_peak));
        }
    }
    (certain, other)
}

/// All numbers of a text, with a label or without.
fn numbers(text: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(text).replace(',', "");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter_map(|word| match word.strip_suffix('M') {
            Some(millions) => millions.parse::<u64>().ok().map(|number| number << 20),
            None => word.parse().ok(),
        })
        .collect()
}

/// The values of a whole report line by line, even if contradictory: if one of two figures is lost, the other is read.
fn printed(text: &[u8]) -> Figures {
    let (mut all, mut section) = (Figures::new(), "");
    for line in String::from_utf8_lossy(text).lines() {
        let Some((label, value)) = line.trim().split_once(':') else { continue };
        let title = label.strip_suffix(" statistics").unwrap_or_default();
        section = SECTIONS.iter().find(|row| row.title == title).map_or(section, |row| row.title);
        let field = LABELS.iter().find(|(known, _)| *known == label);
        if let (Some((_, field)), Ok(value)) = (field, value.trim().parse()) {
            all.insert((format!("{section} {field:?}"), value));
        }
    }
    all
}

/// Every report to be damaged, with its name.
fn reports() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    let names = [
        "storage-31.txt",
        "storage-31-xplink.txt",
        "storage-64.txt",
        "storage-upper-asa.txt",
        "additional-heap.txt",
        "apart.txt",
        "pools.txt",
    ];
    let mut all: Vec<(String, Vec<u8>)> = names
        .iter()
        .map(|name| ((*name).to_owned(), fs::read(folder.join(name)).expect("a listing")))
        .collect();
    let mut pooled = sample::getfree();
    pooled.processes[0].pools = Some(sample::pools());
    for (name, report) in
        [("our own", sample::getfree()), ("our own tree", sample::tree()), ("our own pools", pooled)]
    {
        all.push((name.to_owned(), le::render(&report).into_bytes()));
    }
    all
}

/// Every figure of the damaged text is one of the whole.
fn check(name: &str, damage: &str, whole: &(Figures, HashSet<u64>), damaged: &[u8]) {
    let (certain, other) = figures(damaged);
    if let Some((what, value)) = certain.difference(&whole.0).next() {
        let shown: String = read(damaged).iter().map(shown).collect();
        panic!("{name}, {damage}: {what} is {value}\n{shown}");
    }
    if let Some(value) = other.difference(&whole.1).next() {
        panic!("{name}, {damage}: {value} is nowhere in the whole");
    }
}

#[test]
fn wherever_the_end_is_missing_nothing_is_invented() {
    for (name, text) in reports() {
        let mut whole = figures(&text);
        whole.0.extend(printed(&text));
        whole.1.extend(numbers(&text));
        let step = if text.len() > 6000 { 3 } else { 1 };
        for end in (0..text.len()).step_by(step) {
            check(&name, &format!("up to {end}"), &whole, &text[..end]);
        }
    }
}

#[test]
fn wherever_the_beginning_is_missing_nothing_is_invented() {
    for (name, text) in reports() {
        let mut whole = figures(&text);
        whole.0.extend(printed(&text));
        whole.1.extend(numbers(&text));
        let step = if text.len() > 6000 { 3 } else { 1 };
        for start in (0..text.len()).step_by(step) {
            check(&name, &format!("from {start}"), &whole, &text[start..]);
        }
    }
}

#[test]
fn whichever_line_is_missing_nothing_is_invented() {
    for (name, text) in reports() {
        let mut whole = figures(&text);
        whole.0.extend(printed(&text));
        whole.1.extend(numbers(&text));
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        for gone in 0..lines.len() {
            let rest = [lines[..gone].concat(), lines[gone + 1..].concat()].concat();
            check(&name, &format!("without line {}", gone + 1), &whole, &rest);
        }
    }
}

#[test]
fn whichever_columns_are_missing_nothing_is_invented() {
    // If numbers are in lines of their own, nothing shows that their last digits are gone.
    for (name, text) in reports().into_iter().filter(|(name, _)| name != "apart.txt") {
        let mut whole = figures(&text);
        whole.0.extend(printed(&text));
        whole.1.extend(numbers(&text));
        let text = String::from_utf8(text).expect("text");
        for width in 1..75 {
            let right: String =
                text.lines().map(|line| format!("{}\n", line.get(..width).unwrap_or(line))).collect();
            check(&name, &format!("{width} columns left"), &whole, right.as_bytes());
            let left: String =
                text.lines().map(|line| format!("{}\n", line.get(width..).unwrap_or(""))).collect();
            check(&name, &format!("without {width} columns"), &whole, left.as_bytes());
        }
    }
}

#[test]
fn a_heading_cut_in_its_middle_is_no_other_heading() {
    let text = "THREADSTACK statistics:\n      Initial size: 4096\n      Increment size: 4096\n      Maximum used by all concurrent \
                threads: 0\n      Largest used by any thread: 0\n      Number of segments allocated: 0\n      Number of segments \
                freed: 0\n";
    assert!(figures(format!("Storage Report for Enclave A x\n    {text}").as_bytes()).0.len() > 4);
    for start in 0..text.find(' ').expect("a blank") {
        assert_eq!(figures(&text.as_bytes()[start..]).0, Figures::new(), "from {start}");
    }
}

#[test]
fn rows_of_an_options_report_that_lost_a_part_are_not_read() {
    let rows = "IBM-supplied default             ANYHEAP(32768,16384,ANYWHERE,FREE)\n\
                DD:CEEOPTS                       HEAP(65536,32768,ANYWHERE,KEEP,8192,4096)\n";
    let values = |text: &str| -> Vec<String> {
        let mut all = Vec::new();
        for item in read(text.as_bytes()) {
            let rows = match item {
                Item::Options(report) => report.rows,
                Item::Text(text) => text.rows,
                _ => continue,
            };
            all.extend(rows.into_iter().map(|row| format!("{}({})", row.name, row.values)));
        }
        all
    };
    let whole = values(rows);
    assert_eq!(whole.len(), 2);
    for cut in 0..rows.len() {
        for part in [&rows[..cut], &rows[cut..]] {
            for one in values(part) {
                assert!(whole.contains(&one), "{one} of {part}");
            }
        }
    }
    let dump = "PARMLIB(CEEPRM00) OVR HEAP(0000065536,0000032768,\n         ANYWHERE,KEEP,0000008192,\n         0000004096)\n";
    assert_eq!(values(dump).len(), 1);
    let gone = dump.replace("         ANYWHERE,KEEP,0000008192,\n", "");
    assert_eq!(values(&gone), Vec::<String>::new());
}

#[test]
fn a_first_heading_is_trusted_if_the_next_one_shows_that_it_is_whole() {
    let listing = fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/listings/storage-31.txt"));
    let text = String::from_utf8(listing.expect("a listing")).expect("text");
    let whole = figures(text.as_bytes()).0;
    let from = |title: &str| {
        let at = text.find(&format!("    {title} statistics:")).expect("a section");
        figures(&text.as_bytes()[at + 4..]).0
    };
    assert_eq!(from("STACK"), whole);
    assert!(from("HEAP").contains(&("HEAP Total".to_owned(), 1_187_336)));
    assert!(from("THREADSTACK").iter().all(|(what, _)| !what.contains("THREADSTACK")));
}
