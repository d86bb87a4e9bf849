//! Displays of commands: `ZDECB HAVL` (DECB0125I) and `ZSTAT SYSHEAP` (STAT0126I).
//!
//! Invariant: a figure of the system heap has its label on its line and its column's label above it.
//! The counts of `ZDECB HAVL` are read where its columns are those of underbar (`report::ztpf`); public sources show only the first
//! labels of those of z/TPF:
//!
//! ```text
//! LIST         31 BIT  SHARED AVLS       64 BIT  SHARED AVLS  NEW STORAGE        FREED    DISPENSED
//! AVL1              0            0          250           10           40          200          300      the last one is a sum
//! ```

use super::row::plain;
use super::sizes::Sizes;
use super::text::{squeezed, stands};
use super::widths::Widths;
use super::{DOUBTS, Step, set_name};
use crate::lines::Line;
use crate::model::ztpf::{EcbRow, Found, ListRow, Lists as FoundLists, SystemHeap as FoundHeap, SystemRow};
use crate::model::{Doubt, Doubtful, Figure};
use crate::words::{evidence, find, has, split};

/// The lists of one ECB.
pub(crate) struct Lists {
    found: FoundLists,
    sizes: Sizes,
    widths: Widths,
    columns: bool,
    /// The columns are those of underbar.
    known: bool,
}

/// The labels of underbar's columns.
const COLUMNS: [&[u8]; 13] = [
    b"LIST",
    b"31",
    b"BIT",
    b"SHARED",
    b"AVLS",
    b"64",
    b"BIT",
    b"SHARED",
    b"AVLS",
    b"NEW",
    b"STORAGE",
    b"FREED",
    b"DISPENSED",
];

/// Labels of the rows about ECBs, and how many figures follow.
const ECB_ROWS: [(&str, EcbRow, usize); 5] = [
    ("ecbs with at least one buffer", EcbRow::WithBuffer, 1),
    ("ecbs that expanded the hash table", EcbRow::ExpandedTable, 1),
    ("ecbs with at least one 1 mb frame", EcbRow::WithFrame, 2),
    ("1 mb frames obtained", EcbRow::Frames, 2),
    ("high-water mark of one ecb, bytes", EcbRow::HighWater, 2),
];

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
            rows: Vec::new(),
            ecbs: Vec::new(),
            doubts: Vec::new(),
        };
        Self { found, sizes: Sizes::default(), widths, columns: false, known: false }
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
            self.known = line.whole && split(line.text).eq(COLUMNS);
            if !self.known {
                let words = "counts of the lists: layout not known, not read".to_owned();
                self.found.doubts.push(Doubt { kind: Doubtful::LayoutNotKnown, line: line.number, words });
            }
        } else if self.known {
            return self.counts(line);
        } else {
            return Step::Passed;
        }
        self.found.lines.1 = line.number;
        Step::Taken
    }

    /// A row of a list, or about the ECBs.
    fn counts(&mut self, line: Line<'_>) -> Step {
        let wrong = if let Some((row, behind, count)) = ecb_row(line.text) {
            let figures: Option<Vec<Figure>> = split(behind).map(|word| figure(line, word)).collect();
            match figures.as_deref() {
                Some([one]) if count == 1 && line.whole => {
                    self.found.ecbs.push((row, one.clone(), one.clone()));
                    None
                }
                Some([low, high]) if count == 2 && line.whole => {
                    self.found.ecbs.push((row, low.clone(), high.clone()));
                    None
                }
                _ => Some("a row about the ECBs is cut or damaged: not read"),
            }
        } else {
            let mut words = split(line.text);
            let list = match words.next() {
                Some(b"OTHER") => None,
                Some([b'A', b'V', b'L', digit @ b'1'..=b'9']) => Some(digit - b'0'),
                _ => return Step::Passed,
            };
            let figures: Option<Vec<Figure>> = words.map(|word| figure(line, word)).collect();
            match figures.and_then(|figures| row_of(list, figures)) {
                Some(row) => {
                    self.found.rows.push(row);
                    None
                }
                None => Some("a row of a list is cut or damaged, or contradicts its sum: not read"),
            }
        };
        if let Some(words) = wrong
            && self.found.doubts.len() < DOUBTS
        {
            let words = words.to_owned();
            self.found.doubts.push(Doubt { kind: Doubtful::NotANumber, line: line.number, words });
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

/// The row that a line is, the text behind its label, and how many figures it has.
fn ecb_row(text: &[u8]) -> Option<(EcbRow, &[u8], usize)> {
    ECB_ROWS.iter().find_map(|(label, row, count)| {
        let at = find(text, label.as_bytes()).filter(|at| text[..*at].trim_ascii().is_empty())?;
        Some((*row, &text[at + label.len()..], *count))
    })
}

fn figure(line: Line<'_>, word: &[u8]) -> Option<Figure> {
    let value = plain(word)?;
    Some(Figure { value, evidence: evidence(line.number, line.text), likely: false })
}

/// A row whose figures fit to their sum.
fn row_of(list: Option<u8>, figures: Vec<Figure>) -> Option<ListRow> {
    let [own_31, shared_31, own_64, shared_64, new_storage, freed, dispensed] = figures.try_into().ok()?;
    let row = ListRow { list, own_31, shared_31, own_64, shared_64, new_storage, freed, dispensed };
    let parts = [&row.own_31, &row.shared_31, &row.own_64, &row.shared_64, &row.new_storage];
    let sum = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.value))?;
    (sum == row.dispensed.value).then_some(row)
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
    /// True if the 64-bit column comes first; None before the columns.
    turned: Option<bool>,
    widths: Widths,
    /// Length of each row's line.
    ends: Vec<usize>,
    /// A figure had no unit: the doubt is added once.
    no_unit: bool,
}

impl SystemHeap {
    pub(crate) fn new(line: Line<'_>) -> Self {
        let mut widths = Widths::default();
        widths.seen(line.text);
        let title = evidence(line.number, line.text);
        let lines = (line.number, line.number);
        let found = FoundHeap { title, lines, rows: Vec::new(), doubts: Vec::new() };
        Self { found, turned: None, widths, ends: Vec::new(), no_unit: false }
    }

    pub(crate) fn line(&mut self, line: Line<'_>) -> Step {
        self.widths.seen(line.text);
        if has(line.text, "end of display") || has(line.text, "recoverable system heap") {
            return Step::Ended;
        }
        if let (Some(low), Some(high)) = (find(line.text, b"31-bit"), find(line.text, b"64-bit")) {
            self.turned = Some(high < low);
        } else if let Some((row, words, unit)) = label(line.text) {
            let known = self.found.rows.len();
            self.row(line, row, words);
            if !unit && self.found.rows.len() > known && !std::mem::replace(&mut self.no_unit, true) {
                let words = "figures without a unit: taken for KB, in which the display is".to_owned();
                self.found.doubts.push(Doubt { kind: Doubtful::LayoutNotKnown, line: line.number, words });
            }
        } else {
            return Step::Passed;
        }
        self.found.lines.1 = line.number;
        Step::Taken
    }

    fn row(&mut self, line: Line<'_>, row: SystemRow, words: Vec<&[u8]>) {
        let wrong = match (self.turned, &words[..]) {
            (_, []) => Some("cut: no figure follows its label, or one of another unit"),
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
                _ => Some("damaged: its value is not a number"),
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

/// The label of a row, the figures after it without their unit, and whether there is a unit: in the label, as
/// documented, or after each figure. No figures if a unit is another.
fn label(text: &[u8]) -> Option<(SystemRow, Vec<&[u8]>, bool)> {
    let plain = squeezed(text);
    let (row, end) = ROWS.iter().find_map(|(label, row)| Some((*row, stands(&plain, label, 1)?.1)))?;
    let mut solid = text.iter().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace() && **byte != 0);
    let (last, letter) = solid.nth(end.checked_sub(1)?)?;
    let behind = text[last + 1..].trim_ascii_start();
    if !letter.is_ascii_alphabetic()
        || behind.len() == text.len() - last - 1 && behind.first().is_some_and(u8::is_ascii_digit)
    {
        return Some((row, Vec::new(), false));
    }
    if let Some(inside) = behind.strip_prefix(b"(") {
        let close = inside.iter().take(6).position(|byte| *byte == b')');
        let figures =
            close.filter(|close| squeezed(&inside[..*close]) == b"KB").map(|close| &inside[close + 1..]);
        return Some((
            row,
            figures.map(|figures| split(figures).take(4).collect()).unwrap_or_default(),
            true,
        ));
    }
    let is_unit = |word: &[u8]| word.eq_ignore_ascii_case(b"KB") || word.eq_ignore_ascii_case(b"K");
    let (mut figures, mut numbers, mut units): (Vec<&[u8]>, usize, usize) = (Vec::new(), 0, 0);
    for word in split(behind).take(8) {
        let digits = word.iter().rposition(u8::is_ascii_digit).map_or(0, |at| at + 1);
        // One unit for each figure; N/A has none.
        if is_unit(word) && units + 1 == numbers {
            units += 1;
        } else if digits > 0 && is_unit(&word[digits..]) {
            figures.push(&word[..digits]);
            (numbers, units) = (numbers + 1, units + 1);
        } else {
            figures.push(word);
            numbers += usize::from(!word.eq_ignore_ascii_case(b"N/A"));
        }
    }
    let all = units == numbers;
    Some((row, if units == 0 || all { figures } else { Vec::new() }, all))
}

/// KB in bytes, or N/A; None if it is damaged.
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
            "SIZE OF HEAP (MB) 8 16",
            "SIZE OF HEAP 8 KB 16 MB",
            "SIZE OF HEAP 8 KB 16",
            "SIZE OF HEAP 8 1 024",
            "SIZE OF HEAP 8M 16M",
        ] {
            assert_eq!(heap(&[columns, bad]), (Vec::new(), 2), "{bad}");
        }
        assert_eq!(heap(&["SIZE OF HEAP (KB) 8 16"]).0, []);
    }

    #[test]
    fn units_stand_in_labels_or_behind_figures_or_nowhere() {
        let columns = "                     31-BIT HEAP   64-BIT HEAP";
        for (row, doubts) in [
            ("SIZE OF HEAP  8  16", 2),
            ("SIZE OF HEAP  8 KB  16 KB", 1),
            ("SIZE OF HEAP  8K  16K", 1),
            ("size of heap  8kb  16kb", 1),
            ("10.15.07 JOB01234 SIZE OF HEAP ( KB ) 8 16", 1),
        ] {
            let (rows, said) = heap(&[columns, row]);
            assert_eq!(
                (&rows[..], said),
                (&[(SystemRow::Size, Some(8192), Some(16384))][..], doubts),
                "{row}"
            );
        }
        let (rows, _) = heap(&[columns, "1MB FRAME STORAGE  N/A  16 KB", "PREALLOCATED SIZE 16K N/A"]);
        let expect =
            [(SystemRow::Frames, None, Some(16384)), (SystemRow::PreallocatedSize, Some(16384), None)];
        assert_eq!(rows, expect);
    }
}
