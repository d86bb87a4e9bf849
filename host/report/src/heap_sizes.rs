//! The requests of one heap by size, in powers of two: a picture under its figures, and the figures by which two reports compare.
//!
//! ```text
//! server, process 4711, heap parser (enclave)
//!   requests  33-40: 40,000, 17-24: 10,002
//!             up to 32 B            10,002 20 %      █████
//!             up to 64 B            40,000 80 %      ████████████████████
//!
//! heaps.parser.requests.up_to_64              40,000     41,000     1.025      difference of two reports
//! ```
//!
//! Heaps with the same purpose and name count as one. Only under RPTSTG(ON) heaps have such figures.
//! Invariant: the rows of a heap are all of its requests.
//! Not here: the requests of a process (`request_sizes`).

use std::collections::BTreeMap;

use underbar_ledger::Unit;

use crate::heap::{Heap, KINDS};
use crate::model::Report;
use crate::page::{Line, Page, labelled};
use crate::pools::Ranges;
use crate::request_sizes::bar;
use crate::units::{bytes, count, share};

/// Columns of the longest bar.
const BAR: usize = 20;
/// Columns before it.
const BEFORE_BAR: usize = 50;

/// What is between a heap and its rows in the key of a figure.
const REQUESTS: &str = ".requests.up_to_";

/// By the largest size of each power of two: requests.
fn rows(ranges: &Ranges) -> BTreeMap<u64, u64> {
    let mut rows = BTreeMap::new();
    for (&limit, &requests) in &ranges.0 {
        let sum: &mut u64 = rows.entry(limit.checked_next_power_of_two().unwrap_or(u64::MAX)).or_default();
        *sum = sum.saturating_add(requests);
    }
    rows
}

/// The ranges with the most requests, and a line for each power of two.
pub(crate) fn lines(ranges: &Ranges, page: Page<'_>) -> Vec<Line> {
    let rows = rows(ranges);
    let all = rows.values().fold(0_u64, |sum, requests| sum.saturating_add(*requests));
    if all == 0 {
        return Vec::new();
    }
    let most = rows.values().max().copied().unwrap_or(1);
    let width = page.columns.saturating_sub(BEFORE_BAR).min(BAR);
    let each = rows.iter().map(|(&limit, &requests)| {
        let bar = if page.pictures { bar(requests, most, width) } else { String::new() };
        let limit = format!("up to {}", bytes(limit));
        let text = format!("{limit:<14} {:>14} {:<9} {bar}", count(requests), share(requests, all));
        labelled("", text.trim_end().to_owned())
    });
    std::iter::once(labelled("requests", ranges.most())).chain(each).collect()
}

/// The requests of each heap in two reports: key, unit, old and new. None where a report does not have that heap, or not by size.
pub(crate) fn of_heaps(old: &Report, new: &Report) -> Vec<(String, Unit, [Option<u64>; 2])> {
    let of = [old, new].map(by_heap);
    let mut keys: BTreeMap<(&String, u64), ()> = BTreeMap::new();
    for (heap, rows) in of.iter().flatten() {
        keys.extend(rows.keys().map(|&limit| ((heap, limit), ())));
    }
    let figure = |(heap, limit): (&String, u64)| {
        let each = [0, 1].map(|at| of[at].get(heap).map(|rows| rows.get(&limit).copied().unwrap_or(0)));
        (format!("heaps.{heap}{REQUESTS}{limit}"), Unit::Count, each)
    };
    keys.into_keys().map(figure).collect()
}

/// Whether that is the key of such a figure.
pub(crate) fn is_row(key: &str) -> bool {
    key.starts_with("heaps.") && key.contains(REQUESTS)
}

fn by_heap(report: &Report) -> BTreeMap<String, BTreeMap<u64, u64>> {
    let mut heaps: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    for heap in report.processes.iter().flat_map(|process| &process.heaps) {
        let Some(ranges) = &heap.ranges else { continue };
        let of_heap = heaps.entry(name(heap)).or_default();
        for (limit, requests) in rows(ranges) {
            let sum = of_heap.entry(limit).or_default();
            *sum = sum.saturating_add(requests);
        }
    }
    heaps
}

/// The name in keys; that of its purpose if it has none.
fn name(heap: &Heap) -> String {
    let kind = KINDS.iter().find(|(kind, _)| *kind == heap.kind).map_or("", |(_, word)| word);
    let name = if heap.name.is_empty() { kind } else { &heap.name };
    name.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::paint;

    fn ranges() -> Ranges {
        Ranges([(8, 1), (40, 40_000), (24, 10_000), (64, 2)].into())
    }

    #[test]
    fn powers_of_two_have_all_requests() {
        assert_eq!(rows(&ranges()), [(8, 1), (32, 10_000), (64, 40_002)].into());
        let of = |pictures| {
            let page = Page { pictures, columns: 100, ..Page::of_terminal(None, false) };
            paint(&lines(&ranges(), page), page, usize::MAX)
        };
        let plain = of(false);
        assert!(plain.contains("  requests  33-40: 40,000, 17-24: 10,000, "), "{plain}");
        assert!(plain.contains("up to 64 B             40,002 79 %\n"), "{plain}");
        let bars = of(true);
        assert!(bars.contains(&format!("79 %      {}\n", "\u{2588}".repeat(BAR))), "{bars}");
        let page = Page { pictures: true, columns: 100, ..Page::of_terminal(None, false) };
        assert!(lines(&Ranges::default(), page).is_empty());
    }

    #[test]
    fn heaps_of_two_reports_compare_by_name() {
        let with = |ranges: &[(u64, u64)]| {
            let mut report = crate::heaps::tests::sample();
            let heaps =
                &mut report.processes.iter_mut().find(|it| !it.heaps.is_empty()).expect("heaps").heaps;
            heaps[1].ranges = Some(Ranges(ranges.iter().copied().collect()));
            report
        };
        let (old, new) = (with(&[(40, 1_000), (16, 5)]), with(&[(40, 600), (48, 700), (200, 9)]));
        let expect = [
            ("heaps.parser.requests.up_to_16", [Some(5), Some(0)]),
            ("heaps.parser.requests.up_to_64", [Some(1_000), Some(1_300)]),
            ("heaps.parser.requests.up_to_256", [Some(0), Some(9)]),
        ];
        let of = of_heaps(&old, &new);
        let plain: Vec<_> = of.iter().map(|(key, _, each)| (key.as_str(), *each)).collect();
        assert_eq!(plain, expect);
        assert!(is_row(plain[0].0) && !is_row("heap.gets"));
        let none = of_heaps(&crate::heaps::tests::sample(), &new);
        assert_eq!(none[0].2[0], None, "not by size");
    }
}
