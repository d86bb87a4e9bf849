//! Each layout and each kind of damage, written anew with values of this project, and the findings.
//!
//! The expected texts are in `tests/understood/`; `UNDERBAR_BLESS=1 cargo test -p underbar-listing` writes them.
//! Read the differences after it.

use std::fs;
use std::path::PathBuf;

use underbar_listing::{Item, read, shown};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn understood(bytes: &[u8]) -> String {
    read(bytes).iter().map(shown).collect()
}

fn listing(name: &str) -> Vec<u8> {
    fs::read(folder().join("listings").join(name)).expect("a listing")
}

fn snapshot(name: &str, got: &str) {
    let path = folder().join("understood").join(name);
    if std::env::var_os("UNDERBAR_BLESS").is_some() {
        fs::write(&path, got).expect("it can be written");
    }
    let expect = fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expect, "{}:\n{got}", path.display());
}

#[test]
fn every_listing_is_understood_as_it_should_be() {
    let mut names: Vec<String> = fs::read_dir(folder().join("listings"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    assert!(names.len() >= 12);
    for name in names {
        snapshot(&name, &understood(&listing(&name)));
    }
}

fn plain() -> String {
    String::from_utf8(listing("storage-31.txt")).expect("text")
}

/// The figures, without lines and doubts.
fn figures(bytes: &[u8]) -> Vec<(String, u64, bool)> {
    let mut all = Vec::new();
    for item in read(bytes) {
        let Item::Storage(report) = item else { continue };
        let name = report.enclave.clone().unwrap_or_default();
        for section in &report.sections {
            for (field, figure) in &section.figures {
                all.push((
                    format!("{name} {} {field:?}", section.kind.title()),
                    figure.value,
                    figure.likely || !report.is_sound(),
                ));
            }
        }
    }
    all
}

/// The characters of storage reports in code page 1047.
fn ebcdic(text: &str) -> Vec<u8> {
    let code = |character: u8| match character {
        b'\n' => 0x15,
        b'a'..=b'i' => character - b'a' + 0x81,
        b'j'..=b'r' => character - b'j' + 0x91,
        b's'..=b'z' => character - b's' + 0xa2,
        b'A'..=b'I' => character - b'A' + 0xc1,
        b'J'..=b'R' => character - b'J' + 0xd1,
        b'S'..=b'Z' => character - b'S' + 0xe2,
        b'0'..=b'9' => character - b'0' + 0xf0,
        b'.' => 0x4b,
        b'(' => 0x4d,
        b')' => 0x5d,
        b'/' => 0x61,
        b':' => 0x7a,
        _ => 0x40,
    };
    text.bytes().map(code).collect()
}

#[test]
fn the_form_around_a_report_changes_nothing() {
    let text = plain();
    let expect = figures(text.as_bytes());
    assert!(expect.len() > 40);
    let with = |change: &dyn Fn(&str) -> String| -> String { text.lines().map(change).collect() };
    let asa = with(&|line| format!("{}{line}\n", if line.starts_with("Storage") { '1' } else { ' ' }));
    let zero = with(&|line| format!("{}{line}\n", if line.contains("statistics") { '0' } else { '-' }));
    let crlf = with(&|line| format!("{line}\r\n"));
    let tabs = with(&|line| format!("{}\n", line.replace("      ", "\t")));
    let mixed = with(&|line| format!("{line}\nPAYMENT RUN 17 OF 99 IS DONE: 12 RECORDS\n\n"));
    let paged = with(&|line| format!("{line}\n1PAGE 7   {line:.0}MY SHOP        11/20/26\n0\n"));
    let log = with(&|line| format!("10.15.07 JOB01234  {line}\n"));
    let commas = text.replace("1187336", "1,187,336");
    let records: String = with(&|line| format!("{line:<133}"));
    for (what, changed) in [
        ("asa", asa),
        ("zero", zero),
        ("crlf", crlf),
        ("tabs", tabs),
        ("mixed", mixed),
        ("paged", paged),
        ("log", log),
        ("commas", commas),
        ("records", records),
    ] {
        assert_eq!(figures(changed.as_bytes()), expect, "{what}");
    }
    // Code page 1047, with its own line ends and as records without any.
    for changed in [&text, &with(&|line| format!("{line:<121}"))] {
        assert_eq!(figures(&ebcdic(changed)), expect, "EBCDIC");
    }
    let upper = text.to_uppercase();
    assert_eq!(figures(upper.as_bytes()).len(), expect.len());
}

#[test]
fn two_enclaves_in_one_another_are_never_trusted() {
    let text = plain();
    let other = text.replace("BILLING7", "BILLING2").replace("1187336", "77824");
    let (one, two): (Vec<&str>, Vec<&str>) = (text.lines().collect(), other.lines().collect());
    for shift in 1..40 {
        for step in [1, 3, 7] {
            let mut mixed = one[..shift].join("\n") + "\n";
            let (mut a, mut b) = (shift, 0);
            while a < one.len() || b < two.len() {
                for line in two.iter().skip(b).take(step).chain(one.iter().skip(a).take(step)) {
                    mixed += &format!("{line}\n");
                }
                (a, b) = (a + step, b + step);
            }
            for item in read(mixed.as_bytes()) {
                let Item::Storage(report) = item else { continue };
                if report.sections.is_empty() || !report.is_sound() {
                    continue;
                }
                let own = if report.enclave.as_deref() == Some("BILLING2") { &other } else { &text };
                let own = figures(own.as_bytes());
                for section in &report.sections {
                    for (field, figure) in &section.figures {
                        let what = format!("{} {field:?}", section.kind.title());
                        let known = own
                            .iter()
                            .any(|(name, value, _)| name.ends_with(&what) && *value == figure.value);
                        assert!(
                            known,
                            "shift {shift}, step {step}: {:?} {what} {}\n{mixed}",
                            report.enclave, figure.value
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn our_own_report_is_read_back() {
    use underbar_report::sample;
    let text = underbar_report::le::render(&sample::getfree());
    let got = figures(text.as_bytes());
    let values = text
        .lines()
        .take_while(|line| !line.contains("Largest number"))
        .filter(|line| line.starts_with("      ") && line.contains(":  "))
        .count();
    assert_eq!(got.len(), values, "every line with a value\n{got:?}\n{}", understood(text.as_bytes()));
    assert!(got.contains(&("getfree HEAP Total".to_owned(), 819_229_056, false)));
    assert_eq!(read(underbar_report::le::render(&sample::tree()).as_bytes()).len(), 3);
}

/// Pools with other figures in each place, which fit the arithmetic of a summary.
fn pools(initial_size: Option<u64>) -> underbar_report::pools::Pools {
    use underbar_report::pools::{Pool, Pools};
    let pool = |(cell, element, cells_per_extent), (gets, extents, used_peak, used)| Pool {
        cell,
        element,
        percent: initial_size.map(|_| 10),
        cells_per_extent,
        gets,
        extents,
        used_peak,
        used,
    };
    Pools {
        initial_size,
        larger_requests: 77,
        each: vec![
            pool((8, 16, 204), (9_000, 6, 1_200, 3)),
            pool((40, 48, 68), (500, 2, 130, 4)),
            pool((40, 48, 68), (400, 1, 60, 5)),
            pool((1_000, 1_024, 4), (20, 2, 7, 0)),
        ],
    }
}

/// HEAPPOOLS, HEAPPOOLS64, and HEAPPOOLS under HEAP(AUTO).
#[test]
fn our_own_pools_are_read_back() {
    use underbar_ledger::Key;
    use underbar_report::{pools::Ranges, sample};
    for (initial, shown, share) in [(32_768, Some(32_768), 1), (32_768, None, 1), (0, Some(1 << 20), 32)] {
        let mut report = sample::getfree();
        let mut pools = pools(shown);
        pools.each.iter_mut().for_each(|pool| {
            if share > 1 {
                pool.cells_per_extent = (1 << 20) / 10 / pool.element;
            }
        });
        let ranges = [(8, 8_000), (16, 1_000), (24, 300), (40, 600), (1_000, 20)];
        let process = &mut report.processes[0];
        process.counters.set(Key::HeapInitialSize, initial);
        process.pools = Some(pools.clone());
        process.ranges = Some(Ranges(ranges.into_iter().collect()));
        let text = underbar_report::le::render(&report);
        let items = read(text.as_bytes());
        let Some(Item::Storage(found)) = items.iter().find(|item| matches!(item, Item::Storage(_))) else {
            panic!("{text}")
        };
        let read: Vec<_> = found
            .pools
            .iter()
            .map(|pool| {
                let kind = (pool.cell, pool.element, pool.percent, pool.cells_per_extent);
                (kind, (pool.extents, pool.used_peak, pool.in_use))
            })
            .collect();
        let written: Vec<_> = pools
            .each
            .iter()
            .map(|pool| {
                let kind = (pool.cell, pool.element, pool.percent, pool.cells_per_extent);
                (kind, (pool.extents, pool.used_peak, pool.used))
            })
            .collect();
        assert_eq!(read, written, "{text}");
        assert_eq!(found.larger_than_cells.as_ref().map(|figure| figure.value), Some(77));
        let read: Vec<_> = found.ranges.iter().map(|(from, to, figure)| (*from, *to, figure.value)).collect();
        assert_eq!(read, ranges.map(|(to, count)| (to - 7, to, count)), "{text}");
        assert_eq!(found.doubts, [], "{text}");
    }
}

/// A process that has every area: threads, heaps of each kind, additional heaps, pools, and a LINKed program.
fn with_every_area() -> underbar_report::Report {
    use underbar_ledger::Key;
    use underbar_report::sample;
    let mut report = sample::getfree();
    let process = &mut report.processes[0];
    for (at, key) in [
        Key::ThreadsPeak,
        Key::StackThread,
        Key::StackConcurrent,
        Key::StackSegmentsAllocated,
        Key::ThreadStackSegmentsAllocated,
        Key::AnyHeapStacks,
        Key::AnyHeapFrees,
        Key::AnyHeapGets,
        Key::AnyHeapSegmentsFreed,
        Key::AnyHeapSegmentsAllocated,
        Key::AdditionalDiscards,
        Key::AdditionalCreates,
    ]
    .into_iter()
    .enumerate()
    {
        process.counters.set(key, 40 + at as u64);
    }
    for (key, figure) in [
        (Key::StackMain, 90_112),
        (Key::StackThread, 73_728),
        (Key::StackConcurrent, 8 * 73_728),
        (Key::AdditionalGets, 700),
        (Key::AdditionalFrees, 700),
        (Key::AdditionalUsedPeak, 65_536),
        (Key::AdditionalSegmentsAllocated, 5),
        (Key::AdditionalSegmentsFreed, 3),
        (Key::AnyHeapStacks, 2 << 20),
        (Key::ThreadHeapLargest, 4_096),
    ] {
        process.counters.set(key, figure);
    }
    for (kind, name, gets) in
        [("thread", "", 31), ("below_16m", "", 32), ("below_2g", "", 33), ("enclave", "job", 34)]
    {
        process.heaps.push(
            serde_json::from_value(serde_json::json!({
                "kind": kind, "name": name, "ended": true, "created": 2,
                "counters": {"heap": {"gets": gets, "frees": gets, "used_peak": 4_096, "segments_allocated": 4,
                    "segments_freed": 4, "initial_size": 24_576, "increment_size": 8_192}}
            }))
            .expect("a heap"),
        );
    }
    let mut pools = pools(Some(32_768));
    pools.each.truncate(3);
    process.pools = Some(pools);
    report
}

/// The numbers that a report prints in areas with labels, in its order.
fn printed(text: &str) -> Vec<u64> {
    let mut is_in_pools = false;
    let lines = text.lines().filter(|line| {
        is_in_pools |= line.contains("HEAPPOOLS");
        is_in_pools &= !line.contains("Largest number") && !line.starts_with("Storage Report");
        !is_in_pools && line.starts_with("      ") && line.contains(": ") && !line.contains("none:")
    });
    let value = |line: &str| {
        let value = line.rsplit(' ').next().expect("a value");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        value.strip_suffix('M').map_or_else(|| number(value), |m| number(m) << 20)
    };
    lines.map(value).collect()
}

/// Both layouts, of a process that asked for little and of one that has every area.
#[test]
fn every_area_of_our_own_reports_is_read_back() {
    use underbar_report::{le, sample};
    for report in [sample::getfree(), with_every_area()] {
        for text in [le::render(&report), le::amode64::render(&report)] {
            let got: Vec<u64> = figures(text.as_bytes()).iter().map(|(_, value, _)| *value).collect();
            assert_eq!(
                got,
                printed(&text),
                "every line with a value\n{}\n{text}",
                understood(text.as_bytes())
            );
            for item in read(text.as_bytes()) {
                let Item::Storage(found) = item else { continue };
                assert_eq!(found.doubts, [], "{text}");
            }
        }
    }
    let text = le::amode64::render(&with_every_area());
    for area in ["64bit Library HEAP", "64bit I/O HEAP", "24bit User HEAP", "Additional Heap", "HEAPPOOLS"] {
        assert!(text.contains(&format!("    {area} ")), "{area}: {text}");
    }
    assert_eq!(text.matches("Storage Report for Enclave ").count(), 2, "{text}");
    // No area has zeros because nobody counted: only those for which no program can ask.
    assert_eq!(text.matches("none: no program asked for it").count(), 5, "{text}");
    let Some(Item::Storage(found)) = read(text.as_bytes()).into_iter().next() else { panic!("{text}") };
    assert_eq!(found.pools.len(), 3, "{text}");
}

/// The assertions of the fuzz target, on random listings.
#[test]
fn in_any_pieces_it_is_the_same() {
    let folder = folder().join("listings");
    let listings: Vec<Vec<u8>> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| fs::read(entry.expect("an entry").path()).expect("a listing"))
        .collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % most.max(1)
    };
    for _ in 0..300 {
        let mut text = Vec::new();
        for _ in 0..=below(4) {
            let one = &listings[below(listings.len())];
            let (from, length) = (below(one.len()), below(one.len()));
            text.extend_from_slice(&one[from..(from + length).min(one.len())]);
        }
        for _ in 0..below(4) {
            let at = below(text.len());
            if let Some(byte) = text.get_mut(at) {
                *byte = below(256) as u8;
            }
        }
        let (mut pieces, mut reader) = (String::new(), underbar_listing::Reader::new());
        for piece in text.chunks(1 + below(700)) {
            reader.feed(piece, &mut |item| pieces += &shown(&item));
        }
        reader.finish(&mut |item| pieces += &shown(&item));
        assert_eq!(pieces, understood(&text), "{}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn noise_gives_nothing_and_no_crash() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut text = plain().into_bytes();
    for round in 0..300 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = (state >> 8) as usize % text.len();
        text[at] = (state >> 40) as u8;
        if round % 10 == 0 {
            let _ = understood(&text);
        }
    }
    let noise: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert_eq!(understood(&noise), "");
    assert_eq!(understood(b""), "");
}

#[test]
fn numbers_cut_by_blanks_are_none() {
    let apart = "\nHEAP statistics:\n Initial size:\n     32 768\n Increment size:\n     32 768\n Total heap storage used (sugg. initial \
                 size):\n     819 229 056\n Successful Get Heap requests:\n     50 002\n";
    assert_eq!(figures(apart.as_bytes()), []);
    let beside = "\nHEAP statistics:\n  Initial size: 32 768\n  Increment size: 4096\n  Total heap storage used (sugg. initial size): 1 264 640\n";
    let all = figures(beside.as_bytes());
    assert_eq!(all.iter().map(|(_, value, _)| *value).collect::<Vec<_>>(), [4096]);
}

#[test]
fn tables_and_leading_dots_are_read() {
    let text = "\n| HEAP statistics: |\n| Initial size: | 32768 |\n| Increment size: | 4096 |\n";
    let all = figures(text.as_bytes());
    assert_eq!(all.iter().map(|(_, value, _)| *value).collect::<Vec<_>>(), [32768, 4096]);
    let text =
        "\nHEAP statistics:\n Initial size: .............. 32768\n Increment size: ............ 4096\n";
    let all = figures(text.as_bytes());
    assert_eq!(all.iter().map(|(_, value, _)| *value).collect::<Vec<_>>(), [32768, 4096]);
}

#[test]
fn other_encodings_change_nothing() {
    let text = plain();
    let expect = figures(text.as_bytes());
    let low: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let high: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let returns = text.replace('\n', "\r").into_bytes();
    let hard = text.replace("  ", "\u{a0} ").into_bytes();
    let latin: Vec<u8> =
        text.replace("  ", "\u{1} ").bytes().map(|byte| if byte == 1 { 0xa0 } else { byte }).collect();
    let numbered: String =
        text.lines().enumerate().map(|(at, line)| format!("{line:<72}{at:08}\n")).collect();
    let small = text.to_lowercase();
    for (what, bytes) in [
        ("low byte first", low),
        ("high byte first", high),
        ("returns", returns),
        ("hard blanks", hard),
        ("hard blanks of Latin 1", latin),
        ("numbered lines", numbered.into_bytes()),
        ("units", text.replace("1187336\n", "1187336 bytes\n").into_bytes()),
    ] {
        assert_eq!(figures(&bytes), expect, "{what}");
        let mut pieces = Vec::new();
        let mut reader = underbar_listing::Reader::new();
        bytes.chunks(5).for_each(|piece| reader.feed(piece, &mut |item| pieces.push(item)));
        reader.finish(&mut |item| pieces.push(item));
        assert_eq!(pieces, read(&bytes), "{what}");
    }
    assert_eq!(figures(small.as_bytes()).len(), expect.len());
}

#[test]
fn a_heading_that_stands_again_begins_a_page_and_not_a_report() {
    let text = plain();
    let (head, rest) = text.split_once("\n\n").expect("a heading");
    let whole = figures(text.as_bytes());
    let lines: Vec<&str> = rest.lines().collect();
    // The page may end anywhere, also with the title of the section repeated on the next one.
    for at in 0..lines.len() {
        let (one, two) = (lines[..at].join("\n"), lines[at..].join("\n"));
        let paged = format!("{head}\n\n{one}\n1{head}\n\n{two}\n");
        assert_eq!(figures(paged.as_bytes()), whole, "{paged}");
        let title = lines[..at].iter().rev().find(|line| line.contains("statistics"));
        if let Some(title) =
            title.filter(|_| !lines[at].contains("statistics") && lines[at].starts_with("      "))
        {
            let paged = format!("{head}\n\n{one}\n1{head}\n{title}\n{two}\n");
            assert_eq!(figures(paged.as_bytes()), whole, "{paged}");
        }
    }
}

#[test]
fn the_same_heading_over_another_report_joins_nothing() {
    let text = plain();
    let (head, rest) = text.split_once("\n\n").expect("a heading");
    let lines: Vec<&str> = rest.lines().filter(|line| !line.contains("End of")).collect();
    // Two without an end, in one second: two reports. With their sections mixed: none is used.
    let twice = format!("{head}\n\n{0}\n{head}\n\n{0}\nEnd of Storage Report\n", lines.join("\n"));
    let reports = read(twice.as_bytes()).into_iter().filter(|item| matches!(item, Item::Storage(_)));
    assert_eq!(reports.count(), 2);
    let mut mixed = format!("{head}\n\n{head}\n\n");
    let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("statistics")).collect();
    for (at, start) in starts.iter().enumerate() {
        let section = lines[*start..starts.get(at + 1).copied().unwrap_or(lines.len())].join("\n");
        mixed += &format!("{section}\n{section}\n");
    }
    assert_eq!(figures(mixed.as_bytes()), []);
}
