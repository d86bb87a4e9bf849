//! Heap pools in the storage report: requests by range, requests beyond the largest cell, the summary.
//!
//! ```text
//! Successful Get Heap requests: xxxx-yyyy n      Requests greater than the largest cell size: n
//! cell  element  [percent]  cells per extent  extents allocated  maximum cells used  cells in use
//! ```
//!
//! Labels and columns are published, their spacing is not. So a row of the summary is taken only where its own
//! arithmetic confirms which column is which: the element is the cell and 8 bytes, and an extent has as many cells
//! as the published formula gives. Any other row is recognised and not read.

use crate::model::{Doubt, Doubtful, Figure, Pool, StorageReport};
use crate::number::{Word, word};
use crate::words::{evidence, find, has, split};

const LARGE: &[u8] = b"requests greater than the largest cell size";
const RANGE: &[u8] = b"successful get heap requests";
/// An extent has no fewer cells than this.
const LEAST_CELLS: u64 = 4;
/// So many lines are kept for one report; there are 12 sizes of cells, and 8,192 ranges.
const MOST: usize = 8192;

const NOT_CONFIRMED: &str = "a row of the summary of heap pools whose arithmetic does not confirm its columns: layout not known, not read";

impl StorageReport {
    /// The first row of the summary of heap pools that could not be read: the others are not those of all pools.
    #[must_use]
    pub fn doubtful_pool(&self) -> Option<&Doubt> {
        self.doubts.iter().find(|doubt| doubt.words == NOT_CONFIRMED)
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
        if let Some([from, to, value]) = numbers::<3>(behind.as_bytes())
            && from <= to
            && report.ranges.len() < MOST
        {
            report.ranges.push((from, to, Figure { value, evidence: evidence(number, text), likely: false }));
        }
        return true;
    }
    // What the system itself suggests is no option that is set.
    let is_suggested =
        text.trim_ascii_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"heapp"));
    if (has(text, "size:") && has(text, "get requests")) || is_suggested || has(text, "suggested ") {
        return true;
    }
    let words: Vec<&[u8]> = split(text).collect();
    if !(6..=8).contains(&words.len()) || words.iter().any(|one| !matches!(word(one), Word::Number(_))) {
        return false;
    }
    let row = numbers::<7>(text).filter(|row| fits(row, heap));
    match row {
        Some([cell, element, percent, cells_per_extent, extents, used_peak, in_use])
            if report.pools.len() < MOST =>
        {
            let evidence = evidence(number, text);
            report.pools.push(Pool {
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
        _ => {
            if report.doubts.len() < 100 || report.doubtful_pool().is_none() {
                let words = NOT_CONFIRMED.to_owned();
                report.doubts.push(Doubt { kind: Doubtful::LayoutNotKnown, line: number, words });
            }
        }
    }
    true
}

/// Whether a row is what it seems.
fn fits(row: &[u64; 7], heap: Option<u64>) -> bool {
    let [cell, element, percent, cells, extents, peak, in_use] = *row;
    let expected =
        heap.map(|initial| (initial.saturating_mul(percent) / 100 / element.max(1)).max(LEAST_CELLS));
    cell.checked_add(8) == Some(element)
        && cell <= 65536
        && cell.is_multiple_of(8)
        && (1..=90).contains(&percent)
        && expected == Some(cells)
        && in_use <= peak
        && peak <= extents.saturating_mul(cells)
}

fn numbers<const N: usize>(text: &[u8]) -> Option<[u64; N]> {
    let all: Option<Vec<u64>> =
        split(text).map(|one| if let Word::Number(value) = word(one) { Some(value) } else { None }).collect();
    all?.try_into().ok()
}
