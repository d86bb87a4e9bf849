//! Tables of frequencies: requests by size, and ECBs by the heap that they used.
//!
//! ```text
//! title [SYSTEM WIDE] -> [sizes] -> CLASS UPPER LIMIT | FREQUENCY OBSERVED | PERCENT OF TOTAL -> rows [-> title again, rows]
//! ```
//!
//! Invariant: classes grow from row to row; a row that does not grow is another report's. Figures of rows that percentages
//! contradict are dropped; if it is not clear which, the table is not sound.
//! Not here: one row (`row`), the total that percentages allow (`total`).

use super::row::{Read, Row, row};
use super::sizes::Sizes;
use super::text::{squeezed, stands};
use super::total::{Verdict, sound, total};
use super::widths::Widths;
use super::{DOUBTS, Step};
use crate::lines::Line;
use crate::model::ztpf::{Class, Found, Frequencies, Table};
use crate::model::{Doubt, Doubtful, Evidence, Figure};
use crate::words::{evidence, has};

/// Classes of requests end at its multiples: at those of 128, with PJ47265 also at 32 and 64.
const STEP: u64 = 32;
/// More rows than this are no table, on however many pages.
const MOST: usize = 1000;
/// A title that may be a mention in a text has its columns within this many lines.
const SOON: u64 = 12;
/// A page of a report has no more lines.
const PAGE: u64 = 90;

/// The table whose title is in squeezed text, and whether the text is the title alone.
pub(crate) fn title(text: &[u8]) -> Option<(Table, bool)> {
    let tables =
        [Table::RequestSizes, Table::Preallocated, Table::Virtual, Table::Preallocated64, Table::Virtual64];
    let (table, (start, end)) = tables.into_iter().find_map(|table| {
        let label = squeezed(format!("TPF {} REPORT", table.title()).as_bytes());
        Some((table, stands(text, &label, 2)?))
    })?;
    let quiet = |part: &[u8]| part.iter().filter(|byte| byte.is_ascii_alphabetic()).count() <= 2;
    let behind = &text[end..];
    let alone = quiet(&text[..start]) && (quiet(behind) || stands(behind, b"SYSTEMWIDE", 2).is_some());
    Some((table, alone))
}

/// A table that is being read.
pub(crate) struct Open {
    found: Frequencies,
    /// The title was alone on its line.
    alone: bool,
    columns: bool,
    sizes: Sizes,
    widths: Widths,
    /// The row above the last class has been seen.
    ended: bool,
}

impl Open {
    pub(crate) fn new(table: Table, alone: bool, line: Line<'_>, run: Option<Evidence>) -> Self {
        let mut widths = Widths::default();
        widths.seen(line.text);
        let found = Frequencies {
            table,
            title: evidence(line.number, line.text),
            lines: (line.number, line.number),
            run,
            set: None,
            sizes: Vec::new(),
            rows: Vec::new(),
            total: None,
            sound: true,
            doubts: Vec::new(),
        };
        Self { found, alone, columns: false, sizes: Sizes::default(), widths, ended: false }
    }

    /// Reads a line.
    pub(crate) fn line(&mut self, line: Line<'_>) -> Step {
        self.widths.seen(line.text);
        if !self.alone && !self.columns && line.number > self.found.lines.0 + SOON {
            return Step::Ended;
        }
        if has(line.text, "class") && has(line.text, "upper") {
            self.columns = true;
            return self.taken(line);
        }
        if self.found.rows.is_empty() && self.sizes.line(line, &mut self.widths) {
            return self.taken(line);
        }
        if let Some(set) = super::set_name(line.text) {
            self.found.set = Some(set);
            return self.taken(line);
        }
        match row(line.text) {
            Read::Other => Step::Passed,
            _ if !self.columns => Step::Passed,
            Read::Damaged(why) => {
                self.doubt(Doubtful::NotANumber, line.number, format!("a row is not read: {why}"));
                self.taken(line)
            }
            Read::Row(row) => {
                self.row(line, row);
                self.taken(line)
            }
        }
    }

    fn taken(&mut self, line: Line<'_>) -> Step {
        self.found.lines.1 = line.number;
        Step::Taken
    }

    fn row(&mut self, line: Line<'_>, row: Row) {
        let Some(kb) = self.unit(row) else {
            let words = "a row whose class has another unit than the others: not read".to_owned();
            return self.doubt(Doubtful::NotANumber, line.number, words);
        };
        let last = self.found.rows.last();
        let grows =
            last.is_none_or(|last| if row.over { row.limit >= last.limit } else { row.limit > last.limit });
        if !grows || self.ended {
            let words = "classes do not grow from row to row: lines of two reports are mixed, or \
                         a number is damaged";
            self.found.sound = false;
            return self.doubt(Doubtful::Interleaved, line.number, words.to_owned());
        }
        if !kb && row.limit == 0 {
            return self.doubt(
                Doubtful::Absurd,
                line.number,
                "a class of requests of no bytes: not read".to_owned(),
            );
        }
        if self.found.table == Table::RequestSizes && !row.limit.is_multiple_of(STEP) {
            let words =
                format!("a class up to {}: limits are multiples of {STEP}, so a digit is wrong", row.limit);
            self.found.sound = false;
            return self.doubt(Doubtful::Absurd, line.number, words);
        }
        if row.bar.is_some_and(|bar| bar > row.count) {
            let words = "the bar is longer than the count allows: the row is not read".to_owned();
            return self.doubt(Doubtful::Contradiction, line.number, words);
        }
        if self.found.rows.len() < MOST {
            let count =
                Figure { value: row.count, evidence: evidence(line.number, line.text), likely: false };
            self.found.rows.push(Class { limit: row.limit, over: row.over, percent: row.percent, count });
            self.ended = row.over;
        }
    }

    /// Whether classes are in KB; None if this row differs from the others.
    fn unit(&self, row: Row) -> Option<bool> {
        match self.found.table {
            Table::RequestSizes => Some(row.kb),
            // The unit is printed in each row of these.
            _ => row.kb.then_some(true),
        }
    }

    fn doubt(&mut self, kind: Doubtful, line: u64, words: String) {
        if self.found.doubts.len() < DOUBTS {
            self.found.doubts.push(Doubt { kind, line, words });
        }
    }

    /// Whether this is the next page of that table.
    pub(crate) fn continues(&self, before: &Self) -> bool {
        let (Some(last), Some(first)) = (before.found.rows.last(), self.found.rows.first()) else {
            return false;
        };
        let same = before.found.table == self.found.table
            && before.found.run == self.found.run
            && !before.ended
            && before.found.sound
            && first.limit > last.limit
            && self.found.lines.0 <= before.found.lines.1 + PAGE
            && (self.sizes.is_empty() || self.sizes.same(&before.sizes))
            && before.found.rows.len() + self.found.rows.len() <= MOST;
        same && sound(before.found.rows.iter().chain(&self.found.rows)).is_some()
    }

    /// Takes the next page.
    pub(crate) fn join(&mut self, next: Self) {
        self.found.lines.1 = next.found.lines.1;
        self.found.sound &= next.found.sound;
        self.found.rows.extend(next.found.rows);
        self.found.doubts.extend(next.found.doubts);
        self.ended = next.ended;
    }

    /// The table ends; None if it was only mentioned.
    pub(crate) fn close(mut self) -> Option<Found> {
        if self.found.rows.is_empty() && !self.columns && !self.alone {
            return None;
        }
        let (sizes, doubts) = std::mem::take(&mut self.sizes).close(self.widths);
        self.found.sizes = sizes;
        self.found.doubts.splice(0..0, doubts);
        self.check();
        Some(Found::Frequencies(self.found))
    }

    fn check(&mut self) {
        let end = self.found.lines.1;
        if self.found.rows.is_empty() {
            self.found.sound = false;
            return self.doubt(Doubtful::Cut, end, "a title without rows".to_owned());
        }
        match total(&self.found.rows) {
            Verdict::Sound(total) => self.found.total = Some(total),
            Verdict::Without(at) => {
                let row = self.found.rows.remove(at);
                let words = format!(
                    "{} observations and {}.{:02} % contradict the other rows: the row is not used",
                    row.count.value,
                    row.percent / 100,
                    row.percent % 100
                );
                self.doubt(Doubtful::Contradiction, row.count.evidence.line, words);
                if let Verdict::Sound(total) = total(&self.found.rows) {
                    self.found.total = Some(total);
                }
            }
            Verdict::Contradiction => {
                self.found.sound = false;
                let words =
                    "counts and percentages contradict each other, and it is not plain which are wrong";
                self.doubt(Doubtful::Contradiction, end, words.to_owned());
            }
        }
        match self.found.missing() {
            (0, _) => {}
            (least, Some(most)) if least == most => {
                let words = format!("by the percentages {least} observations are in missing rows");
                self.doubt(Doubtful::Cut, end, words);
            }
            (least, _) => {
                let words = format!("by the percentages {least} observations or more are in missing rows");
                self.doubt(Doubtful::Cut, end, words);
            }
        }
        if self.found.table != Table::RequestSizes && !self.ended {
            let words = "the row of all that is above the last class is missing: the table is cut".to_owned();
            self.doubt(Doubtful::Cut, end, words);
        }
    }
}
