//! Heap pools in the storage report: requests by range, requests beyond the largest cell, the summary.
//!
//! ```text
//! Successful Get Heap requests: xxxx-yyyy n      Requests greater than the largest cell size: n
//! cell  element  [percent]  cells per extent  extents allocated  maximum cells used  cells in use
//! ```
//!
//! Labels and columns are published, their spacing is not. So a row of the summary is taken only if its own
//! arithmetic confirms the order of the columns: the element is the cell and 8 bytes, and an extent has as many cells
//! as the published formula gives. Any other row, and one with damaged numbers, is recognised but not read.
//! In underbar's own reports the element is the cell rounded up to its alignment, and HEAPPOOLS64 has no percentages.
//! The statistics name every pool: a pool without a row in the summary is missing there.

use underbar_options::POOLS_UNDER_AUTO;

use crate::headings::is_none_of_ours;
use crate::model::{Doubt, Doubtful, Evidence, Figure, Pool, StorageReport};
use crate::number::{Word, word};
use crate::sections::{Field, Kind};
use crate::words::{evidence, find, has, split};

const LARGE: &[u8] = b"requests greater than the largest cell size";
const RANGE: &[u8] = b"successful get heap requests";
/// The second line of the column headings of underbar's HEAPPOOLS64.
const COLUMNS_OF_COUNTS: [&str; 8] = ["Cell", "Size", "Size", "Extent", "Allocated", "Cells", "Used", "Use"];
/// The fewest cells of an extent.
const LEAST_CELLS: u64 = 4;
/// The most lines kept for one report; there are 12 sizes of cells, and 8,192 ranges.
const MOST: usize = 8192;

const NOT_CONFIRMED: &str = "a row of the summary of heap pools whose arithmetic does not confirm its columns: layout not known, not read";
const DAMAGED: &str = "a row of the summary of heap pools with a value that is not a number: not read";
const DAMAGED_POOL: &str = "a pool in the statistics of heap pools whose size is not a number: not read";
const DAMAGED_RANGE: &str = "requests to heap pools by sizes, with a value that is not a number: not read";
/// The most doubts kept for one report.
const DOUBTS: usize = 100;

impl StorageReport {
    /// The first line about heap pools that is unreadable or missing: the other lines do not cover all pools.
    #[must_use]
    pub fn doubtful_pool(&self) -> Option<&Doubt> {
        self.doubtful_pool.as_deref()
    }

    /// The least and the largest heap size that fit the pools, if they agree on another size than HEAP's initial size.
    #[must_use]
    pub fn pools_of(&self) -> Option<(u64, u64)> {
        self.pools_of
    }
}

/// Adds a doubt about a line about pools; it makes all lines about pools unusable.
fn not_read(report: &mut StorageReport, kind: Doubtful, line: u64, words: String) {
    let doubt = Doubt { kind, line, words };
    if report.doubtful_pool.is_none() {
        report.doubtful_pool = Some(Box::new(doubt.clone()));
    }
    if report.doubts.len() < DOUBTS {
        report.doubts.push(doubt);
    }
}

/// The heap sizes that fit all these pools. None if there is no such size, or only one pool shows it.
fn sizes(pools: &[Pool]) -> Option<(u64, u64)> {
    let (mut least, mut most, mut telling) = (0, u64::MAX, 0);
    for pool in pools {
        let percent = pool.percent.filter(|percent| *percent > 0)?;
        let of = |cells: u64| cells.saturating_mul(pool.element).saturating_mul(100).div_ceil(percent);
        most = most.min(of(pool.cells_per_extent + 1) - 1);
        if pool.cells_per_extent > LEAST_CELLS {
            least = least.max(of(pool.cells_per_extent));
            telling += 1;
        }
    }
    (telling >= 2 && least <= most).then_some((least, most))
}

/// Rows that do not fit HEAP's initial size: kept if all of them fit one other size.
fn other_size(report: &mut StorageReport) {
    let others = std::mem::take(&mut report.other_pools);
    let Some(first) = others.first() else { return };
    let heap = report.section(Kind::Heap).or(report.section(Kind::User64));
    let initial = heap.and_then(|heap| heap.get(Field::Initial));
    match (sizes(&others), initial) {
        (Some(of), Some(initial)) if report.pools.is_empty() && report.doubtful_pool.is_none() => {
            let words = format!(
                "HEAP: the initial size is {}, and all pools have the cells per extent of {} to {}: one of them is of another \
                 run, or damaged",
                initial.value, of.0, of.1
            );
            let doubt = Doubt { kind: Doubtful::Contradiction, line: first.evidence.line, words };
            report.doubts.push(doubt);
            (report.pools_of, report.pools) = (Some(of), others);
        }
        _ => {
            for pool in others {
                let line = pool.evidence.line;
                not_read(report, Doubtful::LayoutNotKnown, line, NOT_CONFIRMED.to_owned());
            }
        }
    }
}

/// At the end of a report: pools in the statistics that are missing in the summary.
pub(crate) fn complete(report: &mut StorageReport) {
    other_size(report);
    if report.pools.is_empty() {
        return;
    }
    let named = std::mem::take(&mut report.named_pools);
    for (cell, line) in &named {
        let times = named.iter().filter(|(other, _)| other == cell).count();
        if report.pools.iter().filter(|pool| pool.cell == *cell).count() < times
            && !report.doubts.iter().any(|doubt| doubt.words == NOT_CONFIRMED || doubt.words == DAMAGED)
        {
            let words = format!("the pool of cells of {cell} has no row in the summary of heap pools");
            not_read(report, Doubtful::Contradiction, *line, words);
        }
    }
}

/// `Pool 2 size: 32 Get requests: 90000`: the size of its cells, which may follow a number of the form `aa.bbb`.
fn named_pool(report: &mut StorageReport, number: u64, text: &[u8]) {
    let size = find(text, b"size:").and_then(|at| split(&text[at + 5..]).next());
    match size.map(word) {
        Some(Word::Number(cell)) if report.named_pools.len() < MOST => {
            report.named_pools.push((cell, number))
        }
        Some(Word::Number(_)) => {}
        _ => not_read(report, Doubtful::NotANumber, number, DAMAGED_POOL.to_owned()),
    }
}

/// Takes a line of these sections; true if it is one.
pub(crate) fn line(report: &mut StorageReport, number: u64, text: &[u8], heap: Option<u64>) -> bool {
    if let Some(at) = find(text, LARGE) {
        let behind = &text[at + LARGE.len()..];
        if let Some([value]) = numbers::<1>(behind.strip_prefix(b":").unwrap_or(behind)) {
            report.larger_than_cells =
                Some(Figure { value, evidence: evidence(number, text), likely: false });
        }
        return true;
    }
    if let Some(at) = find(text, RANGE) {
        let behind = String::from_utf8_lossy(&text[at + RANGE.len()..]).replace([':', '-'], " ");
        match numbers::<3>(behind.as_bytes()) {
            Some([from, to, value]) if from <= to => {
                if report.ranges.len() < MOST {
                    let figure = Figure { value, evidence: evidence(number, text), likely: false };
                    report.ranges.push((from, to, figure));
                }
            }
            _ => not_read(report, Doubtful::NotANumber, number, DAMAGED_RANGE.to_owned()),
        }
        return true;
    }
    // The system's own suggestion is not an option that is set.
    let is_suggested =
        text.trim_ascii_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"heapp"));
    if has(text, "size:") && has(text, "get requests") {
        named_pool(report, number, text);
        return true;
    }
    if is_suggested || has(text, "suggested ") {
        return true;
    }
    let words = without_log(split(text).collect());
    let count = words.iter().filter(|one| matches!(word(one), Word::Number(_))).count();
    report.pools_have_counts |=
        report.is_own() && words.eq(&COLUMNS_OF_COUNTS.each_ref().map(|word| word.as_bytes()));
    // The column headings have no number; text recognition may turn a part of one into a word.
    if !(5..=9).contains(&words.len()) || count * 2 <= words.len() {
        return false;
    }
    if count < words.len() {
        not_read(report, Doubtful::NotANumber, number, DAMAGED.to_owned());
        return true;
    }
    let own = report.is_own();
    if report.pools_have_counts
        && let Some(pool) = numbers::<6>(&words.join(&b' ')).and_then(of_counts)
    {
        if report.pools.len() < MOST {
            report.pools.push(Pool { evidence: evidence(number, text), ..pool });
        }
        return true;
    }
    let row = numbers::<7>(&words.join(&b' ')).filter(|row| fits(row, own));
    // HEAP(AUTO).
    let heap = heap.map(|initial| if own && initial == 0 { POOLS_UNDER_AUTO } else { initial });
    match row {
        Some([cell, element, percent, cells_per_extent, extents, used_peak, in_use])
            if heap.is_some() && report.pools.len() + report.other_pools.len() < MOST =>
        {
            let evidence = evidence(number, text);
            let is_of_heap = expected(heap, percent, element) == Some(cells_per_extent);
            let pools = if is_of_heap { &mut report.pools } else { &mut report.other_pools };
            pools.push(Pool {
                cell,
                element,
                percent: Some(percent),
                cells_per_extent,
                extents,
                used_peak,
                in_use,
                evidence,
            });
        }
        _ => not_read(report, Doubtful::LayoutNotKnown, number, NOT_CONFIRMED.to_owned()),
    }
    true
}

/// A row of seven numbers without the prefix of a job log or a mail.
fn without_log(words: Vec<&[u8]>) -> Vec<&[u8]> {
    let (before, row) = words.split_at(words.len().saturating_sub(7));
    let is_number = |one: &&[u8]| matches!(word(one), Word::Number(_));
    let is_log = |one: &&[u8]| !is_number(one) && is_none_of_ours(one);
    let is_row = !before.is_empty() && before.iter().all(is_log) && row.iter().all(is_number);
    if is_row { row.to_vec() } else { words }
}

/// The cells per extent of a heap of this size.
fn expected(heap: Option<u64>, percent: u64, element: u64) -> Option<u64> {
    heap.map(|initial| (initial.saturating_mul(percent) / 100 / element.max(1)).max(LEAST_CELLS))
}

/// A row of underbar's HEAPPOOLS64, whose extents are a number of cells.
fn of_counts(row: [u64; 6]) -> Option<Pool> {
    let [cell, element, cells_per_extent, extents, used_peak, in_use] = row;
    let with_percent = [cell, element, 1, cells_per_extent, extents, used_peak, in_use];
    let evidence = Evidence { line: 0, text: String::new() };
    let pool = Pool { cell, element, percent: None, cells_per_extent, extents, used_peak, in_use, evidence };
    fits(&with_percent, true).then_some(pool)
}

/// Whether the arithmetic of a row agrees, whatever the heap's size.
fn fits(row: &[u64; 7], own: bool) -> bool {
    let [cell, element, percent, cells, extents, peak, in_use] = *row;
    let is_aligned =
        element >= cell && element.is_multiple_of(16) && element <= (2 * cell.min(1 << 32)).max(16);
    let is_element = if own { is_aligned } else { cell.checked_add(8) == Some(element) };
    is_element
        && cell <= 65536
        && cell.is_multiple_of(8)
        && (u64::from(!own)..=90).contains(&percent)
        && (LEAST_CELLS..1 << 32).contains(&cells)
        && in_use <= peak
        && peak <= extents.saturating_mul(cells)
}

fn numbers<const N: usize>(text: &[u8]) -> Option<[u64; N]> {
    let all: Option<Vec<u64>> =
        split(text).map(|one| if let Word::Number(value) = word(one) { Some(value) } else { None }).collect();
    all?.try_into().ok()
}
