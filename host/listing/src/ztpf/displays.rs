//! Displays of commands: `ZDECB HAVL` (DECB0125I) and `ZSTAT SYSHEAP` (STAT0126I).
//!
//! Invariant: a figure of the system heap has its label on its line and its column's label above it.
//! Not here: the counts of `ZDECB HAVL`; no public source shows more than the labels of their columns.

use super::model::{Found, Lists as FoundLists, SystemHeap as FoundHeap, SystemRow};
use super::row::plain;
use super::sizes::Sizes;
use super::text::{squeezed, stands};
use super::widths::Widths;
use super::{DOUBTS, Step, set_name};
use crate::lines::Line;
use crate::model::{Doubt, Doubtful, Figure};
use crate::words::{evidence, find, has, split};

/// The lists of one ECB.
pub(crate) struct Lists {
    found: FoundLists,
    sizes: Sizes,
    widths: Widths,
    columns: bool,
}

impl Lists {
    pub(crate) fn new(line: Line<'_>) -> Self {
        let mut widths = Widths::default();
        widths.seen(line.text);
        let found = FoundLists {
            title: evidence(line.number, line.text),
            lines: (line.number, line.number),
            ecb: None,
            main: None,
            set: None,
            sizes: Vec::new(),
            doubts: Vec::new(),
        };
        Self { found, sizes: Sizes::default(), widths, columns: false }
    }

    pub(crate) fn line(&mut self, line: Line<'_>) -> Step {
        self.widths.seen(line.text);
        if has(line.text, "end of display") {
            return Step::Ended;
        }
        if let Some(set) = set_name(line.text) {
            self.found.set = Some(set);
        } else if !self.columns && self.sizes.line(line, &mut self.widths) {
        } else if let Some(main) = find(line.text, b"main thread ecb") {
            let address = |text: &[u8]| {
                let word = split(text).next()?;
                (word.len() >= 4 && word.iter().all(u8::is_ascii_hexdigit))
                    .then(|| String::from_utf8_lossy(word).into_owned())
            };
            self.found.ecb =
                find(&line.text[..main], b"ecb").and_then(|at| address(&line.text[at + 3..main]));
            self.found.main = address(&line.text[main + 15..]).filter(|_| line.whole);
        } else if has(line.text, "shared avls") {
            self.columns = true;
            let words = "counts of the lists: layout not known, not read".to_owned();
            self.found.doubts.push(Doubt { kind: Doubtful::LayoutNotKnown, line: line.number, words });
        } else {
            return Step::Passed;
        }
        self.found.lines.1 = line.number;
        Step::Taken
    }

    pub(crate) fn close(mut self) -> Found {
        let (sizes, doubts) = self.sizes.close(self.widths);
        self.found.sizes = sizes;
        self.found.doubts.splice(0..0, doubts);
        if self.found.sizes.is_empty() && !self.columns {
            let words = "the display is cut: it has no sizes".to_owned();
            self.found.doubts.push(Doubt { kind: Doubtful::Cut, line: self.found.lines.1, words });
        }
        Found::Lists(self.found)
    }
}

/// Labels of the system heap.
const ROWS: [(&[u8], SystemRow); 7] = [
    (b"PREALLOCATEDSIZE", SystemRow::PreallocatedSize),
    (b"PREALLOCATEDINUSE", SystemRow::PreallocatedInUse),
    (b"1MBFRAMESTORAGE", SystemRow::Frames),
    (b"HEAPSTORAGEINUSE", SystemRow::InUse),
    (b"AVAILABLELISTSIZE", SystemRow::Available),
    (b"MAXSTORAGEINUSE", SystemRow::MostInUse),
    (b"SIZEOFHEAP", SystemRow::Size),
];

/// The system heap.
pub(crate) struct SystemHeap {
    found: FoundHeap,
    /// True where the 64-bit column stands first; None before the columns.
    turned: Option<bool>,
    widths: Widths,
    /// Length of each row's line.
    ends: Vec<usize>,
}

impl SystemHeap {
    pub(crate) fn new(line: Line<'_>) -> Self {
        let mut widths = Widths::default();
        widths.seen(line.text);
        let title = evidence(line.number, line.text);
        let lines = (line.number, line.number);
        let found = FoundHeap { title, lines, rows: Vec::new(), doubts: Vec::new() };
        Self { found, turned: None, widths, ends: Vec::new() }
    }

    pub(crate) fn line(&mut self, line: Line<'_>) -> Step {
        self.widths.seen(line.text);
        if has(line.text, "end of display") || has(line.text, "recoverable system heap") {
            return Step::Ended;
        }
        if let (Some(low), Some(high)) = (find(line.text, b"31-bit"), find(line.text, b"64-bit")) {
            self.turned = Some(high < low);
        } else if let Some((row, words)) = label(line.text) {
            self.row(line, row, words);
        } else {
            return Step::Passed;
        }
        self.found.lines.1 = line.number;
        Step::Taken
    }

    fn row(&mut self, line: Line<'_>, row: SystemRow, words: Vec<&[u8]>) {
        let wrong = match (self.turned, &words[..]) {
            (_, []) => Some("cut: nothing stands behind (KB)"),
            (None, _) => Some("without the labels of its columns"),
            (_, [_, _]) if !line.whole => Some("cut"),
            (Some(turned), [first, second]) => match (value(first), value(second)) {
                (Some(first), Some(second)) => {
                    let figure = |value: u64| Figure {
                        value,
                        evidence: evidence(line.number, line.text),
                        likely: false,
                    };
                    let (first, second) = (first.map(figure), second.map(figure));
                    let (low, high) = if turned { (second, first) } else { (first, second) };
                    if self.found.rows.iter().any(|(known, _, _)| *known == row) {
                        Some("there twice")
                    } else {
                        self.found.rows.push((row, low, high));
                        self.ends.push(line.text.len());
                        None
                    }
                }
                _ => Some("damaged: what stands there is no number"),
            },
            _ => Some("cut or damaged"),
        };
        if let Some(wrong) = wrong
            && self.found.doubts.len() < DOUBTS
        {
            let words = format!("a row of the system heap is {wrong}: not read");
            self.found.doubts.push(Doubt { kind: Doubtful::NotANumber, line: line.number, words });
        }
    }

    pub(crate) fn close(mut self) -> Found {
        let turned = self.turned == Some(true);
        for ((_, low, high), end) in self.found.rows.iter_mut().zip(&self.ends) {
            let last = if turned { low } else { high };
            if let Some(last) = last {
                last.likely = self.widths.may_be_cut(*end);
            }
        }
        if self.found.rows.len() < ROWS.len() {
            let words = format!("{} of {} rows were read", self.found.rows.len(), ROWS.len());
            self.found.doubts.push(Doubt { kind: Doubtful::Cut, line: self.found.lines.1, words });
        }
        Found::SystemHeap(self.found)
    }
}

/// The label of a row, and the words behind it and its unit.
fn label(text: &[u8]) -> Option<(SystemRow, Vec<&[u8]>)> {
    let plain = squeezed(text);
    let (_, row) = ROWS.iter().find(|(label, _)| stands(&plain, label, 1).is_some())?;
    let behind = find(text, b"(kb)").map_or(text.len(), |at| at + 4);
    Some((*row, split(&text[behind..]).take(4).collect()))
}

/// KB in bytes, or that there is none; None where it is damaged.
fn value(word: &[u8]) -> Option<Option<u64>> {
    if word.eq_ignore_ascii_case(b"N/A") {
        return Some(None);
    }
    plain(word).and_then(|value| value.checked_mul(1 << 10)).filter(|bytes| *bytes <= 1 << 50).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Values = Vec<(SystemRow, Option<u64>, Option<u64>)>;

    fn heap(lines: &[&str]) -> (Values, usize) {
        let mut heap = SystemHeap::new(Line { number: 1, text: b"STAT0126I", whole: true });
        for (at, text) in lines.iter().enumerate() {
            let text = text.to_string();
            heap.line(Line { number: at as u64 + 2, text: text.as_bytes(), whole: true });
        }
        let Found::SystemHeap(found) = heap.close() else { return (Vec::new(), 0) };
        let values = found.rows.iter().map(|(row, low, high)| {
            (*row, low.as_ref().map(|low| low.value), high.as_ref().map(|high| high.value))
        });
        (values.collect(), found.doubts.len())
    }

    #[test]
    fn rows_have_their_columns() {
        let columns = "                     31-BIT HEAP   64-BIT HEAP";
        let (rows, doubts) =
            heap(&[columns, "  PREALLOCATED SIZE   (KB)   N/A   1,024", "0 SIZE OF HEAP (KB) 8 16"]);
        let expect =
            [(SystemRow::PreallocatedSize, None, Some(1 << 20)), (SystemRow::Size, Some(8192), Some(16384))];
        assert_eq!((&rows[..], doubts), (&expect[..], 1));
        let (rows, _) = heap(&["64-BIT HEAP 31-BIT HEAP", "SIZE OF HEAP (KB) 8 16"]);
        assert_eq!(rows, [(SystemRow::Size, Some(16384), Some(8192))]);
        for bad in [
            "SIZE OF HEAP (KB) 8 1O6",
            "SIZE OF HEAP (KB) 8",
            "SIZE OF HEAP (KB) 1 024 16",
            "SIZE OF HEAP 8 16",
        ] {
            assert_eq!(heap(&[columns, bad]), (Vec::new(), 2), "{bad}");
        }
        assert_eq!(heap(&["SIZE OF HEAP (KB) 8 16"]).0, []);
    }
}
