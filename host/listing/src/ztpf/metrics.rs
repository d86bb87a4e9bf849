//! Tables of name-value pairs: headers, then rows that hold their counters as JSON.
//!
//! ```text
//! COLLECTION_ID,...,ECB_SVM,...,COUNT1,INTEGER_METRICS,...
//! CO1...,1A2B3000,...,2,{"FIND":1,"FILE":0},...
//! ```
//!
//! Headers are separated by commas, tabs, bars or blanks; one of them is INTEGER_METRICS. If none is ECB_SVM there is a doubt,
//! since rows of different ECBs must not be subtracted.
//!
//! Invariant: a row's counters are whole objects, and as many as COUNT1 states if it is there; a row with more or
//! fewer fields than headers has no names for them.
//! Columns NVP_NAME and NVP_VALUE, by which underbar prints pairs, are read as the pair of the row.
//!
//! Not here: the counters of the heap of ECBs on z/TPF; no public source names them.

use super::{DOUBTS, Step};
use crate::lines::Line;
use crate::model::ztpf::{Found, MetricRow, Metrics};
use crate::model::{Doubt, Doubtful, Item};
use crate::words::evidence;

/// The rows that are handed over at once.
const PIECE: usize = 500;
/// No row has more counters.
const MOST: usize = 400;

/// A table that is being read.
pub(crate) struct Open {
    found: Metrics,
    headers: Vec<String>,
    separator: Separator,
    given: bool,
}

/// The separator between the fields of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Byte(u8),
    /// This many blanks, or more.
    Blanks(usize),
}

/// The headers of a table, in capitals, and their separator.
fn headers(text: &[u8]) -> (Vec<String>, Separator) {
    let byte = [b'\t', b'|', b';', b','].into_iter().find(|one| text.contains(one));
    let words = crate::words::split(text).count();
    let separator = match byte {
        Some(byte) => Separator::Byte(byte),
        // A time contains a blank: if all headers are two blanks apart, so are fields.
        None if fields(text, Separator::Blanks(2)).len() == words => Separator::Blanks(2),
        None => Separator::Blanks(1),
    };
    let name = |field: &&[u8]| String::from_utf8_lossy(unquoted(field)).to_ascii_uppercase();
    (fields(text, separator).iter().map(name).collect(), separator)
}

/// Whether a line consists of headers, one of them that of the counters.
pub(crate) fn is_headers(text: &[u8]) -> bool {
    let (names, separator) = headers(text);
    let shouts = !text.iter().any(u8::is_ascii_lowercase);
    let well = |name: &String| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_ #/-".contains(&byte))
            && name.split(' ').count() <= 3
    };
    (shouts || matches!(separator, Separator::Byte(_)))
        && names.iter().any(|name| name == "INTEGER_METRICS")
        && names.iter().all(well)
}

impl Open {
    pub(crate) fn new(line: Line<'_>) -> Self {
        let (headers, separator) = headers(line.text);
        let title = evidence(line.number, line.text);
        let lines = (line.number, line.number);
        let mut doubts = Vec::new();
        if !headers.iter().any(|header| header == "ECB_SVM") {
            let words = "no column ECB_SVM: rows may be of different ECBs, and are not subtracted".to_owned();
            doubts.push(Doubt { kind: Doubtful::LayoutNotKnown, line: line.number, words });
        }
        let found = Metrics { title, lines, rows: Vec::new(), doubts };
        Self { found, headers, separator, given: false }
    }

    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> Step {
        if !line.text.contains(&b'{') || !line.text.contains(&b'"') {
            return Step::Passed;
        }
        self.found.lines.1 = line.number;
        match self.row(line) {
            Ok(row) => self.found.rows.push(row),
            Err(why) if self.found.doubts.len() < DOUBTS => {
                let words = format!("a row of name-value pairs is not read: {why}");
                self.found.doubts.push(Doubt { kind: Doubtful::CutLine, line: line.number, words });
            }
            Err(_) => {}
        }
        if self.found.rows.len() >= PIECE {
            self.given = true;
            let rows = std::mem::take(&mut self.found.rows);
            let doubts = std::mem::take(&mut self.found.doubts);
            out(Item::Ztpf(Found::Metrics(Metrics { rows, doubts, ..self.found.clone() })));
        }
        Step::Taken
    }

    fn row(&self, line: Line<'_>) -> Result<MetricRow, &'static str> {
        let all = fields(line.text, self.separator);
        let named = all.len() == self.headers.len();
        let field = |name: &str| {
            let at = self.headers.iter().position(|header| header == name).filter(|_| named)?;
            let text = String::from_utf8_lossy(unquoted(all[at])).replace("\"\"", "\"");
            Some(text).filter(|value| !value.is_empty())
        };
        // A value of another column may have braces, too.
        let counters = self.headers.iter().position(|header| header == "INTEGER_METRICS").filter(|_| named);
        let values =
            values(counters.map_or(line.text, |at| all[at])).ok_or("its counters are cut or damaged")?;
        if field("COUNT1").is_some_and(|count| count != values.len().to_string()) {
            return Err("COUNT1 says another number of counters");
        }
        let ecb = match (field("ECB_SVM"), field("ECB_TIM")) {
            (Some(address), Some(time)) => Some(format!("{address} {time}")),
            (address, _) => address,
        };
        Ok(MetricRow {
            ecb,
            owner: field("ECB_OWNER_NAME"),
            pair: field("NVP_NAME").map(|name| (name, field("NVP_VALUE").unwrap_or_default())),
            values,
            evidence: evidence(line.number, line.text),
        })
    }

    pub(crate) fn close(mut self) -> Option<Found> {
        if self.given && self.found.rows.is_empty() && self.found.doubts.is_empty() {
            return None;
        }
        if self.found.rows.is_empty() {
            let words = "headers of name-value pairs without a row".to_owned();
            self.found.doubts.push(Doubt { kind: Doubtful::Cut, line: self.found.lines.1, words });
        }
        Some(Found::Metrics(self.found))
    }
}

/// The fields of a row: separators in quotes and in braces do not count.
fn fields(text: &[u8], separator: Separator) -> Vec<&[u8]> {
    let text = text.trim_ascii();
    let (mut all, mut from, mut depth, mut quoted) = (Vec::new(), 0, 0_u32, false);
    for (at, &byte) in text.iter().enumerate() {
        let parts = match separator {
            Separator::Byte(one) => byte == one,
            Separator::Blanks(least) => {
                byte == b' '
                    && (at + 1 >= least)
                    && text[at + 1 - least..=at].iter().all(|byte| *byte == b' ')
            }
        };
        match byte {
            b'"' if depth == 0 => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => depth = depth.saturating_sub(1),
            _ if parts && depth == 0 && !quoted => {
                all.push(text[from..at].trim_ascii());
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(text[from..].trim_ascii());
    if matches!(separator, Separator::Blanks(_)) {
        all.retain(|field| !field.is_empty());
    }
    all
}

fn unquoted(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field)
}

/// The counters between the first pair of braces, all of them; quotes may be doubled, as in CSV.
fn values(text: &[u8]) -> Option<Vec<(String, u64)>> {
    let from = text.iter().position(|byte| *byte == b'{')?;
    let length = text[from..].iter().position(|byte| *byte == b'}')?;
    let inside = String::from_utf8_lossy(&text[from + 1..from + length]).replace("\"\"", "\"");
    let mut all: Vec<(String, u64)> = Vec::new();
    for pair in inside.split(',').filter(|_| !inside.trim().is_empty()) {
        let (name, value) = pair.split_once(':')?;
        let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
        let value = value.trim();
        if name.is_empty() || name.len() > 64 || !value.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if all.len() >= MOST || all.iter().any(|(known, _)| known == name) {
            return None;
        }
        all.push((name.to_owned(), value.parse().ok()?));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Metrics {
        let mut lines = text.lines().enumerate().map(|(at, text)| Line {
            number: at as u64 + 1,
            text: text.as_bytes(),
            whole: true,
        });
        let mut open = Open::new(lines.next().expect("headers"));
        for line in lines {
            open.line(line, &mut |_| ());
        }
        match open.close() {
            Some(Found::Metrics(metrics)) => metrics,
            _ => panic!("a table"),
        }
    }

    #[test]
    fn neighbouring_rows_are_subtracted() {
        let found = table(
            "COLLECTION_ID,ECB_SVM,ECB_OWNER_NAME,COUNT1,INTEGER_METRICS\n\
             C1,1A000,\"IPAY,X\",2,{\"FIND\":4,\"FILE\":1}\n\
             C1,1A000,IPAY,2,{\"FIND\":9,\"FILE\":1}\n\
             C1,1A000,IPAY,2,{\"FIND\":8,\"FILE\":7}\n\
             C1,1B000,IPAY,2,\"{\"\"FIND\"\":8,\"\"FILE\"\":7}\"\n",
        );
        assert_eq!(found.rows.len(), 4, "{found:?}");
        assert_eq!(found.rows[0].owner.as_deref(), Some("IPAY,X"));
        assert_eq!(found.steps(), [(3, vec![("FIND", 5)])]);
    }

    #[test]
    fn headers_stand_between_commas_tabs_bars_and_blanks() {
        for head in [
            "TIME|ECB_SVM|INTEGER_METRICS",
            "TIME\tECB_SVM\tINTEGER_METRICS",
            "\"TIME\",\"ECB_SVM\",\"INTEGER_METRICS\"",
            "TIMESTAMP            ECB_SVM   INTEGER_METRICS",
            "TIME ECB_SVM INTEGER_METRICS",
            "INTEGER_METRICS",
            "time,ecb_svm,integer_metrics",
        ] {
            assert!(is_headers(head.as_bytes()), "{head}");
        }
        for text in [
            "The INTEGER_METRICS are cumulative",
            "ROW 1 INTEGER_METRICS: {\"FIND\":1}",
            "INTEGER_METRICS={\"FIND\":1}",
            "COUNT1, the number of values in INTEGER_METRICS, is cumulative",
        ] {
            assert!(!is_headers(text.as_bytes()), "{text}");
        }
        let found = table(
            "TIMESTAMP            ECB_SVM   INTEGER_METRICS\n\
             2026-11-20 10:00:00  1A000     {\"FIND\": 4, \"FILE\": 1}\n\
             2026-11-20 10:01:00  1A000     {\"FIND\": 9, \"FILE\": 1}\n\
             2026-11-20 10:01:00  1B000     {\"FIND\": 19, \"FILE\": 1}\n",
        );
        assert_eq!((found.steps(), found.doubts.len()), (vec![(3, vec![("FIND", 5)])], 0));
        let found = table("TIME|OWNER|INTEGER_METRICS\n10:00|APPA|{\"FIND\":4}\n10:01|APPA|{\"FIND\":9}\n");
        assert_eq!((found.rows.len(), found.steps().len(), found.doubts.len()), (2, 0, 1));
    }

    #[test]
    fn rows_that_are_cut_or_contradict_their_count_are_not_read() {
        let head = "COLLECTION_ID|ECB_SVM|COUNT1|INTEGER_METRICS\n";
        for bad in [
            "C1|1A000|2|{\"FIND\":4,\"FIL",
            "C1|1A000|2|{\"FIND\":4,\"FILE\":1",
            "C1|1A000|3|{\"FIND\":4,\"FILE\":1}",
            "C1|1A000|2|{\"FIND\":4,\"FILE\":1O}",
            "C1|1A000|2|{\"FIND\":4,\"FIND\":1}",
        ] {
            let found = table(&format!("{head}{bad}\n"));
            assert_eq!((found.rows.len(), found.doubts.len()), (0, 2), "{bad}");
        }
        assert_eq!(table(&format!("{head}C1|1A000|2|{{\"FIND\":4,\"FILE\":1}}\n")).rows.len(), 1);
    }
}
