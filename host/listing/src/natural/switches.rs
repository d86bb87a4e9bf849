//! Switches between zIIP and general processor: tables of them, clauses that avoid them, reports that are not read.
//!
//! ```text
//!                         Without ...   With ...          the heading
//! Records read            100,000       100,000           or: Lines written
//! Number of switches into SRB mode  100,000  12,500
//! Total enclave CPU time  5,389 ms      958 ms
//! ```
//!
//! Invariant: a table has the same number of values after each label, one or two. Reports whose layout no public
//! source shows (component switch statistics, zIIP processing information, zIIP statistics of Adabas) are named and not read.
//! Not here: parameters (`texts`).

use crate::lines::Line;
use crate::model::{Evidence, Unread};
use crate::number::{self, Word};
use crate::words::{evidence, find, has, split};

use crate::model::natural::{Counted, Factor, FetchClause, Natural, SwitchTable, Way};

/// The most lines between the labels of one table.
const NEAR: u64 = 4;
/// Within this many lines a report that is not read is named once.
const QUIET: u64 = 200;
/// Words of a title, besides marks and the time of day.
const TITLE: usize = 9;

/// Reports that are recognised but not read, by words of their titles, and the doubt about them.
const UNREAD: [(&str, &str); 5] = [
    ("component switch statistics", "component switch statistics of ZIIP"),
    ("ziip processing information", "zIIP processing information"),
    ("roll server ziip information", "zIIP information of the roll server"),
    ("ziip-related statistics", "zIIP statistics of Adabas"),
    ("enclave ziip time", "zIIP statistics of Adabas"),
];

/// Single lines of this kind, which mean nothing for the lines after them.
const LINES: [(&str, &str); 3] = [
    ("number of tcb/srb switches", "zIIP processing information"),
    ("dzstat", "zIIP statistics of Adabas"),
    ("adabas ziip", "zIIP statistics of Adabas"),
];

/// The state between lines.
#[derive(Default)]
pub(crate) struct Switches {
    heading: Option<(u64, Evidence)>,
    records: Option<Row>,
    switches: Option<Row>,
    counted: Option<Counted>,
    /// The report that is not read, and its first line.
    unread: Option<(usize, u64)>,
    /// The last report that was named, and its place.
    named: Option<(&'static str, u64)>,
}

struct Row {
    values: Vec<u64>,
    evidence: Evidence,
}

impl Switches {
    pub(crate) fn is_open(&self) -> bool {
        self.records.is_some() || self.switches.is_some()
    }

    /// Reads a line; true if it has something of this kind.
    pub(crate) fn line(
        &mut self,
        line: Line<'_>,
        out: &mut dyn FnMut(Natural),
        unread: &mut dyn FnMut(Unread),
    ) -> bool {
        if self.title(line, unread) {
            return true;
        }
        let text = line.text;
        if let Some(factor) = clause(text) {
            out(Natural::Fetch(FetchClause { factor, evidence: evidence(line.number, text) }));
            return true;
        }
        let inside = self.unread.is_some_and(|(_, first)| line.number < first + QUIET);
        if inside {
            return false;
        }
        let late = |row: &Option<Row>| row.as_ref().is_some_and(|row| line.number > row.evidence.line + NEAR);
        if late(&self.switches) {
            self.finish(out);
        }
        if late(&self.records) && self.switches.is_none() {
            self.records = None;
        }
        let labels: [(&[u8], usize); 4] = [
            (b"records read", 0),
            (b"lines written", 1),
            (b"number of switches into srb mode", 2),
            (b"enclave cpu time", 3),
        ];
        let found = labels.iter().find_map(|(label, what)| Some((find(text, label)? + label.len(), *what)));
        let Some((behind, what)) = found else {
            if is_heading(text) {
                self.heading = Some((line.number, evidence(line.number, text)));
            }
            return false;
        };
        // The last number of an incomplete line may be cut, unless its unit follows.
        let values = values(&text[behind..], what == 3).filter(|_| line.whole || what == 3);
        let row = values.map(|values| Row { values, evidence: evidence(line.number, text) });
        match (what, row) {
            (0 | 1, row) => {
                self.finish(out);
                self.counted = Some(if what == 0 { Counted::Read } else { Counted::Written });
                self.records = row;
            }
            (2, row) => self.switches = row.filter(|_| self.records.is_some()),
            (_, row) => self.close(row, out),
        }
        true
    }

    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Natural)) {
        self.close(None, out);
    }

    fn close(&mut self, times: Option<Row>, out: &mut dyn FnMut(Natural)) {
        let (Some(records), Some(switches)) = (self.records.take(), self.switches.take()) else {
            self.switches = None;
            return;
        };
        let count = records.values.len();
        let same = switches.values.len() == count;
        let times = times.filter(|times| times.values.len() == count);
        if !same || !(1..=2).contains(&count) {
            return;
        }
        let way = |at: usize| Way {
            records: records.values[at],
            switches: switches.values[at],
            cpu: times.as_ref().map(|times| times.values[at]),
        };
        let ways = (0..count).map(way).collect();
        let first = records.evidence.line;
        let heading =
            self.heading.take().filter(|(line, _)| line + NEAR >= first).map(|(_, heading)| heading);
        let evidence =
            [Some(records), Some(switches), times].into_iter().flatten().map(|row| row.evidence).collect();
        let counted = self.counted.unwrap_or(Counted::Read);
        out(Natural::Switches(SwitchTable { counted, heading, ways, evidence }));
    }

    fn title(&mut self, line: Line<'_>, unread: &mut dyn FnMut(Unread)) -> bool {
        let which = UNREAD.iter().position(|(title, _)| has(line.text, title));
        let single = || LINES.iter().find(|(words, _)| has(line.text, words)).map(|(_, name)| *name);
        let Some(name) = which.map(|which| UNREAD[which].1).or_else(single) else { return false };
        let words = split(line.text).filter(|word| word.iter().any(u8::is_ascii_alphabetic)).count();
        if words > TITLE {
            return false;
        }
        if let Some(which) = which {
            let said = self.unread.filter(|(said, first)| *said == which && line.number < first + QUIET);
            self.unread = Some((which, said.map_or(line.number, |(_, first)| first)));
        }
        if self.named.is_none_or(|(named, first)| named != name || line.number >= first + QUIET) {
            self.named = Some((name, line.number));
            let why = format!("{name}: layout not known, not read");
            unread(Unread { evidence: evidence(line.number, line.text), why });
        }
        true
    }
}

/// The numbers after a label, with the unit `ms` after each if times are meant; None if there is any other text.
fn values(text: &[u8], times: bool) -> Option<Vec<u64>> {
    let mut all = Vec::new();
    let mut unit = true;
    for word in split(text).filter(|word| word.iter().any(|byte| !b".:|".contains(byte))) {
        if times && word.eq_ignore_ascii_case(b"ms") {
            unit = true;
            continue;
        }
        match number::word(word) {
            Word::Number(value) if unit && word.last().is_some_and(u8::is_ascii_digit) => all.push(value),
            _ => return None,
        }
        unit = !times;
    }
    (unit && !all.is_empty() && all.len() <= 2).then_some(all)
}

fn is_heading(text: &[u8]) -> bool {
    (has(text, "without") && has(text, " with "))
        || (has(text, "using external") && has(text, "using natural"))
}

/// `READ (100) MULTI-FETCH OF 20 ...`: the clause follows the statement's name, with at most a limit between them.
fn clause(text: &[u8]) -> Option<Factor> {
    let at = find(text, b"multi-fetch ")?;
    let start = text.trim_ascii_start();
    if start.starts_with(b"*") || start.starts_with(b"/*") {
        return None;
    }
    let before: Vec<&[u8]> = split(&text[..at]).collect();
    let is_limit =
        |word: &[u8]| word.eq_ignore_ascii_case(b"all") || (word.starts_with(b"(") && word.ends_with(b")"));
    let statement = match before[..] {
        [.., word, limit] if is_limit(limit) => word,
        [.., word] => word,
        [] => return None,
    };
    if ![&b"read"[..], b"find", b"histogram"].iter().any(|name| statement.eq_ignore_ascii_case(name)) {
        return None;
    }
    let mut words = split(&text[at + 12..]);
    let first = words.next()?;
    let is = |name: &[u8]| first.eq_ignore_ascii_case(name);
    if is(b"on") {
        return Some(Factor::On);
    }
    if is(b"off") {
        return Some(Factor::Off);
    }
    let second = words.next().filter(|_| is(b"of"))?;
    // A number that the end of a line could have cut is not taken.
    let more = words.next().is_some();
    match number::word(second) {
        Word::Number(factor) if more => Some(Factor::Of(factor)),
        _ => matches!(second.first(), Some(b'#' | b'+' | b'A'..=b'Z' | b'a'..=b'z'))
            .then_some(Factor::Variable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Natural>, Vec<Unread>) {
        let (mut switches, mut all, mut unread) = (Switches::default(), Vec::new(), Vec::new());
        for (number, text) in (1..).zip(text.lines()) {
            let line = Line { number, text: text.as_bytes(), whole: true };
            switches.line(line, &mut |found| all.push(found), &mut |one| unread.push(one));
        }
        switches.finish(&mut |found| all.push(found));
        (all, unread)
    }

    #[test]
    fn tables_of_one_and_of_two_ways() {
        let check = |text: &str, expect: &[(u64, u64, Option<u64>)], heading: bool| {
            let (all, _) = read(text);
            let got: Vec<_> = all
                .iter()
                .flat_map(|found| match found {
                    Natural::Switches(table) => {
                        assert_eq!(table.heading.is_some(), heading);
                        table.ways.iter().map(|way| (way.records, way.switches, way.cpu)).collect()
                    }
                    _ => Vec::new(),
                })
                .collect();
            assert_eq!(got, expect, "{text}\n{all:?}");
        };
        check(
            "  Without Cache  With Cache\nLines written 4,000 4,000\nNumber of switches into SRB mode 4,010 9\nTotal WLM \
             enclave CPU time 90 ms 20 ms\n",
            &[(4000, 4010, Some(90)), (4000, 9, Some(20))],
            true,
        );
        check("RECORDS READ ..: 77\nNUMBER OF SWITCHES INTO SRB MODE : 80\n", &[(77, 80, None)], false);
        check("Records read 4,000\nNumber of switches into SRB mode 4,010 9\n", &[], false);
        check("Records read 4,0OO\nNumber of switches into SRB mode 4,010\n", &[], false);
        check("Number of switches into SRB mode 4,010\n", &[], false);
        check(
            "Records read 10\nNumber of switches into SRB mode 10\nTotal enclave CPU time 9O ms\n",
            &[(10, 10, None)],
            false,
        );
    }

    #[test]
    fn clauses_stand_behind_their_statement() {
        let check = |text: &str, factor| assert_eq!(clause(text.as_bytes()), factor, "{text}");
        check("READ MULTI-FETCH OF 20 STAFF BY NAME", Some(Factor::Of(20)));
        check("0120 find all multi-fetch on STAFF WITH CITY = 'X'", Some(Factor::On));
        check("READ (5) MULTI-FETCH OFF STAFF", Some(Factor::Off));
        check("HISTOGRAM MULTI-FETCH OF #N STAFF", Some(Factor::Variable));
        check("READ MULTI-FETCH OF 2", None);
        check("* READ MULTI-FETCH ON STAFF", None);
        check("Without Multi-Fetch With Multi-Fetch", None);
        check("the multi-fetch of 20 records", None);
    }

    #[test]
    fn reports_without_known_layout_are_named_once() {
        let (all, unread) = read(
            "12:00 *** zIIP Component Switch Statistics ***\nRecords read 5\nNumber of switches into SRB mode 5\n\
             *** zIIP Component Switch Statistics ***\n",
        );
        assert!(all.is_empty());
        assert_eq!(unread.len(), 1);
        assert_eq!(unread[0].why, "component switch statistics of ZIIP: layout not known, not read");
        let (_, unread) = read(
            "Number of TCB/SRB switches       100,234\nZIIP STAT ON\nDZSTAT\nADAN1Z Adabas zIIP: total enclave CPU 12.3\n",
        );
        let names: Vec<&str> = unread.iter().map(|one| one.why.as_str()).collect();
        assert_eq!(
            names,
            [
                "zIIP processing information: layout not known, not read",
                "zIIP statistics of Adabas: layout not known, not read"
            ]
        );
        let prose =
            "You can use the Component Switch Statistics in order to see which components cause switches.\n";
        assert!(read(prose).1.is_empty());
    }
}
