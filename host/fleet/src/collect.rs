//! Documents become lines: checked, normalised, each run once.
//!
//! ```text
//! document ── a report ──────────────> lines of its programs ──┐
//!          ── a line of a fleet ─────> the same line, checked ─┼─ seen before? ── no ──> written
//!          ── anything else ─────────> refused, with its place and the reason
//! ```
//!
//! So the output of one collection can be the input of the next.
//! Invariant: a refused document changes nothing else. Memory grows by 8 bytes for a line, and not with its length.
//! Not here: how a stream is divided into documents ([`crate::input`]).

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;
use underbar_report::Report;

use crate::differences::{Differences, known};
use crate::input::Piece;
use crate::line::{Row, key_of, lines, written};
use crate::table::{Column, Kind, SCHEMA, columns};

/// What was collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Documents that were reports.
    pub reports: u64,
    /// Documents that were lines of an earlier collection.
    pub earlier: u64,
    /// Lines that were written.
    pub lines: u64,
    /// Lines that were there before: the same program of the same run.
    pub repeated: u64,
    /// Documents that were refused.
    pub refused: u64,
    /// What differs from this version, one line for each kind of difference.
    pub differences: Vec<String>,
}

/// Makes lines of documents.
pub struct Collector {
    columns: Vec<Column>,
    known: Vec<&'static str>,
    host: Option<String>,
    seen: HashSet<u64>,
    differences: Differences,
    summary: Summary,
}

/// Only the name of the schema.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    schema: Option<Value>,
}

impl Collector {
    /// An empty collection. `host` is the machine of reports that do not name theirs.
    #[must_use]
    pub fn new(host: Option<String>) -> Self {
        Self {
            columns: columns(),
            known: known(),
            host,
            seen: HashSet::new(),
            differences: Differences::default(),
            summary: Summary::default(),
        }
    }

    /// Takes a document, and adds its lines to `out`. `file` and `line` are its place.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn take(&mut self, file: &str, line: u64, piece: &Piece<'_>, out: &mut String) -> Result<(), String> {
        let taken = match piece {
            Piece::TooLong => Err("longer than any report".to_owned()),
            Piece::Document(bytes) => self.document(file, line, bytes, out),
        };
        self.summary.refused += u64::from(taken.is_err());
        taken
    }

    /// Notes that a file could not be read, or not to its end.
    pub fn unreadable(&mut self) {
        self.summary.refused += 1;
    }

    /// What was collected.
    #[must_use]
    pub fn finish(self) -> Summary {
        Summary { differences: self.differences.told(), ..self.summary }
    }

    fn document(&mut self, file: &str, line: u64, bytes: &[u8], out: &mut String) -> Result<(), String> {
        let schema = serde_json::from_slice::<Named>(bytes).ok().and_then(|named| named.schema);
        if schema.as_ref().and_then(Value::as_str) == Some(SCHEMA) {
            let row = self.earlier_line(bytes)?;
            self.summary.earlier += 1;
            self.write(&row, out);
            return Ok(());
        }
        let report = Report::from_json(bytes).map_err(|error| in_file(line, error.to_string()))?;
        self.summary.reports += 1;
        self.differences.note(&self.known, bytes, || format!("{file}:{line}"));
        for row in lines(&self.columns, &report, self.host.as_deref()) {
            self.write(&row, out);
        }
        Ok(())
    }

    fn write(&mut self, row: &Row, out: &mut String) {
        if self.seen.insert(row.key) {
            self.summary.lines += 1;
            out.push_str(&row.text);
        } else {
            self.summary.repeated += 1;
        }
    }

    /// A line of an earlier collection in the columns of this version. A column that it lacks becomes null, or an empty list.
    fn earlier_line(&self, bytes: &[u8]) -> Result<Row, String> {
        let mut line: serde_json::Map<String, Value> = serde_json::from_slice(bytes)
            .map_err(|error| format!("this is no whole line of a fleet: {error}"))?;
        let mut values = Vec::with_capacity(self.columns.len());
        let mut length = None;
        for column in &self.columns {
            let value = line.remove(&column.name).unwrap_or_else(|| match column.kind {
                Kind::Texts | Kind::Integers => Value::Array(Vec::new()),
                _ => Value::Null,
            });
            if !fits(column, &value) {
                return Err(format!(
                    "column {} is {:.80}, which it cannot be",
                    column.name,
                    value.to_string()
                ));
            }
            if let Value::Array(list) = &value
                && *length.get_or_insert(list.len()) != list.len()
            {
                return Err(format!("list {} has another length than those before it", column.name));
            }
            values.push(value);
        }
        let text = |name: &str| {
            let at = self.columns.iter().position(|column| column.name == name);
            at.and_then(|at| values[at].as_str()).unwrap_or_default()
        };
        let key = key_of(text("run"), text("program"));
        Ok(Row { key, text: written(&self.columns, values.into_iter()) })
    }
}

/// Whether a value may be in a column.
fn fits(column: &Column, value: &Value) -> bool {
    match (column.kind, value) {
        (Kind::Text, Value::String(_)) => true,
        (Kind::Texts, Value::Array(list)) => list.iter().all(Value::is_string),
        (Kind::Integers, Value::Array(list)) => {
            list.iter().all(|value| value.is_u64() || column.is_nullable && value.is_null())
        }
        (Kind::Integer, _) if value.is_u64() => true,
        (Kind::Signed, _) if value.is_i64() => true,
        (Kind::Switch, _) if matches!(value.as_u64(), Some(0 | 1)) => true,
        (Kind::Texts | Kind::Integers, _) => false,
        _ => column.is_nullable && value.is_null(),
    }
}

/// The parser counts lines from the beginning of the document; people count from that of the file.
fn in_file(line: u64, error: String) -> String {
    if line == 1 {
        error
    } else {
        error.replace(" at line 1 column ", " at column ").replace("line 1, column ", "column ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_report::sample;

    fn collect(documents: &[String]) -> (Vec<String>, Vec<String>, Summary) {
        let mut collector = Collector::new(None);
        let (mut out, mut refused) = (String::new(), Vec::new());
        for (at, document) in documents.iter().enumerate() {
            let piece = Piece::Document(document.as_bytes());
            if let Err(why) = collector.take("f", at as u64 + 1, &piece, &mut out) {
                refused.push(format!("{}: {why}", at + 1));
            }
        }
        (out.lines().map(str::to_owned).collect(), refused, collector.finish())
    }

    #[test]
    fn what_is_refused_is_named_and_the_rest_is_written() {
        let whole = sample::getfree().to_json();
        let documents = [
            sample::tree().to_json(),
            whole[..whole.len() / 2].to_owned(),
            "not JSON".to_owned(),
            whole.replace("underbar.report/1", "underbar.report/2"),
            "{\"schema\":\"underbar.tune/1\"}".to_owned(),
            whole.replace("\"gets\":50002", "\"gets\":-3"),
            whole.clone(),
        ];
        let (lines, refused, summary) = collect(&documents);
        assert_eq!(lines.len(), 4);
        let begins = |at: usize, with: &str| assert!(refused[at].starts_with(with), "{}", refused[at]);
        begins(0, "2: the report is cut short: it ends at column ");
        begins(1, "3: the report cannot be read: expected");
        begins(2, "4: the report is of schema \"underbar.report/2\"; this version of underbar reads");
        begins(3, "5: this is the JSON of `underbar tune`, not a saved report");
        begins(4, "6: this is not a whole report, though it has the schema of one: heap.gets is -3");
        assert_eq!((summary.reports, summary.lines, summary.refused, summary.repeated), (2, 4, 5, 0));
    }

    #[test]
    fn a_run_is_written_once_and_lines_are_read_again() {
        let documents = [sample::tree().to_json(), sample::getfree().to_json(), sample::tree().to_json()];
        let (lines, refused, summary) = collect(&documents);
        assert_eq!((lines.len(), refused.len(), summary.repeated), (4, 0, 3));
        let (again, refused, summary) = collect(&lines);
        assert_eq!((&again, refused.len(), summary.earlier), (&lines, 0, 4));
        // With the reports once more, nothing is new.
        let both: Vec<String> = lines.iter().cloned().chain(documents).collect();
        assert_eq!(collect(&both).0, lines);
    }

    #[test]
    fn damaged_lines_are_refused_and_those_of_other_versions_completed() {
        let (lines, ..) = collect(&[sample::getfree().to_json()]);
        let mut line: Value = serde_json::from_str(&lines[0]).expect("JSON");
        line.as_object_mut().expect("an object").remove("heap_purges");
        line["weather"] = "rain".into();
        let (again, refused, _) = collect(&[line.to_string()]);
        assert_eq!(refused, [""; 0]);
        assert!(again[0].contains("\"heap_purges\":null") && !again[0].contains("weather"));
        for (name, value) in [
            ("program", Value::Null),
            ("cores", (-1).into()),
            ("is_main", 2.into()),
            ("suggestion_value", vec![1.5].into()),
            ("suggestion_rule", vec!["one more"; 99].into()),
            ("run", Value::Null),
        ] {
            let mut bad = line.clone();
            bad[name] = value;
            let (none, refused, _) = collect(&[bad.to_string()]);
            assert_eq!((none.len(), refused.len()), (0, 1), "{name}");
        }
    }
}
