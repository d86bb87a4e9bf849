//! The manual's list of counters, made from the tables: `docs/counters.md`.

use std::fmt::Write as _;

use underbar_ledger::counter::Counter;
use underbar_ledger::counter::Exactness;
use underbar_ledger::sizes::{COMMON, find};
use underbar_ledger::{Key, Scope, TABLE, Unit, sizes};

use crate::absent::{self, ABSENT};
use crate::figures::{areas, split};
use crate::lock::columns::{self, COLUMNS};
use crate::steps::STEPS;
use crate::tree::TREE;
use crate::{ecb_sums, ecbs, pools, remedies};

/// How far a figure can be trusted, in words.
#[must_use]
pub fn exactness(exactness: Exactness) -> String {
    match exactness {
        Exactness::Exact => "exact".to_owned(),
        Exactness::Within(bound) => format!("within a bound: {bound}"),
        Exactness::Sampled => "sampled".to_owned(),
    }
}

/// The name of all requests by size together, for `explain`.
pub const REQUEST_SIZES: &str = "request-sizes";

/// What a counter or a step figure means, for `explain`. None if there is no such key.
#[must_use]
pub fn explain(key: &str) -> Option<String> {
    if let Some(step) = STEPS.iter().find(|step| step.key == key) {
        return Some(format!(
            "{}: {}\nUnit: {}\nSource: the kernel's account of the run\n\n{}\n",
            step.key,
            step.label,
            step.unit.name(),
            step.meaning
        ));
    }
    if let Some(of) = TREE.iter().find(|of| of.key == key) {
        return Some(format!(
            "{}: {}\nUnit: {}\nOf the whole tree\n\n{}\n",
            of.key,
            of.label,
            Unit::Count.name(),
            of.meaning
        ));
    }
    if let Some(column) = columns::find(key) {
        return Some(format!(
            "{}: {}\nUnit: {}\nOf each lock, and of all together\n\n{}\n",
            column.key,
            column.label,
            column.unit.name(),
            column.meaning
        ));
    }
    if let Some(absent) = absent::find(key) {
        let label = absent.label.text();
        return Some(format!(
            "{}: {label}\nnull in JSON, 0 in the storage report\n\n{}\n",
            absent.key, absent.why
        ));
    }
    if let Some(text) = pools::explain(key).or_else(|| ecbs::explain(key)).or_else(|| ecb_sums::explain(key))
    {
        return Some(text);
    }
    if key == REQUEST_SIZES || key == COMMON.key {
        return Some(counter(&Counter { key: REQUEST_SIZES, ..COMMON }, ""));
    }
    if let Some(row) = find(key).map(|row| &sizes::TABLE[row]) {
        let entry = Counter { key: row.key, ..COMMON };
        let span = format!("\nThis row: {} to {} bytes.\n", row.from + 1, row.limit);
        return Some(counter(&entry, &span));
    }
    let entry = TABLE.iter().find(|entry| entry.key == key)?;
    let remedy = Key::find(key).and_then(remedies::remedy);
    let remedy = remedy.map_or(String::new(), |words| format!("\nWhat to do: {words}.\n"));
    Some(counter(entry, &remedy))
}

/// The explanation of a counter, and some more words.
fn counter(entry: &Counter, more: &str) -> String {
    format!(
        "{}: {}\nUnit: {}\nOf: {}\nWritten by: {}\nWhile the process runs: {}\nAfter it was killed: {}\nOver several processes: {}\n\n{}\n{more}",
        entry.key,
        entry.label,
        entry.unit.name(),
        entry.scope.words(),
        entry.writer.words(),
        exactness(entry.live),
        exactness(entry.killed),
        fold(entry.fold),
        entry.meaning
    )
}

/// The cell of a table.
fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Process => "process",
        Scope::Heap => "process, heap",
    }
}

fn fold(fold: underbar_ledger::Fold) -> &'static str {
    match fold {
        underbar_ledger::Fold::Sum => "added",
        underbar_ledger::Fold::Max => "the largest",
    }
}

/// The bounds that occur in the table, each once, in order.
fn bounds() -> Vec<&'static str> {
    let mut bounds = Vec::new();
    for entry in TABLE.iter().chain([&COMMON]) {
        for exactness in [entry.live, entry.killed] {
            if let Exactness::Within(bound) = exactness
                && !bounds.contains(&bound)
            {
                bounds.push(bound);
            }
        }
    }
    bounds
}

/// The cell of a table: the text of a bound is too long for it, so it has a number.
fn cell(exact: Exactness) -> String {
    match exact {
        Exactness::Within(bound) => {
            format!("bound {}", bounds().iter().position(|known| *known == bound).map_or(0, |at| at + 1))
        }
        other => exactness(other),
    }
}

/// The figures of locks: where they are explained, and which of them `underbar diff` knows.
const WHERE: &str = "`docs/lock-report.md` explains the report of them. `underbar diff` and its gates know those that no \
                     counter of `lock` has.";

/// `docs/counters.md`.
#[must_use]
pub fn counters() -> String {
    let mut text = String::from(
        "# Counters\n\n\
         For everyone who reads a report, its JSON, or a gate on its figures.\n\n\
         Every figure of a report, by its key: what JSON, `underbar explain` and `underbar diff --fail-on` call it.\n\
         This page is made from the tables in `crates/ledger` and `host/report`; a test keeps it equal to them.\n\n\
         *Exact* means equal to an independent count. *Killed* says how far the figure can be trusted after the process\n\
         was killed without a chance to settle its counts. *Together* says how several processes become one figure.\n\
         *Written by* names a thread of the process itself: no process writes another's figures.\n\
         *Of* says heap where the figure exists for each heap, too: if a process has more than its default heap, each heap has a figure of its own.\n\
         The default heap's figure is the process's less those of the other heaps; its peaks are null.\n",
    );
    text.push_str("\nBounds of the error of a figure. Most figures are too low by at most this; storage in use and its peak may be too high, too:\n\n");
    for (at, bound) in bounds().iter().enumerate() {
        let _ = writeln!(text, "{}. {bound}", at + 1);
    }
    text.push_str(
        "\nA child made by fork begins with accounts of its own, and a fork adds nothing to bound 1 of the child or its parent.\n\
         There are two exceptions: a fork while the thread holds a signal back (a handler may have interrupted a request, and\n\
         nothing can be settled then), and a raw clone, which the C library does not see. Then the child counts once more what\n\
         its parent's thread had counted and not published: at most bound 1, too high.\n",
    );
    for area in areas() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n## {area}\n");
        let entries = || TABLE.iter().filter(|entry| split(entry.key).0 == area);
        if entries().next().is_some() {
            text.push_str(
                "| key | printed as | unit | of | written by | live | killed | together |\n|---|---|---|---|---|---|---|---|\n",
            );
        }
        for entry in entries() {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
                entry.key,
                entry.label,
                entry.unit.name(),
                scope(entry.scope),
                entry.writer.words(),
                cell(entry.live),
                cell(entry.killed),
                fold(entry.fold)
            );
        }
        if entries().next().is_some() {
            text.push('\n');
        }
        for entry in entries() {
            let _ = writeln!(text, "- `{}`: {}", entry.key, entry.meaning);
        }
        for absent in ABSENT.iter().filter(|absent| split(absent.key).0 == area) {
            let _ = writeln!(text, "- `{}` (always null): {}", absent.key, absent.why);
        }
    }
    let (first, last) = (sizes::TABLE[0].key, sizes::TABLE[sizes::ROWS - 1].key);
    let _ = write!(
        text,
        "\n## {}\n\nRequests for heap storage by size, `{first}` to `{last}`. JSON has them next to `counters`, and leaves out \
         sizes without requests. `underbar explain {REQUEST_SIZES}` prints this, too.\n\n\
         | keys | printed as | unit | of | written by | live | killed | together |\n|---|---|---|---|---|---|---|---|\n\
         | `{}.up_to_N` | {} | {} | {} | {} | {} | {} | {} |\n\n{}\n",
        COMMON.key,
        COMMON.key,
        COMMON.label,
        COMMON.unit.name(),
        scope(COMMON.scope),
        COMMON.writer.words(),
        cell(COMMON.live),
        cell(COMMON.killed),
        fold(COMMON.fold),
        COMMON.meaning
    );
    text.push_str(
        "\n## tree\n\nFigures of all processes together that are not the sums of the processes' figures.\n\n| key | printed as | unit |\n|---|---|---|\n",
    );
    for of in &TREE {
        let _ = writeln!(text, "| `{}` | {} | {} |", of.key, of.label, Unit::Count.name());
    }
    text.push('\n');
    for of in &TREE {
        let _ = writeln!(text, "- `{}`: {}", of.key, of.meaning);
    }
    text.push_str(
        "\n## steps\n\nThe kernel's figures for the whole run. They are unknown (`null`) if underbar did not wait for the program.\n\n\
         | key | printed as | unit |\n|---|---|---|\n",
    );
    for step in &STEPS {
        let _ = writeln!(text, "| `{}` | {} | {} |", step.key, step.label, step.unit.name());
    }
    text.push('\n');
    for step in &STEPS {
        let _ = writeln!(text, "- `{}`: {}", step.key, step.meaning);
    }
    text.push_str(
        "\n## ecbs\n\nFigures of each class of ECBs of a process, of its lists, and of its ECBs by name-value pairs. All are sums from the start of the process on.\n\n\
         | key | printed as | of |\n|---|---|---|\n",
    );
    for figure in &ecbs::FIGURES {
        let _ = writeln!(text, "| `{}` | {} | {} |", figure.key, figure.label, figure.of.words());
    }
    text.push('\n');
    for figure in &ecbs::FIGURES {
        let _ = writeln!(text, "- `{}`: {}", figure.key, figure.meaning);
    }
    let _ = write!(
        text,
        "\n## locks\n\nFigures of each lock that threads waited for, and of all of them together; {WHERE}\n\n\
         | key | printed as | unit |\n|---|---|---|\n"
    );
    for column in &COLUMNS {
        let _ = writeln!(text, "| `{}` | {} | {} |", column.key, column.label, column.unit.name());
    }
    text.push('\n');
    for column in &COLUMNS {
        let _ = writeln!(text, "- `{}`: {}", column.key, column.meaning);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_list_is_this_one() {
        crate::shipped::check("docs/counters.md", &counters(), "underbar-report");
    }

    #[test]
    fn every_key_is_explained_and_nothing_else() {
        for key in crate::diff::keys().chain(ABSENT.iter().map(|absent| absent.key)).chain([REQUEST_SIZES]) {
            let text = explain(key).expect(key);
            assert!(text.starts_with(key) && text.len() > key.len() + 20, "{text}");
        }
        assert_eq!(explain("heap"), None);
        assert!(explain("heap.gets").is_some_and(|text| text.contains(bounds()[0])));
    }
}
