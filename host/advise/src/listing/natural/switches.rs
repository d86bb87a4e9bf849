//! Tables of records and switches, and statistics of components.

use underbar_listing::natural::{Counted, SwitchTable, Way};
use underbar_model::{Figure, Switches};

use super::super::program_case::ProgramCase;
use super::super::sessions::Set;
use super::{Kind, found, session};
use crate::advice::Advice;

/// The most tables with a finding.
const MOST: usize = 20;

pub(crate) fn switches(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    if !session.has_parameters {
        return Vec::new();
    }
    let one = |(file, table): &(usize, SwitchTable)| {
        let ways = ways(case, *file, table);
        let heading = table.heading.iter().map(|evidence| case.line(*file, evidence));
        // The figures of two ways are in the same lines.
        let [way, ..] = &ways[..] else { return None };
        let shown = [&way.records, &way.switches, &way.cpu].into_iter();
        let lines = heading.chain(shown.filter_map(|figure| figure.evidence.line().cloned())).collect();
        let (kind, now, reason) = match &ways[..] {
            [before, after] => (Kind::NoAdvice, "two ways beside each other", compared(before, after)),
            [way] if way.switches.value.saturating_mul(2) >= way.records.value => {
                (Kind::NoAdvice, "a switch for almost each record", chatty(way, table.counted))
            }
            [way] => {
                let reason = format!("{} records for each switch.", ratio(way));
                (Kind::NoChange, "few switches", reason)
            }
            _ => return None,
        };
        Some(found(kind, now, lines, reason))
    };
    case.collected.natural.switches.iter().filter_map(one).take(MOST).collect()
}

/// The ways of a table, whose lines are those of records, of switches, and of processor time if it is there.
fn ways(case: &ProgramCase<'_>, file: usize, table: &SwitchTable) -> Vec<Switches> {
    let figure = |value: Option<u64>, at: usize| match value.zip(table.evidence.get(at)) {
        Some((value, evidence)) => Figure::line(case.line(file, evidence), value, false),
        None => Figure::absent("the table does not show it"),
    };
    let way = |way: &Way| Switches {
        records: figure(Some(way.records), 0),
        switches: figure(Some(way.switches), 1),
        cpu: figure(way.cpu, 2),
    };
    table.ways.iter().map(way).collect()
}

/// Records for each switch, with one digit after the point.
fn ratio(way: &Switches) -> String {
    let switches = way.switches.value.max(1);
    tenths(way.records.value.saturating_mul(10).saturating_add(switches / 2) / switches)
}

fn tenths(tenths: u64) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn compared(before: &Switches, after: &Switches) -> String {
    let mut text = format!(
        "{} switches, then {}: {} records for each switch, then {}.",
        before.switches.value,
        after.switches.value,
        ratio(before),
        ratio(after)
    );
    if let (Some(old), Some(new)) = (before.cpu.certain(), after.cpu.certain()) {
        text += &format!(" Processor time {old} ms, then {new} ms");
        let spared = before.switches.value.saturating_sub(after.switches.value);
        if let (Some(less), true) = (old.checked_sub(new), spared > 0) {
            // Milliseconds to tenths of microseconds.
            let each = less.saturating_mul(10_000) / spared;
            text += &format!(": {} microseconds for each switch that was spared", tenths(each));
        }
        text.push('.');
    }
    text + " One run each, no interval."
}

fn chatty(way: &Switches, counted: Counted) -> String {
    let what = match counted {
        Counted::Read => {
            "From the database MULTI-FETCH OF 10 spares nine of ten; from work files a cache (PWCSIZE) nearly all; in a SORT the \
             internal one two of three."
        }
        Counted::Written => {
            "A print cache (PWCSIZE) spares nearly all; for primary output MAINPR leads it there."
        }
    };
    format!("{} records, {} switches. {what}", way.records.value, way.switches.value)
}

pub(crate) fn components(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    let sessions = &case.collected.natural;
    let mut all = Vec::new();
    if let Set::To(file, _, row) = sessions.parameter(&session, "ZIIP")
        && sessions.is_off(&session)
    {
        let lines = vec![case.line(file, &row.evidence)];
        let reason = "zIIP support is off. It pays where sessions mostly run Natural programs; with a high share of 3GL code it does \
                      not.";
        all.push(found(Kind::NoAdvice, format!("ZIIP={}", row.value), lines, reason));
    }
    if let (Some((file, evidence)), true) = (&sessions.components, session.has_parameters) {
        let lines = vec![case.line(*file, evidence)];
        let reason = "The report is not read, since its layout is in no public source. What to look for in it: sorted by switches, \
                      components with parameter Y come first; calls of 3GL programs in a loop are a switch each, and a session \
                      with many of them is not suitable for the zIIP.";
        all.push(found(Kind::NoAdvice, "component switch statistics", lines, reason));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of};
    use super::*;

    #[test]
    fn tables_are_compared() {
        let table = "  Without Cache  With Cache\nLines written 4,000 4,000\nNumber of switches into SRB mode 4,010 10\nTotal \
                     enclave CPU time 90 ms 20 ms\n";
        let all = check(&[table], None);
        let advice = of(&all, "natural-switches");
        assert_eq!(
            advice.reason,
            "4010 switches, then 10: 1.0 records for each switch, then 400.0. Processor time 90 ms, then 20 ms: 17.5 \
             microseconds for each switch that was spared. One run each, no interval."
        );
        assert_eq!(advice.evidence.len(), 4);
        let slower = table.replace("20 ms", "95 ms");
        assert!(of(&check(&[&slower], None), "natural-switches").reason.contains("then 95 ms. One run"));
    }

    #[test]
    fn single_ways_are_judged() {
        let check = |what: &str, switches: u64, kind: Kind, words: &str| {
            let text = format!("{what} 4,000\nNumber of switches into SRB mode {switches}\n");
            let all = check(&[&text], None);
            let advice = of(&all, "natural-switches");
            assert_eq!(advice.kind, kind);
            assert!(advice.reason.contains(words), "{advice}");
        };
        check("Records read", 4_010, Kind::NoAdvice, "MULTI-FETCH OF 10");
        check("Lines written", 2_000, Kind::NoAdvice, "print cache");
        check("Lines written", 500, Kind::NoChange, "8.0 records for each switch");
        check("Lines written", 0, Kind::NoChange, "4000.0 records");
    }

    #[test]
    fn component_statistics_are_named() {
        let all = check(&["*** zIIP Component Switch Statistics ***\n"], None);
        assert!(of(&all, "natural-components").reason.contains("3GL"));
    }
}
