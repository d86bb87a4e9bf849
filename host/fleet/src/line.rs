//! Lines of a report: one for each program of the run, by the table of columns.
//!
//! Invariant: each line has each column, in the order of the table. One line of a run is its main one.
//! Not here: what a column means ([`crate::table`]), and whether the report can be read ([`crate::collect`]).

use std::fmt::Write as _;

use serde_json::Value;
use underbar_advise::advice::Advice;
use underbar_advise::advise;
use underbar_report::Report;
use underbar_report::model::file_name;

use crate::table::{Column, Get, Line, parts};

/// A line with its line feed, and what tells it from all others.
pub struct Row {
    /// Made of the run and the program.
    pub key: u64,
    /// The JSON.
    pub text: String,
}

/// The lines of a report. `host` is for a report that does not name its machine.
#[must_use]
pub fn lines(columns: &[Column], report: &Report, host: Option<&str>) -> Vec<Row> {
    let run = run_of(report, host);
    let host = report.host.name.as_deref().or(host);
    let programs = report.programs();
    let suggestions = advise(report);
    let started = file_name(&report.run.program);
    let main = programs.iter().position(|program| program.name == started).unwrap_or(0);
    let line = |program, is_main| Line { report, program, is_main, run: &run, host };
    if programs.is_empty() {
        return vec![row(columns, &line(None, true), &[])];
    }
    let each = programs.iter().enumerate().map(|(at, program)| {
        let of: Vec<Advice> =
            suggestions.iter().filter(|advice| advice.target == program.name).cloned().collect();
        row(columns, &line(Some(program), at == main), &of)
    });
    each.collect()
}

fn row(columns: &[Column], line: &Line<'_>, suggestions: &[Advice]) -> Row {
    let parts = parts(suggestions);
    let figure = |figure: Option<u64>| figure.map_or(Value::Null, Value::from);
    let values = columns.iter().map(|column| match &column.get {
        Get::Of(get) => get(line),
        Get::Step(step) => {
            figure(line.report.steps.as_ref().filter(|_| line.is_main).and_then(|steps| (step.get)(steps)))
        }
        Get::Tree(of) => figure(line.is_main.then(|| (of.get)(&line.report.tree))),
        Get::Counter(key) => figure(line.program.and_then(|program| program.counters.known(*key))),
        Get::Each(get) => Value::Array(parts.iter().map(get).collect()),
    });
    Row { key: key_of(line.run, line.program_name()), text: written(columns, values) }
}

/// What tells a line from all others.
pub(crate) fn key_of(run: &str, program: &str) -> u64 {
    let mut hash = Hash::default();
    hash.add(run.as_bytes());
    hash.add(program.as_bytes());
    hash.0
}

/// A line of these values, one for each column.
pub(crate) fn written(columns: &[Column], values: impl Iterator<Item = Value>) -> String {
    let mut text = String::with_capacity(8 << 10);
    for (column, value) in columns.iter().zip(values) {
        // Writing to a string cannot fail. Names are plain.
        let _ = write!(text, "{}\"{}\":{value}", if text.is_empty() { '{' } else { ',' }, column.name);
    }
    text.push_str("}\n");
    text
}

/// A name for the run: FNV-1a of what distinguishes it from all others.
fn run_of(report: &Report, host: Option<&str>) -> String {
    let mut hash = Hash::default();
    hash.add(report.host.name.as_deref().or(host).unwrap_or_default().as_bytes());
    hash.add(&report.run.started_unix_ns.to_le_bytes());
    hash.add(&report.run.process.to_le_bytes());
    for word in std::iter::once(&report.run.program).chain(&report.run.arguments) {
        hash.add(word.as_bytes());
    }
    if report.run.started_unix_ns == 0 {
        // Nothing else tells such runs apart.
        hash.add(report.to_json().as_bytes());
    }
    format!("{:016x}", hash.0)
}

/// FNV-1a, 64 bits.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// Adds bytes, and an end that no text has.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::columns;
    use underbar_report::sample;

    fn values(report: &Report) -> Vec<Value> {
        let lines = lines(&columns(), report, Some("h1"));
        lines.iter().map(|row| serde_json::from_str(&row.text).expect("JSON")).collect()
    }

    #[test]
    fn each_program_has_a_line_and_the_started_one_has_the_steps() {
        let report = sample::tree();
        let lines = values(&report);
        let of: Vec<_> =
            lines.iter().map(|line| (line["program"].as_str(), line["is_main"].as_u64())).collect();
        assert_eq!(of, [(Some("cc1plus"), Some(0)), (Some("as"), Some(0)), (Some("g++"), Some(1))]);
        let elapsed: Vec<_> = lines.iter().map(|line| line["steps_elapsed_ns"].as_u64()).collect();
        assert_eq!(elapsed, [None, None, report.steps.as_ref().map(|steps| steps.elapsed_ns)]);
        assert!(lines.iter().all(|line| line["run"] == lines[0]["run"] && line["host"] == "h1"));
        let gets: u64 = lines.iter().filter_map(|line| line["heap_gets"].as_u64()).sum();
        assert_eq!(
            gets,
            report.processes.iter().map(|p| p.counters.get(underbar_ledger::Key::HeapGets)).sum::<u64>()
        );
    }

    #[test]
    fn suggestions_have_values_and_evidence() {
        let process = sample::heap("/usr/libexec/cc1plus", 200 << 20, 6_400, 210 << 20, (32 << 10, 32 << 10));
        let line = &values(&sample::report(vec![process]))[0];
        let rules = line["suggestion_rule"].as_array().expect("a list");
        assert_eq!((rules[0].as_str(), rules[1].as_str()), (Some("heap-size"), Some("heap-size")));
        assert_eq!(line["suggestion_option"][0], "HEAP");
        assert_eq!(line["suggestion_parameter"][1], 2);
        let (text, value) = (&line["suggestion_text"][0], &line["suggestion_value"][0]);
        assert_eq!(text.as_str().and_then(underbar_report::units::parse_size), value.as_u64());
        assert!(value.as_u64() >= Some(200 << 20));
        let evidence = line["suggestion_evidence"][0].as_str().expect("a text");
        assert!(evidence.starts_with("heap.used_peak=209715200 heap.segments_allocated=6400"), "{evidence}");
        for list in ["kind", "option", "parameter", "text", "value", "setting", "risky", "evidence"] {
            assert_eq!(
                line[format!("suggestion_{list}")].as_array().map(Vec::len),
                Some(rules.len()),
                "{list}"
            );
        }
    }

    #[test]
    fn a_run_without_accounts_has_one_line() {
        let mut report = sample::getfree();
        report.processes.clear();
        let lines = values(&report);
        assert_eq!(lines.len(), 1);
        assert_eq!((&lines[0]["program"], &lines[0]["has_accounts"]), (&"getfree".into(), &0.into()));
        assert!(lines[0]["heap_gets"].is_null() && lines[0]["steps_elapsed_ns"].is_u64());
    }

    #[test]
    fn runs_are_told_apart() {
        let first = sample::getfree();
        let mut others = [first.clone(), first.clone(), first.clone(), first.clone()];
        others[0].run.process += 1;
        others[1].run.started_unix_ns += 1;
        others[2].run.arguments.push("x".to_owned());
        others[3].host.name = Some("other".to_owned());
        let mut all: Vec<String> = others.iter().map(|report| run_of(report, None)).collect();
        all.push(run_of(&first, None));
        assert_eq!(run_of(&first, None), run_of(&first.clone(), None));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 5);
    }
}
