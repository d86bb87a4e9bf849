//! The columns of a fleet's lines: one table, from which lines, their JSON Schema and the SQL that reads them are made.
//!
//! ```text
//! identity: host, time, program, options ...    a table of this file
//! figures:  steps, tree, counters               the tables of `report` and `ledger`; a dot of a key becomes an underscore
//! suggestions: lists of equal length            a table of this file; one element for each value that is suggested
//! ```
//!
//! Invariant: names are unique, and are plain names in SQL. Within one version of the schema, columns are only added.
//! Not here: the text of a line ([`crate::line`]).

use serde_json::{Value, json};
use underbar_advise::advice::{Advice, Evidence};
use underbar_ledger::table::KEYS;
use underbar_ledger::{Key, Unit};
use underbar_options::WhereSet;
use underbar_report::model::{End, Role, file_name};
use underbar_report::steps::{STEPS, Step};
use underbar_report::tree::{OfTree, TREE};
use underbar_report::units::parse_size;
use underbar_report::{Program, Report};

/// Name and version of the form of a line.
pub const SCHEMA: &str = "underbar.fleet/1";

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// An integer of 0 or more.
    Integer,
    /// An integer that may be negative.
    Signed,
    /// 0 or 1.
    Switch,
    /// A list of texts.
    Texts,
    /// A list of integers of 0 or more, some of which may be null.
    Integers,
}

/// One column.
pub struct Column {
    /// Its name: letters, digits and underscores.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
    /// Whether it may be null. A list is never null.
    pub is_nullable: bool,
    /// The unit of an integer.
    pub unit: Option<Unit>,
    /// What it means.
    pub meaning: &'static str,
    pub(crate) get: Get,
}

/// Where a column's value comes from.
pub(crate) enum Get {
    Of(OfLine),
    Step(&'static Step),
    Tree(&'static OfTree),
    Counter(Key),
    Each(OfPart),
}

/// What a line is made of.
pub(crate) struct Line<'a> {
    pub(crate) report: &'a Report,
    /// None: no process kept accounts.
    pub(crate) program: Option<&'a Program>,
    pub(crate) is_main: bool,
    pub(crate) run: &'a str,
    pub(crate) host: Option<&'a str>,
}

impl Line<'_> {
    /// The name of its program.
    pub(crate) fn program_name(&self) -> &str {
        self.program.map_or_else(|| file_name(&self.report.run.program), |program| &program.name)
    }
}

/// One value of a suggestion: a sub-option that is to be set. A suggestion without a setting has one part, number 0.
pub(crate) struct Part<'a> {
    advice: &'a Advice,
    number: usize,
    text: &'a str,
}

/// The parts of suggestions, in their order. Options that do nothing on Linux are not among them.
pub(crate) fn parts(suggestions: &[Advice]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for advice in suggestions.iter().filter(|advice| advice.acts) {
        let before = parts.len();
        let words = advice.option.iter().flat_map(|setting| setting.sub_options.iter().enumerate());
        for (at, word) in words {
            if let Some(text) = word.as_deref() {
                parts.push(Part { advice, number: at + 1, text });
            }
        }
        if parts.len() == before {
            parts.push(Part { advice, number: 0, text: "" });
        }
    }
    parts
}

/// A value of a line.
type OfLine = fn(&Line<'_>) -> Value;
/// A value of a part of a suggestion.
type OfPart = fn(&Part<'_>) -> Value;

/// A row of the tables of this file: name, kind, whether it may be null, unit, meaning, and how a value is found.
struct Row<G>(&'static str, Kind, bool, Option<Unit>, &'static str, G);

const IDENTITY: [Row<OfLine>; 20] = [
    Row("schema", Kind::Text, false, None, "Name and version of this form: underbar.fleet/1.", |_| {
        json!(SCHEMA)
    }),
    Row(
        "run",
        Kind::Text,
        false,
        None,
        "The run: 16 hexadecimal digits, made of host, time, process, program and arguments. All lines of a run have the same.",
        |line| json!(line.run),
    ),
    Row(
        "host",
        Kind::Text,
        true,
        None,
        "The name of the machine; null in reports of an underbar that did not note it, without --host.",
        |line| json!(line.host),
    ),
    Row(
        "time",
        Kind::Text,
        false,
        None,
        "When the run began, in UTC, to the second: 2026-11-26 13:00:00.",
        |line| json!(timestamp(line.report.run.started_unix_ns)),
    ),
    Row(
        "time_unix_ns",
        Kind::Integer,
        false,
        Some(Unit::Nanoseconds),
        "The same: nanoseconds since 1970-01-01 00:00 UTC; 0 if not known.",
        |line| json!(line.report.run.started_unix_ns),
    ),
    Row("underbar", Kind::Text, false, None, "Version of underbar that made the report.", |line| {
        json!(line.report.underbar)
    }),
    Row("kernel", Kind::Text, false, None, "Name and release of the kernel.", |line| {
        json!(line.report.host.kernel)
    }),
    Row("cores", Kind::Integer, false, Some(Unit::Count), "Processors that the run could use.", |line| {
        json!(line.report.host.cores)
    }),
    Row(
        "memory_limit_bytes",
        Kind::Integer,
        true,
        Some(Unit::Bytes),
        "The lowest limit on the memory of the run.",
        |line| json!(line.report.host.memory_limit_bytes),
    ),
    Row(
        "command",
        Kind::Text,
        false,
        None,
        "The program that was started, as on the command line. Its arguments are left out: they may hold secrets.",
        |line| json!(line.report.run.program),
    ),
    Row(
        "exit_status",
        Kind::Signed,
        true,
        None,
        "Its exit status; null if a signal ended it, or if nobody waited.",
        |line| match line.report.run.end {
            Some(End::Exit(status)) => json!(status),
            _ => Value::Null,
        },
    ),
    Row(
        "signal",
        Kind::Signed,
        true,
        None,
        "The signal that ended it; null if none did, or if nobody waited.",
        |line| match line.report.run.end {
            Some(End::Signal(signal)) => json!(signal),
            _ => Value::Null,
        },
    ),
    Row(
        "options",
        Kind::Text,
        false,
        None,
        "The options that were set, without those that have their default, in the form in which reports print them.",
        |line| json!(options(line.report)),
    ),
    Row(
        "program",
        Kind::Text,
        false,
        None,
        "The program of this line, by the name by which sections of options files name it.",
        |line| json!(line.program_name()),
    ),
    Row(
        "is_main",
        Kind::Switch,
        false,
        None,
        "1 in one line of each run, that of the program that was started. Figures of steps and tree are in this line only, so that sums count each run once.",
        |line| switch(line.is_main),
    ),
    Row(
        "has_accounts",
        Kind::Switch,
        false,
        None,
        "1 if the program kept accounts. If not, its counters are null.",
        |line| switch(line.program.is_some()),
    ),
    Row(
        "processes",
        Kind::Integer,
        false,
        Some(Unit::Count),
        "Processes of the run that ran this program.",
        |line| json!(line.program.map_or(0, |program: &Program| program.processes)),
    ),
    Row(
        "is_unfinished",
        Kind::Switch,
        false,
        None,
        "1 if one of them was still running, or was killed: then the figures are those of work in progress.",
        |line| switch(line.program.is_some_and(|program| program.unfinished)),
    ),
    Row(
        "allocator",
        Kind::Text,
        true,
        None,
        "Another allocator that the program has; null if none is known.",
        |line| json!(line.program.and_then(|program| program.allocator.as_ref()).map(|other| &other.name)),
    ),
    Row(
        "allocator_role",
        Kind::Text,
        true,
        None,
        "replaced: this heap serves malloc instead; serves: the other one does; inside: it is called by names of its own.",
        |line| {
            let role = line.program.and_then(|program| program.allocator.as_ref()).map(|other| other.role);
            json!(role.map(|role| match role {
                Role::Replaced => "replaced",
                Role::Serves => "serves",
                Role::Inside => "inside",
            }))
        },
    ),
];

const SUGGESTIONS: [Row<OfPart>; 9] = [
    Row(
        "suggestion_rule",
        Kind::Texts,
        false,
        None,
        "The rule that suggests it: `underbar explain RULE`.",
        |part| json!(part.advice.rule),
    ),
    Row(
        "suggestion_kind",
        Kind::Texts,
        false,
        None,
        "Its direction: raise, lower, change, no change, no advice.",
        |part| json!(part.advice.kind.word()),
    ),
    Row(
        "suggestion_option",
        Kind::Texts,
        false,
        None,
        "The option to set, such as HEAP; empty if nothing is to be set.",
        |part| json!(part.advice.option.as_ref().map_or("", |setting| setting.option)),
    ),
    Row(
        "suggestion_parameter",
        Kind::Integers,
        false,
        Some(Unit::Count),
        "The number of the sub-option in its option, from 1; 0 if nothing is to be set.",
        |part| json!(part.number),
    ),
    Row(
        "suggestion_text",
        Kind::Texts,
        false,
        None,
        "The sub-option as options write it: 64M, KEEP.",
        |part| json!(part.text),
    ),
    Row(
        "suggestion_value",
        Kind::Integers,
        true,
        None,
        "The sub-option as a number, a size in bytes; null if it is no number.",
        |part| json!(parse_size(part.text)),
    ),
    Row(
        "suggestion_setting",
        Kind::Texts,
        false,
        None,
        "The whole setting of its suggestion: HEAP(64M,16M); empty if nothing is to be set.",
        |part| json!(part.advice.option.as_ref().map(ToString::to_string).unwrap_or_default()),
    ),
    Row(
        "suggestion_risky",
        Kind::Integers,
        false,
        None,
        "1 if a wrong value could break the program: `advise` sets it under --risky only.",
        |part| switch(part.advice.risky),
    ),
    Row(
        "suggestion_evidence",
        Kind::Texts,
        false,
        None,
        "The figures that the suggestion is based on, such as `heap.used_peak=104857600`, with a blank between them; of several processes one process's share.",
        |part| json!(evidence(part.advice)),
    ),
];

/// All columns, in the order of a line.
#[must_use]
pub fn columns() -> Vec<Column> {
    let named = |key: &str| key.replace('.', "_");
    let identity = IDENTITY.iter().map(|&Row(name, kind, is_nullable, unit, meaning, get)| Column {
        name: name.to_owned(),
        kind,
        is_nullable,
        unit,
        meaning,
        get: Get::Of(get),
    });
    let figure = |key: &str, unit, meaning, get| Column {
        name: named(key),
        kind: Kind::Integer,
        is_nullable: true,
        unit: Some(unit),
        meaning,
        get,
    };
    let steps = STEPS.iter().map(|step| figure(step.key, step.unit, step.meaning, Get::Step(step)));
    let tree = TREE.iter().map(|of| figure(of.key, Unit::Count, of.meaning, Get::Tree(of)));
    let counters = KEYS.into_iter().map(|key| {
        let entry = key.entry();
        figure(entry.key, entry.unit, entry.meaning, Get::Counter(key))
    });
    let suggestions = SUGGESTIONS.iter().map(|&Row(name, kind, is_nullable, unit, meaning, get)| Column {
        name: name.to_owned(),
        kind,
        is_nullable,
        unit,
        meaning,
        get: Get::Each(get),
    });
    identity.chain(steps).chain(tree).chain(counters).chain(suggestions).collect()
}

fn switch(is: bool) -> Value {
    json!(u8::from(is))
}

fn evidence(advice: &Advice) -> String {
    let figures = advice.evidence.iter().filter_map(|evidence| match evidence {
        Evidence::Counter { key, figure } => Some(format!("{key}={figure}")),
        Evidence::Line(_) => None,
    });
    figures.collect::<Vec<_>>().join(" ")
}

/// The options in force that no default set.
fn options(report: &Report) -> String {
    let defaults = [WhereSet::UnderbarDefault.label(), WhereSet::LanguageEnvironmentDefault.label()];
    let set = report.options.in_force.iter().filter(|option| !defaults.contains(&option.where_set.as_str()));
    set.map(|option| option.option.as_str()).collect::<Vec<_>>().join(",")
}

/// A time as SQL reads it. The calendar is Howard Hinnant's `civil_from_days`.
fn timestamp(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let columns = columns();
        let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert!(
            names
                .iter()
                .all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'))
        );
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(columns.iter().all(|column| column.meaning.ends_with('.')), "each says what it means");
        for name in ["heap_used_peak", "steps_elapsed_ns", "tree_processes", "lock_wait_ns"] {
            assert!(names.contains(&name), "{name}");
        }
    }

    #[test]
    fn times_are_written_as_sql_reads_them() {
        for (seconds, expect) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_697_999, "2026-11-26 12:59:59"),
        ] {
            assert_eq!(timestamp(seconds * 1_000_000_000), expect);
        }
        assert!(timestamp(u64::MAX).starts_with("2554-07-21 "));
    }
}
